"""Characters to tokens and back, truncation, padding, labels and batches by length."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from transformers import PreTrainedTokenizerFast

import tiny
from unirex import evaluate
from unirex.data.example import Example
from unirex.encode import LengthGroupedBatches, TextEncoder, by_length, collate, text_spans
from unirex.errors import UserError
from unirex.system import System

KINDS = ("wordpiece", "bpe", "unigram")
MADE = {kind: tiny.tokenizer(kind) for kind in KINDS}
WILD = (
    "a",
    "film",
    " ",
    "\u00a0",
    "\u3000",
    "\n",
    "✨",
    "👩‍👩‍👧",
    "🇩🇪",
    "电影",
    "فيلم",
    "שלום",
    "e\u0301",
    "\u0301",
)
WILD += (
    "\u200b",
    "\u200d",
    "\u00ad",
    "ﬁ",
    "ǆ",
    "İ",
    "ß",
    "Ａ",
    "…",
    "½",
    ".",
    ",",
    "unbelievable",
    "\U0001f9d1\U0001f3fd",
)
TEXTS = (
    st.lists(st.sampled_from(WILD) | st.text(max_size=3), min_size=1, max_size=12).map("".join).filter(bool)
)


def spans_in(text):
    ends = st.lists(st.integers(0, len(text)), max_size=6, unique=True).map(sorted)
    return ends.map(lambda cuts: tuple(zip(cuts[::2], cuts[1::2], strict=False)))


TEXT_AND_GOLD = TEXTS.flatmap(lambda text: st.tuples(st.just(text), spans_in(text)))
PAIRS = st.lists(TEXT_AND_GOLD, min_size=1, max_size=2)


def made(kind, max_length=400, labels=(0, 1), **options):
    return TextEncoder(MADE[kind], max_length, labels, **options)


@pytest.mark.parametrize("kind", KINDS)
@settings(max_examples=150)
@given(segments=PAIRS)
def test_gold_tokens_are_those_with_gold_characters(kind, segments):
    example = Example("x", tuple(text for text, _ in segments), 0, tuple(gold for _, gold in segments))
    (tokens,) = made(kind).encode([example])
    gold = {
        (segment, place)
        for segment, (text, spans) in enumerate(segments)
        for start, end in spans
        for place in range(start, end)
        if not text[place].isspace()
    }
    covered, in_gold = set(), set()
    for (segment, start, end), is_gold, special in zip(
        tokens.spans, tokens.rationale, tokens.special, strict=True
    ):
        own = {(segment, place) for place in range(start, end)}
        assert not (special and (own or is_gold))
        assert is_gold == bool(own & gold)
        covered |= own
        in_gold |= own if is_gold else set()
    assert gold & covered <= in_gold


@pytest.mark.parametrize("kind", KINDS)
@settings(max_examples=100)
@given(
    words=st.lists(
        st.sampled_from(["a", "film", "电影", "فيلم", "✨", "naïve", "unbelievable", "."]), min_size=1
    )
)
def test_words_come_back_exactly(kind, words):
    text = " ".join(words)
    starts = [sum(len(word) + 1 for word in words[:index]) for index in range(len(words))]
    for start, word in list(zip(starts, words, strict=True))[:5]:
        gold = ((start, start + len(word)),)
        (tokens,) = made(kind).encode([Example("x", (text,), 0, (gold,))])
        marked = [(s, e) for (_, s, e), flag in zip(tokens.spans, tokens.rationale, strict=True) if flag]
        assert text_spans(text, marked) == gold


def test_blanks_never_make_a_token_gold():
    text = "a\u00a0 film"
    for kind in KINDS:
        (tokens,) = made(kind).encode([Example("x", (text,), 0, (((1, 3),),))])
        assert not any(tokens.rationale), kind


def test_nobody_marked_is_not_nothing_matters():
    unmarked, empty = made("bpe").encode([Example("x", ("a film",), 0), Example("y", ("a film",), 0, ((),))])
    assert unmarked.rationale is None
    assert empty.rationale == [False] * len(empty)
    assert collate([unmarked, empty], 1).has_rationale.tolist() == [False, True]


@pytest.mark.parametrize("separators", [False, True])
def test_separators_are_selectable_only_if_asked(separators):
    (tokens,) = made("wordpiece", separators=separators).encode([Example("x", ("a film", "dull"), 0)])
    ids, special = tokens.input_ids, MADE["wordpiece"]
    for token, flag, chosen in zip(ids, tokens.special, tokens.selectable, strict=True):
        assert chosen == (not flag or (separators and token == special.sep_token_id))
    assert sum(tokens.special) == 3


@pytest.mark.parametrize("kind", KINDS)
@settings(max_examples=40)
@given(texts=st.lists(TEXTS, min_size=1, max_size=2), limit=st.integers(4, 20))
def test_what_is_cut_is_counted(kind, texts, limit):
    example = Example("x", tuple(texts), 0)
    (whole,), (cut,) = made(kind, 10_000).encode([example]), made(kind, limit).encode([example])
    content = len(whole) - sum(whole.special)
    assert whole.truncated == 0
    assert len(cut) <= limit
    assert cut.truncated + len(cut) - sum(cut.special) == content


def test_the_system_says_what_it_cut(encoders):
    folder = encoders("bert")
    model = tiny.build_model(folder, extractor="random", max_length=10)
    system = System(model, MADE["wordpiece"])
    texts = ["a film", "a film " * 20]
    assert [one.truncated for one in system.explain(texts)] == [
        0,
        32,
    ]  # 40 words, 8 fit beside [CLS] and [SEP]
    data = [Example(str(n), (text,), "neg") for n, text in enumerate(texts)]
    assert [record.truncated for record in evaluate(system, data).records] == [0, 32]


def test_batches_are_padded_to_their_longest_on_the_right():
    encoded = made("bpe").encode(tiny.examples(labels=(0, 1)))
    batch = collate(encoded, 1)
    assert batch.input_ids.shape == (len(encoded), max(map(len, encoded)))
    for row, one in enumerate(encoded):
        assert batch.input_ids[row].tolist() == one.input_ids + [1] * (batch.input_ids.shape[1] - len(one))
        assert batch.attention_mask[row].sum() == len(one)
        assert batch.attention_mask[row, : len(one)].all()
        for flags in (batch.special, batch.selectable, batch.rationale):
            assert not flags[row, len(one) :].any()
    assert batch.labels.tolist() == [n % 2 for n in range(len(encoded))]


def test_labels_are_known_by_type():
    labels = (True, 1, "1", 1.0, False, 0)
    encoder = made("wordpiece", labels=labels)
    for index, label in enumerate(labels):
        assert encoder.label_index(Example("x", ("a",), label)) == index
    with pytest.raises(UserError, match=r"example x: label 'one' is not .*True, 1, '1'"):
        encoder.label_index(Example("x", ("a",), "one"))


def test_three_segments_are_refused_not_cut():
    with pytest.raises(UserError, match="example x has 3 segments; give one text or a pair"):
        made("bpe").encode([Example("x", ("a", "b", "c"), 0)])
    with pytest.raises(UserError, match="example y has 1 segments and example x 2"):
        made("bpe").encode([Example("x", ("a", "b"), 0), Example("y", ("a",), 0)])


def test_a_slow_tokenizer_is_refused():
    class Slow:
        is_fast = False

    with pytest.raises(UserError, match="no character offsets"):
        TextEncoder(Slow(), 10)


LENGTHS = st.lists(st.integers(1, 60), min_size=1, max_size=90)


@given(LENGTHS, st.integers(1, 7), st.integers(0, 5), st.integers(1, 3))
def test_each_example_comes_once_an_epoch(lengths, size, epoch, pool):
    batches = LengthGroupedBatches(lengths, size, seed=3, epoch=epoch, pool=pool)
    found = list(batches)
    assert len(found) == len(batches)
    assert sorted(index for batch in found for index in batch) == list(range(len(lengths)))
    assert max(map(len, found)) <= size


def test_epochs_and_seeds_shuffle_and_repeat():
    lengths = torch.randint(1, 50, (200,), generator=torch.Generator().manual_seed(0)).tolist()

    def order(seed, epoch):
        batches = LengthGroupedBatches(lengths, 8, seed=seed)
        batches.set_epoch(epoch)
        return list(batches)

    assert order(0, 0) == order(0, 0)
    assert order(0, 0) != order(0, 1)
    assert order(0, 0) != order(1, 0)


@given(LENGTHS, st.integers(1, 5), st.integers(2, 4))
def test_processes_share_an_epoch_evenly(lengths, size, world):
    shares = [list(LengthGroupedBatches(lengths, size, rank=rank, world_size=world)) for rank in range(world)]
    assert len({len(share) for share in shares}) == 1
    assert all(len(share) == len(LengthGroupedBatches(lengths, size, world_size=world)) for share in shares)
    seen = [tuple(batch) for share in shares for batch in share]
    whole = len(list(by_length(lengths, size)))
    assert len(set(seen)) == whole  # disjoint, but for the few repeated so that all have equally many
    assert len(seen) - whole < world
    assert {index for batch in seen for index in batch} == set(range(len(lengths)))


def test_like_lengths_run_together():
    lengths = torch.randint(1, 100, (400,), generator=torch.Generator().manual_seed(0)).tolist()
    padded = sum(len(batch) * max(lengths[i] for i in batch) for batch in LengthGroupedBatches(lengths, 8))
    assert padded < 1.1 * sum(lengths)
    longest = [max(lengths[i] for i in batch) for batch in by_length(lengths, 8)]
    assert longest == sorted(longest, reverse=True)


def test_a_special_token_in_somebodys_text_is_text(encoders):
    for family, text in (("bert", "a [SEP] film [PAD] x"), ("roberta", "a </s> film <pad> x")):
        tokens = PreTrainedTokenizerFast.from_pretrained(encoders(family))
        encoded = TextEncoder(tokens, 60, ("neg", "pos")).encode([Example("0", (text,))])[0]
        marks = [
            token in tokens.all_special_ids and token != tokens.unk_token_id for token in encoded.input_ids
        ]
        assert marks == encoded.special  # only those around the text
        assert marks.count(True) == 2
