"""Predictions of other tools as records, whatever the form of their file, and the simple form itself.

`unirex.eraser.importing` reads submissions to ERASER. The simple form is a file of JSON lines that any tool
can write: one for each example; only `id` is required, and each metric needs what it is made of:

    {"id": "17", "scores": [0.1, 0.9, 0.0], "rationale": [1], "label": "pos",
     "probabilities": {"pos": 0.9, "neg": 0.1},
     "removed": {"20": {"pos": 0.4, "neg": 0.6}}, "kept": {"20": {"pos": 0.9, "neg": 0.1}}}

`scores` has one number for each blank-separated word, of all segments or of the first ones; or
`[start, end, score]` for spans of characters, `[segment, start, end, score]` if there are several segments.
`rationale` is the tool's own selection, as in a dataset: characters, word numbers or one flag per word.
`removed` and `kept` are the probabilities without the rationale and from it alone, by its size in per cent of
the tokens.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from itertools import accumulate, pairwise
from pathlib import Path
from reprlib import repr as short
from typing import Any, Literal, TypeVar

import numpy as np

from unirex.data.example import CharSpan, Example, Label, Rationale, choice_labels
from unirex.data.rationales import parse_segments, words
from unirex.data.rows import json_rows
from unirex.data.validate import at, check_label, is_number
from unirex.errors import UserError, unknown
from unirex.evaluation.records import BUDGETS, Distributions, FloatTuple, Record, Scored, Views, top_k

TOLERANCE = 1e-3  # on the sum of probabilities: those of half precision are that far from 1
REMOVAL = "external"  # the removal of all predictions: other tools do not report how they remove tokens
FIELDS = ("id", "scores", "rationale", "label", "probabilities", "removed", "kept")
SPAN_FIELDS = ("segment", "start", "end", "score")

Line = TypeVar("Line")
MissingLines = Literal["error", "skip"]
Token = tuple[int, int, int]  # segment, start, end


@dataclass(frozen=True, slots=True)
class Prediction:
    """What a tool reports about one example; what it does not report is None or empty."""

    scored: Scored | None = None  # in the order of the text; gold and selections are not filled in yet
    label: Label | None = None
    probabilities: FloatTuple = ()
    budgets: FloatTuple = ()  # of the next two, in per cent
    removed: Distributions = ()
    kept: Distributions = ()


def read_scores(
    path: Path,
    examples: Iterable[Example],
    labels: Sequence[Label],
    *,
    missing: MissingLines = "error",
    above: float | None = None,
) -> Iterator[Record]:
    """The lines of a file in the simple form as records; arguments as in `unirex.eraser.read_predictions`."""
    ids = ((place, _id(place, row)) for place, row in json_rows(path))
    known = examples_by_id(path, ids, examples, missing)
    lines = ((place, _id(place, row), row) for place, row in json_rows(path))
    return predicted_records(lines, known, labels, _prediction, above=above)


def _id(place: str, row: Mapping[str, Any]) -> str:
    name = row.get("id")
    if isinstance(name, bool) or not isinstance(name, str | int) or name == "":
        raise UserError(f"{place}: 'id' must be the id of an example, not {short(name)}")
    return str(name)


def _prediction(row: Mapping[str, Any], example: Example, labels: Sequence[Label]) -> Prediction:
    for name in row:
        if name not in FIELDS:
            raise unknown("field", name, FIELDS)
    label, scores = row.get("label"), row.get("probabilities")
    label = None if label is None else label_of(check_label(label), labels)
    probabilities = () if scores is None else distribution(scores, labels, "probabilities")
    removed, kept = _by_budget(row, "removed"), _by_budget(row, "kept")
    if removed.keys() != kept.keys():
        raise UserError("'removed' and 'kept' must have the same budgets; give both at each")
    if removed and not probabilities:
        raise UserError("'removed' and 'kept' without 'probabilities'; give those of the whole text too")
    budgets = tuple(sorted(removed))
    return Prediction(
        label=label,
        probabilities=probabilities,
        budgets=budgets,
        removed=tuple(distribution(removed[budget], labels, f"removed {budget:g}") for budget in budgets),
        kept=tuple(distribution(kept[budget], labels, f"kept {budget:g}") for budget in budgets),
        scored=_scored(row, example),
    )


def _by_budget(row: Mapping[str, Any], name: str) -> dict[float, Any]:
    values = row.get(name)
    if values is None:
        return {}
    if not isinstance(values, Mapping):
        raise UserError(f"'{name}' must be an object by budget, not {short(values)}")
    by_budget = {}
    for key, value in values.items():
        try:
            budget = float(key)
        except ValueError:
            budget = float("nan")
        if not 0 < budget <= 100:
            raise UserError(f"'{name}': {key!r} is no budget; give per cents above 0 and up to 100")
        by_budget[budget] = value
    return by_budget


def _scored(row: Mapping[str, Any], example: Example) -> Scored | None:
    given = _token_scores(row.get("scores"), example)
    texts = {str(number): text for number, text in enumerate(example.segments)}
    selection = parse_segments(row.get("rationale"), texts)
    if given is None and selection is None:
        return None
    pairs = given or []
    lowest = min([0.0, *(score for _, score in pairs)])
    unscored = _unscored_words([token for token, _ in pairs], example, selection)
    pairs = sorted([*pairs, *((token, lowest) for token in unscored)])
    tokens = tuple(token for token, _ in pairs)
    scores = () if given is None else tuple(score for _, score in pairs)
    chosen = None if selection is None else np.flatnonzero(_token_marks(tokens, selection)).tolist()
    return Scored(tokens, scores, None, (), None if chosen is None else tuple(chosen))


def _token_scores(values: Any, example: Example) -> list[tuple[Token, float]] | None:
    if values is None:
        return None
    if not isinstance(values, list):
        raise UserError(f"'scores' must be a list, not {short(values)}")
    strange = [value for value in values if not is_number(value)]
    if not strange:  # one per word, of all segments or of the first ones
        segments = [words(text) for text in example.segments]
        counts = list(accumulate(map(len, segments)))
        if len(values) not in counts:
            known = " or ".join(map(str, dict.fromkeys(reversed(counts))))
            raise UserError(f"{len(values)} scores for {known} blank-separated words; give one for each")
        tokens = [(number, start, end) for number, spans in enumerate(segments) for start, end in spans]
        return list(zip(tokens, map(float, values), strict=False))
    if not isinstance(strange[0], list | dict):
        raise UserError(f"'scores' must be finite numbers, one for each word; {short(strange[0])} is not")
    scored = sorted(_span_score(value, example.segments) for value in values)
    for (token, _), (following, _) in pairwise(scored):
        if token[0] == following[0] and following[1] < token[2]:
            raise UserError(f"'scores' of overlapping characters: {token[1:]} and {following[1:]}; keep one")
    return scored


def _span_score(value: Any, texts: Sequence[str]) -> tuple[Token, float]:
    if isinstance(value, dict) and value.keys() <= set(SPAN_FIELDS):
        value = [value.get("segment", 0), *(value.get(name) for name in SPAN_FIELDS[1:])]
    parts = [0, *value] if isinstance(value, list) and len(value) == 3 else value
    whole = isinstance(parts, list) and len(parts) == 4 and all(type(part) is int for part in parts[:3])
    if not whole or not is_number(parts[3]):
        raise UserError(
            f"'scores' has {short(value)}; give a number for each word, or [start, end, score] for "
            "each stretch of characters"
        )
    segment, start, end, score = parts
    if not 0 <= segment < len(texts) or not 0 <= start < end <= len(texts[segment]):
        raise UserError(f"'scores' of characters {start} to {end} of segment {segment}, which are not there")
    return (segment, start, end), float(score)


def _unscored_words(scored: Sequence[Token], example: Example, selection: Rationale | None) -> list[Token]:
    """The words without a score in the segments that are scored, selected or marked.

    Without them a selected or marked word would be lost; they count as least important. If there is no such
    segment, the words of all segments.
    """
    segments = {segment for segment, _, _ in scored}
    for rationale in (example.rationale or (), selection or ()):
        segments |= {number for number, spans in enumerate(rationale) if spans}
    unscored: list[Token] = []
    for number, text in enumerate(example.segments):
        if number in segments or not segments:
            spans = [(start, end) for segment, start, end in scored if segment == number]
            unscored += [(number, *word) for word in words(text) if not _overlaps_any(word, spans)]
    return unscored


def _overlaps_any(word: CharSpan, spans: Sequence[CharSpan]) -> bool:
    """Whether a word overlaps one of the spans, which are in order and apart."""
    first = bisect_right(spans, word[0], key=lambda span: span[1])  # the first that ends after its start
    return first < len(spans) and spans[first][0] < word[1]


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


def predicted_records(
    lines: Iterable[tuple[str, str, Line]],
    examples: Mapping[str, Example],
    labels: Sequence[Label],
    predict: Callable[[Line, Example, Sequence[Label]], Prediction],
    *,
    above: float | None,
) -> Iterator[Record]:
    """The records of lines, which are given with their places and ids; an error names the place.

    `predict` makes a prediction from a line, its example and the labels the example can get: those of the
    dataset, or the letters of its choices.
    """
    first: tuple[str, Record] | None = None
    for place, name, line in lines:
        example = examples[name]
        if isinstance(example.label, tuple):
            raise UserError(
                f"{place}: '{name}' has a list of labels; predictions of other tools have one label"
            )
        answers = tuple(labels)
        if example.choices is not None:
            answers = choice_labels(len(example.choices))
        with at(place):
            record = _record(example, predict(line, example, answers), answers, above)
        first = first or (place, record)
        # Means over records with different budgets would mix them.
        if (record.budgets, bool(record.views)) != (first[1].budgets, bool(first[1].views)):
            here, there = _listed_budgets(record), _listed_budgets(first[1])
            raise UserError(
                f"{place}: probabilities at {here}, but {there} at {first[0]}; give the same to all"
            )
        yield record


def _record(
    example: Example, prediction: Prediction, labels: tuple[Label, ...], above: float | None
) -> Record:
    """The record of an example with what a tool predicts for it.

    Selections are made at the budgets of `removed` and `kept`, else at the usual ones. Scores without a
    selection select the tokens above 0, or above `above`. Without a label the likeliest is predicted.
    """
    budgets, predicted = prediction.budgets or BUDGETS, prediction.label
    if predicted is None and prediction.probabilities:
        predicted = labels[int(np.argmax(prediction.probabilities))]
    scored = prediction.scored
    if scored is not None:
        tokens, scores, chosen = scored.tokens, scored.scores, scored.chosen
        if chosen is None and above is not None and scores:
            chosen = tuple(number for number, score in enumerate(scores) if score > above)
        gold = None if example.rationale is None else _token_marks(tokens, example.rationale)
        scored = Scored(tokens, scores, gold, top_k(scores, budgets) if scores else (), chosen)
    return Record(
        id=example.id,
        segments=example.segments,
        label=example.label,
        predicted=predicted,
        labels=labels,
        probabilities=prediction.probabilities,
        sequences=() if scored is None else (scored,),
        budgets=budgets,
        target=predicted,
        views=(Views(REMOVAL, prediction.removed, prediction.kept),) if prediction.budgets else (),
        choices=example.choices,
    )


def _token_marks(tokens: Iterable[Token], rationale: Rationale) -> tuple[bool, ...]:
    """Which tokens overlap a span of the rationale."""
    return tuple(
        any(low < end and start < high for low, high in rationale[segment]) for segment, start, end in tokens
    )


def _listed_budgets(record: Record) -> str:
    return ", ".join(f"{budget:g} %" for budget in record.budgets) if record.views else "no budget"


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
