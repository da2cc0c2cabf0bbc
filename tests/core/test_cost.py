"""What is predicted of a training: passes and memory; that recomputed activations change no gradient."""

from dataclasses import replace

import pytest
import torch
from transformers import BertConfig

from planted import planted
from unirex.encoding.batch import collate
from unirex.errors import UserError
from unirex.methods import resolve
from unirex.methods.building import build_system
from unirex.training.cost import Size, attributing_peak, explaining_peak, passes_per_text, training_peak
from unirex.training.memory import PROCESS, settings_peak
from unirex.training.train import checkpoint_activations

SIZE = Size(layers=2, hidden=10, vocabulary=100)
DATA = planted((8, 4, 4))


def peak(method="vanilla", settings=None, *, tokens=100, saved=10_000, shards=1, width=0, **training):
    config = resolve(method, None, {"training": training, **(settings or {})})
    options = {
        "size": SIZE,
        "trained": 1000,
        "tokens": tokens,
        "saved": saved,
        "chunk": 50,
        "held": 5_000_000,
    }
    return training_peak(config, shards=shards, width=width, **options)


def test_the_memory_of_a_training_by_hand():
    """12 bytes a trained weight, 4 · 20 · layers · hidden a token; views are tokens; `saved` bounds them."""
    assert peak() == 5_000_000 + 12 * 1000 + 100 * 4 * 20 * 2 * 10
    assert peak("slm-fp") - 5_012_000 == 6 * (peak() - 5_012_000)  # the texts and five budgets
    assert peak("slm-fp", saved=100) == 5_012_000 + (100 + 50) * 1600
    assert peak("slm-fp", tokens=10**9, saved=100) == peak("slm-fp", saved=100)
    assert peak(shards=4) == peak() - 1000 * 8 * 3 // 4
    assert peak(width=7) - peak() == round(4 * 100 * 2 * 3.2 * 12 * 7)  # matrices of attention
    kept = 100 * 200 / (200 + 3.2 * 12 * 7) + 50  # tokens: fewer, as each is dearer
    assert peak("slm-fp", saved=100, width=7) == int(5_012_000 + 4 * 2 * kept * (200 + 3.2 * 12 * 7))
    assert peak(activation_checkpointing=True) == 5_012_000 + 4 * 10 * (100 * 2 + 50 * 20)


def test_the_memory_of_explaining_by_hand():
    """Twelve numbers of the hidden size for a token that runs, six for a token of the batch."""
    assert explaining_peak(size=SIZE, chunk=50, batch=100, held=7) == 7 + 4 * 10 * (12 * 50 + 6 * 100)

    # By gradients: twenty numbers of the hidden size in every layer, of the tokens that run.
    assert attributing_peak(size=SIZE, chunk=50, batch=100, held=7) == 7 + 4 * 10 * (2 * 20 * 50 + 6 * 100)


def test_the_graph_of_second_derivatives_is_not_bounded():
    """It cannot be computed again: the text's 100 tokens, twice three points of them, and a chunk."""
    assert peak("aa-fp", saved=100) == 5_012_000 + (100 + 600 + 50) * 1600
    first_order = {"extractor_options": {"create_graph": False}}
    assert peak("aa-fp", first_order, saved=100) == peak("aa-f", saved=100)


@pytest.mark.parametrize(
    ("changes", "matrices"),
    [
        ({}, True),
        ({"attention_probs_dropout_prob": 0.0}, False),  # as ModernBERT's, though others drop
        ({"attention_dropout": 0.1, "attention_probs_dropout_prob": 0.0}, True),
        ({"attention_probs_dropout_prob": 0.0, "_attn_implementation": "eager"}, True),
    ],
)
def test_the_matrices_of_attention_count_where_it_is_not_fused(changes, matrices):
    config = resolve("vanilla", None, {"max_length": 50})
    encoder = BertConfig(num_hidden_layers=2, hidden_size=12, num_attention_heads=2, vocab_size=9)
    for name, value in changes.items():
        setattr(encoder, name, value)
    layer, weights = 20 * 12 + matrices * 3.2 * 2 * 50, 12 * 2 * 12**2 + 9 * 12
    assert settings_peak(config, encoder, 400) - PROCESS == 16 * weights + int(4 * 32 * 400 * 2 * layer)
    off = replace(config, training=replace(config.training, dropout=False))
    single = changes.get("_attn_implementation") == "eager"
    assert (settings_peak(off, encoder, 50) == settings_peak(config, encoder, 50)) == (single or not matrices)


def test_the_passes_of_a_step_by_method():
    passes = {name: passes_per_text(resolve(name, None, {})) for name in ("vanilla", "slm-fp", "dlm-fp")}
    assert passes == {"vanilla": 1, "slm-fp": 6, "dlm-fp": 7}
    assert SIZE.forward_flops(0) == 2 * 12 * 2 * 100
    # Three points, two thirds of a pass each; differentiated again for all texts, or for the half with gold.
    little = resolve("aa-fp", None, {"training": {"gold_fraction": 1.0}})
    first_order = resolve("aa-fp", None, {"extractor_options": {"create_graph": False}})
    scoring = [passes_per_text(config) - 6 for config in (resolve("aa-fp", None, {}), little, first_order)]
    assert scoring == [4, 3, 2]


@pytest.mark.parametrize("method", ["slm-fp", "dlm-fp", "aa-fp"])
def test_activations_computed_again_give_the_same_gradients(learner, method):
    system = build_system(method, DATA, resolve(method, None, {"encoder": str(learner), "pooling": "mean"}))
    model, found = system.model.double().train(), []
    encoded = list(system.text_encoder.encode(DATA["train"]))
    batch = collate(encoded, int(system.tokenizer.pad_token_id)).tensors()
    for wanted in (False, True):
        checkpoint_activations(model, wanted)
        torch.manual_seed(0)
        model.zero_grad()
        model(**batch).loss.backward()
        found.append({name: p.grad.clone() for name, p in model.named_parameters() if p.grad is not None})
    checkpoint_activations(model, False)
    assert found[0].keys() == found[1].keys()
    for name, gradient in found[0].items():
        assert torch.allclose(gradient, found[1][name], rtol=1e-9, atol=1e-12), name
    assert not any(getattr(part, "gradient_checkpointing", False) for part in model.modules())


def test_recomputing_without_training_mode_is_refused():
    with pytest.raises(UserError, match="activation_checkpointing"):
        resolve("vanilla", None, {"training": {"activation_checkpointing": True, "dropout": False}})
    assert replace(resolve("vanilla", None, {})).training.activation_checkpointing is False
