"""Annotations as files: a table that `unirex train` reads, or tasks for Label Studio."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from unirex.annotate.answers import Answered, read_answers, split_by_majority
from unirex.annotate.project import Project
from unirex.data.convert import CONFIG_SUFFIX, table_rows, text_names, write_interface
from unirex.data.example import DatasetInfo, Example, Splits
from unirex.data.formats.label_studio_tasks import labeling_config, tasks
from unirex.data.validate import exists
from unirex.errors import UserError
from unirex.files import replace_file, write_file


def export_table(project: Project, target: str | Path, *, annotators: str = "union") -> tuple[int, list[str]]:
    """Write every annotated text as a line of JSON; returns how many, and the ids of those that are tied.

    `label` and `rationale` are what the answers come to, `groups` the marks they were made of;
    `label_a01`, `rationale_a01`, … are those of each person; `annotations` says how each answer came about.

    Args:
        project: the annotation.
        target: a new file, `.jsonl`.
        annotators: how marks are combined: union, majority, intersection, or a number of people.
    """
    path = _checked(target, ".jsonl")
    clear, tied = split_by_majority(read_answers(project), annotators)
    if not clear:
        raise UserError(f"{project.store.path}: no text is annotated yet; there is nothing to export.")
    rows = table(clear, project.definition.names)
    write = "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
    replace_file(path, lambda draft: draft.write_text(write, "utf-8", newline="\n"))
    return len(clear), [text.example.id for text in tied]


def table(clear: Sequence[tuple[Answered, Example]], names: Sequence[str]) -> Iterator[dict[str, Any]]:
    """The rows of the table; a split is named if all texts have one."""
    people = sorted({answer.annotator for text, _ in clear for answer in text.answers})
    placed = all(text.split is not None for text, _ in clear)
    info = DatasetInfo("annotated", ())
    rows = table_rows(Splits(info, {"": [example for _, example in clear]}), names)
    for (text, _), row in zip(clear, rows, strict=True):
        row["split"] = text.split
        if not placed:
            del row["split"]
        yield {**row, **_of_each(text, people, names), "annotations": [*map(asdict, text.provenance)]}


def _of_each(text: Answered, people: Iterable[str], names: Sequence[str]) -> dict[str, Any]:
    """Label and marks of each person, null of those who did not annotate the text."""
    given = {answer.annotator: answer for answer in text.answers}
    found: dict[str, Any] = {}
    for person in people:
        answer = given.get(person)
        marks = None if answer is None else answer.marking
        found[f"label_{person}"] = None if answer is None else answer.label
        found[f"rationale_{person}"] = marks if marks is None or len(names) > 1 else marks[0]
        if marks is not None and len(names) > 1:
            found[f"rationale_{person}"] = dict(zip(names, marks, strict=True))
    return found


def export_label_studio(project: Project, target: str | Path) -> int:
    """Write every annotated text as a task with one annotation for each person; returns how many.

    The labelling interface of the project is written beside it.
    """
    path, definition = _checked(target, ".json"), project.definition
    answered = list(read_answers(project))
    if not answered:
        raise UserError(f"{project.store.path}: no text is annotated yet; there is nothing to export.")
    names = text_names(len(answered[0].example.segments))
    made = tasks(
        [text.example for text in answered], answers=[text.answers for text in answered], segments=names
    )
    for task, text in zip(made, answered, strict=True):
        task["data"] |= {} if text.split is None else {"split": text.split}
    asked = {"multi_label": definition.multi_label, "choices": answered[0].example.choices is not None}
    interface = labeling_config(definition.labels, names, **asked)
    write_interface(path.with_suffix(CONFIG_SUFFIX), interface)
    write_file(path, json.dumps(made, ensure_ascii=False, indent=1))
    return len(made)


def _checked(target: str | Path, suffix: str) -> Path:
    path = Path(target)
    if path.suffix.lower() != suffix:
        raise UserError(
            f"{path}: must end in {suffix}; a table is .jsonl, tasks of --label_studio are .json."
        )
    if exists(path):
        raise UserError(f"{path} exists already; move it away or choose another name.")
    return path
