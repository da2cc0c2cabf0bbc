"""Files of submissions: lines of JSON, read and written one at a time."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from unirex.data.rows import json_rows
from unirex.data.validate import row_at
from unirex.eraser.instances import (
    DOCUMENT_KEYS,
    INSTANCE_KEYS,
    SPAN_KEYS,
    THRESHOLD_KEYS,
    DocumentRationale,
    Instance,
    Span,
    Thresholded,
)
from unirex.eraser.parsing import Parser
from unirex.errors import UserError
from unirex.files import replace_file


def read_submission(path: Path) -> Iterator[Instance]:
    """The lines of a submission, one at a time; a key nobody knows or a value of a wrong type is an error.

    Whether they fit the data is what `validate` tells. A part that is null is one that is left out.
    """
    parser, empty = Parser(), True
    for place, row in json_rows(Path(path)):
        with row_at(place):
            empty = False
            yield parser.instance(row, place)
    if empty:
        raise UserError(f"{path}: the file is empty; a submission has a line for each annotation")


def write_submission(path: Path, instances: Iterable[Instance]) -> int:
    """Write the lines as they come, whole or not at all; floats come back from the file bit for bit."""
    count = 0

    def write(draft: Path) -> None:
        nonlocal count
        with draft.open("w", encoding="utf-8", newline="\n") as file:
            for instance in instances:
                file.write(as_line(instance))
                count += 1

    replace_file(Path(path), write)
    return count


def as_line(instance: Instance) -> str:
    """The instance as a line of JSON."""
    try:
        return json.dumps(row_of(instance), ensure_ascii=False, allow_nan=False) + "\n"
    except ValueError:
        raise UserError(
            f"annotation '{instance.annotation_id}': a score or probability is not a finite number"
        ) from None


def row_of(instance: Instance) -> dict[str, Any]:
    """The instance under the names of the file; what is None is left out."""
    return _named(instance, INSTANCE_KEYS)


def _named(part: Any, keys: Mapping[str, str]) -> dict[str, Any]:
    values = {key: getattr(part, name) for key, name in keys.items()}
    return {key: _plain(value) for key, value in values.items() if value is not None}


def _plain(value: Any) -> Any:
    if isinstance(value, Span):
        return _named(value, SPAN_KEYS)
    if isinstance(value, Thresholded):
        return _named(value, THRESHOLD_KEYS)
    if isinstance(value, DocumentRationale):
        return _named(value, DOCUMENT_KEYS)
    if isinstance(value, tuple):
        return list(value) if value and isinstance(value[0], float) else [_plain(one) for one in value]
    return dict(value) if isinstance(value, Mapping) else value
