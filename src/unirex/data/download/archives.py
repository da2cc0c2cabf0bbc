"""Safe unpacking of archives from the network (zip, tar, tar.gz).

The standard library extracts; what it accepts but a dataset never needs is refused before: odd names, links,
devices, a name twice, and far more or far larger files than an honest archive of that size holds.
"""

from __future__ import annotations

import errno
import gzip
import io
import os
import re
import shutil
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

from rich.filesize import decimal

from unirex.errors import UserError, one_line

CHUNK = 2**20
HEADER = 2**20  # bytes between two files of a tar: `tarfile` reads headers whole into memory
TAR_NAMES = (".tar", ".tar.gz", ".tgz")
_CONTROL = re.compile(r"[\x00-\x1f\x7f]")
_DAMAGED = (
    zipfile.BadZipFile, tarfile.TarError, zlib.error, struct.error, EOFError, ValueError, RuntimeError
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class UnpackLimits:
    """How much an archive may hold before it is refused as a bomb.

    Args:
        total: bytes of all files together.
        largest: bytes of one file.
        ratio: bytes unpacked per byte packed; does not apply to the first `allowance` bytes.
        allowance: bytes that any archive may unpack to.
        members: number of files and folders.
    """

    total: int = 8 * 2**30
    largest: int = 4 * 2**30
    ratio: int = 200
    allowance: int = 64 * 2**20
    members: int = 200_000

    def budget(self, packed: int) -> int:
        """Bytes that an archive of `packed` bytes may unpack to."""
        return min(self.total, max(self.allowance, self.ratio * packed))


def unpack(archive: Path, folder: Path, *, limits: UnpackLimits | None = None) -> list[PurePosixPath]:
    """Unpack the archive into the folder; a file that is no archive is copied there.

    Links are never made. Their paths are returned, as they matter only if they stand among the data: see
    `pick`.
    """
    limits = limits or UnpackLimits()
    folder.mkdir(parents=True, exist_ok=True)
    members = _Members(limits.budget(archive.stat().st_size), limits)
    name = archive.name.lower()
    with _named_errors(archive):
        if name.endswith(".zip"):
            _unzip(archive, folder, members)
        elif name.endswith(TAR_NAMES):
            with archive.open("rb") if name.endswith(".tar") else gzip.open(archive, "rb") as packed:
                _untar(packed, folder, members)
        else:
            members.add_file(archive.name, archive.stat().st_size)
            shutil.copyfile(archive, folder / archive.name)
    return members.links


def pick(folder: Path, holds: Sequence[str], *, named: str, links: Sequence[PurePosixPath] = ()) -> Path:
    """The dataset's folder among what was unpacked: the one that holds these names.

    If several do, it is the one called `named`, or else the outermost.
    """
    candidates = [Path(at) for at, folders, files in os.walk(folder) if {*holds} <= {*folders, *files}]
    if not candidates:
        there = ", ".join(sorted(path.name for path in folder.iterdir())[:5]) or "nothing"
        raise UserError(f"no folder in it holds {', '.join(holds)}; there is {there}")
    chosen = min(candidates, key=lambda path: (path.name != named, len(path.parts), path))
    for link in links:
        if (folder / link).is_relative_to(chosen):
            raise refused(str(link), "is a link")
    return chosen


def refused(member: str, fault: str) -> UserError:
    """The error for a member that an honest archive does not have."""
    return UserError(f"refused, for its member {member[:200]!r} {fault}")


@contextmanager
def _named_errors(archive: Path) -> Iterator[None]:
    """Name the archive in every error about its content; errors of the disk pass unchanged."""
    try:
        yield
    except UserError as error:
        raise UserError(f"{archive.name}: {error}") from None
    except (*_DAMAGED, OSError) as error:
        # Decompressors raise OSErrors without a number; a seek to an offset that no file has gives EINVAL.
        if isinstance(error, OSError) and error.errno not in (None, errno.EINVAL):
            raise
        raise UserError(f"{archive.name}: not a readable archive ({one_line(error)})") from None


def _unzip(archive: Path, folder: Path, members: _Members) -> None:
    with zipfile.ZipFile(archive) as packed:
        for member in packed.infolist():
            name = member.orig_filename  # as written in the archive; `filename` ends at a NUL
            kind = stat.S_IFMT(member.external_attr >> 16)
            if stat.S_ISLNK(kind):
                members.add_link(name)
                continue
            if kind not in (0, stat.S_IFREG, stat.S_IFDIR):
                raise refused(name, "is neither a file nor a folder")
            if member.is_dir():
                members.add_folder(name)
            else:
                members.add_file(name, member.file_size)  # `zipfile` never reads more than this
            packed.extract(member, folder)


def _untar(packed: io.BufferedIOBase, folder: Path, members: _Members) -> None:
    if not hasattr(tarfile, "data_filter"):
        raise UserError("needs tarfile's extraction filters to be unpacked; use Python 3.11.4 or newer")
    meter = _Meter(packed, members.budget)
    with tarfile.open(fileobj=meter, mode="r|") as tar:  # type: ignore[call-overload]
        for member in tar:
            if member.issym() or member.islnk():
                members.add_link(member.name)
            elif member.isdir() or member.isreg():
                if member.isdir():
                    members.add_folder(member.name)
                else:
                    members.add_file(member.name, member.size)
                    meter.allow(member.name, member.size)
                # No attributes: modes, owners and times of the archive are not taken over.
                tar.extract(member, folder, set_attrs=False, filter="data")
            else:
                raise refused(member.name, "is neither a file nor a folder")
            meter.allow(member.name, 0)
        meter.finish()


class _Members:
    """The members of an archive, each checked before it is extracted."""

    def __init__(self, budget: int, limits: UnpackLimits) -> None:
        self.budget, self.limits = budget, limits
        self.links: list[PurePosixPath] = []
        self._left = budget
        self._is_folder: dict[tuple[str, ...], bool] = {}

    def add_folder(self, name: str) -> None:
        """Accept a folder; one may be listed more than once."""
        parts = parts_of(name)
        if parts:  # "./" is the folder itself
            self._claim(name, parts, folder=True)

    def add_link(self, name: str) -> None:
        """Note a link, which is not made: nothing else may have its name or lie below it."""
        parts = parts_of(name)
        self._claim(name, parts, folder=False)
        self.links.append(PurePosixPath(*parts))

    def add_file(self, name: str, size: int) -> None:
        """Accept a file of `size` bytes."""
        self._claim(name, parts_of(name), folder=False)
        if not 0 <= size <= self.limits.largest:
            raise refused(name, f"is larger than {decimal(self.limits.largest)}")
        self._left -= size
        if self._left < 0:
            raise refused(name, "unpacks to far more than such an archive should hold")

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


def parts_of(name: str) -> tuple[str, ...]:
    """The path that a member's name stands for, if it stays inside the folder on every system.

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


class _Meter:
    """The bytes of a tar, no more of them than the current member and one header account for."""

    def __init__(self, packed: io.BufferedIOBase, budget: int) -> None:
        self._packed, self._budget = packed, budget
        self.allow("", 0)

    def allow(self, member: str, size: int) -> None:
        """Announce what comes next: the content of a member, or (size 0) what follows it."""
        self._member, self._left = member, size + HEADER

    def read(self, size: int) -> bytes:
        """The next bytes, as `tarfile` asks for them."""
        data = self._packed.read(size)
        self._left -= len(data)
        self._budget -= len(data)
        if self._left < 0 or self._budget < 0:
            raise refused(self._member, "is followed by far more than such an archive should hold")
        return data

    def finish(self) -> None:
        """Read to the end: a gzip file has its checksum there."""
        self._left = self._budget
        while self.read(CHUNK):
            pass
