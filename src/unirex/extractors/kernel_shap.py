"""KernelSHAP: Shapley values of the tokens, by a regression on the logits of parts of the text."""

from __future__ import annotations

from itertools import combinations
from math import comb
from typing import Any

import torch
from torch import Tensor

from unirex.extractors.masking import Surrogate
from unirex.models.task import Pass

EXACT = 8  # up to this many tokens, every part of the text is run


class KernelShap(Surrogate):
    """KernelSHAP (Lundberg & Lee 2017); the scores add up to F(x) - F(nothing but special tokens).

    For a text with few tokens every part is run and the values are exact. For longer ones parts are drawn,
    each with its complement; single tokens, and all but one, come first.

    Args:
        encoder_config: the encoder's configuration.
        samples: parts of every text that are run, beside the whole and the empty text.
        seed: another one, other parts.
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
        removal: str = "attention_mask",
        target: str = "logit",
        mask_token_id: int | None = None,
    ) -> None:
        answering = {"removal": removal, "target": target, "mask_token_id": mask_token_id}
        super().__init__(encoder_config, samples=samples, seed=seed, **answering)

    def sample(self, tokens: int, generator: torch.Generator) -> tuple[Tensor, Tensor]:
        """The whole text, the empty one, then parts of it with their share of Shapley's kernel."""
        kept, weights = coalitions(tokens, self.samples, generator)
        ends = torch.tensor([[True], [False]]).expand(2, tokens)
        return torch.cat([ends, kept]), torch.cat([torch.zeros(2, dtype=torch.float64), weights])

    def fit(self, kept: Tensor, weights: Tensor, values: Tensor) -> Tensor:
        """Least squares among the coefficients that add up to F(x) - F(nothing)."""
        empty, total = values[1], values[0] - values[1]
        even = kept[2:].mean(-1)  # [S]  the share of a part if all tokens have the same value
        # Centred inputs fit only deviations from equal values, so that the sum cannot change; with fewer
        # parts than tokens, gelsd gives the solution with the smallest deviations.
        inputs, rest = kept[2:] - even[:, None], values[2:] - empty - even * total
        root = weights[2:, None].sqrt()
        fitted = torch.linalg.lstsq(root * inputs, root * rest[:, None], rcond=1e-10, driver="gelsd")
        differences = fitted.solution[:, 0] if len(inputs) else 0.0
        return differences + total / kept.shape[1]

    def convergence_delta(self, full: Pass, target: Tensor, scores: Tensor | None = None) -> Tensor:
        """The sum of the scores minus F(x) - F(nothing): [D], 0 up to rounding."""
        scores = self(full, target) if scores is None else scores
        chosen = full.text_target(target)
        with torch.no_grad():
            empty = self.values(full, chosen, torch.zeros_like(full.batch.selectable)[None])[0]
            return scores.sum(-1) - (self.explained(full, chosen, full.text_logits) - empty)


def coalitions(tokens: int, samples: int, generator: torch.Generator) -> tuple[Tensor, Tensor]:
    """Parts of a text [S, n], neither empty nor whole, and their weights [S] in the regression."""
    outer = complete_sizes(tokens, samples)
    groups = [(share(tokens, size), all_parts(tokens, size)) for size in outer]
    middle = [size for size in range(1, tokens) if size not in outer]
    if middle:
        pairs = -(-(samples - sum(len(parts) for _, parts in groups)) // 2)
        shares = [share(tokens, size) for size in middle]
        groups.append((sum(shares), drawn_parts(tokens, middle, shares, pairs, generator)))
    kept = [torch.zeros(0, tokens, dtype=torch.bool), *(parts for _, parts in groups)]
    weights = [total / len(parts) for total, parts in groups for _ in range(len(parts))]
    return torch.cat(kept), torch.tensor(weights, dtype=torch.float64)


def share(tokens: int, size: int) -> float:
    """Shapley's kernel summed over all parts of a size."""
    return (tokens - 1) / (size * (tokens - size))


def complete_sizes(tokens: int, samples: int) -> list[int]:
    """The sizes of which every part is run: all if they fit, else from 1 and n - 1 inwards.

    A size and its counterpart are run completely while random draws would give as many of their parts.

    >>> complete_sizes(4, 200), complete_sizes(13, 200), complete_sizes(300, 200)
    ([1, 2, 3], [1, 12], [])
    """
    if tokens <= EXACT or 2**tokens - 2 <= samples:
        return list(range(1, tokens))
    sizes: list[int] = []
    for small in range(1, tokens // 2 + 1):
        both = sorted({small, tokens - small})
        count = len(both) * comb(tokens, small)
        between = sum(share(tokens, size) for size in range(small, tokens - small + 1))
        if samples * sum(share(tokens, size) for size in both) < count * between:
            break
        sizes += both
        samples -= count
    return sizes


def all_parts(tokens: int, size: int) -> Tensor:
    """Every subset of `size` tokens: [S, n] bool."""
    chosen = torch.tensor(list(combinations(range(tokens), size)))
    return torch.zeros(len(chosen), tokens, dtype=torch.bool).scatter(1, chosen, True)


def drawn_parts(
    tokens: int, sizes: list[int], shares: list[float], pairs: int, generator: torch.Generator
) -> Tensor:
    """Random parts of these sizes, drawn in proportion to their shares, and complements: [2 · pairs, n]."""
    drawn = torch.multinomial(torch.tensor(shares), pairs, replacement=True, generator=generator)
    ranks = torch.rand(pairs, tokens, generator=generator).argsort(-1).argsort(-1)
    part = ranks < torch.tensor(sizes)[drawn, None]
    return torch.cat([part, ~part])
