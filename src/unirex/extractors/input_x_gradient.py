"""Input×Gradient: a first-order estimate of each token's share in the target logit."""

from __future__ import annotations

from torch import Tensor

from unirex.extractors.attribution import Attribution, embeddings, input_gradient
from unirex.models.task import Pass


class InputXGradient(Attribution):
    """The embedding times its gradient."""

    def attribute(self, full: Pass, target: Tensor, *, create_graph: bool) -> Tensor:
        """Embedding · dF/de, [D, T, H]."""
        embeds = embeddings(full)
        return embeds * input_gradient(full, embeds, target, create_graph=create_graph)
