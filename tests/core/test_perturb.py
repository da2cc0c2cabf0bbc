"""Dropping tokens equals masking (or deleting, or replacing) them, for every family of encoders.

The references below are as naive as can be: static padding, one forward per view, nothing shared.
"""

import copy
import logging
from dataclasses import replace

import pytest
import torch
from torch import nn

import tiny
from unirex.errors import UserError
from unirex.models.plan import Limits
from unirex.models.task import Pass
from unirex.perturb import Perturber, drops_exactly
from unirex.select import top_k

BUDGETS = (1, 5, 10, 20, 50, 100)
EXACT = ("bert", "roberta", "distilbert", "bigbird", "modernbert")
INEXACT = {"mpnet": 0, "deberta-v2": 0, "bigbird-sparse": 28, "modernbert-local": 5}  # the longest exact text
POOLINGS = {"bert": "pooler", "roberta": "mean", "distilbert": "mean", "modernbert": "mean", "mpnet": "mean"}


def views(batch, budgets=BUDGETS):
    scores = torch.randn(batch.input_ids.shape, generator=torch.Generator().manual_seed(5))
    masks = top_k(scores, batch.selectable, budgets)
    return torch.cat([masks, ~masks])


def known(task, batch, logits):
    """A pass whose logits are given, so that it need not be run."""
    full = Pass(task, batch)
    vars(full)["_states"] = (None, logits)
    return full


def naive_logits(task, ids, mask, **positions):
    """Encoder, pooling and head written out."""
    if getattr(task.encoder.config, "attention_type", "") == "block_sparse":
        task.encoder.set_attention_type("block_sparse")  # as freshly loaded
    output = task.encoder(input_ids=ids, attention_mask=mask.long(), **positions)
    hidden = output.last_hidden_state
    pooled = {
        "cls": lambda: hidden[:, 0],
        "pooler": lambda: output.pooler_output,
        "mean": lambda: (hidden * mask[..., None]).sum(1) / mask.sum(1, keepdim=True),
    }[task.pooling]()
    return task.head(pooled)


def kept_tokens(batch, view):
    return (view | ~batch.selectable) & batch.attention_mask


def naive_masked(task, batch, kept, length):
    if getattr(task.encoder.config, "attention_type", "") == "block_sparse":
        # The sparse pattern depends on the padded length itself: each text by itself, without padding.
        alone = [(batch.rows(torch.tensor([n]), int(w)), int(w)) for n, w in enumerate(batch.lengths())]
        parts = [
            torch.cat(
                [naive_logits(task, one.input_ids, kept_tokens(one, view[n : n + 1, :w])) for view in kept]
            )
            for n, (one, w) in enumerate(alone)
        ]
        return torch.stack(parts, dim=1)
    pad = task.encoder.config.pad_token_id
    extra = length - batch.input_ids.shape[1]
    ids = nn.functional.pad(batch.input_ids, (0, extra), value=pad)
    rows = [nn.functional.pad(kept_tokens(batch, view), (0, extra), value=False) for view in kept]
    return torch.stack([naive_logits(task, ids, row) for row in rows])


def naive_deleted(task, batch, kept):
    rows = []
    for view in kept:
        chosen = kept_tokens(batch, view)
        short = [ids[flags][None] for ids, flags in zip(batch.input_ids, chosen, strict=True)]
        rows.append(torch.cat([naive_logits(task, ids, torch.ones_like(ids)) for ids in short]))
    return torch.stack(rows)


def naive_replaced(task, batch, kept, token):
    if getattr(task.encoder.config, "attention_type", "") == "block_sparse" and len(batch.input_ids) > 1:
        parts = []
        for n, width in enumerate(batch.lengths().tolist()):
            one = batch.rows(torch.tensor([n]), width)
            parts.append(naive_replaced(task, one, kept[:, n : n + 1, :width], token))
        return torch.cat(parts, dim=1)
    rows = []
    for view in kept:
        ids = batch.input_ids.clone()
        ids[batch.attention_mask & ~kept_tokens(batch, view)] = token
        offset = 2 if task.encoder.config.model_type in ("roberta", "mpnet") else 0
        places = torch.arange(ids.shape[1]).expand_as(ids) + offset
        rows.append(naive_logits(task, ids, batch.attention_mask, position_ids=places))
    return torch.stack(rows)


def close(found, expected, tolerance=1e-5):
    assert found.shape == expected.shape
    assert (found - expected).abs().max() <= tolerance * expected.abs().max()


@pytest.fixture(params=tiny.FAMILIES)
def family(request):
    return request.param


@pytest.fixture
def system(encoders, family):
    folder = encoders(family)
    model = tiny.build_model(folder, extractor="random", pooling=POOLINGS.get(family, "cls"))
    return model.task, copy.deepcopy(model.task), tiny.build_batch(folder)


@torch.no_grad()
@pytest.mark.parametrize("separators", [False, True])
def test_attention_masking_is_the_naive_masked_forward(encoders, family, system, separators):
    task, reference, _ = system
    batch = tiny.build_batch(encoders(family), separators=separators)
    kept = views(batch)
    expected = naive_masked(reference, batch, kept, tiny.POSITIONS - 2)
    close(Perturber("attention_mask").logits(Pass(task, batch), kept), expected)
    assert expected.std(0).mean() > 0.01  # the views differ, so that a mistake would show


@torch.no_grad()
def test_deletion_is_the_compacted_text(system, family):
    task, reference, batch = system
    kept = views(batch)
    close(Perturber("delete").logits(Pass(task, batch), kept), naive_deleted(reference, batch, kept))


@torch.no_grad()
@pytest.mark.parametrize("removal", ["mask_token", "pad_token"])
def test_replacement_keeps_positions_and_attention(system, removal, caplog):
    task, reference, batch = system
    pad = task.encoder.config.pad_token_id
    kept = views(batch)
    token = 4 if removal == "mask_token" else pad
    found = Perturber(removal, mask_token_id=4, pad_token_id=pad).logits(Pass(task, batch), kept)
    close(found, naive_replaced(reference, batch, kept, token))
    ours = [one for one in caplog.records if one.name.startswith("unirex")]
    assert not ours  # nothing is dropped, so there is nothing to warn of


def test_full_attention_drops_exactly(encoders, caplog):
    for family in EXACT:
        encoder = tiny.build_model(encoders(family), extractor="random").task.encoder
        assert drops_exactly(encoder, tiny.POSITIONS - 2), family
    assert not [record for record in caplog.records if record.name.startswith("unirex")]


@pytest.mark.parametrize("family", EXACT)
def test_low_precision_is_no_reason_to_mask(encoders, family):
    encoder = tiny.build_model(encoders(family), extractor="random").task.encoder
    with torch.autocast("cpu", torch.bfloat16):
        assert drops_exactly(encoder, 20)
    del encoder._unirex_drop_limit
    assert drops_exactly(encoder.to(torch.bfloat16), 20)


@pytest.mark.parametrize("family", INEXACT)
def test_families_that_count_by_index_are_found_and_told_of_once(encoders, family, caplog):
    caplog.set_level(logging.WARNING, logger="unirex")
    encoder = tiny.build_model(encoders(family), extractor="random").task.encoder
    limit = INEXACT[family]
    if limit:
        assert drops_exactly(encoder, limit)
        assert not [record for record in caplog.records if record.name.startswith("unirex")]
    for _ in range(2):
        assert not drops_exactly(encoder, limit + 1)
    (record,) = [record for record in caplog.records if record.name.startswith("unirex")]
    assert "masked, not dropped" in record.message
    assert (f"over {limit} tokens" if limit else "always") in record.message


@torch.no_grad()
@pytest.mark.parametrize("family", ["bigbird-sparse", "modernbert-local"])
def test_short_texts_of_local_attention_are_dropped(encoders, family):
    texts = ("a", "ab", "b") if family == "modernbert-local" else ("a film .", "dull . not bad", "people")
    model = tiny.build_model(encoders(family), extractor="random")
    batch = tiny.build_batch(encoders(family), texts)
    assert drops_exactly(model.task.encoder, batch.input_ids.shape[1])
    kept = views(batch)
    full = known(model.task, batch, model.task(batch))
    with tiny.counted(model.task.encoder) as shapes:
        Perturber().logits(full, kept[-1:])
    assert shapes == [(3, 2)]  # nothing is left but the two marks
    found = Perturber("attention_mask").logits(full, kept)
    close(found, naive_masked(model.task, batch, kept, batch.input_ids.shape[1]))


@torch.no_grad()
def test_bigbird_answers_alike_whatever_it_read_before(encoders):
    folder = encoders("bigbird-sparse")
    model = tiny.build_model(folder, extractor="random")
    long, short = tiny.build_batch(folder), tiny.build_batch(folder, ("a film .", "dull ."))
    before = model.task(long)
    model.task(short)  # transformers would now stay with full attention
    assert torch.equal(model.task(long), before)
    always_full = tiny.build_model(folder, extractor="random").task
    always_full.encoder.config.attention_type = "original_full"
    always_full.encoder.set_attention_type("original_full")
    close(always_full(short), model.task(short))
    assert (always_full(long) - before).abs().max() > 0.01  # so the switch would have shown


@torch.no_grad()
def test_equal_views_are_run_once(encoders):
    folder = encoders("bert")
    task = tiny.build_model(folder, extractor="random").task
    batch = tiny.build_batch(folder)
    kept = views(batch, (20, 50))
    assert drops_exactly(task.encoder, kept.shape[-1])  # found out before passes are counted
    full = known(task, batch, task(batch))
    with tiny.counted(task.encoder) as once:
        first = Perturber().logits(full, kept)
    with tiny.counted(task.encoder) as thrice:
        again = Perturber().logits(full, torch.cat([kept, kept, kept]))
    copies = again.unflatten(0, (3, -1))
    assert all(torch.equal(copy, copies[0]) for copy in copies)
    close(copies[0], first)
    assert thrice == once
    distinct = {
        (row, tuple(kept_tokens(batch, view)[row].tolist()))
        for view in kept
        for row in range(len(batch.input_ids))
    }
    assert sum(rows for rows, _ in once) == len(distinct)
    tokens = sum(sum(flags) for _, flags in distinct)
    assert tokens <= sum(rows * width for rows, width in once) < kept.numel()


@torch.no_grad()
def test_views_that_keep_everything_reuse_the_given_logits(encoders):
    folder = encoders("bert")
    task = tiny.build_model(folder, extractor="random").task
    batch = tiny.build_batch(folder)
    everything = torch.ones(3, *batch.input_ids.shape, dtype=torch.bool)
    full = torch.randn(len(batch.input_ids), 2)
    assert drops_exactly(task.encoder, everything.shape[-1])
    with tiny.counted(task.encoder) as shapes:
        found = Perturber().logits(known(task, batch, full), everything)
        assert shapes == []
        mixed = Perturber().logits(known(task, batch, full), torch.cat([everything[:1], ~everything[:1]]))
    assert torch.equal(found, full.expand(3, -1, -1))
    assert torch.equal(mixed[0], full)
    assert sum(rows for rows, _ in shapes) == len(full)


def test_gradient_reaches_the_reused_logits(encoders):
    folder = encoders("bert")
    task = tiny.build_model(folder, extractor="random").task
    batch = tiny.build_batch(folder)
    full = torch.randn(len(batch.input_ids), 2, requires_grad=True)
    Perturber().logits(known(task, batch, full), batch.attention_mask[None].repeat(2, 1, 1)).sum().backward()
    assert torch.equal(full.grad, torch.full_like(full, 2))


@torch.no_grad()
@pytest.mark.parametrize("removal", ["attention_mask", "delete"])
def test_everything_removed_leaves_the_special_tokens(encoders, removal):
    # T3: with separators selectable only [CLS] is left; the whole rationale is the whole text, exactly.
    folder = encoders("bert")
    task = tiny.build_model(folder, extractor="random").task
    batch = tiny.build_batch(folder, separators=True)
    nothing = torch.zeros(1, *batch.input_ids.shape, dtype=torch.bool)
    found = Perturber(removal).logits(Pass(task, batch), nothing)
    alone = naive_logits(task, batch.input_ids[:1, :1], torch.ones(1, 1))
    close(found[0], alone.expand(len(batch.input_ids), -1))
    full = task(batch)
    kept = top_k(torch.randn(batch.input_ids.shape), batch.selectable, (100,))
    assert torch.equal(Perturber(removal).logits(known(task, batch, full), kept)[0], full)


@torch.no_grad()
def test_chunks_bound_memory_and_change_nothing(encoders, monkeypatch):
    folder = encoders("roberta")
    task = tiny.build_model(folder, extractor="random").task
    batch = tiny.build_batch(folder)
    kept = views(batch)
    whole = Perturber().logits(Pass(task, batch), kept)
    monkeypatch.setattr("unirex.models.task.device_limits", lambda _: Limits(100, overhead=0, saved=0))
    full = known(task, batch, task(batch))
    with tiny.counted(task.encoder) as shapes:
        close(Perturber().logits(full, kept), whole)
    assert all(rows == 1 or rows * width <= 100 for rows, width in shapes)


def test_the_mode_is_left_as_found(encoders):
    task = tiny.build_model(encoders("bert"), extractor="random").task.train()
    drops_exactly(task.encoder, 10)
    assert all(module.training for module in task.modules())


def test_unknown_or_impossible_removals_say_what_there_is():
    with pytest.raises(
        UserError, match=r"unknown removal 'erase'.*attention_mask, delete, mask_token, pad_token"
    ):
        Perturber("erase")
    with pytest.raises(UserError, match="no mask token; use 'pad_token'"):
        Perturber("mask_token")


@torch.no_grad()
@pytest.mark.parametrize("removal", ["attention_mask", "delete"])
def test_sparse_answers_do_not_depend_on_the_texts_beside_them(encoders, removal):
    folder = encoders("bigbird-sparse")
    task, batch = tiny.build_model(folder, extractor="random").task, tiny.build_batch(folder)
    kept = views(batch)
    together = Perturber(removal).logits(Pass(task, batch), kept)
    for row, width in enumerate(batch.lengths().tolist()):
        one = batch.rows(torch.tensor([row]), width)
        alone = Perturber(removal).logits(Pass(task, one), kept[:, row : row + 1, :width])
        close(together[:, row : row + 1], alone)


@torch.no_grad()
@pytest.mark.parametrize("removal", ["attention_mask", "delete"])
def test_where_nothing_is_left_nothing_is_seen(encoders, removal):
    """A text without special tokens that loses everything says the same whatever it was."""
    task = tiny.build_model(encoders("bert"), extractor="random", pooling="mean").task
    batch = tiny.build_batch(encoders("bert"), ("a film .", "dull . not bad"))
    texts = batch.attention_mask & ~batch.special
    bare = replace(batch, special=texts & False, selectable=texts, attention_mask=texts)
    bare = replace(bare, input_ids=bare.input_ids.roll(-1, 1), attention_mask=texts.roll(-1, 1))
    bare = replace(bare, selectable=bare.attention_mask)
    nothing = torch.zeros((1, *bare.input_ids.shape), dtype=torch.bool)
    logits = Perturber(removal).logits(Pass(task, bare), nothing)
    assert torch.isfinite(logits).all()
    close(logits[0, 0], logits[0, 1])
