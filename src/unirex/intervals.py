"""Confidence intervals of every metric of an evaluation, by drawing its examples again."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from unirex.columns import Columns
from unirex.metrics import performance
from unirex.metrics.bootstrap import bootstrap_counts, bootstrap_interval, bootstrap_statistic
from unirex.metrics.calibration import expected_calibration_error

Interval = tuple[float, float]

DRAWS = 1000
TOGETHER = 16  # metrics at once: tables of 100,000 examples stay small


def intervals_of(columns: Columns, *, level: float = 0.95, seed: int = 0) -> dict[str, Interval]:
    """Every metric's interval by name; of means over examples and of those that are none (macro F1, ECE)."""
    names = columns.names
    if not names or len(columns) < 2:
        return {}
    found: dict[str, Interval] = {}
    for start in range(0, len(names), TOGETHER):  # one seed, the same draws
        some = names[start : start + TOGETHER]
        table = np.stack([columns.column(name) for name in some], axis=1)  # [N, M]
        low, high = bootstrap_interval(table, level=level, draws=DRAWS, seed=seed)
        found |= {name: (float(a), float(b)) for name, a, b in zip(some, low, high, strict=True)}
    return found | _labels(columns, level, seed) | _calibration(columns, level, seed)


def _labels(columns: Columns, level: float, seed: int) -> dict[str, Interval]:
    """Of what rests on counts of predicted and gold labels."""
    counts, labels = columns.tally.confusion, columns.labels
    pairs = list(counts)

    def interval(metric: Callable[..., float]) -> Interval:
        def of(times: np.ndarray) -> float:
            return metric(dict(zip(pairs, times.tolist(), strict=True)), labels=labels)

        return bootstrap_counts(of, list(counts.values()), level=level, draws=DRAWS, seed=seed)

    found = {"macro_f1": performance.macro_f1_of, "micro_f1": performance.micro_f1_of} if counts else {}
    if counts and labels is not None and len(labels) == 2:
        found["binary_f1"] = performance.binary_f1_of
    return {name: interval(metric) for name, metric in found.items()}


def _calibration(columns: Columns, level: float, seed: int) -> dict[str, Interval]:
    """Of the calibration error, if there are probabilities."""
    sure, right = columns.confidence, columns.column("accuracy")
    known = ~np.isnan(sure) & ~np.isnan(right)
    if not known.any():
        return {}
    sure, right = sure[known], right[known]

    def of(times: np.ndarray) -> float:
        return expected_calibration_error(sure, right, weights=times)

    return {"ece": bootstrap_statistic(of, len(sure), level=level, draws=DRAWS, seed=seed)}
