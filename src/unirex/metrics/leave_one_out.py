"""Whether scores rank tokens as the classifier does when it misses each of them in turn."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from unirex.errors import unknown

Floats = NDArray[np.float64]
Kind = Literal["kendall", "pearson", "spearman"]

BLOCK = 256  # rows of the table of pairs in memory at once


def loo_correlation(scores: ArrayLike, full: float, left_out: ArrayLike, *, kind: Kind = "kendall") -> float:
    """How well scores agree with what each token takes along: correlation of s with p(x) - p(x without it).

    From -1 to 1, higher is better. NaN for fewer than two tokens, and where either side is the same for all.

    Args:
        scores: [n].
        full: p(target) of the whole text.
        left_out: [n], p(target) without each token alone.
        kind: `kendall` (tau-b, of the ranking, with ties taken into account), `spearman` (of the ranks) or
            `pearson` (of the values themselves).

    >>> loo_correlation([3.0, 2.0, 1.0], 0.9, [0.1, 0.8, 0.5])  # falls .8 .1 .4: 2 pairs agree, 1 does not
    0.3333333333333333
    """
    given, left = np.asarray(scores, dtype=np.float64), np.asarray(left_out, dtype=np.float64)
    if kind not in CORRELATIONS:
        raise unknown("correlation", kind, CORRELATIONS)
    if given.ndim != 1 or given.shape != left.shape:
        raise ValueError(f"scores of shape {given.shape} for left-out tokens of shape {left.shape}")
    if np.isnan(given).any():
        raise ValueError("a token score is NaN")
    falls = full - left
    if len(given) < 2 or np.isnan(falls).any() or any((side == side[0]).all() for side in (given, falls)):
        return float("nan")
    return CORRELATIONS[kind](given, falls)


def _kendall(first: Floats, second: Floats) -> float:
    """Tau-b: (agreeing - disagreeing pairs) / √(pairs untied in one · pairs untied in the other)."""
    first, second, sums = _ranks(first), _ranks(second), np.zeros(3)  # ranks, as inf - inf has no sign
    for start in range(0, len(first), BLOCK):
        rows = slice(start, start + BLOCK)
        one, other = (np.sign(np.subtract.outer(side[rows], side)) for side in (first, second))
        sums += (one * other).sum(), np.count_nonzero(one), np.count_nonzero(other)
    return float(sums[0] / np.sqrt(sums[1] * sums[2]))


def _pearson(first: Floats, second: Floats) -> float:
    one, other = first - first.mean(), second - second.mean()
    one, other = one / np.abs(one).max(), other / np.abs(other).max()  # squares of tiny numbers would vanish
    found = float((one * other).sum() / np.sqrt((one * one).sum() * (other * other).sum()))
    return min(1.0, max(-1.0, found))


def _spearman(first: Floats, second: Floats) -> float:
    return _pearson(_ranks(first), _ranks(second))


def _ranks(values: Floats) -> Floats:
    """Ranks from 1; equal values share the mean of theirs."""
    _, place, count = np.unique(values, return_inverse=True, return_counts=True)
    ends = count.cumsum()
    return np.asarray((ends - (count - 1) / 2)[place], dtype=np.float64)


CORRELATIONS: dict[str, Callable[[Floats, Floats], float]] = {
    "kendall": _kendall,
    "pearson": _pearson,
    "spearman": _spearman,
}
