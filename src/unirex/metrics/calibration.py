"""Calibration: is the task model as confident as it is right?

Texts are sorted into equal-width bins by confidence, the probability of the predicted label. Bin i of B holds
confidences in (i/B, (i+1)/B]; a confidence of 0 is in the first.
"""

from __future__ import annotations

from bisect import bisect_left
from math import sqrt
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from unirex.metrics.arrays import Floats, Ints

BINS = 10  # as reliability diagrams are usually drawn
NORMAL_95 = 1.959964  # standard deviations that hold the middle 95 % of a normal distribution


class BinRow(NamedTuple):
    """One bar of a reliability diagram; the means of a bin without texts are NaN."""

    low: float
    high: float
    texts: int
    confidence: float  # mean over the texts of the bin
    accuracy: float


def expected_calibration_error(confidence: ArrayLike, correct: ArrayLike, *, bins: int = BINS) -> float:
    """How far confidence is from accuracy, on average over texts: ECE. Lower is better.

    Σ over bins of (texts in the bin / all texts) · |accuracy - mean confidence| (Guo et al. 2017). NaN for no
    texts at all.

    >>> expected_calibration_error([0.75, 0.75, 0.5], [1, 0, 1])
    0.3333333333333333
    >>> 2 / 3 * abs(1 / 2 - 0.75) + 1 / 3 * abs(1 - 0.5)  # bins (0.7, 0.8] and (0.4, 0.5]
    0.3333333333333333
    """
    filled = Bins(bins)
    filled.add_all(confidence, correct)
    return filled.error


def drawn_calibration_errors(
    confidence: ArrayLike, correct: ArrayLike, times: ArrayLike, *, bins: int = BINS
) -> Floats:
    """`expected_calibration_error` in each of several draws: [D].

    Args:
        confidence: [N].
        correct: [N].
        times: how often each text counts in each draw, [D, N].
        bins: how many there are.

    >>> drawn_calibration_errors([0.75, 0.5], [1, 0], [[1, 1], [2, 0]]).tolist()  # ½·¼ + ½·½, then ¼
    [0.375, 0.25]
    """
    terms = calibration_terms(confidence, correct, bins=bins)
    return calibration_error_of(np.asarray(times, dtype=np.float64) @ terms)


def calibration_terms(confidence: ArrayLike, correct: ArrayLike, *, bins: int = BINS) -> Floats:
    """What each text adds to the totals that the calibration error is computed from: [N, bins + 1].

    Correctness minus confidence in the column of its bin, and 1 in the last, which counts the texts. NaN for
    a text without either.

    >>> calibration_terms([0.25, 0.75], [1, 0], bins=2).tolist()
    [[0.75, 0.0, 1.0], [0.0, -0.75, 1.0]]
    """
    sure, right = np.asarray(confidence, dtype=np.float64), np.asarray(correct, dtype=np.float64)
    terms = np.zeros((len(sure), bins + 1))
    terms[:, -1] = 1
    unknown = np.isnan(sure) | np.isnan(right)
    numbers = bin_numbers(np.where(unknown, 0.0, sure), bins)
    terms[np.arange(len(sure)), numbers] = right - sure
    terms[unknown] = np.nan
    return terms


def calibration_error_of(totals: Floats) -> Floats:
    """`expected_calibration_error` from sums of `calibration_terms`: [..., bins + 1] -> [...].

    >>> calibration_error_of(calibration_terms([0.75, 0.75, 0.5], [1, 0, 1]).sum(axis=0)).item()
    0.3333333333333333
    """
    with np.errstate(invalid="ignore"):  # 0 / 0 where there is no text
        return np.abs(totals[..., :-1]).sum(-1) / totals[..., -1]


def share_interval(share: float, texts: float) -> tuple[float, float]:
    """Wilson's 95 % interval of a share of texts, which holds for few texts and for shares of 0 and 1.

    >>> low, high = share_interval(1.0, 10)
    >>> round(low, 3), round(high, 3)
    (0.722, 1.0)
    """
    square = NORMAL_95**2
    middle = (share + square / (2 * texts)) / (1 + square / texts)
    reach = NORMAL_95 / (1 + square / texts) * sqrt(share * (1 - share) / texts + square / (4 * texts**2))
    return max(0.0, middle - reach), min(1.0, middle + reach)


def bin_numbers(confidence: ArrayLike, bins: int = BINS) -> Ints:
    """Which bin each confidence falls in, counted from 0: the number of inner edges below it.

    >>> bin_numbers([0.0, 0.1, 0.11, 1.0]).tolist()
    [0, 0, 1, 9]
    """
    return np.searchsorted(_edges(bins)[1:-1], np.asarray(confidence, dtype=np.float64), side="left")


class Bins:
    """Reliability bins and calibration error of a stream of texts of any length.

    >>> bins = Bins()
    >>> for confidence, correct in ((0.75, True), (0.75, False), (0.5, True)):
    ...     bins.add(confidence, correct)
    >>> round(bins.error, 6), bins.rows[7]
    (0.333333, BinRow(low=0.7, high=0.8, texts=2, confidence=0.75, accuracy=0.5))
    """

    def __init__(self, number: int = BINS) -> None:
        self.edges = _edges(number)
        self.inner: list[float] = self.edges[1:-1].tolist()
        self.counts, self.hits, self.confidences = np.zeros((3, number))  # sums over the texts of each bin

    def add(self, confidence: float, correct: bool) -> None:
        """Count one more text."""
        _check(confidence)
        number = bisect_left(self.inner, confidence)  # as `bin_numbers`, which is slow for a single text
        self.counts[number] += 1
        self.hits[number] += correct
        self.confidences[number] += confidence

    def merge(self, other: Bins) -> None:
        """Count the texts that other bins of the same number have counted."""
        self.counts += other.counts
        self.hits += other.hits
        self.confidences += other.confidences

    def add_all(self, confidence: ArrayLike, correct: ArrayLike) -> None:
        """Count several texts [N]."""
        sure, right = np.asarray(confidence, dtype=np.float64), np.asarray(correct, dtype=np.float64)
        if sure.ndim != 1 or sure.shape != right.shape:
            raise ValueError(f"confidences of shape {sure.shape} for answers of shape {right.shape}")
        if sure.size:
            _check(float(sure.min()))
            _check(float(sure.max()))
        bins = len(self.counts)
        numbers = bin_numbers(sure, bins)
        self.counts += np.bincount(numbers, minlength=bins)
        self.hits += np.bincount(numbers, right, bins)
        self.confidences += np.bincount(numbers, sure, bins)

    @property
    def error(self) -> float:
        """`expected_calibration_error` of all texts so far. Lower is better; NaN for no texts."""
        total = float(self.counts.sum())
        # A gap is the texts of a bin · (accuracy - mean confidence).
        gaps: list[float] = np.abs(self.hits - self.confidences).tolist()
        return sum(gaps) / total if total else float("nan")

    @property
    def rows(self) -> list[BinRow]:
        """Every bin, lowest confidence first."""
        with np.errstate(invalid="ignore"):  # 0 / 0 in a bin without texts
            confidence, accuracy = self.confidences / self.counts, self.hits / self.counts
        columns = (self.edges[:-1], self.edges[1:], self.counts.astype(np.int64), confidence, accuracy)
        return [BinRow(*row) for row in zip(*(column.tolist() for column in columns), strict=True)]


def _edges(bins: int) -> Floats:
    """The edges of the bins, each the float nearest to i / bins: 0.3 is in the bin that ends at 0.3."""
    if bins < 1:
        raise ValueError(f"{bins} bins; at least one is needed")
    return np.arange(bins + 1) / bins


def _check(confidence: float) -> None:
    # Softmax in float32 may add up to a little more than 1.
    if not 0 <= confidence <= 1 + 1e-6:
        raise ValueError(f"confidence {confidence} is not a probability")
