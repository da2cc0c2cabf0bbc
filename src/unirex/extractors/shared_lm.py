"""Shared LM: further heads on the task model's own encoder."""

from __future__ import annotations

from typing import Any

from torch import Tensor, nn

from unirex.extractors.token_scores import LearntScores
from unirex.models.task import Pass


class TaskStates(nn.Module):
    """The states of the task model's own pass.

    Args:
        encoder_config: the encoder's configuration.
    """

    def __init__(self, encoder_config: Any) -> None:
        super().__init__()

    def states(self, full: Pass) -> Tensor:
        """States of every token: [D, T, H]."""
        return full.hidden


class SharedLM(LearntScores, TaskStates):
    """A token scorer on the hidden states of the very pass that predicts the label: no extra pass.

    Its options are those of `LearntScores`.
    """
