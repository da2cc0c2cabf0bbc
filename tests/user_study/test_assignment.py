"""Plans of questions: every arm equally often, no text twice in a round, the same for the same seed."""

from collections import Counter
from itertools import pairwise

import pytest
from studies import definition

from unirex.user_study.assignment import plan_questions, williams_square


@pytest.mark.parametrize("size", [1, 2, 3, 4, 5, 6, 7])
def test_squares_balance_places_and_neighbours(size):
    square = williams_square(size)
    assert all(sorted(row) == list(range(size)) for row in square)
    for place in range(size):
        assert len(set(Counter(row[place] for row in square).values())) == 1
    after = Counter(pair for row in square for pair in pairwise(row))
    assert len(after) == size * (size - 1) and len(set(after.values())) <= 1


def test_every_person_sees_every_text_in_every_arm_once():
    study = definition()
    plan = [row for row in plan_questions(study, 3) if row.part == "main"]
    for task, arms in (("simulation", 4), ("rating", 3)):
        asked = [(row.item, row.arm) for row in plan if row.task == task]
        assert len(asked) == len(set(asked)) == 8 * arms
        assert Counter(arm for _, arm in asked) == dict.fromkeys(study.arms_of(task), 8)
        for start in range(0, len(asked), 8):  # a round
            assert len({item for item, _ in asked[start : start + 8]}) == 8
        gaps = [
            abs(a - b) for a, (x, _) in enumerate(asked) for b, (y, _) in enumerate(asked) if a < b and x == y
        ]
        assert min(gaps) >= 4


def test_one_round_spreads_arms_over_people():
    study = definition(rounds=1, tasks=("simulation",))
    plans = [[row for row in plan_questions(study, person) if row.part == "main"] for person in range(4)]
    assert all(
        Counter(row.arm for row in plan) == dict.fromkeys(study.arms_of("simulation"), 2) for plan in plans
    )
    cells = Counter((row.item, row.arm) for plan in plans for row in plan)
    assert len(cells) == 8 * 4 and set(cells.values()) == {1}


def test_plans_are_seeded_and_differ_between_people():
    assert plan_questions(definition(), 1) == plan_questions(definition(), 1)
    assert plan_questions(definition(), 1) != plan_questions(definition(), 2)
    assert plan_questions(definition(), 1) != plan_questions(definition(seed=1), 1)


def test_the_right_label_is_the_predicted_one_and_for_oracles_the_target():
    study = definition()
    for row in plan_questions(study, 0):
        if row.task == "simulation" and row.part != "check":
            target = study.items[row.item].showings["Gold"].label
            assert (row.right == target) == (row.arm != "B")  # B is always wrong


def test_learning_items_are_apart_from_the_tests_before_and_after():
    study = definition(design="learning", sizes={"main": 6, "practice": 1, "check": 1, "learning": 3})
    plan = plan_questions(study, 0)
    parts = [row.part for row in plan if row.part not in ("practice", "check")]
    assert parts == ["learning"] * 3 + ["pre"] * 6 + ["learning"] * 3 + ["post"] * 6
    learnt = [row for row in plan if row.part == "learning"]
    assert [row.marked for row in learnt] == [False] * 3 + [True] * 3
    tests = [row for row in plan if row.part in ("pre", "post")]
    checks = [row for row in plan if row.part == "check"]
    assert len(checks) == 1 and not any(row.marked for row in [*tests, *checks])
    assert not {row.item for row in learnt} & {row.item for row in tests}
    assert {row.arm for row in tests} == {"A"}
    assert {row.arm for row in plan_questions(study, 1) if row.part == "pre"} == {"B"}
