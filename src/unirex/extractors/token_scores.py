"""Learnt token scores: what the heads of the Shared and Dual LM say, and how two of them become one score."""

from __future__ import annotations

from typing import Any

from torch import Tensor, nn

from unirex.errors import UserError, unknown
from unirex.extractors import check_dial
from unirex.models.heads import build_head
from unirex.models.task import Pass

DIAL = 0.3  # chosen on SST dev: docs/results/ordering.md

LEARNERS = ("encoder", "head")


class LearntScores(nn.Module):
    """What the Shared and Dual LM have in common: heads on the states of every token.

    With `order` two scores come from the same pass. *Marks* are logits of "a person would mark this token",
    trained by plausibility; the *order* says how much the classifier goes by the token, trained by the
    objective `ordering`. The score is their blend, and `dial` turns it from the first (0) towards the second
    (1), at no cost and without training again. With `per_label` each score exists once for every label, and
    the one of the label that is explained is read.

    A class beside it in the bases says whose `states` are read.

    Args:
        encoder_config: the encoder's configuration.
        head: `linear` or `mlp-<width>-<layers>`.
        dropout: inside an MLP head.
        layers: how many layers of the encoder the head reads: 1 is the last, 2 also the embedded words, more
            also what is between them at equal distances.
        order: a second score, of what the classifier goes by.
        order_trains: with `order`: what learns it, the `encoder` too or the `head` alone. An encoder that
            does not learn it stays with its own task.
        per_label: scores for every label; the one that is explained is read.
        classes: for `per_label`: how many labels there are.
        dial: with `order`: from 0, as a person would mark, to 1, as the classifier goes by.
    """

    states: Any  # (pass) -> [D, T, H]

    def __init__(
        self,
        encoder_config: Any,
        *,
        head: str = "linear",
        dropout: float = 0.0,
        layers: int = 1,
        order: bool = False,
        order_trains: str = "encoder",
        per_label: bool = False,
        classes: int = 2,
        dial: float = DIAL,
    ) -> None:
        super().__init__(encoder_config)  # of the class beside it
        self.order, self.dial = order, check_dial(dial)
        if order_trains not in LEARNERS:
            raise unknown("order_trains", order_trains, LEARNERS)
        if order_trains != "encoder" and not order:
            raise UserError(f"order_trains {order_trains}: there is no order to learn; set order to true.")
        self.order_trains = order_trains
        self.scored_labels = classes if per_label else 1
        self.layers = check_layers(layers, encoder_config.num_hidden_layers + 1)
        width = layers * encoder_config.hidden_size
        self.head = build_head(head, width, (1 + order) * self.scored_labels, dropout=dropout)

    def both(self, full: Pass, target: Tensor) -> tuple[Tensor, Tensor]:
        """Marks and order for the target, each [D, T]; without `order` they are the same."""
        states = self.states(full)
        values = self._for_target(states, full, target)  # [D, T, 1 or 2]
        if self.order and self.order_trains == "head" and states.requires_grad:
            return values[..., 0], self._for_target(states.detach(), full, target)[..., -1]
        return values[..., 0], values[..., -1]

    def _for_target(self, states: Tensor, full: Pass, target: Tensor) -> Tensor:
        """What the head says of the states [D, T, H] for the target: [D, T, 1 or 2]."""
        values = self.head(states).unflatten(-1, (-1, self.scored_labels))  # [D, T, 1 or 2, C]
        if self.scored_labels == 1:
            return values[..., 0]
        label = full.text_target(target)[:, None, None, None]
        return values.gather(-1, label.expand(*values.shape[:-1], 1)).squeeze(-1)

    def blend(self, full: Pass, marks: Tensor, order: Tensor) -> Tensor:
        """One score [D, T] between -1 and 1: marks at dial 0, the order at 1, between them a product.

        Not a sum: a token that no person would mark stays low, however much the classifier goes by it. At
        dial 0 a score above 0 means "more likely marked than not".
        """
        dial, used = self.dial, (scaled(order, full.batch.selectable) + 1) / 2
        return 2 * marks.sigmoid() ** (1 - dial) * (1 - dial + dial * used) - 1

    def forward(self, full: Pass, target: Tensor) -> Tensor:
        """Scores [D, T]: logits, or with `order` the blend; for a contrast [D, 2], the difference of two."""
        if target.dim() == 2:
            return self(full, target[:, 0]) - self(full, target[:, 1])
        marks, order = self.both(full, target)
        return self.blend(full, marks, order) if self.order else marks


def scaled(scores: Tensor, valid: Tensor) -> Tensor:
    """Scores [D, T] from -1 for the lowest valid one of a text to 1 for the highest; 0 elsewhere."""
    top = scores.masked_fill(~valid, float("-inf")).amax(-1, keepdim=True)
    low = scores.masked_fill(~valid, float("inf")).amin(-1, keepdim=True)
    return (2 * (scores - low) / (top - low).clamp(min=1e-6) - 1).masked_fill(~valid, 0.0)


def check_layers(layers: Any, available: int) -> int:
    """The number of layers itself, if the encoder has as many."""
    if not isinstance(layers, int) or isinstance(layers, bool) or not 1 <= layers <= available:
        raise UserError(f"layers {layers!r}: give a number from 1 to {available}; the encoder has no more.")
    return layers
