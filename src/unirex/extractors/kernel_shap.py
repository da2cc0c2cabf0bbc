"""KernelSHAP: Shapley values of the tokens, by a regression on the answers to parts of the text."""

from __future__ import annotations

from itertools import combinations
from math import comb
from typing import Any

import torch
from torch import Tensor

from unirex.extractors.masking import Surrogate
from unirex.models.task import Pass
from unirex.perturb import Removal

EXACT = 8  # up to so many tokens every part of the text is asked for


class KernelShap(Surrogate):
    """KernelSHAP (Lundberg & Lee 2017); the scores add up to F(x) - F(nothing but special tokens).

    Of a text with few tokens every part is run and the values are exact. Of longer ones chance chooses parts,
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
        removal: Removal = "attention_mask",
        target: str = "logit",
        mask_token_id: int | None = None,
    ) -> None:
        answering = {"removal": removal, "target": target, "mask_token_id": mask_token_id}
        super().__init__(encoder_config, samples=samples, seed=seed, **answering)

    def sample(self, tokens: int, chance: torch.Generator) -> tuple[Tensor, Tensor]:
        """The whole text, the empty one, then parts of it with their share of Shapley's kernel."""
        kept, weights = coalitions(tokens, self.samples, chance)
        ends = torch.tensor([[True], [False]]).expand(2, tokens)
        return torch.cat([ends, kept]), torch.cat([torch.zeros(2, dtype=torch.float64), weights])

    def fit(self, kept: Tensor, weights: Tensor, values: Tensor) -> Tensor:
        """Least squares among the coefficients that add up to F(x) - F(nothing)."""
        nothing, total = values[1], values[0] - values[1]
        even = kept[2:].mean(-1)  # [S]  what a part gets if all tokens are worth the same
        # Without their mean the inputs see only differences from that, so that the sum cannot change; where
        # there are fewer parts than tokens, of all solutions this is the one with the smallest differences.
        inputs, rest = kept[2:] - even[:, None], values[2:] - nothing - even * total
        root = weights[2:, None].sqrt()
        found = torch.linalg.lstsq(root * inputs, root * rest[:, None], rcond=1e-10, driver="gelsd")
        differences = found.solution[:, 0] if len(inputs) else 0.0
        return differences + total / kept.shape[1]

    def convergence_delta(self, full: Pass, target: Tensor, scores: Tensor | None = None) -> Tensor:
        """How far the scores are from summing up to F(x) - F(nothing): [D], 0 but for rounding."""
        scores = self(full, target) if scores is None else scores
        chosen = full.text_target(target)
        with torch.no_grad():
            nothing = self.values(full, chosen, torch.zeros_like(full.batch.selectable)[None])[0]
            return scores.sum(-1) - (self.explained(full, chosen, full.text_logits) - nothing)


def coalitions(tokens: int, samples: int, chance: torch.Generator) -> tuple[Tensor, Tensor]:
    """Parts of a text [S, n], neither empty nor whole, and their weights [S] in the regression."""
    outer = complete_sizes(tokens, samples)
    groups = [(share(tokens, size), all_parts(tokens, size)) for size in outer]
    middle = [size for size in range(1, tokens) if size not in outer]
    if middle:
        pairs = -(-(samples - sum(len(parts) for _, parts in groups)) // 2)
        shares = [share(tokens, size) for size in middle]
        groups.append((sum(shares), drawn_parts(tokens, middle, shares, pairs, chance)))
    kept = [torch.zeros(0, tokens, dtype=torch.bool), *(parts for _, parts in groups)]
    weights = [total / len(parts) for total, parts in groups for _ in range(len(parts))]
    return torch.cat(kept), torch.tensor(weights, dtype=torch.float64)


def share(tokens: int, size: int) -> float:
    """Shapley's kernel summed over all parts of a size."""
    return (tokens - 1) / (size * (tokens - size))


def complete_sizes(tokens: int, samples: int) -> list[int]:
    """The sizes of which every part is run: all if they fit, else from 1 and n - 1 inwards.

    A size and its counterpart are run completely while as many of their parts would be expected by chance.

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
    """Every choice of so many tokens: [S, n] bool."""
    chosen = torch.tensor(list(combinations(range(tokens), size)))
    return torch.zeros(len(chosen), tokens, dtype=torch.bool).scatter(1, chosen, True)


def drawn_parts(
    tokens: int, sizes: list[int], shares: list[float], pairs: int, chance: torch.Generator
) -> Tensor:
    """So many random parts of these sizes, as likely as their shares, with complements: [2 · pairs, n]."""
    drawn = torch.multinomial(torch.tensor(shares), pairs, replacement=True, generator=chance)
    places = torch.rand(pairs, tokens, generator=chance).argsort(-1).argsort(-1)
    part = places < torch.tensor(sizes)[drawn, None]
    return torch.cat([part, ~part])
