"""The part of a file that has come so far, and which version of the file it belongs to."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from http.client import HTTPResponse
from pathlib import Path

from unirex.files import write_file

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
