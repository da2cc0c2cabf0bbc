"""Comprehensiveness: without its rationale the text should be harder to classify."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

from unirex.objectives.base import Step, Tensor

CRITERIA = {
    "diff": "CE(whole text) - CE(text without rationale); has no lower bound",
    "margin": "the same, worth nothing more once the difference exceeds the margin",
}


@dataclass(frozen=True)
class Comprehensiveness:
    """Cross-entropy with the rationale minus cross-entropy without it, averaged over budgets.

    This is what training minimises. The metric of evaluation, a difference of probabilities of the predicted
    label, is `unirex.metrics.faithfulness.comprehensiveness`.

    Args:
        weight: share in the total loss (the paper's alpha_c).
        criterion: what is made of the difference.
        margin: for `margin`: the difference that is enough.
        warmup: share of the training before it begins.
    """

    views: ClassVar[tuple[str, ...]] = ("dropped",)

    weight: float = 0.0
    criterion: Literal["diff", "margin"] = "margin"
    margin: float = 1.0  # spec/objectives.md#comprehensiveness
    warmup: float = 0.0

    def __call__(self, step: Step) -> Tensor:
        """Loss [B]."""
        if step.progress < self.warmup:
            return step.full_loss * 0
        return self.penalty(step.full_loss - step.dropped_loss).mean(0)

    def penalty(self, difference: Tensor) -> Tensor:
        """The criterion on CE(whole) - CE(without), any shape."""
        if self.criterion == "diff":
            return difference
        return difference.clamp(min=-self.margin) + self.margin
