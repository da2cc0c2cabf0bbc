"""Sufficiency: the rationale alone should be as easy to classify as the whole text."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

from unirex.objectives.base import Step, Tensor

CRITERIA = {
    "diff": "CE(rationale) - CE(whole text); has no lower bound",
    "margin": "the same, worth nothing more once the rationale is better by the margin",
    "mae": "absolute difference of the two",
    "mse": "squared difference of the two",
    "kl": "divergence between the two label distributions",
}


@dataclass(frozen=True)
class Sufficiency:
    """Cross-entropy of the rationale alone minus that of the whole text, averaged over budgets.

    Args:
        weight: share in the total loss (the paper's alpha_s).
        criterion: what is made of the two.
        margin: for `margin`: the difference that is enough.
        direction: for `kl`: KL(rationale || whole), as the paper, or KL(whole || rationale), as SGT.
        class_mean: for `kl`: divide by the number of classes, as the released code did.
        warmup: share of the training before it begins.
    """

    views: ClassVar[tuple[str, ...]] = ("kept",)

    weight: float = 0.0
    criterion: Literal["diff", "margin", "mae", "mse", "kl"] = "margin"
    margin: float = 0.1  # spec/objectives.md#sufficiency
    direction: Literal["rationale-whole", "whole-rationale"] = "rationale-whole"  # spec/known-errors.md#d-8
    class_mean: bool = False
    warmup: float = 0.0

    def __call__(self, step: Step) -> Tensor:
        """Loss [B]."""
        if step.progress < self.warmup:
            return step.full_loss * 0
        if self.criterion == "kl":
            decisions = step.labelling.decisions
            return self.divergence(decisions(step.kept_logits), decisions(step.full.logits)).sum(-1).mean(0)
        return self.penalty(step.kept_loss - step.full_loss).mean(0)

    def penalty(self, difference: Tensor) -> Tensor:
        """The criterion on CE(rationale) - CE(whole), any shape."""
        if self.criterion == "margin":
            return difference.clamp(min=-self.margin) + self.margin
        return {"diff": difference, "mae": difference.abs(), "mse": difference.square()}[self.criterion]

    def divergence(self, kept_logits: Tensor, full_logits: Tensor) -> Tensor:
        """KL of the two label distributions: [..., C] to [...]."""
        kept, full = kept_logits.log_softmax(-1), full_logits.log_softmax(-1).expand_as(kept_logits)
        first, second = (kept, full) if self.direction == "rationale-whole" else (full, kept)
        terms = first.exp() * (first - second)
        return terms.mean(-1) if self.class_mean else terms.sum(-1)
