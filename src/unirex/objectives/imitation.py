"""Imitation: give every token the class of its teacher's score (L2E)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from unirex.errors import UserError
from unirex.objectives.base import Step, Tensor, require


@dataclass(frozen=True)
class Imitation:
    """Cross-entropy of the tagger's five classes with those of the teacher's scores.

    See spec/baselines.md#l2e.

    Args:
        weight: share in the total loss.
    """

    views: ClassVar[tuple[str, ...]] = ()

    weight: float = 0.0

    def __call__(self, step: Step) -> Tensor:
        """Loss of every sequence, [D]; special tokens and segments without rationale should be neutral."""
        from unirex.extractors.bucket_tagger import discretise

        batch = step.batch
        if batch.given is None:
            raise UserError(
                "objective 'imitation' learns from a teacher's scores, and these texts have none; train with"
                " the method 'l2e', which computes them first, or set imitation.weight to 0."
            )
        require(step, "bucket_logits", objective="imitation", extractor="bucket-tagger")
        classes = discretise(batch.given, batch.selectable, batch.example)
        return self.cross_entropy(step.extractor.bucket_logits(step.full), classes, batch.attention_mask)

    def cross_entropy(self, logits: Tensor, classes: Tensor, valid: Tensor) -> Tensor:
        """Losses of the sequences [D], scaled so that their mean is the mean over all valid tokens."""
        losses = -logits.float().log_softmax(-1).gather(-1, classes[..., None]).squeeze(-1) * valid  # [D, T]
        return losses.sum(-1) * (len(losses) / valid.sum().clamp(min=1))
