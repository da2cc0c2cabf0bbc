"""What the task model answers when words are hidden: shared by occlusion, LIME and KernelSHAP."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor, nn

from unirex.encoding.batch import Batch
from unirex.errors import UserError, unknown
from unirex.models.task import Pass
from unirex.perturb import Perturber, Removal

TARGETS = ("logit", "probability")
VIEWS = 1 << 22  # tokens of the views that are laid out at once


class Masking(nn.Module):
    """Token scores from answers to the text with some of its tokens removed; there is nothing to train.

    Args:
        encoder_config: the encoder's configuration.
        removal: how tokens are removed; see `perturb.REMOVALS`.
        target: what is explained: the target's `logit` (SPEC A5) or its `probability`.
        mask_token_id: the tokenizer's mask token, for the removal `mask_token`.
    """

    def __init__(
        self,
        encoder_config: Any,
        *,
        removal: Removal = "attention_mask",
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
        """Scores [D, T], 0 where nothing can be selected. They are constants for whoever trains."""
        _ = full.text_logits  # kept for everybody: it must know the gradient that others may ask for
        with torch.no_grad():
            return self.score(full, full.text_target(target))

    def score(self, full: Pass, target: Tensor) -> Tensor:
        """Scores [D, T] for the logit that `target` [D] names of every sequence."""
        raise NotImplementedError

    def values(self, full: Pass, target: Tensor, kept: Tensor) -> Tensor:
        """What is explained, of views that keep these tokens [V, D, T]: [V, D]."""
        parts = kept.split(max(1, VIEWS // max(1, kept[0].numel())))
        return self.explained(full, target, torch.cat([self.perturber.logits(full, one) for one in parts]))

    def explained(self, full: Pass, target: Tensor, logits: Tensor) -> Tensor:
        """The target's logit or probability [..., D] among logits [..., D, C]."""
        if self.target == "logit":
            values = logits
        elif full.batch.example is None:
            values = logits.softmax(-1)
        else:
            values = (logits - others(full)).sigmoid()
        return values.gather(-1, target.expand(values.shape[:-1])[..., None]).squeeze(-1)


class Surrogate(Masking):
    """A linear model that answers like the task model around one text; its coefficients are the scores.

    A subclass says which views of a text are asked for, and how the coefficients are fitted to the answers.

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
        places = [row.nonzero().flatten() for row in batch.selectable.cpu()]
        chance = text_generators(self.seed, batch)
        made = [self.sample(len(where), one) for where, one in zip(places, chance, strict=True)]
        kept = views([masks for masks, _ in made], places, batch.input_ids.shape[1])
        values = self.values(full, target, kept.to(batch.input_ids.device)).cpu().double()
        for row, (where, (masks, weights)) in enumerate(zip(places, made, strict=True)):
            if len(where):
                answers = values[: len(masks), row]
                scores[row, where] = self.fit(masks.double(), weights, answers).float()
        return scores.to(batch.input_ids.device)

    def sample(self, tokens: int, chance: torch.Generator) -> tuple[Tensor, Tensor]:
        """Views of a text with so many tokens to choose from: what they keep [S, n], their weights [S]."""
        raise NotImplementedError

    def fit(self, kept: Tensor, weights: Tensor, values: Tensor) -> Tensor:
        """Coefficients [n] for the answers `values` [S]."""
        raise NotImplementedError


def views(masks: Sequence[Tensor], places: Sequence[Tensor], width: int) -> Tensor:
    """Masks over the selectable tokens of each text as views of a batch [V, D, T].

    A text with fewer masks than others is seen whole there, which costs nothing.
    """
    kept = torch.ones(max(map(len, masks)), len(masks), width, dtype=torch.bool)
    for row, (some, where) in enumerate(zip(masks, places, strict=True)):
        kept[: len(some), row, where] = some
    return kept


def others(full: Pass) -> Tensor:
    """What each choice is up against: log of the summed odds of the other choices, whole, [D, 1]."""
    batch = full.batch
    answers = full.logits[batch.example]  # [D, C]
    own = torch.arange(answers.shape[-1], device=answers.device) == batch.choice[:, None]  # type: ignore[index]
    return answers.masked_fill(own, float("-inf")).logsumexp(-1, keepdim=True)


def text_generators(seed: int, batch: Batch) -> list[torch.Generator]:
    """A source of chance for every sequence, the same wherever the same tokens are seen."""
    lengths = batch.lengths().tolist()
    rows = zip(batch.input_ids.tolist(), lengths, strict=True)
    return [_generator(seed, tokens[:length]) for tokens, length in rows]


def _generator(seed: int, tokens: list[int]) -> torch.Generator:
    key = seed
    for token in tokens:
        key = (key * 1_000_003 + token + 1) % (2**61 - 1)
    return torch.Generator().manual_seed(key)


def check_count(what: str, value: object) -> int:
    """A number of things to draw."""
    if not isinstance(value, int) or isinstance(value, bool) or value < 1:
        raise UserError(f"{what} {value!r} must be a whole number above 0.")
    return value
