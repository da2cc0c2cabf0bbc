"""Numbers that are no mean over examples (F1, ECE), as functions of whose outputs are counted."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from math import lcm
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from unirex.data.example import Label
from unirex.metrics import performance
from unirex.metrics.calibration import expected_calibration_error

if TYPE_CHECKING:
    from unirex.comparison.method import Method

F1 = ("macro_f1", "micro_f1", "binary_f1")
COUNTED = (*F1, "ece")
Ints = NDArray[np.int64]
Statistic = Callable[[NDArray[Any], Ints], float]  # whose output (0 or 1) of each example, numbers of these


def statistic_of(one: Method, other: Method, key: str) -> Statistic | None:
    """The metric of two methods mixed example by example; None for a metric that is a mean over examples."""
    if key in F1:
        return _f1(one, other, key)
    return _calibration(one, other) if key == "ece" else None


def known_to_both(one: Method, other: Method, key: str) -> Ints:
    """The numbers of the examples that both answer in every seed, with their confidence if it counts."""
    known = np.ones(len(one.gold), dtype=bool)
    for method in (one, other):
        known &= ~np.isnan(method.values("accuracy")).any(axis=0)
        if key == "ece":
            known &= ~np.isnan(_confidences(method)).any(axis=0)
    return np.flatnonzero(known)


def _f1(one: Method, other: Method, key: str) -> Statistic:
    gold, labels = one.gold, one.labels
    kinds: dict[tuple[Label | None, Label | None], int] = {}
    codes = _both(*(_codes(method, gold, kinds) for method in (one, other)))  # [2, seeds, N]
    of_counts = getattr(performance, f"{key}_of")

    def statistic(side: NDArray[Any], rows: Ints) -> float:
        chosen = codes[side, :, rows]  # [rows, seeds]
        return float(np.mean([of_counts(_counts(column, kinds), labels=labels) for column in chosen.T]))

    return statistic


def _codes(method: Method, gold: Sequence[Label | None], kinds: dict[Any, int]) -> Ints:
    """Which kind of answer (prediction, label) each run gives to each example: [seeds, N]."""
    answers = [zip(method.predicted(seed), gold, strict=True) for seed in range(method.seeds)]
    return np.array([[kinds.setdefault(pair, len(kinds)) for pair in run] for run in answers], dtype=np.int64)


def _counts(codes: Ints, kinds: dict[Any, int]) -> dict[tuple[Hashable, Hashable], int]:
    """How often each prediction met each label; a text without either does not count."""
    times = np.bincount(codes, minlength=len(kinds)).tolist()
    return {pair: n for pair, n in zip(kinds, times, strict=True) if None not in pair}


def _calibration(one: Method, other: Method) -> Statistic:
    sure = _both(*(_confidences(method) for method in (one, other)))  # [2, seeds, N]
    right = _both(one.values("accuracy"), other.values("accuracy"))

    def statistic(side: NDArray[Any], rows: Ints) -> float:
        pairs = zip(sure[side, :, rows].T, right[side, :, rows].T, strict=True)
        return float(np.mean([_error(confidence, correct) for confidence, correct in pairs]))

    return statistic


def _confidences(method: Method) -> NDArray[np.float64]:
    return np.stack([run.columns.confidence[run.order] for run in method.runs])


def _error(sure: NDArray[np.float64], right: NDArray[np.float64]) -> float:
    known = ~np.isnan(sure) & ~np.isnan(right)
    return expected_calibration_error(sure[known], right[known])


def _both(one: NDArray[Any], other: NDArray[Any]) -> NDArray[Any]:
    """Two methods with as many seeds each: repeated where one has fewer, which leaves means as they are."""
    seeds = lcm(len(one), len(other))
    return np.stack([np.tile(some, (seeds // len(some), 1)) for some in (one, other)])
