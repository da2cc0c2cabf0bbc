"""Every metric from a stream of records: running sums, and the values of all examples as columns."""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass, field
from math import isnan

import numpy as np
from numpy.typing import NDArray

from unirex.data.example import Label
from unirex.evaluation.records import Record
from unirex.evaluation.values import Values, example_values
from unirex.metrics import performance
from unirex.metrics.calibration import Bins


@dataclass
class Sum:
    """A running sum that keeps what rounding would lose (Neumaier's), and how many numbers it is of.

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
        """One more number."""
        total = self.high + value
        larger, smaller = (self.high, value) if abs(self.high) >= abs(value) else (value, self.high)
        self.low += (larger - total) + smaller
        self.high = total
        self.count += 1

    @property
    def mean(self) -> float:
        """The plain average."""
        return (self.high + self.low) / self.count


@dataclass
class Tally:
    """What the records so far come to. The same records in the same order give the same bits."""

    labels: Sequence[Label] | None = None  # None: those of the first record; of choices, those that occur
    count: int = 0
    sums: dict[str, Sum] = field(default_factory=dict)
    confusion: Counter[tuple[Hashable, Hashable]] = field(default_factory=Counter)
    bins: Bins = field(default_factory=Bins)

    def add(self, record: Record) -> Values:
        """One more record; gives the values it added."""
        values = example_values(record)
        if self.labels is None and record.choices is None:
            self.labels = record.labels or None
        self.count += 1
        for name, value in values.items():
            self.sums.setdefault(name, Sum()).add(value)
        if "accuracy" in values:
            self.confusion[record.predicted, record.label] += 1
            if not isnan(record.confidence):
                self.bins.add(record.confidence, record.predicted == record.label)
        return values

    def metrics(self) -> dict[str, float]:
        """Every metric by name; means are over examples that have a value, never over batches."""
        return self._performance() | {name: total.mean for name, total in self.sums.items()}

    @property
    def collapse(self) -> performance.Collapse | None:
        """The one answer to (nearly) all texts, if there is one."""
        return performance.collapse_of(self.confusion)

    def _performance(self) -> dict[str, float]:
        """How often the label is right, each label counting the same, and whether it knows."""
        if not self.confusion:
            return {}
        counts, labels = self.confusion, self.labels
        found = {
            "accuracy": performance.accuracy_of(counts),
            "macro_f1": performance.macro_f1_of(counts, labels=labels),
            "micro_f1": performance.micro_f1_of(counts, labels=labels),
        }
        if labels is not None and len(labels) == 2:
            found["binary_f1"] = performance.binary_f1_of(counts, labels=labels)
        return found | ({"ece": self.bins.error} if any(self.bins.counts) else {})


def aggregate(records: Iterable[Record], labels: Sequence[Label] | None = None) -> dict[str, float]:
    """Every metric of these records by name."""
    tally = Tally(labels)
    for record in records:
        tally.add(record)
    return tally.metrics()


NAN = float("nan")


@dataclass
class Columns:
    """One system's values on the same examples, in their order; eight bytes for each value.

    Texts and tokens are not kept, so a million examples fit where their records would not.
    """

    name: str
    given: Sequence[Label] | None = None  # labels; None: as the records say
    ids: list[str] = field(default_factory=list)
    predicted: list[Label | None] = field(default_factory=list)
    gold: list[Label | None] = field(default_factory=list)
    tally: Tally = field(init=False)
    _values: dict[str, array[float]] = field(default_factory=dict)
    _confidence: array[float] = field(default_factory=lambda: array("d"))
    _lengths: array[int] = field(default_factory=lambda: array("l"))

    def __post_init__(self) -> None:
        self.tally = Tally(self.given)

    @classmethod
    def of(cls, name: str, records: Iterable[Record], labels: Sequence[Label] | None = None) -> Columns:
        """The columns of all these records."""
        columns = cls(name, labels)
        for record in records:
            columns.add(record)
        return columns

    @property
    def labels(self) -> Sequence[Label] | None:
        """What can be predicted, if that is known."""
        return self.tally.labels

    def __len__(self) -> int:
        return len(self.ids)

    def add(self, record: Record) -> None:
        """One more example."""
        values = self.tally.add(record)
        for name in values:
            if name not in self._values:
                self._values[name] = array("d", [NAN]) * len(self.ids)
        for name, column in self._values.items():
            column.append(values.get(name, NAN))
        self.ids.append(record.id)
        self.predicted.append(record.predicted)
        self.gold.append(record.label)
        self._confidence.append(record.confidence)
        self._lengths.append(record.length)

    @property
    def names(self) -> list[str]:
        """The metrics that at least one example has a value of."""
        return list(self._values)

    @property
    def confidence(self) -> NDArray[np.float64]:
        """The probability of the prediction, NaN if unknown."""
        return np.array(self._confidence, dtype=np.float64)

    @property
    def lengths(self) -> NDArray[np.int64]:
        """Selectable tokens of every example."""
        return np.array(self._lengths, dtype=np.int64)

    def column(self, name: str) -> NDArray[np.float64]:
        """One value per example, NaN where there is none; all NaN for a metric nobody has."""
        found = self._values.get(name)
        return np.full(len(self.ids), NAN) if found is None else np.array(found, dtype=np.float64)

    def metrics(self) -> dict[str, float]:
        """Every metric by name, those included that are no mean over examples (macro F1, ECE)."""
        return self.tally.metrics()
