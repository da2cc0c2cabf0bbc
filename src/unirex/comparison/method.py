"""One method of a comparison: its seeds on the shared examples, whole and by class, length and outcome."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from math import lcm
from typing import Any

import numpy as np
from numpy.typing import NDArray

from unirex.comparison.evaluations import Evaluation
from unirex.data.example import Label
from unirex.evaluation.summary import DRAWS
from unirex.metrics import performance
from unirex.metrics.bootstrap import bootstrap_means, bootstrap_statistic, interval_of
from unirex.metrics.calibration import BinRow, Bins, expected_calibration_error
from unirex.metrics.paired import mean_of_known, mean_std
from unirex.metrics.performance import ClassRow, class_report_of

F1 = ("macro_f1", "micro_f1", "binary_f1")
COUNTED = (*F1, "ece")
Ints = NDArray[np.int64]
Statistic = Callable[[NDArray[Any], Ints], float]  # whose output (0 or 1) of each example, numbers of these


def statistic_of(one: Method, other: Method, key: str) -> Statistic | None:
    """The metric of two methods mixed example by example; None for a metric that is a mean over examples."""
    if key in F1:
        return _f1(one, other, key)
    return _calibration(one, other) if key == "ece" else None


def known_to_both(one: Method, other: Method, key: str) -> Ints:
    """The numbers of the examples that both answer in every seed, with their confidence if it counts."""
    known = np.ones(len(one.gold), dtype=bool)
    for method in (one, other):
        known &= ~np.isnan(method.values("accuracy")).any(axis=0)
        if key == "ece":
            known &= ~np.isnan(_confidences(method)).any(axis=0)
    return np.flatnonzero(known)


def _f1(one: Method, other: Method, key: str) -> Statistic:
    gold, labels = one.gold, one.labels
    kinds: dict[tuple[Label | None, Label | None], int] = {}
    codes = _both(*(_codes(method, gold, kinds) for method in (one, other)))  # [2, seeds, N]
    of_counts = getattr(performance, f"{key}_of")

    def statistic(side: NDArray[Any], rows: Ints) -> float:
        chosen = codes[side, :, rows]  # [rows, seeds]
        return float(np.mean([of_counts(_counts(column, kinds), labels=labels) for column in chosen.T]))

    return statistic


def _codes(method: Method, gold: Sequence[Label | None], kinds: dict[Any, int]) -> Ints:
    """Which kind of answer (prediction, label) each run gives to each example: [seeds, N]."""
    answers = [zip(method.predicted(seed), gold, strict=True) for seed in range(method.seeds)]
    return np.array([[kinds.setdefault(pair, len(kinds)) for pair in run] for run in answers], dtype=np.int64)


def _counts(codes: Ints, kinds: dict[Any, int]) -> dict[tuple[Hashable, Hashable], int]:
    """How often each prediction met each label; a text without either does not count."""
    times = np.bincount(codes, minlength=len(kinds)).tolist()
    return {pair: n for pair, n in zip(kinds, times, strict=True) if None not in pair}


def _calibration(one: Method, other: Method) -> Statistic:
    sure = _both(*(_confidences(method) for method in (one, other)))  # [2, seeds, N]
    right = _both(one.values("accuracy"), other.values("accuracy"))

    def statistic(side: NDArray[Any], rows: Ints) -> float:
        pairs = zip(sure[side, :, rows].T, right[side, :, rows].T, strict=True)
        return float(np.mean([_error(confidence, correct) for confidence, correct in pairs]))

    return statistic


def _confidences(method: Method) -> NDArray[np.float64]:
    return np.stack([run.columns.confidence[run.order] for run in method.runs])


def _error(sure: NDArray[np.float64], right: NDArray[np.float64]) -> float:
    known = ~np.isnan(sure) & ~np.isnan(right)
    return expected_calibration_error(sure[known], right[known])


def _both(one: NDArray[Any], other: NDArray[Any]) -> NDArray[Any]:
    """Two methods with as many seeds each: repeated where one has fewer, which leaves means as they are."""
    seeds = lcm(len(one), len(other))
    return np.stack([np.tile(some, (seeds // len(some), 1)) for some in (one, other)])


Floats = NDArray[np.float64]
NAN = float("nan")


@dataclass
class Method:
    """The evaluations of a method, one a seed; every number is a mean over them."""

    name: str
    runs: Sequence[Evaluation]
    _intervals: dict[str, tuple[float, float]] = field(default_factory=dict, repr=False)

    @property
    def seeds(self) -> int:
        """How many runs there are."""
        return len(self.runs)

    @cached_property
    def metrics(self) -> dict[str, tuple[float, float]]:
        """Every metric by name: mean and standard deviation over the seeds (NaN for a single one)."""
        names = dict.fromkeys(name for run in self.runs for name in run.metrics)
        return {name: mean_std([run.metrics.get(name, NAN) for run in self.runs]) for name in names}

    def value(self, key: str) -> float:
        """A metric of the method; NaN if unknown."""
        return self.metrics.get(key, (NAN, NAN))[0]

    def interval(self, key: str) -> tuple[float, float]:
        """Where the mean over these seeds would lie with other texts, with 95 % confidence."""
        if key not in self.metrics:
            return NAN, NAN
        if self.seeds == 1:
            return self.runs[0].intervals.get(key, (NAN, NAN))
        if key not in self._intervals:
            self._intervals[key] = self._drawn(key)
        return self._intervals[key]

    def _drawn(self, key: str) -> tuple[float, float]:
        """The same texts are drawn for all seeds; each gives its number, and their mean counts."""
        statistic, number = statistic_of(self, self, key), len(self.gold)
        if statistic is not None:
            places, own = np.arange(number), np.zeros(number, dtype=np.int64)
            return bootstrap_statistic(
                lambda times: statistic(own, np.repeat(places, times)), number, draws=DRAWS
            )
        drawn = bootstrap_means(self.values(key).T, draws=DRAWS)  # [draws, seeds]
        low, high = interval_of(mean_of_known(drawn.T)[:, None])
        return float(low[0]), float(high[0])

    @cached_property
    def floor(self) -> dict[str, float]:
        """Every metric of random scores under the same classifiers, mean over seeds."""
        floors = [
            {name: value for name, value in run.floor.items() if run.comparable(name)} for run in self.runs
        ]
        names = dict.fromkeys(name for floor in floors for name in floor)
        return {name: mean_std([floor.get(name, NAN) for floor in floors])[0] for name in names}

    def values(self, key: str) -> Floats:
        """One value for each seed and shared example, NaN where there is none: [seeds, N]."""
        return np.stack([run.column(key) for run in self.runs])

    def predicted(self, seed: int = 0) -> list[Label | None]:
        """What one of the runs says to each shared example."""
        run = self.runs[seed]
        return [run.columns.predicted[number] for number in run.order]

    @property
    def gold(self) -> list[Label | None]:
        """The right label of each shared example."""
        run = self.runs[0]
        return [run.columns.gold[number] for number in run.order]

    @property
    def lengths(self) -> NDArray[np.int64]:
        """Tokens of each shared example."""
        return self.runs[0].columns.lengths[self.runs[0].order]

    @property
    def labels(self) -> Sequence[Label] | None:
        """The labels in the order of the task; None if nobody told."""
        return self.runs[0].columns.labels

    @property
    def confusion(self) -> Counter[tuple[Hashable, Hashable]]:
        """How often each prediction met each label, over all seeds."""
        return sum((run.columns.tally.confusion for run in self.runs), Counter())

    @property
    def reliability(self) -> list[BinRow]:
        """How sure and how right it is, by confidence; all seeds together. Empty if it does not tell."""
        bins = Bins()
        for run in self.runs:
            sure, right = run.columns.confidence, run.columns.column("accuracy")
            known = ~np.isnan(sure) & ~np.isnan(right)
            for confidence, correct in zip(sure[known].tolist(), right[known].tolist(), strict=True):
                bins.add(confidence, bool(correct))
        return [row for row in bins.rows if row.texts]

    @property
    def select_predict(self) -> bool:
        """Whether it predicts from its rationale alone."""
        return any(run.select_predict for run in self.runs)

    @property
    def collapsed(self) -> bool:
        """Whether any of its runs gives one answer to (nearly) all texts."""
        return any(run.collapse is not None for run in self.runs)

    def ranked(self, key: str) -> bool:
        """Whether a metric can be tested against that of others and be the best."""
        return all(run.ranked(key) for run in self.runs)

    @property
    def trained_removals(self) -> list[str]:
        """What training removed tokens by, if it did."""
        return sorted({run.trained_removal for run in self.runs if run.trained_removal is not None})


PARTS = 4  # quartiles of the length
Marks = NDArray[np.bool_]  # which of the shared examples, [N] or [seeds, N]


@dataclass(frozen=True, slots=True)
class Part:
    """Some of the examples: what they have in common, and which they are."""

    name: str
    marks: Marks

    @property
    def texts(self) -> int:
        """How many examples; with several seeds, on average."""
        return round(float(np.atleast_2d(self.marks).sum(axis=1).mean()))


def by_class(method: Method) -> dict[Hashable, ClassRow]:
    """How well each label is found, all seeds together; support is for one seed."""
    counts = method.confusion
    report = class_report_of(counts, method.labels) if counts else {}
    return {
        label: ClassRow(row.precision, row.recall, row.f1, round(row.support / method.seeds))
        for label, row in report.items()
    }


def by_length(lengths: NDArray[np.int64], *, parts: int = PARTS) -> list[Part]:
    """The examples from the shortest to the longest in parts of about the same size.

    Texts of one length stay together, so there are fewer parts where many have the same.

    >>> [(part.name, part.texts) for part in by_length(np.array([3, 4, 5, 6, 7, 8, 9, 40]))]
    [('3–4', 2), ('5–6', 2), ('7–8', 2), ('9–40', 2)]
    >>> [(part.name, part.texts) for part in by_length(np.array([5, 5, 5, 5, 5, 9]))]
    [('5', 5), ('9', 1)]
    """
    if not len(lengths):
        return []
    ends = np.quantile(lengths, np.arange(1, parts + 1) / parts, method="inverted_cdf")
    found, below = [], -1
    for end in np.unique(ends).tolist():
        marks = (lengths > below) & (lengths <= end)
        first = int(lengths[marks].min())
        found.append(Part(f"{first}–{end}" if first < end else f"{end}", marks))
        below = end
    return found


def by_outcome(method: Method) -> list[Part]:
    """The examples this method gets right, and those it gets wrong: for each seed its own."""
    right = method.values("accuracy")
    return [Part("right", right == 1), Part("wrong", right == 0)]


def mean_over(method: Method, key: str, part: Part) -> float:
    """A metric over some of the examples: mean over those with a value, then over seeds; NaN if none."""
    values = method.values(key)  # [seeds, N]
    used = np.broadcast_to(part.marks, values.shape) & ~np.isnan(values)
    means = [row[some].mean() for row, some in zip(values, used, strict=True) if some.any()]
    return float(np.mean(means)) if means else float("nan")


def removals(methods: Sequence[Method]) -> list[str]:
    """Every way tokens were removed, that of the main metrics first."""
    names = dict.fromkeys(run.removal for method in methods for run in method.runs)
    for key in (key for method in methods for key in method.metrics):
        whole, slash, removal = key.partition("/")
        if slash and whole in ("comprehensiveness", "sufficiency", "csd"):
            names.setdefault(removal)
    return [str(one) for one in names if one is not None]


def under_removal(method: Method, key: str, removal: str) -> float:
    """A faithfulness metric with tokens removed in one way; NaN if that was not tried."""
    return method.value(key if removal == method.runs[0].removal else f"{key}/{removal}")
