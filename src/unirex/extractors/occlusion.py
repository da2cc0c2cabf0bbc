"""Occlusion (leave one out): what the target loses when a token is removed."""

from __future__ import annotations

import torch
from torch import Tensor

from unirex.extractors.masking import VIEWS, Masking
from unirex.models.task import Pass


class Occlusion(Masking):
    """F(x) - F(x without the token), for one token after the other; see `Masking` for the options."""

    def score(self, full: Pass, target: Tensor) -> Tensor:
        """The loss by each token, [D, T]."""
        selectable = full.batch.selectable
        order = selectable.cumsum(-1).masked_fill(~selectable, 0)  # [D, T]  1 for the first token, …
        whole = self.explained(full, target, full.text_logits)  # [D]
        scores = torch.zeros_like(order, dtype=whole.dtype)
        at_once = max(1, VIEWS // order.numel())
        # View n lacks the n-th token of each text; a text with fewer tokens is whole there and not run.
        last = int(order.max())
        for first in range(1, last + 1, at_once):
            numbers = torch.arange(first, min(first + at_once, last + 1), device=order.device)
            removed = order == numbers[:, None, None]  # [V, D, T]
            lost = whole - self.values(full, target, ~removed)  # [V, D]
            scores += (lost[..., None] * removed).sum(0)
        return scores
