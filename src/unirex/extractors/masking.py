"""The base of extractors that remove tokens and watch the prediction: occlusion, LIME, KernelSHAP."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor, nn

from unirex.encoding.batch import Batch
from unirex.errors import UserError, unknown
from unirex.models.task import Pass, of_target
from unirex.perturb import Perturber

TARGETS = ("logit", "probability")
VIEWS = 1 << 22  # tokens of the views that are built at once


class Masking(nn.Module):
    """Token scores from predictions for the text with some tokens removed; there is nothing to train.

    Args:
        encoder_config: the encoder's configuration.
        removal: how tokens are removed; see `removals.REMOVALS`.
        target: what is explained: the target's `logit` (spec/models.md#attributions) or its `probability`.
        mask_token_id: the tokenizer's mask token, for the removal `mask_token`.
    """

    signed = True  # above 0 a token speaks for the target, below 0 against it

    def __init__(
        self,
        encoder_config: Any,
        *,
        removal: str = "attention_mask",
        target: str = "logit",
        mask_token_id: int | None = None,
    ) -> None:
        super().__init__()
        if target not in TARGETS:
            raise unknown("target", target, TARGETS)
        if removal == "mask_token" and mask_token_id is None:
            raise UserError(
                "removal 'mask_token': say which token that is: mask_token_id = tokenizer.mask_token_id."
            )
        pad = getattr(encoder_config, "pad_token_id", None) or 0
        self.perturber = Perturber(removal, mask_token_id=mask_token_id, pad_token_id=pad)
        self.target = target

    def forward(self, full: Pass, target: Tensor) -> Tensor:
        """Scores [D, T], 0 at tokens that are not selectable; constants in training."""
        _ = full.text_logits  # computed here, outside no_grad, as losses may need its gradient
        with torch.no_grad():
            return self.score(full, full.text_target(target))

    def score(self, full: Pass, target: Tensor) -> Tensor:
        """Scores [D, T] for the logit that `target` [D] names of every sequence."""
        raise NotImplementedError

    def values(self, full: Pass, target: Tensor, kept: Tensor) -> Tensor:
        """The explained quantity for views that keep these tokens [V, D, T]: [V, D]."""
        parts = kept.split(max(1, VIEWS // max(1, kept[0].numel())))
        return self.explained(full, target, torch.cat([self.perturber.logits(full, part) for part in parts]))

    def explained(self, full: Pass, target: Tensor, logits: Tensor) -> Tensor:
        """The target's logit or probability [..., D] among logits [..., D, C]."""
        if self.target == "logit":
            values = logits
        elif full.batch.example is None:
            values = full.task.labelling.probabilities(logits)
        else:
            values = (logits - others(full)).sigmoid()
        return of_target(values, target)


class Surrogate(Masking):
    """A linear model that approximates the task model around one text; its coefficients are the scores.

    A subclass says which views of a text are run, and how the coefficients are fitted to the results.

    Args:
        encoder_config: the encoder's configuration.
        samples: views of every text.
        seed: another one, other views.
        **answering: as in `Masking`.
    """

    def __init__(self, encoder_config: Any, *, samples: int, seed: int, **answering: Any) -> None:
        super().__init__(encoder_config, **answering)
        self.samples, self.seed = check_count("samples", samples), seed

    def score(self, full: Pass, target: Tensor) -> Tensor:
        """The coefficients at the tokens they belong to: [D, T]."""
        batch = full.batch
        scores = torch.zeros(batch.input_ids.shape)
        selectable = [row.nonzero().flatten() for row in batch.selectable.cpu()]  # token numbers of each text
        generators = text_generators(self.seed, batch)
        samples = [
            self.sample(len(tokens), generator)
            for tokens, generator in zip(selectable, generators, strict=True)
        ]
        kept = views([masks for masks, _ in samples], selectable, batch.input_ids.shape[1])
        values = self.values(full, target, kept.to(batch.input_ids.device)).cpu().double()
        for row, (tokens, (masks, weights)) in enumerate(zip(selectable, samples, strict=True)):
            if len(tokens):
                fitted = self.fit(masks.double(), weights, values[: len(masks), row])
                scores[row, tokens] = fitted.float()
        return scores.to(batch.input_ids.device)

    def sample(self, tokens: int, generator: torch.Generator) -> tuple[Tensor, Tensor]:
        """Views of a text with this many selectable tokens: masks of kept tokens [S, n], weights [S]."""
        raise NotImplementedError

    def fit(self, kept: Tensor, weights: Tensor, values: Tensor) -> Tensor:
        """The coefficients [n] that fit the values [S] of the views best."""
        raise NotImplementedError


def views(masks: Sequence[Tensor], selectable: Sequence[Tensor], width: int) -> Tensor:
    """Masks over the selectable tokens of each text as views of a batch [V, D, T].

    A text with fewer masks than others is whole in the remaining views; whole texts are not run again.
    """
    kept = torch.ones(max(map(len, masks)), len(masks), width, dtype=torch.bool)
    for row, (text_masks, tokens) in enumerate(zip(masks, selectable, strict=True)):
        kept[: len(text_masks), row, tokens] = text_masks
    return kept


def others(full: Pass) -> Tensor:
    """Log of the summed odds of the other choices, from the whole texts, for each choice: [D, 1]."""
    batch = full.batch
    answers = full.logits[batch.example]  # [D, C]
    own = torch.arange(answers.shape[-1], device=answers.device) == batch.choice[:, None]  # type: ignore[index]
    return answers.masked_fill(own, float("-inf")).logsumexp(-1, keepdim=True)


def text_generators(seed: int, batch: Batch) -> list[torch.Generator]:
    """A random generator for every sequence: the same for the same tokens in any batch."""
    lengths = batch.lengths().tolist()
    rows = zip(batch.input_ids.tolist(), lengths, strict=True)
    return [_generator(seed, tokens[:length]) for tokens, length in rows]


def _generator(seed: int, tokens: list[int]) -> torch.Generator:
    key = seed
    for token in tokens:
        key = (key * 1_000_003 + token + 1) % (2**61 - 1)
    return torch.Generator().manual_seed(key)


def check_count(what: str, value: object) -> int:
    """The value, if it is a whole number above 0."""
    if not isinstance(value, int) or isinstance(value, bool) or value < 1:
        raise UserError(f"{what} {value!r} must be a whole number above 0.")
    return value
