"""A fault of a submission, and the lines it is looked for in."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from unirex.data.rows import lines
from unirex.eraser.instances import Instance
from unirex.eraser.submission import row_of
from unirex.errors import one_line


@dataclass(frozen=True, slots=True)
class Fault:
    """What is wrong, where, and how to mend it."""

    place: str  # file:line, or the file
    id: str | None  # of the annotation, if it is about one
    text: str
    docid: str | None = None

    def __str__(self) -> str:
        about = [f"annotation '{self.id}'"] if self.id else []
        about += [f"document '{self.docid}'"] if self.docid else []
        return f"{self.place}: {', '.join(about)}{': ' if about else ''}{self.text}"


@dataclass(frozen=True, slots=True)
class Line:
    """A line as JSON reads it; `fault` says why it cannot be read, where it cannot."""

    place: str
    value: Any = None
    fault: str | None = None

    @property
    def id(self) -> str | None:
        """The annotation's id, if the line has a sensible one."""
        found = self.value.get("annotation_id") if isinstance(self.value, dict) else None
        return found if isinstance(found, str) else None


def submitted(submission: str | Path | Iterable[Instance]) -> Iterator[Line]:
    """The lines of a file, whatever is in them, or those that instances would be written as."""
    if isinstance(submission, str | Path):
        path = Path(submission)
        return (_read(f"{path}:{number}", line) for number, line in enumerate(lines(path), 1))
    return (Line(one.place or f"instance {number}", row_of(one)) for number, one in enumerate(submission, 1))


def _read(place: str, line: str) -> Line:
    if not line.strip():
        return Line(place, fault="the line is blank; remove it, for the official reader stops here")
    try:
        return Line(place, json.loads(line))
    except (ValueError, RecursionError) as error:
        return Line(place, fault=f"not valid JSON ({one_line(error)}); write one object a line")
