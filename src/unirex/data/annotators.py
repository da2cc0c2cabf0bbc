"""The answers of several people about one text, and what becomes of them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import accumulate, chain
from typing import NamedTuple, TypeVar

from unirex.data.example import Answer, CharSpan, Rationale
from unirex.data.rationales import merge
from unirex.data.validate import remark
from unirex.errors import UserError, unknown

AGGREGATIONS = ("union", "majority", "intersection")
Item = TypeVar("Item")


@dataclass(frozen=True, slots=True)
class AnnotatorAnswer:
    """One person's answer about one text.

    `label` is None if the person was not asked for it; `marking` is None if they were not asked to mark
    anything, or if this is unknown.
    """

    annotator: str
    label: Answer | None = None
    marking: Rationale | None = None
    decisive: bool = False  # breaks a tie: this answer was declared to be the right one


class Consensus(NamedTuple):
    """The combined answer; `groups` are the marks and `votes` the labels of each person, if of several."""

    label: Answer | None
    rationale: Rationale | None
    groups: tuple[Rationale, ...] = ()
    votes: tuple[Answer, ...] = ()


def combine(markings: Sequence[Rationale], how: str, segments: Sequence[str]) -> Rationale:
    """The characters marked by anyone (union), by more than half (majority), by all (intersection), or by N.

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
    named = {"union": 1, "majority": len(markings) // 2 + 1, "intersection": len(markings)}
    votes = named[how] if how in named else int(how)
    return tuple(
        _marked_by(votes, [marking[number] for marking in markings]) for number in range(len(segments))
    )


def agree(
    answers: Sequence[AnnotatorAnswer], *, how: str, segments: Sequence[str], place: object
) -> Consensus:
    """The label most people gave, and the combined marks of those who gave it.

    People who chose another label marked the reasons for that label; their marks are left out with a remark.
    """
    check_aggregation(how)
    label = _majority_label(answers)
    votes = _several(tuple(answer.label for answer in answers if answer.label is not None))
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
        return Consensus(label, None, votes=votes)
    return Consensus(label, combine(groups, how, segments), _several(groups), votes)


def _several(given: tuple[Item, ...]) -> tuple[Item, ...]:
    """What two people or more gave; nothing if it is of one."""
    return given if len(given) > 1 else ()


def check_aggregation(how: str) -> None:
    """Raise a `UserError` for an unknown way to combine annotators."""
    if how not in AGGREGATIONS and not (how.isascii() and how.isdigit() and int(how) > 0):
        raise unknown("way to combine annotators", how, (*AGGREGATIONS, "2 (marked by two or more)"))


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


def _majority_label(answers: Iterable[AnnotatorAnswer]) -> Answer | None:
    labelled = [answer for answer in answers if answer.label is not None]
    leaders = _leaders(labelled)
    if len(leaders) > 1:
        leaders = _leaders([answer for answer in labelled if answer.decisive]) or leaders
    if len(leaders) > 1:
        votes = ", ".join(f"{answer.annotator} {answer.label!r}" for answer in labelled)
        raise UserError(f"the annotators do not agree on a label ({votes}); settle it or remove the text")
    return leaders[0] if leaders else None


def _leaders(answers: Sequence[AnnotatorAnswer]) -> list[Answer]:
    """The labels with the most votes; 1 and True are different labels."""
    votes = Counter((type(answer.label), answer.label) for answer in answers)
    most = max(votes.values(), default=0)
    return [label for (_, label), count in votes.items() if count == most and label is not None]
