"""Which differences between methods are more than chance: paired tests over texts, corrected by Holm."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import asdict, dataclass
from itertools import combinations
from math import comb, isnan, lcm
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from unirex.config import TEST_DRAWS
from unirex.data.example import Label
from unirex.metrics import performance
from unirex.metrics.arrays import Ints
from unirex.metrics.calibration import expected_calibration_error
from unirex.metrics.paired import (
    PairedResult,
    PairedStatistic,
    PairedTest,
    holm,
    paired_statistic_test,
    paired_tests,
)
from unirex.metrics.registry import WHOLE_SET, metric

if TYPE_CHECKING:
    from unirex.comparison.method import Method

LEVEL = 0.05
SLOW_DRAWS = 1000  # of metrics over the whole set, which each draw computes anew


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
        """The method that a method is compared with."""
        return self.second if name == self.first else self.first

    def lead_of(self, name: str) -> float:
        """How much higher this method is than the other; 0 if it is neither of the two."""
        return {self.first: self.difference, self.second: -self.difference}.get(name, 0.0)


def differences(
    methods: Sequence[Method], key: str, *, kind: PairedTest, draws: int = TEST_DRAWS
) -> list[Difference]:
    """Every two methods on one metric, corrected for the number of pairs."""
    pairs, number = list(combinations(methods, 2)), draws_of(key, draws, len(methods))
    if key in WHOLE_SET:
        results = [_whole_set_result(a, b, key, kind=kind, draws=number) for a, b in pairs]
    else:
        values = [(a.values(key), b.values(key)) for a, b in pairs]
        results = paired_tests(values, kind=kind, draws=number)
    corrected = holm([result.p_value for result in results]).tolist() if results else []
    return [
        Difference(metric=key, first=a.name, second=b.name, corrected=p, **asdict(result))
        for (a, b), result, p in zip(pairs, results, corrected, strict=True)
    ]


def draws_of(key: str, draws: int, methods: int) -> int:
    """The number of draws for a metric: as chosen, fewer if it is slow, but always enough for Holm.

    The smallest p-value of D draws is 1 / (D + 1), and Holm multiplies it by the number of pairs of methods;
    with too few draws no difference could ever be significant, and with few more, chance in the draws would
    decide the close ones.

    >>> draws_of("csd", 99, methods=8)  # 28 pairs: 28 / 11201 = 0.0025, 20 draws below 0.05
    11200
    >>> draws_of("ece", 99, methods=8)  # 28 / 1121 = 0.025
    1120
    """
    slow, pairs = key in WHOLE_SET, comb(methods, 2)
    return max(min(draws, SLOW_DRAWS), 40 * pairs) if slow else max(draws, 400 * pairs)


def best(methods: Sequence[Method], key: str, tests: Sequence[Difference]) -> set[str]:
    """The methods in bold: the best, and all that are not significantly worse; none if no method is worse.

    A test is over the examples for which both methods have a value, means may be over others; where the two
    do not point the same way, the methods are not distinguished.
    """
    values = {method.name: method.value(key) for method in methods if not isnan(method.value(key))}
    if len(values) < 2:
        return set()
    sign = 1 if metric(key).direction == "higher" else -1
    top = max(values, key=lambda name: sign * values[name])
    worse = {test.other(top) for test in tests if test.significant and sign * test.lead_of(top) > 0}
    return set(values) - worse if worse else set()


def _whole_set_result(a: Method, b: Method, key: str, *, kind: PairedTest, draws: int) -> PairedResult:
    """Swap the outputs of two methods and compute the metric anew."""
    statistic = whole_set_statistic(a, b, key)
    answered = np.ones(len(a.gold), dtype=bool)  # by both in every seed, with a confidence if it counts
    for method in (a, b):
        answered &= ~np.isnan(method.values("accuracy")).any(axis=0)
        if key == "ece":
            answered &= ~np.isnan(method.confidences).any(axis=0)
    numbers = np.flatnonzero(answered)
    sides = np.arange(2)[:, None].repeat(len(numbers), axis=1)  # [2, N]: all outputs of a, all of b
    return paired_statistic_test(
        lambda side, rows: statistic(side, numbers[rows]), *sides, kind=kind, draws=draws
    )


def whole_set_statistic(a: Method, b: Method, key: str) -> PairedStatistic:
    """A metric over the whole set of two methods mixed example by example.

    The statistic takes, for each example, whose output counts (0: that of `a`, 1: that of `b`), and the
    numbers of the examples. It is the mean over seeds.
    """
    return _f1_statistic(a, b, key) if key in performance.FROM_CONFUSION else _calibration_statistic(a, b)


def _f1_statistic(a: Method, b: Method, key: str) -> PairedStatistic:
    # Each (prediction, label) pair gets a code, so that a draw only has to count codes.
    codes_of: dict[tuple[Label | None, Label | None], int] = {}
    codes = _same_seeds(_outcome_codes(a, a.gold, codes_of), _outcome_codes(b, a.gold, codes_of))
    f1 = performance.FROM_CONFUSION[key]

    def confusion(column: Ints) -> dict[tuple[Hashable, Hashable], int]:
        times = np.bincount(column, minlength=len(codes_of)).tolist()
        return {pair: n for pair, n in zip(codes_of, times, strict=True) if None not in pair}

    def statistic(side: NDArray[Any], rows: Ints) -> float:
        chosen = codes[side, :, rows]  # [rows, seeds]
        return float(np.mean([f1(confusion(column), labels=a.labels) for column in chosen.T]))

    return statistic


def _outcome_codes(method: Method, gold: Sequence[Label | None], codes_of: dict[Any, int]) -> Ints:
    """The code of each run's (prediction, label) for each example, [seeds, N]; new pairs get new codes."""
    runs = [zip(method.predicted(seed), gold, strict=True) for seed in range(method.seeds)]
    return np.array([[codes_of.setdefault(pair, len(codes_of)) for pair in run] for run in runs], np.int64)


def _calibration_statistic(a: Method, b: Method) -> PairedStatistic:
    confidence = _same_seeds(a.confidences, b.confidences)  # [2, seeds, N]
    correct = _same_seeds(a.values("accuracy"), b.values("accuracy"))

    def statistic(side: NDArray[Any], rows: Ints) -> float:
        errors = []
        for sure, right in zip(confidence[side, :, rows].T, correct[side, :, rows].T, strict=True):
            known = ~np.isnan(sure) & ~np.isnan(right)
            errors.append(expected_calibration_error(sure[known], right[known]))
        return float(np.mean(errors))

    return statistic


def _same_seeds(a: NDArray[Any], b: NDArray[Any]) -> NDArray[Any]:
    """Both methods with as many seeds, [2, seeds, N]: repeating all seeds leaves their mean as it is."""
    seeds = lcm(len(a), len(b))
    return np.stack([np.tile(rows, (seeds // len(rows), 1)) for rows in (a, b)])
