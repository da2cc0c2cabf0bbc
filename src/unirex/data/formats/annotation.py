"""What the exports of annotation tools have in common: offsets of marks, and answers of several people.

Python counts characters (Unicode code points). A tool that runs in a browser may count UTF-16 code units, as
JavaScript does: each character above U+FFFF (most emoji) counts twice there, and every mark after it is off
by one. For all other texts the two agree.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import accumulate, chain, product
from typing import Literal, NamedTuple, get_args

from unirex.data.example import CharSpan, Example, Label, Rationale
from unirex.data.formats.table import Columns, DatasetRecord, optional, row_split
from unirex.data.rationales import merge, parse_rationale, words
from unirex.data.rows import TableRow
from unirex.data.validate import remark
from unirex.errors import UserError, unknown

Aggregation = Literal["union", "majority", "intersection"]
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


@dataclass(frozen=True, slots=True)
class AnnotatorAnswer:
    """One person's answer about one text.

    `label` is None if the person was not asked for it; `marking` is None if they were not asked to mark
    anything, or if this is unknown.
    """

    annotator: str
    label: Label | None = None
    marking: Rationale | None = None
    decisive: bool = False  # breaks a tie: this answer was declared to be the right one


class Consensus(NamedTuple):
    """The combined answer; `groups` holds the marks of each person if there are several."""

    label: Label | None
    rationale: Rationale | None
    groups: tuple[Rationale, ...]


def combine(markings: Sequence[Rationale], how: Aggregation, segments: Sequence[str]) -> Rationale:
    """The characters marked by anyone (union), by more than half (majority) or by all (intersection).

    >>> combine([(((0, 4),),), (((2, 6),),)], "union", ["so good"])
    (((0, 6),),)
    >>> combine([(((0, 4),),), (((2, 6),),)], "intersection", ["so good"])
    (((2, 4),),)
    """
    check_aggregation(how)
    if not markings:
        raise UserError("no annotator marked anything; there is nothing to combine")
    if any(len(marking) != len(segments) for marking in markings):
        raise UserError(f"each annotator must mark the same {len(segments)} segments")
    votes = {"union": 1, "majority": len(markings) // 2 + 1, "intersection": len(markings)}[how]
    return tuple(
        _marked_by(votes, [marking[number] for marking in markings]) for number in range(len(segments))
    )


def agree(
    answers: Sequence[AnnotatorAnswer], *, how: Aggregation, segments: Sequence[str], place: object
) -> Consensus:
    """The label most people gave, and the combined marks of those who gave it.

    People who chose another label marked the reasons for that label; their marks are left out with a remark.
    """
    check_aggregation(how)
    label = _majority_label(answers)
    groups: tuple[Rationale, ...] = ()
    for answer in answers:
        if answer.marking is None:
            continue
        if answer.label in (None, label):
            groups += (answer.marking,)
        else:
            remark(
                place,
                f"{answer.annotator} chose {answer.label!r}, most chose {label!r}: the marks are left out",
            )
    if not groups:
        return Consensus(label, None, ())
    return Consensus(label, combine(groups, how, segments), groups if len(groups) > 1 else ())


def annotated_record(
    consensus: Consensus, segments: Sequence[str], row: TableRow, columns: Columns, *, place: str, name: str
) -> DatasetRecord:
    """The record of an annotated text, with the id (by default `name`) and split in its `row`."""
    given_id = optional(row, columns.id)
    label, rationale, groups = consensus
    example_id = name if given_id is None else str(given_id)
    example = Example(example_id, tuple(segments), label, rationale, groups=groups)
    return DatasetRecord(place, row_split(row, columns), example)


def check_aggregation(how: str) -> None:
    """Raise a `UserError` for an unknown way to combine annotators."""
    if how not in get_args(Aggregation):
        raise unknown("way to combine annotators", how, get_args(Aggregation))


def _marked_by(needed: int, markings: Iterable[Sequence[CharSpan]]) -> tuple[CharSpan, ...]:
    """The characters that at least `needed` people marked: a sweep over the ends of all spans."""
    steps: Counter[int] = Counter()
    for start, end in chain.from_iterable(merge(spans) for spans in markings):
        steps[start] += 1
        steps[end] -= 1
    borders = sorted(steps)
    votes = accumulate(steps[border] for border in borders)
    # zip stops before the last border, where the votes are back at 0.
    return merge(
        (start, end) for start, end, vote in zip(borders, borders[1:], votes, strict=False) if vote >= needed
    )


def _majority_label(answers: Iterable[AnnotatorAnswer]) -> Label | None:
    labelled = [answer for answer in answers if answer.label is not None]
    leaders = _leaders(labelled)
    if len(leaders) > 1:
        leaders = _leaders([answer for answer in labelled if answer.decisive]) or leaders
    if len(leaders) > 1:
        votes = ", ".join(f"{answer.annotator} {answer.label!r}" for answer in labelled)
        raise UserError(f"the annotators do not agree on a label ({votes}); settle it or remove the text")
    return leaders[0] if leaders else None


def _leaders(answers: Sequence[AnnotatorAnswer]) -> list[Label]:
    """The labels with the most votes; 1 and True are different labels."""
    votes = Counter((type(answer.label), answer.label) for answer in answers)
    most = max(votes.values(), default=0)
    return [label for (_, label), count in votes.items() if count == most and label is not None]
