"""What holds for any records: their order does not matter, and files keep them."""

import random
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from unirex.evaluation.record_files import read_records, write_records
from unirex.evaluation.records import Draw, Probes, Record, Scored, Views
from unirex.evaluation.summary import Summary

LABELS = ("neg", "pos", "meh")
BUDGETS = (10.0, 50.0)

shares = st.floats(0.0, 1.0, allow_subnormal=False)


@st.composite
def distributions(draw, count):
    """So many probability distributions over the labels."""
    rows = [[draw(st.floats(0.01, 1.0)) for _ in LABELS] for _ in range(count)]
    return tuple(tuple(value / sum(row) for value in row) for row in rows)


@st.composite
def records(draw, number=0):
    """One example of a few tokens, with or without gold, draws and probes."""
    count = draw(st.integers(1, 6))
    scores = st.tuples(*[st.integers(-8, 8).map(lambda n: n / 4)] * count)
    marks = st.lists(st.integers(0, count - 1), unique=True).map(lambda some: tuple(sorted(some)))
    selected = st.tuples(*[marks for _ in BUDGETS])
    views = st.builds(Views, st.just("delete"), distributions(2), distributions(2))
    probes = st.builds(
        Probes,
        empty=distributions(1).map(lambda some: some[0]),
        first=distributions(1).map(lambda some: some[0]),
        deletion=distributions(count),
        insertion=distributions(count),
        left_out=st.tuples(*[shares] * count),
    )
    gold = st.one_of(st.none(), st.tuples(*[st.booleans()] * count))
    scored = Scored(
        tuple((0, 2 * at, 2 * at + 1) for at in range(count)), draw(scores), draw(gold), draw(selected)
    )
    predicted = draw(st.sampled_from(LABELS))
    return Record(
        id=str(number),
        segments=(" ".join("abcdef"[:count]),),
        label=draw(st.sampled_from(LABELS)),
        predicted=predicted,
        labels=LABELS,
        probabilities=draw(distributions(1))[0],
        sequences=(scored,),
        budgets=BUDGETS,
        target=predicted,
        views=(draw(views), replace(draw(views), removal="mask_token")),
        draws=(Draw((draw(scores),), (draw(selected),), draw(views)),),
        probes=draw(st.one_of(st.none(), probes)),
        seconds=draw(shares),
    )


many = st.lists(records(), min_size=1, max_size=6).map(
    lambda some: [replace(one, id=str(number)) for number, one in enumerate(some)]
)


@settings(max_examples=25)
@given(many, st.randoms(use_true_random=False))
def test_the_order_of_the_examples_does_not_matter(some, chance: random.Random):
    shuffled = list(some)
    chance.shuffle(shuffled)
    assert Summary.of("ours", shuffled, LABELS).metrics == pytest.approx(
        Summary.of("ours", some, LABELS).metrics, rel=1e-12, abs=1e-15
    )


@settings(max_examples=25)
@given(many)
def test_every_number_comes_out_of_the_files_again_bit_for_bit(tmp_path_factory, some):
    folder = tmp_path_factory.mktemp("records")
    whole = Summary.of("all", some, LABELS)
    for ending in ("jsonl", "parquet"):
        path = folder / f"records.{ending}"
        write_records(path, some)
        assert list(read_records(path)) == some
        again = Summary.of("all", read_records(path), LABELS)
        assert again.metrics == whole.metrics
        assert {n: m for n, (m, _) in again.floor_metrics.items()} == {
            n: m for n, (m, _) in whole.floor_metrics.items()
        }


@settings(max_examples=25)
@given(many)
def test_labels_are_known_from_the_records_themselves(some):
    assert Summary.of("ours", some).metrics == Summary.of("ours", some, LABELS).metrics
