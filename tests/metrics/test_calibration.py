"""Confidence beside accuracy: by hand, by a slow reference, and as a stream."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.calibration import calibration_curve

from unirex.metrics.calibration import (
    Bins,
    bin_numbers,
    drawn_calibration_errors,
    expected_calibration_error,
)

TEXTS = st.lists(st.tuples(st.floats(0, 1), st.booleans()), min_size=1, max_size=60)
BINS = st.sampled_from([1, 2, 3, 7, 10, 15, 100])


def slow_error(texts, bins):
    error = 0.0
    for number in range(bins):
        inside = [
            (sure, right)
            for sure, right in texts
            if number / bins < sure <= (number + 1) / bins or (sure == 0 and number == 0)
        ]
        if inside:
            sure, right = np.mean(np.array(inside, dtype=float), axis=0)
            error += len(inside) / len(texts) * abs(right - sure)
    return error


@given(TEXTS, BINS)
def test_the_error_is_the_weighted_mean_gap_of_the_bins(texts, bins):
    sure, right = zip(*texts, strict=True)
    error = expected_calibration_error(sure, right, bins=bins)
    assert error == pytest.approx(slow_error(texts, bins), abs=1e-12)


@given(TEXTS, BINS)
def test_a_stream_gives_the_same(texts, bins):
    stream = Bins(bins)
    for sure, right in texts:
        stream.add(sure, right)
    assert stream.error == pytest.approx(expected_calibration_error(*zip(*texts, strict=True), bins=bins))
    assert sum(row.texts for row in stream.rows) == len(texts)
    gaps = [row.texts * abs(row.accuracy - row.confidence) for row in stream.rows if row.texts]
    assert sum(gaps) / len(texts) == pytest.approx(stream.error)


@given(TEXTS, st.data())
def test_a_text_drawn_twice_is_two_texts(texts, data):
    sure, right = map(np.array, zip(*texts, strict=True))
    size = len(texts)
    draws = st.lists(st.integers(0, 3), min_size=size, max_size=size)
    times = np.array([data.draw(draws), data.draw(draws)])
    copied = [expected_calibration_error(np.repeat(sure, row), np.repeat(right, row)) for row in times]
    found = drawn_calibration_errors(sure, right, times)
    assert found.tolist() == pytest.approx(copied, abs=1e-12, nan_ok=True)


def test_the_bars_are_scikit_learns_reliability_diagram():
    draw = np.random.default_rng(0)
    sure, right = draw.random(500), draw.random(500) < 0.6
    stream = Bins(10)
    stream.add_all(sure, right)
    accuracy, confidence = calibration_curve(right, sure, n_bins=10)
    assert [row.accuracy for row in stream.rows] == pytest.approx(accuracy)
    assert [row.confidence for row in stream.rows] == pytest.approx(confidence)


@pytest.mark.parametrize("bins", [3, 10, 20, 100])
def test_a_bin_ends_with_its_upper_edge(bins):
    edges = [number / bins for number in range(1, bins + 1)]
    assert bin_numbers(edges, bins).tolist() == list(range(bins))
    assert bin_numbers(np.nextafter(edges[:-1], 1), bins).tolist() == list(range(1, bins))
    assert bin_numbers([0.0], bins).tolist() == [0]


def test_known_extremes():
    assert expected_calibration_error([1.0] * 4, [1] * 4) == 0.0
    assert expected_calibration_error([1.0] * 4, [0] * 4) == 1.0
    assert expected_calibration_error([0.75] * 4, [1, 1, 1, 0]) == 0.0
    assert math.isnan(expected_calibration_error([], []))
    assert math.isnan(Bins().error)
    assert all(math.isnan(row.accuracy) for row in Bins().rows)


def test_a_sum_of_softmax_a_little_above_one_is_a_probability():
    stream = Bins()
    stream.add(1 + 1e-7, True)
    assert stream.rows[-1].texts == 1 and stream.error == pytest.approx(0, abs=1e-6)


@pytest.mark.parametrize("confidence", [math.nan, -0.1, 1.5])
def test_what_is_no_probability_is_refused(confidence):
    with pytest.raises(ValueError, match="not a probability"):
        expected_calibration_error([0.5, confidence], [1, 0])
    with pytest.raises(ValueError, match="not a probability"):
        Bins().add(confidence, True)


def test_senseless_shapes_are_refused():
    with pytest.raises(ValueError, match="shape"):
        expected_calibration_error([0.5], [1, 0])
    with pytest.raises(ValueError, match="at least one"):
        expected_calibration_error([0.5], [1], bins=0)
