"""One file from a server: streamed to the disk, taken up again where it was cut off, and checked.

While it comes, the file is called `NAME.part`, and `NAME.part.json` says which version of it these bytes are.
If the server still has that version, only the rest is fetched; otherwise all of it.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from http.client import HTTPException, HTTPResponse
from pathlib import Path

from rich.filesize import decimal

from unirex.data.remote.addresses import RemoteFile
from unirex.data.remote.part import Part
from unirex.data.remote.progress import Progress
from unirex.data.remote.web import NO_SUCH_RANGE, opened, why
from unirex.errors import UserError

CHUNK = 2**17
LARGEST = 8 * 2**30  # where a file of untold length is stopped


@dataclass(frozen=True, slots=True)
class Fetched:
    """A file that has come in full."""

    file: RemoteFile
    path: Path
    size: int
    sha256: str


def fetch(file: RemoteFile, folder: Path, progress: Progress) -> Fetched:
    """The file in the folder, checked as far as anything is known about it."""
    whole = folder / file.name
    if not whole.exists():
        part = Part(folder / f"{file.name}.part", file.url)
        _receive(file, part, progress)
        part.finish(whole)
    with whole.open("rb") as content:
        sha256 = hashlib.file_digest(content, "sha256").hexdigest()
    if file.sha256 not in (None, sha256):
        whole.unlink()
        raise UserError(
            f"{file.url}: wrong checksum: its sha256 is {sha256}, the published one {file.sha256}. The file "
            "was removed; try again. If it happens again, it was changed at its source: do not use it"
        )
    return Fetched(file, whole, whole.stat().st_size, sha256)


def _receive(file: RemoteFile, part: Part, progress: Progress) -> None:
    """All bytes of the file that are not there yet."""
    asked = part.range_headers()
    with opened(file.url, asked) as response:
        if _take(response, file, part, progress, resuming=bool(asked)):
            return
    if not asked:
        raise UserError(f"{file.url}: HTTP {response.status} is no answer to this request; try again later")
    part.drop()  # so that all of it is asked for
    _receive(file, part, progress)


def _take(
    response: HTTPResponse, file: RemoteFile, part: Part, progress: Progress, *, resuming: bool
) -> bool:
    """Whether the answer, with what was there before, makes the file."""
    if response.status == 200:  # also from a server that knows no ranges, or has another version by now
        part.begin(response)
    elif resuming and response.status == NO_SUCH_RANGE and part.is_whole(response):
        return True
    elif not (resuming and response.status == 206 and part.goes_on(response)):
        return False
    try:
        _copy(response, file, part, progress)
    except BaseException:
        if not part.range_headers():  # it could never go on from here
            part.drop()
        raise
    return True


def _copy(response: HTTPResponse, file: RemoteFile, part: Part, progress: Progress) -> None:
    done, told = part.size, part.total(response)
    if file.size is not None and told not in (None, file.size):
        part.drop()
        raise UserError(
            f"{file.url}: the server offers {told} bytes, but the published file has {file.size}. It was "
            "changed, or something on the way answers in its place (a proxy, a login page)"
        )
    total = file.size if told is None else told
    end = LARGEST if total is None else total
    progress.start(file.name, done=done, total=total)
    with part.path.open("ab") as out:
        # Not a byte more than was told is asked for: the server may keep the connection open.
        while done != told and done <= end and (chunk := _read(response, file, done, total)):
            out.write(chunk)
            done += len(chunk)
            progress.advance(len(chunk))
    if done > end:
        part.drop()
        raise UserError(f"{file.url}: goes on after {decimal(end)}, where it should end")
    if total is not None and done < total:
        raise _cut_off(file, done, total, "the connection was closed")


def _read(response: HTTPResponse, file: RemoteFile, done: int, total: int | None) -> bytes:
    """What has come by now; waiting for more would lose it if the connection breaks."""
    try:
        return response.read1(CHUNK if total is None else min(CHUNK, max(total - done, 1)))
    except (HTTPException, OSError) as error:
        raise _cut_off(file, done, total, why(error)) from None


def _cut_off(file: RemoteFile, done: int, total: int | None, reason: str) -> UserError:
    of = f" of {decimal(total)}" if total else ""
    return UserError(
        f"{file.url}: cut off after {decimal(done)}{of} ({reason}); run the command again, and it goes on "
        "from there if the server can"
    )
