"""Task performance: how often the task model is right.

All functions take labels of any hashable type, predictions first. A tuple is a set of labels, where texts
have any number of them. Higher is better for every one of them.
Each is computed from counts of (predicted, gold) pairs, so that a stream of any length can be scored as it
passes: with such counts at hand, call the function that ends in `_of`. The F1 of many draws at once comes
from counts that are arrays, with a number for each draw.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from unirex.data.example import answer_labels

Confusion = Mapping[tuple[Any, Any], Any]  # (predicted, gold) → how often; F1: or [D], in each draw

COLLAPSED = 0.99  # one label for this share of the texts: the classifier hardly looks at them
FEWEST = 10  # texts; of fewer, one label for all may be luck


@dataclass(frozen=True, slots=True)
class Collapse:
    """The one answer that a classifier gives to all texts, or nearly all."""

    label: Any
    share: float  # of the texts that get it


@dataclass(frozen=True, slots=True)
class ClassRow:
    """How well one label is found."""

    precision: float  # how many of the texts given this label have it
    recall: float  # how many of the texts that have this label were given it
    f1: float
    support: int  # how many texts have this label


def accuracy(predicted: Sequence[Hashable], gold: Sequence[Hashable]) -> float:
    """The share of texts given the right label (higher is better; NaN for no texts at all).

    Of sets of labels, the share of texts given all of theirs and no other: subset accuracy.

    >>> accuracy(["pos", "neg", "pos", "pos"], ["pos", "neg", "neg", "pos"])  # 3 of 4
    0.75
    >>> accuracy([("a",), ("a", "b")], [("a", "b"), ("a", "b")])
    0.5
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
    >>> macro_f1([("a",), ("a", "b"), ()], [("a", "b"), ("a",), ()])  # F1(a) = 1, F1(b) = 0
    0.5
    """
    return macro_f1_of(_confusion(predicted, gold), labels=labels)


def macro_f1_of(counts: Confusion, *, labels: Sequence[Hashable] | None = None) -> float:
    """`macro_f1` from counts."""
    found = _label_counts(counts)
    f1 = [f1_from_counts(*(counter[label] for counter in found)) for label in counted_labels(counts, labels)]
    return sum(f1) / len(f1) if f1 else float("nan")


def micro_f1(
    predicted: Sequence[Hashable], gold: Sequence[Hashable], *, labels: Sequence[Hashable] | None = None
) -> float:
    """How well the labels are found, every text counting the same (higher is better; NaN for no texts).

    F1 of the hits, guesses and occurrences of all `labels` together. Over all labels that occur it equals
    accuracy where a text has one label; it says something else of some of them, such as all but "none", and
    of sets of labels.

    >>> micro_f1(["a", "a", "none"], ["a", "b", "b"], labels=["a", "b"])  # 2·1 / (2 guesses + 3 occurrences)
    0.4
    """
    return micro_f1_of(_confusion(predicted, gold), labels=labels)


def micro_f1_of(counts: Confusion, *, labels: Sequence[Hashable] | None = None) -> float:
    """`micro_f1` from counts."""
    if not counts:
        return float("nan")
    pooled = set(counted_labels(counts, labels))
    hits, guesses, occurrences = (
        sum(times for label, times in counter.items() if label in pooled) for counter in _label_counts(counts)
    )
    return f1_from_counts(hits, guesses, occurrences)


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
    if positive is None:
        ordered = counted_labels(counts, labels)
        if not ordered:
            return float("nan")
        positive = ordered[-1]
    return f1_from_counts(*(counter[positive] for counter in _label_counts(counts)))


# The metrics of the registry that are computed from a confusion table.
FROM_CONFUSION: dict[str, Callable[..., float]] = {
    "macro_f1": macro_f1_of,
    "micro_f1": micro_f1_of,
    "binary_f1": binary_f1_of,  # only where there are two labels
}


def f1_keys(labels: Sequence[Hashable]) -> list[tuple[Any, Any]]:
    """The pairs of (predicted, gold) that stand for what a text can be to each label: found, wrong, missed.

    Every F1 is the same from counts of these as from counts of whole answers.

    >>> f1_keys(["a"])
    [(('a',), ('a',)), (('a',), ()), ((), ('a',))]
    """
    return [pair for one in labels for pair in (((one,), (one,)), ((one,), ()), ((), (one,)))]


def f1_terms(predicted: Any, gold: Any, labels: Sequence[Hashable]) -> list[bool]:
    """Which of `f1_keys` an answer is.

    >>> f1_terms("a", "b", ["a", "b"])  # wrong for a, missed for b
    [False, True, False, False, False, True]
    """
    given, right = answer_labels(predicted), answer_labels(gold)
    return [
        term
        for said, true in ((label in given, label in right) for label in labels)
        for term in (said and true, said and not true, true and not said)
    ]


def class_report_of(counts: Confusion, labels: Sequence[Hashable] | None = None) -> dict[Hashable, ClassRow]:
    """Precision, recall and F1 of every label: what the averages hide (higher is better for all three).

    A ratio of nothing to nothing is 0.

    >>> class_report_of({("a", "a"): 1, ("a", "b"): 1, ("b", "b"): 1})["b"]  # found 1 of 2 with 1 guess
    ClassRow(precision=1.0, recall=0.5, f1=0.6666666666666666, support=2)
    """
    hits, guesses, occurrences = _label_counts(counts)
    report = {}
    for label in counted_labels(counts, labels):
        report[label] = ClassRow(
            precision=hits[label] / guesses[label] if guesses[label] else 0.0,
            recall=hits[label] / occurrences[label] if occurrences[label] else 0.0,
            f1=f1_from_counts(hits[label], guesses[label], occurrences[label]),
            support=occurrences[label],
        )
    return report


def confusion_matrix_of(counts: Confusion, labels: Sequence[Hashable]) -> list[list[int]]:
    """How often each label (row) was given each label (column); only where a text has one label.

    >>> confusion_matrix_of({("a", "a"): 5, ("a", "b"): 2, ("b", "b"): 3}, ["a", "b"])
    [[5, 0], [2, 3]]
    """
    return [[counts.get((predicted, gold), 0) for predicted in labels] for gold in labels]


def collapse_of(counts: Confusion) -> Collapse | None:
    """Whether a classifier has collapsed to a constant: one answer to all texts, though they differ.

    It has if `COLLAPSED` of at least `FEWEST` texts get the same label, unless as many of them have it:
    then only if there is no other answer at all. Texts that all have one label cannot tell. Faithfulness of
    such a classifier is near 0 whatever its rationales are (spec/known-errors.md#d-24).

    >>> collapse_of({("neg", "neg"): 12, ("neg", "pos"): 8})
    Collapse(label='neg', share=1.0)
    >>> collapse_of({("neg", "neg"): 12, ("pos", "pos"): 8})
    """
    texts = sum(counts.values())
    guesses, occurrences = (
        Counter[Hashable](),
        Counter[Hashable](),
    )  # of whole answers: sets are not taken apart
    for (predicted, gold), times in counts.items():
        guesses[predicted] += times
        occurrences[gold] += times
    if texts < FEWEST or len(+occurrences) < 2:
        return None
    label, times = guesses.most_common(1)[0]
    needed = COLLAPSED if occurrences[label] / texts < COLLAPSED else 1.0
    return Collapse(label, times / texts) if times / texts >= needed else None


def f1_from_counts(hits: Any, guesses: Any, occurrences: Any) -> Any:
    """F1 of one class, the harmonic mean of hits / guesses and hits / occurrences; 0 if there is neither.

    >>> f1_from_counts(1, 2, 3)  # 2·1 / (2 + 3)
    0.4
    """
    total = guesses + occurrences
    return 2 * hits / (total + (total == 0))


def f1_from_rates(precision: float, recall: float) -> float:
    """F1 where only the rates are known, not the counts; 0 if either is 0.

    It rounds differently from `f1_from_counts`, so the two do not replace each other.

    >>> f1_from_rates(0.5, 1.0)  # 2·½·1 / (½ + 1)
    0.6666666666666666
    """
    return 0.0 if precision == 0 or recall == 0 else 2 * precision * recall / (precision + recall)


def _confusion(predicted: Sequence[Hashable], gold: Sequence[Hashable]) -> Confusion:
    """How often each pair of prediction and label occurs."""
    if len(predicted) != len(gold):
        raise ValueError(f"{len(predicted)} predictions for {len(gold)} gold labels")
    return Counter(zip(predicted, gold, strict=True))


def _label_counts(counts: Confusion) -> tuple[Counter[Hashable], Counter[Hashable], Counter[Hashable]]:
    """Per label: how often it was predicted and right, how often predicted, and how often right."""
    hits: Counter[Hashable] = Counter()
    guesses: Counter[Hashable] = Counter()
    occurrences: Counter[Hashable] = Counter()
    for (predicted, gold), times in counts.items():
        given, right = answer_labels(predicted), answer_labels(gold)
        for label in given:
            guesses[label] += times
            hits[label] += times * (label in right)
        for label in right:
            occurrences[label] += times
    return hits, guesses, occurrences


def counted_labels(counts: Confusion, labels: Sequence[Hashable] | None = None) -> list[Hashable]:
    """These labels, or those of either side, smallest first; mixed types are ordered by type, then text."""
    if labels is not None:
        return list(labels)
    occurring: set[Any] = {label for pair in counts for answer in pair for label in answer_labels(answer)}
    try:
        return sorted(occurring)
    except TypeError:
        return sorted(occurring, key=lambda label: (type(label).__name__, str(label)))
