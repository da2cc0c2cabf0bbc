"""Agreement with gold marks equals scikit-learn's, ties and all."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import (
    auc,
    average_precision_score,
    f1_score,
    precision_recall_curve,
    precision_score,
    recall_score,
)

from unirex.metrics import auprc, token_f1, token_f1_macro2
from unirex.metrics.plausibility import (
    average_precision,
    iou_f1,
    token_f1_gold_size,
    token_precision,
    token_recall,
)

BITS = st.sampled_from([0, 1])
SCORES = st.one_of(st.sampled_from([-1.0, 0.0, 0.5]), st.floats(-1e6, 1e6))  # the first makes ties
TOKENS = st.lists(st.tuples(SCORES, BITS), min_size=1, max_size=40)
HARD = st.lists(st.tuples(BITS, BITS), min_size=1, max_size=40)
MARKED = TOKENS.filter(lambda tokens: any(mark for _, mark in tokens))
RANKINGS = (auprc, average_precision, token_f1_gold_size)
SELECTIONS = (token_f1, token_precision, token_recall, token_f1_macro2)


@given(MARKED)
def test_areas_are_those_of_scikit_learns_curve(tokens):
    scores, gold = np.array(tokens).T
    precision, recall, _ = precision_recall_curve(gold, scores)
    assert auprc(scores, gold) == pytest.approx(auc(recall, precision), abs=1e-12)
    assert average_precision(scores, gold) == pytest.approx(average_precision_score(gold, scores), abs=1e-12)


def test_auprc_of_a_perfect_ranking_is_one_and_of_one_big_tie_is_halfway_to_the_density():
    assert auprc([3, 2, 1, 0], [1, 1, 0, 0]) == 1.0
    assert auprc([0, 0, 0, 0], [1, 0, 0, 0]) == (1 + 1 / 4) / 2


def test_auprc_takes_infinite_scores_as_ranks():
    assert auprc([math.inf, 1.0, -math.inf, -math.inf], [1, 1, 0, 0]) == 1.0
    assert auprc([1.0, -math.inf, -math.inf], [0, 1, 0]) == auprc([2.0, 1.0, 1.0], [0, 1, 0])


@pytest.mark.parametrize("metric", RANKINGS)
def test_a_ranking_without_marks_is_not_a_score(metric):
    assert math.isnan(metric([0.1, 0.2], [0, 0]))


@given(MARKED)
def test_f1_at_gold_size_is_token_f1_of_as_many_tokens_as_are_marked(tokens):
    scores, gold = np.array(tokens).T
    by_rank = sorted(range(len(scores)), key=lambda number: (-scores[number], number))
    chosen = np.isin(np.arange(len(scores)), by_rank[: int(gold.sum())])
    assert token_f1_gold_size(scores, gold) == pytest.approx(f1_score(gold, chosen))


def test_f1_at_gold_size_takes_the_leftmost_of_tied_tokens():
    assert token_f1_gold_size([0, 0, 0], [1, 0, 0]) == 1.0
    assert token_f1_gold_size([0, 0, 0], [0, 0, 1]) == 0.0


@given(HARD)
def test_selections_are_scored_as_by_scikit_learn(tokens):
    selected, gold = np.array(tokens).T
    assert token_precision(selected, gold) == pytest.approx(precision_score(gold, selected, zero_division=0))
    assert token_recall(selected, gold) == pytest.approx(recall_score(gold, selected, zero_division=0))
    assert token_f1(selected, gold) == pytest.approx(f1_score(gold, selected, zero_division=0))
    macro = f1_score(gold, selected, average="macro", zero_division=0)
    assert token_f1_macro2(selected, gold) == pytest.approx(macro)


def phrases(tokens):
    """Maximal runs as sets of positions, told by hand."""
    found, last = [], -2
    for number in np.flatnonzero(tokens):
        if number == last + 1:
            found[-1].add(number)
        else:
            found.append({number})
        last = number
    return found


def slow_iou_f1(selected, gold, threshold):
    ours, theirs = phrases(selected), phrases(gold)

    def matched(some, others):
        return sum(max((len(a & b) / len(a | b) for b in others), default=0) >= threshold for a in some)

    precision = matched(ours, theirs) / len(ours) if ours else 0
    recall = matched(theirs, ours) / len(theirs) if theirs else 0
    return 2 * precision * recall / (precision + recall) if precision + recall else 0


@given(HARD, st.sampled_from([0.1, 0.5, 0.75, 1.0]))
def test_iou_f1_matches_phrases_one_by_one(tokens, threshold):
    selected, gold = np.array(tokens).T
    expected = slow_iou_f1(selected, gold, threshold)
    assert iou_f1(selected, gold, threshold=threshold) == pytest.approx(expected)


@given(HARD)
def test_iou_f1_reads_the_same_from_either_end_and_either_side(tokens):
    selected, gold = np.array(tokens).T
    assert iou_f1(selected, gold) == iou_f1(selected[::-1], gold[::-1])
    assert iou_f1(selected, gold) == pytest.approx(iou_f1(gold, selected))


@given(HARD)
def test_at_half_a_phrase_matches_one_at_most_as_eraser_counts_on(tokens):
    selected, gold = np.array(tokens).T
    hits = sum(any(len(a & b) * 2 >= len(a | b) for b in phrases(gold)) for a in phrases(selected))
    total = len(phrases(selected)) + len(phrases(gold))
    assert iou_f1(selected, gold) == pytest.approx(2 * hits / total if total else 0)


def test_iou_f1_by_hand():
    gold = [1, 1, 1, 1, 0, 0, 1, 1]
    assert iou_f1(gold, gold) == 1.0
    assert iou_f1([1, 1, 0, 0, 0, 0, 0, 0], gold) == 2 * 1 * 0.5 / 1.5  # 2/4 matches one phrase of two
    assert iou_f1([1, 0, 0, 0, 0, 0, 0, 0], gold) == 0.0  # 1/4
    assert iou_f1([1] * 8, gold) == 2 * 1 * 0.5 / 1.5  # 4/8
    assert iou_f1([0] * 8, gold) == iou_f1(gold, [0] * 8) == 0.0


@pytest.mark.parametrize("marked", [1, 3, 7])
def test_t7_everything_selected_gives_a_score_of_the_density_alone(marked):
    gold = np.arange(10) < marked
    density = marked / 10
    assert token_f1_macro2(np.ones(10), gold) == pytest.approx(density / (1 + density))
    assert token_f1(np.ones(10), gold) == pytest.approx(2 * density / (1 + density))


def test_scores_are_refused_where_a_selection_is_needed():
    scores = np.array([0.3, -0.2])
    assert token_f1(scores > 0, [1, 0]) == 1.0
    with pytest.raises(ValueError, match="threshold"):
        token_f1(scores, [1, 0])


@pytest.mark.parametrize("metric", [*RANKINGS, *SELECTIONS, iou_f1])
@pytest.mark.parametrize(
    ("scores", "gold", "message"),
    [
        ([1, 0], [1], "shape"),
        ([[1]], [[1]], "shape"),
        ([math.nan, 0], [1, 0], "NaN"),
        ([1, 0], [2, 0], "0 or 1"),
    ],
)
def test_misaligned_or_senseless_input_is_refused(metric, scores, gold, message):
    with pytest.raises(ValueError, match=message):
        metric(scores, gold)
