"""Archives from the network (zip, tar, tar.gz, gz), unpacked without trusting them."""

from __future__ import annotations

import errno
import gzip
import os
import re
import stat
import struct
import tarfile
import unicodedata
import zipfile
import zlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Protocol

from rich.filesize import decimal

from unirex.errors import UserError, one_line

CHUNK = 2**20
_CONTROL = re.compile(r"[\x00-\x1f\x7f]")


class Readable(Protocol):
    """Bytes that come bit by bit."""

    def read(self, size: int, /) -> bytes:
        """The next of them, none at the end."""
        ...


@dataclass(frozen=True, slots=True)
class Limits:
    """How much may come out of an archive before it counts as a trap.

    Args:
        total: bytes of all files together.
        largest: bytes of one file.
        ratio: bytes unpacked for each byte packed; the first `allowance` bytes are free of it.
        members: files and folders.
    """

    total: int = 8 * 2**30
    largest: int = 4 * 2**30
    ratio: int = 200
    allowance: int = 64 * 2**20
    members: int = 200_000

    def budget(self, packed: int) -> int:
        """The bytes that an archive of this size may unpack to."""
        return min(self.total, max(self.allowance, self.ratio * packed))


def refused(member: str, fault: str) -> UserError:
    """The error for a member that a decent archive does not have."""
    return UserError(f"refused, for its member {member[:200]!r} {fault}")


def parts_of(name: str) -> tuple[str, ...]:
    """The folders and the file that a member's name stands for, if all of them stay inside.

    >>> parts_of("./docs/a.txt")
    ('docs', 'a.txt')
    >>> parts_of("docs/../../a.txt")
    Traceback (most recent call last):
    unirex.errors.UserError: refused, for its member 'docs/../../a.txt' leads out of its folder
    """
    parts = tuple(part for part in name.split("/") if part not in ("", "."))
    if name.startswith("/"):
        raise refused(name, "has an absolute path")
    if "\\" in name or ":" in name:  # separators, drives and streams of Windows
        raise refused(name, "has a Windows path")
    if ".." in parts:
        raise refused(name, "leads out of its folder")
    if _CONTROL.search(name):
        raise refused(name, "has control characters in its name")
    if any(len(os.fsencode(part)) > 255 for part in parts):
        raise refused(name, "has a name that is too long")
    return parts


class SafeFolder:
    """What an archive puts here stays here: no way out, no links, no name twice, no more than the budget."""

    def __init__(self, path: Path, *, budget: int, limits: Limits) -> None:
        self.path, self.limits = path, limits
        self.links: list[PurePosixPath] = []
        self._left = budget
        self._is_folder: dict[tuple[str, ...], bool] = {}
        path.mkdir(parents=True, exist_ok=True)

    def make(self, name: str) -> None:
        """A folder in the folder."""
        parts = parts_of(name)
        if parts:  # "./" is the folder itself
            self._claim(name, parts, folder=True)
            self.path.joinpath(*parts).mkdir(parents=True, exist_ok=True)

    def leave_out(self, name: str) -> None:
        """A link: its name is taken, but nothing is made."""
        parts = parts_of(name)
        self._claim(name, parts, folder=False)
        self.links.append(PurePosixPath(*parts))

    def write(self, name: str, packed: Readable, *, size: int = 0) -> None:
        """A file, whose size may have been announced."""
        parts = parts_of(name)
        self._claim(name, parts, folder=False)
        self._check_size(name, size, more=size)
        path = self.path.joinpath(*parts)
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("xb") as file:
            while chunk := packed.read(CHUNK):
                self._check_size(name, file.tell() + len(chunk), more=len(chunk))
                self._left -= len(chunk)
                file.write(chunk)

    def _claim(self, name: str, parts: tuple[str, ...], *, folder: bool) -> None:
        if not parts:
            raise refused(name, "has no name")
        # Some file systems take "A" and "a", or two spellings of "é", for the same.
        key = tuple(unicodedata.normalize("NFC", part).casefold() for part in parts)
        for depth in range(1, len(key)):
            if not self._is_folder.setdefault(key[:depth], True):
                raise refused(name, "lies below a member that is no folder")
        if key in self._is_folder and not (folder and self._is_folder[key]):
            raise refused(name, "is there twice")
        self._is_folder[key] = folder
        if len(self._is_folder) > self.limits.members:
            raise refused(name, f"is one more than the {self.limits.members} there may be")

    def _check_size(self, name: str, size: int, *, more: int) -> None:
        if not 0 <= size <= self.limits.largest:
            raise refused(name, f"is larger than {decimal(self.limits.largest)}")
        if more > self._left:
            raise refused(name, "unpacks to far more than such an archive should hold")


HEADER = 2**20  # bytes between two files of a tar; the library reads headers whole into memory
_DAMAGED = (
    zipfile.BadZipFile, tarfile.TarError, zlib.error, struct.error, EOFError, ValueError, RuntimeError
)  # fmt: skip


def unpack(archive: Path, folder: Path, *, limits: Limits | None = None) -> list[PurePosixPath]:
    """Puts what the archive holds into the folder; a file that is no archive is copied there.

    Links are not made but returned, as what matters is whether one stands among the data: see `pick`.
    """
    limits = limits or Limits()
    budget = limits.budget(archive.stat().st_size)
    inside = SafeFolder(folder, budget=budget, limits=limits)
    name = archive.name.lower()
    with _told(archive):
        if name.endswith(".zip"):
            _unzip(archive, inside)
        elif name.endswith((".tar", ".tar.gz", ".tgz")):
            with archive.open("rb") if name.endswith(".tar") else gzip.open(archive, "rb") as packed:
                _untar(_Meter(packed, budget), inside)
        elif name.endswith(".gz"):
            with gzip.open(archive, "rb") as packed:
                inside.write(archive.name[: -len(".gz")], packed)
        else:
            with archive.open("rb") as packed:
                inside.write(archive.name, packed)
    return inside.links


def pick(folder: Path, holds: Sequence[str], *, named: str, links: Sequence[PurePosixPath] = ()) -> Path:
    """The folder among what was unpacked that is the dataset: it holds these names.

    Where several do, the one called `named` is meant, or else the outermost.
    """
    found = [Path(at) for at, folders, files in os.walk(folder) if {*holds} <= {*folders, *files}]
    if not found:
        there = ", ".join(sorted(path.name for path in folder.iterdir())[:5]) or "nothing"
        raise UserError(f"no folder in it holds {', '.join(holds)}; there is {there}")
    chosen = min(found, key=lambda path: (path.name != named, len(path.parts), path))
    for link in links:
        if (folder / link).is_relative_to(chosen):
            raise refused(str(link), "is a link")
    return chosen


@contextmanager
def _told(archive: Path) -> Iterator[None]:
    """What is wrong with an archive, in one sentence; trouble with the disk stays what it is."""
    try:
        yield
    except UserError as error:
        raise UserError(f"{archive.name}: {error}") from None
    except (*_DAMAGED, OSError) as error:
        # Decompressors raise OSErrors without a number, and so does a seek to where no archive can point.
        if isinstance(error, OSError) and error.errno not in (None, errno.EINVAL):
            raise
        raise UserError(f"{archive.name}: not a readable archive ({one_line(error)})") from None


def _unzip(archive: Path, inside: SafeFolder) -> None:
    with zipfile.ZipFile(archive) as packed:
        for member in packed.infolist():
            name = member.orig_filename  # as it is written; `filename` ends at a NUL
            kind = stat.S_IFMT(member.external_attr >> 16)
            if stat.S_ISLNK(kind):
                inside.leave_out(name)
            elif kind not in (0, stat.S_IFREG, stat.S_IFDIR):
                raise refused(name, "is neither a file nor a folder")
            elif member.is_dir():
                inside.make(name)
            else:
                with packed.open(member) as file:
                    inside.write(name, file, size=member.file_size)


def _untar(packed: _Meter, inside: SafeFolder) -> None:
    with tarfile.open(fileobj=packed, mode="r|") as tar:  # type: ignore[call-overload]
        while member := tar.next():
            if member.issym() or member.islnk():
                inside.leave_out(member.name)
            elif member.isdir():
                inside.make(member.name)
            elif member.isreg():
                packed.allow(member.name, member.size)
                _write_member(tar, member, inside)
            else:
                raise refused(member.name, "is neither a file nor a folder")
            packed.allow(member.name, 0)
        packed.finish()


def _write_member(tar: tarfile.TarFile, member: tarfile.TarInfo, inside: SafeFolder) -> None:
    file = tar.extractfile(member)
    if file is None:
        raise refused(member.name, "has no content")
    with file:
        inside.write(member.name, file, size=member.size)


class _Meter:
    """The bytes of a tar, no more of them than the member at hand and one header explain."""

    def __init__(self, packed: Readable, budget: int) -> None:
        self._packed, self._budget = packed, budget
        self.allow("", 0)

    def allow(self, member: str, size: int) -> None:
        """What comes next: the content of a member, or (size 0) what follows it."""
        self._member, self._left = member, max(size, 0) + HEADER

    def read(self, size: int) -> bytes:
        """The next bytes, as `tarfile` asks for them."""
        data = self._packed.read(size)
        self._left -= len(data)
        self._budget -= len(data)
        if self._left < 0 or self._budget < 0:
            raise refused(self._member, "is followed by far more than such an archive should hold")
        return data

    def finish(self) -> None:
        """Reads to the end, as only there a gzip says whether all of it was right."""
        self._left = self._budget
        while self.read(CHUNK):
            pass
