"""Examples on disk: parsed once, then mapped into memory and decoded one at a time."""

from __future__ import annotations

import json
import os
from array import array
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import accumulate
from pathlib import Path
from typing import TYPE_CHECKING, Any, overload

from unirex.data.example import Example, Rationale
from unirex.errors import UserError
from unirex.files import replace_file

if TYPE_CHECKING:
    from pyarrow import ChunkedArray

BATCH_BYTES = 1 << 20  # written at a time
ITERATED = 128  # rows fetched at a time when all are wanted in order

_encode_json = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode
_decode_json = json.JSONDecoder().decode


@dataclass(frozen=True, slots=True, eq=False)
class StoredExamples(Sequence[Example]):
    """Examples in a file, each decoded when it is asked for; a slice is a view of the same file.

    Only what is looked at is read, and the system may take the memory back at any time. Processes that
    fork share it; one that gets a pickled copy opens the file again.
    """

    path: Path
    column: ChunkedArray = field(repr=False)  # one JSON text per example
    rows: range

    def __len__(self) -> int:
        return len(self.rows)

    @overload
    def __getitem__(self, index: int) -> Example: ...
    @overload
    def __getitem__(self, index: slice) -> StoredExamples: ...
    def __getitem__(self, index: int | slice) -> Example | StoredExamples:
        if isinstance(index, slice):
            return replace(self, rows=self.rows[index])
        return self._decoded(self.column[self.rows[index]].as_py())

    def __iter__(self) -> Iterator[Example]:
        for start in range(0, len(self.rows), ITERATED):
            part = self.rows[start : start + ITERATED]
            if part.step == 1:
                yield from map(self._decoded, self.column.slice(part.start, len(part)).to_pylist())
            else:
                yield from (self._decoded(self.column[row].as_py()) for row in part)

    def __reduce__(self) -> tuple[Any, ...]:
        return read_examples, (self.path, self.rows)

    def _decoded(self, row: bytes) -> Example:
        try:
            return _decode(row)
        except (ValueError, TypeError) as error:
            raise UserError(f"{self.path}: a row is damaged ({error}); remove {self.path.parent}") from None


def read_examples(path: str | Path, rows: range | None = None) -> StoredExamples:
    """The examples of a file `write_examples` made. Opening it decodes nothing."""
    import pyarrow

    try:
        with pyarrow.memory_map(os.fsencode(path)) as source, pyarrow.ipc.open_file(source) as reader:
            column = reader.read_all().column("example")
        if column.type != pyarrow.large_binary():
            raise KeyError("no column of bytes named 'example'")
        column.validate(full=True)  # the bounds of all rows: nothing beyond the file is ever touched
    except (pyarrow.ArrowException, OSError, KeyError) as error:
        raise UserError(f"{path}: not a file of examples: {error}") from None
    return StoredExamples(Path(path), column, range(len(column)) if rows is None else rows)


def write_examples(path: str | Path, examples: Iterable[Example]) -> None:
    """Put the examples in an Arrow file, a few at a time, the whole file or none of it."""
    replace_file(Path(path), lambda draft: _write(draft, examples))


def _write(path: Path, examples: Iterable[Example]) -> None:
    import pyarrow

    schema = pyarrow.schema([("example", pyarrow.large_binary())])
    with pyarrow.OSFile(os.fsencode(path), "wb") as sink, pyarrow.ipc.new_file(sink, schema) as writer:
        for rows in _batches(map(_encode, examples)):
            # From its buffers, as `pyarrow.array` imports pandas to learn that a list is none of its.
            bounds = array("q", accumulate(map(len, rows), initial=0))
            buffers = [None, pyarrow.py_buffer(bounds), pyarrow.py_buffer(b"".join(rows))]
            column = pyarrow.Array.from_buffers(schema.types[0], len(rows), buffers)
            writer.write_batch(pyarrow.record_batch([column], schema=schema))


def _batches(rows: Iterable[bytes]) -> Iterator[list[bytes]]:
    batch, size = [], 0
    for row in rows:
        batch.append(row)
        size += len(row)
        if size >= BATCH_BYTES:
            yield batch
            batch, size = [], 0
    if batch:
        yield batch


def _encode(one: Example) -> bytes:
    row = (one.id, one.segments, one.label, one.rationale, one.choices, one.groups)
    return _encode_json(row).encode("utf-8", "surrogatepass")


def _decode(row: bytes) -> Example:
    name, segments, label, rationale, choices, groups = _decode_json(row.decode("utf-8", "surrogatepass"))
    return Example(
        name,
        tuple(segments),
        label,
        None if rationale is None else _rationale(rationale),
        None if choices is None else tuple(choices),
        tuple(map(_rationale, groups)),
    )


def _rationale(saved: list[list[list[int]]]) -> Rationale:
    return tuple([tuple([(start, end) for start, end in spans]) for spans in saved])
