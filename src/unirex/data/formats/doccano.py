"""doccano: its JSONL export, a file, or a folder with a file for each annotator.

What a line may hold, by the kind of project that exported it:

| project | marks | class |
|---|---|---|
| sequence labelling | `label` (once `labels`): `[[0, 4, "name"], ...]` | |
| the same, with relations | `entities`: `[{"start_offset": 0, "end_offset": 4, "label": "name"}, ...]` | |
| intent detection and slot filling | `entities`: `[[0, 4, "name"], ...]` | `cats`: `["name"]` |
| text classification | | `label` (once `labels`): `["name"]` |

The text is under `text` (or `data`); the columns imported with it are there too. The class of a text is

1. what stands in the column that `columns.label` names, if it is no list;
2. else the only name in `cats`, `label` or `labels`;
3. else the name all its marks have, in an export whose marks have several names: there a mark says "this is
   why it is *name*". Where all marks have one name ("rationale"), it is no class.

doccano exports a project whose annotators do not share their work as one file for each of them, of the same
texts (by their `id`): the class is the one most gave, and the marks of those who gave it are combined. A text
without marks has no rationale: one that nobody opened looks the same.

Offsets are what JavaScript counts, UTF-16 code units (doccano issue 2290), save those that were imported from
elsewhere and not touched. With `offsets="auto"`, an export is read in the way in which more of its marks
begin and end with a word. Those of a project that counts grapheme clusters as one character cannot be read
right in texts that have such clusters (composed emoji, combining accents).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from reprlib import repr as short

from unirex.data.example import Example, Label
from unirex.data.formats.annotators import Annotation, How, agree, check_how
from unirex.data.formats.offsets import Offsets, Unit, char_spans, check_offsets, differs, find_unit
from unirex.data.formats.table import Columns, Record, cell, names, optional
from unirex.data.rows import rows
from unirex.data.split import split_name
from unirex.data.validate import check_file, check_ids, check_label, check_text, remark, row_at
from unirex.errors import UserError

Cells = Mapping[str, object]
Mark = tuple[object, object, Label]  # its start and end as they stand there, its name

SUFFIXES = (".jsonl", ".ndjson")
MARKS = ("entities", "label", "labels")
CLASSES = ("cats", "label", "labels")


@dataclass(frozen=True, slots=True)
class Document:
    """One text as one annotator left it."""

    place: str
    who: str
    cells: Cells
    text: str
    marks: Sequence[Mark]
    label: Label | None

    @property
    def pairs(self) -> list[list[object]]:
        """Where the marks begin and end."""
        return [[start, end] for start, end, _ in self.marks]


def read(
    path: Path, *, columns: Columns, annotators: How = "union", offsets: Offsets = "auto"
) -> list[Record]:
    """All documents of an export, in its order."""
    check_how(annotators)
    check_offsets(offsets)
    if len(names(columns.text, ())) > 1:
        raise UserError(f"{path}: doccano marks one text a line; name one text column, not '{columns.text}'")
    documents = [one for file in _files(path) for one in _documents(file, columns)]
    unit = _unit(path, documents) if offsets == "auto" else offsets
    classes = len({name for one in documents for *_, name in one.marks}) > 1
    records: list[Record] = []
    for number, group in enumerate(_by_text(documents, columns) if path.is_dir() else zip(documents), 1):
        with row_at(group[0].place):
            answers = [_answer(one, unit, classes) for one in group]
            records.append(_record(group, answers, columns, annotators, f"{path.stem}-{number}"))
    check_ids((record.place, record.example.id) for record in records)
    return records


def _files(path: Path) -> list[Path]:
    if not path.is_dir():
        check_file(path, suffixes=SUFFIXES)
        return [path]
    files = sorted(file for file in path.iterdir() if file.suffix.lower() in SUFFIXES and file.is_file())
    if not files:
        raise UserError(f"{path}: no file of an annotator in it ({', '.join(SUFFIXES)})")
    return files


def _documents(file: Path, columns: Columns) -> Iterator[Document]:
    for place, row in rows(file):
        with row_at(place):
            column = columns.text if columns.text in row or "data" not in row else "data"
            text = check_text(cell(row, column), column=column)
            yield Document(place, file.stem, row, text, _marks(row, columns), _label(row, columns))


def _marks(row: Cells, columns: Columns) -> list[Mark]:
    if "annotations" in row and not row.keys() & {*MARKS, *CLASSES}:
        raise UserError("it names labels by numbers, as an old doccano did; export as JSONL (text label)")
    for column in (columns.rationale, *MARKS):
        value = row.get(column)
        if isinstance(value, list) and value and not isinstance(value[0], str):
            return [_mark(one, column) for one in value]
    return []


def _mark(value: object, column: str) -> Mark:
    if isinstance(value, dict):
        value = [value.get("start_offset"), value.get("end_offset"), value.get("label")]
    if not isinstance(value, list) or len(value) != 3:
        raise UserError(f"a mark in '{column}' must be [start, end, name], not {short(value)}")
    start, end, name = value
    return start, end, check_label(name, column=column)


def _label(row: Cells, columns: Columns) -> Label | None:
    """The class that is given for the whole text."""
    if columns.label != Columns().label:
        cell(row, columns.label)  # who names a column has one
    for column in (columns.label, *CLASSES):
        value = optional(row, column)
        if value is not None and not isinstance(value, list):
            return check_label(value, column=column)
        if value and isinstance(value[0], str):
            if len(value) > 1:
                raise UserError(f"'{column}' holds several classes, {short(value)}; a text has one")
            return check_label(value[0], column=column)
    return None


def _unit(path: Path, documents: Iterable[Document]) -> Unit:
    doubtful = [one for one in documents if one.marks and differs(one.text)]
    unit = find_unit([(one.pairs, one.text) for one in doubtful], otherwise="utf-16")
    if doubtful:
        counted = "UTF-16 code units" if unit == "utf-16" else "characters"
        remark(
            path,
            f"offsets are read as {counted}, which matters in {len(doubtful)} texts (emoji and the like), "
            f"first at {doubtful[0].place}; if this is wrong, say offsets='characters' or 'utf-16'",
        )
    return unit


def _by_text(documents: Iterable[Document], columns: Columns) -> list[list[Document]]:
    groups: dict[tuple[str, str], list[Document]] = {}
    for one in documents:
        groups.setdefault((str(optional(one.cells, columns.id)), one.text), []).append(one)
    return list(groups.values())


def _answer(document: Document, unit: Unit, classes: bool) -> Annotation:
    """What one annotator says of a text; `classes` tells that marks are named after classes."""
    label, found = document.label, {name for *_, name in document.marks}
    if label is None and classes:
        if len(found) > 1:
            raise UserError(f"its marks are for several classes ({', '.join(sorted(map(str, found)))})")
        label = next(iter(found), None)
    marking = (char_spans(document.pairs, document.text, unit=unit),) if document.marks else None
    return Annotation(document.who, label, marking)


def _record(
    group: Sequence[Document], answers: Sequence[Annotation], columns: Columns, how: How, default_id: str
) -> Record:
    first = group[0]
    found = agree(answers, how=how, segments=(first.text,), place=first.place)
    if found.label is None:
        raise UserError(
            "no class: give every text one in doccano, or name the column that holds it "
            f"(columns label=...; there are {', '.join(first.cells)})"
        )
    given_id, split = optional(first.cells, columns.id), optional(first.cells, columns.split)
    name = default_id if given_id is None else str(given_id)
    example = Example(name, (first.text,), found.label, found.rationale, groups=found.groups)
    return Record(first.place, None if split is None else split_name(split), example)
