"""What the classes and probabilities of a submission come to."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from math import nan
from typing import Any

from unirex.eraser.classification import (
    Classes,
    aopc,
    classification_report,
    drop,
    entropy_drop,
    kl_divergence,
    mean,
)
from unirex.eraser.gold import Gold, Truth
from unirex.eraser.instances import Instance
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
