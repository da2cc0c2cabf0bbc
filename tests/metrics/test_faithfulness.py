"""Comprehensiveness, sufficiency and their area, on literal numbers."""

import math

import numpy as np
import pytest

from unirex.errors import UserError
from unirex.metrics import aopc, comprehensiveness, csd, sufficiency
from unirex.metrics.faithfulness import log_odds

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
