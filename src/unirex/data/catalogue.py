"""The datasets known by name: what each is, whether it is here, and how to come by it."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path

from unirex.data.example import DatasetInfo
from unirex.data.named import DATASETS, find_folder
from unirex.data.remote.addresses import ADDRESSES
from unirex.errors import UserError


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
