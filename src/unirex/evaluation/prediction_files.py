"""The simple form of predictions: a file of JSON lines that any tool can write.

A file has a line of JSON for each example; only `id` is required, and each metric needs what it is made of:

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
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import accumulate, pairwise
from pathlib import Path
from reprlib import repr as short
from typing import Any

import numpy as np

from unirex.data.example import CharSpan, Example, Label, Rationale
from unirex.data.rationales import parse_segments, words
from unirex.data.rows import json_rows
from unirex.data.validate import at, check_label
from unirex.errors import UserError, unknown
from unirex.evaluation.predictions import (
    MissingLines,
    PredictedTokens,
    Prediction,
    Token,
    distribution,
    examples_by_id,
    is_number,
    label_of,
    possible_labels,
    record_of,
    token_marks,
    with_equal_budgets,
)
from unirex.evaluation.records import Record

FIELDS = ("id", "scores", "rationale", "label", "probabilities", "removed", "kept")
SPAN_FIELDS = ("segment", "start", "end", "score")


def read_scores(
    path: Path,
    examples: Iterable[Example],
    labels: Sequence[Label],
    *,
    missing: MissingLines = "error",
    above: float | None = None,
) -> Iterator[Record]:
    """The lines of a file in the form above as records; arguments as in `unirex.eraser.read_predictions`."""
    ids = ((place, _id(place, row)) for place, row in json_rows(path))
    known = examples_by_id(path, ids, examples, missing)

    def records() -> Iterator[tuple[str, Record]]:
        for place, row in json_rows(path):
            example = known[_id(place, row)]
            answers = possible_labels(example, labels)
            with at(place):
                record = record_of(example, _prediction(row, example, answers), answers, above=above)
            yield place, record

    return with_equal_budgets(records())


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
        tokens=_tokens(row, example),
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


def _tokens(row: Mapping[str, Any], example: Example) -> PredictedTokens | None:
    scored = _scores(row.get("scores"), example)
    texts = {str(number): text for number, text in enumerate(example.segments)}
    selection = parse_segments(row.get("rationale"), texts)
    if scored is None and selection is None:
        return None
    pairs = scored or []
    lowest = min([0.0, *(score for _, score in pairs)])
    unscored = _unscored_words([token for token, _ in pairs], example, selection)
    pairs = sorted([*pairs, *((token, lowest) for token in unscored)])
    tokens = tuple(token for token, _ in pairs)
    return PredictedTokens(
        tokens,
        scores=() if scored is None else tuple(score for _, score in pairs),
        chosen=None if selection is None else tuple(np.flatnonzero(token_marks(tokens, selection)).tolist()),
    )


def _scores(values: Any, example: Example) -> list[tuple[Token, float]] | None:
    if values is None:
        return None
    if not isinstance(values, list):
        raise UserError(f"'scores' must be a list, not {short(values)}")
    strange = [value for value in values if not is_number(value)]
    if not strange:
        return _word_scores([float(value) for value in values], example)
    if not isinstance(strange[0], list | dict):
        raise UserError(f"'scores' must be finite numbers, one for each word; {short(strange[0])} is not")
    return _span_scores(values, example)


def _word_scores(values: list[float], example: Example) -> list[tuple[Token, float]]:
    """One score per word, of all segments or of the first ones."""
    segments = [words(text) for text in example.segments]
    counts = list(accumulate(map(len, segments)))
    if len(values) not in counts:
        known = " or ".join(map(str, dict.fromkeys(reversed(counts))))
        raise UserError(f"{len(values)} scores for {known} blank-separated words; give one for each")
    tokens = [(number, start, end) for number, spans in enumerate(segments) for start, end in spans]
    return list(zip(tokens, values, strict=False))


def _span_scores(values: list[Any], example: Example) -> list[tuple[Token, float]]:
    """Scores of spans of characters, in the order of the text."""
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
