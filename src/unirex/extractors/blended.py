"""Blended: the learnt scores of a system and an attribution of its classifier, added up."""

from __future__ import annotations

from typing import Any

from torch import Tensor, nn

from unirex.errors import UserError
from unirex.extractors.token_scores import scaled
from unirex.models.task import Pass


class Blended(nn.Module):
    """Learnt scores plus a share of an attribution, each scaled by its largest value in the text.

    It costs the passes of the attribution. A system that was trained with `order` has the same without them:
    see `LearntScores`.

    Args:
        encoder_config: the encoder's configuration.
        learnt: the extractor of the system.
        learnt_options: its options.
        attribution: the attribution algorithm.
        attribution_options: its options, such as `steps`.
        weight: of the attribution; the learnt scores have 1.
    """

    def __init__(
        self,
        encoder_config: Any,
        *,
        learnt: str = "shared-lm",
        learnt_options: dict[str, Any] | None = None,
        attribution: str = "integrated-gradients",
        attribution_options: dict[str, Any] | None = None,
        weight: float = 0.5,
    ) -> None:
        from unirex.extractors import build_extractor

        super().__init__()
        if isinstance(weight, bool) or not isinstance(weight, int | float) or weight < 0:
            raise UserError(f"blend {weight!r}: give the weight of the attribution, 0 or more.")
        self.learnt = build_extractor(learnt, encoder_config, learnt_options or {})
        self.attribution = build_extractor(attribution, encoder_config, attribution_options or {})
        self.weight, self.layers = weight, getattr(self.learnt, "layers", 1)

    def forward(self, full: Pass, target: Tensor) -> Tensor:
        """Scores [D, T]."""
        valid = full.batch.selectable
        learnt, attributed = self.learnt(full, target), self.attribution(full, target) * valid
        largest = attributed.abs().amax(-1, keepdim=True).clamp(min=1e-12)
        return scaled(learnt, valid) + self.weight * attributed / largest
