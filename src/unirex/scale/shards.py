"""A corpus as shards: ranges of its files that are read, run and written by themselves."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from itertools import islice
from pathlib import Path
from typing import Any, BinaryIO

from unirex.data.cache import json_digest
from unirex.data.example import Example
from unirex.data.formats.table import Columns, DatasetRecord, input_records, placed_records, read_inputs
from unirex.data.rows import READERS, PlacedRow, json_rows_of, nonempty, parquet_rows_of
from unirex.data.validate import check_file, file_kind
from unirex.errors import UserError, one_line
from unirex.scale.places import BLOCK, absolute, is_remote, matching, opened

WINDOW = 1024  # texts that a system sorts by length together (`system.WINDOW`, whose import takes seconds)
SHARD_ROWS = 16 * WINDOW  # whole windows: the batches of a shard are those of the uncut file
LINES = (".jsonl", ".ndjson")


@dataclass(frozen=True)
class Source:
    """A file of a corpus, compared by content.

    Args:
        name: as the user gave it, for ids and messages.
        place: absolute path or address.
        bytes: its size.
        rows: how many it has; None: known only after reading.
        sha256: of its bytes.
    """

    name: str
    place: str
    bytes: int
    rows: int | None
    sha256: str


@dataclass(frozen=True)
class Shard:
    """A part of a corpus that one worker reads, runs and writes.

    Args:
        number: its place in the corpus, from 0.
        key: digest of what is in it.
        rows: how many it has; None: known only after reading.
        source: the file it is of; None: it holds its examples.
        start: of JSON Lines the first byte, of Parquet the first row, from 0.
        end: where the next shard starts; None: at the end of a file that is read as a whole.
        first: number of the first line or row in the file, from 1.
        examples: those of a shard that is of no file.
    """

    number: int
    key: str
    rows: int | None = None
    source: Source | None = None
    start: int = 0
    end: int | None = None
    first: int = 1
    examples: tuple[Example, ...] = ()

    @property
    def part(self) -> str:
        """The name of what is written of it, without its ending."""
        return f"part-{self.number:05d}"

    def __str__(self) -> str:
        rows = "" if self.rows is None else f", {self.rows} rows from {self.first} on"
        return (
            f"{self.part} ({self.source.name}{rows})" if self.source else f"{self.part} ({self.rows} texts)"
        )

    def read(self, columns: Columns) -> Iterator[Example]:
        """Its examples, in order; a bad row is an error that names the file and the line."""
        if self.source is None:
            return iter(self.examples)
        return (record.example for record in _records(self, self.source, columns))


def _records(shard: Shard, source: Source, columns: Columns) -> Iterator[DatasetRecord]:
    name = source.name
    if shard.end is None:
        return read_inputs(name if Path(name).exists() else source.place, columns=columns)
    rows = _rows(name, source.place, start=shard.start, end=shard.end, first=shard.first)
    return input_records(Path(name), rows, columns=columns)


def _rows(
    name: str, place: str, *, start: int = 0, end: int | None = None, first: int = 1
) -> Iterator[PlacedRow]:
    """The rows of JSON Lines or Parquet from a byte or row on; `first` is the number of the first."""
    try:
        with opened(place) as file:
            if file_kind(Path(name)) == ".parquet":
                yield from parquet_rows_of(file, name, start=start, end=end)
            else:
                yield from json_rows_of(_lines(file, start, end), name, first=first, bytes_before=start)
    except OSError as error:
        raise UserError(f"{name}: cannot be read ({one_line(error)}).") from error


def _lines(file: BinaryIO, start: int, end: int | None) -> Iterator[bytes]:
    file.seek(start)
    while (end is None or start < end) and (line := file.readline()):
        start += len(line)
        yield line


def remote_records(address: str, **options: Any) -> Iterator[DatasetRecord]:
    """The labelled rows of a file at an address, as `stream_records` of a table reads those of a local one.

    `options` are those of `placed_records`.
    """
    _check_remote(address)
    path = Path(address)

    def rows() -> Iterator[PlacedRow]:
        return nonempty(_rows(address, address), path, unit="row")

    return placed_records(path, rows, **options)


def _check_remote(address: str) -> None:
    """Refuse an address of a file that is read from local paths only."""
    if file_kind(Path(address)) not in (*LINES, ".parquet") or Path(address).suffix == ".gz":
        raise UserError(
            f"{address}: only .jsonl and .parquet are read from there; convert it, or copy it here."
        )


def find_shards(pattern: str, *, rows: int = SHARD_ROWS) -> tuple[list[Source], list[Shard]]:
    """The files of a corpus and their shards of at most `rows` rows, found in one pass over the bytes.

    JSON Lines are cut at line ends and Parquet between rows, so that one large file is as parallel as many
    small ones; a file of any other kind, or a compressed one, is one shard.
    """
    _check_rows(rows)
    sources: list[Source] = []
    shards: list[Shard] = []
    for name in matching(pattern):
        source, cuts = _scanned(name, rows)
        sources.append(source)
        shards += [replace(cut, number=len(shards) + number) for number, cut in enumerate(cuts)]
    return sources, shards


def _check_rows(rows: int) -> None:
    if rows < 1:
        raise UserError(f"--shard_rows {rows}: give at least 1.")


def _scanned(name: str, rows: int) -> tuple[Source, list[Shard]]:
    """A file and its shards, numbered later."""
    path, kind, place = Path(name), file_kind(Path(name)), absolute(name)
    if is_remote(name):
        _check_remote(name)
    else:
        check_file(path, suffixes=tuple(READERS))
    try:
        with opened(place) as file:
            if kind in LINES and path.suffix != ".gz":
                return _cut_lines(name, place, file, rows)
            digest, size = _digest(file)
            if kind != ".parquet":
                source = Source(name, place, size, None, digest)
                return source, [Shard(0, digest, source=source)]
            file.seek(0)
            return _cut_rows(Source(name, place, size, _row_count(name, file), digest), rows)
    except OSError as error:
        raise UserError(f"{name}: cannot be read ({one_line(error)}).") from error


def _cut_lines(name: str, place: str, file: BinaryIO, rows: int) -> tuple[Source, list[Shard]]:
    """Cut a file of JSON Lines after every `rows` lines that are not blank."""
    digest = hashlib.sha256()
    cuts: list[tuple[int, int, int]] = [(0, 1, 0)]  # byte, line and row at which a shard begins
    size = filled = number = 0
    for number, line in enumerate(file, 1):
        digest.update(line)
        size += len(line)
        if not line.isspace():
            filled += 1
            if filled % rows == 0:
                cuts.append((size, number + 1, filled))
    if filled == cuts[-1][2] and len(cuts) > 1:
        cuts.pop()  # after the last row there are at most blank lines
    if not filled:
        raise UserError(f"{name}: the file is empty; it needs at least one row")
    source = Source(name, place, size, filled, digest.hexdigest())
    ends = [*cuts[1:], (size, number + 1, filled)]
    return source, [
        Shard(0, _key(source, start, end), after - before, source, start, end, line)
        for (start, line, before), (end, _, after) in zip(cuts, ends, strict=True)
    ]


def _cut_rows(source: Source, rows: int) -> tuple[Source, list[Shard]]:
    total = source.rows or 0
    if not total:
        raise UserError(f"{source.name}: the file is empty; it needs at least one row")
    ranges = [(start, min(start + rows, total)) for start in range(0, total, rows)]
    return source, [
        Shard(0, _key(source, start, end), end - start, source, start, end, start + 1)
        for start, end in ranges
    ]


def _key(source: Source, start: int, end: int) -> str:
    return f"{source.sha256}:{start}-{end}"


def _digest(file: BinaryIO) -> tuple[str, int]:
    digest, size = hashlib.sha256(), 0
    while block := file.read(BLOCK):
        digest.update(block)
        size += len(block)
    return digest.hexdigest(), size


def _row_count(name: str, file: BinaryIO) -> int:
    import pyarrow
    from pyarrow import parquet

    try:
        return int(parquet.ParquetFile(file).metadata.num_rows)
    except pyarrow.ArrowException as error:
        raise UserError(f"{name}: not a readable Parquet file: {one_line(error)}") from error


def example_shards(examples: Iterable[Example], *, rows: int = SHARD_ROWS) -> Iterator[Shard]:
    """Shards of examples that this process reads, made as they are asked for."""
    _check_rows(rows)
    source, number = iter(examples), 0
    while chunk := tuple(islice(source, rows)):
        key = json_digest([asdict(example) for example in chunk], default=str).hexdigest()
        yield Shard(number, key, len(chunk), examples=chunk)
        number += 1


def total_rows(shards: Sequence[Shard]) -> int | None:
    """The rows of all shards; None if those of one are not known."""
    counts: list[Any] = [shard.rows for shard in shards]
    return None if None in counts else sum(counts)
