"""Faithfulness without hard removal: embeddings fade by score (Soft-NS and Soft-NC, Zhao & Aletras 2023).

Nothing is cut out. Every dimension of a token's embedding is kept with a chance that is the token's score
(from 0 to 1) or, to remove, one less the score. What is lost is measured against the text whose embeddings
are all 0. How much stays depends on the mean of the scores: compare only methods whose scores spread alike.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from unirex.metrics.faithfulness import Floats
from unirex.metrics.normalised import normalised_comprehensiveness, normalised_sufficiency


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


def _draws(probabilities: ArrayLike) -> Floats:
    drawn = np.asarray(probabilities, dtype=np.float64)
    if drawn.ndim != 1 or not len(drawn):
        raise ValueError(f"draws of shape {drawn.shape}; one probability for each of at least one is needed")
    return drawn
