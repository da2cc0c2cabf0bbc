"""Which differences between methods are more than the luck of these texts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from math import isnan
from typing import Literal

import numpy as np

from unirex.comparison.method import COUNTED, Method, known_to_both, statistic_of
from unirex.metrics.paired import PairedResult, holm, paired_statistic_test, paired_test
from unirex.report.table import describe

LEVEL = 0.05
DRAWS = 5000
SLOW_DRAWS = 1000  # of numbers that are no mean: each draw counts everything again
Kind = Literal["randomisation", "bootstrap"]


@dataclass(frozen=True, slots=True)
class Difference:
    """How much higher one method is than another on a metric, and how likely chance alone gives as much."""

    metric: str
    first: str
    second: str
    difference: float
    low: float  # 95 % interval over examples
    high: float
    p_value: float
    corrected: float  # by Holm, over all pairs of methods on this metric
    pairs: int  # examples both have a value for

    @property
    def significant(self) -> bool:
        """Whether chance is ruled out at 5 %."""
        return self.corrected < LEVEL

    def other(self, name: str) -> str:
        """Whom a method is held against."""
        return self.second if name == self.first else self.first

    def lead_of(self, name: str) -> float:
        """How much higher this method is than the other; 0 if it is neither of the two."""
        return {self.first: self.difference, self.second: -self.difference}.get(name, 0.0)


def enough(methods: int) -> int:
    """So many draws that the correction for all pairs leaves a difference to be found.

    The smallest p-value of D draws is 1 / (D + 1), and Holm multiplies it by the number of pairs.

    >>> enough(8)  # 28 pairs: 28 / 1121 = 0.025
    1120
    """
    return 40 * (methods * (methods - 1) // 2)


def draws_of(key: str, asked: int, methods: int) -> int:
    """How often a metric is drawn: as asked, if that is enough; F1 and ECE no more than is bearable."""
    return max(min(asked, SLOW_DRAWS) if key in COUNTED else asked, enough(methods))


def differences(
    methods: Sequence[Method], key: str, *, kind: Kind = "randomisation", draws: int = DRAWS, seed: int = 0
) -> list[Difference]:
    """Every two methods on one metric, corrected for how many pairs there are."""
    pairs, drawn = list(combinations(methods, 2)), draws_of(key, draws, len(methods))
    found = [_tested(one, other, key, kind=kind, draws=drawn, seed=seed) for one, other in pairs]
    corrected = holm([result.p_value for result in found]).tolist() if found else []
    return [
        Difference(key, a.name, b.name, one.difference, one.low, one.high, one.p_value, p, one.pairs)
        for (a, b), one, p in zip(pairs, found, corrected, strict=True)
    ]


def _tested(one: Method, other: Method, key: str, *, kind: Kind, draws: int, seed: int) -> PairedResult:
    """Means are tested as such; of other numbers the outputs change sides, and the number is taken anew."""
    statistic = statistic_of(one, other, key)
    if statistic is None:
        return paired_test(one.values(key), other.values(key), kind=kind, draws=draws, seed=seed)
    known = known_to_both(one, other, key)
    sides = np.arange(2)[:, None].repeat(len(known), axis=1)  # whose output counts: [2, N]
    return paired_statistic_test(
        lambda side, rows: statistic(side, known[rows]), *sides, kind=kind, draws=draws, seed=seed
    )


def best(methods: Sequence[Method], key: str, found: Sequence[Difference]) -> set[str]:
    """The methods that deserve bold: the best, and all that are not told apart from it.

    Nobody does where no method is significantly worse than the best, or where nobody knows which way is good.
    A test is over the examples that both methods have a value for, means may be over others; where the two do
    not point the same way, the methods are not told apart.
    """
    known = {one.name: one.value(key) for one in methods if not isnan(one.value(key))}
    about = describe(key)
    if about is None or len(known) < 2:
        return set()
    top = (max if about.direction == "higher" else min)(known, key=known.__getitem__)
    sign = 1 if about.direction == "higher" else -1
    worse = {one.other(top) for one in found if one.significant and sign * one.lead_of(top) > 0}
    return set(known) - worse if worse else set()
