"""Time measured side by side: cases in turn, their order shuffled, ratios taken within each repetition."""

from __future__ import annotations

import gc
import random
import statistics
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Spread:
    """The middle of some measurements and the quartiles around it."""

    low: float
    median: float
    high: float

    @classmethod
    def of(cls, values: Sequence[float]) -> Spread:
        """Median and quartiles; a single value is all three.

        >>> Spread.of([4.0, 1.0, 2.0, 3.0, 5.0])
        Spread(low=2.0, median=3.0, high=4.0)
        """
        if len(values) < 2:
            return cls(values[0], values[0], values[0])
        low, median, high = statistics.quantiles(values, n=4, method="inclusive")
        return cls(low, median, high)


@dataclass(frozen=True, slots=True)
class Timing:
    """Seconds of one case, one for each repetition."""

    seconds: tuple[float, ...]

    @property
    def spread(self) -> Spread:
        """Median and quartiles of the seconds."""
        return Spread.of(self.seconds)

    def over(self, base: Timing) -> Spread:
        """How often the base fits into this: ratios of the same repetition, as both met the same noise.

        >>> Timing((2.0, 8.0, 3.0)).over(Timing((1.0, 2.0, 1.0))).median
        3.0
        """
        return Spread.of([one / other for one, other in zip(self.seconds, base.seconds, strict=True)])

    def per(self, number: int) -> Timing:
        """The seconds for one of so many things."""
        return Timing(tuple(seconds / number for seconds in self.seconds))


def interleaved(
    cases: Mapping[str, Callable[[], Any]], repetitions: int, *, warmup: int = 1, seed: int = 0
) -> dict[str, Timing]:
    """Seconds of every case. All are run once a repetition, in an order drawn anew each time.

    So whatever else the machine does hits all cases alike, and none always runs after the same other. The
    first rounds only warm up. A case that goes through inputs must do so in step with the others: it is
    called equally often.
    """
    order, chance = list(cases), random.Random(seed)
    found: dict[str, list[float]] = {name: [] for name in cases}
    for repetition in range(-warmup, repetitions):
        chance.shuffle(order)
        gc.collect()  # what one round left behind is no burden for the next
        for name in order:
            seconds = timed(cases[name])
            if repetition >= 0:
                found[name].append(seconds)
    return {name: Timing(tuple(seconds)) for name, seconds in found.items()}


def timed(case: Callable[[], Any]) -> float:
    """Seconds of one call."""
    begin = time.perf_counter()
    case()
    return time.perf_counter() - begin
