"""The datasets known by name: where each is looked for, how it is loaded, and how to come by it."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from importlib import import_module
from inspect import Parameter, signature
from pathlib import Path
from typing import Any

from unirex.data.download.addresses import ADDRESSES
from unirex.data.example import DatasetInfo, Splits
from unirex.data.store import cached
from unirex.data.validate import exists
from unirex.errors import UserError, unknown

ROOT_VARIABLE = "UNIREX_DATA"  # the folder that holds the datasets, where no root is given
_NAMES = (
    "demo", "sst", "movies", "cose", "multirc", "esnli", "yelp", "amazon", "stormfront", "offenseval", "irony"
)  # fmt: skip
DATASETS = {
    name: f"unirex.data.datasets.{name}" for name in _NAMES
}  # imported when asked for: naming costs nothing


def load_named(name: str, *, root: str | Path | None, seed: int, options: Mapping[str, Any]) -> Splits:
    """A dataset of DATASETS; its module's `load` takes the folder, unless the module writes its own texts."""
    module = import_module(DATASETS[name])
    check_options(f"dataset '{name}'", options, taken_by(module.load))
    folders: Sequence[str] = getattr(module, "FOLDERS", ())
    if not folders:
        splits: Splits = module.load(seed=seed, **options)
        return splits
    folder = find_folder(name, folders, root)
    return cached(
        lambda: module.load(folder, seed=seed, **options),
        sources=[folder],
        settings={"dataset": name, "seed": seed, "options": dict(options)},
    )


def find_folder(name: str, folders: Sequence[str], root: str | Path | None = None) -> Path:
    """The first of the folders that is there, under `root` or else under what UNIREX_DATA names."""
    root = root or os.environ.get(ROOT_VARIABLE)
    if not root:
        raise UserError(f"dataset '{name}': nobody said where the datasets are; {_remedy(name, folders)}")
    for folder in folders:
        if exists(Path(root, folder)) and Path(root, folder).is_dir():
            return Path(root, folder)
    looked = ", ".join(str(Path(root, folder)) for folder in folders)
    raise UserError(
        f"dataset '{name}': not found (looked for the folder {looked}); {_remedy(name, folders[:1])}"
    )


def taken_by(function: object) -> list[str]:
    """The options of a dataset's `load` or a format's `read`: its keyword-only arguments, save the seed."""
    if not callable(function):
        raise TypeError(f"{function!r} is no function")
    parameters = signature(function).parameters.values()
    return [one.name for one in parameters if one.kind is Parameter.KEYWORD_ONLY and one.name != "seed"]


def check_options(whose: str, given: Mapping[str, Any], known: Sequence[str]) -> None:
    """Nothing is asked of a reader that it would not do."""
    for name in given:
        if name not in known:
            raise UserError(f"{whose}: {unknown('option', name, known)}")


def _remedy(name: str, folders: Sequence[str]) -> str:
    where = f"set {ROOT_VARIABLE} or --root to the folder that holds {' or '.join(folders)}"
    return f"{where}, or fetch it: unirex data download {name}" if name in ADDRESSES else where


@dataclass(frozen=True, slots=True)
class Entry:
    """One dataset of the catalogue."""

    name: str
    about: str
    info: DatasetInfo
    embedded: bool = False  # comes with the library
    folder: Path | None = None  # where it was found
    size: int | None = None  # bytes to download, if that is known
    downloadable: bool = False
    licence: str | None = None

    @property
    def lines(self) -> list[str]:
        """What there is to know, for people."""
        place = "not here" if self.folder is None else f"in {self.folder}"
        size = "" if self.size is None else f" ({self.size / 1e6:.1f} MB)"
        found = [
            f"{self.info.task}; labels {', '.join(map(str, self.info.labels))}",
            "comes with unirex" if self.embedded else place,
            f"unirex data download {self.name}{size}" if self.downloadable else None,
            f"licence: {self.licence}" if self.licence else None,
        ]
        return [line for line in found if line]


def catalogue(root: str | Path | None = None) -> list[Entry]:
    """Every named dataset, looked for under `root` or else under what UNIREX_DATA names."""
    return [entry(name, root) for name in DATASETS]


def entry(name: str, root: str | Path | None = None) -> Entry:
    """What is known of one dataset."""
    module = import_module(DATASETS[name])
    address, folders, folder = ADDRESSES.get(name), getattr(module, "FOLDERS", ()), None
    with suppress(UserError):
        folder = find_folder(name, folders, root)
    return Entry(
        name=name,
        about=(module.__doc__ or "").strip().partition("\n")[0],
        info=module.INFO,
        embedded=not folders,
        folder=folder,
        size=address.size if address else None,
        downloadable=address is not None,
        licence=address.licence if address else None,
    )
