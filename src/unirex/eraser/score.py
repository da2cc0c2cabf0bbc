"""The scores of a submission, laid out as the official program lays them out."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from math import nan
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from unirex.eraser.gold import Gold, Key, Place, Truth
from unirex.eraser.metrics import (
    AOPC,
    IOU,
    Classes,
    Ranking,
    aopc,
    classification_report,
    document_ranking,
    drop,
    entropy_drop,
    iou_scores,
    kl_divergence,
    mean,
    mean_ranking,
    rationale_prf,
    token_prf,
)
from unirex.eraser.submission import DocumentRationale, Instance, read_submission
from unirex.eraser.validate import sentence_count
from unirex.errors import UserError
from unirex.metrics.performance import accuracy_of, collapse_of

SIDES = ("comprehensiveness", "sufficiency")

Drops = dict[str, float]  # by side


@dataclass
class PredictedClasses:
    """Counts and sums over the lines as they come; of a line only a few numbers are kept."""

    gold: Gold
    thresholds: Sequence[float] | None
    predicted: dict[str, str] = field(default_factory=dict)  # by annotation
    flips: dict[str, int] = field(default_factory=dict)
    values: dict[str, list[float]] = field(default_factory=dict)  # by metric, one an instance
    curves: list[list[tuple[float, Drops]]] = field(default_factory=list)  # one an instance: size, drops
    lacking: dict[str, None] = field(default_factory=dict)  # annotations without some probability
    notes: list[str] = field(default_factory=list)

    def add(self, one: Instance, *, first: bool) -> None:
        """One more line."""
        if one.classification is None:
            return
        self.predicted[one.annotation_id] = one.classification
        if one.tokens_to_flip is not None:
            self.flips[one.annotation_id] = one.tokens_to_flip
        for side in SIDES:
            for name, value in self._effects(one, side, getattr(one, side)).items():
                self.values.setdefault(name, []).append(value)
        if one.thresholded is not None:
            entries = sorted(one.thresholded, key=lambda entry: entry.threshold)
            self.curves.append(
                [
                    (entry.threshold, {side: self._drop(one, getattr(entry, side)) for side in SIDES})
                    for entry in entries
                ]
            )

    def scores(self) -> dict[str, Any]:
        """By ERASER's names; nothing if no line has a class."""
        if not self.predicted:
            return {}
        if self.lacking:
            self.notes.append(
                f"{len(self.lacking)} lines (first '{next(iter(self.lacking))}') lack the probability of a "
                "class, so means are NaN; the official program stops there"
            )
        counts = self._confusion()
        collapse = None if counts is None else collapse_of(counts)
        if collapse is not None:
            self.notes.append(
                f"warning: {collapse.label!r} is predicted for {100 * collapse.share:.4g} % of the "
                "annotations; a constant classifier's comprehensiveness and sufficiency are near 0 whatever "
                "its rationales are"
            )
        effects = [f"{side}{part}" for part in ("", "_entropy", "_kl") for side in SIDES]
        return {
            "classification_scores": {
                "accuracy": None if counts is None else accuracy_of(counts),
                "prf": None if counts is None else classification_report(counts),
                **{name: mean(self.values[name]) if name in self.values else None for name in effects},
                **self._aopc(),
                "tokens_to_flip": self._fraction(),
            }
        }

    def _confusion(self) -> Counter[tuple[Any, Any]] | None:
        """How often each class met each; None if a class is missing, where the official program stops."""
        annotations = self.gold.annotations
        missing = [name for name in annotations if name not in self.predicted]
        if missing:
            self.notes.append(
                f"{len(missing)} annotations have no predicted class (first '{missing[0]}'), so accuracy is "
                "not known; the official program stops there"
            )
            return None
        strange = sorted({self.predicted[name] for name in annotations} - self.gold.labels)
        if strange:
            self.notes.append(
                f"predicted {strange[0]!r} is no class of the data; the official program stops there"
            )
        return Counter((self.predicted[name], truth.label) for name, truth in annotations.items())

    def _effects(self, one: Instance, side: str, reduced: Classes | None) -> dict[str, float]:
        full = one.classification_scores
        if full is None or reduced is None:
            return {}
        if not full.keys() <= reduced.keys():
            self.lacking[one.annotation_id] = None
            return {f"{side}{part}": nan for part in ("", "_entropy", "_kl")}
        return {
            side: self._drop(one, reduced),
            f"{side}_entropy": entropy_drop(full, reduced),
            f"{side}_kl": kl_divergence(reduced, full),
        }

    def _drop(self, one: Instance, reduced: Classes | None) -> float:
        full, label = one.classification_scores, one.classification or ""
        if full is None or reduced is None or label not in full or label not in reduced:
            self.lacking[one.annotation_id] = None
            return nan
        return drop(full, reduced, label)

    def _aopc(self) -> dict[str, Any]:
        names = [f"{side}_aopc{part}" for side in SIDES for part in ("", "_points")]
        nothing: dict[str, Any] = {"aopc_thresholds": None, **dict.fromkeys(names)}
        if not self.curves:
            return nothing
        occurring = {size for curve in self.curves for size, _ in curve}
        sizes = sorted(occurring if self.thresholds is None else set(self.thresholds))
        chosen = [[(size, drops) for size, drops in curve if size in sizes] for curve in self.curves]
        if any([size for size, _ in curve] != sizes for curve in chosen):
            wanted = ", ".join(f"{size:g}" for size in sizes)
            self.notes.append(
                f"not every line has each of the thresholds {wanted} once, so AOPC is not known; "
                "the official program stops there"
            )
            return nothing
        found: dict[str, Any] = {"aopc_thresholds": sizes}
        for side in SIDES:
            area, points = aopc([[drops[side] for _, drops in curve] for curve in chosen])
            found |= {f"{side}_aopc": area, f"{side}_aopc_points": points}
        return found

    def _fraction(self) -> float | None:
        """The mean share of tokens that it takes to change the class."""
        annotations: Mapping[str, Truth] = self.gold.annotations
        known = [(self.flips[name], truth) for name, truth in annotations.items() if name in self.flips]
        return mean(flips / self._tokens(truth) for flips, truth in known) if known else None

    def _tokens(self, truth: Truth) -> int:
        # Of the documents with evidence; those of an annotation without any, where ERASER divides by 0.
        docids = {docid for docid, _, _ in truth.tokens} or set(truth.docids)
        return sum(len(self.gold.documents[docid]) for docid in docids)


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
