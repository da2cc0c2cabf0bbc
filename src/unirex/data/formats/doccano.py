"""doccano: its JSONL export, a file, or a folder with a file for each annotator.

What a line may hold, by the kind of project that exported it:

| project | marks | class |
|---|---|---|
| sequence labelling | `label` (once `labels`): `[[0, 4, "name"], ...]` | |
| the same, with relations | `entities`: `[{"start_offset": 0, "end_offset": 4, "label": "name"}, ...]` | |
| intent detection and slot filling | `entities`: `[[0, 4, "name"], ...]` | `cats`: `["name"]` |
| text classification | | `label` (once `labels`): `["name"]` |

The text is in `text` (or `data`), beside the columns that were imported with it. The class of a text is

1. the value of the column that `columns.label` names, if it is not a list;
2. else the only name in `cats`, `label` or `labels`;
3. else the common name of its marks, in an export whose marks have several names: there a mark means "this is
   why it is *name*". If all marks have the same name ("rationale"), it is not a class.

doccano exports a project whose annotators do not share their work as one file for each of them, of the same
texts (by their `id`): the class is the one most gave, and the marks of those who gave it are combined. A text
without marks has no rationale, as a text that was never opened looks the same.

Offsets are what JavaScript counts, UTF-16 code units (doccano issue 2290), except those that were imported
and not changed. With `offsets="auto"`, an export is read in the unit in which more of its marks begin and end
at word boundaries. In a project that counts grapheme clusters as one character, marks in texts with such
clusters (composed emoji, combining accents) cannot be read correctly.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from reprlib import repr as short

from unirex.data.annotators import AnnotatorAnswer, agree, check_aggregation
from unirex.data.example import Label
from unirex.data.formats.annotation import (
    Offsets,
    Unit,
    annotated_record,
    char_spans,
    check_offsets,
    guess_unit,
    unit_matters,
)
from unirex.data.formats.table import Columns, DatasetRecord, column_names, optional, required
from unirex.data.rows import TableRow, read_rows
from unirex.data.validate import check_file, check_ids, check_label, check_text, remark, row_at
from unirex.errors import UserError

NamedSpan = tuple[object, object, Label]  # start and end as exported, not yet validated; the mark's name

SUFFIXES = (".jsonl", ".ndjson")
MARK_COLUMNS = ("entities", "label", "labels")
CLASS_COLUMNS = ("cats", "label", "labels")


@dataclass(frozen=True, slots=True)
class DoccanoDocument:
    """One text as annotated by one person."""

    place: str
    annotator: str
    row: TableRow
    text: str
    marks: Sequence[NamedSpan]
    label: Label | None

    @property
    def pairs(self) -> list[list[object]]:
        """Start and end of each mark."""
        return [[start, end] for start, end, _ in self.marks]

    @property
    def mark_names(self) -> set[Label]:
        """The different names of the marks."""
        return {name for *_, name in self.marks}


def read(
    path: Path, *, columns: Columns, annotators: str = "union", offsets: Offsets = "auto"
) -> list[DatasetRecord]:
    """All documents of an export, in file order."""
    check_aggregation(annotators)
    check_offsets(offsets)
    if len(column_names(columns.text, ())) > 1:
        raise UserError(f"{path}: doccano marks one text a line; name one text column, not '{columns.text}'")
    documents = list(_documents(path, columns))
    unit = _guess_unit(path, documents) if offsets == "auto" else offsets
    names_are_classes = len({name for document in documents for name in document.mark_names}) > 1
    groups: dict[object, list[DoccanoDocument]] = {}
    shared = path.is_dir()  # the files of a folder hold the same texts, a file holds each text once
    for document in documents:
        key = (str(optional(document.row, columns.id)), document.text) if shared else document.place
        groups.setdefault(key, []).append(document)
    records: list[DatasetRecord] = []
    for number, group in enumerate(groups.values(), 1):
        with row_at(group[0].place):
            answers = [_answer(document, unit, names_are_classes) for document in group]
            records.append(_record(group[0], answers, columns, annotators, f"{path.stem}-{number}"))
    check_ids((record.place, record.example.id) for record in records)
    return records


def _documents(path: Path, columns: Columns) -> Iterator[DoccanoDocument]:
    files = [path]
    if path.is_dir():
        files = sorted(file for file in path.iterdir() if file.suffix.lower() in SUFFIXES and file.is_file())
        if not files:
            raise UserError(f"{path}: no file of an annotator in it ({', '.join(SUFFIXES)})")
    else:
        check_file(path, suffixes=SUFFIXES)
    for file in files:
        for place, row in read_rows(file):
            with row_at(place):
                column = columns.text if columns.text in row or "data" not in row else "data"
                text = check_text(required(row, column), column=column)
                yield DoccanoDocument(place, file.stem, row, text, _marks(row, columns), _label(row, columns))


def _marks(row: TableRow, columns: Columns) -> list[NamedSpan]:
    if "annotations" in row and not row.keys() & {*MARK_COLUMNS, *CLASS_COLUMNS}:
        raise UserError("it names labels by numbers, as an old doccano did; export as JSONL (text label)")
    for column in (columns.rationale, *MARK_COLUMNS):
        values = row.get(column)
        if not isinstance(values, list) or not values or isinstance(values[0], str):
            continue
        marks: list[NamedSpan] = []
        for value in values:
            mark = value
            if isinstance(value, dict):
                mark = [value.get("start_offset"), value.get("end_offset"), value.get("label")]
            if not isinstance(mark, list) or len(mark) != 3:
                raise UserError(f"a mark in '{column}' must be [start, end, name], not {short(mark)}")
            marks.append((mark[0], mark[1], check_label(mark[2], column=column)))
        return marks
    return []


def _label(row: TableRow, columns: Columns) -> Label | None:
    """The class given for the whole text."""
    if columns.label != Columns().label:
        required(row, columns.label)  # a column that the user names must be present
    for column in (columns.label, *CLASS_COLUMNS):
        value = optional(row, column)
        if value is not None and not isinstance(value, list):
            return check_label(value, column=column)
        if value and isinstance(value[0], str):
            if len(value) > 1:
                raise UserError(f"'{column}' holds several classes, {short(value)}; a text has one")
            return check_label(value[0], column=column)
    return None


def _guess_unit(path: Path, documents: Iterable[DoccanoDocument]) -> Unit:
    doubtful = [document for document in documents if document.marks and unit_matters(document.text)]
    unit = guess_unit([(document.pairs, document.text) for document in doubtful], otherwise="utf-16")
    if doubtful:
        unit_name = "UTF-16 code units" if unit == "utf-16" else "characters"
        remark(
            path,
            f"offsets are read as {unit_name}, which matters in {len(doubtful)} texts (emoji and the like), "
            f"first at {doubtful[0].place}; if this is wrong, say offsets='characters' or 'utf-16'",
        )
    return unit


def _answer(document: DoccanoDocument, unit: Unit, names_are_classes: bool) -> AnnotatorAnswer:
    """One annotator's answer about a text."""
    label, names = document.label, document.mark_names
    if label is None and names_are_classes:
        if len(names) > 1:
            raise UserError(f"its marks are for several classes ({', '.join(sorted(map(str, names)))})")
        label = next(iter(names), None)
    marking = (char_spans(document.pairs, document.text, unit=unit),) if document.marks else None
    return AnnotatorAnswer(document.annotator, label, marking)


def _record(
    first: DoccanoDocument,
    answers: Sequence[AnnotatorAnswer],
    columns: Columns,
    how: str,
    name: str,
) -> DatasetRecord:
    consensus = agree(answers, how=how, segments=(first.text,), place=first.place)
    if consensus.label is None:
        raise UserError(
            "no class: give every text one in doccano, or name the column that holds it "
            f"(columns label=...; there are {', '.join(first.row)})"
        )
    return annotated_record(consensus, (first.text,), first.row, columns, place=first.place, name=name)
