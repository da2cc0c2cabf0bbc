"""From a submission to records, for our metrics and reports."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from math import isnan
from pathlib import Path
from typing import Literal

from unirex.data.example import Example, Label
from unirex.data.formats.eraser_files import Document
from unirex.data.rows import json_rows
from unirex.data.validate import at
from unirex.eraser.gold import Gold
from unirex.eraser.submission import (
    COMPREHENSIVENESS,
    SUFFICIENCY,
    DocumentRationale,
    Instance,
    Thresholded,
    read_submission,
)
from unirex.eraser.words import EraserWords, Words, document_words, human_budget, own_words
from unirex.errors import UserError, unknown
from unirex.evaluation.predictions import (
    Missing,
    Said,
    Token,
    answers,
    by_id,
    consistent,
    distribution,
    label_of,
    predicted_label,
    read_scores,
    record_of,
)
from unirex.evaluation.records import Record

PredictionFormat = Literal["auto", "eraser", "scores"]
PREDICTION_FORMATS = ("auto", "eraser", "scores")


@dataclass(frozen=True, slots=True)
class LineDocuments:
    """The documents of a line, found in the segments of its example."""

    instance: Instance
    example: Example
    gold: Gold | None

    def tokens(self) -> tuple[tuple[Token, ...] | None, tuple[float, ...], tuple[int, ...] | None]:
        """The words, their scores and those selected; the words of a marked document that is missing too."""
        placed = self._placed()
        entries = [entry for _, entry in placed if entry is not None]
        soft = [entry.soft for entry in entries if entry.soft is not None]
        if soft and len(soft) < len(entries):
            raise UserError("soft_rationale_predictions for some documents but not all; give all or none")
        if not placed or (not soft and all(entry.hard is None for entry in entries)):
            return None, (), None
        unread = min([0.0, *(score for scores in soft for score in scores)])
        tokens, scores, chosen = list[Token](), list[float](), list[int]()
        for words, entry in placed:
            chosen += [len(tokens) + number for number in _hard(entry, len(words))]
            scores += entry.soft if entry and entry.soft is not None else [unread] * len(words)
            places = zip(words.starts.tolist(), words.ends.tolist(), strict=True)
            tokens += [(words.segment, start, end) for start, end in places]
        selects = any(entry.hard is not None for entry in entries)
        return tuple(tokens), tuple(scores) if soft else (), tuple(chosen) if selects else None

    def _placed(self) -> list[tuple[Words, DocumentRationale | None]]:
        """Each document of the line with its words, and those that only people said something of."""
        found = self._by_name() if self.gold is None else self._by_text(EraserWords(self.gold))
        marked = self.example.rationale or ()
        there = {words.segment for words, _ in found}
        for segment, text in enumerate(self.example.segments):
            if segment not in there and segment < len(marked) and marked[segment]:
                found.append((document_words("", segment, Document.of(text)), None))
        return sorted(found, key=lambda one: (one[0].segment, one[0].starts[0]))

    def _by_text(self, locate: EraserWords) -> list[tuple[Words, DocumentRationale | None]]:
        entries = {entry.docid: entry for entry in self.instance.rationales}
        words = {one.docid: one for one in locate(self.example.id, self.example.segments)}
        for docid in entries:
            if docid not in words:
                raise UserError(f"document '{docid}' is none of annotation '{self.example.id}'")
        spans = self.example.rationale or ((),) * len(self.example.segments)
        missing = [one for docid, one in words.items() if docid not in entries]
        marked = [one for one in missing if len(one) and one.marked(spans[one.segment]).any()]
        said = [(_fitting(words[docid], entry), entry) for docid, entry in entries.items()]
        return [*said, *((one, None) for one in marked)]

    def _by_name(self) -> list[tuple[Words, DocumentRationale | None]]:
        left = dict(enumerate(self.example.segments))
        places: dict[str, int] = {}
        for entry in self.instance.rationales:
            segment = _segment(entry.docid, self.example)
            if segment in left:
                places[entry.docid] = segment
                del left[segment]
        for entry in self.instance.rationales:
            if entry.docid not in places:
                if not left:
                    raise UserError(f"document '{entry.docid}' is no segment of example '{self.example.id}'")
                places[entry.docid] = min(left)
                del left[places[entry.docid]]
        return [(self._counted(entry, places[entry.docid]), entry) for entry in self.instance.rationales]

    def _counted(self, entry: DocumentRationale, segment: int) -> Words:
        """The words of a segment, counted as the entry counts them."""
        text = self.example.segments[segment]
        ways = [document_words(entry.docid, segment, Document.of(text))]
        ways += [one for one in own_words(self.example.id, self.example.segments) if one.segment == segment]
        if entry.soft is None:
            if len({len(one) for one in ways}) > 1:
                counts = " or ".join(str(len(one)) for one in ways)
                raise UserError(
                    f"document '{entry.docid}' can be counted as {counts} tokens; give the data it is from"
                )
            return ways[0]
        fitting = [one for one in ways if len(one) == len(entry.soft)]
        return fitting[0] if fitting else _fitting(ways[0], entry)


def _segment(docid: str, example: Example) -> int | None:
    """The segment that a document's id tells of: as `own_words` and e-SNLI have them."""
    names = {example.id: 0, f"{example.id}_premise": 0, f"{example.id}_hypothesis": 1}
    names |= {f"{example.id}_{number}": number for number in range(len(example.segments))}
    return names.get(docid)


def _fitting(words: Words, entry: DocumentRationale) -> Words:
    if entry.soft is not None and len(entry.soft) != len(words):
        raise UserError(
            f"document '{entry.docid}' has {len(words)} tokens, but soft_rationale_predictions "
            f"has {len(entry.soft)}"
        )
    return words


def _hard(entry: DocumentRationale | None, length: int) -> list[int]:
    """The numbers of the words that hard spans select."""
    numbers: set[int] = set()
    for start, end in (entry.hard or ()) if entry else ():
        if entry is not None and not 0 <= start < end <= length:
            raise UserError(
                f"document '{entry.docid}': span {start} to {end} is not inside its {length} tokens"
            )
        numbers.update(range(start, end))
    return sorted(numbers)


def read_predictions(
    path: str | Path,
    examples: Iterable[Example],
    labels: Sequence[Label],
    *,
    format: PredictionFormat = "auto",  # noqa: A002  the word users know for this
    missing: Missing = "error",
    above: float | None = None,
    gold: Gold | None = None,
) -> Iterator[Record]:
    """The outputs of another tool as records, in the order of the file.

    Ids are checked before the first record; whatever else is wrong is reported with its line when it is met.

    Args:
        path: of the outputs.
        examples: what they are about; in memory, as the lines may stand in any order.
        labels: of the dataset.
        format: "scores" is the form of `unirex.evaluation.predictions`, "eraser" a submission; "auto" sees
            which from the first line.
        missing: what to do where an example has no line.
        above: the score above which words are selected where a tool selects none itself. The default is 0,
            which is every word if scores are probabilities: give 0.5 for those.
        gold: for submissions, the ERASER data that the examples were read from.
    """
    if format not in PREDICTION_FORMATS:
        raise unknown("format of predictions", format, PREDICTION_FORMATS)
    source = Path(path)
    if (_prediction_format(source) if format == "auto" else format) == "eraser":
        return import_submission(source, examples, labels, gold=gold, missing=missing, above=above)
    return read_scores(source, examples, labels, missing=missing, above=above)


def _prediction_format(path: Path) -> str:
    first = next((row for _, row in json_rows(path)), None)
    if first is None:
        raise UserError(f"{path}: the file is empty; give a line for each example")
    if "annotation_id" in first:
        return "eraser"
    if "id" in first:
        return "scores"
    raise UserError(f"{path}:1: neither 'id' nor 'annotation_id'; give the id of the example on every line")


def import_submission(
    path: str | Path,
    examples: Iterable[Example],
    labels: Sequence[Label],
    *,
    gold: Gold | None = None,
    missing: Missing = "error",
    above: float | None = None,
    budget: float | None = None,
) -> Iterator[Record]:
    """The lines of a submission as records, whose tokens are the words of the documents.

    Soft scores become scores, hard spans the tool's own selection, thresholds budgets, and the probabilities
    at them what the classifier says with and without the rationale.

    Args:
        path: of the submission.
        examples: what it is about; annotation ids are their ids.
        labels: of the dataset.
        gold: the ERASER data the examples were read from. Without it the documents are told by their ids
            (`ID`, `ID_0`, `ID_premise` …), and others by their order.
        missing: what to do where an example has no line.
        above: the score above which words are selected where the submission has no hard spans; None: 0.
        budget: the size in per cent of the rationales behind probabilities that stand outside of
            `thresholded_scores`, where there are no others; None: the mean share of words people mark.
    """
    source, found = Path(path), list(examples)
    named = ((place, str(row.get("annotation_id"))) for place, row in json_rows(source))
    known = by_id(source, named, found, missing)
    reader = _Reader(labels, gold, above, cache(lambda: human_budget(found) if budget is None else budget))
    return consistent((one.place, reader(one, known[one.annotation_id])) for one in read_submission(source))


@dataclass(frozen=True, slots=True)
class _Reader:
    """Makes records of the lines."""

    labels: Sequence[Label]
    gold: Gold | None
    above: float | None
    budget: Callable[[], float]  # asked for only where a line needs it

    def __call__(self, instance: Instance, example: Example) -> Record:
        """The record of one line."""
        labels = answers(example, self.labels)
        with at(instance.place):
            return record_of(example, self._said(instance, example, labels), labels, above=self.above)

    def _said(self, instance: Instance, example: Example, labels: Sequence[Label]) -> Said:
        given = None if instance.classification is None else label_of(instance.classification, labels)
        full = instance.classification_scores
        probabilities = () if full is None else distribution(full, labels, "classification_scores")
        entries = self._sizes(instance)
        if entries and not probabilities:
            raise UserError("probabilities without the rationale, but no classification_scores; give both")
        tokens, scores, chosen = LineDocuments(instance, example, self.gold).tokens()
        return Said(
            tokens=tokens,
            scores=scores,
            chosen=chosen,
            predicted=predicted_label(given, probabilities, labels),
            probabilities=probabilities,
            budgets=tuple(round(100 * entry.threshold, 9) for entry in entries),
            removed=tuple(
                distribution(entry.comprehensiveness, labels, COMPREHENSIVENESS) for entry in entries
            ),
            kept=tuple(distribution(entry.sufficiency, labels, SUFFICIENCY) for entry in entries),
        )

    def _sizes(self, instance: Instance) -> list[Thresholded]:
        """The probabilities at all thresholds, or else those at the one size that people mark."""
        if instance.thresholded is not None:
            return sorted(instance.thresholded, key=lambda entry: entry.threshold)
        if instance.comprehensiveness is None and instance.sufficiency is None:
            return []
        size = self.budget()
        if isnan(size):
            raise UserError("the size of its rationales is not known, as nobody marked any; give a budget")
        return [Thresholded(size / 100, instance.comprehensiveness, instance.sufficiency)]
