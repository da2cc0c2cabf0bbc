"""Which differences between methods are more than chance: paired tests over texts, corrected by Holm."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from functools import cache
from itertools import combinations
from math import comb, isnan
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from unirex.config import TEST_DRAWS
from unirex.data.example import Label, answer_labels
from unirex.metrics import performance
from unirex.metrics.arrays import Floats
from unirex.metrics.calibration import calibration_error_of, calibration_terms
from unirex.metrics.paired import PairedTest, holm, paired_tests
from unirex.metrics.paired_scores import paired_score_tests
from unirex.metrics.registry import WHOLE_SET, metric

if TYPE_CHECKING:
    from unirex.comparison.method import Method

LEVEL = 0.05


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
    pairs, number = list(combinations(methods, 2)), draws_of(draws, len(methods))
    if key in WHOLE_SET:
        results = paired_score_tests(*whole_set_score(key, methods), kind=kind, draws=number)
    else:
        values = [(a.values(key), b.values(key)) for a, b in pairs]
        results = paired_tests(values, kind=kind, draws=number)
    corrected = holm([result.p_value for result in results]).tolist() if results else []
    return [
        Difference(metric=key, first=a.name, second=b.name, corrected=p, **asdict(result))
        for (a, b), result, p in zip(pairs, results, corrected, strict=True)
    ]


def draws_of(draws: int, methods: int) -> int:
    """The number of draws for each metric: as chosen, but always enough for Holm.

    The smallest p-value of D draws is 1 / (D + 1), and Holm multiplies it by the number of pairs of methods;
    with too few draws no difference could ever be significant, and with few more, chance in the draws would
    decide the close ones.

    >>> draws_of(99, methods=8)  # 28 pairs: 28 / 11201 = 0.0025, 20 draws below 0.05
    11200
    """
    return max(draws, 400 * comb(methods, 2))


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


def whole_set_score(key: str, methods: Sequence[Method]) -> tuple[Callable[[Floats], Floats], list[Floats]]:
    """How a metric over the whole set, such as macro F1, comes from sums over texts.

    Returns the metric as a function of sums [D, seeds, K], a mean over seeds, and for each method what every
    text adds to them in each seed, [seeds, N, K]; NaN for a text without a prediction.
    """
    return _f1_score(key, methods) if key in performance.FROM_CONFUSION else _calibration_score(methods)


def _f1_score(key: str, methods: Sequence[Method]) -> tuple[Callable[[Floats], Floats], list[Floats]]:
    answers = [
        [list(zip(method.predicted(seed), method.gold, strict=True)) for seed in range(method.seeds)]
        for method in methods
    ]
    labels = _counted_labels(methods)
    keys, f1 = performance.f1_keys(labels), performance.FROM_CONFUSION[key]

    def score(totals: Floats) -> Floats:
        counts = dict(zip(keys, np.moveaxis(totals, -1, 0), strict=True))
        return np.broadcast_to(f1(counts, labels=labels), totals.shape[:-1]).mean(axis=-1)

    @cache
    def terms(predicted: Label | None, gold: Label | None) -> NDArray[Any]:
        if predicted is None or gold is None:
            return np.full(len(keys), np.nan)
        return np.array(performance.f1_terms(_as_text(predicted), _as_text(gold), labels), dtype=np.float64)

    return score, [np.array([[terms(*answer) for answer in run] for run in runs]) for runs in answers]


def _counted_labels(methods: Sequence[Method]) -> list[str]:
    """The labels that an F1 of these methods counts, as texts.

    Where no method knows those of its task: of a single one all that occur, as in its value; of several
    those that are right somewhere, since a stray answer of one is no class that the others could miss.
    """
    known = next((method.labels for method in methods if method.labels), None)
    if known is not None:
        return list(map(str, known))
    if len(methods) == 1:
        return list(map(str, performance.counted_labels(methods[0].confusion)))
    gold = {(label, label): 1 for method in methods for label in method.gold if label is not None}
    return list(map(str, performance.counted_labels(gold)))


def _as_text(answer: Label) -> tuple[str, ...]:
    """An answer as a set of texts: other tools may write the label 1 as "1"."""
    return tuple(map(str, answer_labels(answer)))


def _calibration_score(methods: Sequence[Method]) -> tuple[Callable[[Floats], Floats], list[Floats]]:
    terms = [
        np.stack(list(map(calibration_terms, method.confidences, method.values("accuracy"))))
        for method in methods
    ]
    return lambda totals: calibration_error_of(totals).mean(axis=-1), terms
