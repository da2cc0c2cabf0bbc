"""Submissions, and predictions of any other tool, as records for our metrics and reports."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cache, partial
from math import isnan
from pathlib import Path
from typing import Literal, get_args

import numpy as np

from unirex.data.example import Example, Label
from unirex.data.formats.eraser_files import Document
from unirex.data.rows import json_rows
from unirex.eraser.gold import GoldData, mean_percent
from unirex.eraser.submission import (
    COMPREHENSIVENESS,
    SUFFICIENCY,
    DocumentRationale,
    Instance,
    Thresholded,
    read_submission,
)
from unirex.eraser.words import DocumentWords, document_words, eraser_words, segment_words
from unirex.errors import UserError, unknown
from unirex.evaluation.predictions import (
    MissingLines,
    Prediction,
    Token,
    distribution,
    examples_by_id,
    label_of,
    predicted_records,
    read_scores,
)
from unirex.evaluation.records import Record, Scored

PredictionFormat = Literal["auto", "eraser", "scores"]
PlacedDocument = tuple[DocumentWords, DocumentRationale | None]  # None: marked by people, not in the line


def read_predictions(
    path: str | Path,
    examples: Iterable[Example],
    labels: Sequence[Label],
    *,
    format: PredictionFormat = "auto",  # noqa: A002  the word users know for this
    missing: MissingLines = "error",
    above: float | None = None,
    gold: GoldData | None = None,
) -> Iterator[Record]:
    """The outputs of another tool as records, in the order of the file.

    Ids are checked before the first record; other faults are raised with their line when it is reached.

    Args:
        path: of the outputs.
        examples: what they are about; kept in memory, as the lines may be in any order.
        labels: of the dataset.
        format: "scores" is the simple form of `unirex.evaluation.predictions`, "eraser" a submission; "auto"
            tells them apart by the first line.
        missing: what to do with an example that has no line.
        above: the score above which words are selected where a tool selects none itself. The default is 0,
            which is every word if scores are probabilities: give 0.5 for those.
        gold: for submissions, the ERASER data that the examples were read from.
    """
    if format not in get_args(PredictionFormat):
        raise unknown("format of predictions", format, get_args(PredictionFormat))
    path = Path(path)
    if format == "auto":
        first = next((row for _, row in json_rows(path)), None)
        if first is None:
            raise UserError(f"{path}: the file is empty; give a line for each example")
        if "annotation_id" not in first and "id" not in first:
            raise UserError(
                f"{path}:1: neither 'id' nor 'annotation_id'; give the id of the example on every line"
            )
        format = "eraser" if "annotation_id" in first else "scores"  # noqa: A001
    if format == "eraser":
        return import_submission(path, examples, labels, gold=gold, missing=missing, above=above)
    return read_scores(path, examples, labels, missing=missing, above=above)


def import_submission(
    path: str | Path,
    examples: Iterable[Example],
    labels: Sequence[Label],
    *,
    gold: GoldData | None = None,
    missing: MissingLines = "error",
    above: float | None = None,
    budget: float | None = None,
) -> Iterator[Record]:
    """The lines of a submission as records, whose tokens are the words of the documents.

    Soft scores become scores, hard spans the tool's own selection, thresholds budgets, and the class
    probabilities at them the predictions with and without the rationale.

    Args:
        path: of the submission.
        examples: what it is about; annotation ids are their ids.
        labels: of the dataset.
        gold: the ERASER data the examples were read from. Without it documents are recognised by their ids
            (`ID`, `ID_0`, `ID_premise` …), and others by their order.
        missing: what to do with an example that has no line.
        above: the score above which words are selected where the submission has no hard spans; None: 0.
        budget: the size in per cent of the rationales behind probabilities outside of `thresholded_scores`,
            where there are no others; None: the mean share of words people mark.
    """
    source, known = Path(path), list(examples)
    ids = ((place, str(row.get("annotation_id"))) for place, row in json_rows(source))
    by_id = examples_by_id(source, ids, known, missing)
    # Computed only if a line needs it, as it reads every text.
    size = cache(lambda: human_budget(known) if budget is None else budget)
    lines = ((line.place, line.annotation_id, line) for line in read_submission(source))
    return predicted_records(lines, by_id, labels, partial(_prediction, gold=gold, size=size), above=above)


def human_budget(examples: Iterable[Example]) -> float:
    """The mean share of words people mark in segments with marks, in whole per cent; NaN without marks."""
    shares = []
    for example in examples:
        if not example.rationale:
            continue
        documents = segment_words(example.id, example.segments)
        marks = [document.in_spans(example.rationale[document.segment]) for document in documents]
        marks = [flags for flags in marks if flags.any()]
        if marks:
            shares.append(float(np.concatenate(marks).mean()))
    share = mean_percent(shares)
    return share if isnan(share) else float(max(1, round(share)))


def _prediction(
    line: Instance,
    example: Example,
    labels: Sequence[Label],
    *,
    gold: GoldData | None,
    size: Callable[[], float],
) -> Prediction:
    label, scores = line.classification, line.classification_scores
    predicted = None if label is None else label_of(label, labels)
    probabilities = () if scores is None else distribution(scores, labels, "classification_scores")
    entries = _thresholded(line, size)
    if entries and not probabilities:
        raise UserError("probabilities without the rationale, but no classification_scores; give both")
    return Prediction(
        scored=_scored(_documents(line, example, gold)),
        label=predicted,
        probabilities=probabilities,
        budgets=tuple(round(100 * entry.threshold, 9) for entry in entries),  # 100 * 0.07 is not 7.0
        removed=tuple(distribution(entry.comprehensiveness, labels, COMPREHENSIVENESS) for entry in entries),
        kept=tuple(distribution(entry.sufficiency, labels, SUFFICIENCY) for entry in entries),
    )


def _thresholded(line: Instance, size: Callable[[], float]) -> list[Thresholded]:
    """The probabilities at all thresholds, or else those at the one size that people mark."""
    if line.thresholded is not None:
        return sorted(line.thresholded, key=lambda entry: entry.threshold)
    if line.comprehensiveness is None and line.sufficiency is None:
        return []
    budget = size()
    if isnan(budget):
        raise UserError("the size of its rationales is not known, as none is marked; give a budget")
    return [Thresholded(budget / 100, line.comprehensiveness, line.sufficiency)]


def _scored(documents: list[PlacedDocument]) -> Scored | None:
    """The words of the documents with scores and selection; words without a score get the lowest."""
    entries = [entry for _, entry in documents if entry is not None]
    soft = [entry.soft for entry in entries if entry.soft is not None]
    selects = any(entry.hard is not None for entry in entries)
    if soft and len(soft) < len(entries):
        raise UserError("soft_rationale_predictions for some documents but not all; give all or none")
    if not soft and not selects:
        return None
    lowest = min([0.0, *(score for scores in soft for score in scores)])
    tokens, scores, chosen = list[Token](), list[float](), list[int]()
    for words, entry in documents:
        chosen += [len(tokens) + number for number in _hard_words(entry, len(words))]
        scores += entry.soft if entry and entry.soft is not None else [lowest] * len(words)
        tokens += words.tokens()
    return Scored(
        tuple(tokens), tuple(scores) if soft else (), None, (), chosen=tuple(chosen) if selects else None
    )


def _hard_words(entry: DocumentRationale | None, length: int) -> list[int]:
    """The numbers of the words that hard spans select."""
    numbers: set[int] = set()
    if entry is None or entry.hard is None:
        return []
    for start, end in entry.hard:
        if not 0 <= start < end <= length:
            raise UserError(
                f"document '{entry.docid}': span {start} to {end} is not inside its {length} tokens"
            )
        numbers.update(range(start, end))
    return sorted(numbers)


def _documents(line: Instance, example: Example, gold: GoldData | None) -> list[PlacedDocument]:
    """Each document of the line with its words, and the documents that only people marked, in text order."""
    documents = _by_name(line, example) if gold is None else _by_text(line, example, gold)
    segments = {words.segment for words, _ in documents}
    for number, spans in enumerate(example.rationale or ()):
        if spans and number not in segments:
            words = document_words("", number, Document.of(example.segments[number]))
            documents.append((words, None))
    return sorted(documents, key=lambda document: (document[0].segment, document[0].starts[0]))


def _by_text(line: Instance, example: Example, gold: GoldData) -> list[PlacedDocument]:
    """Documents found by their texts in the ERASER data."""
    entries = {entry.docid: entry for entry in line.rationales}
    words = {document.docid: document for document in eraser_words(gold, example.id, example.segments)}
    for docid in entries:
        if docid not in words:
            raise UserError(f"document '{docid}' is none of annotation '{example.id}'")
    documents: list[PlacedDocument] = []
    for docid, entry in entries.items():
        _check_count(words[docid], entry)
        documents.append((words[docid], entry))
    spans = example.rationale or ((),) * len(example.segments)
    for docid, document in words.items():
        if docid not in entries and len(document) and document.in_spans(spans[document.segment]).any():
            documents.append((document, None))
    return documents


def _by_name(line: Instance, example: Example) -> list[PlacedDocument]:
    """Documents recognised by their ids, as `segment_words` and e-SNLI give them; others by their order."""
    known = {example.id: 0, f"{example.id}_premise": 0, f"{example.id}_hypothesis": 1}
    known |= {f"{example.id}_{number}": number for number in range(len(example.segments))}
    left, segments = list(range(len(example.segments))), dict[str, int]()
    for entry in line.rationales:
        if known.get(entry.docid) in left:
            segments[entry.docid] = known[entry.docid]
            left.remove(known[entry.docid])
    for entry in line.rationales:
        if entry.docid not in segments:
            if not left:
                raise UserError(f"document '{entry.docid}' is no segment of example '{example.id}'")
            segments[entry.docid] = left.pop(0)
    return [(_counted_words(entry, segments[entry.docid], example), entry) for entry in line.rationales]


def _counted_words(entry: DocumentRationale, segment: int, example: Example) -> DocumentWords:
    """The words of a segment, counted as the entry counts them: by ERASER's rule, or by blanks."""
    ways = [document_words(entry.docid, segment, Document.of(example.segments[segment]))]
    ways += [words for words in segment_words(example.id, example.segments) if words.segment == segment]
    if entry.soft is None:
        if len({len(words) for words in ways}) > 1:
            counts = " or ".join(str(len(words)) for words in ways)
            raise UserError(
                f"document '{entry.docid}' can be counted as {counts} tokens; give the data it is from"
            )
        return ways[0]
    fitting = [words for words in ways if len(words) == len(entry.soft)]
    if not fitting:
        _check_count(ways[0], entry)
    return fitting[0]


def _check_count(words: DocumentWords, entry: DocumentRationale) -> None:
    if entry.soft is not None and len(entry.soft) != len(words):
        raise UserError(
            f"document '{entry.docid}' has {len(words)} tokens, but soft_rationale_predictions "
            f"has {len(entry.soft)}"
        )
