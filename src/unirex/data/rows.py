"""The rows of a file, whatever its kind, each with its place: JSON Lines, CSV, TSV, Parquet, plain text."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable, Iterator
from pathlib import Path

from unirex.data.validate import row_at
from unirex.errors import UserError

Row = tuple[str, dict[str, object]]  # its place ("file:line", or "file: row N"), its cells


def rows(path: Path) -> Iterator[Row]:
    """The rows of a file of any kind in READERS, one at a time; a file without any is a mistake."""
    empty = True
    try:
        for row in READERS[path.suffix.lower()](path):
            empty = False
            yield row
    except OSError as error:
        raise UserError(f"{path}: cannot be read: {error.strerror or error}") from None
    if empty:
        raise UserError(f"{path}: the file is empty; it needs at least one row")


def about_how_many(path: Path) -> int | None:
    """How many rows a file has, as far as can be seen without reading them in earnest; None if it cannot.

    Of text formats its lines, which a header, blank lines and line ends inside of texts add to.
    """
    if path.suffix.lower() not in READERS:
        return None
    if path.suffix.lower() == ".parquet":
        import pyarrow
        from pyarrow import parquet

        try:
            return int(parquet.read_metadata(path).num_rows)
        except (OSError, pyarrow.ArrowException):
            return None  # whoever reads the file tells why
    try:
        with path.open("rb") as file:
            return sum(block.count(b"\n") for block in iter(lambda: file.read(2**20), b""))
    except OSError:
        return None


def lines(path: Path) -> Iterator[str]:
    """The physical lines, ends and all; only `\\n` ends one, as U+2028 and others stand inside texts."""
    before = 0
    try:
        with path.open("rb") as file:
            for number, raw in enumerate(file, 1):
                line = _decode(raw, path, number, before)
                before += len(raw)
                yield line.removeprefix("\ufeff") if number == 1 else line  # Excel's byte order mark
    except OSError as error:
        raise UserError(f"{path}: cannot be read: {error.strerror or error}") from None


def _decode(raw: bytes, path: Path, number: int, before: int) -> str:
    try:
        return raw.decode()
    except UnicodeDecodeError as error:
        with row_at(f"{path}:{number}"):
            raise UserError(
                f"not UTF-8 at byte {error.start} of the line "
                f"(byte {before + error.start} of the file); save the file as UTF-8"
            ) from None
    return raw.decode(errors="replace")  # problems are being collected: later lines keep their numbers


def text_rows(path: Path) -> Iterator[Row]:
    """One text a line; blank lines are skipped."""
    for number, line in enumerate(lines(path), 1):
        if line.strip():
            yield f"{path}:{number}", {"text": line.rstrip("\r\n")}


def json_rows(path: Path) -> Iterator[Row]:
    """One JSON object a line; blank lines are skipped."""
    for number, line in enumerate(lines(path), 1):
        if line.strip():
            with row_at(f"{path}:{number}"):
                yield f"{path}:{number}", json_object(line)


def json_object(line: str) -> dict[str, object]:
    """The object a line of JSON Lines holds."""
    try:
        row = json.loads(line)
    except json.JSONDecodeError as error:
        raise UserError(f"malformed JSON at column {error.colno}: {error.msg}") from None
    except (ValueError, RecursionError) as error:  # a number of thousands of digits; endless nesting
        raise UserError(f"unreadable JSON: {error}") from None
    if not isinstance(row, dict):
        raise UserError('a line must be a JSON object like {"text": "...", "label": "..."}')
    return row


def csv_rows(path: Path) -> Iterator[Row]:
    """The cells of each record under the names in the header."""
    header: list[str] = []
    for place, cells in csv_cells(path):
        if not header:
            header = [name.strip() for name in cells]
            _check_header(place, header)
            continue
        with row_at(place):
            yield place, _named(cells, header)


def _named(cells: list[str], header: list[str]) -> dict[str, object]:
    if len(cells) > len(header):
        raise UserError(
            f"{len(cells)} fields, but the header has {len(header)}; "
            "put double quotes around a field that holds the delimiter"
        )
    # Spreadsheets drop empty cells at the end of a row.
    return {**dict.fromkeys(header, ""), **dict(zip(header, cells, strict=False))}


def csv_cells(path: Path) -> Iterator[tuple[str, list[str]]]:
    """The records of a CSV or TSV file as they stand, a header among them; blank lines are skipped."""
    csv.field_size_limit(2**31 - 1)  # the largest a C long holds everywhere; a text may be a book
    # Strict, as an unclosed quote would otherwise swallow the rest of the file without a word.
    reader = csv.reader(lines(path), delimiter="\t" if path.suffix.lower() == ".tsv" else ",", strict=True)
    while True:
        place, cells = f"{path}:{reader.line_num + 1}", []
        try:
            cells = next(reader)
        except StopIteration:
            return
        except csv.Error as error:
            with row_at(place):
                raise UserError(f"malformed row: {error}; close each quote, double those inside") from None
        if cells:
            yield place, cells


def _check_header(place: str, header: list[str]) -> None:
    twice = sorted({name for name in header if header.count(name) > 1})
    if twice:
        raise UserError(f"{place}: column '{twice[0]}' is there twice; rename one")


def parquet_rows(path: Path) -> Iterator[Row]:
    """The rows of a Parquet file, a few hundred in memory at a time."""
    import pyarrow
    from pyarrow import parquet

    number = 0
    try:
        # Buffered, as otherwise a whole row group (often the whole file) is in memory at once.
        with parquet.ParquetFile(path, buffer_size=2**20, pre_buffer=False) as file:
            for batch in file.iter_batches(batch_size=256):
                for row in batch.to_pylist():
                    number += 1
                    yield f"{path}: row {number}", row
    except UnicodeDecodeError as error:
        raise UserError(f"{path}: row {number + 1} or soon after: not UTF-8 at byte {error.start}") from None
    except pyarrow.ArrowException as error:
        raise UserError(f"{path}: not a readable Parquet file: {error}") from None


READERS: dict[str, Callable[[Path], Iterator[Row]]] = {
    ".jsonl": json_rows,
    ".ndjson": json_rows,
    ".csv": csv_rows,
    ".tsv": csv_rows,
    ".parquet": parquet_rows,
    ".txt": text_rows,
}
TABLES = tuple(suffix for suffix in READERS if suffix != ".txt")
