"""Bootstrap intervals cover what they should, and equal scipy's."""

import math

import numpy as np
import pytest
from scipy import stats

from unirex.metrics import bootstrap
from unirex.metrics.bootstrap import bootstrap_counts, bootstrap_interval, bootstrap_statistic
from unirex.metrics.calibration import drawn_calibration_errors
from unirex.metrics.performance import macro_f1, macro_f1_of

SKEWED = np.random.default_rng(7).gamma(2.0, size=200)


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
    monkeypatch.setattr(bootstrap, "BLOCK_CELLS", 7 * len(SKEWED))
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
    found = bootstrap_statistic(lambda times: times @ SKEWED / times.sum(-1), len(SKEWED))
    assert found == pytest.approx(bootstrap_interval(SKEWED))


def test_calibration_error_and_macro_f1_get_intervals():
    chance = np.random.default_rng(2)
    sure, gold = chance.uniform(0.5, 1, 300), chance.integers(0, 2, 300)
    predicted = np.where(chance.random(300) < 0.8, gold, 1 - gold)
    right = predicted == gold
    low, high = bootstrap_statistic(lambda times: drawn_calibration_errors(sure, right, times), 300)
    assert 0 < low < high < 0.3
    counts = np.array([[np.sum((predicted == p) & (gold == g)) for g in (0, 1)] for p in (0, 1)])

    def f1(tables):
        return macro_f1_of({(p, g): tables[:, p, g] for p in (0, 1) for g in (0, 1)})

    found = bootstrap_counts(f1, counts)
    slow = bootstrap_statistic(
        lambda block: [
            macro_f1(np.repeat(predicted, times).tolist(), np.repeat(gold, times).tolist()) for times in block
        ],
        300,
        draws=300,
    )
    assert found == pytest.approx(slow, abs=0.02)
    assert found[0] < macro_f1(predicted.tolist(), gold.tolist()) < found[1]
    assert all(math.isnan(end) for end in bootstrap_counts(f1, [[0, 0], [0, 0]]))
