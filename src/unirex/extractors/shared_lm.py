"""Shared LM: further heads on the task model's own encoder."""

from __future__ import annotations

from typing import Any

from torch import Tensor

from unirex.extractors.token_scores import DIAL, LearntScores
from unirex.models.task import Pass


class SharedLM(LearntScores):
    """A token scorer on the hidden states of the very pass that predicts the label: no extra pass.

    Args:
        encoder_config: the encoder's configuration.
        head: `linear` or `mlp-<width>-<layers>`.
        dropout: inside an MLP head.
        order: a second score, of what the classifier goes by: see `LearntScores`.
        per_label: scores for every label; the one that is explained is read.
        classes: for `per_label`: how many labels there are.
        dial: with `order`: from 0, as a person would mark, to 1, as the classifier goes by.
    """

    def __init__(
        self,
        encoder_config: Any,
        *,
        head: str = "linear",
        dropout: float = 0.0,
        order: bool = False,
        per_label: bool = False,
        classes: int = 2,
        dial: float = DIAL,
    ) -> None:
        super().__init__()
        self.add_heads(
            encoder_config.hidden_size,
            head=head,
            dropout=dropout,
            order=order,
            per_label=per_label,
            classes=classes,
            dial=dial,
        )

    def states(self, full: Pass) -> Tensor:
        """The states of the task model: [D, T, H]."""
        return full.hidden
