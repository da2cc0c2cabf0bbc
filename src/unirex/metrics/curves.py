"""Curves and decision flips: the prediction while tokens are removed, or put in, by score.

The areas (RISE) take p(target) at 0, 1/J, …, 1 of the tokens of one text, joined by straight lines. Both are
in [0, 1], and NaN where a text has no token to remove. The flips take whole distributions over C labels; the
predicted label is the likeliest one (of equals the first).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from unirex.metrics.arrays import Floats


def deletion_auc(full: float, deletion: ArrayLike) -> float:
    """How long the prediction holds while tokens are removed, highest first: area under p. Lower is better.

    Args:
        full: p(target) of the whole text.
        deletion: [J], with the highest j/J of the tokens removed, j = 1 … J.

    >>> deletion_auc(1.0, [0.5, 0.0])  # (1 + .5)/2 · ½ + (.5 + 0)/2 · ½
    0.5
    """
    return _area(full, deletion)


def insertion_auc(empty: float, insertion: ArrayLike) -> float:
    """How soon the prediction is reached as tokens are put in, highest first: area under p. Higher is better.

    Args:
        empty: p(target) with every selectable token removed.
        insertion: [J], with only the highest j/J of the tokens, j = 1 … J.

    >>> insertion_auc(0.0, [1.0, 1.0])  # (0 + 1)/2 · ½ + (1 + 1)/2 · ½
    0.75
    """
    return _area(empty, insertion)


def first_token_flips(full: ArrayLike, first: ArrayLike) -> float:
    """Whether the highest-scored token carries the decision: 1[argmax f(x without o₁) ≠ argmax f(x)].

    Higher is better (DFMIT, decision flip by the most informative token). In long texts a single token hardly
    ever flips the label, so the mean is small there for every method.

    >>> first_token_flips([0.7, 0.3], [0.4, 0.6])
    1.0
    >>> first_token_flips([0.7, 0.3], [0.6, 0.4])
    0.0
    """
    whole, after = _distributions(full, first, dimensions=1)
    return float(whole.argmax() != after.argmax())


def flip_fraction(full: ArrayLike, deletion: ArrayLike) -> float:
    """The share of tokens to remove, highest first, until the prediction changes: min{j : it differs} / J.

    Lower is better (DFFOT, decision flip by fraction of tokens). 1 if it never changes, and for a text
    without removable tokens.

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


def _area(start: float, steps: ArrayLike) -> float:
    """The trapezoid area over J equal steps."""
    after = np.asarray(steps, dtype=np.float64)
    if after.ndim != 1:
        raise ValueError(f"a curve of shape {after.shape}; one probability a step is needed")
    if not len(after):
        return float("nan")
    points = np.append(start, after)
    return float((points[1:] + points[:-1]).sum() / 2 / len(after))


def _distributions(full: ArrayLike, changed: ArrayLike, *, dimensions: int) -> tuple[Floats, Floats]:
    """The distribution of the full text [C] and those of the changed one [..., C]."""
    whole, after = np.asarray(full, dtype=np.float64), np.asarray(changed, dtype=np.float64)
    if after.size == 0 and dimensions == 2:
        after = after.reshape(0, whole.size)
    if whole.ndim != 1 or not whole.size or after.ndim != dimensions or after.shape[-1] != whole.size:
        raise ValueError(f"a distribution of shape {whole.shape} for changed texts of shape {after.shape}")
    return whole, after
