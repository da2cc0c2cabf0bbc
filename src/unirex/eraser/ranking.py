"""ERASER's metrics of soft rationales: how high the tokens, or sentences, that people marked are scored.

Each document is ranked by itself. Higher is better. Where ERASER's own program fails, the number is NaN.
"""

from __future__ import annotations

from collections.abc import Iterable
from math import fsum, isnan

import numpy as np
from numpy.typing import ArrayLike

from unirex.metrics import plausibility

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
