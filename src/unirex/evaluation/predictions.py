"""Predictions of other tools as records, whatever the form of their file.

`unirex.evaluation.prediction_files` reads a simple form, `unirex.eraser.importing` submissions to ERASER.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path
from reprlib import repr as short
from sys import float_info
from typing import Literal

import numpy as np

from unirex.data.example import Example, Label, Rationale, choice_label
from unirex.errors import UserError, unknown
from unirex.evaluation.records import BUDGETS, Distributions, FloatTuple, Record, Scored, Views, top_k

TOLERANCE = 1e-3  # on the sum of probabilities: those of half precision are that far from 1
REMOVAL = "external"  # the removal of all predictions: other tools do not report how they remove tokens

MissingLines = Literal["error", "skip"]
Token = tuple[int, int, int]  # segment, start, end


@dataclass(frozen=True, slots=True)
class PredictedTokens:
    """The tokens of an example, in the order of the text, and what a tool reports about them."""

    tokens: tuple[Token, ...]
    scores: FloatTuple = ()  # one per token, or none
    chosen: tuple[int, ...] | None = None  # numbers of the tokens in the tool's own selection


@dataclass(frozen=True, slots=True)
class Prediction:
    """What a tool reports about one example; what it does not report is None or empty."""

    tokens: PredictedTokens | None = None
    label: Label | None = None
    probabilities: FloatTuple = ()
    budgets: FloatTuple = ()  # of the next two, in per cent
    removed: Distributions = ()
    kept: Distributions = ()


def record_of(
    example: Example, prediction: Prediction, labels: Sequence[Label], *, above: float | None = None
) -> Record:
    """The record of an example with what a tool predicts for it.

    Selections are made at the budgets of `removed` and `kept`, else at the usual ones. Scores without a
    selection select the tokens above 0, or above `above`. Without a label the likeliest is predicted.
    """
    budgets, predicted = prediction.budgets or BUDGETS, prediction.label
    if predicted is None and prediction.probabilities:
        predicted = labels[int(np.argmax(prediction.probabilities))]
    return Record(
        id=example.id,
        segments=example.segments,
        label=example.label,
        predicted=predicted,
        labels=tuple(labels),
        probabilities=prediction.probabilities,
        sequences=() if prediction.tokens is None else (_scored(example, prediction.tokens, budgets, above),),
        budgets=budgets,
        target=predicted,
        views=(Views(REMOVAL, prediction.removed, prediction.kept),) if prediction.budgets else (),
        choices=example.choices,
    )


def _scored(example: Example, predicted: PredictedTokens, budgets: FloatTuple, above: float | None) -> Scored:
    tokens, scores, chosen = predicted.tokens, predicted.scores, predicted.chosen
    if chosen is None and above is not None and scores:
        chosen = tuple(number for number, score in enumerate(scores) if score > above)
    gold = None if example.rationale is None else token_marks(tokens, example.rationale)
    return Scored(tokens, scores, gold, top_k(scores, budgets) if scores else (), chosen)


def token_marks(tokens: Iterable[Token], rationale: Rationale) -> tuple[bool, ...]:
    """Which tokens overlap a span of the rationale."""
    return tuple(
        any(low < end and start < high for low, high in rationale[segment]) for segment, start, end in tokens
    )


def possible_labels(example: Example, labels: Sequence[Label]) -> tuple[Label, ...]:
    """The labels an example can get: those of the dataset, or the letters of its choices."""
    if example.choices is None:
        return tuple(labels)
    return tuple(choice_label(number) for number in range(len(example.choices)))


def label_of(value: object, labels: Sequence[Label]) -> Label:
    """The label meant by a value; the keys of a JSON object are always text, so 1 may be "1".

    >>> label_of("1", [0, 1]), label_of("true", [False, True]), label_of("pos", ["neg", "pos"])
    (1, True, 'pos')
    """
    for label in labels:
        if value == label and isinstance(value, bool) == isinstance(label, bool):
            return label
    for label in labels:
        if isinstance(value, str) and value in (str(label), str(label).lower()):
            return label
    raise unknown("label", value, labels)


def distribution(values: object, labels: Sequence[Label], name: str) -> FloatTuple:
    """The probabilities of all labels, in their order.

    >>> distribution({"pos": 0.75, "neg": 0.25}, ["neg", "pos"], "probabilities")
    (0.25, 0.75)
    """
    if not isinstance(values, Mapping) or not all(map(is_number, values.values())):
        raise UserError(f"'{name}' must be an object with a probability for each label, not {short(values)}")
    given = {label_of(key, labels): float(value) for key, value in values.items()}
    lacking = [label for label in labels if label not in given]
    if lacking:
        raise UserError(f"'{name}' has no probability for {lacking[0]!r}; give one for each label")
    total = sum(given.values())
    if min(given.values()) < 0 or abs(total - 1) > TOLERANCE:
        raise UserError(f"'{name}' {short(dict(values))} adds up to {total:.6g}; give probabilities, sum 1")
    return tuple(given[label] for label in labels)


def examples_by_id(
    path: Path, ids: Iterable[tuple[str, str]], examples: Iterable[Example], missing: MissingLines
) -> dict[str, Example]:
    """The examples by id, after checking the lines of a file: one per example, unless `missing` is "skip".

    `ids` are the place and the id of each line.
    """
    if missing not in ("error", "skip"):
        raise unknown("way with missing lines", missing, ("error", "skip"))
    known, seen = {example.id: example for example in examples}, dict[str, str]()
    for place, name in ids:
        if name not in known:
            # Comparing with every id of a large dataset would take minutes.
            near = get_close_matches(name, list(known)[:10_000], n=1)
            hint = f"did you mean '{near[0]}'?" if near else "are they of another split?"
            raise UserError(f"{place}: no example '{name}' in the data; {hint}")
        if name in seen:
            raise UserError(f"{place}: '{name}' is there twice, first at {seen[name]}; keep one")
        seen[name] = place
    lacking = [name for name in known if name not in seen]
    if lacking and missing == "error":
        others = f" and {len(lacking) - 1} more" if len(lacking) > 1 else ""
        raise UserError(
            f"{path}: no line for example '{lacking[0]}'{others}; add them, or skip them with --missing skip"
        )
    return known


def with_equal_budgets(records: Iterable[tuple[str, Record]]) -> Iterator[Record]:
    """The records, given with their places; an error where budgets differ, as means over them would mix."""
    first: tuple[str, Record] | None = None
    for place, record in records:
        first = first or (place, record)
        if (record.budgets, bool(record.views)) != (first[1].budgets, bool(first[1].views)):
            here, there = _listed_budgets(record), _listed_budgets(first[1])
            raise UserError(
                f"{place}: probabilities at {here}, but {there} at {first[0]}; give the same to all"
            )
        yield record


def _listed_budgets(record: Record) -> str:
    return ", ".join(f"{budget:g} %" for budget in record.budgets) if record.views else "no budget"


def is_number(value: object) -> bool:
    """Whether a value is a finite number; True and False are not.

    >>> [is_number(value) for value in (1, 0.5, True, "1", float("nan"))]
    [True, True, False, False, False]
    """
    return isinstance(value, int | float) and not isinstance(value, bool) and abs(value) <= float_info.max
