"""Parsed examples on disk: written once as Arrow, mapped into memory, found again by content."""

from __future__ import annotations

import hashlib
import json
import os
import sys
from array import array
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, is_dataclass, replace
from itertools import accumulate
from pathlib import Path
from typing import TYPE_CHECKING, Any, overload

from unirex.data.cache import cache_folder, keep
from unirex.data.example import DatasetInfo, Example, Rationale, Splits
from unirex.data.fingerprint import code_digest, content_digest, fingerprint
from unirex.data.validate import is_collecting
from unirex.errors import UserError
from unirex.files import replace_file, write_file

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


SCHEMA = 1  # to be raised when the files of an entry change their meaning
CODE = "unirex.data"  # what parsing depends on
SMALLEST = 1000  # examples: fewer are parsed as fast as they are found


def cached(build: Callable[[], Splits], *, sources: Sequence[Path], settings: Mapping[str, object]) -> Splits:
    """What `build` gives, from the cache if it was built before; small datasets are built every time.

    `sources` are all files and folders that `build` reads, `settings` all else that it depends on.
    """
    folder = _usable_folder(sources)
    key = folder and _key(sources, settings)
    if not folder or not key:
        return build()
    entry = folder / "examples" / key
    return _open_entry(entry) or _built(build, entry, lambda: key == _key(sources, settings))


def _built(build: Callable[[], Splits], entry: Path, unchanged: Callable[[], bool]) -> Splits:
    """What `build` gives, by now from its entry, so that the memory it took is free again."""
    splits = build()
    # Files written to while they were read, or code while it ran, would go under a wrong name.
    if sum(map(len, splits.values())) < SMALLEST or not unchanged():
        return splits
    kept = keep(
        entry, lambda draft: _write_entry(draft, splits), intact=lambda there: _open_entry(there) is not None
    )
    return (_open_entry(entry) if kept else None) or splits


def _usable_folder(sources: Sequence[Path]) -> Path | None:
    """The cache folder, unless what is built may lack something or its sources cannot be read twice."""
    folder = cache_folder()
    if folder is None or is_collecting():  # whoever collects problems gets no bad rows
        return None
    try:
        for source in sources:
            if not (source.is_file() or source.is_dir()):  # a pipe, or a mistake that `build` will tell
                return None
            if folder.is_relative_to(source.resolve()):  # each entry would change the key of the next
                return None
    except OSError:
        return None
    return folder


def _key(sources: Sequence[Path], settings: Mapping[str, object]) -> str | None:
    """The name for what is built from these; None where something cannot be read, which `build` will tell."""
    from unirex import __version__

    try:
        # Names count too: ids and datasets are called after their files.
        content = [(source.resolve().name, content_digest(source)) for source in sources]
    except OSError:
        return None
    about = [SCHEMA, __version__, sys.version_info[:2], code_digest(CODE), settings, content]
    return hashlib.sha256(json.dumps(about, sort_keys=True, default=_plain).encode()).hexdigest()


def _plain(value: object) -> object:
    if is_dataclass(value) and not isinstance(value, type):
        return [type(value).__name__, asdict(value)]
    if isinstance(value, Mapping):
        return dict(value)
    if isinstance(value, Path):
        return str(value)
    raise TypeError(f"{value!r} cannot be part of a key: it has no lasting name")


def _write_entry(folder: Path, splits: Splits) -> None:
    sizes = {}
    for split, examples in splits.items():
        path = folder / f"{split}.arrow"
        write_examples(path, examples)
        sizes[split] = path.stat().st_size
    about = {"info": asdict(splits.info), "digest": fingerprint(splits), "sizes": sizes}
    write_file(folder / "info.json", json.dumps(about, indent=2) + "\n")


def _open_entry(entry: Path) -> Splits | None:
    """The examples of an entry; None where there is none, or none in good order."""
    try:
        saved = json.loads((entry / "info.json").read_text("utf-8"))
        info = DatasetInfo(**{name: _frozen(value) for name, value in saved["info"].items()})
        for split, size in saved["sizes"].items():
            if (entry / f"{split}.arrow").stat().st_size != size:
                return None
        parts = {split: read_examples(entry / f"{split}.arrow") for split in saved["sizes"]}
        return Splits(info, parts, digest=saved["digest"])
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return None


def _frozen(value: Any) -> Any:
    return tuple(map(_frozen, value)) if isinstance(value, list) else value
