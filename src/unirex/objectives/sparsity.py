"""Sparsity: select no more than asked for, in no more pieces than asked for (HardKuma)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from unirex.objectives.base import Step, Tensor, require


@dataclass(frozen=True)
class Sparsity:
    """Expected share of selected tokens, and of changes between neighbours, each above its target.

    Each is multiplied by a number that the extractor learns: it grows while the target is exceeded, so the
    targets are met whatever the scale of the other terms (spec/baselines.md#hardkuma).

    Args:
        weight: share in the total loss.
        selection: the share of tokens to select.
        transitions: changes between selected and not, per token; None: as many as it likes.
        hinge: count a target only while a batch exceeds it, as FRESH did. Without, as the original, being
            below it is rewarded and shrinks the multiplier: in a few hundred steps that ends with all tokens
            selected or none, from where no gradient leads back.
    """

    views: ClassVar[tuple[str, ...]] = ()

    weight: float = 0.0
    selection: float = 0.3  # spec/baselines.md#hardkuma, SST
    transitions: float | None = None
    hinge: bool = True  # spec/baselines.md#hardkuma (FRESH)

    def __call__(self, step: Step) -> Tensor:
        """Loss of every sequence, [D]; 0 where nothing can be selected."""
        require(step, "constrain", objective="sparsity", extractor="hard-kuma")
        violations = self.violations(step.gates.prob_open, step.batch.selectable)
        exceeded = violations.mean(0) > 0 if self.hinge else 1  # [2]
        violations = violations * exceeded
        return (violations * step.extractor.constrain(violations.mean(0))).sum(-1)

    def violations(self, selected: Tensor, selectable: Tensor) -> Tensor:
        """How far each sequence exceeds the two targets [D, 2], given the probabilities of its tokens."""
        from torch import stack

        share = selection_rate(selected, selectable) - self.selection
        changes = share * 0
        if self.transitions is not None:
            changes = transition_rate(selected, selectable) - self.transitions
        return stack([share, changes], -1) * selectable.any(-1, keepdim=True)


def selection_rate(selected: Tensor, selectable: Tensor) -> Tensor:
    """The expected share of the tokens that are selected [D].

    >>> import torch
    >>> here = torch.tensor([[False, True, True, True]])
    >>> selection_rate(torch.tensor([[0.9, 1.0, 0.5, 0.0]]), here)  # (1 + .5 + 0) / 3
    tensor([0.5000])
    """
    return (selected * selectable).sum(-1) / selectable.sum(-1).clamp(min=1)


def transition_rate(selected: Tensor, selectable: Tensor) -> Tensor:
    """The expected number of changes between neighbours, per token [D].

    >>> import torch
    >>> here = torch.tensor([[False, True, True, True]])
    >>> transition_rate(torch.tensor([[0.9, 1.0, 0.5, 0.0]]), here)  # (.5 + .5) / 3
    tensor([0.3333])
    """
    left, right = selected[:, :-1], selected[:, 1:]
    both = selectable[:, :-1] & selectable[:, 1:]
    changes = (left * (1 - right) + (1 - left) * right) * both
    return changes.sum(-1) / selectable.sum(-1).clamp(min=1)
