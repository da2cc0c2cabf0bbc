"""Presets: choices that belong together under one name, a YAML file each.

`default` is the correct behaviour, `parity` that of the released research code. Each line of a file names one
setting of training, one option of a dataset or one column of the results, and says why in its comment. One
choice of a preset is a preset too: `parity:training.dropout`.
"""

from __future__ import annotations

import logging
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any

import yaml

from unirex.config import DEFAULT_PRESET, merge
from unirex.data.catalogue import DATASETS
from unirex.data.example import Splits
from unirex.errors import UserError, unknown
from unirex.extractors import extractor_name, known_options
from unirex.methods.catalogue import FAMILIES, family, method_diff

OPTIONS = "data_options"  # how a dataset is read, beside the settings it is trained with
COLUMNS = "columns"  # what is shown, not how it comes about
SAMPLE = "data_options.sample"  # reads other examples
EACH = ":each"  # after the name of a preset, where several can be given: all its choices, one by one

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Line:
    """One choice of a preset.

    Args:
        dataset: the dataset it is for; None: all.
        name: the setting, `data_options.<name>` for reading, or `columns`.
        value: as it is written.
        reason: the known error or the place in the specification, and the effect.
    """

    dataset: str | None
    name: str
    value: str
    reason: str

    def __str__(self) -> str:
        typed = f"column {self.value}" if self.name == COLUMNS else f"--{self.name} {self.value}"
        return f"{self.dataset}: {typed}" if self.dataset else typed


@dataclass(frozen=True)
class Preset:
    """Choices under one name.

    Args:
        name: of its file.
        about: what it is for.
        lines: every choice with its reason.
        content: the file as tables.
    """

    name: str
    about: str
    lines: tuple[Line, ...]
    content: Mapping[str, Any]

    def settings(
        self, method: str, dataset: str | None = None, *, user: Mapping[str, Any] | None = None
    ) -> dict[str, Any]:
        """The settings that a method takes from the preset, without those it does not have.

        Args:
            method: its name.
            dataset: of the datasets by name, which may have settings of their own.
            user: settings of the user, which may choose another variant or extractor.
        """
        own = {key: value for key, value in self._table(dataset).items() if key != OPTIONS}
        chosen = deepcopy(merge(self.content.get("settings", {}), own))
        chosen = {key: chosen[key] for key in chosen if key not in FAMILIES or key == family(method)}
        if "extractor_options" in chosen:
            settings = merge(chosen, user or {})
            extractor = settings.get("extractor") or method_diff(method, settings)["extractor"]
            known = known_options(extractor_name(extractor), chosen["extractor_options"])
            chosen["extractor_options"] = known
        if is_choice(self.name) and _criterion(method, merge(chosen, user or {})) != "kl":
            chosen.get("objectives", {}).get("sufficiency", {}).pop("class_mean", None)  # it would do nothing
        return chosen

    def data_options(self, dataset: str | None) -> dict[str, Any]:
        """How a dataset by name is read: keyword arguments of `load_dataset`."""
        return dict(self._table(dataset).get(OPTIONS, {}))

    @property
    def columns(self) -> tuple[str, ...]:
        """The metrics to show beside the performance; empty: the usual ones."""
        return tuple(self.content.get(COLUMNS, ()))

    def choices(self, datasets: Collection[str]) -> list[str]:
        """The names of the single choices that are for all data or for one of these datasets.

        Without those of examples: what is measured on others cannot be compared.

        >>> preset("parity").choices(["sst"])[-1]
        'parity:data_options.lowercase'
        """
        lines = [line for line in self.lines if line.dataset is None or line.dataset in datasets]
        names = dict.fromkeys(line.name for line in lines if line.name not in (COLUMNS, SAMPLE))
        return [f"{self.name}:{name}" for name in names]

    def only(self, choice: str) -> Preset:
        """The preset that makes one choice of this one."""
        lines = tuple(line for line in self.lines if line.name == choice != COLUMNS)
        if not lines:
            known = dict.fromkeys(line.name for line in self.lines if line.name != COLUMNS)
            raise unknown(f"choice of preset {self.name}", choice, known)
        path = choice.split(".")
        datasets = {line.dataset: _part(self._table(line.dataset), path) for line in lines if line.dataset}
        content: dict[str, Any] = {"datasets": datasets}
        if any(line.dataset is None for line in lines):
            content["settings"] = _part(self.content["settings"], path)
        return Preset(f"{self.name}:{choice}", f"of {self.name} only {choice}", lines, content)

    def check_read(self, data: Splits) -> None:
        """Warn of a dataset that was read before, and otherwise than the preset says."""
        unread = {
            key: value
            for key, value in self.data_options(dataset_name(data)).items()
            if key not in data.origin  # given otherwise: the user's choice
        }
        if unread:
            given = ", ".join(f"{key}={value!r}" for key, value in unread.items())
            log.warning("%s was read without what preset '%s' says: %s", data.info.name, self.name, given)

    def _table(self, dataset: str | None) -> Mapping[str, Any]:
        return self.content.get("datasets", {}).get(dataset, {})


def preset_names() -> list[str]:
    """The presets, `default` first."""
    names = [file.name[:-5] for file in files(__package__).iterdir() if file.name.endswith(".yaml")]
    return sorted(names, key=lambda name: (name != DEFAULT_PRESET, name))


@cache
def preset(name: str) -> Preset:
    """The preset of this name.

    >>> preset("parity").settings("sgt")["objectives"], preset("parity").data_options("movies")
    ({'sufficiency': {'class_mean': True}}, {'offsets': 'sentence'})
    >>> preset("parity:training.dropout").settings("sgt")
    {'training': {'dropout': False}}
    """
    whole, colon, choice = name.partition(":")
    if whole not in preset_names():
        raise unknown("preset", name, preset_names())
    if f":{choice}" == EACH:
        raise UserError(f"preset '{name}': only experiments take it; name one choice, as {whole}:NAME.")
    if colon:
        return preset(whole).only(choice)
    text = (files(__package__) / f"{name}.yaml").read_text("utf-8")
    content = yaml.safe_load(text)
    return Preset(name, content["about"], tuple(_lines(text)), content)


def each_choice(names: Iterable[str], datasets: Collection[str]) -> tuple[str, ...]:
    """The names of presets with `parity:each` as all choices of `parity`, one by one; each name once.

    >>> each_choice(["default", "parity:each"], [])[:3]
    ('default', 'parity:pooling', 'parity:separators')
    """
    found: dict[str, None] = {}
    for name in names:
        whole = name.removesuffix(EACH)
        names = [name] if whole == name else preset(whole).choices(datasets)
        if not names:
            raise UserError(f"--preset {name}: '{whole}' makes no choices of its own.")
        found |= dict.fromkeys(names)
    return tuple(found)


def whole_preset(name: str) -> str:
    """The preset that this names, or names a choice of.

    >>> whole_preset("parity:training.dropout")
    'parity'
    """
    return name.partition(":")[0]


def is_choice(name: str) -> bool:
    """Whether this names one choice of a preset."""
    return ":" in name


def _part(table: Mapping[str, Any], path: Sequence[str]) -> dict[str, Any]:
    """The table with nothing but the value at the end of the path."""
    first, *rest = path
    return {first: _part(table[first], rest) if rest else table[first]}


def _criterion(method: str, settings: Mapping[str, Any]) -> str:
    """How sufficiency is measured in the training of a method."""
    objectives = merge(method_diff(method, settings), settings).get("objectives") or {}
    return str((objectives.get("sufficiency") or {}).get("criterion", ""))


def dataset_name(data: Any) -> str | None:
    """The name of a dataset that has one: of the name itself, or of what was read by it."""
    if isinstance(data, Splits):
        data = data.origin.get("source") if data.origin.get("format") == "auto" else None
    return data if isinstance(data, str) and data in DATASETS else None


def _lines(text: str) -> Iterator[Line]:
    """The choices in a file, each with the comment behind it."""
    written = text.splitlines()
    for (part, *path), node in _leaves(yaml.compose(text, yaml.SafeLoader)):
        if part == "about":
            continue
        dataset = path.pop(0) if part == "datasets" else None
        name = ".".join(path) or part
        value = text[node.start_mark.index : node.end_mark.index]
        yield Line(dataset, name, value, written[node.start_mark.line].partition("  # ")[2])


def _leaves(node: Any, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], Any]]:
    """The values of a YAML document, each with the keys that lead to it; a column is a value of its own."""
    if isinstance(node, yaml.MappingNode):
        for key, value in node.value:
            yield from _leaves(value, (*path, key.value))
    elif path == (COLUMNS,):
        yield from ((path, item) for item in node.value)
    else:
        yield path, node
