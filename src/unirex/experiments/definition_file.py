"""Experiments read from YAML files, ours and those of users; what is wrong is named with its place."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, replace
from importlib.resources import files
from pathlib import Path
from typing import Any

import yaml

from unirex.config import merge, read_settings
from unirex.errors import UserError, unknown
from unirex.experiments.definition import PARTS, SEED, Definition, Row, Scale, Settings

TUNE = "tune"  # the search, which is no study
ENDINGS = (".yaml", ".yml")  # of files with experiments
LIBRARY = files(__package__) / "library"
SCALES = "scales"  # the file of the library that every experiment's scales are merged with


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
    definition = as_definition(_over_scales(content), Path(name).stem, place=name)
    _check_varied(definition, name)
    return definition


def _over_scales(content: Settings) -> dict[str, Any]:
    """A user's experiment: its data, seeds and options of measuring go over those of the library's scales."""
    own = {key: content[key] for key in ("data", "seeds", "measure") if content.get(key) is not None}
    scales = content.get("scales") or {}
    if not isinstance(scales, Mapping) or not isinstance(own.get("measure", {}), Mapping):
        return dict(content)  # refused where it is read
    names = {**_library(SCALES), **scales}
    return {
        **content,
        "scales": {
            name: merge(own, table) if isinstance(table := scales.get(name) or {}, Mapping) else table
            for name in names
        },
    }


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
    _check_kinds({part.name: str(part.type) for part in fields(kind)}, content, place)
    for check in (_check_words, _check_seeds, _check_vary, _check_lists):
        check(content, place)
    for data, table in (content.get("measured_on") or {}).items():
        _check_measured_on(table, f"{place}: measured_on.{data}")
    return kind(**{key: value for key, value in content.items() if value is not None})


def _check_kinds(kinds: Mapping[str, str], content: Settings, place: str) -> None:
    """Refuse keys that are no fields, and tables and lists where others belong."""
    for key, value in content.items():
        if key not in kinds:
            raise UserError(f"{place}: {unknown('key', key, [name for name in kinds if name != 'name'])}")
        if value is None:
            continue
        if kinds[key].startswith("Mapping") and not isinstance(value, Mapping):
            raise UserError(f"{place}: {key} is a table, not {value!r}.")
        if kinds[key].startswith("Settings") and not isinstance(value, Mapping):
            raise UserError(f"{place}: {key} is a table of settings, not {value!r}.")
        if kinds[key].startswith("Sequence") and not isinstance(value, list | tuple):
            raise UserError(f"{place}: {key} is a list, not {value!r}.")


def _check_seeds(content: Settings, place: str) -> None:
    for seed in content.get("seeds") or ():
        if not isinstance(seed, int) or isinstance(seed, bool) or seed < 0:
            raise UserError(f"{place}: seeds are whole numbers from 0 on, not {seed!r}.")
    for table in ("settings", "vary"):
        if SEED in (content.get(table) or {}):
            raise UserError(f"{place}: {table}.{SEED}: every training has a seed of `seeds: [0, 1, 2]`.")


def _check_vary(content: Settings, place: str) -> None:
    """Refuse what is no list of different values."""
    for key, values in (content.get("vary") or {}).items():
        if not isinstance(values, list) or not values:
            raise UserError(f"{place}: vary.{key} is a list of values, not {values!r}.")
        twice = [value for value in values if values.count(value) > 1]
        if twice:
            raise UserError(f"{place}: vary.{key}: {twice[0]!r} is there twice; give each value once.")


def _check_lists(content: Settings, place: str) -> None:
    for key in ("seeds", "data", "presets"):
        if content.get(key) is not None and not content[key]:
            raise UserError(f"{place}: {key} is an empty list; leave it out, or give at least one.")


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
