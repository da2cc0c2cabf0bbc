"""Bucket tagger: the student of L2E, which tags every token with one of five classes of teacher scores."""

from __future__ import annotations

from typing import Any, Literal

import torch
from torch import Tensor, nn

from unirex.errors import unknown
from unirex.extractors.dual_lm import OwnEncoder
from unirex.models.heads import build_head
from unirex.models.task import Pass

BUCKETS = 5  # much against, against, neutral, for, much for the prediction
NEUTRAL = 2  # the class of a score of 0, so that class - NEUTRAL is a score again
SCORES = {
    "argmax": "the likeliest class as a number from -2 to 2, as the paper; has many ties",
    "expected": "the mean of those numbers under the classes' probabilities; has none",
}


class BucketTagger(OwnEncoder):
    """A token classifier with an encoder of its own and the five classes of `discretise`.

    Args:
        encoder_config: the encoder's configuration; the pretrained weights are put in when training starts.
        score: what number is made of the classes.
        label: tell it the predicted label, as the original L2E does (spec/known-errors.md#d-14): a vector
            for the label is added to the word embeddings of the special tokens, which stand around the text.
        classes: for `label`: how many labels there are; 2 for multiple choice (chosen or not).
    """

    signed = True  # the teacher's scores have a sign, and class 2 is neutral

    def __init__(
        self,
        encoder_config: Any,
        *,
        score: Literal["argmax", "expected"] = "argmax",  # spec/baselines.md#l2e
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
        """The vectors added to the word embeddings of the rows for the label [R, W, E]; None: none."""
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


def discretise(scores: Tensor, valid: Tensor, owner: Tensor | None = None) -> Tensor:
    """The class of every token, by the sign of its score and the mean of the scores of that sign.

    0: below the mean of the negative scores; 1: from there to 0; 2: at 0; 3: up to the mean of the positive
    scores; 4: above it.

    >>> tokens = torch.tensor([[2.0, 1.0, 0.0, -1.0, -3.0]])  # means 1.5 and -2
    >>> discretise(tokens, torch.ones(1, 5, dtype=torch.bool)).tolist()
    [[4, 3, 2, 1, 0]]

    Args:
        scores: [D, T].
        valid: [D, T] bool, the tokens that count; all others are neutral and part of no mean.
        owner: [D], the example of each sequence: the choices of one example share their means. None: each
            sequence is an example.

    Returns:
        [D, T] long, 0 to 4.
    """
    # In double precision: the mean of equal scores must be that score, or some would lie beyond it.
    exact = scores.detach() if scores.device.type == "mps" else scores.detach().double()
    owner = torch.arange(len(scores), device=scores.device) if owner is None else owner
    above, below = (exact > 0) & valid, (exact < 0) & valid
    far_above = above & (exact > _means(exact, above, owner))
    far_below = below & (exact < _means(exact, below, owner))
    return NEUTRAL + above.long() + far_above.long() - below.long() - far_below.long()


def _means(scores: Tensor, which: Tensor, owner: Tensor) -> Tensor:
    """The mean of each example's marked scores, for each of its sequences [D, 1]; 0 if there are none."""
    examples = int(owner.max()) + 1 if len(owner) else 0
    sums = scores.masked_fill(~which, 0.0).sum(-1)
    counts = which.sum(-1).to(scores.dtype)
    total, number = (sums.new_zeros(examples).index_add(0, owner, values) for values in (sums, counts))
    return (total / number.clamp(min=1))[owner, None]
