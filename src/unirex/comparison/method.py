"""One method of a comparison: all its seeds on the shared examples."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from unirex.comparison.loading import Evaluation
from unirex.data.example import Label
from unirex.metrics.calibration import BinRow, Bins
from unirex.metrics.uncertainty import mean_std

Floats = NDArray[np.float64]
NAN = float("nan")


@dataclass
class Method:
    """The evaluations of a method, one a seed; every number is a mean over them."""

    name: str
    runs: Sequence[Evaluation]

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

    def spread(self, key: str) -> tuple[float, float]:
        """How sure a metric is: mean ± standard deviation over seeds, or the interval of the only one."""
        mean, std = self.metrics.get(key, (NAN, NAN))
        return (mean - std, mean + std) if self.seeds > 1 else self.runs[0].intervals.get(key, (NAN, NAN))

    @cached_property
    def floor(self) -> dict[str, float]:
        """Every metric of random scores under the same classifiers, mean over seeds."""
        floors = [run.floor for run in self.runs]
        names = dict.fromkeys(name for floor in floors for name in floor)
        return {name: mean_std([floor.get(name, NAN) for floor in floors])[0] for name in names}

    def values(self, key: str) -> Floats:
        """One value for each seed and shared example, NaN where there is none: [seeds, N]."""
        return np.stack([run.columns.column(key)[run.order] for run in self.runs])

    def mean_values(self, key: str) -> Floats:
        """The mean over the seeds that have a value: [N]."""
        values = self.values(key)
        known = ~np.isnan(values)
        with np.errstate(invalid="ignore"):
            return np.where(known, values, 0.0).sum(axis=0) / known.sum(axis=0)

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
        return self.runs[0].summary.labels

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
    def trained_removals(self) -> list[str]:
        """What training removed tokens by, if it did."""
        told = (run.summary.seen.get("trained") for run in self.runs)
        return sorted({str(one) for one in told if one is not None})
