"""A folder filled from an archive that nobody has to trust."""

from __future__ import annotations

import os
import re
import unicodedata
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Protocol

from rich.filesize import decimal

from unirex.errors import UserError

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
