"""Decision flips, on literal distributions and against a loop."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from unirex.metrics.decision_flip import first_token_flips, flip_fraction

DISTRIBUTION = st.lists(st.floats(0, 1), min_size=3, max_size=3)


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
