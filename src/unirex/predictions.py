"""Other people's outputs: scores of words from any tool, held against any of our datasets.

A file has a line of JSON for each example; only `id` is needed, and each metric needs what it is made of:

    {"id": "17", "scores": [0.1, 0.9, 0.0], "rationale": [1], "label": "pos",
     "probabilities": {"pos": 0.9, "neg": 0.1},
     "removed": {"20": {"pos": 0.4, "neg": 0.6}}, "kept": {"20": {"pos": 0.9, "neg": 0.1}}}

`scores` are one for each blank-separated word, of all segments or of the first ones; or `[start, end, score]`
for stretches of characters, `[segment, start, end, score]` where there are several segments. `rationale` is
the tool's own selection, as in a dataset: characters, word numbers or one flag a word. `removed` and `kept`
are the probabilities without the rationale and from it alone, by its size in per cent of the tokens.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from reprlib import repr as short
from typing import Any, Literal

from unirex.data.example import Example, Label
from unirex.data.rows import json_rows
from unirex.data.validate import at, check_label
from unirex.eraser.gold import Gold
from unirex.eraser.importing import import_submission
from unirex.eraser.outside import (
    Missing,
    Said,
    answers,
    by_id,
    consistent,
    distribution,
    label_of,
    predicted_label,
    record_of,
)
from unirex.errors import UserError, unknown
from unirex.prediction_words import PredictionWords
from unirex.records import Distributions, Floats, Record

Format = Literal["auto", "eraser", "scores"]

FORMATS = ("auto", "eraser", "scores")
KEYS = ("id", "scores", "rationale", "label", "probabilities", "removed", "kept")


def read_predictions(
    path: str | Path,
    examples: Iterable[Example],
    labels: Sequence[Label],
    *,
    format: Format = "auto",  # noqa: A002  the word users know for this
    missing: Missing = "error",
    above: float | None = None,
    gold: Gold | None = None,
) -> Iterator[Record]:
    """The outputs of another tool as records, in the order of the file.

    Ids are checked before the first record; whatever else is wrong is told with its line when it is met.

    Args:
        path: of the outputs.
        examples: what they are about; in memory, as the lines may stand in any order.
        labels: of the dataset.
        format: "scores" is the form above, "eraser" a submission; "auto" sees which from the first line.
        missing: what to do where an example has no line.
        above: the score above which words are selected where a tool selects none itself. The default is 0,
            which is every word if scores are probabilities: give 0.5 for those.
        gold: for submissions, the ERASER data that the examples were read from.
    """
    if format not in FORMATS:
        raise unknown("format of predictions", format, FORMATS)
    source = Path(path)
    if (_format(source) if format == "auto" else format) == "eraser":
        return import_submission(source, examples, labels, gold=gold, missing=missing, above=above)
    known = by_id(source, ((place, _id(place, row)) for place, row in json_rows(source)), examples, missing)
    return consistent(
        (place, _record(place, row, known[_id(place, row)], labels, above))
        for place, row in json_rows(source)
    )


def _format(path: Path) -> str:
    first = next((row for _, row in json_rows(path)), None)
    if first is None:
        raise UserError(f"{path}: the file is empty; give a line for each example")
    if "annotation_id" in first:
        return "eraser"
    if "id" in first:
        return "scores"
    raise UserError(f"{path}:1: neither 'id' nor 'annotation_id'; give the id of the example on every line")


def _id(place: str, row: Mapping[str, Any]) -> str:
    name = row.get("id")
    if isinstance(name, bool) or not isinstance(name, str | int) or name == "":
        raise UserError(f"{place}: 'id' must be the id of an example, not {short(name)}")
    return str(name)


def _record(
    place: str, row: Mapping[str, Any], example: Example, all_labels: Sequence[Label], above: float | None
) -> Record:
    labels = answers(example, all_labels)
    with at(place):
        for key in row:
            if key not in KEYS:
                raise unknown("field", key, KEYS)
        return record_of(example, _said(row, example, labels), labels, above=above)


def _said(row: Mapping[str, Any], example: Example, labels: Sequence[Label]) -> Said:
    given, likely = row.get("label"), row.get("probabilities")
    label = None if given is None else label_of(check_label(given), labels)
    probabilities = () if likely is None else distribution(likely, labels, "probabilities")
    budgets, removed, kept = _views(row, labels)
    if budgets and not probabilities:
        raise UserError("'removed' and 'kept' without 'probabilities'; give those of the whole text too")
    tokens, scores, chosen = PredictionWords(row, example).tokens()
    predicted = predicted_label(label, probabilities, labels)
    return Said(tokens, scores, chosen, predicted, probabilities, budgets, removed, kept)


def _views(row: Mapping[str, Any], labels: Sequence[Label]) -> tuple[Floats, Distributions, Distributions]:
    """The budgets, and the probabilities without the rationale and from it alone at each."""
    sides = [_sizes(row, name) for name in ("removed", "kept")]
    if sides[0].keys() != sides[1].keys():
        raise UserError("'removed' and 'kept' must have the same budgets; give both at each")
    budgets = tuple(sorted(sides[0]))
    removed, kept = (
        tuple(distribution(side[budget], labels, f"{name} {budget:g}") for budget in budgets)
        for name, side in zip(("removed", "kept"), sides, strict=True)
    )
    return budgets, removed, kept


def _sizes(row: Mapping[str, Any], name: str) -> dict[float, Any]:
    values = row.get(name)
    if values is None:
        return {}
    if not isinstance(values, Mapping):
        raise UserError(f"'{name}' must be an object by budget, not {short(values)}")
    return {_budget(name, key): value for key, value in values.items()}


def _budget(name: str, key: str) -> float:
    try:
        budget = float(key)
    except ValueError:
        budget = float("nan")
    if not 0 < budget <= 100:
        raise UserError(f"'{name}': {key!r} is no budget; give per cents above 0 and up to 100")
    return budget
