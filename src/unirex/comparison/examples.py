"""The examples of a comparison with the answers of all methods, and how far the methods agree."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from math import isfinite, nan
from typing import Any

import numpy as np

from unirex.comparison.method import Method
from unirex.data import rationales
from unirex.data.example import Label, answer_name
from unirex.errors import UserError
from unirex.evaluation.records import Record, Scored, top_k
from unirex.evaluation.tally import INTERVAL_DRAWS
from unirex.explanation import Word, scored_words
from unirex.metrics.bootstrap import bootstrap_interval
from unirex.metrics.paired import mean_of_known
from unirex.report.browser_data import (
    ComparedExample,
    GoldSpan,
    MethodAnswer,
    ShadedWord,
    overlap,
    shown_choice,
)
from unirex.report.marked_text import level
from unirex.report.plots import Estimate


def prediction_agreement(methods: Sequence[Method]) -> list[Estimate]:
    """The share of texts to which two methods give the same label, of those both label; first seeds.

    One share for every two methods, in the order of `combinations`, with its 95 % interval over texts.
    """
    rows = zip(*(method.predicted() for method in methods), strict=True)
    return _pair_means([[_same(a, b) for a, b in combinations(row, 2)] for row in rows])


def _same(first: Label | None, second: Label | None) -> float:
    return nan if first is None or second is None else float(str(first) == str(second))


def _pair_means(rows: Sequence[Sequence[float]]) -> list[Estimate]:
    """The mean of each column with its interval over texts; NaN where no text has a value."""
    values = np.array(rows, dtype=np.float64)
    lows, highs = bootstrap_interval(values, draws=INTERVAL_DRAWS)
    columns = zip(mean_of_known(values), lows, highs, strict=True)
    return [(float(mean), float(low), float(high)) for mean, low, high in columns]


@dataclass
class GatheredExamples:
    """One pass over the records of all methods: examples to show, and how far the rationales agree."""

    methods: Sequence[str]
    shown: list[ComparedExample] = field(default_factory=list)
    _overlaps: list[list[float]] = field(default_factory=list)  # of each text, one for every two methods

    def add(self, example: ComparedExample, *, keep: bool) -> None:
        """Count one more example; with `keep`, it is shown."""
        if keep:
            self.shown.append(example)
        words = [example.selected_words(name) for name in self.methods]
        shared = [overlap(first, second) for first, second in combinations(words, 2)]
        self._overlaps.append([nan if share is None else share for share in shared])

    def rationale_agreement(self) -> list[Estimate]:
        """Mean F1 of the words that two methods select, over the texts where either selects any.

        One for every two methods, in the order of `combinations`, with its 95 % interval over texts.
        """
        return _pair_means(self._overlaps)


def gather_examples(methods: Sequence[Method], *, budget: float, limit: int) -> GatheredExamples:
    """All shared examples, by the first seed of each method; at most `limit` of them are shown."""
    gathered, texts = GatheredExamples([method.name for method in methods]), len(methods[0].gold)
    kept = min(limit, texts)
    shown = {number * texts // kept for number in range(kept)}  # spread evenly
    for number, records in enumerate(side_by_side(methods)):
        gathered.add(compared_example(records, budget=budget), keep=number in shown)
    return gathered


def side_by_side(methods: Sequence[Method]) -> Iterator[dict[str, Record]]:
    """The records of each shared example by method.

    One record per method is in memory, as long as the files are in the same order.
    """
    shared = set(methods[0].runs[0].columns.ids)
    waiting: dict[str, dict[str, Record]] = {}
    readers = {method.name: method.runs[0].source.read() for method in methods}
    while readers:
        for name in list(readers):
            record = next((record for record in readers[name] if record.id in shared), None)
            if record is None:
                del readers[name]
                continue
            waiting.setdefault(record.id, {})[name] = record
            if len(waiting[record.id]) == len(methods):
                complete = waiting.pop(record.id)
                yield {method.name: complete[method.name] for method in methods}


def compared_example(records: Mapping[str, Record], *, budget: float) -> ComparedExample:
    """One example with the records of all methods, by their names.

    The selected words are those of the rationale of `budget` per cent; in a record without that budget, those
    its tool chose, or else the highest-scored.
    """
    check_same_data(records)
    first = next(iter(records.values()))
    choices = next((record.choices for record in records.values() if record.choices), None)
    label = next((answer_name(record.label) for record in records.values() if record.label is not None), None)
    return ComparedExample(
        id=first.id,
        segments=first.segments,
        choices=choices,
        label=label,
        gold=_gold_spans(records.values(), first.segments),
        answers={name: _answer(record, choices, label, budget) for name, record in records.items()},
    )


def check_same_data(records: Mapping[str, Any]) -> None:
    """Refuse records of one example, by method, whose texts, choices or labels differ."""
    (first, record), *others = records.items()
    for name, other in others:
        for part in ("segments", "choices", "label"):
            ours, theirs = getattr(record, part), getattr(other, part)
            if None not in (ours, theirs) and ours != theirs and str(ours) != str(theirs):
                raise UserError(
                    f"example {record.id}: '{first}' and '{name}' have different {part}; "
                    "compare methods that were evaluated on the same data."
                )


def _answer(record: Record, choices: Sequence[str] | None, label: str | None, budget: float) -> MethodAnswer:
    predicted = None if record.predicted is None else answer_name(record.predicted)
    number, segments = shown_choice(choices, predicted, label), record.segments
    if number is not None and choices and len(record.sequences) == len(choices):
        sequence, segments = record.sequences[number], (*segments, choices[number])
    else:
        sequence = record.sequences[0] if record.sequences else Scored((), (), None, ())
    selected = dict(zip(record.budgets, sequence.selected, strict=False)).get(budget, sequence.chosen)
    if selected is None:
        selected = top_k(sequence.scores, [budget])[0]
    confidence = max(record.probabilities, default=nan)
    words = _marked_words(segments, sequence, set(selected))
    return MethodAnswer(predicted, confidence if isfinite(confidence) else None, words)


def _marked_words(segments: Sequence[str], sequence: Scored, selected: set[int]) -> tuple[ShadedWord, ...]:
    """The words of the text with their shades."""
    scores = sequence.scores or (0.0,) * len(sequence.tokens)  # a tool may select words without scoring them
    tokens = [
        Word(start, end, "", score, number in selected, segment)
        for number, ((segment, start, end), score) in enumerate(zip(sequence.tokens, scores, strict=True))
    ]
    ordered = sorted(tokens, key=lambda token: (token.segment, token.start))
    words = scored_words(segments, ordered, rationales.words)  # overlaps are of blank-separated words
    top = max((word.score for word in words if isfinite(word.score)), default=0.0)
    return tuple(
        (word.segment, word.start, word.end, level(word.score, top), word.selected) for word in words
    )


def _gold_spans(records: Iterable[Record], segments: Sequence[str]) -> tuple[GoldSpan, ...] | None:
    """The spans of gold tokens, by the method that read most of the text; neighbours become one span."""
    annotated = [record for record in records if record.sequences and record.sequences[0].gold is not None]
    if not annotated:
        return None
    sequence = min(annotated, key=lambda record: record.truncated).sequences[0]
    pairs = zip(sequence.tokens, sequence.gold or (), strict=True)
    spans: list[GoldSpan] = []
    for segment, start, end in sorted(token for token, gold in pairs if gold):
        if segment >= len(segments):
            continue  # a choice, which no annotator marks
        text = segments[segment]
        start += len(text[start:end]) - len(text[start:end].lstrip())
        if spans and spans[-1][0] == segment and not text[spans[-1][2] : start].strip():
            start = spans.pop()[1]
        spans.append((segment, start, start + len(text[start:end].rstrip())))
    return tuple(span for span in spans if span[1] < span[2])
