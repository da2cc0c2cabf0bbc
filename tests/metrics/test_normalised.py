"""Normalised comprehensiveness and sufficiency: the formulas of Carton et al., in plain numbers."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from unirex.metrics.normalised import normalised_comprehensiveness, normalised_sufficiency

SHARE = st.floats(0, 1)


def clipped(value):
    return min(1.0, max(0.0, value))


@given(SHARE, SHARE, SHARE)
def test_both_follow_the_formulas(full, changed, empty):
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


def test_one_value_per_budget_and_text():
    full, empty = np.array([0.9, 0.6]), np.array([0.4, 0.6])
    changed = np.array([[0.4, 0.6], [0.65, 0.1], [0.9, 0.0]])
    found = normalised_comprehensiveness(full, changed, empty)
    np.testing.assert_allclose(found, [[1, 0], [0.5, 0], [0, 0]], atol=1e-12)
    np.testing.assert_allclose(
        normalised_sufficiency(full, changed, empty), [[0, 0], [0.5, 0], [1, 0]], atol=1e-12
    )


def test_texts_must_match():
    with pytest.raises(ValueError, match="empty texts"):
        normalised_comprehensiveness([0.5, 0.5], [[0.1, 0.1]], 0.5)
    with pytest.raises(ValueError, match="changed texts"):
        normalised_sufficiency([0.5, 0.5], [[0.1]], [0.5, 0.5])
