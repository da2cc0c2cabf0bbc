"""Shared LM: a second head on the task model's own encoder."""

from __future__ import annotations

from typing import Any

from torch import Tensor, nn

from unirex.models.heads import build_head
from unirex.models.task import Pass


class SharedLM(nn.Module):
    """A token scorer on the hidden states of the very pass that predicts the label: no extra pass.

    Args:
        encoder_config: the encoder's configuration.
        head: `linear` or `mlp-<width>-<layers>`.
        dropout: inside an MLP head.
    """

    def __init__(self, encoder_config: Any, *, head: str = "linear", dropout: float = 0.0) -> None:
        super().__init__()
        self.head = build_head(head, encoder_config.hidden_size, 1, dropout=dropout)

    def forward(self, full: Pass, target: Tensor) -> Tensor:
        """Scores [D, T], as logits."""
        return self.head(full.hidden).squeeze(-1)
