"""Plausibility: is the rationale what a person would mark?

Each function scores one text, whose tokens have gold marks (0 or 1). Higher is better for every one of them.
A text without annotation is not a text without marks: leave it out.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from unirex.metrics.arrays import Bools, Floats, Ints
from unirex.metrics.performance import f1_from_counts, f1_from_rates


def auprc(scores: ArrayLike, gold: ArrayLike) -> float:
    """How high the marked tokens rank, whatever the threshold: area under precision and recall.

    The trapezoid area of scikit-learn's `precision_recall_curve`, about ten times faster on a sentence.
    NaN if no token is marked, as recall is then undefined.

    >>> auprc([3.0, 2.0, 1.0], [1, 0, 1])  # (recall, precision): (0, 1) (½, 1) (½, ½) (1, ⅔)
    0.7916666666666666
    >>> 1 * 0.5 + (1 / 2 + 2 / 3) / 2 * 0.5
    0.7916666666666666
    """
    values, marked = _aligned(scores, gold)
    if not marked.any():
        return float("nan")
    recall, precision = _curve(values, marked)
    return float(np.sum(np.diff(recall) * (precision[1:] + precision[:-1]) / 2))


def average_precision(scores: ArrayLike, gold: ArrayLike) -> float:
    """How high the marked tokens rank, whatever the threshold: the mean precision at each marked token.

    The sum over thresholds of precision × gain in recall, as scikit-learn's `average_precision_score`; unlike
    `auprc` it draws no lines between thresholds. NaN if no token is marked.

    >>> average_precision([3.0, 2.0, 1.0], [1, 0, 1])  # precision 1 at the first mark, ⅔ at the second
    0.8333333333333333
    """
    values, marked = _aligned(scores, gold)
    if not marked.any():
        return float("nan")
    recall, precision = _curve(values, marked)
    return float(np.sum(np.diff(recall) * precision[1:]))


def token_f1(selected: ArrayLike, gold: ArrayLike) -> float:
    """How well the selected tokens are the marked ones: ERASER's F1, of the selected class alone.

    0 when nothing is selected or nothing is marked.

    >>> token_f1([1, 1, 0, 0], [1, 0, 1, 1])  # 1 hit, 2 selected, 3 marked: 2·1/(2+3)
    0.4
    """
    chosen, marked = _hard(selected, gold)
    return _f1(chosen, marked)


def token_precision(selected: ArrayLike, gold: ArrayLike) -> float:
    """The share of the selected tokens that are marked: hits / selected; 0 when nothing is selected.

    >>> token_precision([1, 1, 0, 0], [1, 0, 1, 1])  # 1 of 2
    0.5
    """
    chosen, marked = _hard(selected, gold)
    return _ratio(int((chosen & marked).sum()), int(chosen.sum()))


def token_recall(selected: ArrayLike, gold: ArrayLike) -> float:
    """The share of the marked tokens that are selected: hits / marked; 0 when nothing is marked.

    >>> token_recall([1, 1, 0, 0], [1, 0, 1, 0])  # 1 of 2
    0.5
    """
    chosen, marked = _hard(selected, gold)
    return _ratio(int((chosen & marked).sum()), int(marked.sum()))


def token_f1_gold_size(scores: ArrayLike, gold: ArrayLike) -> float:
    """How many of the marked tokens are the highest-scored ones: token F1 of as many tokens as are marked.

    No threshold and no budget to choose, so it compares methods whose scores mean different things. Of tied
    tokens the leftmost is taken. NaN if no token is marked.

    >>> token_f1_gold_size([0.9, 0.1, 0.5, 0.5], [1, 0, 0, 1])  # takes tokens 0 and 2: 2·1/(2+2)
    0.5
    """
    values, marked = _aligned(scores, gold)
    size = int(marked.sum())
    if not size:
        return float("nan")
    highest = np.argsort(-values, kind="stable")[:size]
    return int(marked[highest].sum()) / size  # as many selected as marked: precision, recall and F1 are one


def iou_f1(
    selected: ArrayLike, gold: ArrayLike, *, threshold: float = 0.5, parts: ArrayLike | None = None
) -> float:
    """How well the selected phrases are the marked ones, give or take a few tokens: ERASER's IOU F1.

    A phrase is a maximal run of tokens; it ends where `parts`, a number for each token, changes: with its
    segment, or before a gap. Two phrases match if they share at least `threshold` of the tokens
    that either has (intersection over union). F1 of precision, the share of selected phrases that match a
    marked one, and recall, the share of marked phrases that match a selected one. 0 if nothing matches.

    ERASER averages precision and recall over all texts first and gives F1 of the two; this is F1 of one text.
    A threshold of 0.5 or more matches each phrase to one at most; below that ERASER's recall can exceed 1,
    this one cannot.

    >>> iou_f1([1, 1, 0, 0, 1], [1, 1, 1, 0, 0])  # 2/3 matches, the other does not: P = 1/2, R = 1
    0.6666666666666666
    >>> iou_f1([1, 0], [1, 1], parts=[0, 1])  # two phrases are marked, one is found: P = 1, R = 1/2
    0.6666666666666666
    """
    chosen, marked = _hard(selected, gold)
    matches = _overlap(runs(chosen, parts), runs(marked, parts)) >= threshold  # [selected, marked]
    precision = _ratio(int(matches.any(axis=1).sum()), matches.shape[0])
    recall = _ratio(int(matches.any(axis=0).sum()), matches.shape[1])
    return f1_from_rates(precision, recall)


def token_f1_macro2(selected: ArrayLike, gold: ArrayLike) -> float:
    """How well marked and unmarked tokens are separated: the paper's TF1, the mean F1 of both classes.

    The paper selects by `scores > 0`. A class that neither side has does not count (scikit-learn's rule).

    >>> token_f1_macro2([1, 1, 0, 0], [1, 0, 1, 1])  # class 1: 2·1/(2+3) = .4; class 0: 2·0/(2+1) = 0
    0.2
    """
    chosen, marked = _hard(selected, gold)
    classes = [(chosen, marked), (~chosen, ~marked)]
    scores = [_f1(*sides) for sides in classes if sides[0].any() or sides[1].any()]
    return sum(scores) / len(scores) if scores else float("nan")


def _curve(values: Floats, marked: Bools) -> tuple[Floats, Floats]:
    """Recall and precision of the highest-scored tokens, from none to all; tied ones come together."""
    order = np.argsort(-values, kind="stable")
    ranked = values[order]
    last_of_tie = np.append(ranked[1:] != ranked[:-1], True)
    hits = np.cumsum(marked[order])[last_of_tie]
    precision = np.append(1.0, hits / (np.flatnonzero(last_of_tie) + 1))
    return np.append(0.0, hits / hits[-1]), precision


def runs(marks: Bools, parts: ArrayLike | None = None) -> Ints:
    """Where each maximal run of marked tokens starts and ends, within parts: [runs, 2], end-exclusive.

    >>> runs(np.array([1, 1, 0, 1], dtype=bool)).tolist()
    [[0, 2], [3, 4]]
    >>> runs(np.array([1, 1, 0, 1], dtype=bool), [0, 1, 1, 1]).tolist()
    [[0, 1], [1, 2], [3, 4]]
    """
    inside = marks.astype(np.int64) if parts is None else np.where(marks, np.asarray(parts) + 1, 0)
    edges = np.flatnonzero(np.diff(inside, prepend=0, append=0))
    starts = edges[:-1][marks[edges[:-1]]] if len(edges) else edges
    ends = edges[1:][marks[edges[:-1]]] if len(edges) else edges
    return np.stack([starts, ends], axis=1)


def _overlap(ours: Ints, theirs: Ints) -> Floats:
    """Intersection over union of every run with every other: [ours, theirs]."""
    start, end = ours[:, None, 0], ours[:, None, 1]
    other_start, other_end = theirs[None, :, 0], theirs[None, :, 1]
    shared = np.maximum(0, np.minimum(end, other_end) - np.maximum(start, other_start))
    return shared / (end - start + other_end - other_start - shared)


def _ratio(part: int, whole: int) -> float:
    return part / whole if whole else 0.0


def _f1(chosen: Bools, marked: Bools) -> float:
    return f1_from_counts(int((chosen & marked).sum()), int(chosen.sum()), int(marked.sum()))


def _aligned(scores: ArrayLike, gold: ArrayLike) -> tuple[Floats, Bools]:
    """One score and one mark per token, as arrays."""
    values, marked = np.asarray(scores, dtype=np.float64), np.asarray(gold)
    if values.ndim != 1 or values.shape != marked.shape:
        raise ValueError(f"scores of shape {values.shape} for gold marks of shape {marked.shape}")
    if np.isnan(values).any():
        raise ValueError("a token score is NaN")
    if not _is_binary(marked):
        raise ValueError("gold marks must be 0 or 1")
    return values, marked.astype(bool)


def _hard(selected: ArrayLike, gold: ArrayLike) -> tuple[Bools, Bools]:
    """A yes-or-no selection and the gold marks; scores are refused, as they need a threshold first."""
    values, marked = _aligned(selected, gold)
    if not _is_binary(np.asarray(selected)):
        raise ValueError("a selection must be 0 or 1 per token; compare scores with a threshold first")
    return values.astype(bool), marked


def _is_binary(values: NDArray[Any]) -> bool:
    # `isin` takes ten times as long as a metric, and a stream of texts has millions of tokens.
    return values.dtype == bool or bool(np.isin(values, (0, 1)).all())
