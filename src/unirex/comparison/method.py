"""One method of a comparison: its seeds on the shared examples, whole and by class, length and outcome."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from math import nan

import numpy as np

from unirex.comparison.evaluations import TOLERANCE, Evaluation
from unirex.comparison.significance import whole_set_score
from unirex.data.example import Label, answer_labels
from unirex.evaluation.tally import INTERVAL_DRAWS
from unirex.metrics.arrays import Bools, Floats, Ints
from unirex.metrics.bootstrap import bootstrap_means, percentile_interval, resamples, single_interval
from unirex.metrics.calibration import BinRow, Bins
from unirex.metrics.paired import mean_of_known, mean_std
from unirex.metrics.performance import class_report_of
from unirex.metrics.registry import BY_REMOVAL, WHOLE_SET

QUARTILES = 4


@dataclass
class Method:
    """The evaluations of a method, one per seed; every number is a mean over them."""

    name: str
    runs: Sequence[Evaluation]
    _intervals: dict[str, tuple[float, float]] = field(default_factory=dict, repr=False)

    @property
    def seeds(self) -> int:
        """The number of runs."""
        return len(self.runs)

    @cached_property
    def metrics(self) -> dict[str, tuple[float, float]]:
        """Every metric by name: mean and standard deviation over the seeds (NaN for a single one)."""
        names = dict.fromkeys(name for run in self.runs for name in run.metrics)
        return {name: mean_std([run.metrics.get(name, nan) for run in self.runs]) for name in names}

    def value(self, key: str) -> float:
        """A metric of the method; NaN if unknown."""
        return self.metrics.get(key, (nan, nan))[0]

    def interval(self, key: str) -> tuple[float, float]:
        """The 95 % interval over texts of the mean over these seeds."""
        if key not in self.metrics:
            return nan, nan
        if self.seeds == 1:
            return self.runs[0].intervals.get(key, (nan, nan))
        if key not in self._intervals:
            self._intervals[key] = single_interval([resampled([self], [key])[self.name, key]])
        return self._intervals[key]

    @cached_property
    def floor(self) -> dict[str, float]:
        """Every metric of random scores under the same classifiers, mean over seeds."""
        floors = [
            {name: value for name, value in run.floor.items() if run.reported(name)} for run in self.runs
        ]
        names = dict.fromkeys(name for floor in floors for name in floor)
        return {name: mean_std([floor.get(name, nan) for floor in floors])[0] for name in names}

    def values(self, key: str) -> Floats:
        """One value per seed and shared example, NaN where there is none: [seeds, N]."""
        return np.stack([run.column(key) for run in self.runs])

    @property
    def confidences(self) -> Floats:
        """The probability of each prediction, NaN where unknown: [seeds, N]."""
        return np.stack([run.columns.confidence[run.order] for run in self.runs])

    def predicted(self, seed: int = 0) -> list[Label | None]:
        """The prediction of one of the runs for each shared example."""
        run = self.runs[seed]
        return [run.columns.predicted[number] for number in run.order]

    @property
    def gold(self) -> list[Label | None]:
        """The right label of each shared example."""
        run = self.runs[0]
        return [run.columns.gold[number] for number in run.order]

    @property
    def lengths(self) -> Ints:
        """Tokens of each shared example."""
        return self.runs[0].columns.lengths[self.runs[0].order]

    @property
    def labels(self) -> Sequence[Label] | None:
        """The labels in the order of the task; None if unknown."""
        return self.runs[0].columns.labels

    @property
    def confusion(self) -> Counter[tuple[Hashable, Hashable]]:
        """Counts of (predicted, gold) pairs over all seeds."""
        return sum((run.columns.tally.confusion for run in self.runs), Counter())

    @property
    def reliability(self) -> list[BinRow]:
        """Confidence and accuracy by bin, all seeds together; empty without probabilities."""
        bins = Bins()
        for run in self.runs:
            bins.add_all(*run.columns.calibration())
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

    def tokenised_like(self, other: Method) -> bool:
        """Whether two methods cut the same texts into the same tokens."""
        ours, theirs = (
            np.array(run.units.checksums, dtype=np.int64)[run.order] for run in (self.runs[0], other.runs[0])
        )
        return bool((ours != theirs).mean() <= TOLERANCE)

    @property
    def trained_removals(self) -> list[str]:
        """How training removed tokens, if it did."""
        return sorted({run.trained_removal for run in self.runs if run.trained_removal is not None})


def removals(methods: Sequence[Method]) -> list[str]:
    """Every removal that was measured, that of the main metrics first."""
    names = dict.fromkeys(run.removal for method in methods for run in method.runs)
    for key in (key for method in methods for key in method.metrics):
        name, slash, removal = key.partition("/")
        if slash and name in BY_REMOVAL:
            names.setdefault(removal)
    return [str(removal) for removal in names if removal is not None]


def resampled(methods: Sequence[Method], keys: Sequence[str]) -> dict[tuple[str, str], Floats]:
    """Metrics in draws of the shared texts, with replacement, mean over seeds: by method and metric, [draws].

    The texts drawn are the same for all. NaN in a draw of texts without a value.
    """
    means = [(method, key) for method in methods for key in keys if key not in WHOLE_SET]
    values = [method.values(key) for method, key in means]
    drawn = bootstrap_means(np.concatenate(values).T, draws=INTERVAL_DRAWS).T if values else np.zeros((0, 0))
    parts = np.split(drawn, np.cumsum([len(part) for part in values])[:-1]) if values else []
    found = {
        (method.name, key): mean_of_known(part) for (method, key), part in zip(means, parts, strict=True)
    }
    for method, key in ((method, key) for method in methods for key in keys if key in WHOLE_SET):
        score, [terms] = whole_set_score(key, [method])
        terms = np.nan_to_num(terms)  # a text without a prediction adds nothing
        sums = (
            np.tensordot(times.astype(np.float64), terms, axes=(1, 1))
            for times in resamples(len(method.gold), INTERVAL_DRAWS, seed=0)
        )
        found[method.name, key] = np.concatenate([score(part) for part in sums])
    return found


def under_removal(method: Method, key: str, removal: str) -> float:
    """A faithfulness metric under one removal; NaN if it was not measured."""
    return method.value(key if removal == method.runs[0].removal else f"{key}/{removal}")


def f1_by_class(methods: Sequence[Method]) -> dict[Hashable, tuple[int, list[float]]]:
    """For each label the number of its texts, and its F1 by method, NaN where a method has none."""
    by_class: dict[Hashable, tuple[int, list[float]]] = {}
    for number, method in enumerate(methods):
        counts = method.confusion
        report = class_report_of(counts, method.labels) if counts else {}
        for label, row in report.items():
            texts = round(row.support / method.seeds)  # counts are of all seeds together
            _, f1 = by_class.setdefault(label, (texts, [nan] * len(methods)))
            f1[number] = row.f1
    return by_class


def f1_intervals(method: Method, labels: Sequence[Hashable]) -> list[tuple[float, float]]:
    """The 95 % interval over texts of the F1 of each label, all seeds together; NaN without predictions."""
    columns = []  # of each label: how often, over the seeds, a text is a hit, gets the label, has the label
    runs = [list(zip(method.predicted(seed), method.gold, strict=True)) for seed in range(method.seeds)]
    answers = [
        [
            (answer_labels(predicted), answer_labels(gold))
            for predicted, gold in text
            if None not in (predicted, gold)
        ]
        for text in zip(*runs, strict=True)
    ]
    for label in labels:
        columns.append([sum(label in given and label in right for given, right in text) for text in answers])
        columns.append([sum(label in given for given, _ in text) for text in answers])
        columns.append([sum(label in right for _, right in text) for text in answers])
    means = bootstrap_means(np.array(columns, dtype=np.float64).T, draws=INTERVAL_DRAWS)
    hits, guesses, occurrences = means.reshape(len(means), len(labels), 3).transpose(2, 0, 1)
    with np.errstate(invalid="ignore"):  # 0 / 0 in a draw without the label
        low, high = percentile_interval(2 * hits / (guesses + occurrences))
    return list(zip(low.tolist(), high.tolist(), strict=True))


@dataclass(frozen=True, slots=True)
class ExampleSubset:
    """Some of the shared examples, and what they have in common."""

    name: str
    mask: Bools  # [N], or [seeds, N] where each seed has its own

    @property
    def texts(self) -> int:
        """The number of examples; with several seeds, on average."""
        return round(float(np.atleast_2d(self.mask).sum(axis=1).mean()))


def split_by_length(lengths: Ints) -> list[ExampleSubset]:
    """The examples from the shortest to the longest, in parts of about the same size.

    Texts of one length stay together, so there are fewer parts where many have the same.

    >>> [(part.name, part.texts) for part in split_by_length(np.array([3, 4, 5, 6, 7, 8, 9, 40]))]
    [('3–4', 2), ('5–6', 2), ('7–8', 2), ('9–40', 2)]
    >>> [(part.name, part.texts) for part in split_by_length(np.array([5, 5, 5, 5, 5, 9]))]
    [('5', 5), ('9', 1)]
    """
    if not len(lengths):
        return []
    ends = np.quantile(lengths, np.arange(1, QUARTILES + 1) / QUARTILES, method="inverted_cdf")
    subsets, below = [], -1
    for end in np.unique(ends).tolist():
        mask = (lengths > below) & (lengths <= end)
        first = int(lengths[mask].min())
        subsets.append(ExampleSubset(f"{first}–{end}" if first < end else f"{end}", mask))
        below = end
    return subsets


def split_by_outcome(method: Method) -> list[ExampleSubset]:
    """The examples that this method predicts right, and those it predicts wrong, for each seed."""
    accuracy = method.values("accuracy")
    return [ExampleSubset("right", accuracy == 1), ExampleSubset("wrong", accuracy == 0)]


def mean_over(method: Method, key: str, subset: ExampleSubset) -> float:
    """A metric over a subset: mean over examples with a value, then over seeds; NaN if there are none."""
    values = method.values(key)  # [seeds, N]
    used = np.broadcast_to(subset.mask, values.shape) & ~np.isnan(values)
    means = [row[mask].mean() for row, mask in zip(values, used, strict=True) if mask.any()]
    return float(np.mean(means)) if means else nan


def interval_over(method: Method, key: str, subset: ExampleSubset, *, fewest: int) -> tuple[float, float]:
    """The 95 % interval of `mean_over` a subset [N]; NaN if fewer than `fewest` of its texts have a value."""
    values = method.values(key)[:, subset.mask]
    known = ~np.isnan(values).all(axis=0)
    if known.sum() < fewest:
        return nan, nan
    return single_interval([mean_of_known(bootstrap_means(values.T, draws=INTERVAL_DRAWS).T)])
