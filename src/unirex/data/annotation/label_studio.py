"""Label Studio: its JSON export read, tasks for it written.

A project for rationales has a `<Text>`, a `<Labels>` to mark parts of it and a `<Choices>` for its class
(`labeling_config` writes one). In the JSON export (not JSON-MIN), each task has the `annotations` of its
annotators, whose `result` holds "labels" (marks) and "choices" (the class).

* Several annotations are several annotators: the class is the one most chose (a tie is decided by the one
  starred as ground truth, or else is a mistake), and the marks of those who chose it are combined. Skipped
  annotations (`was_cancelled`) are left out; predictions are no annotations.
* With several `<Labels>` or `<Choices>`, `columns` names the right ones: `rationale="why", label="class"`.
  Where no class was asked for, `columns.label` is a column of the task's data, as are text, id and split.
  With several text columns, each `<Text>` has the name of its column.
* A task in which nobody marked anything has no rationale: the export does not tell whether nothing mattered.
* Offsets are characters (code points), as Label Studio's own tests of emoji demand; versions from before
  2022 counted UTF-16 code units (label-studio issue 1347, label-studio-frontend pull request 308). With
  `offsets="auto"`, a mark whose text fits only the old way is read the old way. `\\r\\n` is two characters.
  The text in a mark has its blanks squeezed and its line breaks spelt out, so only the rest is compared.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from unirex.data.annotation.annotators import Annotation, How, agree, check_how
from unirex.data.annotation.label_studio_answers import (
    Controls,
    Object,
    answer,
    find_controls,
    object_of,
    objects_of,
)
from unirex.data.annotation.label_studio_tasks import labeling_config, tasks
from unirex.data.annotation.offsets import Offsets, check_offsets
from unirex.data.cells import Columns, cell, names, optional
from unirex.data.example import Example, Label
from unirex.data.rows import lines
from unirex.data.split import split_name
from unirex.data.tabular import Record
from unirex.data.validate import at, check_file, check_ids, check_label, check_text, remark, row_at
from unirex.errors import UserError

__all__ = ["labeling_config", "read", "tasks"]


def read(
    path: Path, *, columns: Columns, annotators: How = "union", offsets: Offsets = "auto"
) -> list[Record]:
    """All annotated tasks of an export, in its order."""
    check_file(path, suffixes=(".json",))
    check_how(annotators)
    check_offsets(offsets)
    found = _load(path)
    with at(path):
        project = Project(columns, annotators, offsets, find_controls(found, columns))
    records: list[Record] = []
    for number, task in enumerate(found, 1):
        given = task.get("id") if isinstance(task, dict) else None
        place = f"{path}: task {number if given is None else given}"
        with row_at(place):
            records += project.read(object_of(task, "a task"), place, f"{path.stem}-{number}")
    check_ids((record.place, record.example.id) for record in records)
    return records


@dataclass(frozen=True, slots=True)
class Project:
    """What is to be known of an export to read a task of it."""

    columns: Columns
    annotators: How
    offsets: Offsets
    controls: Controls

    def read(self, task: Object, place: str, default_id: str) -> Iterator[Record]:
        """The example of a task; none if everybody skipped it."""
        data = object_of(_exported(task).get("data"), "'data'")
        texts = {name: check_text(cell(data, name), column=name) for name in names(self.columns.text, data)}
        answers = self._answers(task, texts, place)
        if not answers:
            return
        found = agree(answers, how=self.annotators, segments=tuple(texts.values()), place=place)
        label = found.label if self.controls.choosing else self._given_label(data)
        if label is None:
            raise UserError("nobody chose a class; choose one in Label Studio, or remove the task")
        own_id, split = optional(data, self.columns.id), optional(data, self.columns.split)
        name = next(one for one in (own_id, task.get("id"), default_id) if one is not None)
        example = Example(str(name), tuple(texts.values()), label, found.rationale, groups=found.groups)
        yield Record(place, None if split is None else split_name(split), example)

    def _answers(self, task: Object, texts: Mapping[str, str], place: str) -> list[Annotation]:
        given = objects_of(task, "annotations")
        if not given:
            raise UserError("nobody annotated the task; annotate it, or export annotated tasks only")
        answers: list[Annotation] = []
        for number, annotation in enumerate(given, 1):
            who = f"annotator {_person(annotation.get('completed_by'), number)}"
            if annotation.get("was_cancelled"):
                remark(place, f"{who} skipped the task; this annotation is left out")
            else:
                answers.append(answer(annotation, who, texts, self.controls, self.offsets, place))
        return answers if any(map(_marks, answers)) else [replace(one, marking=None) for one in answers]

    def _given_label(self, data: Object) -> Label:
        column = self.columns.label
        if column not in data:
            raise UserError(
                f"no class: no <Choices> was answered, and the data has no column '{column}'; choose a class "
                f"in Label Studio, or name the column that holds it (there are {', '.join(map(str, data))})"
            )
        return check_label(data[column], column=column)


def _load(path: Path) -> list[object]:
    try:
        found = json.loads("".join(lines(path)))
    except json.JSONDecodeError as error:
        raise UserError(
            f"{path}:{error.lineno}: malformed JSON at column {error.colno}: {error.msg}"
        ) from None
    except (ValueError, RecursionError) as error:
        raise UserError(f"{path}: unreadable JSON: {error}") from None
    except OSError as error:
        raise UserError(f"{path}: cannot be read: {error.strerror or error}") from None
    if not isinstance(found, list):
        raise UserError(f"{path}: not a list of tasks; export the project from Label Studio as JSON")
    if not found:
        raise UserError(f"{path}: there are no tasks in it; it needs at least one")
    return found


def _exported(task: Object) -> Object:
    if "annotations" not in task:
        raise UserError(
            "no 'annotations' in the task, as in the JSON-MIN export; export the project as JSON instead"
        )
    return task


def _person(completed_by: object, number: int) -> object:
    """An export names a person by a number or, with details, by an object; an import by nothing."""
    if isinstance(completed_by, dict):
        completed_by = completed_by.get("email") or completed_by.get("id")
    return number if completed_by is None else completed_by


def _marks(answer: Annotation) -> bool:
    return any(answer.marking or ())
