"""Examples out of a table: a JSON Lines, CSV, TSV or Parquet file, one example a row."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass, fields
from pathlib import Path

from unirex.data.example import Example
from unirex.data.rationales import RationaleFormat, parse_rationale
from unirex.data.split import split_name
from unirex.data.validate import at, check_file, check_ids, check_label, check_labels, check_text, is_missing
from unirex.errors import UserError, unknown

Row = tuple[str, dict[str, object]]  # its place ("file:line", or "file: row N"), its cells


@dataclass(frozen=True, slots=True)
class Columns:
    """What the columns of a file are called; an empty name says that an optional one is not used."""

    text: str = "text"
    label: str = "label"
    rationale: str = "rationale"
    id: str = "id"
    split: str = "split"


@dataclass(frozen=True, slots=True)
class Record:
    """One example as it was read: where it stands, and the split it names, if any."""

    place: str
    split: str | None
    example: Example


def read_records(
    path: str | Path, *, columns: Columns | None = None, rationale_format: RationaleFormat = "auto"
) -> list[Record]:
    """All examples of a file, in its order, each with the place it was read from."""
    path, columns = Path(path), columns or Columns()
    check_file(path, suffixes=TABLES)
    records: list[Record] = []
    present: dict[str, None] = {}  # a set that keeps the file's order
    for number, (place, row) in enumerate(_rows(path), 1):
        present.update(dict.fromkeys(row))
        with at(place):
            split, example = _example(row, columns, f"{path.stem}-{number}", rationale_format)
        records.append(Record(place, split, example))
    _check_columns(path, columns, present)
    check_ids((record.place, record.example.id) for record in records)
    check_labels((record.place, record.example.label) for record in records)
    return records


def read_texts(path: str | Path, *, column: str = "text") -> Iterator[tuple[str, str]]:
    """The texts of a file with their places, one at a time, however long the file is.

    A `.txt` file has one text a line and no columns; its blank lines are skipped.
    """
    path = Path(path)
    check_file(path, suffixes=tuple(READERS))  # now, not when the first text is asked for
    return _texts(path, "text" if path.suffix.lower() == ".txt" else column)


def _example(
    row: dict[str, object], columns: Columns, default_id: str, rationale_format: RationaleFormat
) -> tuple[str | None, Example]:
    text = check_text(_cell(row, columns.text), column=columns.text)
    label = check_label(_cell(row, columns.label), column=columns.label)
    spans = parse_rationale(_optional(row, columns.rationale), text, format=rationale_format)
    given_id, split = _optional(row, columns.id), _optional(row, columns.split)
    example = Example(
        id=default_id if given_id is None else str(given_id),
        segments=(text,),
        label=label,
        rationale=None if spans is None else (spans,),
    )
    return None if split is None else split_name(split), example


def _cell(row: dict[str, object], column: str) -> object:
    if column not in row:
        raise unknown("column", column, row)
    return row[column]


def _optional(row: dict[str, object], column: str) -> object:
    value = row.get(column) if column else None
    return None if is_missing(value) else value


def _check_columns(path: Path, columns: Columns, present: Collection[str]) -> None:
    """A column the user named must be there; one they did not name may be absent."""
    for field in fields(Columns):
        name = getattr(columns, field.name)
        if name and name != field.default and name not in present:
            raise UserError(f"{path}: {unknown('column', name, present)}")


def _texts(path: Path, column: str) -> Iterator[tuple[str, str]]:
    for place, row in _rows(path):
        with at(place):
            text = check_text(_cell(row, column), column=column)
        yield place, text


def _rows(path: Path) -> Iterator[Row]:
    empty = True
    try:
        for row in READERS[path.suffix.lower()](path):
            empty = False
            yield row
    except OSError as error:
        raise UserError(f"{path}: cannot be read: {error.strerror or error}") from None
    if empty:
        raise UserError(f"{path}: the file is empty; it needs at least one row")


def _lines(path: Path) -> Iterator[str]:
    """The physical lines, ends and all; only `\\n` ends one, as U+2028 and others stand inside texts."""
    before = 0
    with path.open("rb") as file:
        for number, raw in enumerate(file, 1):
            try:
                line = raw.decode()
            except UnicodeDecodeError as error:
                raise UserError(
                    f"{path}:{number}: not UTF-8 at byte {error.start} of the line "
                    f"(byte {before + error.start} of the file); save the file as UTF-8"
                ) from None
            before += len(raw)
            yield line.removeprefix("\ufeff") if number == 1 else line  # Excel's byte order mark


def _text_rows(path: Path) -> Iterator[Row]:
    for number, line in enumerate(_lines(path), 1):
        if line.strip():
            yield f"{path}:{number}", {"text": line.rstrip("\r\n")}


def _json_rows(path: Path) -> Iterator[Row]:
    for number, line in enumerate(_lines(path), 1):
        if line.strip():
            with at(f"{path}:{number}"):
                row = _json_object(line)
            yield f"{path}:{number}", row


def _json_object(line: str) -> dict[str, object]:
    try:
        row = json.loads(line)
    except json.JSONDecodeError as error:
        raise UserError(f"malformed JSON at column {error.colno}: {error.msg}") from None
    except (ValueError, RecursionError) as error:  # a number of thousands of digits; endless nesting
        raise UserError(f"unreadable JSON: {error}") from None
    if not isinstance(row, dict):
        raise UserError('a line must be a JSON object like {"text": "...", "label": "..."}')
    return row


def _csv_rows(path: Path) -> Iterator[Row]:
    csv.field_size_limit(2**31 - 1)  # the largest a C long holds everywhere; a text may be a book
    header: list[str] = []
    for place, cells in _csv_cells(path):
        if not header:
            header = [name.strip() for name in cells]
            _check_header(place, header)
        elif len(cells) > len(header):
            raise UserError(
                f"{place}: {len(cells)} fields, but the header has {len(header)}; "
                "put double quotes around a field that holds the delimiter"
            )
        else:  # spreadsheets drop empty cells at the end of a row
            yield place, {**dict.fromkeys(header, ""), **dict(zip(header, cells, strict=False))}


def _csv_cells(path: Path) -> Iterator[tuple[str, list[str]]]:
    # Strict, as an unclosed quote would otherwise swallow the rest of the file without a word.
    reader = csv.reader(_lines(path), delimiter="\t" if path.suffix.lower() == ".tsv" else ",", strict=True)
    while True:
        place = f"{path}:{reader.line_num + 1}"
        try:
            cells = next(reader)
        except StopIteration:
            return
        except csv.Error as error:
            raise UserError(
                f"{place}: malformed row: {error}; close each quote, double those inside"
            ) from None
        if cells:
            yield place, cells


def _check_header(place: str, header: list[str]) -> None:
    twice = sorted({name for name in header if header.count(name) > 1})
    if twice:
        raise UserError(f"{place}: column '{twice[0]}' is there twice; rename one")


def _parquet_rows(path: Path) -> Iterator[Row]:
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
    ".jsonl": _json_rows,
    ".ndjson": _json_rows,
    ".csv": _csv_rows,
    ".tsv": _csv_rows,
    ".parquet": _parquet_rows,
    ".txt": _text_rows,
}
TABLES = tuple(suffix for suffix in READERS if suffix != ".txt")
