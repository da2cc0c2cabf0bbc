"""LIME: a linear model fitted to the logits of random parts of the text, weighted by similarity."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from unirex.errors import UserError
from unirex.extractors.masking import Surrogate


class Lime(Surrogate):
    """LIME for text (Ribeiro et al. 2016), its words being our tokens.

    Args:
        encoder_config: the encoder's configuration.
        samples: views of every text, the whole text included.
        seed: another one, other views.
        kernel_width: how fast views count less with 100 × their cosine distance to the whole text.
        ridge: the weight of the squared coefficients.
        removal: as in `Masking`.
        target: as in `Masking`.
        mask_token_id: as in `Masking`.
    """

    def __init__(
        self,
        encoder_config: Any,
        *,
        samples: int = 200,
        seed: int = 0,
        kernel_width: float = 25.0,  # of the authors' code
        ridge: float = 1.0,  # of the authors' code
        removal: str = "attention_mask",
        target: str = "logit",
        mask_token_id: int | None = None,
    ) -> None:
        answering = {"removal": removal, "target": target, "mask_token_id": mask_token_id}
        super().__init__(encoder_config, samples=samples, seed=seed, **answering)
        if not (kernel_width > 0 and ridge > 0):
            raise UserError(f"lime: kernel_width {kernel_width} and ridge {ridge} must both be above 0.")
        self.kernel_width, self.ridge = kernel_width, ridge

    def sample(self, tokens: int, generator: torch.Generator) -> tuple[Tensor, Tensor]:
        """The whole text, then views without 1 to all of its tokens, each number equally likely."""
        removed = torch.randint(1, max(tokens, 1) + 1, (self.samples - 1, 1), generator=generator)
        ranks = torch.rand(self.samples - 1, tokens, generator=generator).argsort(-1).argsort(-1)
        kept = torch.cat([torch.ones(1, tokens, dtype=torch.bool), ranks >= removed])
        return kept, proximity(kept, self.kernel_width)

    def fit(self, kept: Tensor, weights: Tensor, values: Tensor) -> Tensor:
        """Weighted ridge regression with an intercept, solved exactly."""
        return weighted_ridge(kept, weights, values, self.ridge)


def proximity(kept: Tensor, width: float) -> Tensor:
    """The weights of views [S, n]: 1 for the whole text, less with the cosine distance to it: [S].

    >>> proximity(torch.tensor([[True, True], [True, False]]), 25.0)
    tensor([1.0000, 0.5034], dtype=torch.float64)
    """
    distance = 100 * (1 - kept.double().mean(-1).sqrt())
    return (-(distance**2) / width**2).exp().sqrt()


def weighted_ridge(inputs: Tensor, weights: Tensor, values: Tensor, ridge: float) -> Tensor:
    """The coefficients [n] of a weighted ridge regression on inputs [S, n] with weights [S]."""
    share = (weights / weights.sum())[:, None]
    inputs, values = inputs - (share * inputs).sum(0), values - (share[:, 0] * values).sum()
    weighted = weights[:, None] * inputs  # [S, n]
    penalty = ridge * torch.eye(inputs.shape[1], dtype=inputs.dtype)
    return torch.linalg.solve(inputs.T @ weighted + penalty, weighted.T @ values)
