"""What the exports of annotation tools have in common: offsets of marks, and the record of a text.

Python counts characters (Unicode code points). A tool that runs in a browser may count UTF-16 code units, as
JavaScript does: each character above U+FFFF (most emoji) counts twice there, and every mark after it is off
by one. For all other texts the two agree.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import product
from typing import Literal, get_args

from unirex.data.annotators import Consensus
from unirex.data.example import CharSpan, Example
from unirex.data.formats.table import Columns, DatasetRecord, optional, row_split
from unirex.data.rationales import parse_rationale, words
from unirex.data.rows import TableRow
from unirex.errors import UserError, unknown

Unit = Literal["characters", "utf-16"]
Offsets = Literal["auto", "characters", "utf-16"]
Pair = Sequence[object]  # start and end as the tool wrote them, not yet validated


def check_offsets(offsets: str) -> None:
    """Raise a `UserError` for an unknown way to count offsets."""
    if offsets not in get_args(Offsets):
        raise unknown("way to count offsets", offsets, get_args(Offsets))


def unit_matters(text: str) -> bool:
    """Whether offsets in a text depend on the unit they are counted in.

    >>> unit_matters("déjà vu"), unit_matters("fine 😀")
    (False, True)
    """
    return not text.isascii() and max(text) > "\uffff"


def char_spans(pairs: Sequence[Pair], text: str, *, unit: Unit) -> tuple[CharSpan, ...]:
    """The marks as sorted character spans, with overlapping or touching ones merged.

    >>> char_spans([[3, 7]], "😀 good", unit="utf-16")
    ((2, 6),)
    """
    converted = [list(pair) for pair in pairs]
    if unit == "utf-16" and unit_matters(text):
        # For each UTF-16 offset the index of the character that begins there; None in the middle of one.
        characters: list[int | None] = []
        for number, character in enumerate(text):
            characters += [number, None] if character > "\uffff" else [number]
        characters.append(len(text))
        converted = [[_to_character(bound, characters) for bound in pair] for pair in pairs]
    return parse_rationale(converted, text, format="characters") or ()


def _to_character(bound: object, characters: Sequence[int | None]) -> object:
    if type(bound) is not int:
        return bound  # not a number: the parser reports it
    if not 0 <= bound < len(characters):
        raise UserError(f"offset {bound} is outside its text of {len(characters) - 1} UTF-16 code units")
    if characters[bound] is None:
        raise UserError(
            f"offset {bound} is in the middle of a character of two UTF-16 code units; "
            "if offsets are counted in characters, say offsets='characters'"
        )
    return characters[bound]


def guess_unit(marked: Iterable[tuple[Sequence[Pair], str]], *, otherwise: Unit) -> Unit:
    """The unit in which more marks begin and end at word boundaries; `otherwise` if there is a tie.

    Only texts in which the unit matters are considered.
    """
    fits: dict[Unit, int] = {"characters": 0, "utf-16": 0}
    for pairs, text in marked:
        if not unit_matters(text):
            continue
        starts, ends = ({span[side] for span in words(text)} for side in (0, 1))
        for unit, pair in product(fits, pairs):
            try:
                spans = char_spans([pair], text, unit=unit)
            except UserError:
                fits[unit] -= 2  # an impossible mark counts against the unit
            else:
                fits[unit] += sum((start in starts) + (end in ends) for start, end in spans)
    return otherwise if len(set(fits.values())) == 1 else max(fits, key=lambda unit: fits[unit])


def annotated_record(
    consensus: Consensus, segments: Sequence[str], row: TableRow, columns: Columns, *, place: str, name: str
) -> DatasetRecord:
    """The record of an annotated text, with the id (by default `name`) and split in its `row`."""
    given_id = optional(row, columns.id)
    example = Example(
        id=name if given_id is None else str(given_id),
        segments=tuple(segments),
        label=consensus.label,
        rationale=consensus.rationale,
        groups=consensus.groups,
        votes=consensus.votes,
    )
    return DatasetRecord(place, row_split(row, columns), example)
