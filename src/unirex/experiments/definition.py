"""What an experiment is: rows, what varies, seeds, scales and what to draw, read from a YAML file."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from importlib.resources import files
from itertools import product
from pathlib import Path
from typing import Any

import yaml

from unirex.config import DEFAULT_PRESET, merge, read_settings
from unirex.errors import UserError, unknown

TUNE = "tune"  # the search, which is no study
ENDINGS = (".yaml", ".yml")  # of files with experiments
LIBRARY = files(__package__) / "library"
SCALES = "scales"  # the file of the library that every experiment's scales are merged with
# Of a report.
PARTS = ("table", "gains", "composite", "desiderata", "auprc-lines", "cost", "intervals", "examples")
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
    """A value in the name of a row; of an encoder's path the last part."""
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


def experiment_names() -> list[str]:
    """The experiments that come with the package."""
    names = [file.name.removesuffix(".yaml") for file in LIBRARY.iterdir() if file.name.endswith(".yaml")]
    return sorted(name for name in names if name != SCALES)


def read_definition(name: str) -> Definition:
    """The experiment of the package with this name, or in this file."""
    if name in experiment_names():
        return as_definition(_library(name), name, place=f"experiment {name}")
    if name == TUNE:
        raise UserError(f"{TUNE} is a command of its own: unirex experiment {TUNE} --method slm-fpo …")
    if not name.endswith(ENDINGS) and len(Path(name).parts) > 1:
        raise UserError(f"{name}: no study in this folder, and no experiment of one's own, a .yaml file.")
    if not name.endswith(ENDINGS):
        raise unknown("experiment", name, experiment_names())
    content = read_settings(name)
    if "name" in content:
        raise UserError(f"{name}: name: an experiment is called as its file; leave it out.")
    definition = as_definition(content, Path(name).stem, place=name)
    _check_varied(definition, name)
    return definition


def _library(name: str) -> dict[str, Any]:
    return yaml.safe_load((LIBRARY / f"{name}.yaml").read_text("utf-8"))


def as_definition(content: Settings, name: str, *, place: str) -> Definition:
    """An experiment from the content of its file; what is wrong is named with its place."""
    scales = _scales(content, place)
    rows = _table(content, "rows", place)
    if not rows:
        raise UserError(f"{place}: has no rows; each is `NAME: {{method: slm-fp}}`.")
    given = {**content, "scales": {}, "rows": []}
    definition = _built(Definition, {"about": "", "data": ["demo"], **given, "name": name}, place)
    for part in definition.report:
        if part not in PARTS:
            raise UserError(f"{place}: report: {unknown('part', part, PARTS)}")
    return replace(
        definition,
        rows=[
            _built(Row, {**_row(row, key, place), "name": key}, f"{place}: row {key}")
            for key, row in rows.items()
        ],
        scales={key: _built(Scale, scale or {}, f"{place}: scale {key}") for key, scale in scales.items()},
    )


def _check_varied(definition: Definition, place: str) -> None:
    """Refuse values at a scale for what the experiment does not vary: they would do nothing."""
    varied = dict.fromkeys([*definition.vary, *(key for row in definition.rows for key in row.vary)])
    for name, scale in definition.scales.items():
        for key in scale.vary:
            if key not in varied:
                raise UserError(f"{place}: scale {name}: vary: {unknown('setting', key, varied)}")


def _scales(content: Settings, place: str) -> dict[str, Any]:
    """All scales; settings of the library's, then of the experiment, then of its own scale."""
    library, own = _library(SCALES), _table(content, "scales", place)
    common = {"settings": _table(content, "settings", place)}
    return {
        name: merge(merge(library.get(name, {}), common), _table(own, name, f"{place}: scales"))
        for name in {**library, **own}
    }


def _row(row: Any, name: Any, place: str) -> dict[str, Any]:
    if not isinstance(name, str):
        raise UserError(f"{place}: rows: {name!r} is no name; put it in quotes.")
    if not isinstance(row, Mapping) or "method" not in row:
        raise UserError(f"{place}: row {name} needs a method, as in `{name}: {{method: slm-fp}}`.")
    return dict(row)


def _built(kind: type[Any], content: Settings, place: str) -> Any:
    """An object of these fields; an unknown or wrong one is an error that names the place."""
    known = {part.name: part for part in fields(kind)}
    for key, value in content.items():
        if key not in known:
            raise UserError(f"{place}: {unknown('key', key, known)}")
        wants = str(known[key].type)
        if value is not None and wants.startswith("Mapping") and not isinstance(value, Mapping):
            raise UserError(f"{place}: {key} is a table, not {value!r}.")
        if value is not None and wants.startswith("Settings") and not isinstance(value, Mapping):
            raise UserError(f"{place}: {key} is a table of settings, not {value!r}.")
        if value is not None and wants.startswith("Sequence") and not isinstance(value, list | tuple):
            raise UserError(f"{place}: {key} is a list, not {value!r}.")
    _check_words(content, place)
    wrong = [
        seed for seed in content.get("seeds") or () if not isinstance(seed, int) or isinstance(seed, bool)
    ]
    if wrong:
        raise UserError(f"{place}: seeds are whole numbers, not {wrong[0]!r}.")
    for key, values in (content.get("vary") or {}).items():
        if not isinstance(values, list) or not values:
            raise UserError(f"{place}: vary.{key} is a list of values, not {values!r}.")
        twice = [value for value in values if values.count(value) > 1]
        if twice:
            raise UserError(f"{place}: vary.{key}: {twice[0]!r} is there twice; give each value once.")
    for key in ("seeds", "data", "presets"):
        if content.get(key) is not None and not content[key]:
            raise UserError(f"{place}: {key} is an empty list; leave it out, or give at least one.")
    for data, table in (content.get("measured_on") or {}).items():
        _check_measured_on(table, f"{place}: measured_on.{data}")
    return kind(**{key: value for key, value in content.items() if value is not None})


def _check_words(content: Settings, place: str) -> None:
    """Refuse other values where names and sentences belong, which YAML reads as numbers or truth values."""
    for key in ("about", "method", "group"):
        if not isinstance(content.get(key, ""), str | None):
            raise UserError(f"{place}: {key} is text, not {content[key]!r}.")
    for key in ("data", "presets", "vary", "measured_on"):
        wrong = [name for name in content.get(key) or () if not isinstance(name, str)]
        if wrong:
            raise UserError(f"{place}: {key}: {wrong[0]!r} is no name; put it in quotes.")
    if not isinstance(content.get("constant"), bool | None):
        raise UserError(f"{place}: constant is true or false, not {content['constant']!r}.")


def _check_measured_on(table: Any, place: str) -> None:
    if not isinstance(table, Mapping | None):
        raise UserError(f"{place} is a table, as in {{labels: {{hate: neg}}}}, not {table!r}.")
    for key, value in (table or {}).items():
        if key != "labels":
            raise UserError(f"{place}: {unknown('key', key, ['labels'])}")
        if not isinstance(value, Mapping):
            raise UserError(f"{place}.labels is a table, as in {{hate: neg}}, not {value!r}.")
        for label, stands_for in value.items():
            if not isinstance(stands_for, str | int | float):
                raise UserError(f"{place}.labels.{label} is a label, not {stands_for!r}.")


def _table(content: Settings, key: str, place: str) -> dict[str, Any]:
    table = content.get(key) or {}
    if not isinstance(table, Mapping):
        raise UserError(f"{place}: {key} is a table, not {table!r}.")
    return dict(table)


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
