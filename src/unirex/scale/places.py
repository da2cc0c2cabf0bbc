"""Files and folders by path or address: local ones, and whatever fsspec opens (`s3://…`, `memory://…`)."""

from __future__ import annotations

import glob
import hashlib
import io
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO, cast

from unirex.errors import UserError, one_line
from unirex.files import locked, new_folder, replace_file

REMOTE = "://"
BLOCK = 2**20


def is_remote(place: str) -> bool:
    """Whether a place is an address, not a path."""
    return REMOTE in place


def absolute(place: str) -> str:
    """The place as another process finds it, whatever folder that one works in."""
    return place if is_remote(place) else str(Path(place).absolute())


def file_system(address: str) -> tuple[Any, str]:
    """The file system of an address, and the path there."""
    from fsspec.core import url_to_fs

    try:
        return url_to_fs(address)
    except (ImportError, ValueError) as error:
        raise UserError(f"{address}: cannot be opened here ({one_line(error)}).") from error


def matching(pattern: str) -> list[str]:
    """The files that a path, an address or a pattern stands for, in the order of their names."""
    if is_remote(pattern):
        system, path = file_system(pattern)
        try:
            found = [system.unstrip_protocol(one) for one in system.glob(path) if system.isfile(one)]
        except OSError as error:
            raise UserError(f"{pattern}: cannot be opened here ({one_line(error)}).") from error
    elif Path(pattern).exists():
        found = [pattern]
    else:
        paths = glob.glob(pattern, recursive=True)  # noqa: PTH207  (the pattern may be absolute)
        found = [path for path in paths if Path(path).is_file()]
    if not found:
        raise UserError(f"{pattern}: no such file, and no file has a name like it.")
    return sorted(found)


@contextmanager
def opened(place: str) -> Iterator[BinaryIO]:
    """A file to read bytes from, at any position."""
    if not is_remote(place):
        with Path(place).open("rb") as file:
            yield file
        return
    system, path = file_system(place)
    with system.open(path, "rb") as remote:
        yield cast(BinaryIO, io.BufferedReader(remote, BLOCK))


@dataclass(frozen=True)
class Written:
    """What a file holds."""

    bytes: int
    sha256: str

    def named(self, name: str) -> dict[str, Any]:
        """The file in a note or manifest."""
        return {"name": name, "bytes": self.bytes, "sha256": self.sha256}


@dataclass(frozen=True)
class Folder:
    """A folder to write into, by path or address; every file appears whole or not at all."""

    address: str

    @property
    def remote(self) -> bool:
        """Whether it is not on this machine's file system."""
        return is_remote(self.address)

    def path(self, name: str) -> Path:
        """The path of a file in a local folder."""
        return Path(self.address) / name

    def at(self, name: str) -> str:
        """The address of a file in it."""
        return f"{self.address.rstrip('/')}/{name}"

    def write(self, name: str, fill: Callable[[Path], object]) -> Written:
        """Let `fill` write a local draft, and put it into its place."""
        found: list[Written] = []

        def fill_and_count(draft: Path) -> None:
            fill(draft)
            found.append(_counted(draft))

        if not self.remote:
            replace_file(self.path(name), fill_and_count)
            return found[0]
        system, path = file_system(self.at(name))
        with tempfile.TemporaryDirectory() as folder:
            fill_and_count(Path(folder, "draft" + Path(name).suffix))
            system.makedirs(path.rpartition("/")[0], exist_ok=True)
            system.put_file(str(Path(folder, "draft" + Path(name).suffix)), path)
        return found[0]

    def read(self, name: str) -> bytes | None:
        """What a file in it holds; None if there is no such file."""
        try:
            with opened(self.at(name)) as file:
                return file.read()
        except (FileNotFoundError, NotADirectoryError):
            return None

    def sizes(self) -> dict[str, int]:
        """The bytes of every file in it, by name; one listing, whatever their number."""
        if not self.remote:
            place = Path(self.address)
            files = place.iterdir() if place.is_dir() else ()
            return {path.name: path.stat().st_size for path in files if path.is_file()}
        system, path = file_system(self.address)
        system.invalidate_cache(path)  # other processes write there
        found = system.ls(path, detail=True) if system.isdir(path) else ()
        return {one["name"].rpartition("/")[2]: one["size"] for one in found if one["type"] == "file"}

    def sha256(self, name: str) -> str:
        """The digest of a file in it, which is read as a whole."""
        with opened(self.at(name)) as file:
            digest = hashlib.sha256()
            while block := file.read(BLOCK):
                digest.update(block)
            return digest.hexdigest()

    def below(self, name: str) -> Folder:
        """A folder in it."""
        return Folder(self.at(name))

    @contextmanager
    def local(self, name: str) -> Iterator[Path]:
        """A path of a file in it, for what reads nothing but paths: of a remote one, of a copy."""
        if not self.remote:
            yield self.path(name)
            return
        system, path = file_system(self.at(name))
        with tempfile.TemporaryDirectory() as folder:
            copy = Path(folder, name.rpartition("/")[2])
            system.get_file(path, str(copy))
            yield copy

    def remove(self, below: str) -> None:
        """Remove a folder below, with all that is in it."""
        system, path = file_system(self.at(below))
        if system.exists(path):
            system.rm(path, recursive=True)

    @contextmanager
    def held(self) -> Iterator[None]:
        """Hold a local folder for this process; a remote one has no locks."""
        if self.remote:
            yield
            return
        with new_folder(Path(self.address)), locked(Path(self.address)):
            yield


def _counted(path: Path) -> Written:
    with path.open("rb") as file:
        return Written(path.stat().st_size, hashlib.file_digest(file, "sha256").hexdigest())
