"""How little must be taken out of a text before the classifier changes its mind.

Both take whole distributions over C labels, for what counts is which label is the likeliest (of equals the
first).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray


def first_token_flips(full: ArrayLike, first: ArrayLike) -> float:
    """Whether the highest-scored token carries the decision: 1[argmax f(x without o₁) ≠ argmax f(x)].

    Higher is better (DFMIT, decision flip by the most informative token). In a long text hardly any single
    token flips anything, so the mean is small there for every method.

    >>> first_token_flips([0.7, 0.3], [0.4, 0.6])
    1.0
    >>> first_token_flips([0.7, 0.3], [0.6, 0.4])
    0.0
    """
    whole, after = _distributions(full, first, dimensions=1)
    return float(whole.argmax() != after.argmax())


def flip_fraction(full: ArrayLike, deletion: ArrayLike) -> float:
    """The share of tokens to remove, highest first, until the prediction changes: min{j : it differs} / J.

    Lower is better (DFFOT, decision flip by fraction of tokens). 1 if nothing ever changes it, and for a text
    of which nothing can be removed.

    Args:
        full: [C].
        deletion: [J, C], with the highest j/J of the tokens removed, j = 1 … J.

    >>> flip_fraction([0.7, 0.3], [[0.6, 0.4], [0.4, 0.6], [0.9, 0.1], [0.2, 0.8]])  # the second of four
    0.5
    >>> flip_fraction([0.7, 0.3], [[0.6, 0.4], [0.8, 0.2]])
    1.0
    """
    whole, steps = _distributions(full, deletion, dimensions=2)
    flipped = np.flatnonzero(steps.argmax(-1) != whole.argmax())
    return float(flipped[0] + 1) / len(steps) if len(flipped) else 1.0


def _distributions(
    full: ArrayLike, changed: ArrayLike, *, dimensions: int
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """The distribution of the full text [C] and those of the changed one [..., C]."""
    whole, after = np.asarray(full, dtype=np.float64), np.asarray(changed, dtype=np.float64)
    if after.size == 0 and dimensions == 2:
        after = after.reshape(0, whole.size)
    if whole.ndim != 1 or not whole.size or after.ndim != dimensions or after.shape[-1] != whole.size:
        raise ValueError(f"a distribution of shape {whole.shape} for changed texts of shape {after.shape}")
    return whole, after
