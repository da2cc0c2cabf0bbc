"""Support: another classifier's attributions, for a predictor that reads nothing but the rationale."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn

from unirex.extractors import build_extractor
from unirex.models.encoders import new_encoder
from unirex.models.task import Pass, TaskModel


class Support(nn.Module):
    """What a second, finished classifier bases its own prediction on (FRESH as the UNIREX paper runs it).

    Args:
        encoder_config: the encoder's configuration.
        attribution: how the second classifier is explained.
        attribution_options: its options.
        pooling: of the second classifier, like all options below.
        classes: its logits per sequence.
        window: the most tokens it reads at once.
        stride: how far its windows are apart.
    """

    def __init__(
        self,
        encoder_config: Any,
        *,
        attribution: str = "integrated-gradients",
        attribution_options: dict[str, Any] | None = None,
        pooling: str = "mean",
        classes: int = 2,
        window: int = 1 << 30,
        stride: int | None = None,
    ) -> None:
        super().__init__()
        encoder = new_encoder(encoder_config, pooler=pooling == "pooler")
        self.task = TaskModel(encoder, pooling=pooling, classes=classes, window=window, stride=stride)
        self.attribution = build_extractor(attribution, encoder_config, dict(attribution_options or {}))
        self.requires_grad_(False)

    def forward(self, full: Pass, target: Tensor) -> Tensor:
        """Scores [D, T] for what the second classifier predicts; nothing here is trained."""
        with torch.no_grad():
            own = Pass(self.task, full.batch)
            return self.attribution(own, own.logits.argmax(-1))
