"""Comprehensiveness and sufficiency as shares of what the classifier has to lose (Carton et al. 2020).

A classifier that says the same of an empty text can lose nothing, and one that is thrown far by it has much
to lose: raw falls of the two cannot be compared. Here 1 is the fall from the full text to the empty one,
whose special tokens stay. Both are in [0, 1], and 0 where there is nothing to lose.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from unirex.metrics.faithfulness import Floats, comprehensiveness, sufficiency

NOTHING = 1e-5  # a smaller fall to the empty text is none (SPEC D8)


def normalised_comprehensiveness(full: ArrayLike, removed: ArrayLike, empty: ArrayLike) -> Floats:
    """How much of what can be lost goes with the rationale: max(0, p(x) - p(x without r)) / null.

    Higher is better; null = max(0, p(x) - p(empty)). Shapes as in `comprehensiveness`: [N], [K, N], [N].

    >>> normalised_comprehensiveness(0.75, [0.5, 0.9, 0.0], 0.25).tolist()  # .25/.5; a rise; .75/.5, cut at 1
    [0.5, 0.0, 1.0]
    """
    return _share(np.maximum(comprehensiveness(full, removed), 0), full, empty)


def normalised_sufficiency(full: ArrayLike, kept: ArrayLike, empty: ArrayLike) -> Floats:
    """How much of what can be lost the rationale alone saves: (suff - (1 - null)) / null.

    Higher is better, unlike raw sufficiency; suff = 1 - max(0, p(x) - p(r)), null = max(0, p(x) - p(empty)).
    Shapes as in `sufficiency`: [N], [K, N], [N].

    >>> normalised_sufficiency(0.75, [0.625, 0.9, 0.0], 0.25).tolist()  # (.875 - .5)/.5; no fall; below empty
    [0.75, 1.0, 0.0]
    """
    null = _null(full, empty)
    return _share(null - np.maximum(sufficiency(full, kept), 0), full, empty)


def _share(part: Floats, full: ArrayLike, empty: ArrayLike) -> Floats:
    """A part [K, N] of what can be lost, from 0 to 1."""
    null = np.broadcast_to(_null(full, empty), part.shape)
    shares = np.divide(part, null, out=np.zeros_like(part), where=null >= NOTHING)
    return np.clip(shares, 0.0, 1.0)


def _null(full: ArrayLike, empty: ArrayLike) -> Floats:
    """What can be lost: the fall to the empty text, [N]."""
    whole, nothing = np.asarray(full, dtype=np.float64), np.asarray(empty, dtype=np.float64)
    if whole.shape != nothing.shape:
        raise ValueError(f"probabilities of shape {whole.shape} for empty texts of shape {nothing.shape}")
    return np.maximum(whole - nothing, 0.0)
