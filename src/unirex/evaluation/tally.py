"""Every metric from a stream of records: running sums, the values of all examples, and their intervals."""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from math import isnan
from typing import Any

import numpy as np

from unirex.data.example import Answer, Label, leading_metric
from unirex.evaluation.records import Record
from unirex.evaluation.value_table import ValueTable
from unirex.evaluation.values import Values, example_values
from unirex.metrics import performance
from unirex.metrics.arrays import Floats, Ints
from unirex.metrics.bootstrap import bootstrap_counts, bootstrap_interval, bootstrap_statistic
from unirex.metrics.calibration import Bins, drawn_calibration_errors

INTERVAL_DRAWS = 1000  # of the bootstrap
TOGETHER = 16  # metrics at once: tables of 100,000 examples stay small
NAN = float("nan")

Interval = tuple[float, float]


@dataclass
class Sum:
    """A running sum with Neumaier's compensation for rounding, and the number of its terms.

    >>> total = Sum()
    >>> for number in (1e16, 1.0, -1e16):
    ...     total.add(number)
    >>> total.mean * 3
    1.0
    """

    high: float = 0.0
    low: float = 0.0
    count: int = 0

    def add(self, value: float) -> None:
        """Add one number."""
        total = self.high + value
        larger, smaller = (self.high, value) if abs(self.high) >= abs(value) else (value, self.high)
        self.low += (larger - total) + smaller
        self.high = total
        self.count += 1

    def merge(self, other: Sum) -> None:
        """Add the terms of another sum: as if one by one, up to the rounding of the compensation."""
        count = self.count + other.count
        self.add(other.high)
        self.low += other.low
        self.count = count

    @property
    def mean(self) -> float:
        """The plain average."""
        return (self.high + self.low) / self.count


@dataclass
class Tally:
    """The metrics of the records so far. The same records in the same order give the same bits."""

    labels: Sequence[Label] | None = None  # None: those of the first record; of choices, those that occur
    sums: dict[str, Sum] = field(default_factory=dict)
    confusion: Counter[tuple[Hashable, Hashable]] = field(default_factory=Counter)
    bins: Bins = field(default_factory=Bins)

    def add(self, record: Record) -> Values:
        """Count one more record; returns its values."""
        values = example_values(record)
        if self.labels is None and record.choices is None:
            self.labels = record.labels or None
        self.count(values, predicted=record.predicted, gold=record.label, confidence=record.confidence)
        return values

    def count(
        self, values: Values, *, predicted: Answer | None, gold: Answer | None, confidence: float = NAN
    ) -> None:
        """Count the values of one more example."""
        for name, value in values.items():
            self.sums.setdefault(name, Sum()).add(value)
        if "accuracy" in values:
            self.confusion[predicted, gold] += 1
            if not isnan(confidence):
                self.bins.add(confidence, predicted == gold)

    def merge(self, other: Tally) -> None:
        """Count the records that another tally has counted, after those of this one."""
        self.labels = other.labels if self.labels is None else self.labels
        for name, total in other.sums.items():
            self.sums.setdefault(name, Sum()).merge(total)
        self.confusion.update(other.confusion)
        self.bins.merge(other.bins)

    def metrics(self) -> dict[str, float]:
        """Every metric by name; means are over examples that have a value, never over batches."""
        found = {}
        if self.confusion:
            found["accuracy"] = performance.accuracy_of(self.confusion)
            for name, f1_of in self.f1_metrics().items():
                found[name] = f1_of(self.confusion, labels=self.labels)
            if self.bins.counts.any():
                found["ece"] = self.bins.error
        return found | {name: total.mean for name, total in self.sums.items()}

    def f1_metrics(self) -> dict[str, Callable[..., float]]:
        """The metrics that are computed from `confusion`: the binary one only if there are two labels."""
        two = self.labels is not None and len(self.labels) == 2 and not self.multi_label
        return {name: f1 for name, f1 in performance.FROM_CONFUSION.items() if two or name != "binary_f1"}

    @property
    def multi_label(self) -> bool:
        """Whether texts have sets of labels."""
        return any(isinstance(gold, tuple) for _, gold in self.confusion)

    @property
    def leading(self) -> str:
        """The performance metric that says most: see `leading_metric`."""
        counts: Counter[Any] = Counter()
        for (_, gold), times in self.confusion.items():
            counts[gold] += times
        return leading_metric(counts)

    @property
    def collapse(self) -> performance.Collapse | None:
        """The one answer to (nearly) all texts, if there is one."""
        return performance.collapse_of(self.confusion)


@dataclass
class MetricColumns:
    """One system's value of every metric for every example, in order: eight bytes per value.

    Texts and tokens are not kept, so a million examples fit where their records would not.
    """

    name: str
    given: Sequence[Label] | None = None  # labels; None: as the records say
    ids: list[str] = field(default_factory=list)
    predicted: list[Answer | None] = field(default_factory=list)
    gold: list[Answer | None] = field(default_factory=list)
    tally: Tally = field(init=False)
    _values: dict[str, array[float]] = field(default_factory=dict)
    _confidence: array[float] = field(default_factory=lambda: array("d"))
    _lengths: array[int] = field(default_factory=lambda: array("l"))

    def __post_init__(self) -> None:
        self.tally = Tally(self.given)

    def add(self, record: Record) -> None:
        """Append one more example."""
        values = self.tally.add(record)
        self._append(values, record.id, record.predicted, record.label, record.length, record.confidence)

    def add_row(self, table: ValueTable, row: int) -> None:
        """Append one more example, from a table without texts."""
        values = {name: float(column[row]) for name, column in table.columns.items()}
        values = {name: value for name, value in values.items() if not isnan(value)}
        predicted, gold = table.predicted[row], table.gold[row]
        self.tally.count(values, predicted=predicted, gold=gold)
        self._append(values, table.ids[row], predicted, gold, int(table.lengths[row]), NAN)

    def _append(
        self,
        values: Values,
        name: str,
        predicted: Answer | None,
        gold: Answer | None,
        length: int,
        confidence: float,
    ) -> None:
        for key in values:
            if key not in self._values:
                self._values[key] = array("d", [NAN]) * len(self.ids)
        for key, column in self._values.items():
            column.append(values.get(key, NAN))
        self.ids.append(name)
        self.predicted.append(predicted)
        self.gold.append(gold)
        self._confidence.append(confidence)
        self._lengths.append(length)

    def extend(self, other: MetricColumns) -> None:
        """Append the examples of other columns of the same system."""
        for name in {**self._values, **other._values}:
            column = self._values.setdefault(name, array("d", [NAN]) * len(self.ids))
            column.extend(other._values.get(name, array("d", [NAN]) * len(other.ids)))
        self.ids += other.ids
        self.predicted += other.predicted
        self.gold += other.gold
        self._confidence.extend(other._confidence)
        self._lengths.extend(other._lengths)
        self.tally.merge(other.tally)

    def __len__(self) -> int:
        return len(self.ids)

    @property
    def labels(self) -> Sequence[Label] | None:
        """The labels that can be predicted, if known."""
        return self.tally.labels

    @property
    def names(self) -> list[str]:
        """The metrics for which at least one example has a value."""
        return list(self._values)

    @property
    def confidence(self) -> Floats:
        """The probability of the prediction, NaN if unknown."""
        return np.array(self._confidence, dtype=np.float64)

    @property
    def lengths(self) -> Ints:
        """Selectable tokens of every example."""
        return np.array(self._lengths, dtype=np.int64)

    def column(self, name: str) -> Floats:
        """One value per example, NaN where there is none; all NaN for a metric without any."""
        values = self._values.get(name)
        return np.full(len(self.ids), NAN) if values is None else np.array(values, dtype=np.float64)

    def calibration(self) -> tuple[Floats, Floats]:
        """Confidence and correctness (0 or 1) of the examples for which both are known."""
        confidence, correct = self.confidence, self.column("accuracy")
        known = ~np.isnan(confidence) & ~np.isnan(correct)
        return confidence[known], correct[known]

    def metrics(self) -> dict[str, float]:
        """Every metric by name, including those that are not means over examples (macro F1, ECE)."""
        return self.tally.metrics()


def intervals_of(columns: MetricColumns) -> dict[str, Interval]:
    """The 95 % bootstrap interval of every metric by name."""
    names = columns.names
    if not names or len(columns) < 2:
        return {}
    found: dict[str, Interval] = {}
    for start in range(0, len(names), TOGETHER):  # one default seed, so all groups share the same draws
        group = names[start : start + TOGETHER]
        table = np.stack([columns.column(name) for name in group], axis=1)  # [N, M]
        low, high = bootstrap_interval(table, draws=INTERVAL_DRAWS)
        found |= {name: (float(a), float(b)) for name, a, b in zip(group, low, high, strict=True)}
    tally = columns.tally
    for name, f1_of in tally.f1_metrics().items() if tally.confusion else ():
        found[name] = f1_interval(tally.confusion, f1_of, labels=tally.labels)
    confidence, correct = columns.calibration()
    if len(confidence):
        found["ece"] = bootstrap_statistic(
            lambda times: drawn_calibration_errors(confidence, correct, times),
            len(confidence),
            draws=INTERVAL_DRAWS,
        )
    return found


def f1_interval(
    confusion: Mapping[Any, int], f1_of: Callable[..., Any], *, labels: Sequence[Label] | None
) -> Interval:
    """The 95 % bootstrap interval of an F1 from how often each (prediction, label) occurs."""
    pairs, counts = list(confusion), list(confusion.values())

    def statistic(times: Ints) -> Floats:  # [D, pairs] -> [D]
        found = f1_of(dict(zip(pairs, times.T, strict=True)), labels=labels)
        return np.broadcast_to(found, len(times))  # one 0 for all draws where a label is in no pair

    return bootstrap_counts(statistic, counts, draws=INTERVAL_DRAWS)
