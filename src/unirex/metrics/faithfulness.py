"""Faithfulness: is the rationale what the task model really used?

All functions take probabilities of the label predicted from the full text, for K budgets and N texts. They
return one value per budget and text, so averages are taken once, at the very end. The losses that train for
them are `unirex.objectives`; ERASER's own definitions, for its submissions, are `unirex.eraser.metrics`.

Raw falls of two classifiers cannot be compared: one that says the same of an empty text can lose nothing, and
one that changes much on it has much to lose. For the normalised metrics 1 is the fall from the full text to
the empty one, whose special tokens stay (Carton et al. 2020). They are in [0, 1], and 0 where nothing can be
lost.

The soft metrics (Soft-NS and Soft-NC, Zhao & Aletras 2023) remove no token. Every dimension of a token's
embedding is kept with a probability that is the token's score (from 0 to 1) or, to remove, one less the
score. The loss is measured against the text whose embeddings are all 0. How much stays depends on the mean of
the scores: compare only methods whose scores spread alike.
"""

from __future__ import annotations

from typing import Literal, get_args

import numpy as np
from numpy.typing import ArrayLike

from unirex.errors import unknown
from unirex.metrics.arrays import Floats

Divisor = Literal["k_plus_1", "mean"]

DIVISORS = get_args(Divisor)
SMALLEST = 1e-12  # probabilities below it count as it, so that every logarithm is finite
# A smaller fall to the empty text counts as none: spec/metrics.md#further-faithfulness-metrics
NEGLIGIBLE = 1e-5


def comprehensiveness(full: ArrayLike, removed: ArrayLike) -> Floats:
    """How much the prediction loses without its rationale: p(x) - p(x without r). Higher is better.

    >>> comprehensiveness([0.75, 0.5], [[0.25, 0.5], [0.0, 0.75]]).tolist()  # [K, N]
    [[0.5, 0.0], [0.75, -0.25]]
    """
    before, after = _paired(full, removed)
    return before - after


def sufficiency(full: ArrayLike, kept: ArrayLike) -> Floats:
    """How much the prediction loses with its rationale alone: p(x) - p(r). Lower is better.

    >>> sufficiency([0.75, 0.5], [[0.5, 0.5], [0.75, 0.75]]).tolist()  # [K, N]
    [[0.25, 0.0], [0.0, -0.25]]
    """
    before, after = _paired(full, kept)
    return before - after


def log_odds(full: ArrayLike, removed: ArrayLike) -> Floats:
    """How many times less likely the prediction is without its rationale: log p(x without r) - log p(x).

    Lower is better; 0: nothing was lost. Unlike a difference of probabilities it still separates losses when
    the classifier is very sure. It is the logarithm of a ratio of probabilities, not of odds; the name is the
    literature's. Probabilities are clipped at `SMALLEST`.

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

    `k_plus_1` divides the sum by K + 1, as the numbers of the paper do (spec/metrics.md#faithfulness); `mean`
    divides by K, as ERASER does. Its direction is that of `values`.

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


def normalised_comprehensiveness(full: ArrayLike, removed: ArrayLike, empty: ArrayLike) -> Floats:
    """How much of what can be lost goes with the rationale: max(0, p(x) - p(x without r)) / null.

    Higher is better; null = max(0, p(x) - p(empty)). Shapes as in `comprehensiveness`: [N], [K, N], [N].

    >>> normalised_comprehensiveness(0.75, [0.5, 0.9, 0.0], 0.25).tolist()  # .25/.5; a rise; .75/.5, cut at 1
    [0.5, 0.0, 1.0]
    """
    return _share(np.maximum(comprehensiveness(full, removed), 0), _null(full, empty))


def normalised_sufficiency(full: ArrayLike, kept: ArrayLike, empty: ArrayLike) -> Floats:
    """How much of what can be lost the rationale alone saves: (suff - (1 - null)) / null.

    Higher is better, unlike raw sufficiency; suff = 1 - max(0, p(x) - p(r)), null = max(0, p(x) - p(empty)).
    Shapes as in `sufficiency`: [N], [K, N], [N].

    >>> normalised_sufficiency(0.75, [0.625, 0.9, 0.0], 0.25).tolist()  # (.875 - .5)/.5; no fall; below empty
    [0.75, 1.0, 0.0]
    """
    null = _null(full, empty)
    return _share(null - np.maximum(sufficiency(full, kept), 0), null)


def soft_sufficiency(full: float, kept: ArrayLike, zero: float) -> float:
    """How much of what can be lost is saved when embeddings stay by score. From 0 to 1, higher is better.

    Soft-NS = max(0, (S - S₀) / (1 - S₀)), S = 1 - max(0, p(x) - p(x')), S₀ the same of the zero input; the
    mean over draws of x', and 0 where S₀ is 1.

    Args:
        full: p(target) of the whole text.
        kept: [draws], p(target) of each x'.
        zero: p(target) with the embeddings of all selectable tokens 0.

    >>> soft_sufficiency(0.75, [0.75, 0.5], 0.25)  # S₀ = .5: (1 - .5)/.5 and (.75 - .5)/.5
    0.75
    """
    return float(normalised_sufficiency(full, _draws(kept), zero).mean())


def soft_comprehensiveness(full: float, removed: ArrayLike, zero: float) -> float:
    """How much of what can be lost goes when embeddings fade by score. From 0 to 1, higher is better.

    Soft-NC = max(0, p(x) - p(x')) / (1 - S₀), at most 1; the mean over draws, and 0 where S₀ is 1. The
    arguments are those of `soft_sufficiency`.

    >>> soft_comprehensiveness(0.75, [0.25, 0.5], 0.25)  # .5/.5 and .25/.5
    0.75
    """
    return float(normalised_comprehensiveness(full, _draws(removed), zero).mean())


def _paired(full: ArrayLike, changed: ArrayLike) -> tuple[Floats, Floats]:
    """Probabilities of the full texts [N] and of the changed ones [K, N], as arrays."""
    before, after = np.asarray(full, dtype=np.float64), np.asarray(changed, dtype=np.float64)
    if before.shape != after.shape[after.ndim - before.ndim :]:
        raise ValueError(f"probabilities of shape {before.shape} for changed texts of shape {after.shape}")
    return before, after


def _null(full: ArrayLike, empty: ArrayLike) -> Floats:
    """What can be lost: the fall to the empty text, [N]."""
    whole, nothing = np.asarray(full, dtype=np.float64), np.asarray(empty, dtype=np.float64)
    if whole.shape != nothing.shape:
        raise ValueError(f"probabilities of shape {whole.shape} for empty texts of shape {nothing.shape}")
    return np.maximum(whole - nothing, 0.0)


def _share(part: Floats, null: Floats) -> Floats:
    """A part [K, N] of what can be lost [N], from 0 to 1."""
    whole = np.broadcast_to(null, part.shape)
    shares = np.divide(part, whole, out=np.zeros_like(part), where=whole >= NEGLIGIBLE)
    return np.clip(shares, 0.0, 1.0)


def _draws(probabilities: ArrayLike) -> Floats:
    drawn = np.asarray(probabilities, dtype=np.float64)
    if drawn.ndim != 1 or not len(drawn):
        raise ValueError(f"draws of shape {drawn.shape}; one probability for each of at least one is needed")
    return drawn
