"""One batch seen by one system: everything an objective may ask about it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property

import torch
from torch import Tensor
from torch.nn import functional as F

from unirex.batch import Batch
from unirex.models.task import Pass
from unirex.perturb import Perturber
from unirex.select import top_k


@dataclass(frozen=True)
class Step:
    """Each view is computed once, by whoever asks first; what nobody asks for is never run."""

    full: Pass
    target: Tensor  # [B]  gold labels in training, predictions in evaluation
    extractor: Callable[[Pass, Tensor], Tensor]
    perturber: Perturber
    budgets: Sequence[float]
    class_weights: Tensor | None = None  # [C]
    views: Sequence[str] = ("kept", "dropped")  # those sure to be asked for are run together

    @property
    def batch(self) -> Batch:
        """The whole texts."""
        return self.full.batch

    @cached_property
    def scores(self) -> Tensor:  # [D, T]
        """How much each token matters; 0 at padding."""
        return self.extractor(self.full, self.target) * self.batch.attention_mask

    @cached_property
    def masks(self) -> Tensor:  # [K, D, T]
        """One rationale per budget. No gradient flows through the choice."""
        return top_k(self.scores, self.batch.selectable, self.budgets)

    @cached_property
    def kept_logits(self) -> Tensor:  # [K, B, C]
        """The prediction from the rationale alone."""
        return self._view("kept")

    @cached_property
    def dropped_logits(self) -> Tensor:  # [K, B, C]
        """The prediction from the text without its rationale."""
        return self._view("dropped")

    def _view(self, name: str) -> Tensor:
        return self._planned[name] if name in self.views else self._run([name])[name]

    @cached_property
    def _planned(self) -> dict[str, Tensor]:
        return self._run(self.views)

    def _run(self, names: Sequence[str]) -> dict[str, Tensor]:  # [K, B, C] each
        masks = {"kept": self.masks, "dropped": ~self.masks}
        logits = self.perturber.logits(self.full, torch.cat([masks[name] for name in names]))
        return dict(zip(names, self.full.task.answer(self.batch, logits).chunk(len(names)), strict=True))

    @cached_property
    def full_loss(self) -> Tensor:  # [B]
        """Cross-entropy of the whole text."""
        return self.cross_entropy(self.full.logits)

    @cached_property
    def kept_loss(self) -> Tensor:  # [K, B]
        """Cross-entropy of the rationale alone."""
        return self.cross_entropy(self.kept_logits)

    @cached_property
    def dropped_loss(self) -> Tensor:  # [K, B]
        """Cross-entropy of the text without its rationale."""
        return self.cross_entropy(self.dropped_logits)

    def cross_entropy(self, logits: Tensor) -> Tensor:
        """Cross-entropy against the target, weighted by class in every term alike (SPEC A11 D-9)."""
        target = self.target.expand(logits.shape[:-1])
        losses = F.cross_entropy(
            logits.flatten(0, -2), target.flatten(), weight=self.class_weights, reduction="none"
        )
        return losses.view(logits.shape[:-1])
