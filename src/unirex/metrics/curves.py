"""The prediction while tokens go, or come, one after the other by score: areas under the curve (RISE).

Each takes p(target) at 0, 1/J, …, 1 of the tokens of one text; the area is that of the straight lines between
the points. Both are in [0, 1], and NaN where a text has no token to remove.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike


def deletion_auc(full: float, deletion: ArrayLike) -> float:
    """How long the prediction stands while its reasons go, highest first: area under p. Lower is better.

    Args:
        full: p(target) of the whole text.
        deletion: [J], with the highest j/J of the tokens removed, j = 1 … J.

    >>> deletion_auc(1.0, [0.5, 0.0])  # (1 + .5)/2 · ½ + (.5 + 0)/2 · ½
    0.5
    """
    return _area(full, deletion)


def insertion_auc(empty: float, insertion: ArrayLike) -> float:
    """How soon the prediction stands on its reasons, highest first: area under p. Higher is better.

    Args:
        empty: p(target) with every selectable token removed.
        insertion: [J], with only the highest j/J of the tokens, j = 1 … J.

    >>> insertion_auc(0.0, [1.0, 1.0])  # (0 + 1)/2 · ½ + (1 + 1)/2 · ½
    0.75
    """
    return _area(empty, insertion)


def _area(start: float, steps: ArrayLike) -> float:
    """The trapezoid area over J equal steps."""
    after = np.asarray(steps, dtype=np.float64)
    if after.ndim != 1:
        raise ValueError(f"a curve of shape {after.shape}; one probability a step is needed")
    if not len(after):
        return float("nan")
    points = np.append(start, after)
    return float((points[1:] + points[:-1]).sum() / 2 / len(after))
