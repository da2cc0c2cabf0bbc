"""Files over HTTP: streamed to disk, resumed where they were cut off, and verified."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from http.client import HTTPException, HTTPResponse
from pathlib import Path
from typing import Any
from urllib.error import HTTPError, URLError
from urllib.parse import urljoin, urlsplit
from urllib.request import (
    HTTPDefaultErrorHandler,
    HTTPErrorProcessor,
    HTTPHandler,
    HTTPRedirectHandler,
    HTTPSHandler,
    OpenerDirector,
    ProxyHandler,
    Request,
)

from rich.filesize import decimal

from unirex.data.download.addresses import RemoteFile
from unirex.errors import UserError, one_line
from unirex.files import Progress, say, write_file

CHUNK = 2**17
LARGEST = 8 * 2**30  # bytes at which a file of unknown length is given up
TIMEOUT = 30.0  # seconds without a byte before the server is given up
RANGE_NOT_SATISFIABLE = 416
_CONTENT_RANGE = re.compile(r"bytes (?:(\d+)-\d+|\*)/(\d+|\*)")


@dataclass(frozen=True, slots=True)
class Fetched:
    """A file that was downloaded completely."""

    file: RemoteFile
    path: Path
    size: int
    sha256: str


def fetch(file: RemoteFile, folder: Path, *, shown: bool) -> Fetched:
    """Download the file into the folder, or go on with what is there, and verify its checksum if known."""
    complete = folder / file.name
    if not complete.exists():
        partial = PartialFile(folder / f"{file.name}.part", file.url)
        _receive(file, partial, shown=shown)
        partial.finish(complete)
    with complete.open("rb") as content:
        sha256 = hashlib.file_digest(content, "sha256").hexdigest()
    if file.sha256 not in (None, sha256):
        complete.unlink()
        raise UserError(
            f"{file.url}: wrong checksum: its sha256 is {sha256}, the published one {file.sha256}. The file "
            "was removed; try again. If it happens again, it was changed at its source: do not use it"
        )
    return Fetched(file, complete, complete.stat().st_size, sha256)


@dataclass(frozen=True, slots=True)
class PartialFile:
    """The bytes received so far, and beside them a note of the version of `url` they belong to.

    Without the note nothing can be appended: the server may have another version by now.
    """

    path: Path
    url: str

    @property
    def note(self) -> Path:
        """The file that names the version."""
        return self.path.with_name(f"{self.path.name}.json")

    @property
    def size(self) -> int:
        """Bytes received so far."""
        return self.path.stat().st_size if self.path.exists() else 0

    def range_headers(self) -> dict[str, str]:
        """Request headers for the rest of the same version, or all of another; empty if not resumable."""
        version = self._version()
        if not (self.size and version):
            return {}
        return {"Range": f"bytes={self.size}-", "If-Range": version}

    def is_continued_by(self, response: HTTPResponse) -> bool:
        """Whether the response continues these bytes; not every server respects If-Range."""
        start, whole = _content_range(response)
        if start != str(self.size) or _validator(response) not in ("", self._version()):
            return False
        return not whole or self.total(response) in (None, int(whole))

    def is_complete(self, response: HTTPResponse) -> bool:
        """Whether "range not satisfiable" means that no byte is missing."""
        return _content_range(response)[1] == str(self.size)

    def total(self, response: HTTPResponse) -> int | None:
        """Size of the file once the response is received, if its length is known."""
        length = response.headers.get("Content-Length", "")
        return self.size + int(length) if length.isdigit() else None

    def begin(self, response: HTTPResponse) -> None:
        """Start again from nothing, with the version of this response."""
        self.remove()
        self.path.touch()
        if version := _validator(response):
            write_file(self.note, json.dumps({"url": self.url, "version": version}))

    def finish(self, complete: Path) -> None:
        """Give the file its final name."""
        self.path.replace(complete)
        self.remove()

    def remove(self) -> None:
        """Delete the bytes and the note."""
        self.path.unlink(missing_ok=True)
        self.note.unlink(missing_ok=True)

    def _version(self) -> str:
        try:
            note = json.loads(self.note.read_text("utf-8"))
            return str(note["version"]) if note["url"] == self.url else ""
        except (OSError, ValueError, KeyError, TypeError):
            return ""


def _validator(response: HTTPResponse) -> str:
    """The tag or date that identifies this version byte for byte; empty if the server gives none."""
    tag = response.headers.get("ETag", "")
    return tag if tag.startswith('"') else response.headers.get("Last-Modified", "")  # W/"…" is not exact


def _content_range(response: HTTPResponse) -> tuple[str, str]:
    """First byte and size of the whole file, each empty if not given."""
    match = _CONTENT_RANGE.fullmatch(response.headers.get("Content-Range", "").strip())
    return (match[1] or "", match[2].strip("*")) if match else ("", "")


def _receive(file: RemoteFile, partial: PartialFile, *, shown: bool) -> None:
    """Receive all bytes that are missing."""
    resuming = partial.range_headers()
    with _opened(file.url, resuming) as response:
        if response.status == 200:  # also of a server without ranges, or with another version by now
            partial.begin(response)
            _append(response, file, partial, shown=shown)
            return
        if resuming and response.status == 206 and partial.is_continued_by(response):
            _append(response, file, partial, shown=shown)
            return
        if resuming and response.status == RANGE_NOT_SATISFIABLE and partial.is_complete(response):
            return
    if not resuming:
        raise UserError(f"{file.url}: HTTP {response.status} is no answer to this request; try again later")
    partial.remove()  # the next request is for the whole file
    _receive(file, partial, shown=shown)


def _append(response: HTTPResponse, file: RemoteFile, partial: PartialFile, *, shown: bool) -> None:
    """Append the response; keep the bytes of a broken one only if they can be resumed."""
    try:
        _copy(response, file, partial, shown=shown)
    except BaseException:
        if not partial.range_headers():
            partial.remove()
        raise


def _copy(response: HTTPResponse, file: RemoteFile, partial: PartialFile, *, shown: bool) -> None:
    done, announced = partial.size, partial.total(response)
    if file.size is not None and announced not in (None, file.size):
        partial.remove()
        raise UserError(
            f"{file.url}: the server offers {announced} bytes, but the published file has {file.size}. It "
            "was changed, or something on the way answers in its place (a proxy, a login page)"
        )
    total = file.size if announced is None else announced
    end = LARGEST if total is None else total
    if done and shown:
        say(f"{file.name}: going on from {_state(done, total)}")
    progress = Progress(file.name, total=total, done=done, unit="bytes", shown=shown)
    with partial.path.open("ab") as out, progress:
        # Never ask for a byte more than announced: the server may keep the connection open.
        while done != announced and done <= end and (chunk := _read(response, file, done, total)):
            out.write(chunk)
            done += len(chunk)
            progress.advance(len(chunk))
    if done > end:
        partial.remove()
        raise UserError(f"{file.url}: goes on after {decimal(end)}, where it should end")
    if total is not None and done < total:
        raise _cut_off(file, done, total, "the connection was closed")


def _read(response: HTTPResponse, file: RemoteFile, done: int, total: int | None) -> bytes:
    """The bytes that have arrived. Waiting for a full chunk would lose them if the connection breaks."""
    try:
        return response.read1(CHUNK if total is None else min(CHUNK, max(total - done, 1)))
    except (HTTPException, OSError) as error:
        raise _cut_off(file, done, total, _reason(error)) from None


def _cut_off(file: RemoteFile, done: int, total: int | None, reason: str) -> UserError:
    return UserError(
        f"{file.url}: cut off after {_state(done, total)} ({reason}); run the command again, and it goes on "
        "from there if the server can"
    )


def _state(done: int, total: int | None) -> str:
    return f"{decimal(done)} of {decimal(total)}" if total else decimal(done)


@contextmanager
def _opened(url: str, headers: Mapping[str, str]) -> Iterator[HTTPResponse]:
    """The response to a request; error statuses are raised, except 416, which the caller judges."""
    from unirex import __version__

    _check_scheme(url, url)
    request = Request(url, headers={"User-Agent": f"unirex/{__version__}", **headers})
    opener = OpenerDirector()  # not `build_opener`, whose openers also read file:, ftp: and data:
    for handler in (ProxyHandler, HTTPHandler, HTTPSHandler, HTTPDefaultErrorHandler, _Redirects, _Statuses):
        opener.add_handler(handler())
    try:
        response = opener.open(request, timeout=TIMEOUT)
    except HTTPError as error:
        error.close()
        advice = "try again later"
        if error.code in (401, 403, 404, 410):
            moved = "the server refuses it" if error.code < 404 else "it was moved or withdrawn"
            advice = f"{moved}; fetch the dataset by hand and put it into its folder below the data root"
        raise UserError(f"{url}: HTTP {error.code} {error.reason}; {advice}") from None
    except (HTTPException, OSError) as error:
        raise UserError(
            f"{url}: cannot be reached ({_reason(error)}); check the network, and HTTPS_PROXY if you need one"
        ) from None
    with response:
        yield response


class _Redirects(HTTPRedirectHandler):
    """Follows redirects to http and https only."""

    def http_error_302(self, req: Request, fp: Any, code: int, msg: str, headers: Any) -> Any:
        """Check the target first."""
        try:
            _check_scheme(req.full_url, urljoin(req.full_url, headers.get("Location", "")))
        except UserError:
            fp.close()
            raise
        return super().http_error_302(req, fp, code, msg, headers)

    http_error_301 = http_error_303 = http_error_307 = http_error_308 = http_error_302


class _Statuses(HTTPErrorProcessor):
    """Raises every error status but 416, whose Content-Range the caller needs."""

    def http_response(self, request: Request, response: Any) -> Any:
        """Pass 416 on as a response."""
        if response.status == RANGE_NOT_SATISFIABLE:
            return response
        return super().http_response(request, response)

    https_response = http_response


def _check_scheme(origin: str, url: str) -> None:
    scheme = urlsplit(url).scheme
    if scheme not in ("http", "https"):
        raise UserError(f"{origin}: leads to '{url}', but only http and https are followed")
    if scheme == "http" and urlsplit(origin).scheme == "https":
        raise UserError(
            f"{origin}: leads to '{url}', and https to http is not followed; report it to the publisher"
        )


def _reason(error: Exception) -> str:
    """What went wrong on the network, in a few words."""
    reason = error.reason if isinstance(error, URLError) else error
    if isinstance(reason, TimeoutError):
        return f"nothing came for {TIMEOUT:g} s"
    return one_line(reason) if isinstance(reason, Exception) else str(reason)
