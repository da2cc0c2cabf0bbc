"""Extractors that use no model: random, gold, and the opposite of gold (the paper's ablations)."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn

from unirex.encoding.batch import Batch
from unirex.errors import UserError
from unirex.extractors.masking import text_generators
from unirex.models.task import Pass


class Random(nn.Module):
    """Standard normal scores, always the same for the same text and seed: the floor of every metric."""

    def __init__(self, encoder_config: Any, *, seed: int = 0) -> None:
        super().__init__()
        self.seed = seed

    def forward(self, full: Pass, target: Tensor) -> Tensor:
        """Scores [D, T]; padding does not change them."""
        batch = full.batch
        scores = torch.zeros(batch.input_ids.shape)
        rows = zip(text_generators(self.seed, batch), batch.lengths().tolist(), strict=True)
        for row, (generator, length) in enumerate(rows):
            scores[row, :length] = torch.randn(length, generator=generator)
        return scores.to(batch.input_ids.device)


class Gold(nn.Module):
    """What a person marked, as scores: 1 on gold tokens, 0 elsewhere."""

    def __init__(self, encoder_config: Any) -> None:
        super().__init__()

    def forward(self, full: Pass, target: Tensor) -> Tensor:
        """Scores [D, T]."""
        return gold_tokens(full.batch)


class Inverse(nn.Module):
    """Everything a person did not mark: 0 on gold tokens, 1 elsewhere."""

    def __init__(self, encoder_config: Any) -> None:
        super().__init__()

    def forward(self, full: Pass, target: Tensor) -> Tensor:
        """Scores [D, T]."""
        return (1 - gold_tokens(full.batch)) * full.batch.attention_mask


def gold_tokens(batch: Batch) -> Tensor:
    """The gold rationale as floats [D, T]; every example must have one."""
    if batch.rationale is None or batch.has_rationale is None or not bool(batch.has_rationale.all()):
        raise UserError(
            "extractors 'gold' and 'inverse' need a gold rationale for every text; some have none."
        )
    return batch.rationale.float()
