"""Label Studio: its JSON export read."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from unirex.data.example import CharSpan, Example, Label
from unirex.data.formats.annotators import Annotation, How, agree, check_how
from unirex.data.formats.label_studio_tasks import labeling_config, tasks
from unirex.data.formats.offsets import Offsets, Unit, char_spans, check_offsets, differs
from unirex.data.formats.table import Columns, Record, cell, names, optional
from unirex.data.rationales import merge
from unirex.data.rows import lines
from unirex.data.split import split_name
from unirex.data.validate import at, check_file, check_ids, check_label, check_text, remark, row_at
from unirex.errors import UserError, unknown

Object = dict[str, Any]  # of JSON

IN_HTML = ("hypertextlabels", "paragraphlabels")  # places in a document, not in a text


@dataclass(frozen=True, slots=True)
class Controls:
    """The names of the tags whose results are marks, and of those whose results are the class."""

    marking: frozenset[str]
    choosing: frozenset[str]  # none: the class is a column of the data


def find_controls(tasks: Iterable[object], columns: Columns) -> Controls:
    """The tags that `columns` names, or else the only ones there are."""
    found: dict[str, dict[str, None]] = {"labels": {}, "choices": {}}
    for result in _all_results(tasks):
        kind = str(result.get("type"))
        if kind in found and not _about_a_part(result):
            found[kind][str(result.get("from_name"))] = None
    return Controls(_marking([*found["labels"]], columns), _choosing([*found["choices"]], columns))


def answer(
    annotation: Object,
    who: str,
    texts: Mapping[str, str],
    controls: Controls,
    offsets: Offsets,
    place: str,
) -> Annotation:
    """What one person chose and marked; `texts` are the segments by their columns."""
    marks: dict[str, list[CharSpan]] = {name: [] for name in texts}
    chosen: list[object] = []
    for result in objects_of(annotation, "result"):
        kind, control = result.get("type"), str(result.get("from_name"))
        if kind in IN_HTML:
            raise UserError(f"marks of type '{kind}' are places in HTML; mark a <Text> with <Labels> instead")
        if kind == "labels" and control in controls.marking:
            name = _segment(result, texts)
            marks[name] += _spans(_value(result), texts[name], offsets, place)
        elif kind == "choices" and control in controls.choosing and not _about_a_part(result):
            chosen += _choices(_value(result))
        else:
            remark(place, f"a result of type '{kind}' from '{control}' is not read")
    return Annotation(
        who,
        label=_only(chosen, who),
        marking=tuple(merge(spans) for spans in marks.values()),
        decisive=annotation.get("ground_truth") is True,
    )


def object_of(value: object, name: str) -> Object:
    """The value, which must be a JSON object."""
    if not isinstance(value, dict):
        raise UserError(f"{name} must be a JSON object, not {type(value).__name__}")
    return value


def objects_of(parent: Object, key: str) -> list[Object]:
    """The list under a key, all of whose items must be JSON objects."""
    items = parent.get(key)
    if not isinstance(items, list):
        raise UserError(f"'{key}' must be a list, not {type(items).__name__}")
    return [object_of(item, f"an item of '{key}'") for item in items]


def _all_results(tasks: Iterable[object]) -> Iterator[Object]:
    """The results of all tasks that are whole; what is not is told when its task is read."""
    for task in tasks:
        with suppress(UserError):
            for annotation in objects_of(object_of(task, "a task"), "annotations"):
                yield from objects_of(annotation, "result")


def _marking(found: list[str], columns: Columns) -> frozenset[str]:
    wanted = columns.rationale
    of_segments = [f"{wanted}-{name}" for name in names(columns.text, ())]
    named = frozenset(found) & {*names(wanted, found), *of_segments}
    if named or not wanted:
        return named
    if wanted != Columns().rationale:
        raise unknown("<Labels>", wanted, found)
    if len(found) > 1:
        raise UserError(f"there are several <Labels> ({', '.join(found)}); name the rationale's in columns")
    return frozenset(found)


def _choosing(found: list[str], columns: Columns) -> frozenset[str]:
    if columns.label in found:
        return frozenset({columns.label})
    if columns.label != Columns().label:
        return frozenset()  # then it names a column
    if len(found) > 1:
        raise UserError(f"there are several <Choices> ({', '.join(found)}); name the label's in columns")
    return frozenset(found)


def _value(result: Object) -> Object:
    return object_of(result.get("value"), "'value' of a result")


def _about_a_part(result: Object) -> bool:
    """Whether a choice is about a marked part (`perRegion`), not about the whole text."""
    value = result.get("value")
    return result.get("type") == "choices" and isinstance(value, dict) and "start" in value


def _segment(result: Object, texts: Mapping[str, str]) -> str:
    """The column of the text that was marked: the tag has its name, or says that it shows it."""
    if len(texts) == 1:
        return next(iter(texts))
    shown = (str(result.get("to_name")), str(result.get("source")).removeprefix("$"))
    for name in shown:
        if name in texts:
            return name
    raise UserError(f"{unknown('text', shown[0], texts)} Give each <Text> the name of its column.")


def _choices(value: Object) -> list[object]:
    chosen = value.get("choices")
    if not isinstance(chosen, list):
        raise UserError(f"'choices' must be a list, not {type(chosen).__name__}")
    return chosen


def _only(chosen: list[object], who: str) -> Any:
    if len(chosen) > 1:
        raise UserError(f"{who} chose {len(chosen)} classes ({', '.join(map(str, chosen))}); choose one")
    return check_label(chosen[0], column="choices") if chosen else None


def _spans(value: Object, text: str, offsets: Offsets, place: str) -> tuple[CharSpan, ...]:
    pair, said = [value.get("start"), value.get("end")], value.get("text")
    unit = _unit(pair, said, text) if offsets == "auto" else offsets
    spans = char_spans([pair], text, unit=unit)
    found = "".join(text[start:end] for start, end in spans)
    if unit != "characters" and offsets == "auto":
        remark(place, f"the mark {found!r} is counted in UTF-16 code units, and read so")
    if isinstance(said, str) and not _same(said, found):
        remark(place, f"the mark at {pair[0]} to {pair[1]} is {found!r} there, but {said!r} in the export")
    return spans


def _unit(pair: list[object], said: object, text: str) -> Unit:
    """How a mark is counted: in characters, unless its text is found only in the other way."""
    units: tuple[Unit, ...] = ("characters", "utf-16")
    for unit in units if isinstance(said, str) and differs(text) else ():
        with suppress(UserError):
            ((start, end),) = char_spans([pair], text, unit=unit)
            if _same(str(said), text[start:end]):
                return unit
    return "characters"


def _same(said: str, found: str) -> bool:
    """Whether they differ in blanks alone; the export spells a line break as a backslash and an n."""
    plain, other = ("".join(one.replace("\\n", " ").split()) for one in (said, found))
    return plain == other


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
