"""Chunks cost least, hold no more than allowed, and give every row its own result."""

from dataclasses import replace
from itertools import combinations, pairwise

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch.utils.checkpoint import checkpoint

import tiny
from planted import planted
from unirex.encoding.batch import collate
from unirex.methods import resolve
from unirex.methods.building import build_system
from unirex.models.plan import ATTENTION, Activations, Limits, _limits, device_limits, plan, share_memory

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

    def gradient(saved, matrices=0.0, before=0.0):
        torch.manual_seed(1)
        limits, activations = Limits(chunk=6, overhead=0, saved=saved, matrices=matrices), Activations(before)
        chunks = plan(torch.tensor([3, 3, 1, 2, 2, 1]), limits)
        with torch.no_grad():
            chunks.run(work, limits, activations=activations)
        assert activations.kept == before  # nothing is kept without a backward pass
        del runs[-3:]
        torch.manual_seed(1)
        chunks.run(work, limits, activations=activations)[0].sum().backward()
        everything = before + sum(limits.kept(2 * width, width) for width in (1, 2, 3))
        assert (
            activations.kept == everything if everything <= saved else activations.kept <= max(before, saved)
        )
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
    runs.clear()
    assert torch.equal(gradient(saved=11, before=10), kept)  # what others keep for the same backward pass
    assert runs == [2, 2, 2, 2, 2, 2]


def test_limits_fit_the_encoder(encoders):
    encoder = tiny.build_model(encoders("bert"), extractor="random").task.encoder
    limits = device_limits(encoder)
    assert 0 < limits.overhead < limits.chunk <= limits.saved
    assert limits.matrices == 0  # of an encoder without dropout
    attention = device_limits(encoder.train()).matrices
    assert attention == pytest.approx(
        3.2 * encoder.config.num_attention_heads / (20 * encoder.config.hidden_size)
    )


def test_processes_share_the_memory_but_not_the_chunks(encoders, monkeypatch):
    monkeypatch.setattr("unirex.models.plan.memory", lambda _: 1 << 40)
    _limits.cache_clear()
    encoder = tiny.build_model(encoders("bert"), extractor="random").task.encoder
    alone = device_limits(encoder)
    with share_memory(2), share_memory(3):
        shared = device_limits(encoder)
    assert shared == replace(alone, saved=alone.saved // 6) and device_limits(encoder) == alone
    _limits.cache_clear()


@pytest.mark.parametrize("method", ["slm-fp", "dlm-fp"])
def test_all_that_is_kept_for_a_step_is_within_one_bound(learner, monkeypatch, method):
    """Texts, views and a second encoder together; what is beyond is computed again to the same gradients."""
    data = planted((12, 4, 4))
    system = build_system(method, data, resolve(method, None, {"encoder": str(learner), "pooling": "mean"}))
    encoded = list(system.text_encoder.encode(data["train"]))
    batch = collate(encoded, int(system.tokenizer.pad_token_id)).tensors()
    encoders = {part for part in (system.model.task, system.model.extractor) if hasattr(part, "encoder")}
    kept, found = [], []

    def note(module, args, options):
        if torch.is_grad_enabled():
            kept.append(options["inputs_embeds"].shape[:2].numel())

    def hidden(*args, **options):
        before = len(kept)
        result = checkpoint(*args, **options)
        del kept[before:]
        return result

    monkeypatch.setattr("unirex.models.plan.checkpoint", hidden)
    for saved in (1 << 30, 200):
        monkeypatch.setattr("unirex.models.plan._limits", lambda *_, saved=saved: Limits(24, 1, saved))
        torch.manual_seed(0)
        system.model.train().zero_grad()
        hooks = [part.encoder.register_forward_pre_hook(note, with_kwargs=True) for part in encoders]
        loss = system.model(**batch).loss
        for hook in hooks:
            hook.remove()
        loss.backward()
        found.append({name: p.grad for name, p in system.model.named_parameters() if p.grad is not None})
        assert sum(kept) > 400 if saved > 200 else 0 < sum(kept) <= 200
        kept.clear()
    assert found[0].keys() == found[1].keys()
    assert all(gradient.equal(found[1][name]) for name, gradient in found[0].items())
