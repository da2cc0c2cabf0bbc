"""Intervals cover what they should, tests equal enumeration and scipy, corrections their definitions."""

import math
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from unirex.errors import UserError
from unirex.metrics import bootstrap
from unirex.metrics.calibration import expected_calibration_error
from unirex.metrics.paired import (
    benjamini_hochberg,
    bootstrap_counts,
    bootstrap_interval,
    bootstrap_statistic,
    holm,
    mean_std,
    paired_statistic_test,
    paired_test,
)
from unirex.metrics.performance import macro_f1

CHANCE = np.random.default_rng(7)
SKEWED = CHANCE.gamma(2.0, size=200)
P_VALUES = st.lists(st.one_of(st.floats(0, 1), st.just(math.nan)), max_size=12)


def test_the_interval_is_scipys_percentile_interval():
    expected = stats.bootstrap((SKEWED,), np.mean, method="percentile", n_resamples=9999, rng=1)
    low, high = bootstrap_interval(SKEWED, draws=9999)
    assert (low, high) == pytest.approx(tuple(expected.confidence_interval), abs=0.01)


def test_intervals_cover_the_truth_about_as_often_as_they_say():
    chance = np.random.default_rng(0)
    columns = chance.exponential(size=(80, 400))  # 400 experiments of 80 examples, mean 1
    for level in (0.8, 0.95):
        low, high = bootstrap_interval(columns, level=level, draws=600)
        assert np.mean((low <= 1) & (high >= 1)) == pytest.approx(level, abs=0.05)


def test_one_seed_gives_one_interval_to_the_bit_and_another_seed_nearly_that():
    assert bootstrap_interval(SKEWED, seed=3) == bootstrap_interval(SKEWED, seed=3)
    assert bootstrap_interval(SKEWED, seed=3) != bootstrap_interval(SKEWED, seed=4)
    assert bootstrap_interval(SKEWED, seed=3) == pytest.approx(bootstrap_interval(SKEWED, seed=4), abs=0.03)


def test_the_order_of_examples_hardly_matters():
    mixed = np.random.default_rng(5).permutation(SKEWED)
    assert bootstrap_interval(mixed) == pytest.approx(bootstrap_interval(SKEWED), abs=0.03)


def test_metrics_side_by_side_have_the_intervals_they_have_alone():
    both = np.stack([SKEWED, -SKEWED], axis=1)
    low, high = bootstrap_interval(both)
    assert (low[0], high[0]) == pytest.approx(bootstrap_interval(SKEWED))
    assert (-high[1], -low[1]) == pytest.approx((low[0], high[0]))


def test_blocks_change_nothing(monkeypatch):
    whole = bootstrap_interval(SKEWED, draws=50)
    monkeypatch.setattr(bootstrap, "CELLS", 7 * len(SKEWED))
    assert bootstrap_interval(SKEWED, draws=50) == pytest.approx(whole, abs=0.1)
    assert sum(len(block) for block in bootstrap.resamples(200, 50, 0)) == 50
    assert all((block.sum(axis=1) == 200).all() for block in bootstrap.resamples(200, 50, 0))


def test_examples_without_a_value_are_left_out_of_the_mean():
    with_gaps = np.full(400, np.nan)
    with_gaps[::2] = SKEWED
    assert bootstrap_interval(with_gaps) == pytest.approx(bootstrap_interval(SKEWED), abs=0.03)
    low, high = bootstrap_interval([math.nan, math.nan, 5.0])  # some draws meet no value at all
    assert low == high == 5.0


@pytest.mark.parametrize("values", [[], [math.nan, math.nan]])
def test_no_values_have_no_interval(values):
    assert all(math.isnan(end) for end in bootstrap_interval(values))


def test_senseless_requests_are_refused():
    with pytest.raises(ValueError, match="level 95"):
        bootstrap_interval([1.0], level=95)
    with pytest.raises(ValueError, match="shape"):
        bootstrap_interval(np.zeros((1, 1, 1)))


def test_a_statistic_of_weights_that_is_a_mean_has_the_interval_of_the_mean():
    found = bootstrap_statistic(lambda times: float(times @ SKEWED / times.sum()), len(SKEWED))
    assert found == pytest.approx(bootstrap_interval(SKEWED))


def test_calibration_error_and_macro_f1_get_intervals():
    chance = np.random.default_rng(2)
    sure, gold = chance.uniform(0.5, 1, 300), chance.integers(0, 2, 300)
    predicted = np.where(chance.random(300) < 0.8, gold, 1 - gold)
    right = predicted == gold
    low, high = bootstrap_statistic(
        lambda times: expected_calibration_error(sure, right, weights=times), 300, draws=300
    )
    assert 0 < low < high < 0.3
    counts = np.array([[np.sum((predicted == p) & (gold == g)) for g in (0, 1)] for p in (0, 1)])

    def f1(table):
        return float(np.mean([2 * table[i, i] / (table[i].sum() + table[:, i].sum()) for i in (0, 1)]))

    found = bootstrap_counts(f1, counts)
    codes = predicted * 2 + gold
    slow = bootstrap_statistic(lambda times: f1(np.bincount(codes, times, 4).reshape(2, 2)), 300)
    assert found == pytest.approx(slow, abs=0.01)
    assert found[0] < macro_f1(predicted.tolist(), gold.tolist()) < found[1]
    assert all(math.isnan(end) for end in bootstrap_counts(f1, [[0, 0], [0, 0]]))


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


def test_unequal_examples_are_refused():
    with pytest.raises(ValueError, match="2 and of 1 examples"):
        paired_test([1, 2], [1])
    with pytest.raises(UserError, match="did you mean 'bootstrap'"):
        paired_test([1], [1], kind="boostrap")
    with pytest.raises(UserError, match="did you mean 'bootstrap'"):
        paired_statistic_test(lambda outputs, rows: 0.0, [1], [1], kind="boostrap")
    with pytest.raises(ValueError, match="must be"):
        paired_statistic_test(lambda outputs, rows: 0.0, [1, 2], [1])


def test_a_mean_as_a_statistic_gives_the_test_of_means():
    a, b = np.random.default_rng(12).integers(0, 2, (2, 9)).astype(float)
    found = paired_statistic_test(lambda outputs, rows: float(outputs.mean()), a, b)
    assert (found.difference, found.p_value) == pytest.approx((np.mean(a - b), paired_test(a, b).p_value))


def test_a_mean_as_a_statistic_has_the_bootstrap_of_means_too():
    a, b = np.random.default_rng(14).normal(0, 1, (2, 40))
    how = {"kind": "bootstrap", "draws": 2000}
    found = paired_statistic_test(lambda outputs, rows: float(outputs.mean()), a + 0.3, b, **how)
    assert found.p_value == pytest.approx(paired_test(a + 0.3, b, **how).p_value, abs=0.03)
    few = paired_statistic_test(lambda outputs, rows: float(outputs.mean()), a[:5] + 0.3, b[:5], **how)
    assert math.isnan(few.p_value) and not math.isnan(few.difference)
    assert paired_statistic_test(lambda outputs, rows: 1.0, [1], [1], **how).p_value == 1.0


def test_macro_f1_of_two_systems():
    chance = np.random.default_rng(13)
    gold = chance.choice(["neg", "pos"], 150)
    good = np.where(chance.random(150) < 0.9, gold, "pos")
    poor = np.where(chance.random(150) < 0.4, gold, "neg")

    def score(predicted, rows):
        return macro_f1(predicted.tolist(), gold[rows].tolist())

    found = paired_statistic_test(score, good, poor, draws=200)
    assert found.difference == pytest.approx(macro_f1(good, gold) - macro_f1(poor, gold))
    assert found.low < found.difference < found.high
    assert found.p_value == pytest.approx(1 / 201)
    assert paired_statistic_test(score, good, good, draws=50).p_value == 1.0
    assert paired_statistic_test(score, [], []).pairs == 0


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


@given(P_VALUES)
def test_benjamini_hochberg_is_scipys(p_values):
    known = [one for one in p_values if not math.isnan(one)]
    found = benjamini_hochberg(p_values)
    assert np.isnan(found).tolist() == np.isnan(p_values).tolist()
    expected = stats.false_discovery_control(known).tolist() if known else []
    assert found[~np.isnan(found)].tolist() == pytest.approx(expected)


@given(st.lists(st.floats(0, 1), min_size=1, max_size=12))
def test_corrections_only_raise_and_keep_the_order(p_values):
    raw, mild, strict = np.array(p_values), benjamini_hochberg(p_values), holm(p_values)
    assert (raw <= mild + 1e-12).all() and (mild <= strict + 1e-12).all() and (strict <= 1).all()
    order = np.argsort(raw, kind="stable")
    assert (np.diff(strict[order]) >= 0).all() and (np.diff(mild[order]) >= 0).all()


def test_a_table_of_tests_keeps_its_shape():
    assert holm([[0.01, 0.5], [math.nan, 0.02]]).shape == (2, 2)
