"""Who keeps gold is drawn once, uniformly and for good; whoever does not keep it shows none."""

import json
import os
import subprocess
import sys
from collections import Counter
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from unirex.data.example import Example
from unirex.encoding.gold import gold_share, gold_size, keep_gold, limit_gold
from unirex.errors import UserError

MARKED = (((0, 1),),)


def examples(size, annotated=lambda number: True):
    return [
        Example(f"n{i}", ("a text",), "x", MARKED, groups=(MARKED,))
        if annotated(i)
        else Example(f"n{i}", ("a",))
        for i in range(size)
    ]


@pytest.mark.parametrize(
    ("size", "fraction", "wanted"),
    [
        (200, 0.5, 1),
        (201, 0.5, 2),  # 1.005, rounded up
        (1, 0.5, 1),
        (100, 7, 7),  # 7 / 100 * 100 is 7.000000000000001 in floating point
        (1000, 0.1, 1),
        (6920, 20, 1384),
        (9, 100, 9),
    ],
)
def test_the_number_kept_is_rounded_up(size, fraction, wanted):
    assert gold_size(size, fraction) == wanted
    pool = keep_gold(examples(size), fraction, seed=0)
    assert len(pool.kept) == len(set(pool.kept)) == wanted
    assert sorted(pool.kept + pool.others) == list(range(size))


@given(st.integers(1, 60), st.floats(0, 100, exclude_min=True), st.integers(-3, 3), st.integers(1, 4))
def test_only_the_annotated_are_kept(size, fraction, seed, every):
    data = examples(size, lambda number: number % every == 0)
    pool = keep_gold(data, fraction, seed)
    annotated = [number for number, one in enumerate(data) if one.rationale]
    assert set(pool.kept) <= set(annotated)
    assert len(pool.kept) == min(gold_size(size, fraction), len(annotated)) > 0
    assert list(pool.ids) == [data[number].id for number in pool.kept]
    seen = limit_gold(data, pool)
    assert [number for number, one in enumerate(seen) if one.rationale is not None] == list(pool.kept)


@pytest.mark.parametrize("fraction", [0, -1, 100.5, float("nan"), float("inf")])
def test_other_fractions_are_refused(fraction):
    with pytest.raises(UserError, match=r"training\.gold_fraction .*above 0 and up to 100"):
        keep_gold(examples(4), fraction, seed=0)


def test_seeds_draw_apart_and_repeat():
    data = examples(300)
    assert keep_gold(data, 10, seed=1) == keep_gold(data, 10, seed=1)
    assert keep_gold(data, 10, seed=1).kept != keep_gold(data, 10, seed=2).kept


def test_the_draw_does_not_depend_on_the_hash_seed():
    code = (
        "from unirex.encoding.gold import keep_gold; from unirex.data.example import Example;"
        "print(keep_gold([Example(str(i), ('a',), 0, ((),)) for i in range(99)], 10, 5).kept)"
    )
    found = {
        subprocess.run(
            [sys.executable, "-c", code],
            env=os.environ | {"PYTHONHASHSEED": seed},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in ("0", "1")
    }
    data = [Example(str(i), ("a",), 0, ((),)) for i in range(99)]  # nothing marked is gold, too
    assert found == {f"{keep_gold(data, 10, 5).kept}\n"}


def test_every_example_is_as_likely():
    data = examples(20)
    kept = Counter(number for seed in range(2000) for number in keep_gold(data, 25, seed).kept)
    assert set(kept) == set(range(20))
    assert all(abs(count - 500) < 100 for count in kept.values())  # 5 standard deviations of sqrt(375)


def test_larger_fractions_keep_what_smaller_ones_keep():
    pools = [set(keep_gold(examples(400), fraction, seed=3).kept) for fraction in (0.5, 1, 5, 10, 20, 100)]
    assert all(small < large for small, large in pairwise(pools))


def test_too_few_annotated_are_all_kept_and_it_is_said(caplog):
    data = examples(100, lambda number: number < 12)
    pool = keep_gold(data, 20, seed=0)
    assert pool.kept == tuple(range(12)) and pool.limited
    assert "20 of 100 training examples should keep their gold, but only 12 have any" in caplog.text


def test_none_annotated_is_a_mistake_unless_nothing_was_asked_for(caplog):
    data = examples(10, lambda number: False)
    with pytest.raises(UserError, match="none has any"):
        keep_gold(data, 20, seed=0)
    assert keep_gold(data, 100, seed=0).kept == ()
    assert not caplog.text


def test_all_the_gold_there_is_limits_nothing(caplog):
    data = examples(10, lambda number: number % 2)
    pool = keep_gold(data, 100, seed=0)
    assert not pool.limited and not caplog.text
    assert limit_gold(data, pool) is data


def test_the_others_show_no_gold_in_any_form():
    data = examples(10)
    pool = keep_gold(data, 30, seed=0)
    seen = limit_gold(data, pool)
    assert len(seen) == 10 and [one.id for one in seen] == [one.id for one in data]
    for number in pool.others:
        assert seen[number].rationale is None and seen[number].groups == ()
        assert seen[number].label == "x" and seen[number].segments == ("a text",)
    assert all(seen[number] is data[number] for number in pool.kept)
    assert seen[-1] == seen[9] and seen[2:4] == [seen[2], seen[3]]
    with pytest.raises(IndexError):
        seen[10]
    assert all(one.rationale for one in data)  # the data itself is as it was


def test_the_record_names_the_kept(tmp_path):
    pool = keep_gold(examples(8), 25, seed=4)
    record = json.loads(json.dumps(pool.to_dict()))
    assert record == {
        "gold_fraction": 25,
        "gold_seed": 4,
        "examples": 8,
        "kept": 2,
        "kept_ids": [f"n{number}" for number in pool.kept],
    }


@pytest.mark.parametrize(
    ("batch_size", "factor", "share"),
    [(32, 2, 16), (32, 3, 10), (32, 64, 1), (2, 2, 1), (2, 1.01, 1), (5, 1.2, 4), (8, float("inf"), 1)],
)
def test_the_share_of_gold_in_a_batch(batch_size, factor, share):
    assert gold_share(batch_size, factor) == share


@pytest.mark.parametrize("factor", [1, 0.5, 0, -2, float("nan")])
def test_a_factor_that_leaves_no_room_is_refused(factor):
    with pytest.raises(UserError, match=r"training\.gold_factor .*must be above 1"):
        gold_share(32, factor)


def test_a_batch_size_that_leaves_no_room_is_refused():
    with pytest.raises(UserError, match=r"training\.batch_size 1: .*at least 2"):
        gold_share(1, 2)


@given(st.integers(2, 10_000), st.floats(1, 1e6, exclude_min=True))
def test_there_is_always_room_for_both(batch_size, factor):
    assert 1 <= gold_share(batch_size, factor) < batch_size
