"""Every metric out of a stream of records: running sums, whatever their number."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass, field
from math import fsum

import numpy as np

from unirex.data.example import Label
from unirex.metrics import faithfulness, performance, plausibility
from unirex.records import Record, Scored


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

    labels: Sequence[Label]
    count: int = 0
    confusion: Counter[tuple[Hashable, Hashable]] = field(default_factory=Counter)
    budgets: Sequence[float] = ()  # those of the records, all the same
    comprehensiveness: list[Sum] = field(default_factory=list)  # one a budget
    sufficiency: list[Sum] = field(default_factory=list)
    plausibility: dict[str, Sum] = field(default_factory=dict)  # by metric

    def add(self, record: Record) -> None:
        """One more record."""
        if not self.count:
            self.budgets = record.budgets
            self.comprehensiveness, self.sufficiency = ([Sum() for _ in self.budgets] for _ in range(2))
        self.count += 1
        self.confusion[record.predicted, record.label] += 1
        comp = faithfulness.comprehensiveness(record.full, record.removed)  # [K]
        suff = faithfulness.sufficiency(record.full, record.kept)
        for sums, values in ((self.comprehensiveness, comp), (self.sufficiency, suff)):
            for total, value in zip(sums, values.tolist(), strict=True):
                total.add(value)
        for name, value in plausibility_of(record).items():
            self.plausibility.setdefault(name, Sum()).add(value)

    def metrics(self) -> dict[str, float]:
        """Every metric by name; means are over examples, never over batches."""
        return self._performance() | self._faithfulness() | self._plausibility()

    def _performance(self) -> dict[str, float]:
        """How often the label is right."""
        found = {
            "accuracy": performance.accuracy_of(self.confusion),
            "macro_f1": performance.macro_f1_of(self.confusion, labels=self.labels),
        }
        if len(self.labels) == 2:
            found["binary_f1"] = performance.binary_f1_of(self.confusion, labels=self.labels)
        return found

    def _faithfulness(self) -> dict[str, float]:
        """Whether the rationales are what the prediction rests on; per budget and over all."""
        comp = np.array([total.mean for total in self.comprehensiveness])  # [K]
        suff = np.array([total.mean for total in self.sufficiency])
        means = {"comprehensiveness": comp, "sufficiency": suff, "csd": faithfulness.csd(comp, suff)}
        # The area over the curve is linear in its points: that of the means is the mean of all.
        found = {name: float(faithfulness.aopc(values)) for name, values in means.items()}
        for name, values in means.items():
            found[f"{name}_mean"] = float(faithfulness.aopc(values, divisor="mean"))
        for budget, drop, keep in zip(self.budgets, comp, suff, strict=True):
            found[f"comprehensiveness@{budget:g}"] = float(drop)
            found[f"sufficiency@{budget:g}"] = float(keep)
        return found

    def _plausibility(self) -> dict[str, float]:
        """Whether the rationales are what a person marked."""
        return {name: total.mean for name, total in self.plausibility.items()}


def aggregate(records: Iterable[Record], labels: Sequence[Label]) -> dict[str, float]:
    """Every metric of these records by name."""
    tally = Tally(labels)
    for record in records:
        tally.add(record)
    return tally.metrics()


def plausibility_of(record: Record) -> dict[str, float]:
    """Whether the rationales of one record are what a person marked; empty if nobody marked anything.

    Paper: counts [CLS] and [SEP] as unmarked tokens too; here only tokens that can be selected count.
    """
    marked = [one for one in record.sequences if one.gold and any(one.gold)]
    found = [_plausibility(one, record.budgets) for one in marked]
    return {name: fsum(values[name] for values in found) / len(found) for name in (found[0] if found else ())}


def _plausibility(one: Scored, budgets: Sequence[float]) -> dict[str, float]:
    scores, gold = np.array(one.scores), np.array(one.gold, dtype=bool)
    positive = scores > 0
    found = {
        "auprc": plausibility.auprc(scores, gold),
        "token_f1_macro2": plausibility.token_f1_macro2(positive, gold),
        "token_f1": plausibility.token_f1(positive, gold),
    }
    for budget, numbers in zip(budgets, one.selected, strict=True):
        chosen = np.zeros(len(scores), dtype=bool)
        chosen[list(numbers)] = True
        found[f"token_f1@{budget:g}"] = plausibility.token_f1(chosen, gold)
    return found
