"""Dual LM: a second encoder of the same kind that only looks for reasons."""

from __future__ import annotations

from typing import Any

from torch import Tensor

from unirex.extractors.own_encoder import OwnEncoder
from unirex.models.heads import build_head
from unirex.models.task import Pass


class DualLM(OwnEncoder):
    """A token scorer with an encoder of its own; shares nothing with the task model.

    Args:
        encoder_config: the encoder's configuration; the pretrained weights are put in when training starts.
        head: `linear` or `mlp-<width>-<layers>`.
        dropout: inside an MLP head.
    """

    def __init__(self, encoder_config: Any, *, head: str = "linear", dropout: float = 0.0) -> None:
        super().__init__(encoder_config)
        self.head = build_head(head, encoder_config.hidden_size, 1, dropout=dropout)

    def forward(self, full: Pass, target: Tensor) -> Tensor:
        """Scores [D, T], as logits; a long text is read in the same windows as by the task model."""
        return self.head(self.states(full)).squeeze(-1)
