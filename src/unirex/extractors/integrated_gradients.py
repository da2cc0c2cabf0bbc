"""Integrated Gradients: each token's share in the change from an empty text to this text."""

from __future__ import annotations

from functools import cache
from typing import Any

from numpy.polynomial.legendre import leggauss
from torch import Tensor

from unirex.errors import UserError
from unirex.extractors.attribution import FromBaseline, baseline, embeddings, line_gradient
from unirex.models.task import Pass


class IntegratedGradients(FromBaseline):
    """Gradients averaged along the straight line from the baseline to the text.

    See spec/models.md#attributions.

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
        embeds, start, line = embeddings(full), baseline(full), quadrature(self.steps)
        return (embeds - start) * line_gradient(full, start, embeds, line, target, create_graph=create_graph)


@cache
def quadrature(steps: int) -> tuple[tuple[float, float], ...]:
    """Gauss-Legendre points and weights on [0, 1], as captum's default.

    >>> [(round(point, 3), round(weight, 3)) for point, weight in quadrature(2)]
    [(0.211, 0.5), (0.789, 0.5)]
    """
    points, weights = leggauss(steps)
    return tuple((float(1 + p) / 2, float(w) / 2) for p, w in zip(points, weights, strict=True))
