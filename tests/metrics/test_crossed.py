"""Tests with people and items as random factors: hand-worked mean squares, false alarms, missing answers."""

import numpy as np
import pytest

from unirex.metrics.crossed import crossed_test, student_p, student_quantile, two_way_interval


def crossed(differences, *, people_effects=0.0, item_effects=0.0):
    """Answers in two arms whose differences by person and item are given."""
    people, items = differences.shape
    base = np.add.outer(np.arange(people) * people_effects, np.arange(items) * item_effects)
    values = np.stack([base + differences, base])  # [arms, people, items]
    arm, who, what = (axis.ravel() for axis in np.indices(values.shape))
    return values.ravel(), arm, who, what


def test_a_complete_study_gives_the_quasi_f_of_clark():
    generator = np.random.default_rng(1)
    d = (
        0.4
        + np.add.outer(generator.normal(size=5), generator.normal(size=12))
        + generator.normal(size=(5, 12))
    )
    people, items = d.shape
    rows, columns = d.mean(axis=1), d.mean(axis=0)
    by_person = items * rows.var(ddof=1)
    by_item = people * columns.var(ddof=1)
    rest = ((d - rows[:, None] - columns + d.mean()) ** 2).sum() / ((people - 1) * (items - 1))
    assert min(by_person, by_item) > rest
    top = by_person + by_item - rest
    df = top**2 / (
        by_person**2 / (people - 1) + by_item**2 / (items - 1) + rest**2 / ((people - 1) * (items - 1))
    )
    (found,) = crossed_test(*crossed(d, people_effects=3.0, item_effects=0.7), pairs=[(0, 1)])
    t = d.mean() / np.sqrt(top / d.size)
    assert found.difference == pytest.approx(d.mean())
    assert found.df == pytest.approx(df) and found.p_value == pytest.approx(student_p(t, df))
    assert (found.low + found.high) / 2 == pytest.approx(d.mean())


def test_student_agrees_with_printed_tables():
    for df, quantile in {1: 12.7062, 4: 2.77645, 10: 2.22814, 30: 2.04227, 120: 1.97993}.items():
        assert student_quantile(0.975, df) == pytest.approx(quantile, rel=1e-5)
        assert student_p(-quantile, df) == pytest.approx(0.05, rel=1e-4)


@pytest.mark.parametrize("rounds", [1, 3])
def test_false_alarms_are_as_rare_as_promised(rounds):
    """Arms are alike on average, but people and items have favourites; naive tests find a difference."""
    generator, alarms, repeats = np.random.default_rng(0), 0, 150
    who, what, turn = (axis.ravel() for axis in np.indices((6, 30, rounds)))
    arm = (who + what + turn) % 3
    for _ in range(repeats):
        effects = generator.normal(0, 0.4, (6, 3))[who, arm] + generator.normal(0, 0.6, (30, 3))[what, arm]
        values = effects + generator.normal(size=len(who)) + generator.normal(size=6)[who]
        alarms += crossed_test(values, arm, who, what, pairs=[(0, 1)])[0].p_value < 0.05
    assert alarms / repeats < 0.10


def test_effects_of_easy_items_do_not_count_in_an_incomplete_study():
    """Each text is seen in one arm by each person; only people and items differ, by a lot."""
    who, what = (axis.ravel() for axis in np.indices((4, 12)))
    arm = (who + what) % 4
    (found,) = crossed_test(10.0 * who + 5.0 * what + (arm == 1), arm, who, what, pairs=[(1, 0)])
    assert found.difference == pytest.approx(1.0)


def test_what_cannot_be_tested_is_nan():
    one_person = crossed_test([1, 2, 3, 5], [0, 0, 1, 1], [0] * 4, [0, 1, 0, 1], pairs=[(0, 1)])[0]
    assert one_person.difference == pytest.approx(-2.5) and np.isnan(one_person.p_value)
    values, *where = crossed(np.zeros((3, 4)))
    assert crossed_test(values, *where, pairs=[(0, 1)])[0].p_value == 1.0
    values, *where = crossed(np.ones((3, 4)))
    assert np.isnan(crossed_test(values, *where, pairs=[(0, 1)])[0].p_value)
    assert np.isnan(crossed_test([], [], [], [], pairs=[(0, 1)])[0].difference)


def test_intervals_over_people_and_items_are_wider_than_over_answers():
    generator = np.random.default_rng(0)
    values = np.add.outer(generator.normal(0, 1, 6), generator.normal(0, 1, 20))
    low, high = two_way_interval(values)
    assert low < values.mean() < high and high - low > 4 * values.std() / np.sqrt(values.size)
    values[0, :19] = np.nan
    assert all(np.isfinite(two_way_interval(values)))
    assert np.isnan(two_way_interval(values[:1])).all()
