"""Whether the task model is as sure as it is right.

Texts are sorted into equal-width bins by confidence, the probability of the predicted label. Bin i of B holds
confidences in (i/B, (i+1)/B]; a confidence of 0 is in the first.
"""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

BINS = 10  # as reliability diagrams are usually drawn

Floats = NDArray[np.float64]


class BinRow(NamedTuple):
    """One bar of a reliability diagram; the means of a bin without texts are NaN."""

    low: float
    high: float
    texts: int
    confidence: float  # mean over the texts of the bin
    accuracy: float


def expected_calibration_error(
    confidence: ArrayLike, correct: ArrayLike, *, bins: int = BINS, weights: ArrayLike | None = None
) -> float:
    """How far confidence is from accuracy, on average over texts: ECE. Lower is better.

    Σ over bins of (texts in the bin / all texts) · |accuracy - mean confidence| (Guo et al. 2017). `weights`
    say how often each text counts. NaN for no texts at all.

    >>> expected_calibration_error([0.75, 0.75, 0.5], [1, 0, 1])
    0.3333333333333333
    >>> 2 / 3 * abs(1 / 2 - 0.75) + 1 / 3 * abs(1 - 0.5)  # bins (0.7, 0.8] and (0.4, 0.5]
    0.3333333333333333
    """
    sure, right = _aligned(confidence, correct)
    times = np.ones_like(sure) if weights is None else np.asarray(weights, dtype=np.float64)
    total = times.sum()
    if not total:
        return float("nan")
    number = bin_numbers(sure, bins)
    gap = np.bincount(number, times * (right - sure), minlength=bins)  # count · (accuracy - confidence)
    return float(np.abs(gap).sum() / total)


def bin_numbers(confidence: ArrayLike, bins: int = BINS) -> NDArray[np.int64]:
    """Which bin each confidence falls in, counted from 0.

    >>> bin_numbers([0.0, 0.1, 0.11, 1.0]).tolist()
    [0, 0, 1, 9]
    """
    found = np.searchsorted(_edges(bins), np.asarray(confidence, dtype=np.float64), side="left")
    return np.clip(found - 1, 0, bins - 1)


@dataclass
class Bins:
    """The same, text by text: what a stream of any length comes to.

    >>> bins = Bins()
    >>> for confidence, correct in ((0.75, True), (0.75, False), (0.5, True)):
    ...     bins.add(confidence, correct)
    >>> round(bins.error, 6), bins.rows[7]
    (0.333333, BinRow(low=0.7, high=0.8, texts=2, confidence=0.75, accuracy=0.5))
    """

    number: int = BINS
    counts: list[int] = field(init=False)
    confidences: list[float] = field(init=False)  # sums over the texts of each bin
    hits: list[int] = field(init=False)

    def __post_init__(self) -> None:
        self.edges: list[float] = _edges(self.number).tolist()
        self.counts, self.hits = [0] * self.number, [0] * self.number
        self.confidences = [0.0] * self.number

    def add(self, confidence: float, correct: bool) -> None:
        """One more text."""
        _check(confidence)
        number = min(max(bisect_left(self.edges, confidence) - 1, 0), self.number - 1)
        self.counts[number] += 1
        self.confidences[number] += confidence
        self.hits[number] += bool(correct)

    @property
    def error(self) -> float:
        """The expected calibration error of all texts so far. Lower is better; NaN for no texts."""
        total = sum(self.counts)
        gaps = (abs(hits - sure) for hits, sure in zip(self.hits, self.confidences, strict=True))
        return sum(gaps) / total if total else float("nan")

    @property
    def rows(self) -> list[BinRow]:
        """Every bin, lowest confidence first."""
        return [self._row(number) for number in range(self.number)]

    def _row(self, number: int) -> BinRow:
        count, nothing = self.counts[number], float("nan")
        sure = self.confidences[number] / count if count else nothing
        right = self.hits[number] / count if count else nothing
        return BinRow(self.edges[number], self.edges[number + 1], count, sure, right)


def _edges(bins: int) -> Floats:
    """Where bins meet; i / bins is the nearest number to it, so 0.3 is in the bin that ends at 0.3."""
    if bins < 1:
        raise ValueError(f"{bins} bins; at least one is needed")
    return np.arange(bins + 1) / bins


def _aligned(confidence: ArrayLike, correct: ArrayLike) -> tuple[Floats, Floats]:
    sure, right = np.asarray(confidence, dtype=np.float64), np.asarray(correct, dtype=np.float64)
    if sure.ndim != 1 or sure.shape != right.shape:
        raise ValueError(f"confidences of shape {sure.shape} for answers of shape {right.shape}")
    if sure.size:
        _check(float(sure.min()))
        _check(float(sure.max()))
    return sure, right


def _check(confidence: float) -> None:
    # Softmax in float32 may add up to a little more than 1.
    if not 0 <= confidence <= 1 + 1e-6:
        raise ValueError(f"confidence {confidence} is not a probability")
