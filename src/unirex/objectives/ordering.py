"""Ordering: tokens should be ranked as the classifier's own attributions rank them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal

from unirex.objectives.base import Step, Tensor

WITHIN = {
    "gold": "gold tokens among themselves and the others among themselves; all tokens where gold is unknown",
    "all": "all tokens of a text",
}


@dataclass(frozen=True)
class Ordering:
    """How far the scores are from the order of an attribution on the classifier that is being trained.

    The attribution (the teacher) is a constant for the classifier: only the scores learn. The loss is
    listwise, a divergence between two softmaxes over the tokens of a group, so it asks for an order and not
    for values.

    Args:
        weight: share in the total loss.
        teacher: the attribution algorithm; see `unirex list extractors`.
        teacher_options: its options, such as `steps`.
        sharpness: of the teacher's softmax, whose scores are at most 1; higher: only the top tokens count.
        within: which tokens are compared with each other.
        warmup: share of the training before it begins, as an untrained classifier's attributions mean little.
        every: steps from one use to the next; a higher number saves the teacher's passes.
    """

    views: ClassVar[tuple[str, ...]] = ()

    weight: float = 0.0
    teacher: str = "integrated-gradients"
    teacher_options: dict[str, Any] = field(default_factory=dict)
    sharpness: float = 5.0
    within: Literal["gold", "all"] = "gold"
    warmup: float = 0.1
    every: int = 1

    def __call__(self, step: Step) -> Tensor:
        """Loss of every sequence, [D]."""
        if step.progress < self.warmup or step.number % self.every:
            return step.order.sum(-1) * 0  # zero, but in the graph: data parallelism waits for gradients
        from unirex.extractors import build_extractor, extractor_name

        name, config = extractor_name(self.teacher), step.full.task.encoder.config
        taught = step.attributions(build_extractor(name, config, self.teacher_options))
        return self.divergence(step.order, taught, self.groups(step))

    def groups(self, step: Step) -> list[Tensor]:
        """Which tokens are compared with each other: masks [D, T], disjoint."""
        batch = step.batch
        if self.within == "all" or batch.rationale is None or batch.has_rationale is None:
            return [batch.selectable]
        gold = batch.rationale & batch.has_rationale[:, None]
        return [batch.selectable & gold, batch.selectable & ~gold]

    def divergence(self, scores: Tensor, taught: Tensor, groups: list[Tensor]) -> Tensor:
        """KL(teacher || scores) over the tokens of each group, summed over groups: [D]."""
        import torch

        valid = torch.stack(groups).any(0)
        taught = taught / (taught * valid).abs().amax(-1, keepdim=True).clamp(min=1e-12)
        total = scores.sum(-1) * 0
        for group in groups:
            some = group.any(-1)[:, None]
            q, p = (
                values.masked_fill(~group & some, float("-inf")).log_softmax(-1)
                for values in (self.sharpness * taught, scores)
            )
            terms = q.exp() * (q - p).masked_fill(~group, 0.0)
            total = total + terms.sum(-1)
        return total
