"""Whether several people mark the same: how much of a rationale is a matter of taste.

All measures are higher for more agreement. 1 is full agreement; for kappa and alpha 0 is what chance alone
gives and less is disagreement. An agreement on nothing that could have differed is NaN, not 1.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from unirex.data.example import Example, Rationale
from unirex.data.rationales import words
from unirex.errors import UserError, unknown

Level = Literal["nominal", "ordinal", "interval"]
Floats = NDArray[np.float64]

LEVELS = ("nominal", "ordinal", "interval")


def fleiss_kappa(counts: ArrayLike) -> float:
    """Agreement beyond chance where each thing is rated by as many people: Fleiss' kappa (1971).

    `counts` [N, categories] says how many of the n raters put each of N things in each category.
    κ = (P - Pₑ) / (1 - Pₑ): P is the mean share of agreeing pairs of raters, Pₑ = Σⱼ pⱼ² that of raters who
    guess by the overall shares pⱼ of the categories. NaN if all ratings are one category.

    >>> round(fleiss_kappa([[2, 0], [1, 1]]), 6)  # P = (1 + 0) / 2, shares 3/4 and 1/4: Pₑ = 10/16
    -0.333333
    """
    table = np.asarray(counts, dtype=np.float64)  # [N, categories]
    raters = _raters(table)
    pairs = (table * (table - 1)).sum(axis=1) / (raters * (raters - 1))
    by_chance = float(((table.sum(axis=0) / table.sum()) ** 2).sum())
    return _beyond_chance(1 - float(pairs.mean()), 1 - by_chance)


def krippendorff_alpha(ratings: ArrayLike, level: Level = "nominal") -> float:
    """Agreement beyond chance, whoever rated what: Krippendorff's alpha.

    `ratings` [annotators, N] are numbers, NaN where somebody did not rate; things rated once say nothing and
    are left out. α = 1 - Dₒ / Dₑ, the observed over the expected disagreement. Two different values disagree
    by 1 (nominal), by their squared difference (interval), or by the squared number of ratings between them
    (ordinal). NaN if only one value was ever given.

    >>> krippendorff_alpha([[0, 1, 1], [0, 1, 0]])  # Dₒ = 2/6, Dₑ = 2·3·3 / (6·5)
    0.4444444444444444
    """
    if level not in LEVELS:
        raise unknown("level of measurement", level, LEVELS)
    values, together = _coincidences(np.asarray(ratings, dtype=np.float64))  # [V], [V, V]
    totals = together.sum(axis=0)
    distance = _distance(values, totals, level)
    expected = float((np.outer(totals, totals) * distance).sum())
    observed = float((together * distance).sum()) * float(totals.sum() - 1)
    return _beyond_chance(observed, expected)


def pairwise_f1(marks: ArrayLike) -> float:
    """How well one person's marks predict another's: token F1, the mean over all pairs of people.

    `marks` [annotators, N] are 0 or 1, NaN where somebody did not look; of two people only the tokens both
    looked at count. A model with a token F1 as high agrees with a person as well as another person does. A
    pair in which neither marked anything has no F1 and is left out; NaN if no pair is left.

    >>> pairwise_f1([[1, 1, 0, 0], [1, 0, 1, 0], [1, 1, 0, 0]])  # (1/2 + 1 + 1/2) / 3
    0.6666666666666666
    """
    given = np.asarray(marks, dtype=np.float64)
    if given.ndim != 2 or not np.isin(given[~np.isnan(given)], (0, 1)).all():
        raise ValueError("marks must be [annotators, N], each 0, 1 or NaN")
    found = [_f1(one, other) for one, other in combinations(given, 2)]
    known = [value for value in found if value is not None]
    return sum(known) / len(known) if known else float("nan")


@dataclass(frozen=True, slots=True)
class RationaleAgreement:
    """How far the annotators of a dataset agree on which words matter."""

    texts: int  # those marked by at least two people
    words: int  # of these texts
    annotators: tuple[int, int]  # the fewest and the most people a text was marked by
    alpha: float  # Krippendorff's, nominal, over words
    kappa: float  # Fleiss', over words; NaN unless every text was marked by as many people
    pairwise_f1: float  # mean over texts


def agreement_of(examples: Iterable[Example], *, segments: Sequence[int] | None = None) -> RationaleAgreement:
    """Agreement on the words of every text that at least two people marked, from `Example.groups`.

    Groups hold one annotator each in data from Label Studio, Prodigy and doccano; there the marks of people
    who chose another label than most are not among them. In ERASER data groups are alternative pieces of
    evidence by one person: they are meant to differ, and their agreement means nothing. `segments` are the
    numbers of those that can be marked (`DatasetInfo.rationale_segments`), all of them if None.
    """
    marked = [_word_marks(one, segments) for one in examples if len(one.groups) > 1]  # [people, words] each
    if not marked:
        raise UserError("no text was marked by two people or more; there is no agreement to measure.")
    people = sorted({len(one) for one in marked})
    ratings = np.full((people[-1], sum(one.shape[1] for one in marked)), np.nan)
    for block, one in zip(np.split(ratings, _ends(marked)[:-1], axis=1), marked, strict=True):
        block[: len(one)] = one
    ones = np.nansum(ratings, axis=0)
    same = len(people) == 1 and ratings.shape[1] > 0
    return RationaleAgreement(
        texts=len(marked),
        words=ratings.shape[1],
        annotators=(people[0], people[-1]),
        alpha=krippendorff_alpha(ratings),
        kappa=fleiss_kappa(np.stack([people[0] - ones, ones], axis=1)) if same else float("nan"),
        pairwise_f1=_mean([pairwise_f1(one) for one in marked]),
    )


def _raters(table: Floats) -> float:
    """How many people rated each thing, which must be the same for all."""
    if table.ndim != 2 or not table.size:
        raise ValueError(f"counts of shape {table.shape}; [things, categories] are needed")
    raters = table.sum(axis=1)
    if (raters != raters[0]).any() or raters[0] < 2:
        raise ValueError(
            "Fleiss' kappa needs as many raters for each thing, at least two; Krippendorff's alpha does not"
        )
    return float(raters[0])


def _beyond_chance(observed: float, expected: float) -> float:
    return 1 - observed / expected if expected > 0 else float("nan")


def _coincidences(ratings: Floats) -> tuple[Floats, Floats]:
    """The values given, and how often two people gave each pair of them to one thing; a rating counts 1."""
    if ratings.ndim != 2:
        raise ValueError(f"ratings of shape {ratings.shape}; [annotators, things] are needed")
    values = np.unique(ratings[~np.isnan(ratings)])
    counts = np.stack([(ratings == value).sum(axis=0) for value in values], axis=1) if values.size else None
    if counts is None:
        return values, np.zeros((0, 0))
    counts = counts[counts.sum(axis=1) > 1].astype(np.float64)  # [N, V]
    shares = counts / (counts.sum(axis=1, keepdims=True) - 1)
    return values, counts.T @ shares - np.diag(shares.sum(axis=0))  # nobody is paired with themselves


def _distance(values: Floats, totals: Floats, level: Level) -> Floats:
    """By how much each pair of values disagrees: [V, V]."""
    if level == "nominal":
        return 1.0 - np.eye(len(values))
    # Ordinal: from the middle of one value's ratings to the middle of the other's.
    place = np.cumsum(totals) - totals / 2 if level == "ordinal" else values
    return (place[:, None] - place[None, :]) ** 2


def _f1(one: Floats, other: Floats) -> float | None:
    both = ~(np.isnan(one) | np.isnan(other))
    total = one[both].sum() + other[both].sum()
    return float(2 * (one[both] * other[both]).sum() / total) if total else None


def _word_marks(example: Example, segments: Sequence[int] | None) -> Floats:
    """Which words each person marked: [people, words]; a word is marked if any of its characters is."""
    wanted = range(len(example.segments)) if segments is None else segments
    columns = [_segment_marks(example.segments[number], number, example.groups) for number in wanted]
    return np.concatenate(columns, axis=1)


def _segment_marks(text: str, number: int, groups: Sequence[Rationale]) -> Floats:
    places = np.array(words(text), dtype=np.int64).reshape(-1, 2)
    marks = np.zeros((len(groups), len(places)))
    for row, group in zip(marks, groups, strict=True):
        for start, end in group[number]:
            row[(places[:, 0] < end) & (places[:, 1] > start)] = 1
    return marks


def _ends(blocks: Sequence[Floats]) -> list[int]:
    return np.cumsum([one.shape[1] for one in blocks]).tolist()


def _mean(values: Sequence[float]) -> float:
    known = [value for value in values if not np.isnan(value)]
    return sum(known) / len(known) if known else float("nan")
