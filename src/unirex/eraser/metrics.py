"""ERASER's metrics: hard rationales, soft rationales, and classes.

They differ from those of `unirex.metrics` in what is averaged, and when: see docs/eraser.md.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable, Iterable, Mapping, Sequence, Set
from math import fsum, inf, isnan, log, nan
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from unirex.eraser.submission import ClassScores
from unirex.metrics import plausibility
from unirex.metrics.performance import Confusion, accuracy_of, class_report_of, f1_from_rates

IOU_THRESHOLDS = (0.5,)  # what ERASER reports
AOPC_THRESHOLDS = (0.01, 0.05, 0.1, 0.2, 0.5)  # shares of the tokens ERASER reports
UNMARKED_AUPRC = 0.5  # scikit-learn's area without marks: from (recall 0, precision 1) straight to (1, 0)

Spans = Mapping[Any, Collection[tuple[int, int]]]  # by (annotation, document); end-exclusive
Prf = dict[str, float]  # p, r, f1
Ranking = dict[str, float]  # auprc, average_precision, roc_auc_score


def token_prf(truth: Spans, predicted: Spans) -> dict[str, Prf]:
    """How well the selected tokens are the marked ones.

    `instance_micro` pools the tokens of all documents. `instance_macro` is the mean over the documents that
    have tokens on either side, of F1 too; an undefined value of a document counts as 0.

    >>> found = token_prf({"a": [(0, 4)], "b": [(0, 1)]}, {"a": [(2, 4)]})
    >>> found["instance_micro"]  # 2 hits, 2 selected, 5 marked: P 2/2, R 2/5, F1 2·2/(2+5)
    {'p': 1.0, 'r': 0.4, 'f1': 0.5714285714285715}
    >>> found["instance_macro"]  # a: P 1, R 1/2, F1 2/3; b: 0, 0, 0
    {'p': 0.5, 'r': 0.25, 'f1': 0.3333333333333333}
    """
    return _prf(_non_empty(truth, _tokens), _non_empty(predicted, _tokens))


def rationale_prf(truth: Spans, predicted: Spans) -> dict[str, Prf]:
    """How well the selected spans are the marked ones: a span counts only if both its ends are right.

    Averaged as `token_prf`.

    >>> rationale_prf({"a": [(0, 2), (5, 6)]}, {"a": [(0, 2), (5, 7)]})["instance_micro"]
    {'p': 0.5, 'r': 0.5, 'f1': 0.5}
    """
    return _prf(_non_empty(truth, set), _non_empty(predicted, set))


def iou_scores(
    truth: Spans, predicted: Spans, thresholds: Sequence[float] = IOU_THRESHOLDS
) -> list[dict[str, Any]]:
    """How well the selected spans cover marked ones: hits overlap by the threshold, |both| / |either|.

    A selected span is compared with the marked span it overlaps most. Hits are counted among the selected
    spans, so several of them may hit one marked span, and recall can exceed 1. `micro` pools all documents;
    `macro` averages recall over documents with marks and precision over documents with selections, and its F1
    is that of the two averages, not the average F1.

    >>> iou_scores({"a": [(0, 4)], "b": [(0, 3)]}, {"a": [(0, 2), (2, 4), (7, 9)]})[0]["macro"]
    {'p': 0.6666666666666666, 'r': 1.0, 'f1': 0.8}
    """
    marked, selected = _non_empty(truth, set), _non_empty(predicted, set)
    best = {
        key: [best_overlap(span, marked.get(key, ())) for span in spans] for key, spans in selected.items()
    }
    marks, selections = (sum(map(len, spans.values())) for spans in (marked, selected))
    scores = []
    for threshold in thresholds:
        hits = {key: sum(overlap >= threshold for overlap in overlaps) for key, overlaps in best.items()}
        total = sum(hits.values())
        precisions = [hits[key] / len(spans) for key, spans in selected.items()]
        recalls = [hits.get(key, 0) / len(spans) for key, spans in marked.items()]
        micro = _with_f1(_share(total, selections), _share(total, marks))
        macro = _with_f1(_plain_mean(precisions, empty=0.0), _plain_mean(recalls, empty=0.0))
        scores.append({"threshold": threshold, "micro": micro, "macro": macro})
    return scores


def best_overlap(span: tuple[int, int], others: Iterable[tuple[int, int]]) -> float:
    """The largest intersection over union of a span with any of the others; 0 if there are none.

    >>> best_overlap((0, 4), [(2, 6), (9, 10)])  # tokens 2 and 3 of the tokens 0 to 5
    0.3333333333333333
    """
    best = 0.0
    for other in others:
        shared = max(0, min(span[1], other[1]) - max(span[0], other[0]))
        either = max(0, span[1] - span[0]) + max(0, other[1] - other[0]) - shared
        best = max(best, _share(shared, either))
    return best


def _prf(truth: Mapping[Hashable, Set[Any]], predicted: Mapping[Hashable, Set[Any]]) -> dict[str, Prf]:
    hits = selections = marks = 0
    documents: list[Prf] = []
    for key in dict.fromkeys((*truth, *predicted)):
        marked, selected = truth.get(key, set()), predicted.get(key, set())
        shared = len(marked & selected)
        hits, selections, marks = hits + shared, selections + len(selected), marks + len(marked)
        documents.append(_with_f1(_share(shared, len(selected)), _share(shared, len(marked))))
    return {
        "instance_micro": _with_f1(_share(hits, selections, nan), _share(hits, marks, nan)),
        "instance_macro": {
            name: _plain_mean([prf[name] for prf in documents], empty=nan) for name in ("p", "r", "f1")
        },
    }


def _with_f1(precision: float, recall: float) -> Prf:
    # Not from counts: those of macro averages do not exist, and the official program rounds like this.
    return {"p": precision, "r": recall, "f1": f1_from_rates(precision, recall)}


def _share(part: int, whole: int, empty: float = 0.0) -> float:
    return part / whole if whole else empty


def _plain_mean(values: Sequence[float], *, empty: float) -> float:
    return sum(values) / len(values) if values else empty  # not fsum: rounds as the official program


def _non_empty(spans: Spans, items: Callable[[Any], set[Any]]) -> dict[Hashable, set[Any]]:
    """The items (tokens or spans) of each document that has any; other documents do not count."""
    found = {key: items(pairs) for key, pairs in spans.items()}
    return {key: members for key, members in found.items() if members}


def _tokens(spans: Iterable[tuple[int, int]]) -> set[int]:
    return {token for start, end in spans for token in range(start, end)}


def document_ranking(scores: ArrayLike, gold: ArrayLike) -> Ranking:
    """The three metrics of the soft scores of one document; NaN where undefined.

    `auprc` is the trapezoid area under precision and recall. ERASER takes that of a document without marks
    from scikit-learn, where it is 0.5 whatever the scores. Average precision and ROC AUC are undefined where
    all tokens are marked, or none.

    >>> document_ranking([0.9, 0.8, 0.1], [1, 0, 1])
    {'auprc': 0.7916666666666666, 'average_precision': 0.8333333333333333, 'roc_auc_score': 0.5}
    >>> document_ranking([0.9, 0.8, 0.1], [0, 0, 0])
    {'auprc': 0.5, 'average_precision': nan, 'roc_auc_score': nan}
    """
    marks = np.asarray(gold, dtype=bool)
    if not marks.any():
        return {"auprc": UNMARKED_AUPRC, "average_precision": nan, "roc_auc_score": nan}
    return {
        "auprc": plausibility.auprc(scores, marks),
        "average_precision": nan if marks.all() else plausibility.average_precision(scores, marks),
        "roc_auc_score": roc_auc(scores, marks),
    }


def mean_ranking(documents: Iterable[Ranking]) -> Ranking:
    """The mean of each metric over the documents where it is defined; NaN if there are none.

    >>> marked, unmarked = document_ranking([2, 1], [1, 0]), document_ranking([2, 1], [0, 0])
    >>> mean_ranking([marked, unmarked])  # (1 + 0.5) / 2, and 1 / 1 twice
    {'auprc': 0.75, 'average_precision': 1.0, 'roc_auc_score': 1.0}
    """
    rankings = list(documents)
    return {
        name: mean(ranking[name] for ranking in rankings if not isnan(ranking[name]))
        for name in ("auprc", "average_precision", "roc_auc_score")
    }


def roc_auc(scores: ArrayLike, gold: ArrayLike) -> float:
    """Probability that a marked token scores above an unmarked one, ties counting half; NaN without both.

    The area under the ROC curve, from the ranks of the marked tokens (Mann and Whitney's U).

    >>> roc_auc([0.9, 0.8, 0.8, 0.1], [1, 0, 1, 0])  # pairs: above, above, tie, above: 3.5 of 4
    0.875
    """
    values, marks = np.asarray(scores, dtype=np.float64), np.asarray(gold, dtype=bool)
    marked = int(marks.sum())
    pairs = marked * (len(marks) - marked)
    if not pairs:
        return nan
    _, numbers, counts = np.unique(values, return_inverse=True, return_counts=True)
    ranks = np.cumsum(counts) - (counts - 1) / 2  # tied scores share the middle of their ranks
    return float((ranks[numbers][marks].sum() - marked * (marked + 1) / 2) / pairs)


def classification_report(counts: Confusion) -> dict[str, Any]:
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
        "macro avg": _average(list(rows.values()), [1.0] * len(rows)) | {"support": sum(supports)},
        "weighted avg": _average(list(rows.values()), supports) | {"support": sum(supports)},
    }


def _average(rows: Sequence[Mapping[str, float]], weights: Sequence[float]) -> dict[str, float]:
    total, averages = sum(weights), {}
    for name in ("precision", "recall", "f1-score"):
        weighted = fsum(weight * row[name] for weight, row in zip(weights, rows, strict=True))
        averages[name] = weighted / total if total else nan
    return averages


def drop(full: ClassScores, reduced: ClassScores, label: str) -> float:
    """How much probability the predicted class loses: p(full) - p(reduced).

    Higher is better for comprehensiveness, lower for sufficiency.

    >>> drop({"a": 0.75, "b": 0.25}, {"a": 0.5, "b": 0.5}, "a")
    0.25
    """
    return full[label] - reduced[label]


def entropy_drop(full: ClassScores, reduced: ClassScores) -> float:
    """How much more certain the classifier is about the reduced text: H(full) - H(reduced), in nats.

    >>> round(entropy_drop({"a": 0.5, "b": 0.5}, {"a": 1.0, "b": 0.0}), 6)  # ln 2 - 0
    0.693147
    """
    return entropy(full) - entropy(reduced)


def entropy(scores: ClassScores) -> float:
    """How uncertain the classifier is, -Σ p ln p, of the scores divided by their sum; NaN if that is 0.

    >>> entropy({"a": 3.0, "b": 0.0})
    0.0
    """
    shares = _normalised(scores.values())
    if any(share < 0 for share in shares):
        return nan
    return abs(fsum(share * log(share) for share in shares if share))


def kl_divergence(reduced: ClassScores, full: ClassScores) -> float:
    """How far the reduced text's distribution is from the full text's: Σ r ln(r / f), over classes of `full`.

    Both are divided by their sums; infinite where `full` excludes a class that `reduced` does not.

    >>> round(kl_divergence({"a": 1.0, "b": 0.0}, {"a": 0.5, "b": 0.5}), 6)  # 1 · ln(1 / 0.5)
    0.693147
    """
    pairs = zip(_normalised([reduced[label] for label in full]), _normalised(full.values()), strict=True)
    return fsum(_divergence(r, f) for r, f in pairs)


def aopc(drops: Sequence[Sequence[float]]) -> tuple[float, list[float]]:
    """The area over the curve of drops, [N, K]: their plain mean, and the mean at each of the K thresholds.

    >>> aopc([[0.0, 0.5], [0.5, 1.0]])
    (0.5, [0.25, 0.75])
    """
    points = [mean(column) for column in zip(*drops, strict=True)]
    return mean(points), points


def mean(values: Iterable[float]) -> float:
    """The mean, exactly rounded; NaN of nothing."""
    known = list(values)
    return fsum(known) / len(known) if known else nan


def _normalised(values: Iterable[float]) -> list[float]:
    known = list(values)
    total = fsum(known)
    return [value / total for value in known] if total else [nan] * len(known)


def _divergence(reduced: float, full: float) -> float:
    if not reduced:
        return 0.0
    if reduced < 0 or full < 0 or isnan(reduced) or isnan(full):
        return nan
    return reduced * (log(reduced) - log(full)) if full else inf
