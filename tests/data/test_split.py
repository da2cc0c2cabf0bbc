"""A split keeps the mix of labels, loses nobody, and is the same tomorrow."""

import os
import subprocess
import sys
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from unirex.data.example import Example
from unirex.data.split import carve_dev, split_name, stratified_split
from unirex.data.validate import check_splits, label_order
from unirex.errors import UserError


def corpus(**counts):
    return [Example(f"{label}{n}", ("x",), label) for label, count in counts.items() for n in range(count)]


def ids(parts):
    return {name: [one.id for one in part] for name, part in parts.items()}


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
        "from unirex.data.example import Example as E; from unirex.data.split import stratified_split as s;"
        "print([e.id for e in s([E(str(i), ('x',), 'ab'[i % 2]) for i in range(60)], seed=3)['dev']])"
    )
    runs = {
        subprocess.check_output([sys.executable, "-c", code], env={**os.environ, "PYTHONHASHSEED": seed})
        for seed in "017"
    }
    assert len(runs) == 1


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


def test_a_dev_that_is_there_is_left_alone():
    parts = {"train": corpus(a=20), "dev": corpus(b=1)}
    assert carve_dev(parts) == parts


@pytest.mark.parametrize(
    ("name", "split"),
    [
        ("train", "train"),
        ("TRAINING", "train"),
        (" val ", "dev"),
        ("development", "dev"),
        ("heldout", "test"),
    ],
)
def test_aliases(name, split):
    assert split_name(name) == split


def test_an_unknown_split():
    with pytest.raises(UserError, match="unknown split 'tets'; did you mean 'test'"):
        split_name("tets")


@pytest.mark.parametrize("parts", [{}, {"train": []}, {"dev": corpus(a=1)}])
def test_nothing_to_train_on(parts):
    with pytest.raises(UserError, match="no training examples"):
        check_splits(parts)


def test_one_class_is_not_enough():
    with pytest.raises(UserError, match="fewer than two classes in train: every label is 'a'"):
        check_splits({"train": corpus(a=4), "dev": corpus(b=1)})


def test_a_label_training_never_showed():
    with pytest.raises(UserError, match=r"label 'c' of test \(first in example 'c0'\) is not in train"):
        check_splits({"train": corpus(a=1, b=1), "dev": corpus(a=1), "test": corpus(b=2, c=2)})


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


def test_sorts_of_labels_do_not_mix():
    with pytest.raises(UserError, match="write all labels as one type"):
        label_order(["a", 1])
