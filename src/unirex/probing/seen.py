"""A batch under questions: what every probe needs of it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import torch
from torch import Tensor

from unirex.batch import Encoded
from unirex.data.example import Example
from unirex.records import Distributions
from unirex.select import ranks
from unirex.step import Step

GROUP = 1 << 21  # tokens of views laid out at once, whether they are run or equal to others

Found = dict[str, Any]  # some fields of `Probes`


@dataclass(frozen=True)
class Seen:
    """The batch as a system sees it, with the texts and the tokens it was made of."""

    step: Step
    examples: Sequence[Example]
    encoded: Sequence[Encoded]

    @property
    def choice(self) -> bool:
        """Whether an example has several sequences."""
        return self.step.batch.example is not None

    @cached_property
    def tokens(self) -> Tensor:  # [D]
        """How many tokens of every sequence can be selected."""
        return self.step.batch.selectable.sum(-1)

    @cached_property
    def rank(self) -> Tensor:  # [D, T]
        """Places by score."""
        return ranks(self.step.scores, self.step.batch.selectable)

    @cached_property
    def full(self) -> list[float]:  # [B]
        """p(target) of the whole texts."""
        found: list[float] = self.of_target(distributions(self.step.logits[None]))[0].tolist()
        return found

    def of_target(self, found: Tensor) -> Tensor:
        """p(target) [V, B] of distributions [V, B, C]."""
        return found.gather(-1, self.step.target.expand(found.shape[:-1])[..., None]).squeeze(-1)

    def told(self, found: Tensor) -> Iterator[Distributions]:
        """Distributions [V, B, C] of every example by itself, over the choices it has."""
        for one, rows in zip(self.encoded, found.transpose(0, 1).tolist(), strict=True):
            count = len(one.sequences) if one.choice else None
            yield tuple(tuple(row[:count]) for row in rows)


def views(step: Step, count: int, keep: Callable[[Tensor], Tensor]) -> Tensor:
    """The distributions [V, B, C] of so many views; `keep` lays out those of some numbers, [v, D, T]."""
    batch, full = step.batch, step.full.logits
    if not count:
        return full.new_zeros(0, *full.shape)
    numbers = torch.arange(count, device=full.device).split(max(1, GROUP // batch.input_ids.numel()))
    logits = torch.cat([step.perturber.logits(step.full, keep(some)) for some in numbers])  # [V, D, C]
    return distributions(step.full.task.answer(batch, logits))


def distributions(logits: Tensor) -> Tensor:
    """Probabilities, whatever precision the logits were computed in."""
    return logits.float().softmax(-1)
