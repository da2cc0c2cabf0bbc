"""Where numbers go on paper."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

STEPS = (1, 2, 2.5, 5, 10)


@dataclass(frozen=True, slots=True)
class Axis:
    """A scale of round numbers from `first` to `last`, laid out from `low` to `high` on the paper."""

    first: float
    last: float
    step: float
    low: float
    high: float

    @classmethod
    def over(cls, values: Sequence[float], *, low: float, high: float) -> Axis:
        """The smallest round scale that holds zero and all the values."""
        bottom, top = min(0.0, *values), max(0.0, *values)
        step = _round_step((top - bottom) / 5 or 0.2)
        return cls(math.floor(bottom / step) * step, math.ceil(top / step) * step or step, step, low, high)

    def __call__(self, value: float) -> float:
        """The place of a value on the paper."""
        return self.low + (self.high - self.low) * (value - self.first) / (self.last - self.first)


def ticks(axis: Axis) -> list[tuple[float, str]]:
    """The round numbers of a scale with their labels.

    >>> [label for _, label in ticks(Axis.over([0.31, -0.04], low=0, high=1))]
    ['-0.1', '0.0', '0.1', '0.2', '0.3', '0.4']
    """
    count = round((axis.last - axis.first) / axis.step)
    decimals = max(0, -math.floor(math.log10(axis.step) + 1e-9))
    decimals += f"{axis.step:e}".startswith("2.5")
    values = [round(axis.first + i * axis.step, 9) + 0.0 for i in range(count + 1)]  # + 0.0: never -0
    return [(value, f"{value:.{decimals}f}") for value in values]


def apart(places: Sequence[float], *, gap: float, low: float, high: float) -> list[float]:
    """The places moved as little as needed for labels not to touch, inside `low` to `high` if they fit.

    >>> apart([50.0, 50.0, 10.0], gap=15, low=0, high=60)
    [45.0, 60.0, 10.0]
    """
    order = sorted(range(len(places)), key=lambda i: places[i])
    moved = [float(place) for place in places]
    for before, here in pairwise(order):
        moved[here] = max(moved[here], moved[before] + gap)
    limit = float(max(high, low + gap * (len(places) - 1)))
    for here in reversed(order):
        moved[here] = min(moved[here], limit)
        limit = moved[here] - gap
    return moved


def _round_step(rough: float) -> float:
    """The next round number: 1, 2, 2.5 or 5 times a power of ten."""
    power = 10.0 ** math.floor(math.log10(rough))
    return power * next(step for step in STEPS if step * power >= rough * (1 - 1e-9))
