"""The datasets known by name: how each is found on disk, loaded and described."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

from unirex.data.download.addresses import ADDRESSES, Address
from unirex.data.example import DatasetInfo, Splits
from unirex.data.store import cached
from unirex.data.validate import check_options, exists, option_names
from unirex.errors import UserError

ROOT_VARIABLE = "UNIREX_DATA"  # the folder that holds the datasets, where no root is given
NAMES = (
    "demo", "sst", "movies", "cose", "multirc", "esnli", "hatexplain", "toxic-spans", "yelp", "amazon",
    "stormfront", "offenseval", "irony",
)  # fmt: skip
# Modules, imported on first use.
DATASETS = {name: f"unirex.data.datasets.{name.replace('-', '_')}" for name in NAMES}


def load_named(name: str, *, root: str | Path | None, seed: int, options: Mapping[str, Any]) -> Splits:
    """Load a dataset of DATASETS with its module's `load`, from its folder unless it is built in."""
    module = import_module(DATASETS[name])
    check_options(f"dataset '{name}'", options, option_names(module.load))
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
    """The first of the folders that exists under `root`, or else under the folder UNIREX_DATA names."""
    root = root or os.environ.get(ROOT_VARIABLE)
    if not root:
        raise UserError(f"dataset '{name}': no data root is given; {_remedy(name, folders)}")
    for folder in folders:
        if exists(Path(root, folder)) and Path(root, folder).is_dir():
            return Path(root, folder)
    tried = ", ".join(str(Path(root, folder)) for folder in folders)
    raise UserError(
        f"dataset '{name}': not found (looked for the folder {tried}); {_remedy(name, folders[:1])}"
    )


def _remedy(name: str, folders: Sequence[str]) -> str:
    where = f"set {ROOT_VARIABLE} or --root to the folder that holds {' or '.join(folders)}"
    return f"{where}, or fetch it: unirex data download {name}" if name in ADDRESSES else where


@dataclass(frozen=True, slots=True)
class Entry:
    """What is known about one dataset of the catalogue."""

    name: str
    about: str
    info: DatasetInfo
    embedded: bool = False  # comes with the library
    folder: Path | None = None  # where it was found
    address: Address | None = None  # where it can be downloaded

    @property
    def lines(self) -> list[str]:
        """A description for people, line by line."""
        place = "not here" if self.folder is None else f"in {self.folder}"
        lines = [
            f"{self.info.task}; labels {', '.join(map(str, self.info.labels))}",
            "comes with unirex" if self.embedded else place,
        ]
        if self.address is not None:
            size = "" if self.address.size is None else f" ({self.address.size / 1e6:.1f} MB)"
            lines += [f"unirex data download {self.name}{size}", f"licence: {self.address.licence}"]
        return lines


def catalogue(root: str | Path | None = None) -> list[Entry]:
    """Entries of all datasets, found under `root` or else under the folder UNIREX_DATA names."""
    return [entry(name, root) for name in DATASETS]


def entry(name: str, root: str | Path | None = None) -> Entry:
    """The catalogue entry of one dataset."""
    module = import_module(DATASETS[name])
    folders, folder = getattr(module, "FOLDERS", ()), None
    with suppress(UserError):
        folder = find_folder(name, folders, root)
    return Entry(
        name=name,
        about=(module.__doc__ or "").strip().partition("\n")[0],
        info=module.INFO,
        embedded=not folders,
        folder=folder,
        address=ADDRESSES.get(name),
    )
