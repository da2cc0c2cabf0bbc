"""Rows of a data file with their locations: JSON Lines, CSV, TSV, Parquet or plain text."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import TypeVar

from unirex.data.validate import row_at
from unirex.errors import UserError

Item = TypeVar("Item")
TableRow = Mapping[str, object]  # values by column name
PlacedRow = tuple[str, dict[str, object]]  # where the row is ("file:line" or "file: row N"), its values


def read_rows(path: Path) -> Iterator[PlacedRow]:
    """Rows of a file in any format of READERS, one at a time; an empty file is an error."""
    return nonempty(READERS[path.suffix.lower()](path), path, unit="row")


def nonempty(items: Iterable[Item], path: Path, *, unit: str) -> Iterator[Item]:
    """The items read from a file; a file that is unreadable or has none raises a `UserError`."""
    empty = True
    try:
        for item in items:
            empty = False
            yield item
    except OSError as error:
        raise UserError(f"{path}: cannot be read: {error.strerror or error}") from None
    if empty:
        raise UserError(f"{path}: the file is empty; it needs at least one {unit}")


def estimate_row_count(path: Path) -> int | None:
    """Approximate number of rows, without parsing the file; None if unknown.

    For text formats this is the number of lines, including the header, blank lines and line breaks inside
    quoted fields.
    """
    if path.suffix.lower() not in READERS:
        return None
    if path.suffix.lower() == ".parquet":
        import pyarrow
        from pyarrow import parquet

        try:
            return int(parquet.read_metadata(path).num_rows)
        except (OSError, pyarrow.ArrowException):
            return None  # the reader reports the error
    try:
        with path.open("rb") as file:
            return sum(block.count(b"\n") for block in iter(lambda: file.read(2**20), b""))
    except OSError:
        return None


def read_lines(path: Path) -> Iterator[str]:
    """Lines of a UTF-8 file, ends included. Only `\\n` ends a line: texts may hold U+2028 and the like."""
    bytes_before = 0
    try:
        with path.open("rb") as file:
            for number, raw in enumerate(file, 1):
                line = _decode(raw, path, number, bytes_before)
                bytes_before += len(raw)
                yield line.removeprefix("\ufeff") if number == 1 else line  # Excel's byte order mark
    except OSError as error:
        raise UserError(f"{path}: cannot be read: {error.strerror or error}") from None


def _decode(raw: bytes, path: Path, number: int, bytes_before: int) -> str:
    try:
        return raw.decode()
    except UnicodeDecodeError as error:
        with row_at(f"{path}:{number}"):
            raise UserError(
                f"not UTF-8 at byte {error.start} of the line "
                f"(byte {bytes_before + error.start} of the file); save the file as UTF-8"
            ) from None
    # Reached only while problems are collected: later lines must keep their numbers.
    return raw.decode(errors="replace")


def text_rows(path: Path) -> Iterator[PlacedRow]:
    """One text per line; blank lines are skipped."""
    for number, line in enumerate(read_lines(path), 1):
        if line.strip():
            yield f"{path}:{number}", {"text": line.rstrip("\r\n")}


def json_rows(path: Path) -> Iterator[PlacedRow]:
    """One JSON object per line; blank lines are skipped."""
    for number, line in enumerate(read_lines(path), 1):
        if line.strip():
            with row_at(f"{path}:{number}"):
                yield f"{path}:{number}", json_object(line)


def json_object(line: str) -> dict[str, object]:
    """The JSON object on a line of JSON Lines."""
    try:
        row = json.loads(line)
    except json.JSONDecodeError as error:
        raise UserError(f"malformed JSON at column {error.colno}: {error.msg}") from None
    except (ValueError, RecursionError) as error:  # a number with thousands of digits; endless nesting
        raise UserError(f"unreadable JSON: {error}") from None
    if not isinstance(row, dict):
        raise UserError('a line must be a JSON object like {"text": "...", "label": "..."}')
    return row


def csv_rows(path: Path) -> Iterator[PlacedRow]:
    """Rows of a CSV or TSV file, by the column names in its header."""
    header: list[str] = []
    for place, fields in csv_fields(path):
        if not header:
            header = [name.strip() for name in fields]
            repeated = sorted({name for name in header if header.count(name) > 1})
            if repeated:
                raise UserError(f"{place}: column '{repeated[0]}' is there twice; rename one")
            continue
        with row_at(place):
            if len(fields) > len(header):
                raise UserError(
                    f"{len(fields)} fields, but the header has {len(header)}; "
                    "put double quotes around a field that holds the delimiter"
                )
            # Spreadsheets drop empty fields at the end of a row.
            yield place, {**dict.fromkeys(header, ""), **dict(zip(header, fields, strict=False))}


def csv_fields(path: Path) -> Iterator[tuple[str, list[str]]]:
    """Raw fields of each CSV or TSV record, the header included; blank lines are skipped."""
    csv.field_size_limit(2**31 - 1)  # the largest a C long holds everywhere; a text may be a book
    # Strict: otherwise an unclosed quote silently swallows the rest of the file.
    delimiter = "\t" if path.suffix.lower() == ".tsv" else ","
    reader = csv.reader(read_lines(path), delimiter=delimiter, strict=True)
    while True:
        place, fields = f"{path}:{reader.line_num + 1}", []
        try:
            fields = next(reader)
        except StopIteration:
            return
        except csv.Error as error:
            with row_at(place):
                raise UserError(f"malformed row: {error}; close each quote, double those inside") from None
        if fields:
            yield place, fields


def parquet_rows(path: Path) -> Iterator[PlacedRow]:
    """Rows of a Parquet file, a few hundred in memory at a time."""
    import pyarrow
    from pyarrow import parquet

    number = 0
    try:
        # Buffered: otherwise a whole row group (often the whole file) is in memory at once.
        with parquet.ParquetFile(path, buffer_size=2**20, pre_buffer=False) as file:
            for batch in file.iter_batches(batch_size=256):
                for row in batch.to_pylist():
                    number += 1
                    yield f"{path}: row {number}", row
    except UnicodeDecodeError as error:
        raise UserError(f"{path}: row {number + 1} or soon after: not UTF-8 at byte {error.start}") from None
    except pyarrow.ArrowException as error:
        raise UserError(f"{path}: not a readable Parquet file: {error}") from None


READERS: dict[str, Callable[[Path], Iterator[PlacedRow]]] = {
    ".jsonl": json_rows,
    ".ndjson": json_rows,
    ".csv": csv_rows,
    ".tsv": csv_rows,
    ".parquet": parquet_rows,
    ".txt": text_rows,
}
TABLES = tuple(suffix for suffix in READERS if suffix != ".txt")
