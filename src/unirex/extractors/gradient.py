"""Gradient (saliency): how steeply the target logit reacts to each token."""

from __future__ import annotations

from torch import Tensor

from unirex.extractors.attribution import Attribution, embeddings, input_gradient
from unirex.models.task import Pass


class Gradient(Attribution):
    """The absolute gradient, so its scores are never negative.

    See spec/models.md#attributions. With signs, the sum over dimensions would be 0 wherever a layer norm
    follows the embeddings, as that subtracts the mean over dimensions.
    """

    @property
    def signed(self) -> bool:
        """Never: a steep logit speaks neither for nor against it."""
        return False

    def attribute(self, full: Pass, target: Tensor, *, create_graph: bool) -> Tensor:
        """|dF/de|, [D, T, H]."""
        return input_gradient(full, embeddings(full), target, create_graph=create_graph).abs()
