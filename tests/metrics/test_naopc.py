"""Normalised AOPC: bounds against every order there is."""

import math
from itertools import permutations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from unirex.metrics.naopc import Bounds, aopc_bounds, normalised_aopc, order_aopc


def classifier(count, seed):
    """How far some probability falls without each set of words: any number at all."""
    chance = np.random.default_rng(seed)
    table = chance.uniform(-0.3, 1, size=1 << count)
    return lambda sets: [float(table[sum(1 << word for word in one)]) for one in sets]


def every_order(falls, count):
    """The AOPC of each order, written out."""
    orders = permutations(range(count))
    return [sum(falls([order[:size] for size in range(1, count + 1)])) / count for order in orders]


@given(st.integers(1, 6), st.integers(0, 1000))
@settings(max_examples=25)
def test_exact_bounds_are_those_of_every_order(count, seed):
    falls = classifier(count, seed)
    expected = every_order(falls, count)
    found = aopc_bounds(falls, count)
    assert found.exact
    assert (found.lowest, found.highest) == pytest.approx((min(expected), max(expected)))


@given(st.integers(2, 6), st.integers(0, 1000), st.integers(1, 4))
@settings(max_examples=25)
def test_a_beam_stays_within_the_exact_bounds(count, seed, beam):
    falls = classifier(count, seed)
    expected = every_order(falls, count)
    found = aopc_bounds(falls, count, exact_up_to=0, beam=beam)
    assert not found.exact
    assert min(expected) - 1e-12 <= found.lowest <= found.highest <= max(expected) + 1e-12


@given(st.integers(2, 6), st.integers(0, 1000))
@settings(max_examples=25)
def test_a_beam_wide_enough_for_all_sets_is_exact(count, seed):
    falls = classifier(count, seed)
    exact, wide = (aopc_bounds(falls, count, exact_up_to=limit, beam=20) for limit in (6, 0))
    assert (wide.lowest, wide.highest) == pytest.approx((exact.lowest, exact.highest))


def test_where_words_simply_add_up_a_narrow_beam_finds_both_orders():
    weights = np.random.default_rng(3).uniform(size=20)
    found = aopc_bounds(lambda sets: [weights[list(one)].sum() for one in sets], 20)
    down = np.sort(weights)[::-1]
    assert found.highest == pytest.approx(down.cumsum().mean())
    assert found.lowest == pytest.approx(down[::-1].cumsum().mean())


@pytest.mark.parametrize("count", [1, 4, 8, 9, 14])
def test_no_set_is_asked_for_twice_and_all_of_a_size_at_once(count):
    asked, calls = [], []

    def falls(sets):
        asked.extend(sets)
        calls.append(len(sets))
        return [len(one) / count for one in sets]

    aopc_bounds(falls, count)
    assert len(asked) == len(set(asked)) and all(one == tuple(sorted(set(one))) for one in asked)
    assert len(calls) <= (1 if count <= 8 else 2 * count)
    assert len(asked) <= (2**count - 1 if count <= 8 else 5 * count**2)


def test_bounds_grow_for_an_order_that_was_missed():
    found = Bounds(0.2, 0.5, exact=False)
    assert found.including(0.6) == Bounds(0.2, 0.6, exact=False)
    assert found.including(0.1) == Bounds(0.1, 0.5, exact=False)
    assert found.including(0.3) == found


def test_the_worst_and_the_best_order_are_0_and_1():
    weights, full = np.array([0.1, 0.4, 0.2]), 0.9
    bounds = aopc_bounds(lambda sets: [weights[list(one)].sum() for one in sets], 3)
    for order, expected in (([1, 2, 0], 1), ([0, 2, 1], 0)):
        left = full - weights[order].cumsum()
        assert normalised_aopc(full, left, bounds.lowest, bounds.highest) == pytest.approx(expected)
    assert order_aopc(full, full - weights.cumsum()) == pytest.approx((0.1 + 0.5 + 0.7) / 3)


def test_a_text_of_one_word_or_none_has_no_order():
    one = aopc_bounds(lambda sets: [0.3 for _ in sets], 1)
    assert one == Bounds(0.3, 0.3, exact=True)
    assert math.isnan(normalised_aopc(0.9, [0.6], one.lowest, one.highest))
    none = aopc_bounds(lambda sets: [], 0)
    assert math.isnan(none.lowest) and math.isnan(order_aopc(0.9, []))


def test_probabilities_are_of_one_text():
    with pytest.raises(ValueError, match=r"\(1, 2\)"):
        order_aopc(0.9, [[0.1, 0.2]])
