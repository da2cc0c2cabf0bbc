"""Evaluations to compare: where their records are, and which of them are seeds of one method."""

from __future__ import annotations

import json
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain, count
from pathlib import Path
from typing import Any, Protocol

from unirex.config import flat, read_settings
from unirex.errors import UserError, one_line
from unirex.evaluation.record_files import FORMATS, NAME, find_records, read_records
from unirex.evaluation.records import Record
from unirex.evaluation.value_table import ValueTable

EVALUATIONS = "evaluation"  # the folder of a run that holds its evaluations
SEEDS = ("seed", "training.gold_seed")  # settings in which runs of one method may differ
REPLACED = ("extractor", "extractor_options")  # settings of a run that `evaluate` can replace
NAMED_SETTINGS = 2  # most differing settings that fit into a method's name


class HasRecords(Protocol):
    """Results in memory, as returned by `unirex.evaluate`."""

    @property
    def name(self) -> str:
        """The name of the system."""

    @property
    def records(self) -> Iterable[Record]:
        """One record per example; can be iterated more than once."""


@dataclass(frozen=True, slots=True)
class EvaluationSource:
    """One evaluation: how to read its records, and what is known of the run they come from."""

    origin: str  # path or name, for messages
    read: Callable[[], Iterator[Record]]
    name: str | None = None  # given by the user
    folder: Path | None = None  # the run, or the file
    settings: Mapping[str, Any] = field(default_factory=dict)  # of the run
    saved: Mapping[str, Any] = field(default_factory=dict)  # metrics.json beside the records
    values: ValueTable | None = None  # instead of records, of an evaluation without texts

    @property
    def seed(self) -> object:
        """The random seed of the run; None if unknown."""
        return self.settings.get("seed")

    @property
    def protocol(self) -> Mapping[str, Any]:
        """The settings of the evaluation itself, as saved in metrics.json."""
        return _mapping(self.saved, "settings")

    @property
    def dataset(self) -> str | None:
        """The name of the evaluated dataset; None if unknown."""
        name = _mapping(self.protocol, "data").get("name")
        return None if name is None else str(name)

    @property
    def method_settings(self) -> dict[str, Any]:
        """All settings that tell methods apart, by dotted name: everything but seeds."""
        replaced = {name: self.protocol[name] for name in REPLACED if name in self.protocol}
        settings = flat({**self.settings, **replaced})
        return {name: value for name, value in settings.items() if name not in SEEDS}


EvaluationInput = str | Path | HasRecords | EvaluationSource


def find_sources(
    given: Sequence[EvaluationInput] | Mapping[str, Any], *, evaluation: str | None = None
) -> list[EvaluationSource]:
    """Every evaluation in `given`; a mapping names them, with one or a list of seeds under each name."""
    if not isinstance(given, Mapping):
        return [find_source(item, evaluation=evaluation) for item in given]
    sources = []
    for name, items in given.items():
        seeds = items if isinstance(items, list | tuple) else [items]
        sources += [find_source(item, evaluation=evaluation, name=name) for item in seeds]
    return sources


def find_source(
    given: EvaluationInput, *, evaluation: str | None = None, name: str | None = None
) -> EvaluationSource:
    """The evaluation behind a path, `NAME=path` or results in memory."""
    if isinstance(given, EvaluationSource):
        return replace(given, name=name or given.name)
    if not isinstance(given, str | Path):
        records = given.records
        return EvaluationSource(name or given.name, lambda: iter(records), name or given.name)
    if name is None and isinstance(given, str):
        name, given = split_name(given)
    path = Path(given)
    file = find_records(_place_of_records(path, evaluation))
    in_folder = file.stem == NAME  # as `unirex evaluate` writes it, with metrics.json beside it
    folder, saved = (file.parent, _read_saved(file)) if in_folder else (file, {})
    settings = _mapping(_mapping(saved, "settings"), "run")
    home = file.resolve().parent.parent
    if home.name == EVALUATIONS and (home.parent / "settings.yaml").is_file():  # in the folder of a run
        folder, settings = home.parent, read_settings(home.parent / "settings.yaml")
    return EvaluationSource(str(given), lambda: read_records(file), name, folder, settings, saved)


def split_name(text: str) -> tuple[str | None, str]:
    """`NAME=path` as a pair; an existing path stays a path, even with a "=" in it.

    >>> split_name("ours=runs/slm-fp"), split_name("runs/slm-fp")
    (('ours', 'runs/slm-fp'), (None, 'runs/slm-fp'))
    """
    name, sign, path = text.partition("=")
    if not sign or Path(text).exists():
        return None, text
    if not name.strip() or not path.strip():
        raise UserError(f"'{text}': give a name and a place, as in ours=runs/slm-fp.")
    return name.strip(), path.strip()


def _place_of_records(path: Path, evaluation: str | None) -> Path:
    """A file of records or a folder with one: the path itself, or one of the evaluations of a run."""
    if not path.exists():
        raise UserError(f"{path}: no such run, evaluation or file of records.")
    if not path.is_dir() and path.suffix.removeprefix(".") not in FORMATS:
        raise UserError(f"{path}: records are in .jsonl or .parquet files; `unirex evaluate` writes them.")
    if not path.is_dir() or _has_records(path):
        return path
    home = path / EVALUATIONS
    names = sorted(folder.name for folder in home.iterdir() if _has_records(folder)) if home.is_dir() else []
    if not names:
        raise UserError(f"{path}: no evaluation here; `unirex evaluate {path} --data …` makes one.")
    if evaluation is not None and evaluation not in names:
        raise UserError(f"{path}: no evaluation '{evaluation}'; there is: {', '.join(names)}.")
    if evaluation is None and len(names) > 1:
        raise UserError(f"{path} has several evaluations: {', '.join(names)}; choose one by --evaluation.")
    return home / (evaluation or names[0])


def _has_records(folder: Path) -> bool:
    return any((folder / f"{NAME}.{ending}").is_file() for ending in FORMATS)


def _read_saved(file: Path) -> dict[str, Any]:
    """The metrics.json beside the records; empty if there is none."""
    path = file.parent / "metrics.json"
    try:
        content = json.loads(path.read_text("utf-8"))
    except FileNotFoundError:
        return {}
    except (ValueError, OSError) as error:
        raise UserError(f"{path}: cannot be read ({one_line(error)}); evaluate again.") from error
    return content if isinstance(content, dict) else {}


def _mapping(content: Mapping[str, Any], key: str) -> Mapping[str, Any]:
    """A nested mapping of a JSON file; empty if it is missing or something else."""
    value = content.get(key)
    return value if isinstance(value, Mapping) else {}


def group_by_method(sources: Sequence[EvaluationSource]) -> dict[str, list[EvaluationSource]]:
    """The evaluations of each method by its name, in the given order.

    Evaluations to which the user gave one name belong together. So do runs whose settings are equal but for
    the seed. Methods of the same name are distinguished by the settings that differ, or else by their
    folders.
    """
    groups: dict[Hashable, list[EvaluationSource]] = {}
    for number, source in enumerate(sources):
        key: Hashable = number
        if source.name is not None:
            key = "name", source.name
        elif source.settings:
            key = "settings", json.dumps(source.method_settings, sort_keys=True, default=str)
        groups.setdefault(key, []).append(source)
    methods = []
    for group in groups.values():
        seeds = {str(source.seed) for source in group}
        # If a seed occurs twice, these are not seeds of one method.
        repeated = group[0].name is None and len(seeds) < len(group)
        methods += [[source] for source in group] if repeated else [group]
    return dict(zip(_unique_names([method[0] for method in methods]), methods, strict=True))


def _unique_names(sources: Sequence[EvaluationSource]) -> list[str]:
    """For each source: the name given by the user, else the method, else the system's name, or the file's."""
    plain = []
    for source in sources:
        name = source.name or source.settings.get("method") or source.saved.get("system")
        plain.append(str(name or (source.folder.stem if source.folder else source.origin)))
    names: list[str] = []
    for source, name in zip(sources, plain, strict=True):
        rivals = [other for other, its_name in zip(sources, plain, strict=True) if its_name == name]
        unique = name if len(rivals) == 1 else f"{name} ({_distinction(source, rivals)})"
        numbered = chain([unique], (f"{unique} {number}" for number in count(2)))
        names.append(next(candidate for candidate in numbered if candidate not in names))
    return names


def _distinction(source: EvaluationSource, rivals: Sequence[EvaluationSource]) -> str:
    """The settings in which a method differs from others of its name, or its folder if they are many."""
    tables = [rival.method_settings for rival in rivals]
    keys = dict.fromkeys(key for table in tables for key in table)
    differing = [key for key in keys if len({str(table.get(key)) for table in tables}) > 1]
    if 1 <= len(differing) <= NAMED_SETTINGS:
        return ", ".join(_setting(key, source.method_settings.get(key)) for key in differing)
    return source.folder.name if source.folder else source.origin


def _setting(key: str, value: object) -> str:
    """A setting in a few words; a value that is a word says enough by itself.

    >>> _setting("extractor", "deeplift"), _setting("training.epochs", 9), _setting("stride", None)
    ('deeplift', 'epochs 9', 'stride none')
    """
    if isinstance(value, str):
        return value
    shown = "none" if value is None else f"{value:g}" if isinstance(value, float) else str(value)
    return f"{key.rpartition('.')[2]} {shown}"
