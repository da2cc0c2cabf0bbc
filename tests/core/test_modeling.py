"""The system as a Hugging Face model: saved and loaded, heads, poolings, budgets drawn per step."""

import itertools
import json
from dataclasses import asdict, fields, replace
from typing import get_args

import pytest
import torch
from transformers import AutoConfig, AutoModel, AutoModelForSequenceClassification

import tiny
from unirex.config import RESOLVED, TRAINING_ONLY, Config, saved_settings
from unirex.encoding.batch import Batch
from unirex.errors import UserError
from unirex.modeling import RationaleModel
from unirex.models.encoders import use_flash_attention
from unirex.models.task import longest_input
from unirex.objectives import Comprehensiveness, Objectives, Plausibility, Sufficiency
from unirex.removals import REMOVALS, Removal

EVERYTHING = Objectives(
    comprehensiveness=Comprehensiveness(weight=0.5, criterion="diff"),
    sufficiency=Sufficiency(weight=0.5, criterion="diff"),
    plausibility=Plausibility(weight=0.5),
)


def unlabelled(batch: Batch) -> dict:
    return replace(batch, labels=None).tensors()


@pytest.mark.parametrize("extractor", ["shared-lm", "dual-lm"])
@pytest.mark.parametrize("family", tiny.FAMILIES)
def test_saved_and_loaded_it_answers_alike(encoders, family, extractor, tmp_path):
    folder = encoders(family)
    model = tiny.build_model(folder, extractor=extractor, labels=(False, True))
    if extractor == "dual-lm":
        tiny.shaken(model.extractor.encoder, seed=9)
    batch = tiny.build_batch(folder, labels=(False, True))
    model.save_pretrained(tmp_path)
    again = AutoModel.from_pretrained(tmp_path)
    assert type(again) is RationaleModel
    assert not again.training
    with torch.no_grad():
        before, after = model(**unlabelled(batch)), again(**unlabelled(batch))
    assert torch.equal(after.logits, before.logits)
    assert torch.equal(after.scores, before.scores)
    assert all(tensor.data_ptr() % 64 == 0 for tensor in (*again.parameters(), *again.buffers()))
    names = {path.name for path in tmp_path.iterdir()}
    assert names == {"config.json", "model.safetensors"}
    assert str(folder) not in (tmp_path / "config.json").read_text()
    assert str(folder.parent) not in (tmp_path / "config.json").read_text()


@pytest.mark.parametrize("name", ["integrated-gradients", "random"])
def test_extractors_without_parameters_are_saved_with_their_options(encoders, name, tmp_path):
    options = {"steps": 5} if name == "integrated-gradients" else {"seed": 7}
    folder = encoders("roberta")
    model = tiny.build_model(folder, extractor=name, extractor_options=options)
    model.save_pretrained(tmp_path)
    again = AutoModelForSequenceClassification.from_pretrained(tmp_path)
    batch = tiny.build_batch(folder)
    with torch.no_grad():
        torch.testing.assert_close(again(**unlabelled(batch)).scores, model(**unlabelled(batch)).scores)


@pytest.mark.parametrize("labels", [(False, True), (True, 1, "1"), (3, 1), ("neg", "pos"), (0.5, 1.0)])
def test_labels_and_objectives_survive_with_their_types(encoders, labels, tmp_path):
    settings = {"objectives": EVERYTHING, "class_weights": (0.5,) * len(labels), "budgets": (10, 2.5)}
    model = tiny.build_model(encoders("bert"), labels=labels, **settings)
    model.save_pretrained(tmp_path)
    again = AutoModel.from_pretrained(tmp_path)
    assert again.config.labels == labels
    assert [type(one) for one in again.config.labels] == [type(one) for one in labels]
    assert again.config.num_labels == len(labels) == again.task.head.out_features
    assert again.objectives == EVERYTHING
    assert tuple(again.config.budgets) == (10, 2.5)
    assert AutoConfig.from_pretrained(tmp_path).labels == labels
    assert json.loads((tmp_path / "config.json").read_text())["labels"] == list(labels)


def test_every_setting_is_saved_unless_only_training_needs_it(encoders, tmp_path):
    settings = {"training_budgets": (10, 50), "removal": "delete", "selector": "gumbel", "temperature": 2.0}
    config = Config(encoder=str(encoders("bert")), extractor="dual-lm", stride=3, separators=True, **settings)
    RationaleModel.from_encoder(config, ("neg", "pos")).save_pretrained(tmp_path)
    saved = AutoConfig.from_pretrained(tmp_path)
    for name, value in (saved_settings(config) | {"objectives": asdict(config.objectives)}).items():
        assert getattr(saved, name) == value, name
    names = [field.name for field in fields(Config)]
    assert sorted(names) == sorted([*saved_settings(config), *RESOLVED, *TRAINING_ONLY])
    assert get_args(Removal) == tuple(REMOVALS)


def test_a_half_precision_encoder_is_trained_in_single(encoders, tmp_path):
    AutoModel.from_pretrained(encoders("bert")).to(torch.bfloat16).save_pretrained(tmp_path)
    tiny.tokenizer("wordpiece").save_pretrained(tmp_path)
    model = tiny.build_model(tmp_path, extractor="dual-lm", objectives=EVERYTHING)
    assert {parameter.dtype for parameter in model.parameters()} == {torch.float32}
    assert model(**tiny.build_batch(tmp_path).tensors()).loss.isfinite()


@pytest.mark.parametrize(("spec", "width", "depth"), [("mlp-2048-2", 2048, 2), ("mlp-4096-3", 4096, 3)])
def test_mlp_heads_have_the_papers_shapes(encoders, spec, width, depth):
    model = tiny.build_model(encoders("bert"), extractor="shared-lm", extractor_options={"head": spec})
    shapes = [tuple(layer.weight.shape) for layer in model.extractor.head if hasattr(layer, "weight")]
    assert shapes == [(width, tiny.HIDDEN), *[(width, width)] * (depth - 1), (1, width)]
    kinds = [type(layer).__name__ for layer in model.extractor.head]
    assert kinds == ["Linear", "ReLU", "Dropout"] * depth + ["Linear"]
    batch = tiny.build_batch(encoders("bert"))
    assert model(**unlabelled(batch)).scores.shape == batch.input_ids.shape


@torch.no_grad()
@pytest.mark.parametrize("pooling", ["cls", "pooler", "mean"])
def test_poolings(encoders, pooling):
    folder = encoders("bert")
    model = tiny.build_model(folder, pooling=pooling)
    assert (model.task.encoder.pooler is not None) == (pooling == "pooler")
    batch = tiny.build_batch(folder)
    row, width = 0, int(batch.attention_mask[0].sum())
    output = model.task.encoder(batch.input_ids[:1, :width])  # no padding at all
    pooled = {
        "cls": lambda: output.last_hidden_state[0, 0],
        "pooler": lambda: output.pooler_output[0],
        "mean": lambda: output.last_hidden_state[0].mean(0),
    }[pooling]()
    torch.testing.assert_close(model.task(batch)[row], model.task.head(pooled), rtol=1e-4, atol=1e-5)


def test_a_pretrained_pooler_is_kept(encoders):
    model = tiny.build_model(encoders("bert"), pooling="pooler")
    original = AutoModel.from_pretrained(encoders("bert"))
    assert torch.equal(model.task.encoder.pooler.dense.weight, original.pooler.dense.weight)


@pytest.mark.parametrize("family", ["distilbert", "modernbert", "deberta-v2"])
def test_families_without_a_pooler_say_so(encoders, family):
    with pytest.raises(UserError, match="have no pooler; use 'cls' or 'mean'"):
        tiny.build_model(encoders(family), pooling="pooler")


@pytest.mark.parametrize("family", tiny.FAMILIES)
def test_one_forward_trains_any_family(encoders, family):
    folder = encoders(family)
    model = tiny.build_model(folder, objectives=EVERYTHING).train()
    output = model(**tiny.build_batch(folder).tensors())
    assert set(output.losses) == {"task", "comprehensiveness", "sufficiency", "plausibility"}
    assert output["loss"] is output.loss
    output.loss.backward()
    assert all(p.grad is None or p.grad.isfinite().all() for p in model.parameters())
    assert model.accepts_loss_kwargs is False  # the Trainer shall divide accumulated losses itself


@pytest.mark.parametrize("family", tiny.FAMILIES)
def test_the_longest_text_fits(encoders, family):
    folder = encoders(family)
    model = tiny.build_model(folder)
    long = tiny.build_batch(folder, ["a film " * 100])
    ids = long.input_ids[:, :1].repeat(1, model.config.max_length).fill_(7)
    mask = torch.ones_like(ids, dtype=torch.bool)
    batch = Batch(ids, mask, ~mask, mask)
    assert model.config.max_length >= tiny.POSITIONS - 2
    with torch.no_grad():
        step = model.step(batch)
        assert step.kept_logits.isfinite().all()
        assert model.perturber("pad_token").logits(step.full, step.masks).isfinite().all()


@pytest.mark.parametrize(
    "kind", ["roberta", "xlm-roberta", "roberta-prelayernorm", "data2vec-text", "electra"]
)
def test_the_limit_is_what_the_position_table_takes(kind):
    config = AutoConfig.for_model(
        kind, hidden_size=8, num_hidden_layers=1, num_attention_heads=1, vocab_size=20
    )
    config.max_position_embeddings, config.intermediate_size, config.pad_token_id = 30, 8, 1
    encoder = AutoModel.from_config(config).eval()
    longest = longest_input(encoder)
    assert longest == (30 if kind == "electra" else 28)
    encoder(torch.full((1, longest), 7))
    with pytest.raises((IndexError, RuntimeError)):
        encoder(torch.full((1, longest + 1), 7))


def test_budgets_per_step_are_an_unbiased_draw(encoders):
    folder = encoders("bert")
    model = tiny.build_model(folder, objectives=EVERYTHING, budgets=(1, 5, 10, 20, 50), budgets_per_step=2)
    batch = tiny.build_batch(folder).tensors()
    with torch.no_grad():
        whole = model(**batch).loss  # evaluation takes all
        model._training_budgets = lambda: drawn
        sampled = []
        for drawn in itertools.combinations(model.config.budgets, 2):  # noqa: B007
            sampled.append(model(**batch).loss)
    torch.testing.assert_close(torch.stack(sampled).mean(), whole, rtol=1e-5, atol=1e-5)
    assert torch.stack(sampled).std() > 1e-3
    del model._training_budgets
    model.training = True
    torch.manual_seed(3)
    draws = [tuple(model._training_budgets()) for _ in range(4000)]
    torch.manual_seed(3)
    assert draws[:50] == [tuple(model._training_budgets()) for _ in range(50)]
    counts = [sum(budget in draw for draw in draws) for budget in model.config.budgets]
    assert all(abs(count / 4000 - 0.4) < 0.03 for count in counts)
    assert all(len(set(draw)) == 2 for draw in draws)
    with torch.no_grad():
        assert tuple(model._training_budgets()) == (1, 5, 10, 20, 50)


def test_the_same_seed_builds_the_same_system(encoders):
    def weights(seed):
        torch.manual_seed(seed)
        return RationaleModel.from_encoder(Config(encoder=str(encoders("bert"))), ("a", "b")).state_dict()

    one, two, other = weights(0), weights(0), weights(1)
    assert all(torch.equal(one[name], two[name]) for name in one)
    assert not torch.equal(one["task.head.weight"], other["task.head.weight"])


def test_the_pretrained_weights_are_there(encoders):
    original = AutoModel.from_pretrained(encoders("roberta")).state_dict()
    model = tiny.build_model(encoders("roberta"), extractor="dual-lm")
    for encoder in (model.task.encoder, model.extractor.encoder):
        for name, value in encoder.state_dict().items():
            assert torch.equal(value, original[name]), name


@pytest.mark.parametrize(
    ("precision", "installed", "expected"),
    [("bf16-mixed", True, "flash_attention_2"), ("32-true", True, None), ("bf16-mixed", False, None)],
)
def test_a_gpu_in_half_precision_gets_attention_without_padding(monkeypatch, precision, installed, expected):
    class Encoder:
        _supports_flash_attn = True
        attention = None

        def set_attn_implementation(self, name):
            self.attention = name

    monkeypatch.setattr("torch.cuda.is_available", lambda: True)
    monkeypatch.setattr("transformers.utils.is_flash_attn_2_available", lambda: installed)
    encoder = Encoder()
    assert use_flash_attention(encoder, precision) is (expected is not None)
    assert encoder.attention == expected
