"""Archives from the network: zip, tar, tar.gz and gz, unpacked without trusting them.

No member gets out of its folder, no link or device is ever made, no name is written twice, and an archive
that unpacks to far more than it weighs is stopped. A refusal names the member; what was unpacked until then
is the caller's to remove.
"""

from __future__ import annotations

import errno
import gzip
import os
import stat
import struct
import tarfile
import zipfile
import zlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path, PurePosixPath

from unirex.data.remote.safe_folder import CHUNK, Limits, Readable, SafeFolder, refused
from unirex.errors import UserError, one_line

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
