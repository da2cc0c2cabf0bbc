"""Inter-annotator agreement: do several people mark the same words, and do they give the same label?

All measures are higher for more agreement. 1 is full agreement; for kappa and alpha 0 is agreement by chance
and less is disagreement. Where no rating could have differed, agreement is NaN, not 1.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import chain, combinations

import numpy as np
from numpy.typing import ArrayLike

from unirex.data.example import SPLIT_NAMES, Example, Splits
from unirex.data.rationales import words
from unirex.data.statistics import gold_flags
from unirex.errors import UserError
from unirex.metrics.arrays import Floats
from unirex.metrics.performance import f1_from_counts


@dataclass(frozen=True, slots=True)
class RationaleAgreement:
    """How far the annotators of a dataset agree on which words matter."""

    texts: int  # those marked by at least two people
    words: int  # of these texts
    annotators: tuple[int, int]  # the fewest and the most people a text was marked by
    alpha: float  # Krippendorff's, nominal, over words
    kappa: float  # Fleiss', over words; NaN unless every text was marked by as many people
    pairwise_f1: float  # mean over texts


@dataclass(frozen=True, slots=True)
class LabelAgreement:
    """How far the annotators of a dataset agree on the labels."""

    texts: int  # those labelled by at least two people
    annotators: tuple[int, int]  # the fewest and the most people a text was labelled by
    alpha: float  # Krippendorff's, nominal
    kappa: float  # Fleiss'; NaN unless every text was labelled by as many people
    same: float  # share of pairs of people who gave a text the same label, mean over texts


@dataclass(frozen=True, slots=True)
class Agreement:
    """Agreement on words and on labels; None where no text has the answers of two people."""

    words: RationaleAgreement | None
    labels: LabelAgreement | None


def dataset_agreement(data: Splits) -> dict[str, Agreement]:
    """Agreement in each split and in "all"; empty if the data does not have the answers of several people."""
    if data.info.groups != "annotators":
        return {}
    placed = ((split, example) for split, part in data.items() for example in part)
    return agreement_by_split(placed, segments=data.info.rationale_segments)


def agreement_by_split(
    placed: Iterable[tuple[str | None, Example]], *, segments: Sequence[int] | None = None
) -> dict[str, Agreement]:
    """Agreement in each split that is named, and in "all"; empty if no text has the answers of two people."""
    answered = [
        (split, example) for split, example in placed if max(len(example.groups), len(example.votes)) > 1
    ]
    parts = {name: [example for split, example in answered if split == name] for name in SPLIT_NAMES}
    parts["all"] = [example for _, example in answered]
    return {name: _agreement(part, segments) for name, part in parts.items() if part}


def _agreement(examples: Sequence[Example], segments: Sequence[int] | None) -> Agreement:
    marked = any(len(example.groups) > 1 for example in examples)
    labelled = any(len(example.votes) > 1 for example in examples)
    return Agreement(
        words=agreement_of(examples, segments=segments) if marked else None,
        labels=label_agreement_of(examples) if labelled else None,
    )


def agreement_of(examples: Iterable[Example], *, segments: Sequence[int] | None = None) -> RationaleAgreement:
    """Agreement on the words of every text that at least two people marked, from `Example.groups`.

    Groups hold one annotator each in data from Label Studio, Prodigy and doccano; there the marks of people
    who chose another label than the majority are not included. In ERASER data groups are alternative pieces
    of evidence by one person: they are meant to differ, and their agreement means nothing. `segments` are the
    numbers of those that can be marked (`DatasetInfo.rationale_segments`), all of them if None.
    """
    marked = [_word_marks(example, segments) for example in examples if len(example.groups) > 1]
    if not marked:
        raise UserError("no text was marked by two people or more; there is no agreement to measure.")
    annotators = sorted({len(marks) for marks in marked})
    # All texts side by side, [people, words]: NaN where a text has fewer people than others.
    most = annotators[-1]
    padded = [np.pad(marks, ((0, most - len(marks)), (0, 0)), constant_values=np.nan) for marks in marked]
    ratings = np.concatenate(padded, axis=1)
    ones = np.nansum(ratings, axis=0)
    same = len(annotators) == 1 and ratings.shape[1] > 0
    return RationaleAgreement(
        texts=len(marked),
        words=ratings.shape[1],
        annotators=(annotators[0], most),
        alpha=krippendorff_alpha(ratings),
        kappa=fleiss_kappa(np.stack([annotators[0] - ones, ones], axis=1)) if same else float("nan"),
        pairwise_f1=_mean([pairwise_f1(marks) for marks in marked]),
    )


def label_agreement_of(examples: Iterable[Example]) -> LabelAgreement:
    """Agreement on the label of every text that at least two people labelled, from `Example.votes`.

    >>> votes = [("a", "a"), ("a", "b")]
    >>> found = label_agreement_of(Example("1", ("so",), "a", votes=given) for given in votes)
    >>> found.texts, found.same, round(found.kappa, 3)
    (2, 0.5, -0.333)
    """
    votes = [example.votes for example in examples if len(example.votes) > 1]
    if not votes:
        raise UserError("no text was labelled by two people or more; there is no agreement to measure.")
    people = sorted({len(given) for given in votes})
    numbers = {label: number for number, label in enumerate(dict.fromkeys(chain.from_iterable(votes)))}
    ratings = np.full((people[-1], len(votes)), np.nan)  # [people, texts]: NaN where a text has fewer votes
    for text, given in enumerate(votes):
        ratings[: len(given), text] = [numbers[label] for label in given]
    counts = (ratings[..., None] == np.arange(len(numbers))).sum(axis=0)  # [texts, labels]
    totals = counts.sum(axis=1)
    pairs = (counts * (counts - 1)).sum(axis=1) / (totals * (totals - 1))
    return LabelAgreement(
        texts=len(votes),
        annotators=(people[0], people[-1]),
        alpha=krippendorff_alpha(ratings),
        kappa=fleiss_kappa(counts) if len(people) == 1 else float("nan"),
        same=float(pairs.mean()),
    )


def fleiss_kappa(counts: ArrayLike) -> float:
    """Agreement beyond chance where each item has the same number of raters: Fleiss' kappa (1971).

    `counts` [N, categories] is how many of the n raters put each of N items in each category.
    κ = (P - Pₑ) / (1 - Pₑ): P is the mean share of agreeing pairs of raters, Pₑ = Σⱼ pⱼ² that of raters who
    guess by the overall shares pⱼ of the categories. NaN if all ratings are one category.

    >>> round(fleiss_kappa([[2, 0], [1, 1]]), 6)  # P = (1 + 0) / 2, shares 3/4 and 1/4: Pₑ = 10/16
    -0.333333
    """
    table = np.asarray(counts, dtype=np.float64)  # [N, categories]
    if table.ndim != 2 or not table.size:
        raise ValueError(f"counts of shape {table.shape}; [things, categories] are needed")
    raters = table[0].sum()
    if (table.sum(axis=1) != raters).any() or raters < 2:
        raise ValueError(
            "Fleiss' kappa needs as many raters for each thing, at least two; Krippendorff's alpha does not"
        )
    pairs = (table * (table - 1)).sum(axis=1) / (raters * (raters - 1))
    by_chance = float(((table.sum(axis=0) / table.sum()) ** 2).sum())
    return _beyond_chance(1 - float(pairs.mean()), 1 - by_chance)


def krippendorff_alpha(ratings: ArrayLike) -> float:
    """Agreement beyond chance with any pattern of missing ratings: Krippendorff's alpha, nominal.

    `ratings` [annotators, N] are numbers, NaN where a rating is missing; items rated once carry no
    information and are left out. α = 1 - Dₒ / Dₑ, the observed over the expected share of pairs of ratings
    that differ. NaN if only one value was ever given.

    >>> krippendorff_alpha([[0, 1, 1], [0, 1, 0]])  # Dₒ = 2/6, Dₑ = 2·3·3 / (6·5)
    0.4444444444444444
    """
    given = np.asarray(ratings, dtype=np.float64)
    if given.ndim != 2:
        raise ValueError(f"ratings of shape {given.shape}; [annotators, things] are needed")
    values = np.unique(given[~np.isnan(given)])
    counts = (given[..., None] == values).sum(axis=0).astype(np.float64)  # [N, V]
    counts = counts[counts.sum(axis=1) > 1]
    # How often two people gave each pair of values to one item. Each rating counts 1 in total, spread over
    # the other ratings of its item, and is not paired with itself.
    shares = counts / (counts.sum(axis=1, keepdims=True) - 1)
    coincidences = counts.T @ shares - np.diag(shares.sum(axis=0))  # [V, V]
    totals, different = coincidences.sum(axis=0), 1.0 - np.eye(len(values))
    expected = float((np.outer(totals, totals) * different).sum())
    observed = float((coincidences * different).sum()) * float(totals.sum() - 1)
    return _beyond_chance(observed, expected)


def pairwise_f1(marks: ArrayLike) -> float:
    """How well one person's marks predict another's: token F1, the mean over all pairs of people.

    `marks` [annotators, N] are 0 or 1, NaN for tokens a person did not see; of two people only the tokens
    both saw count. A model with a token F1 as high agrees with a person as well as another person does. A
    pair in which neither marked anything has no F1 and is left out; NaN if no pair is left.

    >>> pairwise_f1([[1, 1, 0, 0], [1, 0, 1, 0], [1, 1, 0, 0]])  # (1/2 + 1 + 1/2) / 3
    0.6666666666666666
    """
    given = np.asarray(marks, dtype=np.float64)
    if given.ndim != 2 or not np.isin(given[~np.isnan(given)], (0, 1)).all():
        raise ValueError("marks must be [annotators, N], each 0, 1 or NaN")
    scores = []
    for first, second in combinations(given, 2):
        both = ~(np.isnan(first) | np.isnan(second))
        hits, marked, others = (first * second)[both].sum(), first[both].sum(), second[both].sum()
        if marked + others:
            scores.append(f1_from_counts(int(hits), int(marked), int(others)))
    return _mean(scores)


def _word_marks(example: Example, segments: Sequence[int] | None) -> Floats:
    """Which words each person marked: [people, words]; a word is marked if any of its characters is."""
    numbers = range(len(example.segments)) if segments is None else segments
    columns = []
    for number in numbers:
        text = example.segments[number]
        marks = [gold_flags(words(text), text, group[number]) for group in example.groups]
        columns.append(np.array(marks, dtype=np.float64))
    return np.concatenate(columns, axis=1)


def _beyond_chance(observed: float, expected: float) -> float:
    """1 - observed / expected disagreement."""
    return 1 - observed / expected if expected > 0 else float("nan")


def _mean(values: Sequence[float]) -> float:
    """The mean of the values that are not NaN."""
    known = [value for value in values if not np.isnan(value)]
    return sum(known) / len(known) if known else float("nan")
