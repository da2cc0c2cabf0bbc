"""What an experiment is: rows, what varies, seeds, scales and what to draw."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import product
from pathlib import Path
from typing import Any

from unirex.config import DEFAULT_PRESET, merge
from unirex.errors import unknown

# Of a report.
PARTS = ("table", "gains", "composite", "desiderata", "auprc-lines", "cost", "intervals", "examples")
SEED = "seed"  # a setting that no row, scale or search has: seeds are those of the study
WEIGHT = ("objectives.", ".weight")  # begin and end of the name of a weight
MEASURE = "measure."  # begins the names of what varies in the measurement, not in the training

Settings = Mapping[str, Any]


@dataclass(frozen=True)
class Row:
    """One row of the table: a method with settings of its own, and how it is measured.

    Args:
        name: in tables.
        method: as in `unirex list methods`.
        settings: where it differs from the experiment's settings.
        measure: options of `evaluate`: extractor, extractor_options, dial.
        vary: settings of which every value is run, beside those of the experiment.
        constant: it does not depend on what varies in the experiment, so it is run once.
        group: part of the table.
    """

    name: str
    method: str
    settings: Settings = field(default_factory=dict)
    measure: Settings = field(default_factory=dict)
    vary: Mapping[str, Sequence[Any]] = field(default_factory=dict)
    constant: bool = False
    group: str = ""


@dataclass(frozen=True)
class Scale:
    """How large an experiment is run.

    Args:
        settings: of every training.
        measure: of every measurement.
        seeds: instead of the experiment's.
        vary: other values of what varies.
        data: datasets instead of the experiment's.
        measured_on: datasets to measure on instead of the experiment's.
    """

    settings: Settings = field(default_factory=dict)
    measure: Settings = field(default_factory=dict)
    seeds: Sequence[int] | None = None
    vary: Mapping[str, Sequence[Any]] = field(default_factory=dict)
    data: Sequence[str] | None = None
    measured_on: Mapping[str, Settings] | None = None


@dataclass(frozen=True)
class Variant:
    """A row at one point of what varies, under one preset."""

    row: Row
    point: Mapping[str, Any]
    preset: str = DEFAULT_PRESET

    @property
    def name(self) -> str:
        """The row's name, with the point and the preset if there are several."""
        names = setting_names(list(self.point))
        values = [f"{names[setting]} {_shown(setting, value)}" for setting, value in self.point.items()]
        point = f" ({', '.join(values)})" if values else ""
        return f"{self.row.name}{point}{'' if self.preset == DEFAULT_PRESET else f' [{self.preset}]'}"

    @property
    def settings(self) -> dict[str, Any]:
        """Of the training."""
        return merge(self.row.settings, nested(part_of(self.point, measure=False)))

    @property
    def measure(self) -> dict[str, Any]:
        """Of the measurement."""
        return merge(self.row.measure, nested(part_of(self.point, measure=True)))


def _shown(setting: str, value: Any) -> Any:
    """A value in the name of a row: of an encoder's path the last part, of a drawn number six digits."""
    if isinstance(value, float):
        return f"{value:.6g}"
    return Path(value).name if setting == "encoder" and isinstance(value, str) else value


@dataclass(frozen=True)
class Definition:
    """An experiment as its file says.

    Args:
        name: of the file.
        about: a line for `unirex experiment list`.
        rows: by name.
        data: datasets; every row is trained on each.
        measured_on: datasets to measure on, if not those trained on; `labels` of one says which of its labels
            stands for which of the system.
        seeds: of every training.
        settings: of every training.
        measure: options of `evaluate` for every measurement.
        vary: settings of which every value is run.
        presets: of settings, under each of which every row is run; see `unirex list presets`.
        report: what is drawn, in this order; see `unirex.experiments.report`.
        texts: ids of examples that the report shows.
        scales: by name.
    """

    name: str
    about: str
    rows: Sequence[Row]
    data: Sequence[str]
    measured_on: Mapping[str, Settings] = field(default_factory=dict)
    seeds: Sequence[int] = (0,)
    settings: Settings = field(default_factory=dict)
    measure: Settings = field(default_factory=dict)
    vary: Mapping[str, Sequence[Any]] = field(default_factory=dict)
    presets: Sequence[str] = (DEFAULT_PRESET,)
    report: Sequence[str] = ("table",)
    texts: Sequence[str] = ()
    scales: Mapping[str, Scale] = field(default_factory=dict)

    def variants(self) -> Iterator[Variant]:
        """Every row at every point of what varies, under every preset."""
        for row in self.rows:
            vary = row.vary if row.constant else {**self.vary, **row.vary}
            for *values, preset in product(*vary.values(), self.presets):
                yield Variant(row, dict(zip(vary, values, strict=True)), preset)

    def at_scale(self, name: str) -> Definition:
        """The experiment with the settings of a scale."""
        if name not in self.scales:
            raise unknown("scale", name, self.scales)
        scale = self.scales[name]
        return replace(
            self,
            settings=scale.settings,  # the experiment's are among them
            measure=merge(self.measure, scale.measure),
            seeds=self.seeds if scale.seeds is None else scale.seeds,
            data=self.data if scale.data is None else scale.data,
            measured_on=self.measured_on if scale.measured_on is None else scale.measured_on,
            vary={key: scale.vary.get(key, values) for key, values in self.vary.items()},
            rows=[_row_at_scale(row, scale) for row in self.rows],
        )


def _row_at_scale(row: Row, scale: Scale) -> Row:
    return replace(row, vary={key: scale.vary.get(key, values) for key, values in row.vary.items()})


def nested(settings: Settings) -> dict[str, Any]:
    """Dotted names as nested tables.

    >>> nested({"training.epochs": 3, "training.batch_size": 8, "seed": 0})
    {'training': {'epochs': 3, 'batch_size': 8}, 'seed': 0}
    """
    found: dict[str, Any] = {}
    for name, value in settings.items():
        *tables, last = name.split(".")
        part: dict[str, Any] = {last: value}
        for table in reversed(tables):
            part = {table: part}
        found = merge(found, part)
    return found


def part_of(point: Settings, *, measure: bool) -> dict[str, Any]:
    """What a point says of the measurement, or of the training.

    >>> part_of({"measure.dial": 0.5, "seed": 1}, measure=True)
    {'dial': 0.5}
    """
    return {
        name.removeprefix(MEASURE): value
        for name, value in point.items()
        if name.startswith(MEASURE) == measure
    }


def setting_names(names: Sequence[str]) -> dict[str, str]:
    """Names of settings as a table shows them.

    >>> setting_names(["objectives.sufficiency.weight", "measure.dial"])
    {'objectives.sufficiency.weight': 'sufficiency', 'measure.dial': 'dial'}
    """
    begin, end = WEIGHT
    short = {
        name: name.removeprefix(begin).removesuffix(end)
        if name.startswith(begin) and name.endswith(end)
        else name.rpartition(".")[2]
        for name in names
    }
    return {name: said if list(short.values()).count(said) == 1 else name for name, said in short.items()}
