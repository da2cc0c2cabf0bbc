"""Packed encodings are the encodings, and those kept on disk are never others than would be made anew."""

import errno
import os
import subprocess
import sys
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from tokenizers import normalizers
from transformers import AutoTokenizer

import tiny
import unirex
from commands import write_rows
from planted import planted
from unirex.data.example import Example, Layout
from unirex.encoding import packed as encodings
from unirex.encoding.batch import Encoded, Tokens
from unirex.encoding.encode import TextEncoder
from unirex.encoding.gold import keep_gold, limit_gold
from unirex.encoding.packed import Encodings, cache_key, encode_all
from unirex.encoding.sequence import Piece, share_out
from unirex.training.train import encode_parts

EXAMPLES = tiny.examples()
QUIZ = [
    Example("q0", ("where is the film",), "B", (((13, 17),),), ("the plot", "it", "a good audience")),
    Example("q1", ("what do people like",), "A", None, ("fun", "the director")),
]


def encoder(kind="wordpiece", *, limit=60, labels=("neg", "pos"), **options):
    return TextEncoder(tiny.tokenizer(kind), limit, labels, **options)


def same(one, other):
    """Equal in all fields, types and shapes included."""
    assert len(one) == len(other)
    for left, right in zip(one, other, strict=True):
        assert (left.label, left.truncated, left.choice) == (right.label, right.truncated, right.choice)
        assert type(left.label) is type(right.label) and type(left.choice) is type(right.choice)
        assert left.length == right.length and len(left.sequences) == len(right.sequences)
        for a, b in zip(left.sequences, right.sequences, strict=True):
            for name in Tokens.__dataclass_fields__:
                x, y = getattr(a, name), getattr(b, name)
                assert (x is None) == (y is None), name
                if x is not None:
                    assert (x.dtype, x.shape) == (y.dtype, y.shape) and (x == y).all(), name
    return True


@st.composite
def tokens(draw):
    size = draw(st.integers(1, 6))
    flags = arrays(bool, size)
    whole = st.integers(-(2**31), 2**31 - 1)
    return Tokens(
        input_ids=draw(arrays(np.int32, size, elements=whole)),
        special=draw(flags),
        selectable=draw(flags),
        sliding=draw(flags),
        spans=draw(arrays(np.int32, (size, 3), elements=whole)),
        rationale=draw(st.none() | flags),
    )


ANY = st.builds(
    Encoded,
    sequences=st.lists(tokens(), min_size=1, max_size=4).map(tuple),
    label=st.none() | st.integers(0, 9),
    truncated=st.integers(0, 2**31 - 1),
    choice=st.booleans(),
)


@given(st.lists(ANY, max_size=7), st.integers(1, 4))
def test_what_is_packed_comes_out_as_it_was(some, rows):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(encodings, "ROWS", rows)  # several record batches
        packed = Encodings.of(iter(some))
    assert same(list(packed), some)
    assert packed.lengths.tolist() == [one.length for one in some]
    assert packed.truncated.tolist() == [one.truncated for one in some]


@given(st.lists(ANY, max_size=5), st.slices(5), st.integers(-7, 6))
def test_numbers_and_slices_mean_what_they_mean_for_a_list(some, part, number):
    packed = Encodings.of(some)
    assert same(packed[part], some[part])
    if -len(some) <= number < len(some):
        assert same([packed[number]], [some[number]])
    else:
        with pytest.raises(IndexError):
            packed[number]


@pytest.mark.parametrize(
    ("examples", "options"),
    [
        (EXAMPLES, {}),
        (EXAMPLES, {"limit": 12, "truncation": "head_tail", "separators": True}),
        (EXAMPLES, {"limit": 12, "truncation": "windows"}),
        ([replace(one, label=None, rationale=None) for one in EXAMPLES], {}),
        (QUIZ, {"labels": ("A", "B", "C"), "layout": Layout(1, True, (0,), ("Q:", "A:"))}),
        ([], {}),
    ],
)
@pytest.mark.parametrize("kept", [True, False])
def test_texts_come_out_as_they_were_encoded(examples, options, kept, tmp_path, monkeypatch):
    if kept:
        monkeypatch.setenv("UNIREX_CACHE", str(tmp_path))
    made = encoder(**options)
    expected = made.encode(examples)
    for _ in range(2):
        found = encode_all(made, examples, digest="these")
        assert same(list(found), expected)
        assert found.lengths.tolist() == [one.length for one in expected]
        assert found.truncated.tolist() == [one.truncated for one in expected]
    assert any(tmp_path.iterdir()) == kept


# The cache.


@pytest.fixture
def cache(tmp_path, monkeypatch):
    folder = tmp_path / "cache"
    monkeypatch.setenv("UNIREX_CACHE", str(folder))
    return folder


@pytest.fixture
def reads(monkeypatch):
    """How often texts were cut into tokens."""
    calls, pieces = [], TextEncoder.pieces

    def counted(self, texts):
        calls.append(1)
        return pieces(self, texts)

    monkeypatch.setattr(TextEncoder, "pieces", counted)
    return calls


def entries(cache):
    return sorted((cache / "encodings").iterdir())


def test_a_second_start_reads_no_text(cache, reads):
    expected = list(encode_all(encoder(), EXAMPLES, digest="these"))
    assert len(reads) == 1
    for _ in range(2):
        assert same(list(encode_all(encoder(), EXAMPLES, digest="these")), expected)
    assert len(reads) == 1 and len(entries(cache)) == 1


def test_what_was_read_before_does_not_matter(cache, reads):
    """Tokenizers remember how they were last used; that is nothing to the texts."""
    first = encoder()
    for digest in ("train", "dev"):
        encode_all(first, EXAMPLES, digest=digest)
    second = encoder()
    second.tokenizer(["a film", "a"], padding=True, truncation=True, max_length=3)
    assert same(list(encode_all(second, EXAMPLES, digest="dev")), first.encode(EXAMPLES))
    del reads[:]
    third = encoder()
    for digest in ("dev", "train"):
        encode_all(third, EXAMPLES, digest=digest)
    assert not reads


def test_without_a_digest_or_a_cache_nothing_is_kept(cache, reads, monkeypatch):
    encode_all(encoder(), EXAMPLES)
    assert not cache.exists()
    monkeypatch.setenv("UNIREX_CACHE", "off")
    for _ in range(2):
        assert same(list(encode_all(encoder(), EXAMPLES, digest="these")), encoder().encode(EXAMPLES))
    assert not cache.exists() and len(reads) == 5


def relabelled(change):
    """An encoder whose tokenizer was changed in one thing."""
    tokenizer = tiny.tokenizer("wordpiece")
    change(tokenizer)
    return TextEncoder(tokenizer, 60, ("neg", "pos"))


def keep_case(tokenizer):
    tokenizer.backend_tokenizer.normalizer = normalizers.BertNormalizer(lowercase=False)


OTHERS = {
    "tokenizer": lambda: encoder("bpe"),
    "normalizer": lambda: relabelled(keep_case),
    "vocabulary": lambda: relabelled(lambda tokenizer: tokenizer.add_tokens(["gorgeous"])),
    "max_length": lambda: encoder(limit=59),
    "truncation": lambda: encoder(truncation="windows"),
    "separators": lambda: encoder(separators=True),
    "labels": lambda: encoder(labels=("pos", "neg")),
    "more labels": lambda: encoder(labels=("neg", "pos", "so")),
    "number labels": lambda: encoder(labels=(0, 1)),
    "text labels": lambda: encoder(labels=("0", "1")),
    "truth labels": lambda: encoder(labels=(False, True)),
    "segments": lambda: encoder(layout=Layout(1)),
    "rationale segments": lambda: encoder(layout=Layout(1, rationale_segments=(0,))),
    "no rationale segments": lambda: encoder(layout=Layout(1, rationale_segments=())),
    "markers": lambda: encoder(layout=Layout(1, markers=("T:",))),
    "choice": lambda: encoder(layout=Layout(1, choice=True)),
}


def test_whatever_changes_an_encoding_changes_its_key():
    keys = {name: cache_key(make(), "these") for name, make in OTHERS.items()}
    keys |= {"as it is": cache_key(encoder(), "these"), "other texts": cache_key(encoder(), "those")}
    assert len(set(keys.values())) == len(OTHERS) + 2, keys
    assert keys["as it is"] == cache_key(encoder(), "these")
    assert all(len(key) == 64 for key in keys.values())


def test_the_key_is_the_same_in_another_process(tmp_path):
    tiny.tokenizer("wordpiece").save_pretrained(tmp_path)
    code = (
        "import sys; from transformers import AutoTokenizer; from unirex.encoding.encode import TextEncoder;"
        "from unirex.encoding.packed import cache_key;"
        "print(cache_key(TextEncoder(AutoTokenizer.from_pretrained(sys.argv[1]), 60, (0, 1)), 'these'))"
    )
    found = subprocess.run(
        [sys.executable, "-c", code, str(tmp_path)],
        env=os.environ | {"PYTHONHASHSEED": "7"},
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    here = TextEncoder(AutoTokenizer.from_pretrained(tmp_path), 60, (0, 1))
    assert found.strip() == cache_key(here, "these")


def test_the_code_that_makes_encodings_is_part_of_their_key():
    makers = (Tokens, TextEncoder, Encodings, Piece, share_out, Layout, limit_gold)
    assert all(one.__module__.startswith(encodings.CODE) for one in makers)


def truncated(share):
    return lambda content: content[: int(len(content) * share)]


def other_columns(_):
    sink = pa.BufferOutputStream()
    batch = pa.record_batch([pa.array(range(len(EXAMPLES)))], names=["last"])
    with pa.ipc.new_file(sink, batch.schema) as writer:
        writer.write_batch(batch)
    return sink.getvalue().to_pybytes()


def fewer(_):
    sink = pa.BufferOutputStream()
    with pa.ipc.new_file(sink, encodings.SCHEMA) as writer:
        for batch in encodings.record_batches(encoder().encode(EXAMPLES[:3])):
            writer.write_batch(batch)
    return sink.getvalue().to_pybytes()


DAMAGES = {
    "nothing left": truncated(0),
    "begun": truncated(0.01),
    "half": truncated(0.5),
    "all but the end": lambda content: content[:-1],
    "zeros": lambda content: b"\0" * len(content),
    "no footer": lambda content: content[:-200] + b"\0" * 200,
    "text": lambda content: b"hello",
    "one bit": lambda content: content[:3000] + bytes([content[3000] ^ 1]) + content[3001:],
    "other columns": other_columns,
    "fewer examples": fewer,
}


@pytest.mark.parametrize("damage", DAMAGES.values(), ids=DAMAGES)
def test_a_damaged_file_is_made_anew(cache, reads, damage):
    expected = encoder().encode(EXAMPLES)
    encode_all(encoder(), EXAMPLES, digest="these")
    (entry,) = entries(cache)
    content = (entry / encodings.FILE).read_bytes()
    (entry / encodings.FILE).unlink()  # not written over: it is mapped
    (entry / encodings.FILE).write_bytes(damage(content))
    assert same(list(encode_all(encoder(), EXAMPLES, digest="these")), expected)
    assert entries(cache) == [entry] and (entry / encodings.FILE).read_bytes() == content
    del reads[:]
    assert same(list(encode_all(encoder(), EXAMPLES, digest="these")), expected)
    assert not reads


def test_what_lies_in_the_place_of_an_entry_is_replaced(cache):
    encode_all(encoder(), EXAMPLES, digest="these")
    (entry,) = entries(cache)
    (entry / encodings.FILE).unlink()
    (entry / encodings.FILE).mkdir()
    assert len(encode_all(encoder(), EXAMPLES, digest="these")) == len(EXAMPLES)
    assert (entry / encodings.FILE).is_file()


def test_a_cache_that_cannot_be_written_is_done_without(tmp_path, monkeypatch, reads):
    (tmp_path / "file").write_text("not a folder")
    monkeypatch.setenv("UNIREX_CACHE", str(tmp_path / "file/cache"))
    with pytest.warns(UserWarning, match="nothing can be kept in .*set UNIREX_CACHE to another folder"):
        found = encode_all(encoder(), EXAMPLES, digest="these")
    assert same(list(found), encoder().encode(EXAMPLES))
    assert (tmp_path / "file").read_text() == "not a folder"


def test_a_disk_that_fills_up_is_done_without(cache, monkeypatch):
    def write(folder, encoded):
        (folder / encodings.FILE).write_bytes(b"half")
        next(iter(encoded))
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(encodings, "_write", write)
    with pytest.warns(UserWarning, match="No space left"):
        found = encode_all(encoder(), EXAMPLES, digest="these")
    assert same(list(found), encoder().encode(EXAMPLES))
    assert entries(cache) == [], "nothing half done is left"


def test_a_mistake_in_the_data_leaves_nothing_behind(cache):
    wrong = [*EXAMPLES, Example("x", ("a film",), "so-so")]
    with pytest.raises(unirex.UserError, match="label 'so-so'"):
        encode_all(encoder(), wrong, digest="these")
    assert entries(cache) == []


def test_whoever_comes_second_takes_what_is_there(cache, monkeypatch):
    """Two processes at it at once: the entry of the faster stays."""
    write, begun, made = encodings._write, [], []

    def slowly(folder, encoded):
        write(folder, encoded)
        if not begun:
            begun.append(True)
            made.append(encode_all(encoder(), EXAMPLES, digest="these"))
            made.append((entries_done(cache)[0] / encodings.FILE).stat().st_ino)

    monkeypatch.setattr(encodings, "_write", slowly)
    found = encode_all(encoder(), EXAMPLES, digest="these")
    assert same(list(found), list(made[0]))
    assert [(entry / encodings.FILE).stat().st_ino for entry in entries(cache)] == [made[1]]


def entries_done(cache):
    return [entry for entry in entries(cache) if "." not in entry.name]


def test_a_file_is_mapped_not_read(cache, monkeypatch):
    size = 20_000
    words = np.arange(size, dtype=np.int32)
    flags = np.zeros(size, dtype=bool)
    one = Encoded((Tokens(words, flags, flags, flags, np.zeros((size, 3), dtype=np.int32)),))
    monkeypatch.setattr(TextEncoder, "stream", lambda self, examples: (one for _ in examples))
    monkeypatch.setattr(encodings, "ROWS", 8)
    many = EXAMPLES[:1] * 100
    encode_all(encoder(), many, digest="these")
    (entry,) = entries(cache)
    assert (entry / encodings.FILE).stat().st_size > 30_000_000
    before = pa.total_allocated_bytes()
    found = encode_all(encoder(), many, digest="these")
    first = found[57].sequences[0]
    assert pa.total_allocated_bytes() - before < 1_000_000
    assert found.lengths.tolist() == [size] * 100
    for array in (first.input_ids, first.spans):
        assert not array.flags.owndata and not array.flags.writeable
    assert (first.input_ids == words).all()


# In training.


def rows(data):
    return [
        {"text": one.text, "label": one.label, "rationale": one.rationale[0], "split": split}
        for split, part in data.items()
        for one in part
    ]


def test_training_from_the_cache_is_the_same_training(learner, cache, reads, tmp_path, monkeypatch):
    monkeypatch.setattr("unirex.data.store.SMALLEST", 1)
    file = write_rows(tmp_path / "reviews.jsonl", rows(planted((40, 12, 4))))
    settings = {"encoder": str(learner), "training": {"epochs": 1, "batch_size": 8}, "progress": False}
    weights = []
    for folder, counted in ((cache, 2), (cache, 0), ("off", 2)):  # train and dev
        monkeypatch.setenv("UNIREX_CACHE", str(folder))
        del reads[:]
        weights.append(unirex.fit("slm-fp", unirex.load_dataset(file), **settings).model.state_dict())
        assert len(reads) == counted
    for other in weights[1:]:
        assert all(value.equal(other[name]) for name, value in weights[0].items())


def test_a_file_that_was_changed_is_encoded_anew(cache, tmp_path, monkeypatch):
    """Even if it is as long and as old as before."""
    monkeypatch.setattr("unirex.data.store.SMALLEST", 1)
    some = rows(planted((8, 4, 0)))
    file = write_rows(tmp_path / "reviews.jsonl", some)
    before = file.stat()
    made = encoder()
    encode_parts(made, unirex.load_dataset(file), None, progress=False)
    some[0]["text"] = some[0]["text"][::-1]
    write_rows(file, some)
    os.utime(file, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert file.stat().st_size == before.st_size
    data = unirex.load_dataset(file)
    found = encode_parts(made, data, None, progress=False)
    for split in ("train", "dev"):
        assert same(list(found[split]), made.encode(data[split]))
    assert data["train"][0].text == some[0]["text"]
    assert len(entries(cache)) == 4


def test_pools_of_gold_are_kept_apart(cache):
    """Who keeps gold depends on the fraction and the seed: so does what is kept on disk."""
    data, made = replace(planted((20, 2, 0)), digest="digest"), encoder()
    pools = [None, *(keep_gold(data["train"], share, seed) for share, seed in ((10, 0), (10, 1), (20, 0)))]
    for pool in (*pools, *pools):
        examples = data["train"] if pool is None else limit_gold(data["train"], pool)
        limited = replace(data, parts={**data.parts, "train": examples})
        found = encode_parts(made, limited, pool, progress=False)
        assert same(list(found["train"]), made.encode(examples))
    assert len(entries(cache)) == len(pools) + 1  # dev is the same for all


def test_other_libraries_are_not_trusted_to_cut_alike(monkeypatch):
    before = cache_key(encoder(), "these")
    monkeypatch.setattr("tokenizers.__version__", "0.0.1")
    assert cache_key(encoder(), "these") != before
