"""The scores of a submission, laid out as ERASER's own program lays them out."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from unirex.eraser.classification import AOPC
from unirex.eraser.gold import Gold, Key, Place
from unirex.eraser.instances import DocumentRationale, Instance
from unirex.eraser.predicted_classes import PredictedClasses
from unirex.eraser.ranking import Ranking, document_ranking, mean_ranking
from unirex.eraser.spans import IOU, iou_scores, rationale_prf, token_prf
from unirex.eraser.strict import sentence_count
from unirex.eraser.submission import read_submission
from unirex.errors import UserError


def score(
    submission: str | Path | Iterable[Instance],
    gold: Gold,
    *,
    iou: Sequence[float] = IOU,
    thresholds: Sequence[float] | None = AOPC,
) -> dict[str, Any]:
    """All metrics that the lines allow, by ERASER's definitions and under ERASER's names.

    Two things are added: `tokens_to_flip`, which the official program computes and drops, and `notes`, which
    tell where that program would have stopped or left something out. `validate` comes first: nothing is
    checked here that the numbers do not need.

    Args:
        submission: a file, or the instances.
        gold: what it is held against.
        iou: thresholds of `iou_scores`.
        thresholds: sizes of rationale for AOPC; None: all that occur.
    """
    instances = read_submission(Path(submission)) if isinstance(submission, str | Path) else submission
    parts = (_Hard(gold, iou), _Soft(gold), _Soft(gold, sentences=True), PredictedClasses(gold, thresholds))
    for number, instance in enumerate(instances):
        for part in parts:
            part.add(instance, first=not number)
    found: dict[str, Any] = {}
    for part in parts:
        found |= part.scores()
    return found | {"notes": [note for part in parts for note in part.notes]}


@dataclass
class _Hard:
    """What the hard rationales come to."""

    gold: Gold
    iou: Sequence[float]
    predicted: dict[Key, set[tuple[int, int]]] = field(default_factory=dict)
    given: bool = False
    notes: list[str] = field(default_factory=list)

    def add(self, one: Instance, *, first: bool) -> None:
        """One more line."""
        for entry in one.rationales:
            self.given = self.given or entry.hard is not None
            spans = self.predicted.setdefault((one.annotation_id, entry.docid), set())
            spans.update((span.start, span.end) for span in entry.hard or ())
        if first and not (one.rationales and one.rationales[0].hard):
            self.notes.append(
                "the first line selects nothing in its first document, so the official program leaves out "
                "all metrics of hard rationales; put a line that selects something first"
            )

    def scores(self) -> dict[str, Any]:
        """By ERASER's names; nothing if no line has hard rationales."""
        if not self.given:
            self.notes.clear()
            return {}
        truth: dict[Key, set[tuple[int, int]]] = {}
        for name, one in self.gold.annotations.items():
            for docid, start, end in one.tokens:
                truth.setdefault((name, docid), set()).add((start, end))
        if not any(self.predicted.values()):
            self.notes.append("no line selects anything: precision is NaN where the official program stops")
        return {
            "iou_scores": iou_scores(truth, self.predicted, self.iou),
            "rationale_prf": rationale_prf(truth, self.predicted),
            "token_prf": token_prf(truth, self.predicted),
        }


@dataclass
class _Soft:
    """What the soft rationales come to, over tokens or over sentences."""

    gold: Gold
    sentences: bool = False
    rankings: dict[Key, Ranking] = field(default_factory=dict)
    unmarked: int = 0
    notes: list[str] = field(default_factory=list)

    @property
    def name(self) -> str:
        """What is scored, in the words of the file."""
        return "soft_sentence_predictions" if self.sentences else "soft_rationale_predictions"

    def add(self, one: Instance, *, first: bool) -> None:
        """One more line."""
        for entry in one.rationales:
            values = entry.sentences if self.sentences else entry.soft
            if values is None:
                continue
            marks = self._marks(one, entry)
            if len(marks) != len(values):
                raise UserError(
                    f"{one.place or one.annotation_id}: {self.name} has {len(values)} numbers, but document "
                    f"'{entry.docid}' needs {len(marks)}; `unirex eraser check` finds all faults"
                )
            self.unmarked += not marks.any()
            self.rankings[one.annotation_id, entry.docid] = document_ranking(values, marks)

    def scores(self) -> dict[str, Any]:
        """By ERASER's names; nothing if no line has soft rationales."""
        if not self.rankings:
            return {}
        if self.unmarked:
            self.notes.append(
                f"{self.name}: {self.unmarked} of {len(self.rankings)} documents have nothing marked; each "
                "counts as 0.5 in auprc, as with the official program and a recent scikit-learn"
            )
        name = "sentence_soft_metrics" if self.sentences else "token_soft_metrics"
        return {name: mean_ranking(self.rankings.values())}

    def _marks(self, one: Instance, entry: DocumentRationale) -> NDArray[np.bool_]:
        """What people marked; nothing in a document the annotation does not know of."""
        document = self.gold.documents[entry.docid]
        marks = np.zeros(sentence_count(document) if self.sentences else len(document), dtype=bool)
        truth = self.gold.annotations.get(one.annotation_id)
        places: Iterable[Place] = () if truth is None else truth.sentences if self.sentences else truth.tokens
        for docid, start, end in places:
            if docid == entry.docid:
                if truth is not None and end > len(marks):
                    raise UserError(f"{truth.place}: evidence to {end}, but '{docid}' has only {len(marks)}")
                marks[start:end] = True
        return marks
