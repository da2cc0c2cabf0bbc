"""Plausibility: the rationale should be what a person marked."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

from unirex.objectives.base import Step, Tensor

CRITERIA = {
    "bce": "binary cross-entropy per token, gold tokens weighted up to balance the rest",
    "kl": "divergence between the scores' and the gold's distribution over tokens",
    "linear": "sum of scores: minus on gold tokens, plus elsewhere; has no lower bound",
    "linear-margin": "the same, worth nothing more once below minus the margin",
}
SMOOTHING = 1e-3  # Paper: KL(scores || gold) as written is infinite wherever gold is 0


@dataclass(frozen=True)
class Plausibility:
    """How far the scores are from the gold rationale; exactly 0 for texts without one.

    Args:
        weight: share in the total loss (the paper's alpha_p).
        criterion: how the distance is measured.
        margin: for `linear-margin`: the sum that is enough.
        balance: for `bce`: weigh gold tokens by (others / gold) of the batch.
    """

    views: ClassVar[tuple[str, ...]] = ()

    weight: float = 0.0
    criterion: Literal["bce", "kl", "linear", "linear-margin"] = "bce"
    margin: float = 0.1  # spec/objectives.md#plausibility
    balance: bool = True

    def __call__(self, step: Step) -> Tensor:
        """Loss of every sequence, [D]."""
        batch = step.batch
        if batch.rationale is None or batch.has_rationale is None or not bool(batch.has_rationale.any()):
            return step.marks.sum(-1) * 0  # zero, but in the graph: data parallelism waits for gradients
        # Special tokens count too: spec/objectives.md#plausibility
        valid = batch.attention_mask & batch.has_rationale[:, None]
        return self.distance(step.marks, batch.rationale & valid, valid)

    def distance(self, scores: Tensor, gold: Tensor, valid: Tensor) -> Tensor:
        """The criterion on scores [B, T], gold [B, T] and which tokens count [B, T]: [B]."""
        if self.criterion == "bce":
            return self.cross_entropy(scores, gold, valid)
        if self.criterion == "kl":
            return self.divergence(scores, gold, valid)
        signed = (scores.where(~gold, -scores) * valid).sum(-1)  # (1 - 2 r*) s
        if self.criterion == "linear":
            return signed
        return (signed.clamp(min=-self.margin) + self.margin) * valid.any(-1)

    def cross_entropy(self, scores: Tensor, gold: Tensor, valid: Tensor) -> Tensor:
        """Losses of the sequences [D], scaled so that their mean is the mean over all valid tokens."""
        total, positive = valid.sum().to(scores.dtype), gold.sum().to(scores.dtype)
        if not bool(positive):  # nothing to balance against: no loss, spec/objectives.md#plausibility
            return scores.sum(-1) * 0
        up = (total - positive) / positive if self.balance else 1.0
        missed, invented = (-scores).logaddexp(scores * 0), scores.logaddexp(scores * 0)  # softplus
        losses = (missed * up).where(gold, invented) * valid
        return losses.sum(-1) * (len(scores) / total)

    def divergence(self, scores: Tensor, gold: Tensor, valid: Tensor) -> Tensor:
        """KL(scores || gold) over tokens; the gold distribution is smoothed, or it would be infinite."""
        has_gold = gold.any(-1)
        logp = scores.masked_fill(~valid, float("-inf")).masked_fill(~has_gold[:, None], 0.0).log_softmax(-1)
        target = (gold + SMOOTHING * valid).float()
        logq = (target / target.sum(-1, keepdim=True).clamp(min=SMOOTHING)).clamp(min=1e-12).log()
        terms = logp.exp() * (logp.masked_fill(~valid, 0.0) - logq)
        return (terms * valid).sum(-1) * has_gold
