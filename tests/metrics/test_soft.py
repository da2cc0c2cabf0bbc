"""Soft-NS and Soft-NC, with the formulas of Zhao & Aletras written out."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from unirex.metrics.soft import soft_comprehensiveness, soft_sufficiency

SHARE = st.floats(0, 1)


def by_hand(full, drawn, zero):
    """Sufficiency and comprehensiveness of one draw."""
    ground = 1 - max(0.0, full - zero)
    if 1 - ground < 1e-5:
        return 0.0, 0.0
    sufficiency = 1 - max(0.0, full - drawn)
    soft_ns = max(0.0, (sufficiency - ground) / (1 - ground))
    return soft_ns, min(1.0, max(0.0, full - drawn) / (1 - ground))


@given(SHARE, st.lists(SHARE, min_size=1, max_size=5), SHARE)
def test_both_are_the_means_over_the_draws(full, draws, zero):
    each = [by_hand(full, drawn, zero) for drawn in draws]
    if 0 < full - zero < 2e-5:
        return  # at the border rounding decides whether there is anything to lose
    kept, removed = (sum(side) / len(draws) for side in zip(*each, strict=True))
    assert soft_sufficiency(full, draws, zero) == pytest.approx(kept, abs=1e-9)
    assert soft_comprehensiveness(full, draws, zero) == pytest.approx(removed, abs=1e-9)


def test_an_input_that_says_as_much_as_nothing_is_the_end_of_the_scale():
    assert soft_sufficiency(0.9, [0.2], 0.2) == 0 and soft_comprehensiveness(0.9, [0.2], 0.2) == 1
    assert soft_sufficiency(0.9, [0.9], 0.2) == 1 and soft_comprehensiveness(0.9, [0.9], 0.2) == 0


def test_draws_are_needed():
    with pytest.raises(ValueError, match="at least one"):
        soft_sufficiency(0.9, [], 0.2)
    with pytest.raises(ValueError, match=r"\(1, 1\)"):
        soft_comprehensiveness(0.9, [[0.2]], 0.2)
