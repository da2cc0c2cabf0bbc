"""Prodigy: the JSON Lines that `prodigy db-out` writes.

Each line is one person's answer about one text. Lines with the same text (and `_input_hash`) belong together;
among them, those with the same `_annotator_id` (or else `_session_id`) are from one person, who may have
marked in one pass and chosen a class in another. A line without either counts as a person of its own.

| line | accepted | rejected |
|---|---|---|
| has `spans` | they are the marks; `[]`: nothing was marked | left out |
| has `accept`, a choice of options | it is the class; there must be exactly one | left out |
| has `label` | it is the class | left out, but see below |
| asks yes or no to `label` | it is the class | the class is the other one |

A line asks yes or no to its label if its `_view_id` is "classification", or if it has no `_view_id`, `spans`
or `accept`. "No" means the other class in a file with two classes, and "not X" in a file with X alone. In a
file with more classes it does not say which, and is left out.

A line answered with "ignore" is left out. Everything left out gets a remark; in Prodigy's own `review`, too,
ignored lines and rejected marks do not count. Spans in a line that only asks for a class (`_view_id`
"classification" or "choice") were found by a pattern and not marked by a person: they are left out.

The class is the one most people gave; the marks of those who gave it are combined. Offsets are characters, as
they come from tokens made in Python. Id and split are in the line or in its `meta`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from unirex.data.annotators import AnnotatorAnswer, agree, check_aggregation
from unirex.data.example import CharSpan, Label
from unirex.data.formats.annotation import annotated_record
from unirex.data.formats.table import Columns, DatasetRecord, column_names, optional, required
from unirex.data.rationales import merge, parse_rationale
from unirex.data.rows import TableRow, read_rows
from unirex.data.validate import check_file, check_ids, check_label, check_text, remark, row_at
from unirex.errors import UserError, unknown

ANSWERS = ("accept", "reject", "ignore")
CLASS_VIEWS = ("classification", "choice")  # interfaces that only ask for a class


@dataclass(frozen=True, slots=True)
class ProdigyAnswer:
    """One line: an answer about one text; `marks` is None if the line is not about marks."""

    place: str
    row: TableRow  # with the fields of its `meta`
    text: str
    annotator: str
    counts: bool = False  # whether the line says anything
    label: Label | None = None
    denied: Label | None = None  # the class that was answered with no
    marks: tuple[CharSpan, ...] | None = None


def read(path: Path, *, columns: Columns, annotators: str = "union") -> list[DatasetRecord]:
    """All texts of an export that have an answer, in the order of their first lines."""
    check_file(path, suffixes=(".jsonl", ".ndjson"))
    check_aggregation(annotators)
    if len(column_names(columns.text, ())) > 1:
        raise UserError(f"{path}: Prodigy marks one text a line; name one text column, not '{columns.text}'")
    lines: list[ProdigyAnswer] = []
    groups: dict[tuple[str, str], list[ProdigyAnswer]] = {}
    for number, (place, row) in enumerate(read_rows(path), 1):
        with row_at(place):
            annotator = row.get("_annotator_id") or row.get("_session_id") or f"line {number}"
            line = _read_line(place, row, str(annotator), columns)
            lines.append(line)
            groups.setdefault((line.text, str(line.row.get("_input_hash"))), []).append(line)
    opposite = _opposites(lines)
    records: list[DatasetRecord] = []
    for number, group in enumerate(groups.values(), 1):
        with row_at(group[0].place):
            records += _record(group, columns, opposite, annotators, f"{path.stem}-{number}")
    check_ids((record.place, record.example.id) for record in records)
    return records


def _read_line(place: str, row: dict[str, object], annotator: str, columns: Columns) -> ProdigyAnswer:
    answer = row.get("answer")
    if answer not in ANSWERS:
        raise UserError(f"{unknown('answer', answer, ANSWERS)} Export the lines with prodigy db-out.")
    text = check_text(required(row, columns.text), column=columns.text)
    meta = row.get("meta")
    line = ProdigyAnswer(place, {**meta, **row} if isinstance(meta, dict) else row, text, annotator)
    if answer == "accept":
        return replace(line, counts=True, label=_label(row, columns), marks=_marks(row, text, place))
    view = row.get("_view_id")
    yes_or_no = view == "classification" or (view is None and not row.keys() & {"spans", "accept"})
    if answer == "reject" and yes_or_no and optional(row, columns.label) is not None:
        denied = check_label(row[columns.label], column=columns.label)
        return replace(line, counts=True, denied=denied)
    remark(place, f"the answer is {answer}; the line is left out")
    return line


def _label(row: TableRow, columns: Columns) -> Label | None:
    chosen = row.get("accept")
    if chosen is None:
        given = optional(row, columns.label)
        return None if given is None else check_label(given, column=columns.label)
    if not isinstance(chosen, list) or len(chosen) != 1:
        raise UserError(f"'accept' must hold one class, not {chosen!r}; correct the line or remove it")
    return check_label(chosen[0], column="accept")


def _marks(row: TableRow, text: str, place: str) -> tuple[CharSpan, ...] | None:
    spans = row.get("spans")
    if spans is None:
        return None
    if not isinstance(spans, list) or not all(isinstance(span, dict) for span in spans):
        raise UserError('\'spans\' must be a list of objects like {"start": 0, "end": 4}')
    if row.get("_view_id") in CLASS_VIEWS:
        if spans:
            remark(place, f"its spans were shown by '{row['_view_id']}', not marked; they are left out")
        return None
    pairs = [[span.get("start"), span.get("end")] for span in spans]
    return parse_rationale(pairs, text, format="characters")


def _opposites(lines: Sequence[ProdigyAnswer]) -> dict[Label, Label]:
    """The class that a "no" to another class means; empty if there are more than two."""
    named = (label for line in lines for label in (line.label, line.denied) if label is not None)
    classes = list(dict.fromkeys(named))
    if len(classes) == 1:
        return {classes[0]: f"not {classes[0]}"}
    return {classes[0]: classes[1], classes[1]: classes[0]} if len(classes) == 2 else {}


def _record(
    group: Sequence[ProdigyAnswer],
    columns: Columns,
    opposite: Mapping[Label, Label],
    how: str,
    name: str,
) -> Iterator[DatasetRecord]:
    """The record of a text; none if no line says anything about it."""
    people: dict[str, list[ProdigyAnswer]] = {}
    for line in group:
        if line.counts:
            people.setdefault(line.annotator, []).append(line)
    answers = [
        answer for annotator, lines in people.items() for answer in _person(annotator, lines, opposite)
    ]
    if not answers:
        return
    first = group[0]
    consensus = agree(answers, how=how, segments=(first.text,), place=first.place)
    if consensus.label is None:
        raise UserError(f"no class: neither 'accept' nor '{columns.label}' is in any line of this text")
    yield annotated_record(consensus, (first.text,), first.row, columns, place=first.place, name=name)


def _person(
    annotator: str, lines: Sequence[ProdigyAnswer], opposite: Mapping[Label, Label]
) -> Iterator[AnnotatorAnswer]:
    """The answer of one person, from all their lines about a text; none if it is only an ambiguous "no"."""
    given = {line.label for line in lines if line.label is not None}
    denied = {line.denied for line in lines if line.denied is not None}
    given |= {opposite[label] for label in denied if label in opposite}
    if len(given) > 1:
        raise UserError(f"{annotator} gives one text several classes: {', '.join(sorted(map(repr, given)))}")
    if denied and not given:
        listed = ", ".join(sorted(map(repr, denied)))
        remark(lines[0].place, f"a no to {listed} does not say which class it is; it is left out")
    marks = [line.marks for line in lines if line.marks is not None]
    if given or marks or not denied:
        marking = (merge(span for spans in marks for span in spans),) if marks else None
        yield AnnotatorAnswer(annotator, next(iter(given), None), marking)
