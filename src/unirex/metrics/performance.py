"""How often the task model is right.

All functions take labels of any hashable type, predictions first. Higher is better for every one of them.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence


def accuracy(predicted: Sequence[Hashable], gold: Sequence[Hashable]) -> float:
    """The share of texts given the right label (higher is better; NaN for no texts at all).

    >>> accuracy(["pos", "neg", "pos", "pos"], ["pos", "neg", "neg", "pos"])  # 3 of 4
    0.75
    """
    pairs = _pairs(predicted, gold)
    return sum(p == g for p, g in pairs) / len(pairs) if pairs else float("nan")


def macro_f1(
    predicted: Sequence[Hashable], gold: Sequence[Hashable], *, labels: Sequence[Hashable] | None = None
) -> float:
    """How well each label is found, every label counting the same however rare (higher is better).

    The mean F1 of `labels`, or of those that occur in either sequence (scikit-learn's rule).

    >>> macro_f1(["a", "a", "b"], ["a", "b", "b"])  # F1(a) = 2·1/(2+1) = 2/3, F1(b) = 2·1/(1+2) = 2/3
    0.6666666666666666
    """
    pairs = _pairs(predicted, gold)
    counted = list(labels) if labels is not None else _occurring(pairs)
    return sum(_f1(pairs, label) for label in counted) / len(counted) if counted else float("nan")


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
    pairs = _pairs(predicted, gold)
    ordered = list(labels) if labels is not None else _occurring(pairs)
    if positive is None and not ordered:
        return float("nan")
    return _f1(pairs, ordered[-1] if positive is None else positive)


def _pairs(predicted: Sequence[Hashable], gold: Sequence[Hashable]) -> list[tuple[Hashable, Hashable]]:
    """Each prediction beside the label it should have been; sequences of different length are a mistake."""
    if len(predicted) != len(gold):
        raise ValueError(f"{len(predicted)} predictions for {len(gold)} gold labels")
    return list(zip(predicted, gold, strict=True))


def _occurring(pairs: Iterable[tuple[Hashable, Hashable]]) -> list[Hashable]:
    """The labels of either side, smallest first; mixed types are ordered by type, then by their text."""
    found = {label for pair in pairs for label in pair}
    try:
        return sorted(found)  # type: ignore[type-var]
    except TypeError:
        return sorted(found, key=lambda label: (type(label).__name__, str(label)))


def _f1(pairs: Iterable[tuple[Hashable, Hashable]], label: Hashable) -> float:
    """F1 of one label: 2·hits / (guesses + occurrences), and 0 when it neither occurs nor is guessed."""
    hits = both = 0
    for predicted, gold in pairs:
        hits += predicted == label == gold
        both += (predicted == label) + (gold == label)
    return 2 * hits / both if both else 0.0
