"""ERASER's metrics of hard rationales: how well the selected spans of tokens are those that people marked.

All take spans by annotation and document, the truth first, and give precision, recall and F1 as ERASER lays
them out. Higher is better. Where ERASER's own program divides by zero, the number is NaN.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable, Iterable, Mapping, Sequence, Set
from typing import Any, TypeVar

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
