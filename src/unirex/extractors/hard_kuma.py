"""HardKuma: a selector whose gates are exactly 0 or 1 with some probability, and still have gradients.

Every token has a Kumaraswamy(a, b) variable on (0, 1), stretched to (-0.1, 1.1) and clamped to [0, 1]: the
mass that is stretched beyond an end becomes exactly 0 or 1 (Bastings et al. 2019,
spec/baselines.md#hardkuma).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional as F

from unirex.extractors.dual_lm import OwnEncoder
from unirex.models.heads import build_head
from unirex.models.task import Pass

LOW, HIGH = -0.1, 1.1  # spec/baselines.md#hardkuma
SMALLEST, LARGEST = 1e-6, 100.0  # of a and b, spec/baselines.md#hardkuma
MARGIN = 1e-3  # samples are not drawn from further out in the tails, spec/baselines.md#hardkuma
MULTIPLIERS = 1e-12, 5.0  # smallest and largest multiplier, spec/baselines.md#hardkuma (FRESH)


class HardKuma(OwnEncoder):
    """A selector with an encoder of its own and two numbers, a and b, for every token.

    It also holds the multipliers of the objective `sparsity`: they grow while more is selected than the
    target (and, without the objective's `hinge`, shrink while less is).

    Args:
        encoder_config: the encoder's configuration; the pretrained weights are put in when training starts.
        head: `linear` or `mlp-<width>-<layers>`.
        dropout: inside an MLP head.
        multiplier: what the multipliers start from.
        rate: how fast they change.
        decay: of the moving average they follow.
    """

    lagrange: Tensor
    average: Tensor

    def __init__(
        self,
        encoder_config: Any,
        *,
        head: str = "linear",
        dropout: float = 0.0,
        multiplier: float = 0.1,  # Paper: 1e-4, which takes thousands of steps to count for anything
        rate: float = 0.01,  # spec/baselines.md#hardkuma
        decay: float = 0.9,  # spec/baselines.md#hardkuma (FRESH); the original: 0.99
    ) -> None:
        super().__init__(encoder_config)
        self.head = build_head(head, encoder_config.hidden_size, 2, dropout=dropout)
        self.rate, self.decay = rate, decay
        self.register_buffer("lagrange", torch.full((2,), float(multiplier)))
        self.register_buffer("average", torch.zeros(2))

    def gates(self, full: Pass) -> Kuma:
        """The gates of every token of the whole texts."""
        shape = F.softplus(self.head(self.states(full)).float())  # in full precision, for powers of powers
        return Kuma(*shape.clamp(SMALLEST, LARGEST).unbind(-1))

    def forward(self, full: Pass, target: Tensor) -> Tensor:
        """Scores [D, T] from -1 to 1: above 0 where the gate is most likely open."""
        return self.gates(full).scores()

    def constrain(self, violations: Tensor) -> Tensor:
        """The multipliers [2] of the two constraints, updated by how much each is violated [2]."""
        if self.training and torch.is_grad_enabled():
            with torch.no_grad():
                self.average.lerp_(violations.to(self.average.dtype), 1 - self.decay)
                self.lagrange.mul_((self.rate * self.average).exp()).clamp_(*MULTIPLIERS)
        return self.lagrange.clone()  # a copy, as the next step changes what this graph keeps


@dataclass(frozen=True)
class Kuma:
    """The gates of every token as random variables."""

    a: Tensor  # [D, T]
    b: Tensor  # [D, T]

    @cached_property
    def prob_zero(self) -> Tensor:  # [D, T]
        """The probability that the gate is exactly 0."""
        return -torch.expm1(self._log_survival(-LOW / (HIGH - LOW)))

    @cached_property
    def prob_one(self) -> Tensor:  # [D, T]
        """The probability that the gate is exactly 1."""
        return self._log_survival((1 - LOW) / (HIGH - LOW)).exp()

    @property
    def prob_inside(self) -> Tensor:  # [D, T]
        """The probability that the gate is neither."""
        return 1 - self.prob_zero - self.prob_one

    @property
    def prob_open(self) -> Tensor:  # [D, T]
        """The probability that the gate is not 0: the token is selected."""
        return 1 - self.prob_zero

    def scores(self) -> Tensor:
        """Scores [D, T]: above 0 exactly where a gate of 0 is not the most likely of the three cases."""
        return torch.maximum(self.prob_one, self.prob_inside) - self.prob_zero

    def sample(self) -> Tensor:
        """Random gates [D, T]; where one is inside (0, 1), gradients flow to its a and b."""
        chance = torch.empty_like(self.a).uniform_(MARGIN, 1 - MARGIN)
        return self.quantile(chance)

    def quantile(self, chance: Tensor) -> Tensor:
        """The gate that is not exceeded with this probability, any shape that goes with [D, T]."""
        # (1 - (1 - u)^(1/b))^(1/a), in logarithms
        unstretched = (log1mexp(torch.log1p(-chance) / self.b) / self.a).exp()
        return (LOW + (HIGH - LOW) * unstretched).clamp(0, 1)

    def _log_survival(self, value: float) -> Tensor:
        """Log of P(unstretched > value), b log(1 - value^a)."""
        return self.b * log1mexp(self.a * math.log(value))


def log1mexp(negative: Tensor) -> Tensor:
    """log(1 - exp(x)) for x < 0, exact near both ends.

    >>> log1mexp(torch.tensor([-1e-6, -0.6931472, -30.0])).exp()  # 1 - exp(x)
    tensor([1.0000e-06, 5.0000e-01, 1.0000e+00])
    """
    middle = -math.log(2)
    near, far = negative.clamp(min=middle), negative.clamp(max=middle)  # each branch where it is finite
    return torch.where(negative > middle, torch.log(-torch.expm1(near)), torch.log1p(-torch.exp(far)))
