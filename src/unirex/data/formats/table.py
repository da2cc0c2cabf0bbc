"""Tables: JSON Lines, CSV, TSV or Parquet with one example per row, in a file or in one file per split."""

from __future__ import annotations

import json
import logging
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from reprlib import repr as short
from typing import Any, BinaryIO

from unirex.data.annotators import AnnotatorAnswer, Consensus, agree, check_aggregation
from unirex.data.example import SPLIT_NAMES, Answer, Example, Label, Rationale, choice_label, label_set
from unirex.data.rationales import (
    TAG,
    Marks,
    RationaleFormat,
    decide_marks,
    parse_columns,
    parse_marks,
    parse_segments,
    read_tags,
)
from unirex.data.rows import READERS, TABLES, PlacedRow, TableRow, read_rows, stream_rows
from unirex.data.split import SPLIT_ALIASES, split_name
from unirex.data.validate import (
    at,
    check_answer,
    check_file,
    check_ids,
    check_labels,
    check_text,
    check_unicode,
    collecting,
    file_kind,
    is_collecting,
    is_missing,
    remark,
    row_at,
)
from unirex.errors import UserError, unknown

log = logging.getLogger(__name__)
MARKED, UNMARKED = "marked", "unmarked"  # the classes where the label is read from the marks


@dataclass(frozen=True, slots=True)
class Columns:
    """Column names by role; an empty name says that an optional column is not used.

    `text` may name several columns, which become the segments in that order: "premise,hypothesis". So may
    `rationale`, one for each segment, or for a single text one for each person who marked it; `label` may
    name a column for each person too, or the column of the marks: then the classes are `marked` and
    `unmarked`. A list in a label column is a set of labels; `labels` may name a column of 0s and 1s for each
    label instead, and is also read where there is no `label`. `choices` holds lists of texts to choose from,
    `groups` lists of the rationales that `rationale` merges, as character spans.
    """

    text: str = "text"
    label: str = "label"
    labels: str = "labels"
    rationale: str = "rationale"
    id: str = "id"
    split: str = "split"
    choices: str = "choices"
    groups: str = "groups"


def as_columns(given: Mapping[str, str] | None) -> Columns:
    """`Columns` from column names by role."""
    roles = [field.name for field in fields(Columns)]
    for role in given or {}:
        if role not in roles:
            raise unknown("column role", role, roles)
    return Columns(**(given or {}))


@dataclass(frozen=True, slots=True)
class DatasetRecord:
    """One example of a data file, the place it was read from, and the split it names, if any."""

    place: str
    split: str | None
    example: Example


@dataclass(frozen=True, slots=True)
class Reading:
    """How the rows of a file become examples."""

    columns: Columns = field(default_factory=Columns)
    marks: Marks = field(default_factory=Marks)
    annotators: str = "union"
    guessed: bool = False  # whether `marks` was decided from the rows
    labelled: bool = True  # False: labels are optional
    inputs: bool = False  # to predict: named by their place, splits are not read

    @property
    def label_from_marks(self) -> bool:
        """Whether the label is in the column of the marks, and says whether there are any."""
        marks = self.columns.text if self.marks.format == "tags" else self.columns.rationale
        return self.columns.label == marks


def read(
    path: Path,
    *,
    columns: Columns,
    rationale_format: RationaleFormat,
    annotators: str = "union",
    labelled: bool = True,
) -> list[DatasetRecord]:
    """All examples of a file, or of a folder that has a file for each split."""
    options: dict[str, Any] = {
        "columns": columns,
        "rationale_format": rationale_format,
        "annotators": annotators,
        "labelled": labelled,
    }
    if not path.is_dir():
        return read_records(path, **options)
    records: list[DatasetRecord] = []
    for split, file in _split_files(path).items():
        for record in read_records(file, **options):
            with row_at(record.place):
                if record.split not in (None, split):
                    raise UserError(f"split '{record.split}' in a file of {split}; move the row")
                records.append(replace(record, split=split))
    return records


def _split_files(folder: Path) -> dict[str, Path]:
    """The file of each split in a folder: one each, all in the same format."""
    files: dict[str, Path] = {}
    for path in sorted(folder.iterdir()):
        split = SPLIT_ALIASES.get(path.name.partition(".")[0].casefold())
        if split is None or file_kind(path) not in TABLES or path.is_dir():
            continue
        if split in files:
            raise UserError(f"{folder}: {files[split].name} and {path.name} are both {split}; keep one")
        files[split] = path
    if "train" not in files:
        raise UserError(f"{folder}: no train file; name one train.jsonl (or {', '.join(TABLES[1:])})")
    # CSV labels are always text and JSON labels may not be, so mixed files might not agree on the classes.
    if len({READERS[file_kind(path)] for path in files.values()}) > 1:
        listed = ", ".join(path.name for path in files.values())
        raise UserError(f"{folder}: files of different kinds ({listed}); write them all as one kind")
    return {name: files[name] for name in SPLIT_NAMES if name in files}


def read_records(
    path: str | Path,
    *,
    columns: Columns | None = None,
    rationale_format: RationaleFormat = "auto",
    annotators: str = "union",
    labelled: bool = True,
) -> list[DatasetRecord]:
    """All examples of a file, in file order, each with its place; with `labelled` each must have a label."""
    records = list(
        stream_records(
            path,
            columns=columns,
            rationale_format=rationale_format,
            annotators=annotators,
            labelled=labelled,
        )
    )
    check_ids((record.place, record.example.id) for record in records)
    check_labels((record.place, record.example.label) for record in records)
    check_shapes(records)
    return records


def check_shapes(records: Sequence[DatasetRecord]) -> None:
    """All examples must have as many segments as the first, and choices if it has."""
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


def stream_records(
    path: str | Path,
    *,
    columns: Columns | None = None,
    rationale_format: RationaleFormat = "auto",
    annotators: str = "union",
    labelled: bool = True,
) -> Iterator[DatasetRecord]:
    """The records of `read_records`, one at a time, however long the file is.

    A file with marks is read twice: how they are written is decided from all of them. Checks that need all
    rows are left to `unirex data check`: repeated ids, rows of different shapes.
    """
    path = Path(path)
    check_file(path, suffixes=TABLES)  # now, not on the first iteration
    return placed_records(
        path,
        lambda: read_rows(path),
        columns=columns,
        rationale_format=rationale_format,
        annotators=annotators,
        labelled=labelled,
    )


def placed_records(
    path: Path,
    rows: Callable[[], Iterable[PlacedRow]],
    *,
    columns: Columns | None = None,
    rationale_format: RationaleFormat = "auto",
    annotators: str = "union",
    labelled: bool = True,
) -> Iterator[DatasetRecord]:
    """The records of a file that is read by calling `rows`, more than once if it has marks."""
    columns = columns or Columns()
    check_aggregation(annotators)
    marks = decided(path, lambda: (row for _, row in rows()), columns, rationale_format)
    reading = Reading(columns, marks, annotators, guessed=rationale_format == "auto", labelled=labelled)
    return _stream(path, reading, rows())


def decided(
    source: object,
    rows: Callable[[], Iterable[TableRow]],
    columns: Columns,
    format: RationaleFormat,  # noqa: A002
) -> Marks:
    """How the rows of a source write their marks, decided from all of them; what was decided is logged."""
    if format == "tags":
        return Marks(format)
    marks = Marks(format)
    with suppress(UserError), collecting():  # mistakes are left for the reader to report
        marks = decide_marks(_marked_values(rows(), columns), format=format)
        if marks == Marks():  # no row has marks beside its text
            tagged = [bool(TAG.search(text)) for row in rows() for text in _plain_texts(row, columns)]
            marks = Marks("tags") if sum(tagged) * 2 > len(tagged) else marks
    if marks not in (Marks(format), Marks("characters")):  # spans cannot be mistaken for anything else
        log.warning("%s: marks are read as %s; if they are not, say rationale_format", source, marks)
    return marks


def _marked_values(rows: Iterable[TableRow], columns: Columns) -> Iterator[tuple[object, str]]:
    """Every value that marks a text, with the text."""
    for row in rows:
        texts = _plain_texts(row, columns)
        marked = [optional(row, name) for name in column_names(columns.rationale, row)]
        if len(texts) == 1:
            yield from ((value, texts[0]) for value in marked if value is not None)
            continue
        value = marked[0] if len(marked) == 1 else marked
        with suppress(ValueError, RecursionError):
            value = json.loads(value) if isinstance(value, str) else value
        if isinstance(value, Mapping):
            value = [value.get(name) for name in column_names(columns.text, row)]
        if isinstance(value, list | tuple) and len(value) == len(texts):
            yield from ((part, text) for part, text in zip(value, texts, strict=True) if part is not None)


def _plain_texts(row: TableRow, columns: Columns) -> list[str]:
    """The texts of a row; not checked."""
    values = (row.get(name) for name in column_names(columns.text, row))
    return [value if isinstance(value, str) else "" for value in values]


def read_inputs(path: str | Path, *, columns: Columns | None = None) -> Iterator[DatasetRecord]:
    """The examples of a file to predict, one at a time, however long the file is; labels are optional.

    A `.txt` file has one text per line and no columns; its blank lines are skipped.
    Splits are not read. The id of an example without one is its place.
    """
    path, columns = Path(path), columns or Columns()
    check_file(path, suffixes=tuple(READERS))  # now, not on the first iteration
    if file_kind(path) == ".txt":
        if len(column_names(columns.text, ())) > 1:
            raise UserError(f"{path}: has no columns, but '{columns.text}' are asked for; write a table")
        columns = Columns()
    return _stream(path, Reading(columns, labelled=False, inputs=True))


def input_records(
    path: Path, rows: Iterable[PlacedRow], *, columns: Columns | None = None
) -> Iterator[DatasetRecord]:
    """The examples of some rows of a file to predict, as `read_inputs` reads all of them."""
    return _stream(path, Reading(columns or Columns(), labelled=False, inputs=True), rows)


def stream_inputs(
    stream: BinaryIO, *, name: str, columns: Columns | None = None
) -> Iterator[list[DatasetRecord]]:
    """The examples of a stream to predict, in lists of what has arrived: JSON objects or texts, by line."""
    for rows in stream_rows(stream, name):
        records = []
        for place, row in rows:
            texts_only = row.keys() == {"text"}  # as of a line that is a text
            reading = Reading(columns if columns and not texts_only else Columns(), labelled=False)
            with row_at(place):
                example = read_example(row, reading, default_id=place, place=place)
                records.append(DatasetRecord(place, None, example))
        yield records


def _stream(path: Path, reading: Reading, rows: Iterable[PlacedRow] | None = None) -> Iterator[DatasetRecord]:
    """The records of a dataset, or of inputs to predict, which have no splits; of all rows, or of these."""
    columns, inputs = reading.columns, reading.inputs
    columns_vary = file_kind(path) in (".jsonl", ".ndjson", ".json")
    present: dict[str, None] = {}  # an ordered set of the columns seen
    for number, (place, row) in enumerate(read_rows(path) if rows is None else rows, 1):
        present.update(dict.fromkeys(row))
        if number == 1 and not columns_vary:
            check_columns(path, columns, present)
            with at(path):  # said once of the file, not of each row
                _check_required(row, reading)
        with row_at(place):
            name = place if inputs else f"{path.stem}-{number}"
            example = read_example(row, reading, default_id=name, place=place)
            yield DatasetRecord(place, None if inputs else row_split(row, columns), example)
    if not inputs:
        check_columns(path, columns, present)


def check_columns(place: object, columns: Columns, present: Collection[str]) -> None:
    """A column that the user named must be present; a default one may be absent."""
    for role in fields(Columns):
        given = getattr(columns, role.name)
        for name in column_names(given, present) if given and given != role.default else ():
            if name not in present:
                raise UserError(f"{place}: {unknown('column', name, present)}")


def _check_required(row: TableRow, reading: Reading) -> None:
    """There must be columns of the texts and, in data that is labelled, of the labels."""
    for name in column_names(reading.columns.text, row):
        _required_text(row, name)
    if reading.labelled and not reading.label_from_marks:
        _check_label(row, reading.columns)


def column_names(given: str, present: Collection[str]) -> tuple[str, ...]:
    """The columns that a name stands for: itself if it is present, else its comma-separated parts.

    >>> column_names("premise, hypothesis", ["premise", "hypothesis"]), column_names("a,b", ["a,b"])
    (('premise', 'hypothesis'), ('a,b',))
    """
    if given in present or "," not in given:
        return (given,)
    parts = tuple(name.strip() for name in given.split(","))
    if len(set(parts)) < len(parts):
        raise UserError(f"columns '{given}' name one column twice; name each once")
    return parts


def label_columns(columns: Columns, present: Collection[str]) -> tuple[str, ...]:
    """The columns that hold the label: `labels` if the user names them or there is no `label`, else `label`.

    >>> label_columns(Columns(), ["text", "labels"]), label_columns(Columns(labels="toxic,insult"), ["label"])
    (('labels',), ('toxic', 'insult'))
    """
    default = Columns()
    unnamed = columns.label == default.label and columns.label not in present and columns.labels in present
    names_sets = columns.labels != default.labels or unnamed
    return column_names(columns.labels if names_sets and columns.labels else columns.label, present)


def required(row: TableRow, column: str) -> object:
    """The value of a column that must be present."""
    if column not in row:
        raise unknown("column", column, row)
    return row[column]


def _required_text(row: TableRow, column: str) -> object:
    """The value of a column of texts; if the usual one is absent, the error says how to name another."""
    if column == Columns().text and column not in row:
        raise UserError(f"{unknown('column', column, row)} Name the column of the texts: --columns.text NAME")
    return required(row, column)


def optional(row: TableRow, column: str) -> object:
    """The value of a column; None if it is absent or its value is missing."""
    value = row.get(column) if column else None
    return None if is_missing(value) else value


def row_split(row: TableRow, columns: Columns) -> str | None:
    """The split that a row names, if any."""
    split = optional(row, columns.split)
    return None if split is None else split_name(split)


def read_example(row: TableRow, reading: Reading, *, default_id: str, place: str = "") -> Example:
    """The example of a row."""
    columns = reading.columns
    texts = _texts(row, column_names(columns.text, row))
    choices = parse_choices(optional(row, columns.choices), column=columns.choices)
    given_id = optional(row, columns.id)
    if reading.marks.format == "tags":
        read = {name: read_tags(text) for name, text in texts.items()}
        texts = {name: text for name, (text, _) in read.items()}
        marked: tuple[Rationale, ...] = (tuple(spans for _, spans in read.values()),)
    else:
        marked = _markings(row, reading, texts)
        _note_other_reading(row, reading, texts, marked, place)
    votes = [] if reading.label_from_marks else _votes(row, reading, choices)
    agreed = _agreed(votes, marked, reading, tuple(texts.values()), place)
    if reading.label_from_marks and (reading.labelled or marked):
        agreed = agreed._replace(label=MARKED if any(agreed.rationale or ()) else UNMARKED)
    return Example(
        id=default_id if given_id is None else check_unicode(str(given_id), column=columns.id),
        segments=tuple(texts.values()),
        label=agreed.label,
        rationale=agreed.rationale,
        choices=choices,
        groups=_groups(optional(row, columns.groups), texts) or agreed.groups,
        votes=agreed.votes,
    )


def _votes(row: TableRow, reading: Reading, choices: Sequence[str] | None) -> list[Answer]:
    """The label of a row, or what several people said, each in a column."""
    columns = reading.columns
    names = label_columns(columns, row)
    if not reading.labelled and all(optional(row, name) is None for name in names):
        return []
    _check_label(row, columns)
    given = {name: required(row, name) for name in names}
    if len(names) > 1 and columns.labels != Columns().labels:
        return [label_set(name for name, value in given.items() if _flag(value, name))]
    if len(names) > 1:
        given = {name: value for name, value in given.items() if not is_missing(value)} or {names[0]: None}
    labels = [check_answer(value, column=name) for name, value in given.items()]
    if choices is None:
        return labels
    return [resolve_choice(label, choices, column=columns.label) for label in labels]


def _check_label(row: TableRow, columns: Columns) -> None:
    """A row needs a label; if it has none under the usual name, say what can be done."""
    if label_columns(columns, row) != (Columns().label,) or columns.label in row:
        return
    unnamed = str(unknown("column", columns.label, row))
    lists = (name for name, value in row.items() if str(value).startswith("["))
    marks = columns.rationale if columns.rationale in row else next(lists, None)
    if marks is None:
        raise UserError(f"{unnamed} Name the column of the classes: --columns.label NAME")
    raise UserError(
        f"{unnamed} Name the column of the classes: --columns.label NAME; if the class is whether anything "
        f"is marked, the column of the marks is both: --columns.rationale {marks} --columns.label {marks}"
    )


def _flag(value: object, column: str) -> bool:
    """Whether a row has the label that its column is named after."""
    known = {"0": False, "1": True, "0.0": False, "1.0": True, "false": False, "true": True}
    flag = known.get(str(value).strip().casefold())
    if flag is None:
        raise UserError(f"'{column}' must be 0 or 1: whether the text has this label; it is {short(value)}")
    return flag


def _agreed(
    votes: Sequence[Answer],
    marked: Sequence[Rationale],
    reading: Reading,
    segments: Sequence[str],
    place: str,
) -> Consensus:
    """The label most people gave and the marks of those who gave it, as far as it is known who did."""
    if len(votes) < 2 and len(marked) < 2:
        return Consensus(next(iter(votes), None), next(iter(marked), None))
    known = len(votes) == len(marked)  # then the first label and the first marks are of one person
    answers = [AnnotatorAnswer(f"person {number}", label) for number, label in enumerate(votes, 1)]
    if known:
        answers = [replace(answer, marking=one) for answer, one in zip(answers, marked, strict=True)]
    else:
        answers += [AnnotatorAnswer(f"person {number}", marking=one) for number, one in enumerate(marked, 1)]
    return agree(answers, how=reading.annotators, segments=segments, place=place)


def _texts(row: TableRow, columns: Sequence[str]) -> dict[str, str]:
    """The texts of a row; if there are several, some may be empty (a review without a title), but not all."""
    several = len(columns) > 1
    texts: dict[str, str] = {}
    for name in columns:
        value = _required_text(row, name)
        texts[name] = check_text("" if several and value is None else value, column=name, blank=several)
    if not any(text.strip() for text in texts.values()):
        raise UserError(f"all of {', '.join(columns)} are empty; give one some text or remove the row")
    return texts


def _markings(row: TableRow, reading: Reading, texts: Mapping[str, str]) -> tuple[Rationale, ...]:
    """What each person marked: one column, or for one text a column for each person."""
    names, marks = column_names(reading.columns.rationale, row), reading.marks
    if len(texts) == 1 or len(names) == 1:
        values = (optional(row, name) for name in names)
        return tuple(one for value in values for one in parse_marks(value, texts, marks))
    if len(names) != len(texts):
        raise UserError(
            f"{len(names)} rationale columns ({', '.join(names)}) for {len(texts)} of text "
            f"({', '.join(texts)}); name one for each, or one for all"
        )
    found = parse_columns([optional(row, name) for name in names], texts, format=marks.format)
    return () if found is None else (found,)


def _note_other_reading(
    row: TableRow, reading: Reading, texts: Mapping[str, str], marked: Sequence[Rationale], place: str
) -> None:
    """For `unirex data check`: say that a value alone would have been read otherwise."""
    guessed = reading.guessed and reading.marks in (Marks("flags"), Marks("words"))
    if not (guessed and marked and len(texts) == 1 and is_collecting()):
        return
    value = optional(row, reading.columns.rationale)
    with suppress(UserError):
        if parse_segments(value, texts) != marked[0]:
            remark(
                place,
                f"rationale {short(value)} is read as {reading.marks}, as in other rows; alone it could be "
                "something else: say --rationale_format",
            )


def _groups(value: object, texts: Mapping[str, str]) -> tuple[Rationale, ...]:
    try:
        given = json.loads(value) if isinstance(value, str) else value
    except (ValueError, RecursionError):
        raise UserError(f"groups {short(value)} are not JSON; write a list of rationales") from None
    if given is None:
        return ()
    if not isinstance(given, list | tuple):
        raise UserError(f"groups must be a list of rationales, not {short(given)}")
    groups = (parse_segments(group, texts, format="characters") for group in given)
    return tuple(group for group in groups if group is not None)


def parse_choices(value: object, *, column: str = "choices") -> tuple[str, ...] | None:
    """The choices in a value, a list or a list as JSON; None if the value is missing.

    >>> parse_choices('["yes", "no"]')
    ('yes', 'no')
    """
    if is_missing(value):
        return None
    choices = value
    if isinstance(value, str):
        try:
            choices = json.loads(value)
        except (ValueError, RecursionError):
            choices = None
    if not isinstance(choices, list | tuple) or len(choices) < 2:
        raise UserError(
            f'\'{column}\' must be a JSON list of two or more texts like ["yes", "no"], not {short(value)}; '
            "if this column holds something else, say so with an empty column name for choices"
        )
    return tuple(check_text(choice, column=f"{column}[{n}]") for n, choice in enumerate(choices))


def resolve_choice(label: Answer, choices: Sequence[str], *, column: str = "label") -> str:
    """The letter of the choice that a label means: by its letter, its number from 0, or its text.

    >>> [resolve_choice(label, ["yes", "no"]) for label in ("B", 1, "no")]
    ['B', 'B', 'B']
    """
    if isinstance(label, tuple):
        raise UserError(f"'{column}' {short(list(label))}: one of the choices is right, so it is no list")
    meant = [number for number, choice in enumerate(choices) if _means(label, number, choice)]
    if len(meant) == 1:
        return choice_label(meant[0])
    known = ", ".join(f"{choice_label(number)} ({short(choice)})" for number, choice in enumerate(choices))
    if meant:
        both = " and ".join(choice_label(number) for number in meant)
        raise UserError(f"'{column}' {label!r} could mean the choices {both} of {known}; give the letter")
    raise UserError(
        f"'{column}' {label!r} is none of the choices {known}; give a letter, the text, or the number "
        f"from 0 to {len(choices) - 1}"
    )


def _means(label: Label, number: int, choice: str) -> bool:
    if isinstance(label, str):  # in a CSV file numbers are strings of digits
        return label.strip() in (choice.strip(), choice_label(number), str(number))
    return not isinstance(label, bool) and label == number
