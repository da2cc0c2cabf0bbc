"""ERASER's metrics against numbers worked by hand, plain retellings, scikit-learn and scipy."""

import math
import warnings
from collections import Counter

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from sklearn import metrics as reference

from unirex.eraser.metrics import (
    aopc,
    best_overlap,
    classification_report,
    document_ranking,
    drop,
    entropy,
    entropy_drop,
    iou_scores,
    kl_divergence,
    mean,
    mean_ranking,
    rationale_prf,
    token_prf,
)

TRUTH = {"a": [(3, 6)], "b": [(0, 1), (2, 5)]}
PREDICTED = {"a": [(4, 6), (0, 1)], "b": [(0, 1), (2, 4)], "c": [(2, 3)]}


def near(value):
    return pytest.approx(value, abs=1e-12)


def test_tokens_by_hand():
    # a: marked {3 4 5}, selected {0 4 5}, 2 hits; b: {0 2 3 4}, {0 2 3}, 3 hits; c: {}, {2}, none
    found = token_prf(TRUTH, PREDICTED)
    assert found["instance_micro"] == near({"p": 5 / 7, "r": 5 / 7, "f1": 5 / 7})  # 5 hits of 7 and 7
    # P 2/3, 1, 0; R 2/3, 3/4, 0; F1 2/3, 6/7, 0
    assert found["instance_macro"] == near({"p": 5 / 9, "r": 17 / 36, "f1": 32 / 63})


def test_spans_by_hand():
    # only (0, 1) of b has both ends right: 1 hit, 5 selected, 3 marked
    found = rationale_prf(TRUTH, PREDICTED)
    assert found["instance_micro"] == near({"p": 1 / 5, "r": 1 / 3, "f1": 1 / 4})
    assert found["instance_macro"] == near({"p": 1 / 6, "r": 1 / 6, "f1": 1 / 6})  # a 0, b 1/2, c 0


def test_overlap_by_hand():
    # a: (4, 6) is 2/3 of (3, 6), (0, 1) nothing; b: (0, 1) all, (2, 4) 2/3 of (2, 5); c: nothing. 3 hits of 5
    (found,) = iou_scores(TRUTH, PREDICTED)
    assert found["threshold"] == 0.5
    assert found["micro"] == near({"p": 3 / 5, "r": 1.0, "f1": 3 / 4})
    # P over a, b, c: 1/2, 1, 0; R over a, b: 1, 1; F1 of the averages 1/2 and 1, not the average F1 (5/9)
    assert found["macro"] == near({"p": 1 / 2, "r": 1.0, "f1": 2 / 3})
    assert [one["micro"]["p"] for one in iou_scores(TRUTH, PREDICTED, [0.6, 0.7])] == near([3 / 5, 1 / 5])


def test_hits_are_counted_on_the_side_of_the_predictions():
    # Both halves of one marked span reach one half: 2 hits for 1 span
    (found,) = iou_scores({"a": [(0, 4)]}, {"a": [(0, 2), (2, 4)]})
    assert found["micro"] == found["macro"] == near({"p": 1.0, "r": 2.0, "f1": 4 / 3})


def test_where_the_official_program_divides_by_zero():
    nothing = token_prf(TRUTH, {})
    assert math.isnan(nothing["instance_micro"]["p"]) and nothing["instance_micro"]["f1"] == 0
    assert nothing["instance_macro"] == {"p": 0, "r": 0, "f1": 0}
    unknown = rationale_prf({}, PREDICTED)
    assert math.isnan(unknown["instance_micro"]["r"]) and unknown["instance_micro"]["p"] == 0
    assert all(map(math.isnan, token_prf({}, {})["instance_macro"].values()))
    assert iou_scores({}, {})[0]["macro"] == {"p": 0, "r": 0, "f1": 0}  # here it does not


def test_spans_of_nothing_are_spans_but_no_tokens():
    assert rationale_prf({"a": [(2, 2)]}, {"a": [(2, 2)]})["instance_micro"]["f1"] == 1
    assert math.isnan(token_prf({"a": [(2, 2)]}, {"a": [(2, 2)]})["instance_micro"]["p"])
    assert best_overlap((2, 2), [(2, 2)]) == 0 and best_overlap((5, 2), [(0, 9)]) == 0


spans = st.lists(st.tuples(st.integers(0, 9), st.integers(0, 9)), max_size=4)
keyed = st.dictionaries(st.sampled_from("abcd"), spans, max_size=4)


@given(keyed, keyed)
def test_tokens_as_sets_of_pairs(truth, predicted):
    def tokens(spans):
        return {(key, token) for key, pairs in spans.items() for pair in pairs for token in range(*pair)}

    marked, chosen = tokens(truth), tokens(predicted)
    assume(marked and chosen)
    micro = token_prf(truth, predicted)["instance_micro"]
    assert micro["p"] == len(marked & chosen) / len(chosen)
    assert micro["r"] == len(marked & chosen) / len(marked)
    assert micro["f1"] == near(2 * len(marked & chosen) / (len(marked) + len(chosen)))


@given(keyed, keyed, st.sampled_from([0.1, 0.5, 1.0]))
def test_overlap_as_sets_of_tokens(truth, predicted, threshold):
    hits = Counter()
    for key, some in predicted.items():
        for one in set(some):
            mine = set(range(*one))
            others = [set(range(*other)) for other in truth.get(key, ())]
            best = max((len(mine & other) / len(mine | other) for other in others if mine | other), default=0)
            hits[key] += best >= threshold
    total, count = sum(hits.values()), sum(len(set(some)) for some in predicted.values())
    (found,) = iou_scores(truth, predicted, [threshold])
    assert found["micro"]["p"] == (total / count if count else 0)
    recalls = [hits[key] / len(set(some)) for key, some in truth.items() if some]
    assert found["macro"]["r"] == near(sum(recalls) / len(recalls) if recalls else 0)


def test_ranking_by_hand():
    # By score: dull 1, slow 1, and 0, comma 1, avoid 1. (recall, precision): ¼ 1, ½ 1, ½ ⅔, ¾ ¾, 1 ⅘
    found = document_ranking([0.9, 0.3, 0.7, 0.2, 0.1], [1, 0, 1, 1, 1])
    area = 1 / 2 + (2 / 3 + 3 / 4) / 2 / 4 + (3 / 4 + 4 / 5) / 2 / 4
    assert found == near({"auprc": area, "average_precision": 1 / 2 + 3 / 16 + 1 / 5, "roc_auc_score": 1 / 2})


def test_documents_of_one_class_count_in_auprc_only():
    every, none = document_ranking([2, 1], [1, 1]), document_ranking([2, 1], [0, 0])
    assert (every["auprc"], none["auprc"]) == (1, 0.5)
    for name in ("average_precision", "roc_auc_score"):
        assert math.isnan(every[name]) and math.isnan(none[name])
    assert math.isnan(mean_ranking([every, none])["roc_auc_score"])  # the official program divides by zero


scored = st.lists(st.tuples(st.integers(-3, 3), st.booleans()), min_size=1, max_size=12)


@given(st.lists(scored, min_size=1, max_size=5))
def test_ranking_as_scikit_learn(documents):
    areas, precisions, rocs = [], [], []
    for one in documents:
        scores, gold = np.array([score for score, _ in one]) / 3, np.array([mark for _, mark in one])
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # nothing is marked
            precision, recall, _ = reference.precision_recall_curve(gold, scores)
        areas.append(reference.auc(recall, precision))
        if gold.any() and not gold.all():
            precisions.append(reference.average_precision_score(gold, scores))
            rocs.append(reference.roc_auc_score(gold, scores))
    found = mean_ranking(document_ranking([s / 3 for s, _ in one], [m for _, m in one]) for one in documents)
    assert found["auprc"] == near(np.mean(areas))
    if rocs:
        assert found["average_precision"] == near(np.mean(precisions))
        assert found["roc_auc_score"] == near(np.mean(rocs))


@given(st.lists(st.tuples(st.sampled_from("xyz"), st.sampled_from("xyz")), min_size=1))
def test_the_report_is_that_of_scikit_learn(pairs):
    predicted, gold = [one for one, _ in pairs], [other for _, other in pairs]
    wanted = reference.classification_report(gold, predicted, output_dict=True, zero_division=0)
    found = classification_report(Counter(pairs))
    wanted.setdefault("accuracy", found["accuracy"])
    assert found.keys() == wanted.keys()
    for name, row in wanted.items():
        assert found[name] == near(row)


def test_falls_by_hand():
    full, reduced = {"POS": 0.9, "NEG": 0.1}, {"NEG": 0.5, "POS": 0.5}
    assert drop(full, reduced, "POS") == near(0.4)
    # H(full) = -.9 ln .9 - .1 ln .1 = .3250829734; H(reduced) = ln 2
    assert entropy_drop(full, reduced) == near(-0.9 * math.log(0.9) - 0.1 * math.log(0.1) - math.log(2))
    # .5 ln(.5 / .9) + .5 ln(.5 / .1) = .5108256238
    assert kl_divergence(reduced, full) == near(0.5 * math.log(0.5 / 0.9) + 0.5 * math.log(5))


probability = st.lists(st.floats(0, 1), min_size=3, max_size=3).filter(lambda some: sum(some) > 0.01)


@given(probability, probability)
def test_entropy_and_divergence_as_scipy(one, other):
    stats = pytest.importorskip("scipy.stats")
    first, second = (dict(zip("xyz", some, strict=True)) for some in (one, other))
    assert entropy(first) == pytest.approx(float(stats.entropy(one)), abs=1e-9)
    assert kl_divergence(first, second) == pytest.approx(float(stats.entropy(one, other)), abs=1e-9)


def test_scores_that_are_no_probabilities():
    assert math.isnan(entropy({"x": 0.0})) and math.isnan(entropy({"x": 2.0, "y": -1.0}))
    assert math.isnan(kl_divergence({"x": -1.0, "y": 2.0}, {"x": 0.5, "y": 0.5}))
    assert kl_divergence({"x": 1.0, "y": 0.0}, {"x": 0.0, "y": 1.0}) == math.inf


def test_the_area_is_a_plain_mean():
    assert aopc([[0.1, 0.2, 0.3, 0.4, 0.5]])[0] == near(0.3)  # by ERASER's divisor
    assert math.isnan(mean([]))
