"""Attention rollout: how much of each token has flowed to the top, through all layers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from unirex.extractors.attention import Attention


class AttentionRollout(Attention):
    """Rollout of Abnar & Zuidema (2020): in every layer half is attention, half the residual connection.

    Args:
        encoder_config: the encoder's configuration.
        query: as in `Attention`.
    """

    def __init__(self, encoder_config: Any, *, query: str = "cls") -> None:
        super().__init__(encoder_config, query=query)

    def flow(self, layers: Sequence[Tensor]) -> Tensor:
        """The product over layers, the first one rightmost: [R, W, W]."""
        stay = torch.eye(layers[0].shape[-1], device=layers[0].device)
        total = stay.expand_as(layers[0])
        for layer in layers:
            mixed = layer / 2 + stay / 2
            total = mixed / mixed.sum(-1, keepdim=True) @ total
        return total
