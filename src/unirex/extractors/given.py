"""Given: scores that were computed before training, by another system."""

from __future__ import annotations

from typing import Any

from torch import Tensor, nn

from unirex.errors import UserError
from unirex.models.task import Pass


class Given(nn.Module):
    """The scores that came with the batch: what a support model said, once for all epochs."""

    def __init__(self, encoder_config: Any) -> None:
        super().__init__()

    def forward(self, full: Pass, target: Tensor) -> Tensor:
        """Scores [D, T]."""
        if full.batch.given is None:
            raise UserError("extractor 'given' is for stages of a method; these texts came without scores.")
        return full.batch.given
