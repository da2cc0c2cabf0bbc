"""How often the task model is right.

All functions take labels of any hashable type, predictions first. Higher is better for every one of them.
Each rests on counts of (predicted, gold) pairs, so that a stream of any length can be scored as it goes by:
whoever has such counts calls the function in `_of`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass

Confusion = Mapping[tuple[Hashable, Hashable], int]  # how often a label was predicted and another was right

COLLAPSED = 0.99  # one label for this share of the texts: the classifier hardly looks at them
FEWEST = 10  # texts; of fewer, one label for all may be luck


@dataclass(frozen=True, slots=True)
class Collapse:
    """That a classifier gives one answer to all texts, or nearly all."""

    label: Hashable
    share: float  # of the texts that get it


@dataclass(frozen=True, slots=True)
class ClassRow:
    """How well one label is found. `support` is how often it is right."""

    precision: float  # how many of the texts given this label have it
    recall: float  # how many of the texts that have this label were given it
    f1: float
    support: int


def accuracy(predicted: Sequence[Hashable], gold: Sequence[Hashable]) -> float:
    """The share of texts given the right label (higher is better; NaN for no texts at all).

    >>> accuracy(["pos", "neg", "pos", "pos"], ["pos", "neg", "neg", "pos"])  # 3 of 4
    0.75
    """
    return accuracy_of(_confusion(predicted, gold))


def accuracy_of(counts: Confusion) -> float:
    """`accuracy` from counts."""
    total = sum(counts.values())
    return sum(n for (p, g), n in counts.items() if p == g) / total if total else float("nan")


def macro_f1(
    predicted: Sequence[Hashable], gold: Sequence[Hashable], *, labels: Sequence[Hashable] | None = None
) -> float:
    """How well each label is found, every label counting the same however rare (higher is better).

    The mean F1 of `labels`, or of those that occur in either sequence (scikit-learn's rule).

    >>> macro_f1(["a", "a", "b"], ["a", "b", "b"])  # F1(a) = 2·1/(2+1) = 2/3, F1(b) = 2·1/(1+2) = 2/3
    0.6666666666666666
    """
    return macro_f1_of(_confusion(predicted, gold), labels=labels)


def macro_f1_of(counts: Confusion, *, labels: Sequence[Hashable] | None = None) -> float:
    """`macro_f1` from counts."""
    counted = list(labels) if labels is not None else _occurring(counts)
    return sum(_f1(counts, label) for label in counted) / len(counted) if counted else float("nan")


def micro_f1(
    predicted: Sequence[Hashable], gold: Sequence[Hashable], *, labels: Sequence[Hashable] | None = None
) -> float:
    """How well the labels are found, every text counting the same (higher is better; NaN for no texts).

    F1 of the hits, guesses and occurrences of all `labels` together. Over all labels that occur it equals
    accuracy; it says something else only of some of them, such as all but "none".

    >>> micro_f1(["a", "a", "none"], ["a", "b", "b"], labels=["a", "b"])  # 2·1 / (2 guesses + 3 occurrences)
    0.4
    """
    return micro_f1_of(_confusion(predicted, gold), labels=labels)


def micro_f1_of(counts: Confusion, *, labels: Sequence[Hashable] | None = None) -> float:
    """`micro_f1` from counts."""
    wanted = None if labels is None else set(labels)
    hits = both = 0
    for (predicted, gold), times in counts.items():
        found, right = wanted is None or predicted in wanted, wanted is None or gold in wanted
        hits += times * (predicted == gold and right)
        both += times * (found + right)
    return 2 * hits / both if both else 0.0 if counts else float("nan")


def binary_f1(
    predicted: Sequence[Hashable],
    gold: Sequence[Hashable],
    *,
    labels: Sequence[Hashable] | None = None,
    positive: Hashable | None = None,
) -> float:
    """How well the one label that matters is found (higher is better).

    The positive label is `positive`, else the last of `labels`, else the last in sorted order of those that
    occur: `True` of booleans, 1 of 0 and 1, "pos" of "neg" and "pos".

    >>> binary_f1([1, 1, 0, 0], [1, 0, 1, 0])  # found 1 of 2 with 2 guesses: 2·1/(2+2)
    0.5
    """
    return binary_f1_of(_confusion(predicted, gold), labels=labels, positive=positive)


def binary_f1_of(
    counts: Confusion, *, labels: Sequence[Hashable] | None = None, positive: Hashable | None = None
) -> float:
    """`binary_f1` from counts."""
    ordered = list(labels) if labels is not None else _occurring(counts)
    if positive is None and not ordered:
        return float("nan")
    return _f1(counts, ordered[-1] if positive is None else positive)


def class_report(
    predicted: Sequence[Hashable], gold: Sequence[Hashable], labels: Sequence[Hashable] | None = None
) -> dict[Hashable, ClassRow]:
    """Precision, recall and F1 of every label: what the averages hide (higher is better for all three).

    >>> class_report(["a", "a", "b"], ["a", "b", "b"])["b"]  # found 1 of 2 with 1 guess
    ClassRow(precision=1.0, recall=0.5, f1=0.6666666666666666, support=2)
    """
    return class_report_of(_confusion(predicted, gold), labels)


def class_report_of(counts: Confusion, labels: Sequence[Hashable] | None = None) -> dict[Hashable, ClassRow]:
    """`class_report` from counts; a ratio of nothing to nothing is 0."""
    hits, guesses, occurrences = Counter[Hashable](), Counter[Hashable](), Counter[Hashable]()
    for (predicted, gold), times in counts.items():
        hits[gold] += times * (predicted == gold)
        guesses[predicted] += times
        occurrences[gold] += times
    rows = list(labels) if labels is not None else _occurring(counts)
    return {one: _class_row(hits[one], guesses[one], occurrences[one]) for one in rows}


def collapse_of(counts: Confusion) -> Collapse | None:
    """Whether a classifier has collapsed to a constant: one answer to all texts, though they differ.

    It has if `COLLAPSED` of at least `FEWEST` texts get the same label, unless as many of them have it:
    then only if there is no other answer at all. Texts that all have one label cannot tell. Faithfulness of
    such a classifier is near 0 whatever its rationales are (SPEC A11, D-24).

    >>> collapse_of({("neg", "neg"): 12, ("neg", "pos"): 8})
    Collapse(label='neg', share=1.0)
    >>> collapse_of({("neg", "neg"): 12, ("pos", "pos"): 8})
    """
    texts, given, right = sum(counts.values()), Counter[Hashable](), Counter[Hashable]()
    for (predicted, gold), times in counts.items():
        given[predicted] += times
        right[gold] += times
    if texts < FEWEST or len(+right) < 2:
        return None
    label, times = given.most_common(1)[0]
    needed = COLLAPSED if right[label] / texts < COLLAPSED else 1.0
    return Collapse(label, times / texts) if times / texts >= needed else None


def _class_row(hits: int, guesses: int, occurrences: int) -> ClassRow:
    return ClassRow(
        precision=hits / guesses if guesses else 0.0,
        recall=hits / occurrences if occurrences else 0.0,
        f1=2 * hits / (guesses + occurrences) if guesses + occurrences else 0.0,
        support=occurrences,
    )


def _confusion(predicted: Sequence[Hashable], gold: Sequence[Hashable]) -> Confusion:
    """How often each prediction met each label; sequences of different length are a mistake."""
    if len(predicted) != len(gold):
        raise ValueError(f"{len(predicted)} predictions for {len(gold)} gold labels")
    return Counter(zip(predicted, gold, strict=True))


def _occurring(pairs: Iterable[tuple[Hashable, Hashable]]) -> list[Hashable]:
    """The labels of either side, smallest first; mixed types are ordered by type, then by their text."""
    found = {label for pair in pairs for label in pair}
    try:
        return sorted(found)  # type: ignore[type-var]
    except TypeError:
        return sorted(found, key=lambda label: (type(label).__name__, str(label)))


def _f1(counts: Confusion, label: Hashable) -> float:
    """F1 of one label: 2·hits / (guesses + occurrences), and 0 when it neither occurs nor is guessed."""
    hits = both = 0
    for (predicted, gold), times in counts.items():
        hits += times * (predicted == label == gold)
        both += times * ((predicted == label) + (gold == label))
    return 2 * hits / both if both else 0.0
