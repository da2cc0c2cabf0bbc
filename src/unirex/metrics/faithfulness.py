"""Whether the rationale is what the task model really used.

All functions take probabilities of the label predicted from the full text; K budgets, N texts. They give one
value per budget and text, so averages are taken once, at the very end.
"""

from __future__ import annotations

from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from unirex.errors import unknown

Floats = NDArray[np.float64]
Divisor = Literal["k_plus_1", "mean"]

DIVISORS = ("k_plus_1", "mean")
SMALLEST = 1e-12  # probabilities below it count as it, so that every logarithm is finite


def comprehensiveness(full: ArrayLike, removed: ArrayLike) -> Floats:
    """How much the prediction loses without its rationale: p(x) - p(x without r). Higher is better.

    >>> comprehensiveness([0.75, 0.5], [[0.25, 0.5], [0.0, 0.75]]).tolist()  # [K, N]
    [[0.5, 0.0], [0.75, -0.25]]
    """
    return _drop(full, removed)


def sufficiency(full: ArrayLike, kept: ArrayLike) -> Floats:
    """How much the prediction loses with its rationale alone: p(x) - p(r). Lower is better.

    >>> sufficiency([0.75, 0.5], [[0.5, 0.5], [0.75, 0.75]]).tolist()  # [K, N]
    [[0.25, 0.0], [0.0, -0.25]]
    """
    return _drop(full, kept)


def log_odds(full: ArrayLike, removed: ArrayLike) -> Floats:
    """How many times less likely the prediction is without its rationale: log p(x without r) - log p(x).

    Lower is better; 0: nothing was lost. Unlike the difference of probabilities it still tells apart what
    is lost when the classifier is very sure. A logarithm of a ratio of probabilities, not of odds: the name
    is that of the literature. Probabilities are clipped at `SMALLEST`.

    >>> log_odds([0.5, 0.5], [[0.5, 0.25]]).round(3).tolist()  # log 1, log ½; [K, N]
    [[0.0, -0.693]]
    """
    before, after = _paired(full, removed)
    return np.asarray(np.log(np.maximum(after, SMALLEST)) - np.log(np.maximum(before, SMALLEST)))


def csd(comp: ArrayLike, suff: ArrayLike) -> Floats:
    """Comprehensiveness less sufficiency: both sides of faithfulness in one number. Higher is better.

    Works per budget and text as well as on AOPC values.

    >>> csd([0.5, 0.25], [0.25, 0.5]).tolist()
    [0.25, -0.25]
    """
    return np.asarray(comp, dtype=np.float64) - np.asarray(suff, dtype=np.float64)


def aopc(values: ArrayLike, *, divisor: Divisor = "k_plus_1") -> Floats:
    """One value per text for all budgets together: the area over the perturbation curve, [K, ...] -> [...].

    `k_plus_1` divides the sum by K + 1, as the numbers of the paper do (SPEC A8); `mean` divides by K, as
    ERASER does. Its direction is that of `values`.

    >>> aopc([[0.1], [0.2], [0.3], [0.4], [0.5]]).round(6).tolist()  # 1.5 / 6
    [0.25]
    >>> aopc([[0.1], [0.2], [0.3], [0.4], [0.5]], divisor="mean").round(6).tolist()  # 1.5 / 5
    [0.3]
    """
    if divisor not in DIVISORS:
        raise unknown("AOPC divisor", divisor, DIVISORS)
    per_budget = np.asarray(values, dtype=np.float64)  # [K, ...]
    budgets = per_budget.shape[0]
    return np.asarray(per_budget.sum(axis=0) / (budgets + (divisor == "k_plus_1")))


def _drop(full: ArrayLike, changed: ArrayLike) -> Floats:
    """The fall of the probability from the full text [N] to each changed one [K, N]."""
    before, after = _paired(full, changed)
    return before - after


def _paired(full: ArrayLike, changed: ArrayLike) -> tuple[Floats, Floats]:
    """Probabilities of the full texts [N] and of the changed ones [K, N]; anything else is a mistake."""
    before, after = np.asarray(full, dtype=np.float64), np.asarray(changed, dtype=np.float64)
    if before.shape != after.shape[after.ndim - before.ndim :]:
        raise ValueError(f"probabilities of shape {before.shape} for changed texts of shape {after.shape}")
    return before, after
