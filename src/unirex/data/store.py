"""The dataset cache: parsed examples in memory-mapped Arrow files, found by a digest of their sources."""

from __future__ import annotations

import json
import os
import sys
from array import array
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, is_dataclass, replace
from itertools import accumulate
from pathlib import Path
from typing import TYPE_CHECKING, Any, overload

from unirex.data.cache import (
    add_entry,
    cache_folder,
    code_digest,
    content_digest,
    fingerprint,
    is_intact,
    json_digest,
)
from unirex.data.example import DatasetInfo, Example, Rationale, Splits
from unirex.data.validate import is_tolerant
from unirex.errors import UserError
from unirex.files import replace_file, write_file

if TYPE_CHECKING:
    from pyarrow import ChunkedArray
SCHEMA = 2  # version of the entry format; raise it when the files of an entry change their meaning
CODE = "unirex.data"  # the code that parsing depends on
SMALLEST = 1000  # examples: smaller datasets are parsed as fast as they are loaded
BATCH_BYTES = 1 << 20  # written at a time
ITERATED = 128  # rows fetched at a time by iteration

_encode_json = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode
_decode_json = json.JSONDecoder().decode


def cached(build: Callable[[], Splits], *, sources: Sequence[Path], settings: Mapping[str, object]) -> Splits:
    """The result of `build`, from the cache if it was built before; small datasets are built every time.

    `sources` are all files and folders that `build` reads, `settings` everything else it depends on.
    """
    folder = _usable_folder(sources)
    key = folder and _key(sources, settings)
    if not folder or not key:
        return build()
    entry = folder / "examples" / key
    found = _open_entry(entry)
    if found is not None:
        return found
    splits = build()
    # A file changed while it was read, or code while it ran, would be stored under the wrong key.
    if sum(map(len, splits.values())) < SMALLEST or key != _key(sources, settings):
        return splits
    added = add_entry(entry, lambda draft: write_splits(draft, splits))
    # From the entry if possible, so that the memory of the parsed examples is freed.
    return (_open_entry(entry) if added else None) or splits


def _usable_folder(sources: Sequence[Path]) -> Path | None:
    """The cache folder, unless the result may be incomplete or its sources cannot be read twice."""
    folder = cache_folder()
    if folder is None or is_tolerant():  # bad rows are being skipped
        return None
    try:
        for source in sources:
            if not (source.is_file() or source.is_dir()):  # a pipe, or a mistake that `build` reports
                return None
            if folder.is_relative_to(source.resolve()):  # an entry would change its own key
                return None
    except OSError:
        return None
    return folder


def _key(sources: Sequence[Path], settings: Mapping[str, object]) -> str | None:
    """Digest of the sources, settings and code; None if a source cannot be read, which `build` reports."""
    from unirex import __version__

    try:
        # Names count too: ids and dataset names are made from file names.
        content = [(source.resolve().name, content_digest(source)) for source in sources]
    except OSError:
        return None
    about = [SCHEMA, __version__, sys.version_info[:2], code_digest(CODE), settings, content]
    return json_digest(about, default=_to_json).hexdigest()


def _to_json(value: object) -> object:
    if is_dataclass(value) and not isinstance(value, type):
        return [type(value).__name__, asdict(value)]
    if isinstance(value, Mapping):
        return dict(value)
    if isinstance(value, Path):
        return str(value)
    raise TypeError(f"{value!r} cannot be part of a key: it has no lasting name")


def write_splits(folder: Path, splits: Splits) -> None:
    """Write the examples of all splits, and what is known of them, into an existing folder."""
    for split, examples in splits.items():
        write_examples(folder / f"{split}.arrow", examples)
    about = {"info": asdict(splits.info), "digest": fingerprint(splits), "splits": list(splits)}
    write_file(folder / "info.json", json.dumps(about, indent=2) + "\n")


def _open_entry(entry: Path) -> Splits | None:
    """The examples of an entry; None if it does not exist or is damaged."""
    if not is_intact(entry):
        return None
    try:
        return read_splits(entry)
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return None


def read_splits(folder: Path) -> Splits:
    """What `write_splits` wrote, mapped from disk."""
    saved = json.loads((folder / "info.json").read_text("utf-8"))
    info = DatasetInfo(**{name: _to_tuples(value) for name, value in saved["info"].items()})
    parts = {split: read_examples(folder / f"{split}.arrow") for split in saved["splits"]}
    return Splits(info, parts, digest=saved["digest"])


def _to_tuples(value: Any) -> Any:
    return tuple(map(_to_tuples, value)) if isinstance(value, list) else value


@dataclass(frozen=True, slots=True, eq=False)
class StoredExamples(Sequence[Example]):
    """Examples in a memory-mapped file, each decoded on access; a slice is a view of the same file.

    Only what is accessed is read, and the system may reclaim the memory at any time. Forked processes share
    it; a process that receives a pickled copy opens the file again.
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
        return self._decode(self.column[self.rows[index]].as_py())

    def __iter__(self) -> Iterator[Example]:
        for start in range(0, len(self.rows), ITERATED):
            part = self.rows[start : start + ITERATED]
            if part.step == 1:
                yield from map(self._decode, self.column.slice(part.start, len(part)).to_pylist())
            else:
                yield from (self._decode(self.column[row].as_py()) for row in part)

    def __reduce__(self) -> tuple[Any, ...]:
        return read_examples, (self.path, self.rows)

    def _decode(self, row: bytes) -> Example:
        try:
            return _decode(row)
        except (ValueError, TypeError) as error:
            raise UserError(f"{self.path}: a row is damaged ({error}); remove {self.path.parent}") from None


def read_examples(path: str | Path, rows: range | None = None) -> StoredExamples:
    """Open a file written by `write_examples`; examples are decoded on access."""
    import pyarrow

    try:
        with pyarrow.memory_map(os.fsencode(path)) as source, pyarrow.ipc.open_file(source) as reader:
            column = reader.read_all().column("example")
        if column.type != pyarrow.large_binary():
            raise KeyError("no column of bytes named 'example'")
        column.validate(full=True)  # the bounds of all rows, so that no access goes beyond the file
    except (pyarrow.ArrowException, OSError, KeyError) as error:
        raise UserError(f"{path}: not a file of examples: {error}") from None
    return StoredExamples(Path(path), column, range(len(column)) if rows is None else rows)


def write_examples(path: str | Path, examples: Iterable[Example]) -> None:
    """Write the examples to an Arrow file, batch by batch and atomically."""
    import pyarrow

    schema = pyarrow.schema([("example", pyarrow.large_binary())])

    def write(draft: Path) -> None:
        with pyarrow.OSFile(os.fsencode(draft), "wb") as sink, pyarrow.ipc.new_file(sink, schema) as writer:
            for rows in _batches(map(_encode, examples)):
                # Built from buffers, because `pyarrow.array` would import pandas.
                bounds = array("q", accumulate(map(len, rows), initial=0))
                buffers = [None, pyarrow.py_buffer(bounds), pyarrow.py_buffer(b"".join(rows))]
                column = pyarrow.Array.from_buffers(schema.types[0], len(rows), buffers)
                writer.write_batch(pyarrow.record_batch([column], schema=schema))

    replace_file(Path(path), write)


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


def _encode(example: Example) -> bytes:
    answers = (example.rationale, example.choices, example.groups, example.votes)
    row = (example.id, example.segments, example.label, *answers)
    return _encode_json(row).encode("utf-8", "surrogatepass")


def _decode(row: bytes) -> Example:
    saved = _decode_json(row.decode("utf-8", "surrogatepass"))
    name, segments, label, rationale, choices, groups, votes = saved
    return Example(
        name,
        tuple(segments),
        tuple(label) if isinstance(label, list) else label,
        None if rationale is None else _rationale(rationale),
        None if choices is None else tuple(choices),
        tuple(map(_rationale, groups)),
        tuple(votes),
    )


def _rationale(saved: list[list[list[int]]]) -> Rationale:
    return tuple([tuple([(start, end) for start, end in spans]) for spans in saved])
