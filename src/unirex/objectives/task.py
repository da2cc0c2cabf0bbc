"""Task: predict the gold label."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from unirex.objectives.base import Step, Tensor


@dataclass(frozen=True)
class Task:
    """Cross-entropy of the prediction from the whole text.

    Args:
        weight: share in the total loss.
    """

    views: ClassVar[tuple[str, ...]] = ()

    weight: float = 1.0

    def __call__(self, step: Step) -> Tensor:
        """Loss [B]."""
        return step.task_loss
