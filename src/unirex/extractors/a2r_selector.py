"""A2R selector: a token scorer with a soft predictor beside the hard one, which sees every token a little.

The hard predictor sees only the selected tokens, so the selector learns nothing about the others from it. The
soft predictor averages the states of all tokens weighted by the scores, so every score gets a gradient. The
objective `agreement` keeps the two predictors together (spec/baselines.md#a2r).
"""

from __future__ import annotations

from typing import Any, Literal

import torch
from torch import Tensor

from unirex.encoding.batch import Batch
from unirex.errors import UserError, unknown
from unirex.extractors.dual_lm import DualLM, OwnEncoder
from unirex.models.heads import build_head
from unirex.models.task import Pass

SOFT = {
    "shared": "averages the states of the hard predictor's encoder, as the original A2R",
    "own": "has a third encoder, as UNIREX ran it",
}


class A2RSelector(DualLM):
    """A Dual LM whose scores also weigh the states of a soft predictor.

    Args:
        encoder_config: the encoder's configuration; the pretrained weights are put in when training starts.
        head: of the scorer: `linear` or `mlp-<width>-<layers>`.
        dropout: inside an MLP head.
        classes: logits of the soft predictor per sequence; 1 for multiple choice.
        soft: whose states the soft predictor averages.
        pads: let padding take part in the average with score 0, as UNIREX did by mistake
            (spec/known-errors.md#d-10).
    """

    def __init__(
        self,
        encoder_config: Any,
        *,
        head: str = "linear",
        dropout: float = 0.0,
        classes: int = 2,
        soft: Literal["shared", "own"] = "shared",
        pads: bool = False,
    ) -> None:
        super().__init__(encoder_config, head=head, dropout=dropout)
        if soft not in SOFT:
            raise unknown("soft", soft, SOFT)
        self.classes, self.pads = classes, pads
        self.soft_reader = OwnEncoder(encoder_config) if soft == "own" else None
        self.soft_head = build_head("linear", encoder_config.hidden_size, classes)

    def soft_logits(self, full: Pass, scores: Tensor) -> Tensor:
        """The logits of the soft predictor [B, C], given the scores [D, T] of the whole texts."""
        self._check_classes(full)
        states = full.hidden if self.soft_reader is None else self.soft_reader.states(full)
        weights = soft_attention(scores, full.batch, pads=self.pads)
        pooled = (weights.to(states.dtype)[..., None] * states).sum(1)  # [D, H]
        return full.task.answer(full.batch, self.soft_head(pooled))

    def _check_classes(self, full: Pass) -> None:
        needed = full.task.head.out_features
        if self.classes != needed:
            raise UserError(
                f"extractor option classes {self.classes}: the task model gives {needed} logits for each"
                f" sequence, and so must the soft predictor; set classes to {needed}."
            )


def soft_attention(scores: Tensor, batch: Batch, *, pads: bool = False) -> Tensor:
    """The weight of each token in the soft predictor's average [D, T]; sums to 1 for each sequence.

    Only selectable tokens have weight. The others (special tokens, segments without rationale) are seen by
    the hard predictor in any case, so attending to them would bypass the selection. A sequence without
    selectable tokens is averaged over all its tokens.
    """
    if pads:
        return (scores * batch.attention_mask).softmax(-1)
    seen = torch.where(batch.selectable.any(-1, keepdim=True), batch.selectable, batch.attention_mask)
    # Not -inf, which would give NaN for a sequence of padding alone; the weight is exactly 0 anyway.
    return scores.masked_fill(~seen, torch.finfo(scores.dtype).min).softmax(-1)
