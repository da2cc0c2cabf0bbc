"""Agreement with gold marks equals scikit-learn's, ties and all."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import auc, f1_score, precision_recall_curve

from unirex.metrics import auprc, token_f1, token_f1_macro2

BITS = st.sampled_from([0, 1])
SCORES = st.one_of(st.sampled_from([-1.0, 0.0, 0.5]), st.floats(-1e6, 1e6))  # the first makes ties
TOKENS = st.lists(st.tuples(SCORES, BITS), min_size=1, max_size=40)
HARD = st.lists(st.tuples(BITS, BITS), min_size=1, max_size=40)


@given(TOKENS.filter(lambda tokens: any(mark for _, mark in tokens)))
def test_auprc_is_the_trapezoid_area_of_scikit_learns_curve(tokens):
    scores, gold = np.array(tokens).T
    precision, recall, _ = precision_recall_curve(gold, scores)
    assert auprc(scores, gold) == pytest.approx(auc(recall, precision), abs=1e-12)


def test_auprc_of_a_perfect_ranking_is_one_and_of_one_big_tie_is_halfway_to_the_density():
    assert auprc([3, 2, 1, 0], [1, 1, 0, 0]) == 1.0
    assert auprc([0, 0, 0, 0], [1, 0, 0, 0]) == (1 + 1 / 4) / 2


def test_auprc_takes_infinite_scores_as_ranks():
    assert auprc([math.inf, 1.0, -math.inf, -math.inf], [1, 1, 0, 0]) == 1.0
    assert auprc([1.0, -math.inf, -math.inf], [0, 1, 0]) == auprc([2.0, 1.0, 1.0], [0, 1, 0])


def test_auprc_without_marks_is_not_a_score():
    assert math.isnan(auprc([0.1, 0.2], [0, 0]))


@given(HARD)
def test_token_f1_is_scikit_learns_positive_class(tokens):
    selected, gold = np.array(tokens).T
    assert token_f1(selected, gold) == pytest.approx(f1_score(gold, selected, zero_division=0))


@given(HARD)
def test_token_f1_macro2_is_scikit_learns_macro_average(tokens):
    selected, gold = np.array(tokens).T
    expected = f1_score(gold, selected, average="macro", zero_division=0)
    assert token_f1_macro2(selected, gold) == pytest.approx(expected)


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


@pytest.mark.parametrize("metric", [auprc, token_f1, token_f1_macro2])
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
