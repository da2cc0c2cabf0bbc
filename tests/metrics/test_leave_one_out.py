"""Correlation with leave-one-out, against SciPy."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from unirex.metrics import leave_one_out
from unirex.metrics.leave_one_out import loo_correlation

stats = pytest.importorskip("scipy.stats")
# Few distinct values, so that ties are the rule.
PAIRS = st.lists(st.tuples(st.integers(-3, 3), st.integers(0, 4)), min_size=2, max_size=30)


@given(PAIRS)
def test_it_is_the_kendall_tau_of_scipy(pairs):
    scores, left_out = (np.array(side, dtype=float) for side in zip(*pairs, strict=True))
    found = loo_correlation(scores, 0.75, left_out / 4)
    if len(set(scores)) == 1 or len(set(left_out)) == 1:
        assert math.isnan(found)
    else:
        assert found == pytest.approx(stats.kendalltau(scores, 0.75 - left_out / 4).statistic, abs=1e-12)


def test_a_long_text_is_counted_in_blocks(monkeypatch):
    chance = np.random.default_rng(0)
    scores, left_out = chance.normal(size=(2, 700)).round(2)
    expected = stats.kendalltau(scores, -left_out).statistic
    assert loo_correlation(scores, 0.5, left_out) == pytest.approx(expected, abs=1e-12)
    monkeypatch.setattr(leave_one_out, "BLOCK", 7)
    assert loo_correlation(scores, 0.5, left_out) == pytest.approx(expected, abs=1e-12)


def test_scores_that_are_the_falls_agree_fully():
    left_out = np.array([0.1, 0.7, 0.3, 0.5])
    assert loo_correlation(0.9 - left_out, 0.9, left_out) == pytest.approx(1)
    assert loo_correlation(left_out, 0.9, left_out) == pytest.approx(-1)


def test_only_the_ranking_counts():
    scores, left_out = np.array([0.5, 2.0, 1.0]), np.array([0.5, 0.3, 0.6])
    assert loo_correlation(np.exp(scores), 0.9, left_out) == loo_correlation(scores, 0.9, left_out)
    assert loo_correlation([1.0, float("inf"), -float("inf")], 0.9, left_out) == pytest.approx(1)


def test_where_nothing_can_be_ranked_there_is_no_number():
    for scores, left_out in (([], []), ([1.0], [0.5]), ([1.0, 1.0], [0.1, 0.2]), ([1.0, 2.0], [0.1, 0.1])):
        assert math.isnan(loo_correlation(scores, 0.9, left_out))
    assert math.isnan(loo_correlation([1.0, 2.0], float("nan"), [0.1, 0.2]))


def test_mistakes_are_named():
    with pytest.raises(ValueError, match=r"\(2,\).*\(3,\)"):
        loo_correlation([1.0, 2.0], 0.9, [0.1, 0.2, 0.3])
    with pytest.raises(ValueError, match="NaN"):
        loo_correlation([1.0, float("nan")], 0.9, [0.1, 0.2])
