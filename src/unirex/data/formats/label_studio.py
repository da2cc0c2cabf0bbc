"""Label Studio: its JSON export, read into records. `label_studio_tasks` writes what it imports."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import chain
from pathlib import Path
from typing import Any

from unirex.data.annotators import AnnotatorAnswer, agree, check_aggregation
from unirex.data.example import Answer, CharSpan, answer_labels, choice_labels
from unirex.data.formats.annotation import (
    Offsets,
    Unit,
    annotated_record,
    char_spans,
    check_offsets,
    unit_matters,
)
from unirex.data.formats.label_studio_tasks import SETS, JsonDict, labeling_config, tasks
from unirex.data.formats.table import (
    Columns,
    DatasetRecord,
    column_names,
    optional,
    parse_choices,
    required,
    resolve_choice,
)
from unirex.data.rationales import merge
from unirex.data.rows import read_json
from unirex.data.validate import (
    at,
    check_answer,
    check_file,
    check_ids,
    check_text,
    remark,
    row_at,
)
from unirex.errors import UserError, unknown

__all__ = ["labeling_config", "read", "tasks"]

HTML_MARKS = ("hypertextlabels", "paragraphlabels")  # result types whose offsets are not in a text


def read(
    path: Path, *, columns: Columns, annotators: str = "union", offsets: Offsets = "auto"
) -> list[DatasetRecord]:
    """All annotated tasks of an export, in file order."""
    check_file(path, suffixes=(".json",))
    check_aggregation(annotators)
    check_offsets(offsets)
    exported = _load(path)
    with at(path):
        marking, choosing = find_controls(exported, columns)
        sets = _have_sets(exported, columns, choosing)
        project = Project(columns, annotators, offsets, marking, choosing, sets)
    records: list[DatasetRecord] = []
    for number, task in enumerate(exported, 1):
        task_id = task.get("id") if isinstance(task, dict) else None
        place = f"{path}: task {number if task_id is None else task_id}"
        name = f"{path.stem}-{number}" if task_id is None else str(task_id)
        with row_at(place):
            records += project.read(_as_object(task, "a task"), place, name)
    check_ids((record.place, record.example.id) for record in records)
    return records


def _load(path: Path) -> list[object]:
    exported = read_json(path)
    if not isinstance(exported, list):
        raise UserError(f"{path}: not a list of tasks; export the project from Label Studio as JSON")
    if not exported:
        raise UserError(f"{path}: there are no tasks in it; it needs at least one")
    return exported


def find_controls(tasks: Iterable[object], columns: Columns) -> tuple[frozenset[str], frozenset[str]]:
    """The tags whose results are marks, and those whose results are the class.

    They are the ones that `columns` names, or else the only ones there are.
    """
    names: dict[str, dict[str, None]] = {"labels": {}, "choices": {}}  # by type, in order of appearance
    for result in chain.from_iterable(map(_results, tasks)):
        kind = str(result.get("type"))
        if kind in names and not _is_per_region(result):
            names[kind][str(result.get("from_name"))] = None
    return _marking_controls([*names["labels"]], columns), _choosing_controls([*names["choices"]], columns)


def _results(task: object) -> list[JsonDict]:
    """The results of all annotations of a task; a malformed one is reported when it is read."""
    results: list[JsonDict] = []
    with suppress(UserError):
        for annotation in _object_list(_as_object(task, "a task"), "annotations"):
            results += _object_list(annotation, "result")
    return results


def _have_sets(tasks: Iterable[object], columns: Columns, choosing: frozenset[str]) -> bool:
    """Whether tasks have sets of labels: their data says so, or someone chose several labels.

    That takes a <Choices> with `choice="multiple"`, which an export does not contain.
    """
    for number, task in enumerate(tasks, 1):
        data = task.get("data") if isinstance(task, dict) else None
        if not isinstance(data, dict) or optional(data, columns.choices) is not None:
            continue
        if data.get(SETS) is True:
            return True
        for result in _results(task):
            value = result.get("value")
            chosen = value.get("choices") if isinstance(value, dict) else None
            controlled = result.get("type") == "choices" and str(result.get("from_name")) in choosing
            if controlled and not _is_per_region(result) and isinstance(chosen, list) and len(chosen) > 1:
                several = f"{len(chosen)} labels are chosen: every task has a set of labels"
                remark(f"task {number}", f"{several}, an empty one without a choice")
                return True
    return False


def _marking_controls(present: list[str], columns: Columns) -> frozenset[str]:
    given = columns.rationale
    of_segments = [f"{given}-{name}" for name in column_names(columns.text, ())]
    named = frozenset(present) & {*column_names(given, present), *of_segments}
    if named or not given:
        return named
    if given != Columns().rationale:
        raise unknown("<Labels>", given, present)
    if len(present) > 1:
        raise UserError(f"there are several <Labels> ({', '.join(present)}); name the rationale's in columns")
    return frozenset(present)


def _choosing_controls(present: list[str], columns: Columns) -> frozenset[str]:
    if columns.label in present:
        return frozenset({columns.label})
    if columns.label != Columns().label:
        return frozenset()  # then it names a column of the data
    if len(present) > 1:
        raise UserError(f"there are several <Choices> ({', '.join(present)}); name the label's in columns")
    return frozenset(present)


@dataclass(frozen=True, slots=True)
class Project:
    """The settings for reading the tasks of an export."""

    columns: Columns
    annotators: str
    offsets: Offsets
    marking: frozenset[str]  # names of the tags whose results are marks
    choosing: frozenset[str]  # and of those whose results are the class; empty: it is a column of the data
    sets: bool  # whether a task has a set of labels

    def read(self, task: JsonDict, place: str, name: str) -> Iterator[DatasetRecord]:
        """The record of a task; none if all annotators skipped it."""
        if "annotations" not in task:
            raise UserError(
                "no 'annotations' in the task, as in the JSON-MIN export; export the project as JSON instead"
            )
        data = _as_object(task.get("data"), "'data'")
        texts = {
            column: check_text(required(data, column), column=column)
            for column in column_names(self.columns.text, data)
        }
        choices = _choice_texts(data, self.columns)
        answers = [self._resolved(answer, choices) for answer in self._answers(task, texts, place)]
        if not answers:
            return
        segments = tuple(texts.values())
        consensus = agree(answers, how=self.annotators, segments=segments, place=place)
        if not self.choosing:
            consensus = consensus._replace(label=_as_choice(self._label_column(data), choices))
        if consensus.label is None:
            raise UserError("no class is chosen; choose one in Label Studio, or remove the task")
        record = annotated_record(consensus, segments, data, self.columns, place=place, name=name)
        yield replace(record, example=replace(record.example, choices=choices))

    def _resolved(self, answer: AnnotatorAnswer, choices: tuple[str, ...] | None) -> AnnotatorAnswer:
        """The answer with its label as examples have it: a set, the letter of a choice, or the only one."""
        labels = answer_labels(answer.label or ())
        if not self.choosing:
            return replace(answer, label=None)
        if self.sets and choices is None:
            return answer
        if len(labels) > 1:
            raise UserError(
                f"{answer.annotator} chose {len(labels)} classes ({', '.join(map(str, labels))}); choose one"
            )
        return replace(answer, label=_as_choice(labels[0], choices) if labels else None)

    def _answers(self, task: JsonDict, texts: Mapping[str, str], place: str) -> list[AnnotatorAnswer]:
        annotations = _object_list(task, "annotations")
        if not annotations:
            raise UserError("the task has no annotations; annotate it, or export annotated tasks only")
        answers: list[AnnotatorAnswer] = []
        for number, annotation in enumerate(annotations, 1):
            # An export names a person by a number or, with details, by an object; an import by nothing.
            person = annotation.get("completed_by")
            if isinstance(person, dict):
                person = person.get("email") or person.get("id")
            annotator = f"annotator {number if person is None else person}"
            if annotation.get("was_cancelled"):
                remark(place, f"{annotator} skipped the task; this annotation is left out")
            else:
                answers.append(self._answer(annotation, annotator, texts, place))
        # Without a single mark, the project may not have asked for any.
        if not any(any(answer.marking or ()) for answer in answers):
            return [replace(answer, marking=None) for answer in answers]
        return answers

    def _answer(
        self, annotation: JsonDict, annotator: str, texts: Mapping[str, str], place: str
    ) -> AnnotatorAnswer:
        """What one person chose, as a set, and their marks; `texts` are the segments by column."""
        marks: dict[str, list[CharSpan]] = {name: [] for name in texts}
        chosen: list[object] = []
        for result in _object_list(annotation, "result"):
            kind, control = result.get("type"), str(result.get("from_name"))
            if kind in HTML_MARKS:
                raise UserError(
                    f"marks of type '{kind}' are places in HTML; mark a <Text> with <Labels> instead"
                )
            if kind == "labels" and control in self.marking:
                name = _marked_column(result, texts)
                marks[name] += _spans(_value(result), texts[name], self.offsets, place)
            elif kind == "choices" and control in self.choosing and not _is_per_region(result):
                choices = _value(result).get("choices")
                if not isinstance(choices, list):
                    raise UserError(f"'choices' must be a list, not {type(choices).__name__}")
                chosen += choices
            else:
                remark(place, f"a result of type '{kind}' from '{control}' is not read")
        return AnnotatorAnswer(
            annotator,
            label=check_answer(chosen, column="choices"),
            marking=tuple(merge(spans) for spans in marks.values()),
            decisive=annotation.get("ground_truth") is True,
        )

    def _label_column(self, data: JsonDict) -> Answer:
        column = self.columns.label
        if column not in data and self.sets:
            return ()
        if column not in data:
            raise UserError(
                f"no class: no <Choices> was answered, and the data has no column '{column}'; choose a class "
                f"in Label Studio, or name the column that holds it (there are {', '.join(map(str, data))})"
            )
        return check_answer(data[column], column=column)


def _choice_texts(data: JsonDict, columns: Columns) -> tuple[str, ...] | None:
    """The texts of the choices of a task, given as such or as the options of a <Choices>."""
    given = optional(data, columns.choices)
    if isinstance(given, list):
        given = [option.get("value") if isinstance(option, dict) else option for option in given]
    return parse_choices(given, column=columns.choices)


def _as_choice(label: Answer, choices: tuple[str, ...] | None) -> Answer:
    """A label; of a task with choices their letter, also where it was chosen by its text."""
    if choices is None or label in choice_labels(len(choices)):
        return label
    return resolve_choice(label, choices, column="choices")


def _is_per_region(result: JsonDict) -> bool:
    """Whether a choice is about a marked part (`perRegion`), not about the whole text."""
    value = result.get("value")
    return result.get("type") == "choices" and isinstance(value, dict) and "start" in value


def _marked_column(result: JsonDict, texts: Mapping[str, str]) -> str:
    """The column of the marked text: the name of the tag, or the column that the tag shows."""
    if len(texts) == 1:
        return next(iter(texts))
    shown = (str(result.get("to_name")), str(result.get("source")).removeprefix("$"))
    for name in shown:
        if name in texts:
            return name
    raise UserError(f"{unknown('text', shown[0], texts)} Give each <Text> the name of its column.")


def _spans(value: JsonDict, text: str, offsets: Offsets, place: str) -> tuple[CharSpan, ...]:
    pair, quoted = [value.get("start"), value.get("end")], value.get("text")
    unit = _guess_unit(pair, quoted, text) if offsets == "auto" else offsets
    spans = char_spans([pair], text, unit=unit)
    marked = "".join(text[start:end] for start, end in spans)
    if unit != "characters" and offsets == "auto":
        remark(place, f"the mark {marked!r} is counted in UTF-16 code units, and read so")
    if isinstance(quoted, str) and not _same_text(quoted, marked):
        remark(place, f"the mark at {pair[0]} to {pair[1]} is {marked!r} there, but {quoted!r} in the export")
    return spans


def _guess_unit(pair: list[object], quoted: object, text: str) -> Unit:
    """The unit of a mark: characters, unless only the other one finds the text quoted in the export."""
    units: tuple[Unit, ...] = ("characters", "utf-16")
    for unit in units if isinstance(quoted, str) and unit_matters(text) else ():
        with suppress(UserError):
            ((start, end),) = char_spans([pair], text, unit=unit)
            if _same_text(str(quoted), text[start:end]):
                return unit
    return "characters"


def _same_text(quoted: str, marked: str) -> bool:
    """Whether the texts differ only in blanks; the export writes a line break as a backslash and an n."""
    first, second = ("".join(text.replace("\\n", " ").split()) for text in (quoted, marked))
    return first == second


def _value(result: JsonDict) -> JsonDict:
    return _as_object(result.get("value"), "'value' of a result")


def _as_object(value: Any, name: str) -> JsonDict:
    if not isinstance(value, dict):
        raise UserError(f"{name} must be a JSON object, not {type(value).__name__}")
    return value


def _object_list(parent: JsonDict, key: str) -> list[JsonDict]:
    items = parent.get(key)
    if not isinstance(items, list):
        raise UserError(f"'{key}' must be a list, not {type(items).__name__}")
    return [_as_object(item, f"an item of '{key}'") for item in items]
