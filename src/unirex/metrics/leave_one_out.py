"""Leave-one-out: do scores rank tokens by what removing each of them alone does to the prediction?"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

BLOCK = 256  # rows of the table of pairs in memory at once


def loo_correlation(scores: ArrayLike, full: float, left_out: ArrayLike) -> float:
    """How well scores agree with the effect of each token: Kendall's tau-b of s with p(x) - p(x without it).

    (agreeing - disagreeing pairs) / √(pairs untied in one · pairs untied in the other), from -1 to 1.
    Higher is better. NaN for fewer than two tokens, and where either side is the same for all.

    Args:
        scores: [n].
        full: p(target) of the whole text.
        left_out: [n], p(target) without each token alone.

    >>> loo_correlation([3.0, 2.0, 1.0], 0.9, [0.1, 0.8, 0.5])  # falls .8 .1 .4: 2 pairs agree, 1 does not
    0.3333333333333333
    """
    given, left = np.asarray(scores, dtype=np.float64), np.asarray(left_out, dtype=np.float64)
    if given.ndim != 1 or given.shape != left.shape:
        raise ValueError(f"scores of shape {given.shape} for left-out tokens of shape {left.shape}")
    if np.isnan(given).any():
        raise ValueError("a token score is NaN")
    falls = full - left
    if len(given) < 2 or np.isnan(falls).any() or any((side == side[0]).all() for side in (given, falls)):
        return float("nan")
    # Ranks, equal for equal values: scores may be infinite, and inf - inf has no sign.
    ranks = [np.unique(side, return_inverse=True)[1] for side in (given, falls)]
    sums = np.zeros(3)
    for start in range(0, len(given), BLOCK):
        rows = slice(start, start + BLOCK)
        signs, others = (np.sign(np.subtract.outer(side[rows], side)) for side in ranks)
        sums += (signs * others).sum(), np.count_nonzero(signs), np.count_nonzero(others)
    return float(sums[0] / np.sqrt(sums[1] * sums[2]))
