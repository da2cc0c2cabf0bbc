"""Scores to rationales: which tokens are kept for a budget."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor


def budget_counts(tokens: Tensor, budget: float) -> Tensor:
    """How many of so many tokens a budget in per cent buys: at least one, half-way cases to the even.

    >>> budget_counts(torch.tensor([5, 10, 30, 50, 3]), 50).tolist()
    [2, 5, 15, 25, 2]
    >>> budget_counts(torch.tensor([30, 50, 10]), 5).tolist()
    [2, 2, 1]
    """
    # In double: 50 * 5 / 100 must be 2.5 exactly. torch.round takes halves to the even number.
    return (tokens.double() * budget / 100).round().clamp(min=1).long().minimum(tokens)


def ranks(scores: Tensor, selectable: Tensor) -> Tensor:
    """Places by score [B, T]: 0 is the highest, of equals the leftmost; what cannot be selected is last."""
    ordered = scores.detach().masked_fill(~selectable, float("-inf")).argsort(descending=True, stable=True)
    return ordered.argsort()


def top_k(scores: Tensor, selectable: Tensor, budgets: Sequence[float]) -> Tensor:
    """The highest-scored tokens for every budget; of equals the leftmost. No gradient flows.

    Args:
        scores: [B, T].
        selectable: [B, T] bool; other tokens are never selected.
        budgets: per cent of the selectable tokens.

    Returns:
        [K, B, T] bool.
    """
    tokens = selectable.sum(-1)
    counts = torch.stack([budget_counts(tokens, budget) for budget in budgets])  # [K, B]
    return (ranks(scores, selectable) < counts[..., None]) & selectable


def threshold(scores: Tensor, selectable: Tensor, *, above: float = 0.0) -> Tensor:
    """Every token scored strictly above a value: [B, T] bool. For logits, 0 is "more likely than not"."""
    return (scores.detach() > above) & selectable


def best_span(scores: Tensor, selectable: Tensor, budgets: Sequence[float]) -> Tensor:
    """The contiguous run with the highest total score, as long as each budget buys: [K, B, T] bool.

    Runs lie within the selectable tokens in their order (a separator between two segments is skipped);
    of equals the leftmost.
    """
    masks = torch.zeros((len(budgets), *scores.shape), dtype=torch.bool, device=scores.device)
    for row in range(scores.shape[0]):
        places = selectable[row].nonzero().flatten()
        if not len(places):
            continue
        values = scores[row, places].detach().double()
        for index, budget in enumerate(budgets):
            size = int(budget_counts(torch.tensor(len(places)), budget))
            start = int(values.unfold(0, size, 1).sum(-1).argmax())
            masks[index, row, places[start : start + size]] = True
    return masks


def above_zero(scores: Tensor, selectable: Tensor, budgets: Sequence[float]) -> Tensor:
    """Every token scored above 0, whatever the budget: [K, B, T] bool."""
    return threshold(scores, selectable).expand(len(budgets), *scores.shape)


SELECTORS = {"top-k": top_k, "best-span": best_span, "threshold": above_zero}
