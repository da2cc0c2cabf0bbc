"""Label Studio: tasks to import, made from examples and explanations, and their labelling interface."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from html import escape
from itertools import repeat
from typing import TYPE_CHECKING, Any
from xml.sax.saxutils import quoteattr

from unirex.data.annotators import AnnotatorAnswer
from unirex.data.example import Answer, Example, Label, Rationale, answer_labels, choice_label
from unirex.errors import UserError

if TYPE_CHECKING:
    from unirex.explanation import Explanation

JsonDict = dict[str, Any]

MARKING, CHOOSING = "rationale", "label"  # names of the tags, as `label_studio.read` expects them
CHOICES, OPTIONS, SETS = "choices", "options", "multi_label"  # columns of tasks with choices, with label sets
RESERVED = ("id", "split", CHOICES, OPTIONS, SETS)  # columns of a task's data beside the texts
NOT_IN_XML = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def tasks(
    examples: Iterable[Example],
    *,
    explanations: Iterable[Explanation] | None = None,
    answers: Sequence[Sequence[AnnotatorAnswer]] | None = None,
    segments: Sequence[str] = ("text",),
    split: str | None = None,
    model_version: str = "unirex",
) -> list[JsonDict]:
    """Tasks to import into Label Studio: texts, existing annotations and model predictions.

    A label or rationale becomes an annotation, or one for each of `groups`; an example without either becomes
    a task without annotations. The explanations, one for each example in the same order, become predictions:
    marks and a class that an annotator starts from. Labels become text, the only type Label Studio has.
    With `answers`, the annotations of each example are these, whatever its own label and marks are.

    A task with choices has their texts in `choices`, and in `options` what the interface shows: an annotation
    names a letter. One with a set of labels has `multi_label`: Label Studio writes nothing for an empty set,
    and a set of one label as a label.
    """
    _check_names(segments)
    explained: Iterable[Explanation | None] = repeat(None) if explanations is None else explanations
    try:
        pairs = list(zip(examples, explained, strict=explanations is not None))
    except ValueError:
        raise UserError("there must be one explanation for each example") from None
    made = [
        _task(number, example, explanation, segments, split, model_version)
        for number, (example, explanation) in enumerate(pairs, 1)
    ]
    for number, (task, given) in enumerate(zip(made, answers or (), strict=answers is not None), 1):
        texts = {name: task["data"][name] for name in segments}
        task["annotations"] = _annotations(number, [(one.label, one.marking) for one in given], texts)
        task["data"] |= _sets(one.label for one in given)
    return made


def labeling_config(
    labels: Iterable[Label],
    segments: Sequence[str] = ("text",),
    *,
    multi_label: bool = False,
    choices: bool = False,
) -> str:
    """The labelling interface (XML) of a project.

    Args:
        labels: to choose from; of tasks with choices they are not needed.
        segments: columns of the texts.
        multi_label: whether any number of the labels is chosen, none too.
        choices: whether each task has its own choices, in its `options`.
    """
    _check_names(segments)
    listed = shown = ""
    for label in () if choices else labels:
        if NOT_IN_XML.search(str(label)):
            raise UserError(f"label {str(label)!r} holds a character that XML cannot; rename it")
        listed += f"\n    <Choice value={quoteattr(str(label))}/>"
    rule = 'choice="multiple"' if multi_label else 'choice="single" required="true"'
    rule += f' value="${OPTIONS}"' if choices else ""
    for name in segments:
        shown += (
            f'  <Labels name="{_marking_control(name, segments)}" toName="{name}">\n'
            f'    <Label value="{MARKING}"/>\n  </Labels>\n'
            f'  <Text name="{name}" value="${name}"/>\n'
        )
    # Without pre-wrap, runs of blanks are collapsed, also in the text exported with a mark.
    return (
        "<View>\n  <Style>.htx-text { white-space: pre-wrap; }</Style>\n"
        f'{shown}  <Choices name="{CHOOSING}" toName="{segments[0]}" {rule}>'
        f"{listed}\n  </Choices>\n</View>\n"
    )


def _marking_control(name: str, segments: Sequence[str]) -> str:
    """The name of the <Labels> of a text: it can mark only one <Text>, so several texts need one each."""
    return MARKING if len(segments) == 1 else f"{MARKING}-{name}"


def _check_names(segments: Sequence[str]) -> None:
    if not segments or len(set(segments)) < len(segments):
        raise UserError(f"segments must have names, each its own: {', '.join(segments) or 'there are none'}")
    for name in segments:
        if not re.fullmatch(r"\w+", name, re.ASCII) or name in RESERVED:
            raise UserError(
                f"segment '{name}' cannot be a column of a task: use letters, digits and _, "
                f"and neither {' nor '.join(RESERVED)}"
            )


def _task(
    number: int,
    example: Example,
    explanation: Explanation | None,
    segments: Sequence[str],
    split: str | None,
    model_version: str,
) -> JsonDict:
    texts = _texts(example, segments)
    markings: Sequence[Rationale | None] = example.groups or (example.rationale,)
    if example.label is None and example.rationale is None:
        markings = ()
    given = [(example.label, marking) for marking in markings]
    task: JsonDict = {
        "data": {"id": example.id, **texts, **_options(example), **_sets([example.label])},
        "annotations": _annotations(number, given, texts),
    }
    if split is not None:
        task["data"]["split"] = split
    if explanation is not None:
        predicted = tuple(
            tuple((span.start, span.end) for span in explanation.spans if span.segment == segment)
            for segment in range(len(texts))
        )
        result = _result(explanation.label, predicted, texts, f"t{number}-p")
        task["data"] |= _sets([explanation.label])
        score = explanation.probabilities[explanation.explained]
        task["predictions"] = [{"model_version": model_version, "score": score, "result": result}]
    return task


def _annotations(
    number: int, given: Iterable[tuple[Answer | None, Rationale | None]], texts: Mapping[str, str]
) -> list[JsonDict]:
    """One annotation for each label with its marks."""
    return [
        {"result": _result(label, marking, texts, f"t{number}-a{annotation}")}
        for annotation, (label, marking) in enumerate(given, 1)
    ]


def _options(example: Example) -> JsonDict:
    """The choices of a task as texts, and as the interface shows them.

    A <Choice> shows `html` rather than its value, which is the letter. As a value, "$5" would be replaced by
    a column of the task.
    """
    if example.choices is None:
        return {}
    lettered = [(choice_label(number), text) for number, text in enumerate(example.choices)]
    shown = [{"value": letter, "html": escape(f"{letter}. {text}")} for letter, text in lettered]
    return {CHOICES: list(example.choices), OPTIONS: shown}


def _sets(labels: Iterable[Answer | None]) -> JsonDict:
    """The column that says whether a task has a set of labels, if one of the labels is a set."""
    return {SETS: True} if any(isinstance(label, tuple) for label in labels) else {}


def _texts(example: Example, segments: Sequence[str]) -> dict[str, str]:
    if len(example.segments) != len(segments):
        raise UserError(
            f"example {example.id} has {len(example.segments)} segments, but {len(segments)} names were given"
        )
    return dict(zip(segments, example.segments, strict=True))


def _result(
    label: Answer | None, marking: Rationale | None, texts: Mapping[str, str], prefix: str
) -> list[JsonDict]:
    """The class and the marks as results, with ids that are unique in the whole import."""
    first = next(iter(texts))
    regions: list[tuple[str, str, str, JsonDict]] = []
    if label is not None and label != ():
        regions.append((CHOOSING, first, "choices", {"choices": [*map(str, answer_labels(label))]}))
    for (name, text), spans in zip(texts.items(), marking or repeat(()), strict=False):
        for start, end in spans:
            value = {"start": start, "end": end, "text": text[start:end], "labels": [MARKING]}
            regions.append((_marking_control(name, [*texts]), name, "labels", value))
    return [
        {"id": f"{prefix}-{number}", "from_name": control, "to_name": name, "type": kind, "value": value}
        for number, (control, name, kind, value) in enumerate(regions, 1)
    ]
