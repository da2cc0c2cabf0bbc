"""From a submission to records: what another system thinks of ERASER's words, for our metrics and reports."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from math import isnan
from pathlib import Path

from unirex.data.example import Example, Label
from unirex.data.rows import json_rows
from unirex.data.validate import at
from unirex.eraser.budgets import human_budget
from unirex.eraser.gold import Gold
from unirex.eraser.instances import (
    COMPREHENSIVENESS,
    SUFFICIENCY,
    Instance,
    Thresholded,
)
from unirex.eraser.line_documents import LineDocuments
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
from unirex.eraser.submission import read_submission
from unirex.errors import UserError
from unirex.records import Record


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
