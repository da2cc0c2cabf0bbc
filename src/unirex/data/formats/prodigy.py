"""Prodigy: the JSON Lines that `prodigy db-out` writes.

Each line is one person's answer about one text. Lines with one text (and `_input_hash`) belong together;
among them, those with one `_annotator_id` (or else `_session_id`) are one person's, who may have marked in
one pass and chosen a class in another. A line that names nobody is a person of its own.

| line | accepted | rejected |
|---|---|---|
| has `spans` | they are the marks; `[]`: nothing was marked | left out |
| has `accept`, a choice of options | it is the class; there must be exactly one | left out |
| has `label` | it is the class | left out, but see below |
| asks yes or no to `label` | it is the class | the class is the other one |

A line asks yes or no to its label if its `_view_id` is "classification", or if it has no `_view_id`, `spans`
or `accept`. "No" means the other class in a file with two classes, and "not X" in a file with X alone. In a
file with more it does not say which, and is left out.

A line answered with "ignore" is left out. What is left out is remarked upon; in Prodigy's own `review`, too,
ignored lines and rejected marks count for nothing. Spans in a line that only asks for a class (`_view_id`
"classification" or "choice") were found by a pattern and marked by nobody: they are left out.

The class is the one most people gave; the marks of those who gave it are combined. Offsets are characters,
as they are those of tokens made in Python. Id and split stand in the line or in its `meta`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from unirex.data.example import CharSpan, Example, Label
from unirex.data.formats.annotators import Annotation, How, agree, check_how
from unirex.data.formats.table import Columns, Record, cell, names, optional
from unirex.data.rationales import merge, parse_rationale
from unirex.data.rows import rows
from unirex.data.split import split_name
from unirex.data.validate import check_file, check_ids, check_label, check_text, remark, row_at
from unirex.errors import UserError, unknown

ANSWERS = ("accept", "reject", "ignore")
ONLY_ASK = ("classification", "choice")  # interfaces in which nobody can mark anything


@dataclass(frozen=True, slots=True)
class Line:
    """One answer about one text; `marks` is None where the line is not about marks."""

    place: str
    cells: Mapping[str, object]
    text: str
    who: str
    answer: str
    label: Label | None = None
    denied: Label | None = None  # the class to which the answer is no
    marks: tuple[CharSpan, ...] | None = None


def read(path: Path, *, columns: Columns, annotators: How = "union") -> list[Record]:
    """All texts of an export that somebody answered for, in the order of their first lines."""
    check_file(path, suffixes=(".jsonl", ".ndjson"))
    check_how(annotators)
    if len(names(columns.text, ())) > 1:
        raise UserError(f"{path}: Prodigy marks one text a line; name one text column, not '{columns.text}'")
    lines = list(_lines(path, columns))
    opposite = _opposites(lines)
    records: list[Record] = []
    for number, group in enumerate(_by_text(lines), 1):
        with row_at(group[0].place):
            records += _record(group, columns, opposite, annotators, f"{path.stem}-{number}")
    check_ids((record.place, record.example.id) for record in records)
    return records


def _lines(path: Path, columns: Columns) -> Iterator[Line]:
    for number, (place, row) in enumerate(rows(path), 1):
        with row_at(place):
            who = row.get("_annotator_id") or row.get("_session_id") or f"line {number}"
            yield _line(place, row, str(who), columns)


def _line(place: str, row: dict[str, object], who: str, columns: Columns) -> Line:
    answer = row.get("answer")
    if answer not in ANSWERS:
        raise UserError(f"{unknown('answer', answer, ANSWERS)} Export the lines with prodigy db-out.")
    text = check_text(cell(row, columns.text), column=columns.text)
    meta = row.get("meta")
    line = (place, {**meta, **row} if isinstance(meta, dict) else row, text, who, str(answer))
    if answer == "accept":
        return Line(*line, label=_label(row, columns), marks=_marks(row, text, place))
    if answer == "reject" and _asks_for_a_class(row, columns):
        return Line(*line, denied=check_label(row[columns.label], column=columns.label))
    remark(place, f"the answer is {answer}; the line is left out")
    return Line(*line)


def _label(row: dict[str, object], columns: Columns) -> Label | None:
    chosen = row.get("accept")
    if chosen is None:
        given = optional(row, columns.label)
        return None if given is None else check_label(given, column=columns.label)
    if not isinstance(chosen, list) or len(chosen) != 1:
        raise UserError(f"'accept' must hold one class, not {chosen!r}; mend the line or remove it")
    return check_label(chosen[0], column="accept")


def _marks(row: dict[str, object], text: str, place: str) -> tuple[CharSpan, ...] | None:
    spans = row.get("spans")
    if spans is None:
        return None
    if not isinstance(spans, list) or not all(isinstance(span, dict) for span in spans):
        raise UserError('\'spans\' must be a list of objects like {"start": 0, "end": 4}')
    if row.get("_view_id") in ONLY_ASK:
        if spans:
            remark(place, f"its spans were shown by '{row['_view_id']}', not marked; they are left out")
        return None
    pairs = [[span.get("start"), span.get("end")] for span in spans]
    return parse_rationale(pairs, text, format="characters")


def _asks_for_a_class(row: dict[str, object], columns: Columns) -> bool:
    if optional(row, columns.label) is None:
        return False
    view = row.get("_view_id")
    return view == "classification" or (view is None and not row.keys() & {"spans", "accept"})


def _opposites(lines: Sequence[Line]) -> dict[Label, Label]:
    """The class meant by a no to another, where this can be told."""
    classes = list(
        dict.fromkeys(one for line in lines for one in (line.label, line.denied) if one is not None)
    )
    if len(classes) == 1:
        return {classes[0]: f"not {classes[0]}"}
    return {classes[0]: classes[1], classes[1]: classes[0]} if len(classes) == 2 else {}


def _by_text(lines: Sequence[Line]) -> list[list[Line]]:
    groups: dict[tuple[str, str], list[Line]] = {}
    for line in lines:
        groups.setdefault((line.text, str(line.cells.get("_input_hash"))), []).append(line)
    return list(groups.values())


def _record(
    group: Sequence[Line], columns: Columns, opposite: Mapping[Label, Label], how: How, default_id: str
) -> Iterator[Record]:
    people: dict[str, list[Line]] = {}
    for line in group:
        if line.answer == "accept" or line.denied is not None:
            people.setdefault(line.who, []).append(line)
    answers = [one for who, lines in people.items() for one in _person(who, lines, opposite)]
    if not answers:
        return
    first = group[0]
    found = agree(answers, how=how, segments=(first.text,), place=first.place)
    if found.label is None:
        raise UserError(f"no class: neither 'accept' nor '{columns.label}' is in any line of this text")
    given_id, split = optional(first.cells, columns.id), optional(first.cells, columns.split)
    name = default_id if given_id is None else str(given_id)
    example = Example(name, (first.text,), found.label, found.rationale, groups=found.groups)
    yield Record(first.place, None if split is None else split_name(split), example)


def _person(who: str, lines: Sequence[Line], opposite: Mapping[Label, Label]) -> Iterator[Annotation]:
    """What one person said of one text, in however many lines; nothing if it was a no that says nothing."""
    given = {line.label for line in lines if line.label is not None}
    denied = {line.denied for line in lines if line.denied is not None}
    given |= {opposite[one] for one in denied if one in opposite}
    if len(given) > 1:
        raise UserError(f"{who} gives one text several classes: {', '.join(sorted(map(repr, given)))}")
    if denied and not given:
        what = ", ".join(sorted(map(repr, denied)))
        remark(lines[0].place, f"a no to {what} does not say which class it is; it is left out")
    marks = [line.marks for line in lines if line.marks is not None]
    if given or marks or not denied:
        marking = (merge(span for spans in marks for span in spans),) if marks else None
        yield Annotation(who, next(iter(given), None), marking)
