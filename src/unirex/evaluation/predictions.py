"""Outputs of other tools: word scores, labels and probabilities, made into records of our datasets.

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
from dataclasses import dataclass
from difflib import get_close_matches
from itertools import accumulate, pairwise
from pathlib import Path
from reprlib import repr as short
from sys import float_info
from typing import Any, Literal

import numpy as np

from unirex.data.example import CharSpan, Example, Label, Rationale, choice_label
from unirex.data.rationales import parse_segments, words
from unirex.data.rows import json_rows
from unirex.data.validate import at, check_label
from unirex.errors import UserError, unknown
from unirex.evaluation.records import BUDGETS, Distributions, Floats, Record, Scored, Views, top_k
from unirex.evaluation.words import own_words

Missing = Literal["error", "skip"]
Token = tuple[int, int, int]  # segment, start, end

TOLERANCE = 1e-3  # by which probabilities may miss a sum of 1: those of half precision do
REMOVAL = "external"  # how the other tool took tokens out is its own affair


@dataclass(frozen=True, slots=True)
class Said:
    """What a tool says of one example; what it does not say is None or empty."""

    tokens: tuple[Token, ...] | None = None  # in the order of the text
    scores: Floats = ()  # one a token
    chosen: tuple[int, ...] | None = None  # numbers of the tokens it selects
    predicted: Label | None = None
    probabilities: Floats = ()
    budgets: Floats = ()  # of the next two, in per cent
    removed: Distributions = ()
    kept: Distributions = ()


def record_of(example: Example, said: Said, labels: Sequence[Label], *, above: float | None = None) -> Record:
    """The record of an example.

    Selections are made for the budgets of the probabilities without rationales, else for the usual ones. A
    tool that scores words but selects none selects those above 0; with `above`, those above that.
    """
    budgets = said.budgets or BUDGETS
    return Record(
        id=example.id,
        segments=example.segments,
        label=example.label,
        predicted=said.predicted,
        labels=tuple(labels),
        probabilities=said.probabilities,
        sequences=() if said.tokens is None else (_scored(example, said, budgets, above),),
        budgets=budgets,
        target=said.predicted,
        views=(Views(REMOVAL, said.removed, said.kept),) if said.budgets else (),
        choices=example.choices,
    )


def _scored(example: Example, said: Said, budgets: Floats, above: float | None) -> Scored:
    tokens, chosen = said.tokens or (), said.chosen
    if chosen is None and above is not None and said.scores:
        chosen = tuple(number for number, score in enumerate(said.scores) if score > above)
    selected = top_k(said.scores, budgets) if said.scores else ()
    return Scored(tokens, said.scores, gold_of(example, tokens), selected, chosen)


def gold_of(example: Example, tokens: Iterable[Token]) -> tuple[bool, ...] | None:
    """Which tokens have a part in what people marked; None if nobody was asked."""
    spans = example.rationale
    if spans is None:
        return None
    return tuple(any(low < end and start < high for low, high in spans[at]) for at, start, end in tokens)


def predicted_label(said: Label | None, probabilities: Floats, labels: Sequence[Label]) -> Label | None:
    """The label a tool gives, or the likeliest if it gives probabilities alone."""
    if said is not None or not probabilities:
        return said
    return labels[max(range(len(labels)), key=probabilities.__getitem__)]


def answers(example: Example, labels: Sequence[Label]) -> tuple[Label, ...]:
    """What can be answered: the labels, or the letters of the choices."""
    if example.choices is None:
        return tuple(labels)
    return tuple(choice_label(number) for number in range(len(example.choices)))


def label_of(value: object, labels: Sequence[Label]) -> Label:
    """The label that is meant; JSON has only text for the keys of an object, so 1 may be "1".

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


def distribution(values: object, labels: Sequence[Label], name: str) -> Floats:
    """The probabilities of all labels in their order.

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


def by_id(
    path: Path, named: Iterable[tuple[str, str]], examples: Iterable[Example], missing: Missing
) -> dict[str, Example]:
    """The examples by id, once it is known that every line has its own and, unless skipped, every one a line.

    `named` are the places and the ids of the lines.
    """
    if missing not in ("error", "skip"):
        raise unknown("way with missing lines", missing, ("error", "skip"))
    known, seen = {example.id: example for example in examples}, dict[str, str]()
    for place, name in named:
        if name not in known:
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


def consistent(placed: Iterable[tuple[str, Record]]) -> Iterator[Record]:
    """The records, as long as all have the same budgets: their means would be of different things."""
    first: tuple[str, Record] | None = None
    for place, record in placed:
        first = first or (place, record)
        if (record.budgets, bool(record.views)) != (first[1].budgets, bool(first[1].views)):
            ours, theirs = (_sizes(one) for one in (record, first[1]))
            raise UserError(
                f"{place}: probabilities at {ours}, but {theirs} at {first[0]}; give the same to all"
            )
        yield record


def _sizes(record: Record) -> str:
    return ", ".join(f"{one:g} %" for one in record.budgets) if record.views else "no budget"


SPAN_KEYS = ("segment", "start", "end", "score")


@dataclass(frozen=True, slots=True)
class PredictionWords:
    """What a line says of the words of its example."""

    row: Mapping[str, Any]
    example: Example

    def tokens(self) -> tuple[tuple[Token, ...] | None, Floats, tuple[int, ...] | None]:
        """The tokens, their scores, and the numbers of those selected."""
        scored, spans = self._scores(), self._selection()
        if scored is None and spans is None:
            return None, (), None
        unread = min([0.0, *(score for _, score in scored or ())])
        told = [token for token, _ in scored or ()]
        every = sorted([*(scored or ()), *((word, unread) for word in self._unsaid(told, spans))])
        tokens = tuple(token for token, _ in every)
        chosen = None if spans is None else tuple(self._touched(tokens, spans))
        return tokens, () if scored is None else tuple(score for _, score in every), chosen

    def _scores(self) -> list[tuple[Token, float]] | None:
        values = self.row.get("scores")
        if values is None:
            return None
        if not isinstance(values, list):
            raise UserError(f"'scores' must be a list, not {short(values)}")
        if all(map(is_number, values)):
            return self._word_scores([float(value) for value in values])
        strange = next(value for value in values if not is_number(value))
        if not isinstance(strange, list | dict):
            raise UserError(f"'scores' must be finite numbers, one for each word; {short(strange)} is not")
        return self._span_scores(values)

    def _word_scores(self, values: list[float]) -> list[tuple[Token, float]]:
        """One score a word, of all segments or of the first ones."""
        each = [words(text) for text in self.example.segments]
        counts = list(accumulate(map(len, each)))
        if len(values) not in counts:
            known = " or ".join(map(str, dict.fromkeys(reversed(counts))))
            raise UserError(f"{len(values)} scores for {known} blank-separated words; give one for each")
        tokens = [(number, start, end) for number, some in enumerate(each) for start, end in some]
        return list(zip(tokens, values, strict=False))

    def _span_scores(self, values: list[Any]) -> list[tuple[Token, float]]:
        """Scores of stretches of characters, in the order of the text."""
        found = sorted(self._span(value) for value in values)
        for (one, _), (other, _) in pairwise(found):
            if one[0] == other[0] and other[1] < one[2]:
                raise UserError(f"'scores' of overlapping characters: {one[1:]} and {other[1:]}; keep one")
        return found

    def _span(self, value: Any) -> tuple[Token, float]:
        if isinstance(value, dict) and value.keys() <= set(SPAN_KEYS):
            value = [value.get("segment", 0), *(value.get(name) for name in SPAN_KEYS[1:])]
        parts = [0, *value] if isinstance(value, list) and len(value) == 3 else value
        whole = isinstance(parts, list) and len(parts) == 4 and all(type(one) is int for one in parts[:3])
        if not whole or not is_number(parts[3]):
            raise UserError(
                f"'scores' has {short(value)}; give a number for each word, or [start, end, score] for "
                "each stretch of characters"
            )
        segment, start, end, score = parts
        texts = self.example.segments
        if not 0 <= segment < len(texts) or not 0 <= start < end <= len(texts[segment]):
            raise UserError(
                f"'scores' of characters {start} to {end} of segment {segment}, which are not there"
            )
        return (segment, start, end), float(score)

    def _selection(self) -> Rationale | None:
        texts = {str(number): text for number, text in enumerate(self.example.segments)}
        return parse_segments(self.row.get("rationale"), texts)

    def _unsaid(self, told: Sequence[Token], spans: Sequence[Sequence[CharSpan]] | None) -> Iterator[Token]:
        """The words nobody scored, of segments that are spoken of or marked: they count as not important."""
        spoken = {token[0] for token in told}
        for marks in (self.example.rationale or (), spans or ()):
            spoken |= {number for number, some in enumerate(marks) if some}
        for one in own_words(self.example.id, self.example.segments):
            if one.segment in spoken or not spoken:
                said = one.marked((start, end) for segment, start, end in told if segment == one.segment)
                for number in np.flatnonzero(~said).tolist():
                    yield one.segment, int(one.starts[number]), int(one.ends[number])

    def _touched(self, tokens: Sequence[Token], spans: Sequence[Sequence[CharSpan]]) -> Iterator[int]:
        for number, (segment, start, end) in enumerate(tokens):
            if any(low < end and start < high for low, high in spans[segment]):
                yield number


KEYS = ("id", "scores", "rationale", "label", "probabilities", "removed", "kept")


def read_scores(
    path: Path,
    examples: Iterable[Example],
    labels: Sequence[Label],
    *,
    missing: Missing = "error",
    above: float | None = None,
) -> Iterator[Record]:
    """The lines of a file in the form above as records; arguments as in `unirex.eraser.read_predictions`."""
    known = by_id(path, ((place, _id(place, row)) for place, row in json_rows(path)), examples, missing)
    return consistent(
        (place, _record(place, row, known[_id(place, row)], labels, above)) for place, row in json_rows(path)
    )


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
    sides = [_by_budget(row, name) for name in ("removed", "kept")]
    if sides[0].keys() != sides[1].keys():
        raise UserError("'removed' and 'kept' must have the same budgets; give both at each")
    budgets = tuple(sorted(sides[0]))
    removed, kept = (
        tuple(distribution(side[budget], labels, f"{name} {budget:g}") for budget in budgets)
        for name, side in zip(("removed", "kept"), sides, strict=True)
    )
    return budgets, removed, kept


def _by_budget(row: Mapping[str, Any], name: str) -> dict[float, Any]:
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


def is_number(value: object) -> bool:
    """Whether it is a finite number; true and false are none.

    >>> [is_number(value) for value in (1, 0.5, True, "1", float("nan"))]
    [True, True, False, False, False]
    """
    return isinstance(value, int | float) and not isinstance(value, bool) and abs(value) <= float_info.max
