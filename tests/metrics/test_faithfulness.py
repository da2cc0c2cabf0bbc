"""Faithfulness on literal numbers: raw, normalised (Carton et al.) and soft (Zhao & Aletras)."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from unirex.errors import UserError
from unirex.metrics import aopc, comprehensiveness, csd, sufficiency
from unirex.metrics.faithfulness import (
    log_odds,
    normalised_comprehensiveness,
    normalised_sufficiency,
    soft_comprehensiveness,
    soft_sufficiency,
)

SHARE = st.floats(0, 1)
FULL = np.array([0.9, 0.6])  # [N]
CHANGED = np.array([[0.4, 0.6], [0.1, 0.8], [0.9, 0.0]])  # [K, N]


def test_both_are_the_fall_of_the_probability_per_budget_and_text():
    expected = [[0.5, 0.0], [0.8, -0.2], [0.0, 0.6]]
    np.testing.assert_allclose(comprehensiveness(FULL, CHANGED), expected, atol=1e-12)
    np.testing.assert_allclose(sufficiency(FULL, CHANGED), expected, atol=1e-12)


def test_t4_area_divides_by_one_more_than_the_budgets_or_by_the_budgets():
    values = [0.1, 0.2, 0.3, 0.4, 0.5]
    assert aopc(values) == pytest.approx(0.25)
    assert aopc(values, divisor="k_plus_1") == pytest.approx(0.25)
    assert aopc(values, divisor="mean") == pytest.approx(0.30)


def test_area_keeps_one_value_per_text():
    assert aopc(comprehensiveness(FULL, CHANGED)).shape == FULL.shape
    np.testing.assert_allclose(aopc(comprehensiveness(FULL, CHANGED), divisor="mean"), [1.3 / 3, 0.4 / 3])


def test_csd_of_areas_is_the_area_of_csds():
    comp, suff = comprehensiveness(FULL, CHANGED), sufficiency(FULL, CHANGED[::-1] / 2)
    np.testing.assert_allclose(csd(aopc(comp), aopc(suff)), aopc(csd(comp, suff)))


def test_a_wrong_divisor_names_the_right_ones():
    with pytest.raises(UserError, match="k_plus_1, mean"):
        aopc([0.1], divisor="k+1")


def test_log_odds_are_the_logarithms_of_the_ratios():
    changed = np.array([[0.45, 0.6], [0.1, 0.8]])
    expected = [[math.log(0.5), 0.0], [math.log(0.1 / 0.9), math.log(0.8 / 0.6)]]
    np.testing.assert_allclose(log_odds(FULL, changed), expected, atol=1e-12)


def test_log_odds_of_the_impossible_are_finite():
    assert log_odds(1.0, [0.0]) == pytest.approx([math.log(1e-12)])
    assert log_odds(0.0, [0.0]) == pytest.approx([0.0])


def test_log_odds_tell_apart_what_differences_do_not():
    sure, falls = 1.0, np.array([1e-3, 1e-6])
    assert np.ptp(comprehensiveness(sure, falls)) < 1e-2
    assert np.ptp(log_odds(sure, falls)) == pytest.approx(math.log(1e3))


@pytest.mark.parametrize("metric", [comprehensiveness, sufficiency, log_odds])
def test_texts_must_match(metric):
    with pytest.raises(ValueError, match=r"\(2,\).*\(3, 1\)"):
        metric(FULL, CHANGED[:, :1])


def clipped(value):
    return min(1.0, max(0.0, value))


@given(SHARE, SHARE, SHARE)
def test_normalised_metrics_follow_the_formulas(full, changed, empty):
    null = max(0.0, full - empty)
    suff, comp = 1 - max(0.0, full - changed), max(0.0, full - changed)
    expected = (0.0, 0.0) if null < 1e-5 else (clipped(comp / null), clipped((suff - (1 - null)) / null))
    assert normalised_comprehensiveness(full, changed, empty) == pytest.approx(expected[0], abs=1e-9)
    assert normalised_sufficiency(full, changed, empty) == pytest.approx(expected[1], abs=1e-9)


def test_the_empty_text_is_all_that_can_be_lost():
    assert normalised_comprehensiveness(0.8, 0.3, 0.3) == 1
    assert normalised_sufficiency(0.8, 0.3, 0.3) == 0
    assert normalised_comprehensiveness(0.8, 0.8, 0.3) == 0
    assert normalised_sufficiency(0.8, 0.8, 0.3) == 1


def test_where_nothing_can_be_lost_both_are_0():
    for empty in (0.5, 0.500001, 0.9, 0.499999):
        assert normalised_comprehensiveness(0.5, 0.1, empty) == 0
        assert normalised_sufficiency(0.5, 0.5, empty) == 0


def test_normalised_metrics_have_one_value_per_budget_and_text():
    full, empty = np.array([0.9, 0.6]), np.array([0.4, 0.6])
    changed = np.array([[0.4, 0.6], [0.65, 0.1], [0.9, 0.0]])
    found = normalised_comprehensiveness(full, changed, empty)
    np.testing.assert_allclose(found, [[1, 0], [0.5, 0], [0, 0]], atol=1e-12)
    np.testing.assert_allclose(
        normalised_sufficiency(full, changed, empty), [[0, 0], [0.5, 0], [1, 0]], atol=1e-12
    )


def test_normalised_texts_must_match():
    with pytest.raises(ValueError, match="empty texts"):
        normalised_comprehensiveness([0.5, 0.5], [[0.1, 0.1]], 0.5)
    with pytest.raises(ValueError, match="changed texts"):
        normalised_sufficiency([0.5, 0.5], [[0.1]], [0.5, 0.5])


def soft_by_hand(full, drawn, zero):
    """Sufficiency and comprehensiveness of one draw."""
    ground = 1 - max(0.0, full - zero)
    if 1 - ground < 1e-5:
        return 0.0, 0.0
    sufficiency = 1 - max(0.0, full - drawn)
    soft_ns = max(0.0, (sufficiency - ground) / (1 - ground))
    return soft_ns, min(1.0, max(0.0, full - drawn) / (1 - ground))


@given(SHARE, st.lists(SHARE, min_size=1, max_size=5), SHARE)
def test_soft_metrics_are_the_means_over_the_draws(full, draws, zero):
    each = [soft_by_hand(full, drawn, zero) for drawn in draws]
    if 0 < full - zero < 2e-5:
        return  # at the border rounding decides whether there is anything to lose
    kept, removed = (sum(side) / len(draws) for side in zip(*each, strict=True))
    assert soft_sufficiency(full, draws, zero) == pytest.approx(kept, abs=1e-9)
    assert soft_comprehensiveness(full, draws, zero) == pytest.approx(removed, abs=1e-9)


def test_draws_are_needed():
    with pytest.raises(ValueError, match="at least one"):
        soft_sufficiency(0.9, [], 0.2)
    with pytest.raises(ValueError, match=r"\(1, 1\)"):
        soft_comprehensiveness(0.9, [[0.2]], 0.2)
