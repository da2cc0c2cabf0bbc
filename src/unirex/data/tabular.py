"""Examples out of tables: JSON Lines, CSV, TSV or Parquet, one example a row, alone or one file a split."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from unirex.data.cells import Columns, check_columns, names, optional, read_example
from unirex.data.example import SPLIT_NAMES, Example
from unirex.data.rationales import RationaleFormat
from unirex.data.rows import READERS, TABLES, rows
from unirex.data.split import ALIASES, split_name
from unirex.data.validate import check_file, check_ids, check_labels, row_at
from unirex.errors import UserError

__all__ = ["Columns", "Record", "check_shapes", "read", "read_inputs", "read_records", "stream_records"]


@dataclass(frozen=True, slots=True)
class Record:
    """One example as it was read: where it stands, and the split it names, if any."""

    place: str
    split: str | None
    example: Example


def read(path: Path, *, columns: Columns, rationale_format: RationaleFormat) -> list[Record]:
    """All examples of a file, or of a folder that has a file for each split."""
    if not path.is_dir():
        return read_records(path, columns=columns, rationale_format=rationale_format)
    records: list[Record] = []
    for split, file in _split_files(path).items():
        for record in read_records(file, columns=columns, rationale_format=rationale_format):
            with row_at(record.place):
                if record.split not in (None, split):
                    raise UserError(f"split '{record.split}' in a file of {split}; move the row")
                records.append(replace(record, split=split))
    return records


def read_records(
    path: str | Path, *, columns: Columns | None = None, rationale_format: RationaleFormat = "auto"
) -> list[Record]:
    """All examples of a file, in its order, each with the place it was read from."""
    records = list(stream_records(path, columns=columns, rationale_format=rationale_format))
    check_ids((record.place, record.example.id) for record in records)
    check_labels((record.place, record.example.label) for record in records)
    check_shapes(records)
    return records


def read_inputs(
    path: str | Path, *, columns: Columns | None = None, rationale_format: RationaleFormat = "auto"
) -> Iterator[Record]:
    """What a file asks about, one example at a time, however long the file is; labels may be absent.

    A `.txt` file has one text a line and no columns; its blank lines are skipped.
    Splits are not read. An example without an id is called by its place.
    """
    path, columns = Path(path), columns or Columns()
    check_file(path, suffixes=tuple(READERS))  # now, not when the first text is asked for
    if path.suffix.lower() == ".txt":
        if len(names(columns.text, ())) > 1:
            raise UserError(f"{path}: has no columns, but '{columns.text}' are asked for; write a table")
        columns = Columns()
    return _inputs(path, columns, rationale_format)


def _inputs(path: Path, columns: Columns, rationale_format: RationaleFormat) -> Iterator[Record]:
    for number, (place, row) in enumerate(rows(path), 1):
        if number == 1 and not _varies(path):
            check_columns(path, columns, row)
        with row_at(place):
            example = read_example(
                row, columns, default_id=place, rationale_format=rationale_format, labelled=False
            )
            yield Record(place, None, example)


def stream_records(
    path: str | Path, *, columns: Columns | None = None, rationale_format: RationaleFormat = "auto"
) -> Iterator[Record]:
    """The records of `read_records`, one at a time, however long the file is.

    What takes all rows to see is left to `unirex data check`: ids given twice, rows of different shapes.
    """
    path, columns = Path(path), columns or Columns()
    check_file(path, suffixes=TABLES)
    return _records(path, columns, rationale_format)


def _records(path: Path, columns: Columns, rationale_format: RationaleFormat) -> Iterator[Record]:
    present: dict[str, None] = {}  # a set that keeps the file's order
    for number, (place, row) in enumerate(rows(path), 1):
        present.update(dict.fromkeys(row))
        if number == 1 and not _varies(path):
            check_columns(path, columns, present)
        with row_at(place):
            yield _record(place, row, columns, rationale_format, name=f"{path.stem}-{number}")
    check_columns(path, columns, present)


def _record(
    place: str, row: Mapping[str, object], columns: Columns, rationale_format: RationaleFormat, *, name: str
) -> Record:
    example = read_example(row, columns, default_id=name, rationale_format=rationale_format)
    split = optional(row, columns.split)
    return Record(place, None if split is None else split_name(split), example)


def _varies(path: Path) -> bool:
    """Whether rows of such a file may have different columns."""
    return path.suffix.lower() in (".jsonl", ".ndjson")


def check_shapes(records: Sequence[Record]) -> None:
    """All examples have as many segments as the first, and choices if it has."""
    for record in records[1:]:
        example, first = record.example, records[0].example
        if len(example.segments) != len(first.segments):
            raise UserError(
                f"{record.place}: {len(example.segments)} texts, but {records[0].place} has "
                f"{len(first.segments)}; give every row the same text columns"
            )
        if (example.choices is None) != (first.choices is None):
            with_, without = (records[0], record) if example.choices is None else (record, records[0])
            raise UserError(
                f"{without.place}: no choices, but {with_.place} has some; give them to all rows or none"
            )


def _split_files(folder: Path) -> dict[str, Path]:
    """The file of each split in a folder: one each, and all of one kind."""
    files: dict[str, Path] = {}
    for path in sorted(folder.iterdir()):
        split = ALIASES.get(path.stem.casefold())
        if split is None or path.suffix.lower() not in TABLES or path.is_dir():
            continue
        if split in files:
            raise UserError(f"{folder}: {files[split].name} and {path.name} are both {split}; keep one")
        files[split] = path
    if "train" not in files:
        raise UserError(f"{folder}: no train file; name one train.jsonl (or {', '.join(TABLES[1:])})")
    # CSV labels are all text and JSON's may not be, so a mixture would not agree on its classes.
    if len({READERS[path.suffix.lower()] for path in files.values()}) > 1:
        found = ", ".join(path.name for path in files.values())
        raise UserError(f"{folder}: files of different kinds ({found}); write them all as one kind")
    return {name: files[name] for name in SPLIT_NAMES if name in files}
