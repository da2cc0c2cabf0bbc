"""The scores of a submission, in the layout of the official program."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from math import nan
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from unirex.eraser import metrics
from unirex.eraser.gold import GoldData, sentence_count
from unirex.eraser.submission import ClassScores, DocumentRationale, Instance, read_submission
from unirex.errors import UserError
from unirex.metrics.performance import accuracy_of, collapse_of

SIDES = ("comprehensiveness", "sufficiency")

DocumentKey = tuple[str, str]  # annotation id, docid
Curve = list[tuple[float, dict[str, float]]]  # threshold, drop by side


def score(
    submission: str | Path | Iterable[Instance],
    gold: GoldData,
    *,
    iou: Sequence[float] = metrics.IOU_THRESHOLDS,
    thresholds: Sequence[float] | None = metrics.AOPC_THRESHOLDS,
) -> dict[str, Any]:
    """All metrics that the lines allow, by ERASER's definitions and under ERASER's names.

    Two entries are added: `tokens_to_flip`, which the official program computes and drops, and `notes`, which
    say where that program would have stopped or left something out. Run `validate` first: only what the
    numbers need is checked here.

    Args:
        submission: a file, or the instances.
        gold: the data to score against.
        iou: thresholds of `iou_scores`.
        thresholds: sizes of rationale for AOPC; None: all that occur.
    """
    instances = read_submission(Path(submission)) if isinstance(submission, str | Path) else submission
    parts = (
        _HardRationales(gold, iou),
        _SoftRationales(gold),
        _SoftRationales(gold, sentences=True),
        _Classification(gold, thresholds),
    )
    for instance in instances:
        for part in parts:
            part.add(instance)
    scores: dict[str, Any] = {}
    for part in parts:
        scores |= part.scores()
    return scores | {"notes": [note for part in parts for note in part.notes]}


@dataclass
class _HardRationales:
    """Collects the hard spans and scores them."""

    gold: GoldData
    iou: Sequence[float]
    lines: int = 0
    given: bool = False
    predicted: dict[DocumentKey, set[tuple[int, int]]] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)

    def add(self, line: Instance) -> None:
        """Count one more line."""
        for entry in line.rationales:
            self.given = self.given or entry.hard is not None
            spans = self.predicted.setdefault((line.annotation_id, entry.docid), set())
            spans.update((span.start, span.end) for span in entry.hard or ())
        if self.lines == 0 and not (line.rationales and line.rationales[0].hard):
            self.notes.append(
                "the first line selects nothing in its first document, so the official program leaves out "
                "all metrics of hard rationales; put a line that selects something first"
            )
        self.lines += 1

    def scores(self) -> dict[str, Any]:
        """Scores under ERASER's names; empty if no line has hard rationales."""
        if not self.given:
            self.notes.clear()
            return {}
        truth: dict[DocumentKey, set[tuple[int, int]]] = {}
        for name, annotation in self.gold.annotations.items():
            for docid, start, end in annotation.tokens:
                truth.setdefault((name, docid), set()).add((start, end))
        if not any(self.predicted.values()):
            self.notes.append("no line selects anything: precision is NaN where the official program stops")
        return {
            "iou_scores": metrics.iou_scores(truth, self.predicted, self.iou),
            "rationale_prf": metrics.rationale_prf(truth, self.predicted),
            "token_prf": metrics.token_prf(truth, self.predicted),
        }


@dataclass
class _SoftRationales:
    """Ranks the tokens, or the sentences, of each document by their soft scores."""

    gold: GoldData
    sentences: bool = False
    rankings: dict[DocumentKey, metrics.Ranking] = field(default_factory=dict)
    unmarked: int = 0
    notes: list[str] = field(default_factory=list)

    @property
    def name(self) -> str:
        """The scored field of the file."""
        return "soft_sentence_predictions" if self.sentences else "soft_rationale_predictions"

    def add(self, line: Instance) -> None:
        """Count one more line."""
        for entry in line.rationales:
            values = entry.sentences if self.sentences else entry.soft
            if values is None:
                continue
            marks = self._marks(line, entry)
            if len(marks) != len(values):
                raise UserError(
                    f"{line.place or line.annotation_id}: {self.name} has {len(values)} numbers, but "
                    f"document '{entry.docid}' needs {len(marks)}; `unirex eraser check` finds all faults"
                )
            self.unmarked += not marks.any()
            self.rankings[line.annotation_id, entry.docid] = metrics.document_ranking(values, marks)

    def scores(self) -> dict[str, Any]:
        """Scores under ERASER's names; empty if no line has soft rationales."""
        if not self.rankings:
            return {}
        if self.unmarked:
            self.notes.append(
                f"{self.name}: {self.unmarked} of {len(self.rankings)} documents have nothing marked; each "
                "counts as 0.5 in auprc, as with the official program and a recent scikit-learn"
            )
        name = "sentence_soft_metrics" if self.sentences else "token_soft_metrics"
        return {name: metrics.mean_ranking(self.rankings.values())}

    def _marks(self, line: Instance, entry: DocumentRationale) -> NDArray[np.bool_]:
        """The gold marks; none in a document that the annotation does not name."""
        document = self.gold.documents[entry.docid]
        marks = np.zeros(sentence_count(document) if self.sentences else len(document), dtype=bool)
        truth = self.gold.annotations.get(line.annotation_id)
        if truth is None:
            return marks
        for docid, start, end in truth.sentences if self.sentences else truth.tokens:
            if docid == entry.docid:
                if end > len(marks):
                    raise UserError(f"{truth.place}: evidence to {end}, but '{docid}' has only {len(marks)}")
                marks[start:end] = True
        return marks


@dataclass
class _Classification:
    """Counts classes and their drops in probability; only a few numbers per line are kept."""

    gold: GoldData
    thresholds: Sequence[float] | None
    predicted: dict[str, str] = field(default_factory=dict)  # by annotation
    flips: dict[str, int] = field(default_factory=dict)  # by annotation
    effects: dict[str, list[float]] = field(default_factory=dict)  # by metric: one per line
    curves: list[Curve] = field(default_factory=list)  # one per line
    lacking: dict[str, None] = field(default_factory=dict)  # annotations without some probability
    notes: list[str] = field(default_factory=list)

    def add(self, line: Instance) -> None:
        """Count one more line."""
        if line.classification is None:
            return
        self.predicted[line.annotation_id] = line.classification
        if line.tokens_to_flip is not None:
            self.flips[line.annotation_id] = line.tokens_to_flip
        for side in SIDES:
            for name, value in self._effects(line, side).items():
                self.effects.setdefault(name, []).append(value)
        if line.thresholded is not None:
            curve: Curve = []
            for entry in sorted(line.thresholded, key=lambda entry: entry.threshold):
                drops = {side: self._drop(line, getattr(entry, side)) for side in SIDES}
                curve.append((entry.threshold, drops))
            self.curves.append(curve)

    def _effects(self, line: Instance, side: str) -> dict[str, float]:
        full, reduced = line.classification_scores, getattr(line, side)
        if full is None or reduced is None:
            return {}
        if not full.keys() <= reduced.keys():
            self.lacking[line.annotation_id] = None
            return {side: nan, f"{side}_entropy": nan, f"{side}_kl": nan}
        return {
            side: self._drop(line, reduced),
            f"{side}_entropy": metrics.entropy_drop(full, reduced),
            f"{side}_kl": metrics.kl_divergence(reduced, full),
        }

    def _drop(self, line: Instance, reduced: ClassScores | None) -> float:
        full, label = line.classification_scores, line.classification or ""
        if full is None or reduced is None or label not in full or label not in reduced:
            self.lacking[line.annotation_id] = None
            return nan
        return metrics.drop(full, reduced, label)

    def scores(self) -> dict[str, Any]:
        """Scores under ERASER's names; empty if no line has a class."""
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
        effects = {f"{side}{suffix}": None for suffix in ("", "_entropy", "_kl") for side in SIDES}
        means = {name: metrics.mean(values) for name, values in self.effects.items()}
        return {
            "classification_scores": {
                "accuracy": None if counts is None else accuracy_of(counts),
                "prf": None if counts is None else metrics.classification_report(counts),
                **(effects | means),
                **self._aopc(),
                "tokens_to_flip": self._flip_share(),
            }
        }

    def _confusion(self) -> Counter[tuple[Any, Any]] | None:
        """Counts of (predicted, gold) classes; None if a line is missing."""
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

    def _aopc(self) -> dict[str, Any]:
        scores: dict[str, Any] = {"aopc_thresholds": None}
        scores |= {f"{side}_aopc{suffix}": None for side in SIDES for suffix in ("", "_points")}
        if not self.curves:
            return scores
        occurring = {threshold for curve in self.curves for threshold, _ in curve}
        thresholds = sorted(occurring if self.thresholds is None else set(self.thresholds))
        chosen = [[point for point in curve if point[0] in thresholds] for curve in self.curves]
        if any([threshold for threshold, _ in curve] != thresholds for curve in chosen):
            listed = ", ".join(f"{threshold:g}" for threshold in thresholds)
            self.notes.append(
                f"not every line has each of the thresholds {listed} once, so AOPC is not known; "
                "the official program stops there"
            )
            return scores
        scores["aopc_thresholds"] = thresholds
        for side in SIDES:
            area, points = metrics.aopc([[drops[side] for _, drops in curve] for curve in chosen])
            scores |= {f"{side}_aopc": area, f"{side}_aopc_points": points}
        return scores

    def _flip_share(self) -> float | None:
        """The mean share of tokens that it takes to change the class."""
        shares = []
        for name, truth in self.gold.annotations.items():
            if name in self.flips:
                # ERASER counts the documents with evidence, and divides by 0 without any; we count all then.
                docids = {docid for docid, _, _ in truth.tokens} or set(truth.docids)
                shares.append(self.flips[name] / sum(len(self.gold.documents[docid]) for docid in docids))
        return metrics.mean(shares) if shares else None
