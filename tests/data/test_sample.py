"""A sample has the sizes asked for and the mix of the whole, and does not hold the whole."""

import os
import subprocess
import sys
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from unirex.data.split import apportion, draw, first_rows, stratified_sample
from unirex.errors import UserError


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


def test_only_the_seed_matters():
    code = (
        "from unirex.data.split import stratified_sample as s;"
        "print(s([('ab'[n % 2], n) for n in range(100)], (10,), seed=3))"
    )
    runs = {
        subprocess.check_output([sys.executable, "-c", code], env={**os.environ, "PYTHONHASHSEED": seed})
        for seed in "01"
    }
    assert len(runs) == 1
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
