"""Convert the offsets of annotation tools to character offsets of Python strings.

Python counts characters (Unicode code points). A tool that runs in a browser may count UTF-16 code units, as
JavaScript does: each character above U+FFFF (most emoji) counts twice there, and every mark after it is off
by one. For all other texts the two agree.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Literal, get_args

from unirex.data.example import CharSpan
from unirex.data.rationales import parse_rationale, words
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
        characters = _characters_by_unit(text)
        converted = [[_to_character(bound, characters) for bound in pair] for pair in pairs]
    return parse_rationale(converted, text, format="characters") or ()


def guess_unit(marked: Iterable[tuple[Sequence[Pair], str]], *, otherwise: Unit) -> Unit:
    """The unit in which more marks begin and end at word boundaries; `otherwise` if there is a tie.

    Only texts in which the unit matters are considered.
    """
    fits: dict[Unit, int] = {"characters": 0, "utf-16": 0}
    for pairs, text in marked:
        if unit_matters(text):
            for unit in fits:
                fits[unit] += _fit(pairs, text, unit)
    return otherwise if len(set(fits.values())) == 1 else max(fits, key=lambda unit: fits[unit])


def _fit(pairs: Sequence[Pair], text: str, unit: Unit) -> int:
    """Number of marks that begin and end at word boundaries; an impossible mark counts against the unit."""
    starts, ends = ({span[side] for span in words(text)} for side in (0, 1))
    fit = 0
    for pair in pairs:
        try:
            spans = char_spans([pair], text, unit=unit)
        except UserError:
            fit -= 2
        else:
            fit += sum((start in starts) + (end in ends) for start, end in spans)
    return fit


def _characters_by_unit(text: str) -> list[int | None]:
    """For each UTF-16 offset the index of the character that begins there; None in the middle of one."""
    characters: list[int | None] = []
    for number, character in enumerate(text):
        characters += [number, None] if character > "\uffff" else [number]
    return [*characters, len(text)]


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
