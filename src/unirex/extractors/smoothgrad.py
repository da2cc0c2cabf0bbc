"""SmoothGrad: the gradient averaged over noisy copies of the text, so that its own noise cancels out."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import torch
from torch import Tensor

from unirex.errors import UserError
from unirex.extractors.attribution import Attribution, embeddings, input_gradient
from unirex.extractors.gradient_shap import noise
from unirex.extractors.masking import check_count, text_generators
from unirex.models.task import Pass


class SmoothGrad(Attribution):
    """The absolute mean of gradients around the text, so its scores are never negative.

    Random numbers depend on the text and the seed only: neither padding nor other texts change a score.

    Args:
        encoder_config: the encoder's configuration.
        samples: noisy copies of every text.
        noise: standard deviation of the noise, as a share of the range that each embedding dimension has in
            the text.
        seed: another one, other noise.
        pooling: as in `Attribution`.
        create_graph: as in `Attribution`.
    """

    def __init__(
        self,
        encoder_config: Any,
        *,
        samples: int = 20,
        noise: float = 0.15,  # Smilkov et al. 2017: 10 to 20 %
        seed: int = 0,
        pooling: str = "sum",
        create_graph: bool = False,
    ) -> None:
        super().__init__(encoder_config, pooling=pooling, create_graph=create_graph)
        if noise < 0:
            raise UserError(f"smoothgrad: noise {noise} is a spread; give 0 (no noise) or more.")
        self.samples, self.noise, self.seed = check_count("smoothgrad: samples", samples), noise, seed

    @property
    def signed(self) -> bool:
        """Never: a steep logit speaks neither for nor against it."""
        return False

    def attribute(self, full: Pass, target: Tensor, *, create_graph: bool) -> Tensor:
        """|mean of dF/de over noisy e|, [D, T, H]."""
        total = torch.zeros_like(full.embeds)
        for embeds in self.draws(full):
            total = total + input_gradient(full, embeds, target, create_graph=create_graph)
        return (total / self.samples).abs()

    def draws(self, full: Pass) -> Iterator[Tensor]:
        """Noisy copies of the texts, [D, T, H] each."""
        embeds, generators = embeddings(full), text_generators(self.seed, full.batch)
        spread = self.noise * ranges(embeds.detach(), full.batch.attention_mask)
        for _ in range(self.samples):
            yield embeds + spread * noise(full, generators).to(embeds)


def ranges(embeds: Tensor, present: Tensor) -> Tensor:
    """The range of each embedding dimension among the tokens of a text, [D, 1, H]."""
    absent = ~present[..., None]
    highest = embeds.masked_fill(absent, float("-inf")).amax(1, keepdim=True)
    lowest = embeds.masked_fill(absent, float("inf")).amin(1, keepdim=True)
    return highest - lowest
