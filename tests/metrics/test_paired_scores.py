"""Paired tests of scores equal those of means, and counting anew after every swap."""

import math
from functools import partial
from itertools import combinations

import numpy as np
import pytest

from unirex.errors import UserError
from unirex.metrics import paired_scores
from unirex.metrics.paired import paired_test
from unirex.metrics.performance import f1_keys, f1_terms, macro_f1, macro_f1_of

paired_score_tests = partial(paired_scores.paired_score_tests, draws=1000)


def terms_of(*seeds):
    """Values [seeds, N] as terms: the value, and 1 to count the examples."""
    return np.stack([np.asarray(seeds, dtype=float), np.ones((len(seeds), len(seeds[0])))], axis=-1)


def mean_score(totals):
    with np.errstate(invalid="ignore"):  # 0 / 0 without examples
        return (totals[..., 0] / totals[..., 1]).mean(axis=-1)


def test_a_mean_as_a_score_gives_the_test_of_means():
    a, b = np.random.default_rng(12).integers(0, 2, (2, 9)).astype(float)
    [found] = paired_score_tests(mean_score, [terms_of(a), terms_of(b)])
    assert (found.difference, found.p_value) == pytest.approx(
        (np.mean(a - b), paired_test(a, b, draws=1000).p_value)
    )


@pytest.mark.parametrize("kind", ["randomisation", "bootstrap"])
def test_many_means_as_scores_are_tested_as_means(kind):
    a, b = np.random.default_rng(14).normal(0, 1, (2, 40))
    gaps, few, how = b.copy(), a.copy(), {"kind": kind, "draws": 3000}
    gaps[7], few[:3] = math.nan, few[:3] + 0.5
    systems = [a + 0.3, b, gaps, few]
    found = paired_score_tests(mean_score, [terms_of(system) for system in systems], **how)
    for one, pair in zip(found, combinations(systems, 2), strict=True):
        mean = paired_test(*pair, **how)
        assert (one.difference, one.pairs) == pytest.approx((mean.difference, mean.pairs))
        assert one.p_value == pytest.approx(mean.p_value, abs=0.03, nan_ok=True)
        assert (one.low, one.high) == pytest.approx((mean.low, mean.high), abs=0.05)
    assert paired_score_tests(mean_score, [terms_of(a)]) == []
    nothing = terms_of(np.full(40, math.nan))
    assert [one.pairs for one in paired_score_tests(mean_score, [terms_of(a), nothing], **how)] == [0]


def test_a_bootstrap_of_scores_tells_nothing_from_few_pairs():
    a, b = np.random.default_rng(14).normal(0, 1, (2, 5))
    [few] = paired_score_tests(mean_score, [terms_of(a), terms_of(b)], kind="bootstrap")
    assert math.isnan(few.p_value) and not math.isnan(few.difference)
    [alike] = paired_score_tests(mean_score, [terms_of(a), terms_of(a)], kind="bootstrap")
    assert alike.p_value == 1.0


def test_unequal_numbers_of_seeds_are_swapped_together():
    a, b = np.random.default_rng(15).normal(0, 1, (2, 3, 30))
    [found] = paired_score_tests(mean_score, [terms_of(*a[:2]), terms_of(*b)], draws=5000)
    mean = paired_test(a[:2], b, draws=5000)
    assert found.difference == pytest.approx(mean.difference)
    assert found.p_value == pytest.approx(mean.p_value, abs=0.03)


def test_macro_f1_of_two_systems():
    """The p-value is that of swapping outputs one by one and counting anew."""
    chance, labels = np.random.default_rng(13), ["neg", "pos"]
    gold = chance.choice(labels, 150)
    good = np.where(chance.random(150) < 0.9, gold, "pos")
    poor, middling = (np.where(chance.random(150) < share, gold, "neg") for share in (0.4, 0.8))
    keys = f1_keys(labels)

    def score(totals):
        return macro_f1_of(dict(zip(keys, totals[:, 0].T, strict=True)), labels=labels)

    def terms(predicted):
        return [[f1_terms(*answer, labels) for answer in zip(predicted, gold, strict=True)]]

    systems = [good, middling, poor]
    found = paired_score_tests(score, [terms(predicted) for predicted in systems])
    for one, (a, b) in zip(found, combinations(systems, 2), strict=True):
        assert one.difference == pytest.approx(macro_f1(a, gold) - macro_f1(b, gold))
        assert one.low < one.difference < one.high
        swaps = [np.where(chance.random(150) < 0.5, [a, b], [b, a]) for _ in range(400)]
        apart = [macro_f1(x.tolist(), gold.tolist()) - macro_f1(y.tolist(), gold.tolist()) for x, y in swaps]
        expected = np.mean(np.abs(apart) >= abs(one.difference) - 1e-12)
        assert one.p_value == pytest.approx(expected, abs=0.05)
    assert found[2].p_value == pytest.approx(1 / 1001)
    assert [one.p_value for one in paired_score_tests(score, [terms(good)] * 2, draws=50)] == [1.0]
    assert [one.pairs for one in paired_score_tests(score, [np.zeros((1, 0, 6))] * 2)] == [0]


def test_wrong_input_is_refused():
    with pytest.raises(UserError, match="did you mean 'bootstrap'"):
        paired_score_tests(mean_score, [terms_of([1])] * 2, kind="boostrap")
    with pytest.raises(ValueError, match="must be"):
        paired_score_tests(mean_score, [terms_of([1, 2]), terms_of([1])])
