"""Gradient (saliency): how steeply the target logit reacts to each token."""

from __future__ import annotations

from typing import Any

from torch import Tensor

from unirex.extractors.attribution import Attribution, embeddings, input_gradient
from unirex.models.task import Pass


class Gradient(Attribution):
    """The gradient by itself: by default its absolute value, so that no score is negative (SPEC A5).

    Args:
        encoder_config: the encoder's configuration.
        signed: keep the signs of the gradient, as saliency-guided training does (SPEC C4).
        pooling: as in `Attribution`.
        create_graph: as in `Attribution`.
    """

    def __init__(
        self,
        encoder_config: Any,
        *,
        signed: bool = False,
        pooling: str = "sum",
        create_graph: bool = False,
    ) -> None:
        super().__init__(encoder_config, pooling=pooling, create_graph=create_graph)
        self.signed = signed

    def attribute(self, full: Pass, target: Tensor, *, create_graph: bool) -> Tensor:
        """|dF/de| or dF/de, [D, T, H]."""
        gradient = input_gradient(full, embeddings(full), target, create_graph=create_graph)
        return gradient if self.signed else gradient.abs()
