"""Examples out of tables: JSON Lines, CSV, TSV or Parquet, one example per row."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from pathlib import Path
from reprlib import repr as short

from unirex.data.example import SPLIT_NAMES, Example, Label, Rationale, choice_label
from unirex.data.rationales import RationaleFormat, parse_columns, parse_segments
from unirex.data.rows import READERS, TABLES, rows
from unirex.data.split import ALIASES, split_name
from unirex.data.validate import (
    check_file,
    check_ids,
    check_label,
    check_labels,
    check_text,
    is_missing,
    row_at,
)
from unirex.errors import UserError, unknown


def parse_choices(value: object, *, column: str = "choices") -> tuple[str, ...] | None:
    """The choices of a cell, a list or one written as JSON; None where it says nothing.

    >>> parse_choices('["yes", "no"]')
    ('yes', 'no')
    """
    if is_missing(value):
        return None
    found = _from_json(value) if isinstance(value, str) else value
    if not isinstance(found, list | tuple) or len(found) < 2:
        raise UserError(
            f'\'{column}\' must be a JSON list of two or more texts like ["yes", "no"], not {short(value)}; '
            "if this column holds something else, say so with an empty column name for choices"
        )
    return tuple(check_text(choice, column=f"{column}[{n}]") for n, choice in enumerate(found))


def pick(label: Label, choices: Sequence[str], *, column: str = "label") -> str:
    """The letter of the choice that a label means: by its letter, its number from 0, or its text.

    >>> pick("B", ["yes", "no"]), pick(1, ["yes", "no"]), pick("no", ["yes", "no"])
    ('B', 'B', 'B')
    """
    found = [number for number, choice in enumerate(choices) if _means(label, number, choice)]
    if len(found) == 1:
        return choice_label(found[0])
    known = ", ".join(f"{choice_label(number)} ({short(choice)})" for number, choice in enumerate(choices))
    if found:
        both = " and ".join(choice_label(number) for number in found)
        raise UserError(f"'{column}' {label!r} could mean the choices {both} of {known}; give the letter")
    raise UserError(
        f"'{column}' {label!r} is none of the choices {known}; give a letter, the text, or the number "
        f"from 0 to {len(choices) - 1}"
    )


def _means(label: Label, number: int, choice: str) -> bool:
    if isinstance(label, str):  # a CSV file has no numbers, only their digits
        return label.strip() in (choice.strip(), choice_label(number), str(number))
    return not isinstance(label, bool) and label == number


def _from_json(value: str) -> object:
    try:
        return json.loads(value)
    except (ValueError, RecursionError):
        return value  # not a list either: told by whoever asked


Cells = Mapping[str, object]


@dataclass(frozen=True, slots=True)
class Columns:
    """What the columns of a file are called; an empty name says that an optional one is not used.

    `text` may name several columns, which become the segments in that order: "premise,hypothesis". So may
    `rationale`, one for each segment. `choices` holds lists of texts to choose from, `groups` lists of the
    rationales that `rationale` merges, each by characters.
    """

    text: str = "text"
    label: str = "label"
    rationale: str = "rationale"
    id: str = "id"
    split: str = "split"
    choices: str = "choices"
    groups: str = "groups"


def read_example(
    row: Cells,
    columns: Columns,
    *,
    default_id: str,
    rationale_format: RationaleFormat = "auto",
    labelled: bool = True,
) -> Example:
    """What a row says; with `labelled` false it may leave out the label."""
    texts = _texts(row, names(columns.text, row))
    choices = parse_choices(optional(row, columns.choices), column=columns.choices)
    given_id = optional(row, columns.id)
    return Example(
        id=default_id if given_id is None else str(given_id),
        segments=tuple(texts.values()),
        label=_label(row, columns, choices, labelled),
        rationale=_rationale(row, columns, texts, rationale_format),
        choices=choices,
        groups=_groups(optional(row, columns.groups), texts),
    )


def names(given: str, row: Collection[str]) -> tuple[str, ...]:
    """The columns a name stands for: itself where there is one, else what its commas part.

    >>> names("premise, hypothesis", ["premise", "hypothesis"]), names("a,b", ["a,b"])
    (('premise', 'hypothesis'), ('a,b',))
    """
    if given in row or "," not in given:
        return (given,)
    found = tuple(name.strip() for name in given.split(","))
    if len(set(found)) < len(found):
        raise UserError(f"columns '{given}' name one column twice; name each once")
    return found


def cell(row: Cells, column: str) -> object:
    """What stands in a column that must be there."""
    if column not in row:
        raise unknown("column", column, row)
    return row[column]


def optional(row: Cells, column: str) -> object:
    """What stands in a column that may be absent, or say nothing: None."""
    value = row.get(column) if column else None
    return None if is_missing(value) else value


def check_columns(path: Path, columns: Columns, present: Collection[str]) -> None:
    """A column the user named must be there; one they did not name may be absent."""
    for field in fields(Columns):
        given = getattr(columns, field.name)
        for name in names(given, present) if given and given != field.default else ():
            if name not in present:
                raise UserError(f"{path}: {unknown('column', name, present)}")


def _label(row: Cells, columns: Columns, choices: tuple[str, ...] | None, labelled: bool) -> Label | None:
    value = cell(row, columns.label) if labelled else optional(row, columns.label)
    if value is None and not labelled:
        return None
    label = check_label(value, column=columns.label)
    return label if choices is None else pick(label, choices, column=columns.label)


def _texts(row: Cells, columns: Sequence[str]) -> dict[str, str]:
    """The texts of a row; of several some may be empty (a review without a title), but not all."""
    several = len(columns) > 1
    texts = {
        name: check_text(_text(cell(row, name), several), column=name, blank=several) for name in columns
    }
    if not any(text.strip() for text in texts.values()):
        raise UserError(f"all of {', '.join(columns)} are empty; give one some text or remove the row")
    return texts


def _text(value: object, several: bool) -> object:
    return "" if several and value is None else value


def _groups(value: object, texts: Mapping[str, str]) -> tuple[Rationale, ...]:
    try:
        given = json.loads(value) if isinstance(value, str) else value
    except (ValueError, RecursionError):
        raise UserError(f"groups {short(value)} are not JSON; write a list of rationales") from None
    if given is None:
        return ()
    if not isinstance(given, list | tuple):
        raise UserError(f"groups must be a list of rationales, not {short(given)}")
    found = (parse_segments(one, texts, format="characters") for one in given)
    return tuple(one for one in found if one is not None)


def _rationale(
    row: Cells, columns: Columns, texts: Mapping[str, str], rationale_format: RationaleFormat
) -> Rationale | None:
    marked = names(columns.rationale, row)
    if len(marked) == 1:
        return parse_segments(optional(row, marked[0]), texts, format=rationale_format)
    if len(marked) != len(texts):
        raise UserError(
            f"{len(marked)} rationale columns ({', '.join(marked)}) for {len(texts)} of text "
            f"({', '.join(texts)}); name one for each, or one for all"
        )
    return parse_columns([optional(row, name) for name in marked], texts, format=rationale_format)


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
