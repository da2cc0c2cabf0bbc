"""Deletion and insertion: areas against NumPy's own trapezoids."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from unirex.metrics.curves import deletion_auc, insertion_auc

SHARE = st.floats(0, 1)


@pytest.mark.parametrize("area", [deletion_auc, insertion_auc])
@given(start=SHARE, steps=st.lists(SHARE, min_size=1, max_size=60))
def test_the_area_is_that_of_the_trapezoids(area, start, steps):
    expected = np.trapezoid([start, *steps], np.linspace(0, 1, len(steps) + 1))
    assert area(start, steps) == pytest.approx(expected, abs=1e-12)
    assert -1e-12 <= area(start, steps) <= 1 + 1e-12


def test_a_flat_curve_has_its_own_height():
    assert deletion_auc(0.25, [0.25] * 7) == pytest.approx(0.25)


def test_a_prediction_that_falls_early_has_the_smaller_area():
    assert deletion_auc(1.0, [0.0, 0.0, 0.0]) < deletion_auc(1.0, [1.0, 1.0, 0.0])
    assert insertion_auc(0.0, [1.0, 1.0, 1.0]) > insertion_auc(0.0, [0.0, 0.0, 1.0])


def test_a_text_without_tokens_has_no_curve():
    assert math.isnan(deletion_auc(0.5, [])) and math.isnan(insertion_auc(0.5, []))


def test_a_curve_is_of_one_text():
    with pytest.raises(ValueError, match=r"\(1, 2\)"):
        deletion_auc(0.5, [[0.1, 0.2]])
