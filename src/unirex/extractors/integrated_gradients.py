"""Integrated Gradients: each token's share in the way from a text that says nothing to this text."""

from __future__ import annotations

from functools import cache
from typing import Any

import torch
from numpy.polynomial.legendre import leggauss
from torch import Tensor

from unirex.errors import UserError
from unirex.extractors.attribution import Attribution, baseline, embeddings, target_logits
from unirex.models.task import Pass, pad_right, read_lengths
from unirex.plan import device_limits, plan


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
        """Points of the lines of all texts run together, sorted by length like any other rows."""
        if not create_graph:  # constants: the line need not be tied to the embedding matrix
            embeds, start = embeds.detach(), start.detach()
        points, weights = torch.tensor(quadrature(self.steps), dtype=embeds.dtype, device=embeds.device).T
        texts = torch.arange(len(target), device=target.device).repeat(self.steps)  # [S*D]
        points, weights = (one.repeat_interleave(len(target)) for one in (points, weights))
        lengths = read_lengths(full.task.encoder, full.batch)[texts]
        total = torch.zeros_like(embeds)
        for rows, width in plan(lengths, device_limits(full.task.encoder)).chunks:
            owner = texts[rows]
            here, there = start[:, :width].index_select(0, owner), embeds[:, :width].index_select(0, owner)
            path = here + points[rows, None, None] * (there - here)  # [R, W, H]
            path = path if path.requires_grad else path.requires_grad_()
            logits = target_logits(full.task, full.batch.rows(owner, width), path, target[owner])
            gradients = torch.autograd.grad(logits.sum(), path, create_graph=create_graph)[0]
            weighted = weights[rows, None, None] * gradients
            total = total.index_add(0, owner, pad_right(weighted, total.shape[1]))
        return total

    def convergence_delta(self, full: Pass, target: Tensor) -> Tensor:
        """How far the scores are from summing up to F(x) - F(baseline): [B], 0 is exact."""
        target = full.text_target(target)
        with torch.no_grad():
            whole = target_logits(full.task, full.batch, embeddings(full), target)
            nothing = target_logits(full.task, full.batch, baseline(full), target)
        with torch.enable_grad():
            attributions = self.attribute(full, target, create_graph=False).detach()
        return attributions.sum((-2, -1)) - (whole - nothing)
