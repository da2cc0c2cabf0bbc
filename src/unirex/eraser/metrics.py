"""The metrics of ERASER: hard rationales, soft rationales, and classes."""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable, Iterable, Mapping, Sequence, Set
from math import fsum, inf, isnan, log, nan
from typing import Any, TypeVar

import numpy as np
from numpy.typing import ArrayLike

from unirex.metrics import plausibility
from unirex.metrics.performance import Confusion, accuracy_of, class_report_of

Spans = Mapping[Any, Collection[tuple[int, int]]]  # by (annotation, document); end-exclusive
Prf = dict[str, float]  # p, r, f1

IOU = (0.5,)  # thresholds ERASER reports
NAN = float("nan")

Items = TypeVar("Items", bound=Hashable)


def token_prf(truth: Spans, predicted: Spans) -> dict[str, Prf]:
    """How well the selected tokens are the marked ones.

    `instance_micro` counts the tokens of all documents together. `instance_macro` is the mean over the
    documents that have tokens on either side, of F1 too; what a document cannot say counts as 0.

    >>> found = token_prf({"a": [(0, 4)], "b": [(0, 1)]}, {"a": [(2, 4)]})
    >>> found["instance_micro"]  # 2 hits, 2 selected, 5 marked: P 2/2, R 2/5, F1 2·2/(2+5)
    {'p': 1.0, 'r': 0.4, 'f1': 0.5714285714285715}
    >>> found["instance_macro"]  # a: P 1, R 1/2, F1 2/3; b: 0, 0, 0
    {'p': 0.5, 'r': 0.25, 'f1': 0.3333333333333333}
    """
    return _prf(_each(truth, _tokens), _each(predicted, _tokens))


def rationale_prf(truth: Spans, predicted: Spans) -> dict[str, Prf]:
    """How well the selected spans are the marked ones: a span counts only if both its ends are right.

    Averaged as `token_prf`.

    >>> rationale_prf({"a": [(0, 2), (5, 6)]}, {"a": [(0, 2), (5, 7)]})["instance_micro"]
    {'p': 0.5, 'r': 0.5, 'f1': 0.5}
    """
    return _prf(_each(truth, set), _each(predicted, set))


def iou_scores(truth: Spans, predicted: Spans, thresholds: Sequence[float] = IOU) -> list[dict[str, Any]]:
    """How well the selected spans cover marked ones: hits overlap by the threshold, |both| / |either|.

    A selected span is compared with the marked span it overlaps most. Hits are counted on the side of the
    selected spans, so several of them may hit one marked span, and recall can exceed 1. `micro` counts over
    all documents; `macro` averages recall over documents with marks and precision over documents with
    selections, and its F1 is that of the two averages, not the average F1.

    >>> iou_scores({"a": [(0, 4)], "b": [(0, 3)]}, {"a": [(0, 2), (2, 4), (7, 9)]})[0]["macro"]
    {'p': 0.6666666666666666, 'r': 1.0, 'f1': 0.8}
    """
    wanted, chosen = _each(truth, set), _each(predicted, set)
    best = {key: [best_overlap(span, wanted.get(key, ())) for span in spans] for key, spans in chosen.items()}
    return [_iou(wanted, best, threshold) for threshold in thresholds]


def best_overlap(span: tuple[int, int], others: Iterable[tuple[int, int]]) -> float:
    """The largest intersection over union of a span with any of the others; 0 if there are none.

    >>> best_overlap((0, 4), [(2, 6), (9, 10)])  # tokens 2 and 3 of the tokens 0 to 5
    0.3333333333333333
    """
    return max((_overlap(span, other) for other in others), default=0.0)


def _overlap(one: tuple[int, int], other: tuple[int, int]) -> float:
    shared = max(0, min(one[1], other[1]) - max(one[0], other[0]))
    either = max(0, one[1] - one[0]) + max(0, other[1] - other[0]) - shared
    return shared / either if either else 0.0


def _iou(
    truth: Mapping[Hashable, Set[Any]], best: Mapping[Hashable, list[float]], threshold: float
) -> dict[str, Any]:
    hits = {key: sum(overlap >= threshold for overlap in overlaps) for key, overlaps in best.items()}
    total = sum(hits.values())
    precisions = [hits[key] / len(overlaps) for key, overlaps in best.items()]
    recalls = [hits.get(key, 0) / len(spans) for key, spans in truth.items()]
    return {
        "threshold": threshold,
        "micro": _with_f1(
            _share(total, sum(map(len, best.values()))), _share(total, sum(map(len, truth.values())))
        ),
        "macro": _with_f1(_mean(precisions, 0.0), _mean(recalls, 0.0)),
    }


def _prf(truth: Mapping[Hashable, Set[Any]], predicted: Mapping[Hashable, Set[Any]]) -> dict[str, Prf]:
    keys, nothing = list(dict.fromkeys((*truth, *predicted))), frozenset[Any]()
    sizes = [(truth.get(key, nothing), predicted.get(key, nothing)) for key in keys]
    counts = [(len(wanted & chosen), len(chosen), len(wanted)) for wanted, chosen in sizes]
    hits, selected, marked = (sum(column) for column in zip(*counts, strict=True)) if counts else (0, 0, 0)
    each = [_with_f1(_share(hit, size), _share(hit, gold)) for hit, size, gold in counts]
    micro = _with_f1(hits / selected if selected else NAN, hits / marked if marked else NAN)
    return {
        "instance_micro": micro,
        "instance_macro": {name: _mean([one[name] for one in each], NAN) for name in ("p", "r", "f1")},
    }


def _with_f1(precision: float, recall: float) -> Prf:
    if precision == 0 or recall == 0:
        return {"p": precision, "r": recall, "f1": 0.0}
    return {"p": precision, "r": recall, "f1": 2 * precision * recall / (precision + recall)}


def _share(part: int, whole: int) -> float:
    return part / whole if whole else 0.0


def _mean(values: Sequence[float], empty: float) -> float:
    return sum(values) / len(values) if values else empty


def _each(spans: Spans, make: Callable[[Any], set[Items]]) -> dict[Hashable, set[Items]]:
    """What each document has; documents that have nothing do not count."""
    made = {key: make(some) for key, some in spans.items()}
    return {key: some for key, some in made.items() if some}


def _tokens(spans: Iterable[tuple[int, int]]) -> set[int]:
    return {token for start, end in spans for token in range(start, end)}


NOTHING_MARKED = 0.5  # what scikit-learn's curve comes to: from (recall 0, precision 1) straight to (1, 0)

Ranking = dict[str, float]


def document_ranking(scores: ArrayLike, gold: ArrayLike) -> Ranking:
    """The three metrics of one document; NaN for what is not defined there.

    `auprc` is the trapezoid area under precision and recall. ERASER takes that of a document without marks
    from scikit-learn, where it is 0.5 whatever the scores. Average precision and ROC AUC are left out where
    all tokens are marked, or none.

    >>> document_ranking([0.9, 0.8, 0.1], [1, 0, 1])
    {'auprc': 0.7916666666666666, 'average_precision': 0.8333333333333333, 'roc_auc_score': 0.5}
    >>> document_ranking([0.9, 0.8, 0.1], [0, 0, 0])
    {'auprc': 0.5, 'average_precision': nan, 'roc_auc_score': nan}
    """
    marks = np.asarray(gold, dtype=bool)
    if not marks.any():
        return {"auprc": NOTHING_MARKED, "average_precision": float("nan"), "roc_auc_score": float("nan")}
    whole = bool(marks.all())
    return {
        "auprc": plausibility.auprc(scores, marks),
        "average_precision": float("nan") if whole else plausibility.average_precision(scores, marks),
        "roc_auc_score": roc_auc(scores, marks),
    }


def mean_ranking(documents: Iterable[Ranking]) -> Ranking:
    """The mean of each metric over the documents that have it; NaN if none has.

    >>> one, none = document_ranking([2, 1], [1, 0]), document_ranking([2, 1], [0, 0])
    >>> mean_ranking([one, none])  # (1 + 0.5) / 2, and 1 / 1 twice
    {'auprc': 0.75, 'average_precision': 1.0, 'roc_auc_score': 1.0}
    """
    names, found = ("auprc", "average_precision", "roc_auc_score"), list(documents)
    known = {name: [one[name] for one in found if not isnan(one[name])] for name in names}
    return {name: fsum(values) / len(values) if values else float("nan") for name, values in known.items()}


def roc_auc(scores: ArrayLike, gold: ArrayLike) -> float:
    """How likely a marked token is scored above an unmarked one, ties counting half. NaN if all are the same.

    The area under the ROC curve, from the ranks of the marked tokens (Mann and Whitney's U).

    >>> roc_auc([0.9, 0.8, 0.8, 0.1], [1, 0, 1, 0])  # pairs: above, above, tie, above: 3.5 of 4
    0.875
    """
    values, marks = np.asarray(scores, dtype=np.float64), np.asarray(gold, dtype=bool)
    marked = int(marks.sum())
    pairs = marked * (len(marks) - marked)
    if not pairs:
        return float("nan")
    _, numbers, counts = np.unique(values, return_inverse=True, return_counts=True)
    ranks = np.cumsum(counts) - (counts - 1) / 2  # of equal scores, the middle of theirs
    return float((ranks[numbers][marks].sum() - marked * (marked + 1) / 2) / pairs)


Classes = Mapping[str, float]
Report = dict[str, Any]  # as scikit-learn's classification_report

AOPC = (0.01, 0.05, 0.1, 0.2, 0.5)  # shares of the tokens ERASER reports


def classification_report(counts: Confusion) -> Report:
    """Precision, recall and F1 of every class, and their averages (higher is better).

    Laid out as scikit-learn's `classification_report(output_dict=True)`.

    >>> report = classification_report({("a", "a"): 1, ("a", "b"): 1, ("b", "b"): 1})
    >>> report["b"], report["accuracy"]
    ({'precision': 1.0, 'recall': 0.5, 'f1-score': 0.6666666666666666, 'support': 2}, 0.6666666666666666)
    """
    rows: dict[str, dict[str, float]] = {
        str(label): {
            "precision": row.precision,
            "recall": row.recall,
            "f1-score": row.f1,
            "support": row.support,
        }
        for label, row in class_report_of(counts).items()
    }
    supports = [row["support"] for row in rows.values()]
    return {
        **rows,
        "accuracy": accuracy_of(counts),
        "macro avg": _average(rows.values(), [1.0] * len(rows), sum(supports)),
        "weighted avg": _average(rows.values(), supports, sum(supports)),
    }


def drop(full: Classes, reduced: Classes, label: str) -> float:
    """How much the predicted class loses: p(full) - p(reduced).

    Higher is better for comprehensiveness, lower for sufficiency.

    >>> drop({"a": 0.75, "b": 0.25}, {"a": 0.5, "b": 0.5}, "a")
    0.25
    """
    return full[label] - reduced[label]


def entropy_drop(full: Classes, reduced: Classes) -> float:
    """How much surer the classifier is of the reduced text: H(full) - H(reduced), in nats.

    >>> round(entropy_drop({"a": 0.5, "b": 0.5}, {"a": 1.0, "b": 0.0}), 6)  # ln 2 - 0
    0.693147
    """
    return entropy(full) - entropy(reduced)


def entropy(scores: Classes) -> float:
    """How unsure the classifier is, -Σ p ln p, of the scores divided by their sum; NaN if that is 0.

    >>> entropy({"a": 3.0, "b": 0.0})
    0.0
    """
    return abs(fsum(_surprise(one) for one in _shares(scores.values())))  # abs: 0, not -0


def kl_divergence(reduced: Classes, full: Classes) -> float:
    """How far the reduced text's distribution is from the whole one's: Σ r ln(r / f), over classes of `full`.

    Both are divided by their sums; infinite where `full` rules out what `reduced` does not.

    >>> round(kl_divergence({"a": 1.0, "b": 0.0}, {"a": 0.5, "b": 0.5}), 6)  # 1 · ln(1 / 0.5)
    0.693147
    """
    pairs = zip(_shares([reduced[label] for label in full]), _shares(full.values()), strict=True)
    return fsum(_divergence(one, other) for one, other in pairs)


def aopc(drops: Sequence[Sequence[float]]) -> tuple[float, list[float]]:
    """The area over the curve of drops, [N, K]: their plain mean, and the mean at each of the K sizes.

    >>> aopc([[0.0, 0.5], [0.5, 1.0]])
    (0.5, [0.25, 0.75])
    """
    points = [mean(column) for column in zip(*drops, strict=True)]
    return mean(points), points


def mean(values: Iterable[float]) -> float:
    """The plain average; NaN of nothing."""
    found = list(values)
    return fsum(found) / len(found) if found else nan


def _average(
    rows: Iterable[Mapping[str, float]], weights: Sequence[float], support: float
) -> dict[str, float]:
    total, rows = sum(weights), list(rows)
    found = {
        name: fsum(weight * row[name] for weight, row in zip(weights, rows, strict=True)) / total
        if total
        else nan
        for name in ("precision", "recall", "f1-score")
    }
    return {**found, "support": support}


def _shares(values: Iterable[float]) -> list[float]:
    found = list(values)
    total = fsum(found)
    return [one / total for one in found] if total else [nan] * len(found)


def _surprise(share: float) -> float:
    if not share:
        return 0.0
    return -share * log(share) if share > 0 else nan


def _divergence(one: float, other: float) -> float:
    if not one:
        return 0.0
    if one < 0 or other < 0 or one != one or other != other:
        return nan
    return one * (log(one) - log(other)) if other else inf
