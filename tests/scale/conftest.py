"""A tiny system in a folder, a corpus of a few windows, and what one process says of it."""

import random
from pathlib import Path

import pytest

from commands import write_rows

ROWS = 2100  # two windows and a bit
WORDS = ("a", "film", "the", "is", "not", "good", "bad", "people", "and", "plot", "dull", "watch")


@pytest.fixture(scope="session")
def run(encoders, tmp_path_factory) -> Path:
    """The folder of a system with learnt scores."""
    from transformers import PreTrainedTokenizerFast

    import tiny
    from unirex.system import System

    folder, encoder = tmp_path_factory.mktemp("scale") / "system", encoders("bert")
    tokenizer = PreTrainedTokenizerFast.from_pretrained(encoder)
    System(tiny.build_model(encoder, extractor="shared-lm"), tokenizer).save_pretrained(folder)
    return folder


@pytest.fixture(scope="session")
def corpus(tmp_path_factory) -> Path:
    """A JSONL file of short labelled texts with marks."""
    rng = random.Random(0)
    rows = []
    for number in range(ROWS):
        text = " ".join(rng.choices(WORDS, k=rng.randint(2, 6)))
        rows.append({"text": text, "label": rng.choice(["neg", "pos"]), "rationale": [[0, 1]]})
        if number % 3:
            rows[-1]["id"] = f"text {number}"
    return write_rows(tmp_path_factory.mktemp("corpus") / "corpus.jsonl", rows)


@pytest.fixture(scope="session")
def plain(run, corpus) -> bytes:
    """The explanations of the corpus by one process that knows of no shards."""
    from unirex.cli import main

    out = corpus.with_name("plain.jsonl")
    assert main(["explain", str(run), "--file", str(corpus), "--out", str(out), "--threads", "1"]) == 0
    return out.read_bytes()
