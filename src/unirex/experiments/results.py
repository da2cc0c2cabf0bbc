"""The numbers of a study: what is finished, as one tidy table and as comparisons by dataset."""

from __future__ import annotations

import csv
import io
import json
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property, partial
from pathlib import Path
from typing import Any

from unirex.comparison import Comparison, compare
from unirex.comparison.sources import EvaluationInput, EvaluationSource, find_source
from unirex.config import DEFAULT_PRESET
from unirex.evaluation.tally import f1_interval
from unirex.experiments.definition import Definition
from unirex.experiments.study import Measured, Study, store_of
from unirex.files import replace_file, write_file
from unirex.metrics.performance import binary_f1_of
from unirex.paper import published

FIXED = (
    "experiment",
    "row",
    "group",
    "preset",
    "trained_on",
    "measured_on",
    "seed",
)  # first columns of the table
NUMBERS = ("metric", "value", "low", "high", "texts", "cell")  # last columns
POSITIVE = "binary_f1"


class Results(ABC):
    """Finished measurements of an experiment, wherever they are kept."""

    definition: Definition
    scale: str
    has_texts: bool  # whether examples can be shown

    @property
    @abstractmethod
    def finished(self) -> Sequence[Measured]:
        """The measurements that are done."""

    @property
    @abstractmethod
    def made(self) -> Sequence[Mapping[str, Any]]:
        """The versions and revisions that the finished measurements and their trainings were made with."""

    @property
    @abstractmethod
    def planned(self) -> Sequence[str]:
        """The names of all measurements, done or not; as often as there are seeds and datasets."""

    @property
    def missing(self) -> list[str]:
        """The names of rows of which a measurement is not done."""
        left = Counter(self.planned) - Counter(measurement.variant.name for measurement in self.finished)
        return list(left)

    @property
    def failures(self) -> Sequence[str]:
        """What failed and why."""
        return ()

    @property
    def other_settings(self) -> Sequence[str]:
        """Rows that were run with other settings than the rest, and which."""
        return ()

    @abstractmethod
    def evaluation(self, measurement: Measured) -> EvaluationInput:
        """A finished measurement, to be compared."""

    @abstractmethod
    def saved(self, measurement: Measured) -> dict[str, Any]:
        """The `metrics.json` of a finished measurement."""

    def paper(self, trained_on: str, measured_on: str) -> dict[str, published.Published]:
        """The paper's rows beside ours, by our names; every preset of a row has the same beside it."""
        rows, names = _published_rows(self.definition.name, trained_on, measured_on), self.without_preset
        return {name: rows[plain] for name, plain in names.items() if plain in rows}

    @property
    def without_preset(self) -> dict[str, str]:
        """The name that each row has without its preset."""
        found = [measurement.variant for measurement in self.finished]
        return {variant.name: replace(variant, preset=DEFAULT_PRESET).name for variant in found}

    @property
    def varied(self) -> list[str]:
        """The settings that vary, by dotted name."""
        return list(
            dict.fromkeys(name for measurement in self.finished for name in measurement.variant.point)
        )

    def rows(self) -> Iterator[dict[str, Any]]:
        """One row for every finished cell, metric and seed."""
        for measurement in self.finished:
            saved, row = self.saved(measurement), measurement.variant.row
            about = {
                "experiment": self.definition.name,
                "row": row.name,
                "group": row.group,
                "preset": measurement.variant.preset,
                "trained_on": measurement.trained_on,
                "measured_on": measurement.measured_on,
                "seed": measurement.seed,
                **{name: measurement.variant.point.get(name) for name in self.varied},
            }
            for metric, value in saved["metrics"].items():
                low, high = saved["intervals"].get(metric, (None, None))
                numbers = {"value": value, "low": low, "high": high, "texts": saved["texts"]}
                yield {**about, "metric": metric, **numbers, "cell": measurement.cell.key}

    def save(self, folder: Path) -> list[Path]:
        """Write `results.csv` and `results.parquet`."""
        import pyarrow
        from pyarrow import parquet

        rows, names = list(self.rows()), [*FIXED, *self.varied, *NUMBERS]
        out = io.StringIO()
        writer = csv.DictWriter(out, names, lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
        paths = [folder / f"results.{ending}" for ending in ("csv", "parquet")]
        write_file(paths[0], out.getvalue())
        columns = {name: _of_one_kind([row[name] for row in rows]) for name in names}
        replace_file(paths[1], lambda draft: parquet.write_table(pyarrow.table(columns), draft))
        return paths

    def datasets(self) -> list[tuple[str, str]]:
        """The pairs of what was trained and measured on, of which something is finished."""
        return list(
            dict.fromkeys((measurement.trained_on, measurement.measured_on) for measurement in self.finished)
        )

    def comparison(self, trained_on: str, measured_on: str) -> Comparison:
        """The rows on one dataset, their seeds together."""
        groups: dict[str, list[EvaluationInput]] = {}
        for measurement in self.finished:
            if (measurement.trained_on, measurement.measured_on) == (trained_on, measured_on):
                groups.setdefault(measurement.variant.name, []).append(self.evaluation(measurement))
        one_reading = len(self.definition.presets) == 1  # a preset may read texts in lower case
        return compare(groups, same_texts=one_reading)


class StudyResults(Results):
    """What is finished of the study in a folder."""

    has_texts = True

    def __init__(self, study: Study, folder: Path) -> None:
        self.study, self.folder, self.store = study, folder, store_of(folder)
        self.definition, self.scale = study.definition, str(study.facts.get("scale"))

    @cached_property
    def finished(self) -> list[Measured]:
        """The measurements that are done."""
        return [
            measurement for measurement in self.study.measured if measurement.cell.state(self.store) == "done"
        ]

    @property
    def made(self) -> list[Mapping[str, Any]]:
        """What cells were made with; of cells of versions that did not keep it, what the study ran with."""
        used = [cell for measurement in self.finished for cell in (*measurement.trained, measurement.cell)]
        left = [cell.result(self.store) for cell in used if cell.state(self.store) == "done"]
        return distinct(
            [{key: found.get(key, made) for key, made in self.study.made.items()} for found in left]
        )

    @property
    def planned(self) -> list[str]:
        """The names of all measurements."""
        return [measurement.variant.name for measurement in self.study.measured]

    @property
    def failures(self) -> list[str]:
        """What failed and why."""
        failed = [cell for cell in self.study.cells if cell.state(self.store) == "failed"]
        return [f"{cell.work} {cell.name}: {cell.failure(self.store)}" for cell in failed]

    def place(self, measurement: Measured) -> Path:
        """The folder of a finished measurement."""
        return self.store / measurement.cell.result(self.store)["place"]

    def evaluation(self, measurement: Measured) -> EvaluationSource:
        """A finished measurement, to be compared."""
        return with_positive_last(find_source(self.place(measurement)), self.saved(measurement))

    def saved(self, measurement: Measured) -> dict[str, Any]:
        """Its `metrics.json`."""
        saved = json.loads((self.place(measurement) / "metrics.json").read_text("utf-8"))
        positive = saved["positive"] = self._positive_label(measurement)
        for row in saved["classes"]:
            if row["label"] == positive:  # it stands for the label that the dataset is about
                saved["metrics"][POSITIVE] = row["f1"]
                saved["intervals"][POSITIVE] = _interval_of_f1(saved, positive)
        return saved

    def _positive_label(self, measurement: Measured) -> Any:
        """What stands for the last label of the dataset that was measured on, if labels were renamed."""
        data = next((data for data in self.study.on if data.name == measurement.measured_on), None)
        return None if data is None else dict(data.labels).get(str(data.load().info.labels[-1]))


def with_interval(saved: dict[str, Any]) -> dict[str, Any]:
    """The metrics of an older pack, with the interval of the F1 of a label that another stands for."""
    positive = positive_label(saved)
    if positive is None or POSITIVE in saved["intervals"]:
        return saved
    return {**saved, "intervals": {**saved["intervals"], POSITIVE: _interval_of_f1(saved, positive)}}


def with_positive_last(source: EvaluationSource, saved: Mapping[str, Any]) -> EvaluationSource:
    """An evaluation whose labels end with the one that its F1 is about, as comparisons expect."""
    positive, labels = positive_label(saved), list(saved.get("labels") or ())
    if positive is None or labels[-1] == positive:
        return source
    others = [label for label in labels if label != positive]
    changed = {"labels": [*others, positive], "confusion": None}  # which is of the order before
    return replace(source, saved={**saved, **changed})


def positive_label(saved: Mapping[str, Any]) -> Any:
    """Which of two labels the F1 of a `metrics.json` is about: the last, or the one it is the F1 of."""
    value, labels = saved["metrics"].get(POSITIVE), list(saved.get("labels") or ())
    if value is None or len(labels) != 2:
        return None
    if "positive" in saved:  # not in older packs
        return labels[-1] if saved["positive"] is None else saved["positive"]
    of = {row["label"]: row["f1"] for row in saved["classes"]}
    return next((label for label in reversed(labels) if of.get(label) == value), None)


def _interval_of_f1(saved: Mapping[str, Any], positive: Any) -> list[float]:
    labels = saved["labels"]
    confusion = {
        (labels[predicted], labels[gold]): times
        for gold, row in enumerate(saved["confusion"])
        for predicted, times in enumerate(row)
    }
    return list(f1_interval(confusion, partial(binary_f1_of, positive=positive), labels=labels))


def _of_one_kind(values: Sequence[Any]) -> Sequence[Any]:
    """The values of a column, as text if they are of several kinds, or lists."""
    kinds = {type(value) for value in values if value is not None}
    if kinds <= {int, float} or (len(kinds) == 1 and kinds <= {str, bool}):
        return values
    return [None if value is None else str(value) for value in values]


def distinct(made: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """Versions and revisions, each once."""
    return list({json.dumps(part): part for part in made}.values())


def _published_rows(experiment: str, trained_on: str, measured_on: str) -> Mapping[str, published.Published]:
    """The paper's rows of the experiment on a dataset, by the names that our rows have."""
    if experiment == "ablation" and measured_on == "sst":
        return {row.method: row for row in published.ablations()}
    if experiment == "efficiency" and measured_on == "sst":
        return {_with_steps(row.method): row for row in published.efficiency()}
    if experiment == "transfer" and measured_on in published.DATASETS:
        return {row.method: row for row in published.transfer(measured_on)}
    return published.results(measured_on) if measured_on in published.DATASETS else {}


def _with_steps(method: str) -> str:
    """Our name of a row of the efficiency table.

    >>> _with_steps("AA (IG-30)"), _with_steps("UNIREX (AA-F)")
    ('AA (IG) (steps 30)', 'UNIREX (AA-F)')
    """
    steps = method.removeprefix("AA (IG-").removesuffix(")")
    return f"AA (IG) (steps {steps})" if steps.isdigit() else method
