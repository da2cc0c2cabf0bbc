"""What the logits of a task model mean: one label for each text, or a set of labels."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn import functional as F

from unirex.data.example import AnswerNumbers

MULTI_LABEL = "multi_label_classification"  # the `problem_type` of transformers


class OneLabel:
    """Each text has one label: the logits are those of one distribution."""

    def probabilities(self, logits: Tensor) -> Tensor:
        """Probabilities [..., C] in float32, whatever the precision of the logits."""
        return logits.float().softmax(-1)

    def predicted(self, logits: Tensor) -> list[AnswerNumbers]:
        """The number of the label of each text, from logits [B, C]."""
        return self.numbers(logits.argmax(-1))

    def numbers(self, gold: Tensor) -> list[AnswerNumbers]:
        """Gold labels [B] as numbers."""
        return gold.tolist()

    def decisions(self, logits: Tensor) -> Tensor:
        """The logits of every decision that an answer takes, [..., N, V]: here of one, between all labels."""
        return logits[..., None, :]

    def target(self, gold: Tensor, *, drawn: bool) -> Tensor:
        """The label that training explains: the gold one, [B]."""
        return gold

    def loss(self, logits: Tensor, gold: Tensor, weights: Tensor | None) -> Tensor:
        """Cross-entropy of logits [..., B, C] with gold labels [B]: [..., B]."""
        gold = gold.expand(logits.shape[:-1])
        losses = F.cross_entropy(logits.flatten(0, -2), gold.flatten(), weight=weights, reduction="none")
        return losses.view(logits.shape[:-1])

    def target_loss(self, logits: Tensor, target: Tensor, gold: Tensor, weights: Tensor | None) -> Tensor:
        """The loss of the explained label [B]: [..., B]."""
        return self.loss(logits, target, weights)


@dataclass(frozen=True)
class LabelSet:
    """Each text has any number of labels: each logit decides about its label alone.

    Args:
        threshold: labels at least this probable are predicted.
    """

    threshold: float = 0.5

    def probabilities(self, logits: Tensor) -> Tensor:
        """The probability of every label [..., C]; they do not add up to 1."""
        return logits.float().sigmoid()

    def predicted(self, logits: Tensor) -> list[AnswerNumbers]:
        """The numbers of the labels of each text, from logits [B, C]."""
        return self.numbers(self.probabilities(logits) >= self.threshold)

    def numbers(self, gold: Tensor) -> list[AnswerNumbers]:
        """Gold flags [B, C] as the numbers of the labels that are set."""
        return [tuple(number for number, given in enumerate(row) if given) for row in gold.tolist()]

    def decisions(self, logits: Tensor) -> Tensor:
        """The logits of every decision, [..., C, 2]: yes or no for each label."""
        return torch.stack([logits, torch.zeros_like(logits)], -1)

    def target(self, gold: Tensor, *, drawn: bool) -> Tensor:
        """The label that training explains, [B]: one of the text's own, drawn anew each time, or the first.

        A text without labels gets any: nothing is learnt from it about the classifier, see `target_loss`.
        """
        flags = gold.float()
        if not drawn:
            return flags.argmax(-1)
        return torch.multinomial(flags + (flags.sum(-1, keepdim=True) == 0), 1).squeeze(1)

    def loss(self, logits: Tensor, gold: Tensor, weights: Tensor | None) -> Tensor:
        """Binary cross-entropy summed over labels: minus the log-probability of the whole set, [..., B].

        Weights count for labels that are set.
        """
        return self._losses(logits, gold, weights).sum(-1)

    def target_loss(self, logits: Tensor, target: Tensor, gold: Tensor, weights: Tensor | None) -> Tensor:
        """Binary cross-entropy of the explained label [B], [..., B]; 0 for texts that do not have it."""
        losses = self._losses(logits, gold, weights) * gold
        return losses.gather(-1, target.expand(logits.shape[:-1])[..., None]).squeeze(-1)

    def _losses(self, logits: Tensor, gold: Tensor, weights: Tensor | None) -> Tensor:  # [..., B, C]
        flags = gold.to(logits.dtype).expand_as(logits)
        return F.binary_cross_entropy_with_logits(logits, flags, pos_weight=weights, reduction="none")


Labelling = OneLabel | LabelSet


def build_labelling(problem_type: str | None, threshold: float = 0.5) -> Labelling:
    """The meaning of the logits of a model with this `problem_type`."""
    return LabelSet(threshold) if problem_type == MULTI_LABEL else OneLabel()
