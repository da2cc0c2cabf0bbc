"""ERASER's metrics of the class: how often it is right, and what becomes of it without the rationale.

Probabilities are given by class, in any order. `full` is from the whole text, `reduced` from the text without
its rationale (comprehensiveness) or from the rationale alone (sufficiency).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from math import fsum, inf, log, nan
from typing import Any

from unirex.metrics.performance import Confusion, accuracy_of, class_report_of

Classes = Mapping[str, float]
Report = dict[str, Any]  # as scikit-learn's classification_report

AOPC = (0.01, 0.05, 0.1, 0.2, 0.5)  # shares of the tokens ERASER reports


def classification_report(counts: Confusion) -> Report:
    """Precision, recall and F1 of every class, and their averages (higher is better).

    Laid out as scikit-learn's `classification_report(output_dict=True)`.

    >>> report = classification_report({("a", "a"): 1, ("a", "b"): 1, ("b", "b"): 1})
    >>> report["b"], report["accuracy"]
    ({'precision': 1.0, 'recall': 0.5, 'f1-score': 0.6666666666666666, 'support': 2}, 0.6666666666666666)
    """
    rows: dict[str, dict[str, float]] = {
        str(label): {
            "precision": row.precision,
            "recall": row.recall,
            "f1-score": row.f1,
            "support": row.support,
        }
        for label, row in class_report_of(counts).items()
    }
    supports = [row["support"] for row in rows.values()]
    return {
        **rows,
        "accuracy": accuracy_of(counts),
        "macro avg": _average(rows.values(), [1.0] * len(rows), sum(supports)),
        "weighted avg": _average(rows.values(), supports, sum(supports)),
    }


def drop(full: Classes, reduced: Classes, label: str) -> float:
    """How much the predicted class loses: p(full) - p(reduced).

    Higher is better for comprehensiveness, lower for sufficiency.

    >>> drop({"a": 0.75, "b": 0.25}, {"a": 0.5, "b": 0.5}, "a")
    0.25
    """
    return full[label] - reduced[label]


def entropy_drop(full: Classes, reduced: Classes) -> float:
    """How much surer the classifier is of the reduced text: H(full) - H(reduced), in nats.

    >>> round(entropy_drop({"a": 0.5, "b": 0.5}, {"a": 1.0, "b": 0.0}), 6)  # ln 2 - 0
    0.693147
    """
    return entropy(full) - entropy(reduced)


def entropy(scores: Classes) -> float:
    """How unsure the classifier is, -Σ p ln p, of the scores divided by their sum; NaN if that is 0.

    >>> entropy({"a": 3.0, "b": 0.0})
    0.0
    """
    return abs(fsum(_surprise(one) for one in _shares(scores.values())))  # abs: 0, not -0


def kl_divergence(reduced: Classes, full: Classes) -> float:
    """How far the reduced text's distribution is from the whole one's: Σ r ln(r / f), over classes of `full`.

    Both are divided by their sums; infinite where `full` rules out what `reduced` does not.

    >>> round(kl_divergence({"a": 1.0, "b": 0.0}, {"a": 0.5, "b": 0.5}), 6)  # 1 · ln(1 / 0.5)
    0.693147
    """
    pairs = zip(_shares([reduced[label] for label in full]), _shares(full.values()), strict=True)
    return fsum(_divergence(one, other) for one, other in pairs)


def aopc(drops: Sequence[Sequence[float]]) -> tuple[float, list[float]]:
    """The area over the curve of drops, [N, K]: their plain mean, and the mean at each of the K sizes.

    >>> aopc([[0.0, 0.5], [0.5, 1.0]])
    (0.5, [0.25, 0.75])
    """
    points = [mean(column) for column in zip(*drops, strict=True)]
    return mean(points), points


def mean(values: Iterable[float]) -> float:
    """The plain average; NaN of nothing."""
    found = list(values)
    return fsum(found) / len(found) if found else nan


def _average(
    rows: Iterable[Mapping[str, float]], weights: Sequence[float], support: float
) -> dict[str, float]:
    total, rows = sum(weights), list(rows)
    found = {
        name: fsum(weight * row[name] for weight, row in zip(weights, rows, strict=True)) / total
        if total
        else nan
        for name in ("precision", "recall", "f1-score")
    }
    return {**found, "support": support}


def _shares(values: Iterable[float]) -> list[float]:
    found = list(values)
    total = fsum(found)
    return [one / total for one in found] if total else [nan] * len(found)


def _surprise(share: float) -> float:
    if not share:
        return 0.0
    return -share * log(share) if share > 0 else nan


def _divergence(one: float, other: float) -> float:
    if not one:
        return 0.0
    if one < 0 or other < 0 or one != one or other != other:
        return nan
    return one * (log(one) - log(other)) if other else inf
