"""Correlation with leave-one-out, against SciPy."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from unirex.errors import UserError
from unirex.metrics import leave_one_out
from unirex.metrics.leave_one_out import loo_correlation

stats = pytest.importorskip("scipy.stats")
REFERENCE = {"kendall": stats.kendalltau, "spearman": stats.spearmanr, "pearson": stats.pearsonr}
# Few distinct values, so that ties are the rule.
PAIRS = st.lists(st.tuples(st.integers(-3, 3), st.integers(0, 4)), min_size=2, max_size=30)


@pytest.mark.parametrize("kind", REFERENCE)
@given(pairs=PAIRS)
def test_all_kinds_are_those_of_scipy(kind, pairs):
    scores, left_out = (np.array(side, dtype=float) for side in zip(*pairs, strict=True))
    found = loo_correlation(scores, 0.75, left_out / 4, kind=kind)
    if len(set(scores)) == 1 or len(set(left_out)) == 1:
        assert math.isnan(found)
    else:
        assert found == pytest.approx(REFERENCE[kind](scores, 0.75 - left_out / 4).statistic, abs=1e-12)


@pytest.mark.parametrize("kind", REFERENCE)
def test_a_long_text_is_counted_in_blocks(kind, monkeypatch):
    chance = np.random.default_rng(0)
    scores, left_out = chance.normal(size=(2, 700)).round(2)
    expected = REFERENCE[kind](scores, -left_out).statistic
    assert loo_correlation(scores, 0.5, left_out, kind=kind) == pytest.approx(expected, abs=1e-12)
    monkeypatch.setattr(leave_one_out, "BLOCK", 7)
    assert loo_correlation(scores, 0.5, left_out, kind=kind) == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("kind", REFERENCE)
def test_scores_that_are_the_falls_agree_fully(kind):
    left_out = np.array([0.1, 0.7, 0.3, 0.5])
    assert loo_correlation(0.9 - left_out, 0.9, left_out, kind=kind) == pytest.approx(1)
    assert loo_correlation(left_out, 0.9, left_out, kind=kind) == pytest.approx(-1)


def test_only_the_ranking_counts_unless_asked_otherwise():
    scores, left_out = np.array([0.5, 2.0, 1.0]), np.array([0.5, 0.3, 0.6])
    for kind in ("kendall", "spearman"):
        assert loo_correlation(np.exp(scores), 0.9, left_out, kind=kind) == loo_correlation(
            scores, 0.9, left_out, kind=kind
        )
    assert loo_correlation([1.0, float("inf"), -float("inf")], 0.9, left_out) == pytest.approx(1)


@pytest.mark.parametrize("kind", REFERENCE)
def test_where_nothing_can_be_ranked_there_is_no_number(kind):
    for scores, left_out in (([], []), ([1.0], [0.5]), ([1.0, 1.0], [0.1, 0.2]), ([1.0, 2.0], [0.1, 0.1])):
        assert math.isnan(loo_correlation(scores, 0.9, left_out, kind=kind))
    assert math.isnan(loo_correlation([1.0, 2.0], float("nan"), [0.1, 0.2], kind=kind))


def test_mistakes_are_named():
    with pytest.raises(UserError, match="kendall, pearson, spearman"):
        loo_correlation([1.0, 2.0], 0.9, [0.1, 0.2], kind="tau")
    with pytest.raises(ValueError, match=r"\(2,\).*\(3,\)"):
        loo_correlation([1.0, 2.0], 0.9, [0.1, 0.2, 0.3])
    with pytest.raises(ValueError, match="NaN"):
        loo_correlation([1.0, float("nan")], 0.9, [0.1, 0.2])
