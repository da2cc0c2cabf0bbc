"""Every metric out of a stream of records: running sums, whatever their number."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass, field
from math import isnan

from unirex.data.example import Label
from unirex.metrics import performance
from unirex.metrics.calibration import Bins
from unirex.records import Record
from unirex.values import Values, example_values


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
