"""Long texts: every policy reads what it says, and windows read all of it, exactly."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

import tiny
from unirex.data.example import Example
from unirex.encoding.batch import Batch, collate
from unirex.encoding.encode import TextEncoder
from unirex.models.task import Pass
from unirex.models.windows import split
from unirex.perturb import Perturber
from unirex.select import top_k

WORDS = ("a", "film", "dull", "good", "plot", "the", "and", "is")
LONG = " ".join(WORDS[n % len(WORDS)] for n in range(60))
LIMIT = 20


def encoder(kind="wordpiece", truncation="head", limit=LIMIT):
    return TextEncoder(tiny.tokenizer(kind), limit, ("neg", "pos"), truncation=truncation)


def words_read(truncation, gold=None, segments=(LONG,)):
    """The words of the long text that are read under a policy."""
    example = Example("x", segments, "neg", gold)
    (one,) = encoder(truncation=truncation).encode([example])
    (tokens,) = one.sequences
    spans = [
        tuple(span)
        for span, special in zip(tokens.spans.tolist(), tokens.special, strict=True)
        if not special
    ]
    return [(segment, start) for segment, start, _ in spans], one.truncated


def starts(text):
    return [place for place in range(len(text)) if place == 0 or text[place - 1] == " "]


def test_policies_read_what_they_say():
    begin = starts(LONG)
    room = LIMIT - 2  # [CLS], [SEP]
    pieces = len(encoder(limit=10_000).pieces([LONG])[LONG])
    assert pieces == 60, "one token a word, or the arithmetic below is wrong"
    expected = {
        "head": begin[:room],
        "tail": begin[-room:],
        "head_tail": begin[:9] + begin[-9:],
        "gold_aware": begin[:room],  # nobody marked anything
    }
    for truncation, places in expected.items():
        read, cut = words_read(truncation)
        assert [start for _, start in read] == places, truncation
        assert cut == 60 - room
    read, cut = words_read("windows")
    assert ([start for _, start in read], cut) == (begin, 0)


def test_gold_aware_takes_the_end_only_if_the_head_has_no_gold():
    begin = starts(LONG)
    late, early = (begin[40], begin[40] + 1), (begin[3], begin[3] + 1)
    assert words_read("gold_aware", ((late,),))[0][0] == (0, begin[-18])
    assert words_read("gold_aware", ((early, late),))[0][0] == (0, 0)


def test_of_two_segments_the_longer_gives_way():
    read, cut = words_read("head", segments=(LONG, "a dull film"))
    assert [segment for segment, _ in read].count(1) == 3
    assert [segment for segment, _ in read].count(0) == LIMIT - 3 - 3  # [CLS] … [SEP] … [SEP], three words
    assert cut == 60 - 14


def window_batch(texts, *, limit=LIMIT, kind="wordpiece", gold=None):
    tokens = encoder(kind, "windows", limit)
    made = tokens.encode(
        [
            Example(str(n), text if isinstance(text, tuple) else (text,), "neg", gold)
            for n, text in enumerate(texts)
        ]
    )
    return collate(made, tokens.tokenizer.pad_token_id)


@given(st.integers(1, 90), st.integers(8, 30), st.integers(1, 40), st.booleans())
def test_windows_cover_every_token_and_repeat_the_rest(words, limit, stride, pair):
    text = " ".join(WORDS[n % len(WORDS)] for n in range(words))
    batch = window_batch([(text, "a dull")] if pair else [text], limit=limit)
    windows = split(batch, limit, stride)
    length = int(batch.attention_mask.sum())
    if length <= limit:
        assert windows is None
        return
    fixed = (batch.attention_mask & ~batch.sliding)[0].nonzero().flatten().tolist()
    seen = set()
    for place, present in zip(windows.place, windows.rows.attention_mask, strict=True):
        places = place[present].tolist()
        assert places == sorted(set(places))
        assert len(places) <= limit
        assert set(fixed) <= set(places)
        moving = [one for one in places if one not in fixed]
        assert moving == list(range(moving[0], moving[-1] + 1)), "a window shows an unbroken part"
        seen |= set(places)
    assert seen == set(range(length))
    assert torch.equal(windows.rows.input_ids[0, : len(fixed)][:1], batch.input_ids[0, :1])


def by_hand(task, batch, kept, limit, stride):
    """Logits of one long text with only the tokens `kept`, masked window by window."""
    length = int(batch.attention_mask.sum())
    moving = batch.sliding[0].nonzero().flatten().tolist()
    fixed = [n for n in range(length) if n not in moving]
    room = limit - len(fixed)
    begins = sorted({*range(0, len(moving) - room, stride), len(moving) - room})
    total, weights = torch.zeros(2), 0
    for begin in begins:
        places = sorted([*fixed, *moving[begin : begin + room]])
        mask = torch.tensor([[bool(kept[place]) for place in places]]).long()
        shown = sum(bool(kept[place]) for place in moving[begin : begin + room])
        hidden = task.encoder(input_ids=batch.input_ids[:, places], attention_mask=mask).last_hidden_state
        pooled = (hidden * mask[..., None]).sum(1) / mask.sum()
        total, weights = total + shown * task.head(pooled)[0], weights + shown
    return total / weights


@torch.no_grad()
@pytest.mark.parametrize("family", ["bert", "roberta", "mpnet"])
def test_views_of_a_long_text_are_those_written_out_by_hand(encoders, family):
    folder = encoders(family)
    model = tiny.build_model(
        folder, extractor="random", pooling="mean", max_length=LIMIT, truncation="windows", stride=7
    )
    batch = window_batch([LONG], kind=tiny.TOKENIZERS[family])
    full = Pass(model.task, batch)
    everything = batch.attention_mask[0]
    torch.testing.assert_close(
        full.logits[0], by_hand(model.task, batch, everything, LIMIT, 7), atol=1e-5, rtol=1e-5
    )
    scores = torch.randn(batch.input_ids.shape, generator=torch.Generator().manual_seed(0))
    masks = top_k(scores, batch.selectable, (5, 20, 50))
    found = Perturber("attention_mask").logits(full, masks)
    for view, mask in zip(found, masks, strict=True):
        kept = (mask[0] | ~batch.selectable[0]) & everything
        torch.testing.assert_close(view[0], by_hand(model.task, batch, kept, LIMIT, 7), atol=1e-5, rtol=1e-5)


@torch.no_grad()
def test_a_text_shortened_by_deletion_needs_fewer_windows(encoders):
    folder = encoders("bert")
    model = tiny.build_model(folder, extractor="random", max_length=LIMIT, truncation="windows")
    batch = window_batch([LONG])
    full = Pass(model.task, batch)
    kept = torch.zeros_like(batch.attention_mask)
    kept[0, 5:15] = True
    end = batch.input_ids.shape[1] - 1
    alone = Batch(batch.input_ids[:, [0, *range(5, 15), end]], *[torch.ones(1, 12, dtype=torch.bool)] * 3)
    expected = Pass(model.task, alone).logits
    with tiny.counted(model.task.encoder) as shapes:
        assert full.text_logits.shape == (1, 2)
        run = len(shapes)
        found = Perturber("delete").logits(full, kept[None])
    assert shapes[run:] == [(1, 12)]
    torch.testing.assert_close(found[0], expected, atol=1e-5, rtol=1e-5)


@torch.no_grad()
def test_windows_that_lose_nothing_are_not_run_again(encoders):
    model = tiny.build_model(
        encoders("bert"), extractor="random", max_length=LIMIT, truncation="windows", stride=18
    )
    batch = window_batch([LONG])
    full = Pass(model.task, batch)
    assert full.windows is not None
    assert full.row_logits.shape == (4, 2)
    kept = batch.attention_mask.clone()
    kept[0, 2] = False  # in the first window only
    Perturber().logits(full, kept[None])  # finds out whether dropping is exact
    with tiny.counted(model.task.encoder) as shapes:
        Perturber().logits(full, kept[None])
    assert shapes == [(1, LIMIT - 1)]


@pytest.mark.parametrize(
    "extractor", ["gradient", "input-x-gradient", "integrated-gradients", "deeplift", "shared-lm", "dual-lm"]
)
def test_every_extractor_scores_every_token_of_a_long_text(encoders, extractor):
    model = tiny.build_model(encoders("bert"), extractor=extractor, max_length=LIMIT, truncation="windows")
    batch = window_batch([LONG, "a dull film"])
    with torch.no_grad():
        scores = model.step(batch).scores
    assert scores.shape == batch.input_ids.shape
    assert (scores[0][batch.selectable[0]] != 0).all()
    assert (scores[1][~batch.attention_mask[1]] == 0).all(), "nothing at padding"
    with torch.no_grad():
        alone = model.step(window_batch([LONG])).scores
    torch.testing.assert_close(scores[:1], alone, atol=1e-4, rtol=1e-4)


@pytest.mark.parametrize("extractor", ["integrated-gradients", "shared-lm", "dual-lm"])
def test_a_text_longer_than_the_position_table_is_read(encoders, extractor):
    model = tiny.build_model(encoders("bert"), extractor=extractor, max_length=LIMIT, truncation="windows")
    batch = window_batch([" ".join([LONG] * 3)])
    assert batch.input_ids.shape[1] > tiny.POSITIONS
    with torch.no_grad():
        scores = model.step(batch).scores
    assert (scores[batch.selectable] != 0).all()


@pytest.mark.parametrize("family", ["bigbird-sparse", "modernbert-local", "longformer"])
def test_encoders_with_long_context_need_no_windows(encoders, family):
    folder = encoders(family)
    model = tiny.build_model(folder, truncation="windows")
    assert model.config.max_length >= tiny.POSITIONS - 2
    made = encoder(tiny.TOKENIZERS[family], "windows", model.config.max_length)
    text = " ".join(WORDS[n % len(WORDS)] for n in range(24))
    (one,) = made.encode([Example("0", (text,), "neg", (((2, 6),),))])
    assert 24 < one.length <= model.config.max_length
    batch = collate([one], made.tokenizer.pad_token_id)
    with torch.no_grad():
        step = model.step(batch)
        assert step.full.windows is None
        views = (step.full.logits, step.kept_logits, step.dropped_logits, step.scores)
    assert all(view.isfinite().all() for view in views)


@pytest.mark.parametrize("kind", [torch.float16, torch.bfloat16])
def test_many_windows_do_not_overflow_half_precision(kind):
    batch = window_batch([" ".join([LONG] * 40)])
    windows = split(batch, LIMIT)
    logits = torch.full((len(windows.text), 2), 60.0).to(kind)
    assert torch.equal(windows.merge_logits(logits, windows.rows.attention_mask), logits[:1])
    states = torch.full((*windows.place.shape, 4), 6e4 if kind == torch.float16 else 1e38).to(kind)
    assert torch.equal(windows.merge_states(states)[0, 0], states[0, 0])


def test_integrated_gradients_add_up_over_windows(encoders):
    model = tiny.build_model(
        encoders("bert"),
        extractor="integrated-gradients",
        extractor_options={"steps": 200},
        max_length=LIMIT,
        truncation="windows",
    )
    full = Pass(model.task, window_batch([LONG]))
    delta = model.extractor.convergence_delta(full, torch.tensor([1]))
    assert delta.abs().item() < 0.02 * full.logits.abs().max().item() + 0.02
