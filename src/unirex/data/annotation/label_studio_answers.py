"""One annotation of a Label Studio task, as one person's answer: the class they chose, what they marked."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from unirex.data.annotation.annotators import Annotation
from unirex.data.annotation.offsets import Offsets, Unit, char_spans, differs
from unirex.data.cells import Columns, names
from unirex.data.example import CharSpan
from unirex.data.rationales import merge
from unirex.data.validate import check_label, remark
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
