"""Characters to tokens and back, truncation, padding, labels and batches by length."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tokenizers import normalizers
from transformers import PreTrainedTokenizerFast

import tiny
from unirex import evaluate
from unirex.data.example import Example
from unirex.data.rationales import text_spans
from unirex.encoding import tokenise
from unirex.encoding.batch import collate
from unirex.encoding.encode import TextEncoder
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
    "extraordinarily" * 12,  # WordPiece gives up on words over 100 characters
    "语" * 120,
    "\u202eabc\u202c",
    "ก็ด",
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


def only(encoder, example):
    """The tokens of an example that is one sequence."""
    (encoded,) = encoder.encode([example])
    return encoded.sequences[0]


@pytest.mark.parametrize("kind", KINDS)
@settings(max_examples=80)
@given(segments=PAIRS)
def test_gold_tokens_are_those_with_gold_characters(kind, segments):
    example = Example("x", tuple(text for text, _ in segments), 0, tuple(gold for _, gold in segments))
    tokens = only(made(kind), example)
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
@settings(max_examples=80)
@given(case=TEXT_AND_GOLD)
def test_characters_to_tokens_to_characters(kind, case):
    """What comes back is every covered gold character, and nothing but tokens that hold one."""
    text, gold = case
    tokens = only(made(kind, 4000), Example("x", (text,), 0, (gold,)))
    spans = [(start, end) for _, start, end in tokens.spans[~tokens.special].tolist()]
    chosen = [(start, end) for _, start, end in tokens.spans[tokens.rationale].tolist()]

    def characters(some):
        return {place for start, end in some for place in range(start, end) if not text[place].isspace()}

    back, wanted = characters(text_spans(text, chosen)), characters(gold)
    assert wanted & characters(spans) <= back
    assert back == characters(chosen)
    assert characters(text_spans(text, spans)) == characters(spans)


@pytest.mark.parametrize("kind", KINDS)
@settings(max_examples=60)
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
        tokens = only(made(kind), Example("x", (text,), 0, (gold,)))
        marked = [(s, e) for (_, s, e), flag in zip(tokens.spans, tokens.rationale, strict=True) if flag]
        assert text_spans(text, marked) == gold


def test_blanks_never_make_a_token_gold():
    text = "a\u00a0 film"
    for kind in KINDS:
        tokens = only(made(kind), Example("x", (text,), 0, (((1, 3),),)))
        assert not any(tokens.rationale), kind


def test_nobody_marked_is_not_nothing_matters():
    unmarked, empty = made("bpe").encode([Example("x", ("a film",), 0), Example("y", ("a film",), 0, ((),))])
    assert unmarked.sequences[0].rationale is None
    assert empty.sequences[0].rationale.tolist() == [False] * empty.length
    assert collate([unmarked, empty], 1).has_rationale.tolist() == [False, True]


@pytest.mark.parametrize("separators", [False, True])
def test_separators_are_selectable_only_if_asked(separators):
    tokens = only(made("wordpiece", separators=separators), Example("x", ("a film", "dull"), 0))
    ids, special = tokens.input_ids, MADE["wordpiece"]
    for token, flag, chosen in zip(ids, tokens.special, tokens.selectable, strict=True):
        assert chosen == (not flag or (separators and token == special.sep_token_id))
    assert sum(tokens.special) == 3


@pytest.mark.parametrize("kind", KINDS)
@settings(max_examples=40)
@given(texts=st.lists(TEXTS, min_size=1, max_size=2), limit=st.integers(6, 20))
def test_what_is_cut_is_counted(kind, texts, limit):
    example = Example("x", tuple(texts), 0)
    (whole,), (cut,) = made(kind, 10_000).encode([example]), made(kind, limit).encode([example])
    content = (~whole.sequences[0].special).sum()
    assert whole.truncated == 0
    assert cut.length <= limit
    assert cut.truncated + (~cut.sequences[0].special).sum() == content


LONG_TEXTS = st.lists(st.sampled_from((*WILD, "film", "a 2")), min_size=20, max_size=60).map(" ".join)


@pytest.mark.parametrize("kind", KINDS)
@settings(max_examples=40)
@given(text=LONG_TEXTS)
def test_a_text_in_parts_has_the_tokens_of_the_whole(kind, text):
    whole = made(kind).pieces([text])[text]
    with pytest.MonkeyPatch.context() as patch:
        cut_early(patch)
        parts = made(kind).pieces(["a", text, "film"])[text]
    assert parts.text == text and parts.same_tokens(whole)


def test_a_long_text_is_cut_only_where_that_changes_no_token(monkeypatch):
    text, prefixed = "a gorgeous film " * 20, tiny.tokenizer("unigram")
    prefixed.backend_tokenizer.normalizer = normalizers.Prepend("x")  # to every part
    sizes, tokenised = [], tokenise._tokenised
    cut_early(monkeypatch)
    monkeypatch.setattr(
        tokenise,
        "_tokenised",
        lambda tokenizer, parts: (
            sizes.append(sum(end - start for _, start, end in parts)) or tokenised(tokenizer, parts)
        ),
    )
    made("wordpiece").pieces([text, "a"])
    assert max(sizes) < 120  # parts of 40 in groups of more than 50
    TextEncoder(prefixed, 400).pieces([text])
    assert sizes[-1] == len(text)


def cut_early(patch):
    for name, size in (("PART", 40), ("SEAM", 25), ("AT_ONCE", 50)):
        patch.setattr(tokenise, name, size)


def test_a_limit_without_room_for_a_text_is_refused():
    with pytest.raises(UserError, match="max_length 3 leaves no room for a text beside 3 special tokens"):
        made("wordpiece", 3).encode([Example("x", ("a", "film"), 0)])


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
    assert batch.input_ids.shape == (len(encoded), max(one.length for one in encoded))
    for row, (one,) in enumerate(example.sequences for example in encoded):
        padding = [1] * (batch.input_ids.shape[1] - len(one))
        assert batch.input_ids[row].tolist() == one.input_ids.tolist() + padding
        assert batch.attention_mask[row].sum() == len(one)
        assert batch.attention_mask[row, : len(one)].all()
        for flags in (batch.special, batch.selectable, batch.rationale):
            assert not flags[row, len(one) :].any()
    assert batch.labels.tolist() == [n % 2 for n in range(len(encoded))]


def test_labels_are_known_by_type():
    labels = (True, 1, "1", 1.0, False, 0)
    encoder = made("wordpiece", labels=labels)
    for index, label in enumerate(labels):
        assert encoder.gold(Example("x", ("a",), label)) == index
    with pytest.raises(UserError, match=r"example x: label 'one' is not .*True, 1, '1'"):
        encoder.gold(Example("x", ("a",), "one"))


def test_a_slow_tokenizer_is_refused():
    class Slow:
        is_fast = False

    with pytest.raises(UserError, match="no character offsets"):
        TextEncoder(Slow(), 10)


def test_a_special_token_in_somebodys_text_is_text(encoders):
    for family, text in (("bert", "a [SEP] film [PAD] x"), ("roberta", "a </s> film <pad> x")):
        tokens = PreTrainedTokenizerFast.from_pretrained(encoders(family))
        encoded = only(TextEncoder(tokens, 60, ("neg", "pos")), Example("0", (text,)))
        marks = [
            token in tokens.all_special_ids and token != tokens.unk_token_id for token in encoded.input_ids
        ]
        assert marks == encoded.special.tolist()  # only those around the text
        assert marks.count(True) == 2
