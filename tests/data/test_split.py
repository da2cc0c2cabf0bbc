"""Splits and samples keep the label distribution, lose nothing, and depend only on the seed."""

import os
import subprocess
import sys
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from unirex.data.example import Example
from unirex.data.split import (
    apportion,
    carve_dev,
    draw,
    first_rows,
    split_name,
    stratified_sample,
    stratified_split,
)
from unirex.data.validate import check_splits, label_order
from unirex.errors import UserError


def corpus(**counts):
    return [Example(f"{label}{n}", ("x",), label) for label, count in counts.items() for n in range(count)]


def ids(parts):
    return {name: [example.id for example in part] for name, part in parts.items()}


def test_shares_of_each_label():
    parts = stratified_split(corpus(a=100, b=30))
    assert {name: Counter(one.label for one in part) for name, part in parts.items()} == {
        "train": {"a": 80, "b": 24},
        "dev": {"a": 10, "b": 3},
        "test": {"a": 10, "b": 3},
    }


COUNTS = st.dictionaries(st.sampled_from("abcdef"), st.integers(1, 40), min_size=1).filter(
    lambda counts: max(counts.values()) >= 3
)


@given(COUNTS, st.floats(0.01, 0.45), st.floats(0.01, 0.45), st.integers())
def test_promises(counts, dev, test, seed):
    examples = corpus(**counts)
    parts = stratified_split(examples, dev=dev, test=test, seed=seed)
    assert sorted(one.id for part in parts.values() for one in part) == sorted(one.id for one in examples)
    shares = {"train": 1 - dev - test, "dev": dev, "test": test}
    for label, count in counts.items():
        got = {name: sum(one.label == label for one in part) for name, part in parts.items()}
        assert got["train"] >= 1
        assert count < 3 or min(got.values()) >= 1
        if all(count * share >= 1 for share in shares.values()):  # else the minimum may take from one
            assert all(abs(got[name] - count * share) < 1 + 1e-6 for name, share in shares.items())


def test_order_is_kept_and_seeds_differ():
    examples = corpus(a=40, b=40)
    first, again, other = (stratified_split(examples, seed=seed) for seed in (0, 0, 1))
    assert ids(first) == ids(again) != ids(other)
    place = {one.id: index for index, one in enumerate(examples)}
    assert all(part == sorted(part, key=lambda one: place[one.id]) for part in first.values())


def test_other_labels_do_not_move_a_label():
    def dev_of_a(examples):
        return [one.id for one in stratified_split(examples)["dev"] if one.label == "a"]

    assert dev_of_a(corpus(a=40, b=3)) == dev_of_a(corpus(b=50, a=40))


def test_hash_seed_does_not_matter():
    code = (
        "from unirex.data.example import Example as E; from unirex.data.split import *;"
        "print([e.id for e in stratified_split([E(str(i), ('x',), 'ab'[i % 2]) for i in range(60)])['dev']]);"
        "print(stratified_sample([('ab'[n % 2], n) for n in range(100)], (10,), seed=3))"
    )
    environments = [{**os.environ, "PYTHONHASHSEED": seed} for seed in "017"]
    printed = {subprocess.check_output([sys.executable, "-c", code], env=env) for env in environments}
    assert len(printed) == 1


def test_a_split_of_nothing_is_left_out():
    assert list(stratified_split(corpus(a=10), test=0)) == ["train", "dev"]
    assert list(stratified_split(corpus(a=1), dev=0, test=0)) == ["train"]


@pytest.mark.parametrize(("dev", "test"), [(-0.1, 0.1), (0.1, -0.1), (0.5, 0.5), (1, 0), (float("nan"), 0.1)])
def test_fractions_are_checked(dev, test):
    with pytest.raises(UserError, match="must be 0 or more and sum to less than 1"):
        stratified_split(corpus(a=10), dev=dev, test=test)


@pytest.mark.parametrize("counts", [{}, {"a": 1}, {"a": 2, "b": 2}])
def test_too_few_examples(counts):
    with pytest.raises(UserError, match="too few examples"):
        stratified_split(corpus(**counts))


def test_dev_is_carved_out_of_train():
    train, test = corpus(a=20, b=10), corpus(c=1)
    parts = carve_dev({"train": train, "test": test}, seed=5)
    assert list(parts) == ["train", "dev", "test"]
    assert Counter(one.label for one in parts["dev"]) == {"a": 2, "b": 1}
    assert parts["test"] is test
    assert "test" not in carve_dev({"train": train})
    with_dev = {"train": train, "dev": corpus(b=1)}
    assert carve_dev(with_dev) == with_dev


def test_aliases():
    names = ("train", "TRAINING", " val ", "development", "heldout")
    assert [split_name(name) for name in names] == ["train", "train", "dev", "dev", "test"]
    with pytest.raises(UserError, match="unknown split 'tets'; did you mean 'test'"):
        split_name("tets")


@pytest.mark.parametrize(
    ("parts", "message"),
    [
        ({}, "no training examples"),
        ({"train": []}, "no training examples"),
        ({"dev": corpus(a=1)}, "no training examples"),
        ({"train": corpus(a=4), "dev": corpus(b=1)}, "fewer than two classes in train: every label is 'a'"),
        (
            {"train": corpus(a=1, b=1), "dev": corpus(a=1), "test": corpus(b=2, c=2)},
            r"label 'c' of test \(first in example 'c0'\) is not in train",
        ),
    ],
)
def test_splits_that_cannot_be_learnt_from(parts, message):
    with pytest.raises(UserError, match=message):
        check_splits(parts)


@pytest.mark.parametrize(
    ("labels", "order"),
    [
        (["b", "a", "B"], ("B", "a", "b")),
        ([True, False], (False, True)),
        ([10, 9, -1], (-1, 9, 10)),
        ([2, 0.5], (0.5, 2)),
        ([], ()),
    ],
)
def test_label_order(labels, order):
    assert label_order(labels) == order
    assert label_order(labels[::-1] * 2) == order
    with pytest.raises(UserError, match="write all labels as one type"):
        label_order([*labels, "a", 1])


# Samples of streams


def stream(**counts):
    """Rows of several labels, mixed."""
    rows = [(label, f"{label}{n}") for label, count in counts.items() for n in range(count)]
    return sorted(rows, key=lambda row: row[1][::-1])


def test_the_mix_of_labels_is_kept():
    parts = stratified_sample(stream(a=750, b=250), (100, 40), seed=0)
    assert [Counter(row[0] for row in part) for part in parts] == [{"a": 75, "b": 25}, {"a": 30, "b": 10}]


@given(
    st.dictionaries(st.sampled_from("abc"), st.integers(1, 30), min_size=1),
    st.lists(st.integers(1, 12), min_size=1, max_size=3),
    st.integers(0, 3),
)
def test_sizes_are_met_and_nothing_is_drawn_twice(counts, sizes, seed):
    rows = stream(**counts)
    if sum(sizes) > len(rows):
        with pytest.raises(UserError, match=rf"only {len(rows)} usable rows, but .* are asked for"):
            stratified_sample(rows, sizes, seed=seed)
        return
    parts = stratified_sample(rows, sizes, seed=seed)
    drawn = [row for part in parts for row in part]
    assert [len(part) for part in parts] == sizes
    assert len(set(drawn)) == len(drawn)
    order = [row for _, row in rows]
    assert all(part == sorted(part, key=order.index) for part in parts)


@given(st.dictionaries(st.text(), st.integers(0, 50), min_size=1), st.data())
def test_shares_are_whole_and_fair(counts, data):
    total = sum(counts.values())
    if total:
        seats = data.draw(st.integers(0, total))
        shares = apportion(seats, counts)
        assert sum(shares.values()) == seats
        assert all(shares[name] <= counts[name] for name in counts)
        assert all(abs(shares[name] - seats * counts[name] / total) < 1 for name in counts)


def test_every_row_is_as_likely():
    """Of ten rows, three are drawn; each of them about 300 times in 1000."""
    rows = [("a", n) for n in range(10)]
    times = Counter(row for seed in range(1000) for row in stratified_sample(rows, (3,), seed=seed)[0])
    assert all(240 < times[n] < 360 for n in range(10))


def test_the_seed_decides_the_sample():
    assert stratified_sample(stream(a=99), (9,), seed=1) != stratified_sample(stream(a=99), (9,), seed=2)


def test_the_rest_is_not_held():
    class Row:
        alive = most = 0

        def __init__(self):
            Row.alive += 1
            Row.most = max(Row.most, Row.alive)

        def __del__(self):
            Row.alive -= 1

    stratified_sample((("ab"[n % 2], Row()) for n in range(5000)), (20, 5), seed=0)
    assert Row.most <= 2 * 25 + 3


def test_first_rows_read_no_further():
    def rows():
        yield from "abc"
        raise AssertionError("read too far")

    assert first_rows(rows(), (2, 1)) == [["a", "b"], ["c"]]
    with pytest.raises(UserError, match=r"only 3 usable rows, but 2 \+ 2 are asked for"):
        first_rows("abc", (2, 2))


def test_an_unknown_way_to_sample():
    with pytest.raises(UserError, match="unknown sample 'first'; did you mean 'first_n'"):
        draw([], (1,), sample="first", seed=0, place="here")
