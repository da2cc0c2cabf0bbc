"""Paired tests equal enumeration and scipy, the correction its definition."""

import math
from functools import partial
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from unirex.errors import UserError
from unirex.metrics import paired
from unirex.metrics.paired import holm, mean_std

paired_test = partial(paired.paired_test, draws=10_000)

P_VALUES = st.lists(st.one_of(st.floats(0, 1), st.just(math.nan)), max_size=12)


def test_the_spread_over_seeds():
    assert mean_std([1, 2, 4, math.nan]) == pytest.approx((7 / 3, np.std([1, 2, 4], ddof=1)))
    mean, std = mean_std([0.5])
    assert mean == 0.5 and math.isnan(std)
    assert all(map(math.isnan, mean_std([])))


def enumerated(apart):
    sums = [
        sum(s * d for s, d in zip(signs, apart, strict=True)) for signs in product((1, -1), repeat=len(apart))
    ]
    return np.mean([abs(one) >= abs(sum(apart)) - 1e-9 for one in sums])


@settings(max_examples=60)
@given(st.lists(st.sampled_from([-2.0, -1.0, -0.1, 0.0, 0.1, 0.2, 0.3, 1.0]), min_size=1, max_size=8))
def test_few_pairs_are_enumerated(apart):
    found = paired_test(apart, np.zeros(len(apart)))
    assert found.p_value == pytest.approx(enumerated(apart))
    assert found.difference == pytest.approx(np.mean(apart))
    assert found.pairs == len(apart)


def test_the_randomisation_test_is_scipys():
    chance = np.random.default_rng(3)
    a = chance.normal(0.25, 1, 60)
    b = a * 0.5 + chance.normal(0, 1, 60)
    expected = stats.permutation_test(
        (a, b), lambda x, y: np.mean(x - y), permutation_type="samples", n_resamples=9999, rng=4
    )
    assert paired_test(a, b).p_value == pytest.approx(expected.pvalue, abs=0.02)
    assert paired_test(a, b, kind="bootstrap").p_value == pytest.approx(expected.pvalue, abs=0.04)


@pytest.mark.parametrize("kind", ["randomisation", "bootstrap"])
def test_alike_systems_are_seldom_called_different_and_different_ones_often(kind):
    chance = np.random.default_rng(11)
    alike = [paired_test(*chance.normal(0, 1, (2, 40)), kind=kind, draws=400).p_value for _ in range(200)]
    assert np.mean(np.array(alike) < 0.05) <= 0.09
    a = chance.normal(0, 1, 100)
    assert paired_test(a + 0.5 + chance.normal(0, 0.3, 100), a, kind=kind).p_value < 0.001
    assert paired_test(a, a, kind=kind).p_value == 1.0


@pytest.mark.parametrize("kind", ["randomisation", "bootstrap"])
def test_the_other_way_round_is_the_same_test(kind):
    a, b = np.random.default_rng(6).normal(0, 1, (2, 30))
    one, other = paired_test(a, b, kind=kind), paired_test(b, a, kind=kind)
    assert (one.difference, one.low, one.high) == pytest.approx((-other.difference, -other.high, -other.low))
    assert one.p_value == other.p_value
    assert one == paired_test(a, b, kind=kind)
    assert 1 / 10_001 <= one.p_value <= 1


def test_pairs_without_both_values_are_left_out():
    a, b = [1.0, math.nan, 3.0, 4.0], [0.0, 1.0, math.nan, 2.0]
    assert paired_test(a, b) == paired_test([1.0, 4.0], [0.0, 2.0])
    nothing = paired_test([math.nan], [1.0])
    assert nothing.pairs == 0 and math.isnan(nothing.p_value) and math.isnan(nothing.difference)


def test_several_seeds_are_averaged_for_each_example_first():
    a = np.random.default_rng(8).normal(0, 1, (3, 20))
    b = np.random.default_rng(9).normal(0, 1, (2, 20))
    assert paired_test(a, b) == paired_test(a.mean(axis=0), b.mean(axis=0))
    a[0, 4], a[:, 5] = math.nan, math.nan
    assert paired_test(a, b).pairs == 19


def test_a_bootstrap_tells_nothing_from_few_pairs_or_from_equal_differences():
    for apart in ([0.3], [0.1, 0.2, 0.3], np.linspace(0.1, 0.5, 19), np.full(50, 0.2)):
        found = paired_test(apart, np.zeros(len(apart)), kind="bootstrap")
        assert math.isnan(found.p_value) and found.difference == pytest.approx(np.mean(apart))
        assert 0 < paired_test(apart, np.zeros(len(apart))).p_value <= 1
    assert paired_test([0.3], [0.0]).p_value == 1.0  # both signs are as far from 0
    assert paired_test([0.3], [0.3], kind="bootstrap").p_value == 1.0
    assert paired_test(np.linspace(0.1, 0.5, 20), np.zeros(20), kind="bootstrap").p_value < 0.001


@pytest.mark.parametrize("kind", ["randomisation", "bootstrap"])
def test_pairs_tested_together_are_as_tested_alone(kind):
    a, b = np.random.default_rng(5).normal(0, 1, (2, 50))
    alike, few, gaps = a.copy(), a.copy(), b.copy()
    few[:3] += 1  # three differences are enumerated
    gaps[4] = math.nan
    pairs = [(a, b), (a, alike), (few, a), (a, gaps), (a, np.full(50, math.nan))]
    together = paired.paired_tests(pairs, draws=2000, kind=kind)
    alone = [paired.paired_test(*pair, draws=2000, kind=kind) for pair in pairs]
    for one, other in zip(together, alone, strict=True):
        assert (one.difference, one.pairs) == pytest.approx((other.difference, other.pairs), nan_ok=True)
        assert one.p_value == pytest.approx(other.p_value, abs=0.03, nan_ok=True)
        assert (one.low, one.high) == pytest.approx((other.low, other.high), abs=0.05, nan_ok=True)
    assert together[2].p_value == alone[2].p_value
    assert paired.paired_tests([], draws=10) == []


def test_unequal_examples_are_refused():
    with pytest.raises(ValueError, match="2 and of 1 examples"):
        paired_test([1, 2], [1])
    with pytest.raises(UserError, match="did you mean 'bootstrap'"):
        paired_test([1], [1], kind="boostrap")


def slow_holm(p_values):
    """The smallest level at which the step-down procedure rejects."""
    m, adjusted, largest = len(p_values), {}, 0.0
    for k, number in enumerate(sorted(range(m), key=lambda number: p_values[number])):
        largest = max(largest, min(1, p_values[number] * (m - k)))
        adjusted[number] = largest
    return [adjusted[number] for number in range(m)]


@given(P_VALUES)
def test_holm_is_the_step_down_procedure(p_values):
    known = [one for one in p_values if not math.isnan(one)]
    found = holm(p_values)
    assert np.isnan(found).tolist() == np.isnan(p_values).tolist()
    assert found[~np.isnan(found)].tolist() == pytest.approx(slow_holm(known))


@given(st.lists(st.floats(0, 1), min_size=1, max_size=12))
def test_the_correction_only_raises_and_keeps_the_order(p_values):
    raw, corrected = np.array(p_values), holm(p_values)
    assert (raw <= corrected + 1e-12).all() and (corrected <= 1).all()
    assert (np.diff(corrected[np.argsort(raw, kind="stable")]) >= 0).all()


def test_a_table_of_tests_keeps_its_shape():
    assert holm([[0.01, 0.5], [math.nan, 0.02]]).shape == (2, 2)
