"""A new annotation: the texts, what a system suggests for them, and which of them come first."""

from __future__ import annotations

import json
import secrets
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from pathlib import Path
from typing import TYPE_CHECKING, Any

from unirex.annotate.definition import Definition, Source
from unirex.annotate.items import answer_json
from unirex.annotate.project import Project
from unirex.annotate.store import Store
from unirex.data.cache import json_digest
from unirex.data.example import Example, Label, choice_labels
from unirex.data.validate import check_ids, check_labels, label_order
from unirex.errors import UserError
from unirex.files import Progress, new_draft, say

if TYPE_CHECKING:
    from unirex.explanation import Explanation
    from unirex.system import System

SECRET_BYTES = 32
Placed = tuple[str | None, Example]  # a text and the split that it names


@dataclass(frozen=True, slots=True)
class Suggested:
    """What systems say about a text: label and marks of the first, and how soon people should see it."""

    suggestion: Mapping[str, Any] | None = None
    priority: float = 0.0


def create_project(
    path: str | Path,
    placed: Sequence[Placed],
    definition: Definition,
    *,
    suggested: Iterable[Suggested] | None = None,
    people: int = 1,
) -> Project:
    """Make the file of an annotation, whole or not at all.

    Args:
        path: of the file, which must not exist.
        placed: the texts, each with the split that it names.
        definition: what people are asked.
        suggested: what systems say about each text, see `suggestions`.
        people: to invite.
    """
    path = Path(path)
    if path.exists():
        raise UserError(f"{path} exists already; move it away or choose another name.")
    if not placed:
        raise UserError("there are no texts to annotate.")
    check_ids(
        (f"{definition.data}: text {number}", example.id) for number, (_, example) in enumerate(placed, 1)
    )
    path.parent.mkdir(parents=True, exist_ok=True)
    definition = replace(definition, digest=digest(example for _, example in placed))
    says = [Suggested()] * len(placed) if suggested is None else list(suggested)
    with new_draft(path) as draft:
        store = Store(draft)
        store.create()
        with store.writing() as connection:
            content = json.dumps(definition.to_dict(), ensure_ascii=False)
            secret = secrets.token_bytes(SECRET_BYTES)
            connection.execute("INSERT INTO definition VALUES (?, ?)", (content, secret))
            connection.executemany(
                "INSERT INTO texts (number, id, split, segments, choices, label, gold, suggestion, priority) "
                "VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
                [
                    _row(number, split, example, says[number])
                    for number, (split, example) in enumerate(placed)
                ],
            )
        project = Project(draft)
        project.add_annotators(people)
        project.close()
        store.forget()
        store.close()
        draft.rename(path)
    return Project(path)


def _row(number: int, split: str | None, example: Example, says: Suggested) -> tuple[Any, ...]:
    def plain(value: Any) -> str | None:
        return None if value is None else json.dumps(value, ensure_ascii=False)

    label = None if example.label is None else answer_json(example.label)
    gold, suggestion = plain(example.rationale), plain(says.suggestion)
    texts = (plain(example.segments), plain(example.choices))
    return (number, example.id, split, *texts, label, gold, suggestion, says.priority)


def digest(examples: Iterable[Example]) -> str:
    """What the texts are, without their labels and marks."""
    return json_digest([[example.id, example.segments, example.choices] for example in examples]).hexdigest()


def labels_of_texts(
    examples: Sequence[Example], given: Sequence[Label] | None, systems: Sequence[System]
) -> tuple[Label, ...]:
    """The labels to choose from: those given, else the first system's, else those of the data."""
    with_choices = {example.choices is not None for example in examples}
    if len(with_choices) > 1:
        raise UserError("some texts have choices and others do not; annotate them apart.")
    if True in with_choices:
        return choice_labels(max(len(example.choices or ()) for example in examples))
    answers = [example.label for example in examples if example.label is not None]
    check_labels(("the data", answer) for answer in answers)
    found = label_order(answers)
    labels = tuple(given) if given else systems[0].labels if systems else found
    if len(set(labels)) < len(labels):
        raise UserError(f"labels {', '.join(map(str, labels))}: one is there twice.")
    known = {(type(label), label) for label in labels}
    for label in found:
        if (type(label), label) not in known:
            source = "--labels" if given else "the system's labels"
            raise UserError(
                f"the data has the label {label!r}, which is not among {source} "
                f"({', '.join(map(repr, labels))}); name all: --labels '[…]'"
            )
    return labels


def source_of(system: System, place: str, budget: float) -> Source:
    """Which system makes suggestions, and how large they are."""
    rule = system.rationale_rule(budget if system.model.config.predict_from != "rationale" else None)
    return Source(place, system.name, str(system.model.config.extractor), rule.budget)


def suggestions(
    examples: Sequence[Example], systems: Sequence[System], definition: Definition, *, progress: bool = True
) -> list[Suggested]:
    """What the systems say about each text.

    A text's priority is how unsure the first system is, or how far apart the systems are, as the order says.
    """
    _check_same_labels(systems, definition)
    bare = [replace(example, label=None, rationale=None, groups=(), votes=()) for example in examples]
    explained = []
    for system, source in zip(systems, definition.systems, strict=True):
        say(f"explaining {len(examples)} texts by {source.place} …")
        budget = None if system.model.config.predict_from == "rationale" else source.budget
        with Progress("explaining", total=len(examples), shown=progress) as shown:
            made = system.explain_all(bare, budget=budget, advance=shown.advance)
            explained.append([_plain(explanation) for explanation in made])
    found = []
    for number in range(len(examples)):
        shares = [part[number][1] for part in explained]
        priority = 0.0
        if definition.order == "uncertainty":
            priority = uncertainty(shares[0], multi_label=definition.multi_label)
        elif definition.order == "disagreement" and len(systems) > 1:
            priority = disagreement(shares)
        found.append(Suggested(_cut(explained[0][number][0], examples[number]), priority))
    return found


def _check_same_labels(systems: Sequence[System], definition: Definition) -> None:
    """Systems that suggest a label, or are compared, must know the labels that people choose from."""
    for system, source in zip(systems, definition.systems, strict=True):
        choice = system.model.config.built_layout().choice
        if not choice and set(map(repr, system.labels)) != set(map(repr, definition.labels)):
            raise UserError(
                f"{source.place} has the labels {', '.join(map(repr, system.labels))}, people choose from "
                f"{', '.join(map(repr, definition.labels))}; they must be the same."
            )
        if system.multi_label != definition.multi_label:
            raise UserError(f"{source.place}: gives a text one label or several, and the data otherwise.")


def _plain(explanation: Explanation) -> tuple[dict[str, Any], dict[Label, float]]:
    """Label and marks as they are stored, and the probabilities."""
    marks: list[list[list[int]]] = [[] for _ in explanation.segments]
    for span in explanation.spans:
        marks[span.segment].append([span.start, span.end])
    probability = float(explanation.probabilities[explanation.explained])
    suggestion = {"label": explanation.label, "probability": probability, "marks": marks}
    return suggestion, explanation.probabilities


def _cut(suggestion: dict[str, Any], example: Example) -> dict[str, Any]:
    """The suggestion without the chosen answer, which an explanation of choices has as its last segment."""
    return {**suggestion, "marks": suggestion["marks"][: len(example.segments)]}


def uncertainty(probabilities: Mapping[Label, float], *, multi_label: bool = False) -> float:
    """How unsure a system is, from 0 to 1: how little the best label is ahead of the next.

    Of a set of labels: how close the least certain one is to the threshold of one half.

    >>> uncertainty({"neg": 0.25, "pos": 0.75}), uncertainty({"plot": 0.75, "sound": 1.0}, multi_label=True)
    (0.5, 0.5)
    """
    if multi_label:
        return max(1 - abs(2 * share - 1) for share in probabilities.values())
    first, second = sorted(probabilities.values(), reverse=True)[:2]
    return 1 - (first - second)


def disagreement(shares: Sequence[Mapping[Label, float]]) -> float:
    """How far systems are apart on the labels of a text: the mean difference of probabilities, over pairs.

    >>> disagreement([{"neg": 0.25, "pos": 0.75}, {"neg": 0.75, "pos": 0.25}])
    0.5
    """
    pairs = list(combinations(shares, 2))
    apart = (sum(abs(one[label] - other[label]) for label in one) / len(one) for one, other in pairs)
    return sum(apart) / len(pairs)
