"""Teacher scores as five classes, for a student that learns to explain: L2E (SPEC A9)."""

from __future__ import annotations

import torch
from torch import Tensor

BUCKETS = 5  # much against, against, neutral, for, much for the prediction
NEUTRAL = 2  # the class of a score of 0, so that class - NEUTRAL is a score again


def discretise(scores: Tensor, valid: Tensor, owner: Tensor | None = None) -> Tensor:
    """The class of every token: which side of 0 its score is, and of the mean of that side's scores.

    0 below the mean of the negative scores, 1 from there to 0, 2 at 0, 3 up to the mean of the positive
    scores, 4 above it.

    >>> tokens = torch.tensor([[2.0, 1.0, 0.0, -1.0, -3.0]])  # means 1.5 and -2
    >>> discretise(tokens, torch.ones(1, 5, dtype=torch.bool)).tolist()
    [[4, 3, 2, 1, 0]]

    Args:
        scores: [D, T].
        valid: [D, T] bool, the tokens that count; all others are neutral and part of no mean.
        owner: [D], whose sequence each is: the choices of one example have their means together. None: each
            sequence is an example.

    Returns:
        [D, T] long, 0 to 4.
    """
    # The mean of equal scores must be that score, or some would lie beyond it: sums in double precision.
    exact = scores.detach() if scores.device.type == "mps" else scores.detach().double()
    owner = torch.arange(len(scores), device=scores.device) if owner is None else owner
    above, below = (exact > 0) & valid, (exact < 0) & valid
    far_above = above & (exact > _means(exact, above, owner))
    far_below = below & (exact < _means(exact, below, owner))
    return NEUTRAL + above.long() + far_above.long() - below.long() - far_below.long()


def _means(scores: Tensor, which: Tensor, owner: Tensor) -> Tensor:
    """The mean of each example's marked scores, for each of its sequences [D, 1]; 0 where there are none."""
    examples = int(owner.max()) + 1 if len(owner) else 0
    sums = scores.masked_fill(~which, 0.0).sum(-1)
    counts = which.sum(-1).to(scores.dtype)
    total, number = (sums.new_zeros(examples).index_add(0, owner, one) for one in (sums, counts))
    return (total / number.clamp(min=1))[owner, None]
