"""One method of a comparison: all its seeds on the shared examples."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from unirex.comparison.counted import statistic_of
from unirex.comparison.loading import Evaluation
from unirex.data.example import Label
from unirex.intervals import DRAWS
from unirex.metrics.bootstrap import bootstrap_means, bootstrap_statistic, interval_of
from unirex.metrics.calibration import BinRow, Bins
from unirex.metrics.paired import mean_of_known
from unirex.metrics.uncertainty import mean_std

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
