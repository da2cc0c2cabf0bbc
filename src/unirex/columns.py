"""The values of every example as columns: what intervals, tests and breakdowns are computed from."""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from unirex.data.example import Label
from unirex.records import Record
from unirex.tally import Tally

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
