"""What several people marked in one text, made into one label and one rationale."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import accumulate, chain
from typing import Literal, NamedTuple, get_args

from unirex.data.example import CharSpan, Label, Rationale
from unirex.data.rationales import merge
from unirex.data.validate import remark
from unirex.errors import UserError, unknown

How = Literal["union", "majority", "intersection"]


@dataclass(frozen=True, slots=True)
class Annotation:
    """One person's answer about one text.

    `label` is None where the person was not asked for it; `marking` is None where they were not asked to
    mark anything, or it cannot be told whether they were.
    """

    who: str
    label: Label | None = None
    marking: Rationale | None = None
    decisive: bool = False  # breaks a tie: somebody said that this answer is the right one


class Agreement(NamedTuple):
    """What comes of several people's answers; `groups` holds each one's marks where there are several."""

    label: Label | None
    rationale: Rationale | None
    groups: tuple[Rationale, ...]


def combine(markings: Sequence[Rationale], how: How, segments: Sequence[str]) -> Rationale:
    """The characters marked by anybody (union), by more than half (majority) or by all (intersection).

    >>> combine([(((0, 4),),), (((2, 6),),)], "union", ["so good"])
    (((0, 6),),)
    >>> combine([(((0, 4),),), (((2, 6),),)], "intersection", ["so good"])
    (((2, 4),),)
    """
    needed = _votes_needed(how, len(markings))
    if not markings:
        raise UserError("nobody marked anything; there is nothing to combine")
    if any(len(marking) != len(segments) for marking in markings):
        raise UserError(f"each annotator must mark the same {len(segments)} segments")
    return tuple(
        _at_least(needed, [marking[number] for marking in markings]) for number in range(len(segments))
    )


def agree(
    annotations: Sequence[Annotation], *, how: How, segments: Sequence[str], place: object
) -> Agreement:
    """The label most people gave, and the marks of those who gave it.

    Whoever chose another label marked the reasons for that label, so these marks are left out with a remark.
    """
    check_how(how)
    label = _elect(annotations)
    for one in annotations:
        if one.label not in (None, label) and one.marking is not None:
            remark(place, f"{one.who} chose {one.label!r}, most chose {label!r}: the marks are left out")
    groups = tuple(
        one.marking for one in annotations if one.marking is not None and one.label in (None, label)
    )
    if not groups:
        return Agreement(label, None, ())
    return Agreement(label, combine(groups, how, segments), groups if len(groups) > 1 else ())


def check_how(how: str) -> None:
    """There is such a way to combine markings."""
    if how not in get_args(How):
        raise unknown("way to combine annotators", how, get_args(How))


def _votes_needed(how: str, people: int) -> int:
    check_how(how)
    return {"union": 1, "majority": people // 2 + 1, "intersection": people}[how]


def _at_least(needed: int, markings: Iterable[Sequence[CharSpan]]) -> tuple[CharSpan, ...]:
    """The characters that enough people marked: a sweep over where each one's marks begin and end."""
    steps: Counter[int] = Counter()
    for start, end in chain.from_iterable(merge(spans) for spans in markings):
        steps[start] += 1
        steps[end] -= 1
    borders = sorted(steps)
    votes = accumulate(steps[border] for border in borders)
    # zip stops one short of the last border, where the votes are back at nought.
    return merge(
        (start, end) for start, end, vote in zip(borders, borders[1:], votes, strict=False) if vote >= needed
    )


def _elect(annotations: Iterable[Annotation]) -> Label | None:
    given = [one for one in annotations if one.label is not None]
    leaders = _leaders(given)
    if len(leaders) > 1:
        leaders = _leaders([one for one in given if one.decisive]) or leaders
    if len(leaders) > 1:
        votes = ", ".join(f"{one.who} {one.label!r}" for one in given)
        raise UserError(f"the annotators do not agree on a label ({votes}); settle it or remove the text")
    return leaders[0] if leaders else None


def _leaders(given: Sequence[Annotation]) -> list[Label]:
    """The labels with the most votes; 1 and True are different labels."""
    votes = Counter((type(one.label), one.label) for one in given)
    most = max(votes.values(), default=0)
    return [label for (_, label), count in votes.items() if count == most and label is not None]
