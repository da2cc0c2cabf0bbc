"""Deletion and insertion areas against NumPy's own trapezoids; decision flips against a loop."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from unirex.metrics.curves import deletion_auc, first_token_flips, flip_fraction, insertion_auc

SHARE = st.floats(0, 1)
DISTRIBUTION = st.lists(SHARE, min_size=3, max_size=3)


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


@given(DISTRIBUTION, st.lists(DISTRIBUTION, min_size=1, max_size=8))
def test_the_fraction_is_that_of_the_first_change(full, deletion):
    def answer(one):
        return one.index(max(one))

    changed = [number for number, one in enumerate(deletion, 1) if answer(one) != answer(full)]
    assert flip_fraction(full, deletion) == (changed[0] / len(deletion) if changed else 1.0)
    assert first_token_flips(full, deletion[0]) == (1.0 if changed and changed[0] == 1 else 0.0)


def test_it_is_the_answer_that_counts_not_its_probability():
    assert first_token_flips([0.9, 0.1], [0.51, 0.49]) == 0
    assert first_token_flips([0.4, 0.3, 0.3], [0.3, 0.4, 0.3]) == 1


def test_a_change_that_is_taken_back_counts():
    assert flip_fraction([0.9, 0.1], [[0.4, 0.6], [0.9, 0.1]]) == 0.5


def test_a_text_without_tokens_never_flips():
    assert flip_fraction([0.9, 0.1], []) == 1
    assert flip_fraction([0.9, 0.1], np.zeros((0, 2))) == 1


def test_distributions_must_be_over_the_same_labels():
    with pytest.raises(ValueError, match=r"\(2,\).*\(1, 3\)"):
        flip_fraction([0.9, 0.1], [[0.2, 0.3, 0.5]])
    with pytest.raises(ValueError, match=r"\(2,\).*\(1, 2\)"):
        first_token_flips([0.9, 0.1], [[0.2, 0.8]])
    with pytest.raises(ValueError, match=r"\(\)"):
        flip_fraction(0.9, [0.1, 0.2])
