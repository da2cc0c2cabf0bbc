"""Integrated Gradients: each token's share in the way from a text that says nothing to this text."""

from __future__ import annotations

from functools import cache
from typing import Any

import torch
from numpy.polynomial.legendre import leggauss
from torch import Tensor

from unirex.errors import UserError
from unirex.extractors.attribution import Attribution, baseline, embeddings, target_logits
from unirex.models.task import Pass

TOKENS_PER_PASS = 16_384  # bounds memory: so many path points are run at once


@cache
def quadrature(steps: int) -> tuple[tuple[float, float], ...]:
    """Gauss-Legendre points and weights on [0, 1], as captum's default.

    >>> [(round(point, 3), round(weight, 3)) for point, weight in quadrature(2)]
    [(0.211, 0.5), (0.789, 0.5)]
    """
    points, weights = leggauss(steps)
    return tuple((float(1 + p) / 2, float(w) / 2) for p, w in zip(points, weights, strict=True))


class IntegratedGradients(Attribution):
    """Gradients averaged along the straight line from the baseline to the text (SPEC A5).

    Args:
        encoder_config: the encoder's configuration.
        steps: points on the line; more come closer to completeness.
        pooling: as in `Attribution`.
        create_graph: as in `Attribution`.
    """

    def __init__(
        self, encoder_config: Any, *, steps: int = 3, pooling: str = "sum", create_graph: bool = False
    ) -> None:
        super().__init__(encoder_config, pooling=pooling, create_graph=create_graph)
        if not isinstance(steps, int) or steps < 1:
            raise UserError(f"integrated-gradients: steps {steps!r} must be a whole number above 0.")
        self.steps = steps

    def attribute(self, full: Pass, target: Tensor, *, create_graph: bool) -> Tensor:
        """(e - e') · mean gradient on the line, [D, T, H]; exactly 0 at special tokens."""
        embeds, start = embeddings(full), baseline(full)
        return (embeds - start) * self._mean_gradient(full, embeds, start, target, create_graph)

    def _mean_gradient(
        self, full: Pass, embeds: Tensor, start: Tensor, target: Tensor, create_graph: bool
    ) -> Tensor:
        if not create_graph:  # constants: the line need not be tied to the embedding matrix
            embeds, start = embeds.detach().requires_grad_(), start.detach()
        per_pass = max(1, TOKENS_PER_PASS // full.batch.input_ids.numel())
        line = quadrature(self.steps)
        parts = []
        for first in range(0, self.steps, per_pass):
            points, weights = zip(*line[first : first + per_pass], strict=True)
            path = torch.stack([start + point * (embeds - start) for point in points])  # [S, B, T, H]
            several = torch.arange(len(target), device=target.device).repeat(len(points))
            logits = target_logits(
                full.task, full.batch.rows(several), path.flatten(0, 1), target.repeat(len(points))
            )
            gradients = torch.autograd.grad(logits.sum(), path, create_graph=create_graph)[0]
            parts.append(torch.einsum("s,sbth->bth", gradients.new_tensor(weights), gradients))
        return torch.stack(parts).sum(0)

    def convergence_delta(self, full: Pass, target: Tensor) -> Tensor:
        """How far the scores are from summing up to F(x) - F(baseline): [B], 0 is exact."""
        target = full.text_target(target)
        with torch.no_grad():
            whole = target_logits(full.task, full.batch, embeddings(full), target)
            nothing = target_logits(full.task, full.batch, baseline(full), target)
        with torch.enable_grad():
            attributions = self.attribute(full, target, create_graph=False).detach()
        return attributions.sum((-2, -1)) - (whole - nothing)
