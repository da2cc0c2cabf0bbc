"""One text as a person sees it, what they reply, and both as they are stored."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from unirex.annotate.definition import Definition, Start
from unirex.data.example import Answer, CharSpan, Example, Label, Rationale, choice_labels, numbered_answer
from unirex.data.rationales import merge
from unirex.data.segmentation import text_words
from unirex.errors import UserError

MOST_SPANS = 2000  # of one text


@dataclass(frozen=True, slots=True)
class Item:
    """What a person sees of one text. It holds neither gold nor a suggestion, unless they start from it."""

    text: int
    segments: tuple[str, ...]
    words: tuple[tuple[CharSpan, ...], ...]  # of each segment
    markable: tuple[bool, ...]  # of each segment
    choices: tuple[str, ...] | None
    labels: tuple[str, ...]  # to choose from
    start: Start
    origin: str  # in words: who made the marks it starts from
    label: tuple[int, ...]  # numbers of the chosen labels
    marks: Rationale
    version: int  # answers of this person to this text so far
    skipped: bool = False
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Reply:
    """What a person says about a text: numbers of its labels, and the marked characters of each segment."""

    label: tuple[int, ...]
    marks: Sequence[Sequence[Sequence[int]]]


def item_of(definition: Definition, row: sqlite3.Row, last: sqlite3.Row | None) -> Item:
    """A text as a person sees it: with their last answer, else with what it starts from.

    Args:
        definition: of the annotation.
        row: of the text.
        last: this person's last answer, if there is one.
    """
    example, (start, shown) = example_of(row), shown_at_first(definition, row)
    labels = labels_of_text(definition, example)
    label = None if shown is None else shown["label"]
    marks = None if shown is None else shown["marks"]
    if last is not None and not last["skipped"]:
        label, marks = json.loads(last["label"]), json.loads(last["marks"])
    return Item(
        text=row["number"],
        segments=example.segments,
        words=tuple(tuple(text_words(segment)) for segment in example.segments),
        markable=tuple(is_markable(definition, number) for number in range(len(example.segments))),
        choices=example.choices,
        labels=tuple(map(str, labels)),
        start=start,
        origin=_origin(start, shown),
        label=_numbers(label, labels),
        marks=rationale_of(marks) if marks is not None else tuple(() for _ in example.segments),
        version=0 if last is None else last["version"],
        skipped=last is not None and bool(last["skipped"]),
        reason="" if last is None else last["reason"] or "",
    )


def shown_at_first(definition: Definition, row: sqlite3.Row) -> tuple[Start, dict[str, Any] | None]:
    """What a text starts from: how, with which label and marks, and of a suggestion by which system."""
    if definition.start == "suggestion" and row["suggestion"] is not None:
        return "suggestion", {**json.loads(row["suggestion"]), **asdict(definition.systems[0])}
    if definition.start == "gold" and (row["gold"] is not None or row["label"] is not None):
        marks = json.loads(row["gold"]) if row["gold"] is not None else None
        return "gold", {"label": json.loads(row["label"] or "null"), "marks": marks}
    return "blank", None


def checked_reply(definition: Definition, example: Example, reply: Reply) -> tuple[Answer, Rationale]:
    """Label and marks as they are stored; what does not fit the text is refused."""
    labels = labels_of_text(definition, example)
    numbers = tuple(sorted(set(reply.label)))
    if any(not 0 <= number < len(labels) for number in numbers):
        raise UserError(f"label: give a number from 0 to {len(labels) - 1}.")
    if not definition.multi_label and len(numbers) != 1:
        raise UserError("choose one label.")
    if len(reply.marks) != len(example.segments):
        raise UserError(f"marks: give a list for each of the {len(example.segments)} texts.")
    if sum(map(len, reply.marks)) > MOST_SPANS:
        raise UserError(f"marks: at most {MOST_SPANS} spans.")
    for number, spans in enumerate(reply.marks):
        if spans and not is_markable(definition, number):
            raise UserError(f"text {number + 1} cannot be marked.")
    marks = tuple(map(_checked_spans, example.segments, reply.marks))
    return numbered_answer(numbers if definition.multi_label else numbers[0], labels), marks


def _checked_spans(segment: str, spans: Sequence[Sequence[int]]) -> tuple[CharSpan, ...]:
    for span in spans:
        if len(span) != 2 or not 0 <= span[0] < span[1] <= len(segment):
            raise UserError(f"marks: {list(span)[:3]} is outside the text of {len(segment)} characters.")
    return merge((start, end) for start, end in spans)


def is_markable(definition: Definition, segment: int) -> bool:
    """Whether words of this segment can be marked."""
    return definition.rationale_segments is None or segment in definition.rationale_segments


def labels_of_text(definition: Definition, example: Example) -> tuple[Label, ...]:
    """The labels to choose from for a text: those of all texts, or the letters of its choices."""
    return definition.labels if example.choices is None else choice_labels(len(example.choices))


def example_of(row: sqlite3.Row) -> Example:
    """A text as the data had it: its label and marks are those of the data."""
    choices = json.loads(row["choices"]) if row["choices"] else None
    label = json.loads(row["label"]) if row["label"] else None
    return Example(
        id=row["id"],
        segments=tuple(json.loads(row["segments"])),
        label=tuple(label) if isinstance(label, list) else label,
        rationale=rationale_of(json.loads(row["gold"])) if row["gold"] else None,
        choices=None if choices is None else tuple(choices),
    )


def rationale_of(plain: Sequence[Sequence[Sequence[int]]]) -> Rationale:
    """Marks from their JSON form."""
    return tuple(tuple((start, end) for start, end in spans) for spans in plain)


def answer_of(plain: str) -> Answer:
    """A label, or a set of labels, from its JSON form."""
    label = json.loads(plain)
    return tuple(label) if isinstance(label, list) else label


def answer_json(answer: Answer) -> str:
    """A label, or a set of labels, as JSON."""
    return json.dumps(answer, ensure_ascii=False)


def _numbers(label: Any, labels: Sequence[Label]) -> tuple[int, ...]:
    """The numbers of a label, or of a set of labels, among those to choose from; 1 and True are different."""
    given = [] if label is None else label if isinstance(label, list) else [label]
    known = [(type(name), name) for name in labels]
    return tuple(known.index((type(name), name)) for name in given if (type(name), name) in known)


def _origin(start: Start, shown: dict[str, Any] | None) -> str:
    if start == "suggestion" and shown is not None:
        return f"suggested by {shown['name']}, {shown['budget']:g} % of the tokens"
    return "from the data" if start == "gold" else ""
