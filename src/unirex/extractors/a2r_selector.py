"""A2R selector: a token scorer with a soft predictor beside the hard one, which sees every token a little.

The hard predictor sees only the tokens that were selected, so the selector learns nothing about the others.
The soft predictor averages the states of all tokens by the selector's scores: through it, every score gets
gradient. Agreement between the two keeps them from going separate ways (SPEC C2).
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
        pads: let padding take part in the average with score 0, as UNIREX did by mistake (SPEC A11 D-10).
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
        """What the soft predictor answers [B, C], given the scores [D, T] of the whole texts."""
        self._check(full)
        states = full.hidden if self.soft_reader is None else self.soft_reader.states(full)
        weights = soft_attention(scores, full.batch, pads=self.pads)
        pooled = (weights.to(states.dtype)[..., None] * states).sum(1)  # [D, H]
        return full.task.answer(full.batch, self.soft_head(pooled))

    def _check(self, full: Pass) -> None:
        needed = full.task.head.out_features
        if self.classes != needed:
            raise UserError(
                f"extractor option classes {self.classes}: the task model gives {needed} logits for each"
                f" sequence, and so must the soft predictor; set classes to {needed}."
            )


def soft_attention(scores: Tensor, batch: Batch, *, pads: bool = False) -> Tensor:
    """How much of the soft predictor's attention each token gets [D, T]; sums to 1 for each sequence.

    It goes to the tokens a rationale can hold. The others (special tokens, segments without rationale) are
    seen by the hard predictor whatever is selected, so attending to them would be a way round the selection.
    A sequence without any such token spreads it over all its tokens.
    """
    if pads:
        return (scores * batch.attention_mask).softmax(-1)
    seen = torch.where(batch.selectable.any(-1, keepdim=True), batch.selectable, batch.attention_mask)
    # Not -inf, as a sequence of padding alone would be all NaN; the weight is exactly 0 all the same.
    return scores.masked_fill(~seen, torch.finfo(scores.dtype).min).softmax(-1)
