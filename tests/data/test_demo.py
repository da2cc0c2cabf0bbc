"""The demo corpus is what it claims: balanced, repeatable, well marked, and hard for a bag of words."""

import hashlib
import os
import random
import subprocess
import sys
from collections import Counter

import pytest
from sklearn.feature_extraction.text import CountVectorizer, TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline

from unirex.data.datasets import demo, demo_grammar
from unirex.data.example import Example, Splits


@pytest.fixture(scope="module")
def corpus() -> Splits:
    return demo.load()


def everything(corpus: Splits) -> list[Example]:
    return [example for split in corpus for example in corpus[split]]


def without_gold(example: Example) -> str:
    text = example.text
    for start, end in reversed(example.rationale[0]):
        text = text[:start] + text[end:]
    return text


def density(example: Example) -> float:
    gold = [example.text[start:end] for start, end in example.rationale[0]]
    return sum(len(words.split()) for words in gold) / len(example.text.split())


def accuracy(corpus: Splits, view, vectorizer) -> float:
    """How often a logistic regression on word counts finds the label of a test text."""
    model = make_pipeline(vectorizer, LogisticRegression(max_iter=2000))
    texts, labels = zip(*((view(example), example.label) for example in corpus["train"]), strict=True)
    model.fit(texts, labels)
    return model.score([view(e) for e in corpus["test"]], [e.label for e in corpus["test"]])


def test_sizes_ids_and_labels(corpus):
    assert {split: len(corpus[split]) for split in corpus} == {"train": 2000, "dev": 320, "test": 480}
    assert corpus["train"][17].id == "demo-train-17"
    assert corpus.info.labels == ("negative", "positive")
    assert corpus.info.metric == "accuracy"
    for part in corpus.values():
        counts = Counter(example.label for example in part)
        assert counts["positive"] == counts["negative"]


def test_no_text_occurs_twice(corpus):
    texts = [example.text.casefold() for example in everything(corpus)]
    assert len(set(texts)) == len(texts)


def test_the_seed_is_all_that_matters(corpus):
    assert demo.load(0) == corpus
    assert {e.text for e in everything(demo.load(1))} != {e.text for e in everything(corpus)}


@pytest.mark.parametrize("hash_seed", ["1", "2"])
def test_the_hash_seed_does_not_matter(corpus, hash_seed):
    code = (
        "import hashlib; from unirex.data.datasets.demo import load; data = load();"
        "print(hashlib.sha256(repr([e for s in data for e in data[s]]).encode()).hexdigest())"
    )
    environment = os.environ | {"PYTHONHASHSEED": hash_seed}
    run = subprocess.run(
        [sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True
    )
    assert run.stdout.strip() == hashlib.sha256(repr(everything(corpus)).encode()).hexdigest()


def test_spans_hold_whole_words_in_order_and_apart(corpus):
    for example in everything(corpus):
        assert example.rationale[0]
        bounds = [bound for span in example.rationale[0] for bound in span]
        assert bounds == sorted(set(bounds))
        for start, end in example.rationale[0]:
            padded = f" {example.text} "
            assert not padded[start].isalnum() and not padded[end + 1].isalnum(), example
            assert padded[start + 1].isalnum() and padded[end].isalnum(), example


def test_nothing_of_the_grammar_is_left_in_the_text(corpus):
    for example in everything(corpus):
        assert not set("{}[]|*~") & set(example.text), example
        assert "  " not in example.text


def test_texts_are_short_and_sparsely_marked(corpus):
    for split in corpus:
        lengths = [len(example.text.split()) for example in corpus[split]]
        assert min(lengths) >= 8 and max(lengths) <= 35
        assert 16 <= sum(lengths) / len(lengths) <= 20
        assert 0.20 <= sum(map(density, corpus[split])) / len(lengths) <= 0.30


@pytest.mark.parametrize("size", demo.SIZES.values())
def test_constructions_have_their_share_in_both_labels(size):
    counts = Counter(demo.schedule(size))
    for construction, share in demo.SHARES.items():
        for label in demo.INFO.labels:
            assert counts[construction, label] == size * share / 40


def test_negator_is_part_of_the_reason():
    rng = random.Random(0)
    for _ in range(200):
        text, spans = demo.read_gold(demo.review("negation", "positive", rng))
        words = " ".join(text[start:end] for start, end in spans).lower().replace("n't", " not").split()
        assert {"not", "nobody", "nothing", "far", "anything", "no", "hardly", "never"} & set(words), text


def test_held_out_words_stay_out_of_training(corpus):
    rules = [demo_grammar.COMMON, *demo_grammar.DOMAINS.values()]
    held_out = {word[1:] for book in rules for words in book.values() for word in words if word[0] == "*"}
    train, test = (" ".join(e.text.casefold() for e in corpus[split]) for split in ("train", "test"))
    assert held_out
    assert not [word for word in held_out if word in train]
    assert [word for word in held_out if word in test]


def test_every_slot_of_the_grammar_has_a_rule():
    for domain in demo_grammar.DOMAINS.values():
        rules = demo_grammar.COMMON | domain | demo_grammar.PERSONS[0]
        slots = {slot for words in rules.values() for word in words for slot, _ in demo._SLOT.findall(word)}
        assert not [s for s in slots if s not in rules and not {f"{s}+", f"{s}-"} <= rules.keys()]


def test_a_bag_of_words_does_not_understand(corpus):
    assert 0.60 < accuracy(corpus, lambda e: e.text, CountVectorizer()) < 0.85
    assert accuracy(corpus, lambda e: e.text, TfidfVectorizer(ngram_range=(1, 2))) < 0.88


def test_the_label_does_not_leak_outside_the_rationale(corpus):
    assert accuracy(corpus, without_gold, CountVectorizer()) < 0.65
    assert accuracy(corpus, without_gold, TfidfVectorizer(ngram_range=(1, 2))) < 0.65


def test_read_gold_with_several_spans():
    assert demo.read_gold("[Nobody] here was [bored].") == ("Nobody here was bored.", ((0, 6), (16, 21)))
