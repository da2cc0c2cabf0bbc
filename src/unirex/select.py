"""Scores to rationales: which tokens a budget keeps, and how gradients reach their scores."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from unirex.explanation import SELECTIONS, RationaleRule
from unirex.models.task import Pass


def budget_counts(tokens: Tensor, budget: float) -> Tensor:
    """The number of tokens a budget in per cent keeps: at least one, halves rounded to even.

    >>> budget_counts(torch.tensor([5, 10, 30, 50, 3]), 50).tolist()
    [2, 5, 15, 25, 2]
    >>> budget_counts(torch.tensor([30, 50, 10]), 5).tolist()
    [2, 2, 1]
    """
    # In double: 50 * 5 / 100 must be exactly 2.5. torch.round rounds halves to even.
    return (tokens.double() * budget / 100).round().clamp(min=1).long().minimum(tokens)


def ranks(scores: Tensor, selectable: Tensor) -> Tensor:
    """The rank of each token by score [B, T]: 0 is the highest; ties to the left; not selectable last."""
    ordered = scores.detach().masked_fill(~selectable, float("-inf")).argsort(descending=True, stable=True)
    return ordered.argsort()


def top_k(scores: Tensor, selectable: Tensor, budgets: Sequence[float]) -> Tensor:
    """The highest-scored tokens for every budget; ties go to the left. No gradient flows.

    Its twin without torch, for scores read from files, is `unirex.evaluation.records.top_k`.

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
    """The contiguous run with the highest total score, of the size each budget keeps: [K, B, T] bool.

    Runs are of selectable tokens in their order (a separator between two segments is skipped); ties go to
    the left.
    """
    masks = torch.zeros((len(budgets), *scores.shape), dtype=torch.bool, device=scores.device)
    for row in range(scores.shape[0]):
        tokens = selectable[row].nonzero().flatten()
        if not len(tokens):
            continue
        values = scores[row, tokens].detach().double()
        for index, budget in enumerate(budgets):
            size = int(budget_counts(torch.tensor(len(tokens)), budget))
            start = int(values.unfold(0, size, 1).sum(-1).argmax())
            masks[index, row, tokens[start : start + size]] = True
    return masks


def above_zero(scores: Tensor, selectable: Tensor, budgets: Sequence[float]) -> Tensor:
    """Every token scored above 0, whatever the budget: [K, B, T] bool."""
    return threshold(scores, selectable).expand(len(budgets), *scores.shape)


SELECTORS = dict(zip(SELECTIONS, (top_k, best_span, above_zero), strict=True))


def reasons(scores: Tensor, selectable: Tensor, rule: RationaleRule) -> Tensor:
    """The tokens that an explanation names [D, T] bool: those of the selector that spoke for the label."""
    selected = SELECTORS[rule.selector](scores, selectable, [rule.budget])[0]
    return selected & threshold(scores, selectable) if rule.floor else selected


@dataclass(frozen=True)
class Selector:
    """How the choice of tokens passes gradients back to their scores (spec/rationales.md#selection).

    A view runs only the tokens it shows. Straight through, each of these counts as kept with probability
    sigmoid(score / temperature): its value is unchanged, and its gradient is the first-order change of the
    loss if the token were faded towards padding. So kept tokens get their gradient from the view of the
    rationale alone, the others from the view of the text without it.

    Args:
        name: `detached`, `straight_through` or `gumbel`.
        temperature: of the sigmoid.
        explores: draw Gumbel noise now (in training).
    """

    name: str = "detached"
    temperature: float = 1.0
    explores: bool = False

    @property
    def passes_gradients(self) -> bool:
        """Whether gradients flow through the choice at present."""
        return self.name != "detached" and torch.is_grad_enabled()

    def drawn(self, scores: Tensor) -> Tensor:
        """The scores to choose by; with noise, top-k samples without replacement (Gumbel top-k trick)."""
        if not (self.name == "gumbel" and self.explores):
            return scores
        noise = -torch.empty_like(scores).exponential_().log()
        return scores + noise

    def gated(self, full: Pass, scores: Tensor, *, kept: bool) -> Tensor:
        """The texts' embeddings [D, T, H], unchanged, with the gradient of keeping (or dropping) tokens."""
        chance = (scores / self.temperature).sigmoid()
        chance = chance if kept else 1 - chance
        # Exactly 0, with a gradient: only for tokens that can be selected, as the others always stay.
        return faded(full, (chance.detach() - chance) * full.batch.selectable)


def faded(full: Pass, amount: Tensor) -> Tensor:
    """The texts' embeddings [D, T, H], each token moved towards padding: 0 not at all, 1 entirely."""
    pad = full.task.embed(full.batch.input_ids.new_tensor(full.task.encoder.config.pad_token_id or 0))
    return full.embeds - amount[..., None] * (full.embeds - pad)
