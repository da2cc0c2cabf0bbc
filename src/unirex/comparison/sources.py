"""Where evaluations are found (runs, folders, record files, results), and which are seeds of one method."""

from __future__ import annotations

import json
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

from unirex.config import flat, read_settings
from unirex.errors import UserError, one_line
from unirex.evaluation.record_files import FORMATS, NAME, find_records, read_records
from unirex.evaluation.records import Record

EVALUATIONS = "evaluation"  # the folder of a run that holds them


class HasRecords(Protocol):
    """Results in memory, as `unirex.evaluate` gives them."""

    @property
    def name(self) -> str:
        """What the system is called."""

    @property
    def records(self) -> Iterable[Record]:
        """One an example; can be gone through again."""


Given = str | Path | HasRecords


@dataclass(frozen=True, slots=True)
class Place:
    """One evaluation: how to read its records, and what is known of the run they come from."""

    said: str  # how to call it in a message
    read: Callable[[], Iterator[Record]]
    name: str | None = None  # as the user wants it called
    folder: Path | None = None  # the run, or the file
    settings: Mapping[str, Any] = field(default_factory=dict)  # of the run
    saved: Mapping[str, Any] = field(default_factory=dict)  # metrics.json beside the records

    @property
    def seed(self) -> object:
        """What the run was drawn with; None if unknown."""
        return self.settings.get("seed")

    @property
    def data(self) -> str | None:
        """What the texts are of; None if nobody told."""
        name = _table(_table(self.saved, "settings"), "data").get("name")
        return None if name is None else str(name)


def find_places(given: Sequence[Given] | Mapping[str, Any], *, evaluation: str | None = None) -> list[Place]:
    """Every evaluation that is meant; a table names them, and may have several seeds under one name."""
    if not isinstance(given, Mapping):
        return [find_place(one, evaluation=evaluation) for one in given]
    found = []
    for name, some in given.items():
        several = some if isinstance(some, list | tuple) else [some]
        found += [find_place(one, evaluation=evaluation, name=name) for one in several]
    return found


def find_place(given: Given, *, evaluation: str | None = None, name: str | None = None) -> Place:
    """The evaluation that a path, `NAME=path` or a `Results` means."""
    if not isinstance(given, str | Path):
        records = given.records
        return Place(name or given.name, lambda: iter(records), name or given.name)
    if name is None and isinstance(given, str):
        name, given = split_name(given)
    path = Path(given)
    file = find_records(_chosen(path, evaluation) if path.is_dir() else _file(path))
    run, saved = run_of(file), _saved(file) if file.stem == NAME else {}
    return Place(
        said=str(given),
        read=lambda: read_records(file),
        name=name,
        folder=run or (file if file.stem != NAME else file.parent),
        settings=read_settings(run / "settings.yaml") if run else _table(_table(saved, "settings"), "run"),
        saved=saved,
    )


def split_name(text: str) -> tuple[str | None, str]:
    """`NAME=path`, taken apart; a path that exists is a path, whatever signs are in it.

    >>> split_name("ours=runs/slm-fp"), split_name("runs/slm-fp")
    (('ours', 'runs/slm-fp'), (None, 'runs/slm-fp'))
    """
    name, sign, path = text.partition("=")
    if not sign or Path(text).exists():
        return None, text
    if not name.strip() or not path.strip():
        raise UserError(f"'{text}': give a name and a place, as in ours=runs/slm-fp.")
    return name.strip(), path.strip()


def _file(path: Path) -> Path:
    if not path.exists():
        raise UserError(f"{path}: no such run, evaluation or file of records.")
    if path.suffix.removeprefix(".") not in FORMATS:
        raise UserError(f"{path}: records are in .jsonl or .parquet files; `unirex evaluate` writes them.")
    return path


def _chosen(folder: Path, evaluation: str | None) -> Path:
    """The evaluation that is meant by a folder: itself, or one of those of a run."""
    if _has_records(folder):
        return folder
    home = folder / EVALUATIONS
    there = sorted(one.name for one in home.iterdir() if _has_records(one)) if home.is_dir() else []
    if not there:
        raise UserError(f"{folder}: no evaluation here; `unirex evaluate {folder} --data …` makes one.")
    if evaluation is not None and evaluation not in there:
        raise UserError(f"{folder}: no evaluation '{evaluation}'; there is: {', '.join(there)}.")
    if evaluation is None and len(there) > 1:
        raise UserError(f"{folder} has several evaluations: {', '.join(there)}; choose one by --evaluation.")
    return home / (evaluation or there[0])


def _has_records(folder: Path) -> bool:
    return any((folder / f"{NAME}.{ending}").is_file() for ending in FORMATS)


def run_of(file: Path) -> Path | None:
    """The run an evaluation lies in; None if it lies elsewhere."""
    home = file.resolve().parent.parent
    known = home.name == EVALUATIONS and (home.parent / "settings.yaml").is_file()
    return home.parent if known else None


def _table(saved: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    """A part of what was kept; empty if it is not there or is something else."""
    found = saved.get(name)
    return found if isinstance(found, Mapping) else {}


def _saved(file: Path) -> dict[str, Any]:
    """What the evaluation came to when it was made; nothing if that was not kept."""
    path = file.parent / "metrics.json"
    try:
        found = json.loads(path.read_text("utf-8"))
    except FileNotFoundError:
        return {}
    except (ValueError, OSError) as error:
        raise UserError(f"{path}: cannot be read ({one_line(error)}); evaluate again.") from error
    return found if isinstance(found, dict) else {}


SEEDS = ("seed", "training.gold_seed")  # settings in which runs of one method may differ
FACTS = ("extractor", "extractor_options")  # evaluation may choose others than the run's
SAID = 2  # so many differences fit into a name

Group = list[Place]


def named(places: Sequence[Place]) -> dict[str, Group]:
    """The evaluations of each method, by its name, in the order they were given.

    Evaluations under one name that the user gave belong together. So do runs whose settings are equal but
    for the seed. Methods of the same name are told apart by what differs, or else by their folders.
    """
    groups: dict[Hashable, Group] = {}
    for number, place in enumerate(places):
        groups.setdefault(_key(place, number), []).append(place)
    apart = [one for group in groups.values() for one in _without_repeats(group)]
    return dict(zip(_names(apart), apart, strict=True))


def _key(place: Place, number: int) -> Hashable:
    """What evaluations of one method have in common."""
    if place.name is not None:
        return "name", place.name
    if not place.settings:
        return "alone", number
    return "settings", json.dumps(described(place), sort_keys=True, default=str)


def _without_repeats(group: Group) -> list[Group]:
    """The group, or its runs one by one if they are no seeds of one thing: a seed comes twice."""
    seeds = [one.seed for one in group]
    if group[0].name is None and len(set(map(str, seeds))) < len(seeds):
        return [[one] for one in group]
    return [group]


def described(place: Place) -> dict[str, Any]:
    """All settings a method is told apart by, as dotted names."""
    facts = place.saved.get("settings") or {}
    settings = {**place.settings, **{name: facts[name] for name in FACTS if name in facts}}
    return {name: value for name, value in flat(settings).items() if name not in SEEDS}


def _names(groups: Sequence[Group]) -> list[str]:
    plain = [_plain_name(group[0]) for group in groups]
    found: list[str] = []
    for group, name in zip(groups, plain, strict=True):
        rivals = [other for other, theirs in zip(groups, plain, strict=True) if theirs == name]
        wanted = name if len(rivals) == 1 else f"{name} ({_apart(group, rivals)})"
        found.append(_free(wanted, found))
    return found


def _plain_name(place: Place) -> str:
    """What the user calls it, or else its method, or what its evaluation calls it, or its file."""
    told = place.name or place.settings.get("method") or place.saved.get("system")
    return str(told or (place.folder.stem if place.folder else place.said))


def _apart(group: Group, rivals: Sequence[Group]) -> str:
    """What sets a method off against others of its name."""
    tables = [described(other[0]) for other in rivals]
    keys = dict.fromkeys(key for table in tables for key in table)
    differing = [key for key in keys if len({str(table.get(key)) for table in tables}) > 1]
    ours = described(group[0])
    if 1 <= len(differing) <= SAID:
        return ", ".join(_said(key, ours.get(key)) for key in differing)
    return group[0].folder.name if group[0].folder else group[0].said


def _said(key: str, value: object) -> str:
    """A setting in a few words; what is a word already says enough.

    >>> _said("extractor", "deeplift"), _said("training.epochs", 9), _said("stride", None)
    ('deeplift', 'epochs 9', 'stride none')
    """
    if isinstance(value, str):
        return value
    shown = "none" if value is None else f"{value:g}" if isinstance(value, float) else str(value)
    return f"{key.rpartition('.')[2]} {shown}"


def _free(name: str, taken: Sequence[str]) -> str:
    """The name, with a number if it is taken."""
    number = 2
    while name in taken:
        name = f"{name} {number}" if number == 2 else f"{name.rpartition(' ')[0]} {number}"
        number += 1
    return name
