"""Chunks cost least, hold no more than allowed, and give every row its own result."""

from itertools import combinations, pairwise

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

import tiny
from unirex.models.plan import ATTENTION, Limits, device_limits, plan

LENGTHS = st.lists(st.integers(1, 60), min_size=1, max_size=40)
LIMITS = st.builds(Limits, chunk=st.integers(1, 400), overhead=st.integers(0, 100), saved=st.just(1 << 30))


def cost(chunks, limits):
    return sum(
        limits.overhead + len(rows) * width * (1 + width / ATTENTION) for rows, width in chunks if len(rows)
    )


@given(LENGTHS, LIMITS)
def test_every_row_is_in_one_chunk_that_is_wide_enough_and_not_too_large(lengths, limits):
    made = plan(torch.tensor(lengths), limits)
    assert sorted(row for rows, _ in made.chunks for row in rows.tolist()) == list(range(len(lengths)))
    for rows, width in made.chunks:
        assert width == max(lengths[row] for row in rows)
        assert len(rows) == 1 or len(rows) * width <= limits.chunk
    assert made.tokens >= sum(lengths)


@given(st.lists(st.integers(1, 30), min_size=1, max_size=7), LIMITS)
def test_no_other_cut_of_the_sorted_rows_costs_less(lengths, limits):
    ordered = sorted(lengths)
    inner = range(1, len(ordered))
    found = cost(plan(torch.tensor(lengths), limits).chunks, limits)
    for count in range(len(ordered)):
        for cuts in combinations(inner, count):
            borders = [0, *cuts, len(ordered)]
            if any(ordered[cut - 1] == ordered[cut] for cut in cuts):
                continue  # rows of one length stay together, as far as they fit
            chunks = [(range(a, b), ordered[b - 1]) for a, b in pairwise(borders)]
            if all(len(rows) * width <= limits.chunk for rows, width in chunks):
                assert found <= cost(chunks, limits) + 1e-6


@given(LENGTHS, LIMITS)
def test_results_come_back_in_the_order_of_the_rows(lengths, limits):
    made = plan(torch.tensor(lengths), limits)
    numbers, widths = made.run(lambda rows, width: (rows, torch.full_like(rows, width)), limits)
    assert numbers.tolist() == list(range(len(lengths)))
    assert all(width >= length for width, length in zip(widths.tolist(), lengths, strict=True))


def test_costly_chunks_are_few_and_free_ones_are_not_padded():
    lengths = torch.tensor([3, 20, 3, 21, 40])
    assert len(plan(lengths, Limits(chunk=4096, overhead=10_000, saved=0)).chunks) == 1
    assert plan(lengths, Limits(chunk=4096, overhead=0, saved=0)).tokens == int(lengths.sum())


def test_what_is_not_saved_is_computed_again_and_gives_the_same_gradients():
    torch.manual_seed(0)
    layer, dropout = torch.nn.Linear(4, 4), torch.nn.Dropout(0.5)
    values, runs = torch.randn(6, 4), []

    def work(rows, width):
        runs.append(len(rows))
        return (dropout(layer(values[rows])).square(),)

    def gradient(saved, matrices=0.0):
        torch.manual_seed(1)
        limits = Limits(chunk=6, overhead=0, saved=saved, matrices=matrices)
        plan(torch.tensor([3, 3, 1, 2, 2, 1]), limits).run(work, limits)[0].sum().backward()
        found = layer.weight.grad.clone()
        layer.zero_grad()
        return found

    kept = gradient(saved=1 << 30)
    assert runs == [2, 2, 2]
    runs.clear()
    assert torch.equal(gradient(saved=3), kept)
    assert runs == [2, 2, 2, 2, 2]  # the last two once more
    runs.clear()
    assert torch.equal(
        gradient(saved=11, matrices=0.5), kept
    )  # 3 tokens, 8 and 15, with attention's matrices
    assert runs == [2, 2, 2, 2]


def test_limits_fit_the_encoder(encoders):
    encoder = tiny.build_model(encoders("bert"), extractor="random").task.encoder
    limits = device_limits(encoder)
    assert 0 < limits.overhead < limits.chunk <= limits.saved
    assert limits.matrices == 0  # of an encoder without dropout
    attention = device_limits(encoder.train()).matrices
    assert attention == pytest.approx(
        3.2 * encoder.config.num_attention_heads / (20 * encoder.config.hidden_size)
    )
