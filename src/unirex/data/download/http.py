"""One file over http or https: streamed to disk, resumed where it was cut off, checked."""

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
from unirex.data.download.progress import Progress
from unirex.errors import UserError, one_line
from unirex.files import write_file

TIMEOUT = 30.0  # seconds in which a byte must come
NO_SUCH_RANGE = 416


@contextmanager
def opened(url: str, headers: Mapping[str, str]) -> Iterator[HTTPResponse]:
    """The answer to a request, of a status that is no error (416 is one for the caller to judge)."""
    from unirex import __version__

    _check_scheme(url, url)
    request = Request(url, headers={"User-Agent": f"unirex/{__version__}", **headers})
    try:
        response = _opener().open(request, timeout=TIMEOUT)
    except HTTPError as error:
        error.close()
        raise UserError(f"{url}: HTTP {error.code} {error.reason}; {_advice(error.code)}") from None
    except (HTTPException, OSError) as error:
        raise UserError(
            f"{url}: cannot be reached ({why(error)}); check the network, and HTTPS_PROXY if you need one"
        ) from None
    with response:
        yield response


def why(error: Exception) -> str:
    """What went wrong on the way, in few words."""
    reason = error.reason if isinstance(error, URLError) else error
    if isinstance(reason, TimeoutError):
        return f"nothing came for {TIMEOUT:g} s"
    return one_line(reason) if isinstance(reason, Exception) else str(reason)


def _advice(status: int) -> str:
    if status in (401, 403, 404, 410):
        moved = "the server refuses it" if status < 404 else "it was moved or withdrawn"
        return f"{moved}; fetch the dataset by hand and put it into its folder below the data root"
    return "try again later"


def _check_scheme(origin: str, url: str) -> None:
    scheme = urlsplit(url).scheme
    if scheme not in ("http", "https"):
        raise UserError(f"{origin}: leads to '{url}', but only http and https are followed")
    if scheme == "http" and urlsplit(origin).scheme == "https":
        raise UserError(
            f"{origin}: leads to '{url}', and https to http is not followed; report it to the publisher"
        )


class _Redirects(HTTPRedirectHandler):
    """Looks where a redirect leads before it is followed."""

    def http_error_302(self, req: Request, fp: Any, code: int, msg: str, headers: Any) -> Any:
        """Follows to http and https."""
        try:
            _check_scheme(req.full_url, urljoin(req.full_url, headers.get("Location", "")))
        except UserError:
            fp.close()
            raise
        return super().http_error_302(req, fp, code, msg, headers)

    http_error_301 = http_error_303 = http_error_307 = http_error_308 = http_error_302


class _Statuses(HTTPErrorProcessor):
    """Hands on the answer to a range that is not there; who asked for it knows what it means."""

    def http_response(self, request: Request, response: Any) -> Any:
        """Every other status is treated as usual."""
        return response if response.status == NO_SUCH_RANGE else super().http_response(request, response)

    https_response = http_response


def _opener() -> OpenerDirector:
    opener = OpenerDirector()  # by hand, as the usual one also opens file:, ftp: and data:
    for handler in (ProxyHandler, HTTPHandler, HTTPSHandler, HTTPDefaultErrorHandler, _Redirects, _Statuses):
        opener.add_handler(handler())
    return opener


_RANGE = re.compile(r"bytes (?:(\d+)-\d+|\*)/(\d+|\*)")


@dataclass(frozen=True, slots=True)
class Part:
    """Bytes at `path`, with a note beside them that says of which version of `url` they are.

    Without the note nothing can be added to them: the server may have another version by now.
    """

    path: Path
    url: str

    @property
    def note(self) -> Path:
        """Where the version is kept."""
        return self.path.with_name(f"{self.path.name}.json")

    @property
    def size(self) -> int:
        """How many bytes there are."""
        return self.path.stat().st_size if self.path.exists() else 0

    def range_headers(self) -> dict[str, str]:
        """Asks for the rest of the same version, or for all of another; empty if nothing can be added."""
        version = self._version()
        if not (self.size and version):
            return {}
        return {"Range": f"bytes={self.size}-", "If-Range": version}

    def goes_on(self, response: HTTPResponse) -> bool:
        """Whether the answer continues these bytes, whatever the server made of If-Range."""
        start, whole = _content_range(response)
        if start != str(self.size) or validator(response) not in ("", self._version()):
            return False
        return not whole or self.total(response) in (None, int(whole))

    def is_whole(self, response: HTTPResponse) -> bool:
        """Whether the answer "no such range" means that nothing is missing."""
        return _content_range(response)[1] == str(self.size)

    def total(self, response: HTTPResponse) -> int | None:
        """The bytes there will be when the answer has come in full, if it says so."""
        length = response.headers.get("Content-Length", "")
        return self.size + int(length) if length.isdigit() else None

    def begin(self, response: HTTPResponse) -> None:
        """Starts from nothing with the version of the answer."""
        self.drop()
        self.path.touch()
        if version := validator(response):
            write_file(self.note, json.dumps({"url": self.url, "version": version}))

    def finish(self, whole: Path) -> None:
        """All bytes are there: the file gets its name."""
        self.path.replace(whole)
        self.drop()

    def drop(self) -> None:
        """Removes the bytes and the note."""
        self.path.unlink(missing_ok=True)
        self.note.unlink(missing_ok=True)

    def _version(self) -> str:
        try:
            kept = json.loads(self.note.read_text("utf-8"))
            return str(kept["version"]) if kept["url"] == self.url else ""
        except (OSError, ValueError, KeyError, TypeError):
            return ""


def validator(response: HTTPResponse) -> str:
    """What tells this version of a file from others, byte for byte; empty if the server does not say."""
    tag = response.headers.get("ETag", "")
    return tag if tag.startswith('"') else response.headers.get("Last-Modified", "")  # W/"…" is not exact


def _content_range(response: HTTPResponse) -> tuple[str, str]:
    """The first byte and the size of the whole, empty where not told."""
    found = _RANGE.fullmatch(response.headers.get("Content-Range", "").strip())
    return (found[1] or "", found[2].strip("*")) if found else ("", "")


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
