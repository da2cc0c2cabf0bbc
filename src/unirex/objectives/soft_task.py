"""Soft task: the soft predictor, too, should predict the gold label (A2R)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from unirex.objectives.base import Step, Tensor, require


@dataclass(frozen=True)
class SoftTask:
    """Cross-entropy of the prediction from the whole text as the scores weigh it.

    See spec/baselines.md#a2r.

    Args:
        weight: share in the total loss; UNIREX left this term out (spec/known-errors.md#d-10).
    """

    views: ClassVar[tuple[str, ...]] = ()

    weight: float = 0.0

    def __call__(self, step: Step) -> Tensor:
        """Loss [B]."""
        require(step, "soft_logits", objective="soft_task", extractor="a2r")
        return step.answer_loss(step.soft_logits)
