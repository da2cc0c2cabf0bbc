"""Agreement: the hard and the soft predictor should say the same (A2R)."""

from __future__ import annotations

from dataclasses import dataclass
from math import log
from typing import ClassVar, Literal

from unirex.objectives.base import Step, Tensor, require


@dataclass(frozen=True)
class Agreement:
    """How far the two predictors' label distributions are apart, averaged over budgets.

    Args:
        weight: share in the total loss (A2R's lambda).
        divergence: how the distance is measured. `js` is Jensen-Shannon, the mean KL from either to their
            average, at most log 2; `js-reversed` the mean KL from their average to either, as UNIREX coded
            it, without upper bound; `kl` is KL both ways, summed, as the released code of A2R.
    """

    views: ClassVar[tuple[str, ...]] = ("kept",)

    weight: float = 0.0
    divergence: Literal["js", "js-reversed", "kl"] = "js"  # spec/baselines.md#a2r, spec/known-errors.md#d-10

    def __call__(self, step: Step) -> Tensor:
        """Loss [B]."""
        require(step, "soft_logits", objective="agreement", extractor="a2r")
        decisions = step.labelling.decisions
        return self.distance(decisions(step.kept_logits), decisions(step.soft_logits)).sum(-1).mean(0)

    def distance(self, hard: Tensor, soft: Tensor) -> Tensor:
        """The divergence between two sets of logits: [..., C] to [...]."""
        first = hard.float().log_softmax(-1)
        second = soft.float().log_softmax(-1).expand_as(first)
        if self.divergence == "kl":
            return relative_entropy(first, second) + relative_entropy(second, first)
        middle = first.logaddexp(second) - log(2)
        if self.divergence == "js":
            return (relative_entropy(first, middle) + relative_entropy(second, middle)) / 2
        return (relative_entropy(middle, first) + relative_entropy(middle, second)) / 2


def relative_entropy(first: Tensor, second: Tensor) -> Tensor:
    """KL(first || second) of log-probabilities: [..., C] to [...].

    >>> import torch
    >>> half, quarter = torch.tensor([0.5, 0.5]).log(), torch.tensor([0.25, 0.75]).log()
    >>> round(float(relative_entropy(half, quarter)), 4)  # (log 2 + log 2/3) / 2
    0.1438
    """
    return (first.exp() * (first - second)).sum(-1)
