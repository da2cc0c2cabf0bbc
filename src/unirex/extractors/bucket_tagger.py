"""Bucket tagger: L2E's student, which tags every token with how much a teacher would say it matters."""

from __future__ import annotations

from typing import Any, Literal

import torch
from torch import Tensor, nn

from unirex.buckets import BUCKETS, NEUTRAL
from unirex.errors import unknown
from unirex.extractors.own_encoder import OwnEncoder
from unirex.models.heads import build_head
from unirex.models.task import Pass

SCORES = {
    "argmax": "the likeliest class as a number from -2 to 2, as the paper; has many ties",
    "expected": "the mean of those numbers under the classes' probabilities; has none",
}


class BucketTagger(OwnEncoder):
    """A token classifier with an encoder of its own and the five classes of `buckets.discretise`.

    Args:
        encoder_config: the encoder's configuration; the pretrained weights are put in when training starts.
        score: what number is made of the classes.
        label: tell it the predicted label, as the original L2E does (SPEC A11 D-14): a vector for the label
            is added to the word embeddings of the special tokens, which stand around the text.
        classes: for `label`: how many labels there are; 2 for multiple choice (chosen or not).
    """

    def __init__(
        self,
        encoder_config: Any,
        *,
        score: Literal["argmax", "expected"] = "argmax",  # SPEC A9
        label: bool = False,
        classes: int = 2,
    ) -> None:
        super().__init__(encoder_config)
        if score not in SCORES:
            raise unknown("score", score, SCORES)
        self.score = score
        self.head = build_head("linear", encoder_config.hidden_size, BUCKETS)
        width = self.encoder.get_input_embeddings().embedding_dim
        self.labels = nn.Embedding(max(classes, 2), width) if label else None  # a choice: taken or not

    def forward(self, full: Pass, target: Tensor) -> Tensor:
        """Scores [D, T] from -2 to 2; those of `argmax` have no gradient."""
        logits = self.bucket_logits(full)
        if self.score == "argmax":
            return (logits.argmax(-1) - NEUTRAL).to(logits.dtype)
        values = torch.arange(BUCKETS, device=logits.device, dtype=logits.dtype) - NEUTRAL
        return (logits.softmax(-1) * values).sum(-1)

    def bucket_logits(self, full: Pass) -> Tensor:
        """The logits of the classes of every token: [D, T, 5]."""
        return self.head(self.states(full, self._tags(full)))

    def _tags(self, full: Pass) -> Tensor | None:
        """What the label adds to the word embeddings of the rows [R, W, E]; None: it is not told."""
        if self.labels is None:
            return None
        label = predicted(full)
        label = label if full.windows is None else label[full.windows.text]
        return self.labels(label)[:, None] * full.rows.special[..., None]


def predicted(full: Pass) -> Tensor:
    """The label the task model gives each sequence [D]; of choices, 1 for the chosen one, 0 for others."""
    answer = full.logits.detach().argmax(-1)  # [B]
    batch = full.batch
    if batch.example is None or batch.choice is None:
        return answer
    return (answer[batch.example] == batch.choice).long()
