"""What people said, read from the file: their answers text by text, what they come to, how far they agree."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from unirex.annotate.items import answer_of, example_of, rationale_of
from unirex.annotate.project import Project
from unirex.data.annotators import AnnotatorAnswer, agree, check_aggregation
from unirex.data.example import Example
from unirex.errors import UserError
from unirex.metrics.agreement import Agreement, agreement_by_split


@dataclass(frozen=True, slots=True)
class Provenance:
    """How an answer came about."""

    annotator: str
    start: str
    shown: dict[str, Any] | None  # of a suggestion: label, marks, probability, system and budget
    seconds: float
    saved: str
    version: int


@dataclass(frozen=True, slots=True)
class Answered:
    """A text with the last answer of each person who annotated it."""

    split: str | None
    example: Example  # as the data has it
    answers: tuple[AnnotatorAnswer, ...]
    provenance: tuple[Provenance, ...]  # one for each answer


def read_answers(project: Project) -> Iterator[Answered]:
    """Every text that was annotated, in the order of the data; skipped ones are left out."""
    for row in project.store.rows("SELECT * FROM texts WHERE done > 0 ORDER BY number"):
        query = "SELECT * FROM latest WHERE text = ? AND NOT skipped ORDER BY annotator"
        answers, provenance = [], []
        for given in project.store.rows(query, (row["number"],)):
            name = f"a{given['annotator'] + 1:02d}"
            marks = rationale_of(json.loads(given["marks"]))
            answers.append(AnnotatorAnswer(name, answer_of(given["label"]), marks))
            shown = None if given["shown"] is None else json.loads(given["shown"])
            provenance.append(
                Provenance(name, given["start"], shown, given["seconds"], given["saved"], given["version"])
            )
        yield Answered(row["split"], example_of(row), tuple(answers), tuple(provenance))


def settled(answered: Answered, how: str) -> Example | None:
    """The text with the label most people gave and the combined marks of those who gave it; None if tied."""
    check_aggregation(how)
    example = answered.example
    try:
        found = agree(answered.answers, how=how, segments=example.segments, place=example.id)
    except UserError:  # `how` is known, so this is a tie
        return None
    return replace(
        example, label=found.label, rationale=found.rationale, groups=found.groups, votes=found.votes
    )


def split_by_majority(
    answered: Iterable[Answered], how: str
) -> tuple[list[tuple[Answered, Example]], list[Answered]]:
    """The texts that people agree on, with what they come to, and those whose labels are tied."""
    clear: list[tuple[Answered, Example]] = []
    tied: list[Answered] = []
    for text in answered:
        example = settled(text, how)
        if example is None:
            tied.append(text)
        else:
            clear.append((text, example))
    return clear, tied


def agreement(answered: Sequence[Answered], segments: Sequence[int] | None = None) -> Agreement | None:
    """How far people agree: on labels over all texts, on words over marks for the label most people gave."""
    clear, tied = split_by_majority(answered, "union")
    placed = [(None, example) for _, example in clear]
    for text in tied:
        votes = tuple(answer.label for answer in text.answers if answer.label is not None)
        placed.append((None, replace(text.example, groups=(), votes=votes)))
    return agreement_by_split(placed, segments=segments).get("all")
