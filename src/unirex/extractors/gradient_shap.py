"""GradientSHAP: integrated gradients at random points instead of chosen ones."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import torch
from torch import Tensor

from unirex.errors import UserError
from unirex.extractors.attribution import FromBaseline, baseline, embeddings, path_gradient
from unirex.extractors.masking import check_count, text_generators
from unirex.models.task import Pass


class GradientShap(FromBaseline):
    """captum's GradientShap with one baseline: the mean of (e - e') · gradient at chance points between.

    Random numbers depend on the text and the seed only: neither padding nor other texts change a score.

    Args:
        encoder_config: the encoder's configuration.
        samples: points for every text.
        stdev: of the normal noise added to the text before each point is drawn.
        seed: another one, other points.
        pooling: as in `Attribution`.
        create_graph: as in `Attribution`.
    """

    def __init__(
        self,
        encoder_config: Any,
        *,
        samples: int = 5,  # captum's default
        stdev: float = 0.0,  # captum's default
        seed: int = 0,
        pooling: str = "sum",
        create_graph: bool = False,
    ) -> None:
        super().__init__(encoder_config, pooling=pooling, create_graph=create_graph)
        if stdev < 0:
            raise UserError(f"gradient-shap: stdev {stdev} is a spread; give 0 (no noise) or more.")
        self.samples, self.stdev, self.seed = check_count("gradient-shap: samples", samples), stdev, seed

    def attribute(self, full: Pass, target: Tensor, *, create_graph: bool) -> Tensor:
        """The mean over samples of (e - e') · gradient, [D, T, H]."""
        start = baseline(full)
        total = torch.zeros_like(start)
        for end, points in self.draws(full):
            weights = torch.full_like(points, 1 / self.samples)
            slope = path_gradient(full, (start, end), points, weights, target, create_graph=create_graph)
            total = total + (end - start) * slope
        return total

    def draws(self, full: Pass) -> Iterator[tuple[Tensor, Tensor]]:
        """Ends of lines [D, T, H] and points on them [S, D]; with noise, one end for each sample."""
        embeds, generators = embeddings(full), text_generators(self.seed, full.batch)
        columns = [torch.rand(self.samples, generator=generator) for generator in generators]
        points = torch.stack(columns, dim=1).to(embeds)
        if not self.stdev:
            yield embeds, points
            return
        for point in points:
            yield embeds + self.stdev * noise(full, generators).to(embeds), point[None]


def noise(full: Pass, generators: list[torch.Generator]) -> Tensor:
    """Standard normal numbers for every embedding of every text, 0 at padding: [D, T, H]."""
    numbers = torch.zeros(full.embeds.shape)
    for row, (length, generator) in enumerate(zip(full.batch.lengths().tolist(), generators, strict=True)):
        numbers[row, :length] = torch.randn(length, numbers.shape[-1], generator=generator)
    return numbers
