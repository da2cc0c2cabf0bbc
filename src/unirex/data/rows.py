"""Rows of a data file with their locations: JSON, JSON Lines, CSV, TSV, Parquet, Excel or plain text.

Files may be compressed by gzip (`.csv.gz`). Of CSV and plain text the encoding is seen from the bytes, of CSV
the delimiter from the header.
"""

from __future__ import annotations

import codecs
import csv
import gzip
import io
import json
import logging
import re
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import lru_cache
from pathlib import Path
from typing import Any, BinaryIO, TypeVar, cast

from unirex.data.validate import check_regular, file_kind, row_at
from unirex.errors import UserError, one_line

log = logging.getLogger(__name__)
FALLBACK = "cp1252"  # of texts that are no UTF-8

Item = TypeVar("Item")
DAMAGED = (ValueError, RecursionError, OSError, EOFError, zlib.error)  # what reading a damaged file raises
TableRow = Mapping[str, object]  # values by column name
PlacedRow = tuple[str, dict[str, object]]  # where the row is ("file:line" or "file: row N"), its values


def read_rows(path: Path) -> Iterator[PlacedRow]:
    """Rows of a file in any format of READERS, one at a time; an empty file is an error."""
    return nonempty(READERS[file_kind(path)](path), path, unit="row")


def open_bytes(path: Path) -> BinaryIO:
    """The file for reading, uncompressed."""
    check_regular(path)
    return cast(BinaryIO, gzip.open(path) if path.suffix.lower() == ".gz" else path.open("rb"))


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
    if (
        file_kind(path) not in READERS
        or file_kind(path) in (".json", ".xlsx")
        or path.suffix.lower() == ".gz"
    ):
        return None
    if file_kind(path) == ".parquet":
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


def read_lines(path: Path, *, encoding: str = "utf-8") -> Iterator[str]:
    """Lines of a file, ends included. Only `\\n` ends a line: texts may hold U+2028 and the like."""
    bytes_before = 0
    try:
        with open_bytes(path) as file:
            lines = file if encoding in ("utf-8", FALLBACK) else _utf16_lines(file, encoding)
            for number, raw in enumerate(lines, 1):
                line = (
                    _decode(raw, path, number, bytes_before) if encoding == "utf-8" else raw.decode(encoding)
                )
                bytes_before += len(raw)
                yield line.removeprefix("\ufeff") if number == 1 else line  # Excel's byte order mark
    except UnicodeDecodeError as error:
        raise UserError(f"{path}: not readable as {encoding}: {error.reason}; save it as UTF-8") from None
    except (OSError, EOFError, zlib.error) as error:
        raise UserError(f"{path}: cannot be read: {getattr(error, 'strerror', None) or error}") from None


def arriving_lines(stream: BinaryIO) -> Iterator[list[bytes]]:
    """Lines of a stream in lists of those that have arrived; waits for more when there is none."""
    rest = b""
    while block := stream.read1(2**16):  # type: ignore[attr-defined]  # of every buffered stream
        *lines, rest = (rest + block).split(b"\n")
        yield lines
    yield [rest]


def find_encoding(path: Path) -> str:
    """The encoding of a text file: by its byte order mark, else UTF-8, else what Western Windows writes."""
    try:
        found = path.stat()
    except OSError:
        return "utf-8"  # the reader reports it
    return _encoding(path, found.st_mtime_ns, found.st_size)


@lru_cache(maxsize=16)  # a file is opened several times: its notice is given once
def _encoding(path: Path, _changed: int, _size: int) -> str:
    try:
        with open_bytes(path) as file:
            start = file.read(4)
            if start.startswith(codecs.BOM_UTF16_LE) or start.startswith(codecs.BOM_UTF16_BE):
                return "utf-16-le" if start.startswith(codecs.BOM_UTF16_LE) else "utf-16-be"
            decoder = codecs.getincrementaldecoder("utf-8")()
            decoder.decode(start)
            for block in iter(lambda: file.read(2**20), b""):
                decoder.decode(block)
            decoder.decode(b"", final=True)
    except UnicodeDecodeError:
        log.warning("%s: not UTF-8; read as %s, as Windows writes Western texts", path, FALLBACK)
        return FALLBACK
    except (OSError, EOFError, zlib.error):
        pass  # the reader reports it
    return "utf-8"


def _utf16_lines(file: BinaryIO, encoding: str) -> Iterator[bytes]:
    """Lines of a UTF-16 file: its line break is two bytes, and each of them may be part of something else."""
    text = io.TextIOWrapper(file, encoding=encoding, newline="\n")
    yield from (line.encode(encoding) for line in text)


def _decode(raw: bytes, path: object, number: int, bytes_before: int) -> str:
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
    for number, line in enumerate(read_lines(path, encoding=find_encoding(path)), 1):
        if line.strip():
            yield f"{path}:{number}", {"text": line.rstrip("\r\n")}


def stream_rows(stream: BinaryIO, name: str) -> Iterator[list[PlacedRow]]:
    """Rows of a stream as they arrive: JSON objects if its first line is one, else texts without columns."""
    number = bytes_before = 0
    row_of: Callable[[str], dict[str, object]] | None = None
    for lines in arriving_lines(stream):
        rows: list[PlacedRow] = []
        for raw in lines:
            number += 1
            line = _decode(raw, name, number, bytes_before).removeprefix("\ufeff").rstrip("\r")
            bytes_before += len(raw) + 1
            if line.strip():
                row_of = row_of or (json_object if _is_object(line) else lambda text: {"text": text})
                with row_at(f"{name}:{number}"):
                    rows.append((f"{name}:{number}", row_of(line)))
        yield rows
    if row_of is None:
        raise UserError(f"{name}: there is nothing in it; it needs at least one text")


def _is_object(line: str) -> bool:
    with suppress(ValueError, RecursionError):
        return isinstance(json.loads(line), dict)
    return False


def json_rows(path: Path) -> Iterator[PlacedRow]:
    """One JSON object per line; blank lines are skipped."""
    for number, line in enumerate(read_lines(path), 1):
        if line.strip():
            with row_at(f"{path}:{number}"):
                yield f"{path}:{number}", json_object(line)


def json_rows_of(
    lines: Iterable[bytes], name: str, *, first: int = 1, bytes_before: int = 0
) -> Iterator[PlacedRow]:
    """The JSON objects on some lines of a file: from its line `first`, after `bytes_before` bytes."""
    for number, raw in enumerate(lines, first):
        line = _decode(raw, name, number, bytes_before)
        bytes_before += len(raw)
        line = line.removeprefix("\ufeff") if number == 1 else line
        if line.strip():
            with row_at(f"{name}:{number}"):
                yield f"{name}:{number}", json_object(line)


def json_object(line: str) -> dict[str, object]:
    """The JSON object on a line of JSON Lines."""
    try:
        row = json.loads(line, object_pairs_hook=_unique)
    except UserError:
        raise  # it is a ValueError, too
    except json.JSONDecodeError as error:
        raise UserError(f"malformed JSON at column {error.colno}: {error.msg}") from None
    except (ValueError, RecursionError) as error:  # a number with thousands of digits; endless nesting
        raise UserError(f"unreadable JSON: {error}") from None
    if not isinstance(row, dict):
        raise UserError('a line must be a JSON object like {"text": "...", "label": "..."}')
    return row


def _unique(pairs: list[tuple[str, object]]) -> dict[str, object]:
    """An object of JSON; of two values under one name the first would be lost."""
    found = dict(pairs)
    if len(found) < len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise UserError(f"'{twice}' is there twice; rename or remove one")
    return found


def read_json(path: Path) -> object:
    """What a JSON file holds."""
    try:
        return json.loads("".join(read_lines(path)), object_pairs_hook=_unique)
    except json.JSONDecodeError as error:
        place = f"{path}:{error.lineno}"
        raise UserError(f"{place}: malformed JSON at column {error.colno}: {error.msg}") from None
    except UserError as error:  # of the lines, which name the file, or of an object
        raise error if str(path) in str(error) else UserError(f"{path}: {error}") from None
    except (ValueError, RecursionError) as error:
        raise UserError(f"{path}: unreadable JSON: {error}") from None


def json_array_rows(path: Path) -> Iterator[PlacedRow]:
    """The objects in a JSON array, which is read as a whole."""
    found = read_json(path)
    if not isinstance(found, list):
        raise UserError(f'{path}: not a list of objects like [{{"text": "...", "label": "..."}}]')
    for number, row in enumerate(found, 1):
        with row_at(f"{path}: item {number}"):
            if not isinstance(row, dict):
                raise UserError('an item must be a JSON object like {"text": "...", "label": "..."}')
            yield f"{path}: item {number}", row


def excel_rows(path: Path) -> Iterator[PlacedRow]:
    """Rows of the first sheet of an Excel file, by the column names in its first row."""
    try:
        import openpyxl
    except ImportError:
        raise UserError(
            f"{path}: reading Excel takes openpyxl; pip install 'unirex[excel]', or save it as CSV"
        ) from None
    try:
        book = openpyxl.load_workbook(path, read_only=True, data_only=True)
    except Exception as error:  # zipfile, XML and openpyxl's own: they have no common base class
        raise UserError(f"{path}: not a readable Excel file: {one_line(error)}") from None
    header: list[str] = []
    for number, cells in enumerate(book.worksheets[0].iter_rows(values_only=True), 1):
        if not any(cell is not None for cell in cells):
            continue
        place = f"{path}: row {number}"
        if not header:
            header = checked_header(place, ["" if cell is None else str(cell) for cell in cells])
            continue
        yield place, {name: cell for name, cell in zip(header, cells, strict=False) if name}


def checked_header(place: str, names: Sequence[str]) -> list[str]:
    """The column names, without blanks at their ends; one that is there twice is an error."""
    header = [name.strip() for name in names]
    repeated = sorted({name for name in header if name and header.count(name) > 1})
    if repeated:
        raise UserError(f"{place}: column '{repeated[0]}' is there twice; rename one")
    return header


def csv_rows(path: Path) -> Iterator[PlacedRow]:
    """Rows of a CSV or TSV file, by the column names in its header."""
    header: list[str] = []
    for place, fields in csv_fields(path):
        if not header:
            header = checked_header(place, fields)
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
    encoding = find_encoding(path)
    delimiter = find_delimiter(next(read_lines(path, encoding=encoding), ""), file_kind(path))
    reader = csv.reader(read_lines(path, encoding=encoding), delimiter=delimiter, strict=True)
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


def find_delimiter(header: str, kind: str) -> str:
    """What separates the columns of a header: the usual one of the kind, unless only another is there.

    >>> [find_delimiter(header, ".csv") for header in ("text,label", "text;label", '"a;b",c', "text")]
    [',', ';', ',', ',']
    """
    usual = "\t" if kind == ".tsv" else ","
    bare = re.sub(r'"[^"]*"', "", header)
    counts = {delimiter: bare.count(delimiter) for delimiter in (usual, ";", "\t", ",", "|")}
    return usual if counts[usual] or not any(counts.values()) else max(counts, key=lambda mark: counts[mark])


def parquet_rows(path: Path) -> Iterator[PlacedRow]:
    """Rows of a Parquet file, a few hundred in memory at a time."""
    return parquet_rows_of(path, str(path))


def parquet_rows_of(
    file: Path | BinaryIO, name: str, *, start: int = 0, end: int | None = None
) -> Iterator[PlacedRow]:
    """The rows of a Parquet file from `start` to before `end`, from 0; no other row groups are read."""
    import pyarrow
    from pyarrow import parquet

    number = start
    try:
        # Buffered: otherwise a whole row group (often the whole file) is in memory at once.
        with parquet.ParquetFile(file, buffer_size=2**20, pre_buffer=False) as table:
            end = table.metadata.num_rows if end is None else end
            groups, skipped = _row_groups(table.metadata, start, end)
            for batch in table.iter_batches(batch_size=256, row_groups=groups):
                rows = batch.slice(skipped, end - number).to_pylist()
                skipped = max(0, skipped - batch.num_rows)
                for row in rows:
                    number += 1
                    yield f"{name}: row {number}", row
    except UnicodeDecodeError as error:
        raise UserError(f"{name}: row {number + 1} or soon after: not UTF-8 at byte {error.start}") from None
    except pyarrow.ArrowException as error:
        raise UserError(f"{name}: not a readable Parquet file: {error}") from None


def _row_groups(metadata: Any, start: int, end: int) -> tuple[list[int], int]:
    """The row groups that hold some rows, and how many rows of the first of them come before these."""
    found: list[int] = []
    before = skipped = 0
    for group in range(metadata.num_row_groups):
        after = before + metadata.row_group(group).num_rows
        if before < end and after > start:
            skipped = skipped if found else start - before
            found.append(group)
        before = after
    return found, max(0, skipped)


READERS: dict[str, Callable[[Path], Iterator[PlacedRow]]] = {
    ".jsonl": json_rows,
    ".ndjson": json_rows,
    ".csv": csv_rows,
    ".tsv": csv_rows,
    ".parquet": parquet_rows,
    ".json": json_array_rows,
    ".xlsx": excel_rows,
    ".txt": text_rows,
}
TABLES = tuple(suffix for suffix in READERS if suffix != ".txt")
