"""Extractors: parity with captum, who learns through them, and that they find what decides."""

import logging
import sys
from dataclasses import replace
from types import SimpleNamespace

import captum.attr
import pytest
import torch
from torch import nn
from torch.nn import functional as F

import tiny
from unirex.encoding.batch import Batch
from unirex.errors import UserError
from unirex.extractors import EXTRACTORS, build_extractor
from unirex.extractors.attribution import baseline
from unirex.models.plan import Limits
from unirex.models.task import Pass, TaskModel, encode
from unirex.objectives import Objectives, Plausibility, Task

ATTRIBUTIONS = ("gradient", "input-x-gradient", "integrated-gradients", "deeplift")


def extractor(model, name, **options):
    return build_extractor(name, model.config.encoder, options)


@pytest.fixture(params=["bert", "roberta"])
def setting(request, encoders):
    folder = encoders(request.param)
    model = tiny.build_model(folder, extractor="random", pooling="mean")
    batch = tiny.build_batch(folder)
    return model, Pass(model.task, batch), batch.labels


class FromEmbeddings(nn.Module):
    """The task model as captum wants it: embeddings first, everything else repeated by captum."""

    def __init__(self, task):
        super().__init__()
        self.task = task

    def forward(self, embeds, ids, mask):
        return self.task(Batch(ids, mask, ~mask, mask), embeds)


def by_captum(full, target, make, **options):
    batch = full.batch
    embeds = full.task.embed(batch.input_ids).detach().requires_grad_()
    extra = (batch.input_ids, batch.attention_mask)
    found = make(FromEmbeddings(full.task)).attribute(
        embeds, target=target, additional_forward_args=extra, **options
    )
    return found.sum(-1).detach()


def close(found, expected, tolerance=1e-4):
    assert (found - expected).abs().max() <= tolerance * expected.abs().max()


def test_gradient_is_captums_saliency(setting):
    model, full, target = setting
    expected = by_captum(full, target, captum.attr.Saliency)
    found = extractor(model, "gradient")(full, target)
    close(found, expected)
    assert (found >= 0).all()


def test_input_x_gradient_is_captums(setting):
    model, full, target = setting
    close(
        extractor(model, "input-x-gradient")(full, target),
        by_captum(full, target, captum.attr.InputXGradient),
    )


@pytest.mark.parametrize("steps", [1, 3, 10])
def test_integrated_gradients_are_captums(setting, steps):
    model, full, target = setting
    options = {"baselines": baseline(full).detach(), "n_steps": steps, "method": "gausslegendre"}
    expected = by_captum(full, target, captum.attr.IntegratedGradients, **options)
    close(extractor(model, "integrated-gradients", steps=steps)(full, target), expected)


def test_deeplift_is_captums(setting):
    model, full, target = setting
    expected = by_captum(full, target, captum.attr.DeepLift, baselines=baseline(full).detach())
    close(extractor(model, "deeplift")(full, target), expected)


def test_path_points_may_be_run_in_parts(setting, monkeypatch):
    model, full, target = setting
    whole = extractor(model, "integrated-gradients", steps=7)(full, target)
    limits = Limits(chunk=2 * full.batch.input_ids.shape[1], overhead=0, saved=0)
    monkeypatch.setattr("unirex.models.task.device_limits", lambda _: limits)
    with tiny.counted(model.task.encoder) as shapes:
        parts = extractor(model, "integrated-gradients", steps=7)(full, target)
    close(parts, whole)
    assert all(rows * width <= limits.chunk for rows, width in shapes)
    assert sum(rows * width for rows, width in shapes) == 7 * int(full.batch.attention_mask.sum())


def test_deeplift_without_captum_says_what_to_install(setting, monkeypatch):
    model, full, target = setting
    monkeypatch.setitem(sys.modules, "captum.attr", None)
    with pytest.raises(UserError, match="needs captum; run: pip install captum"):
        extractor(model, "deeplift")(full, target)


@pytest.mark.parametrize("name", ["integrated-gradients", "deeplift"])
@pytest.mark.parametrize("family", tiny.FAMILIES)
def test_differences_to_the_baseline_are_zero_where_it_is_the_text(encoders, family, name):
    # T2: the baseline keeps special tokens, and padding is padding.
    folder = encoders(family)
    model = tiny.build_model(folder, extractor=name)
    batch = tiny.build_batch(folder)
    scores = model.extractor(Pass(model.task, batch), batch.labels)
    assert scores.shape == batch.input_ids.shape
    assert scores.isfinite().all()
    assert scores[batch.special | ~batch.attention_mask].abs().max() == 0
    assert (scores[batch.selectable] != 0).float().mean() > 0.9


@pytest.mark.parametrize("family", ["bert", "roberta", "modernbert", "deberta-v2"])
def test_many_steps_are_complete(encoders, family):
    folder = encoders(family)
    model = tiny.build_model(folder, extractor="random")
    with torch.no_grad():  # calm weights: a wild path would need thousands of steps
        for parameter in model.task.encoder.parameters():
            parameter.mul_(0.3 if parameter.dim() > 1 else 1.0)
    batch = tiny.build_batch(folder, tiny.SENTENCES[:4])
    full = Pass(model.task, batch)
    few, many = (
        extractor(model, "integrated-gradients", steps=steps)
        .convergence_delta(full, batch.labels)
        .abs()
        .max()
        for steps in (1, 200)
    )
    scores = extractor(model, "integrated-gradients", steps=200)(full, batch.labels)
    assert many < 1e-3 * scores.abs().sum(-1).max()
    assert many < few


def plausibility_gradients(folder, name, **options):
    chosen = Objectives(task=Task(weight=0.0), plausibility=Plausibility(weight=1.0))
    model = tiny.build_model(folder, extractor=name, extractor_options=options, objectives=chosen)
    model(**tiny.build_batch(folder).tensors()).loss.backward()
    biggest = max(
        (p.grad.abs().max() for p in model.parameters() if p.grad is not None), default=torch.tensor(0.0)
    )
    reached = {
        n for n, p in model.named_parameters() if p.grad is not None and p.grad.abs().max() > 1e-6 * biggest
    }
    return model, reached


WORDS = "task.encoder.embeddings.word_embeddings.weight"


@pytest.mark.parametrize("name", ["input-x-gradient", "integrated-gradients", "deeplift"])
def test_constant_gradients_teach_only_word_embeddings(encoders, name):
    # T11
    _, reached = plausibility_gradients(encoders("bert"), name)
    assert reached == {WORDS}


def test_constant_gradients_also_teach_their_pooling(encoders):
    _, reached = plausibility_gradients(encoders("bert"), "integrated-gradients", pooling="mlp-8-1")
    pooling = {f"extractor.pooling.{layer}.{kind}" for layer in (0, 3) for kind in ("weight", "bias")}
    assert reached == {WORDS} | pooling


def test_saliency_without_a_graph_teaches_nothing(encoders):
    folder = encoders("bert")
    model = tiny.build_model(folder, extractor="gradient")
    batch = tiny.build_batch(folder)
    assert not model.extractor(Pass(model.task, batch), batch.labels).requires_grad


@pytest.mark.parametrize("name", ["gradient", "input-x-gradient", "integrated-gradients"])
def test_with_a_graph_every_parameter_learns(encoders, name, caplog):
    caplog.set_level(logging.INFO, logger="unirex")
    model, reached = plausibility_gradients(encoders("bert"), name, create_graph=True)
    encoder = {n for n, _ in model.named_parameters() if n.startswith("task.encoder")}
    # These add the same to all they compete with, or only to the end of the sum: no gradient depends on them.
    silent = {n for n in encoder if n.endswith("key.bias")}
    silent |= {"task.encoder.encoder.layer.1.output.LayerNorm.bias"}
    assert reached == encoder - silent | {"task.head.weight"}
    assert model.task.encoder.config._attn_implementation == "eager"
    assert "switched to 'eager'" in caplog.text


@pytest.mark.parametrize("family", tiny.FAMILIES)
def test_second_derivatives_exist_for_every_family(encoders, family):
    model, reached = plausibility_gradients(
        encoders(family), "integrated-gradients", create_graph=True, steps=2
    )
    trainable = [n for n, _ in model.named_parameters() if n.startswith("task.encoder")]
    assert len(reached) > 0.7 * len(trainable)
    assert all(p.grad.isfinite().all() for p in model.parameters() if p.grad is not None)


def test_second_order_scores_are_the_first_order_ones(setting):
    model, full, target = setting
    plain = extractor(model, "integrated-gradients")(full, target)
    close(extractor(model, "integrated-gradients", create_graph=True)(full, target), plain)


def test_no_graph_is_built_and_nothing_switched_in_evaluation(encoders, caplog):
    folder = encoders("bert")
    caplog.set_level(logging.INFO, logger="unirex")
    model = tiny.build_model(
        folder, extractor="integrated-gradients", extractor_options={"create_graph": True}
    )
    with torch.no_grad():
        scores = model(**replace(tiny.build_batch(folder), labels=None).tensors()).scores
    assert not scores.requires_grad
    assert "eager" not in caplog.text


@pytest.mark.parametrize("name", list(EXTRACTORS))
@pytest.mark.parametrize("training", [False, True])
def test_evaluation_leaves_no_trace(encoders, name, training):
    folder = encoders("bert")
    model = tiny.build_model(folder, extractor=name).train(training)
    batch = tiny.build_batch(folder, tiny.SENTENCES[:3])
    batch = replace(
        batch, has_rationale=torch.ones(3, dtype=torch.bool), given=torch.zeros(batch.input_ids.shape)
    )
    hooks = [len(module._forward_hooks) + len(module._forward_pre_hooks) for module in model.modules()]
    with torch.no_grad():
        scores = model.extractor(Pass(model.task, batch), batch.labels)
    assert scores.shape == batch.input_ids.shape
    assert not scores.requires_grad
    assert all(parameter.grad is None for parameter in model.parameters())
    assert all(module.training == training for module in model.modules())
    assert hooks == [
        len(module._forward_hooks) + len(module._forward_pre_hooks) for module in model.modules()
    ]
    model.extractor(Pass(model.task, batch), batch.labels)  # with gradients on
    assert all(parameter.grad is None for parameter in model.parameters())


@pytest.mark.parametrize("name", ATTRIBUTIONS)
def test_frozen_encoders_can_be_explained(encoders, name):
    folder = encoders("bert")
    model = tiny.build_model(folder, extractor=name)
    batch = tiny.build_batch(folder)
    expected = model.extractor(Pass(model.task, batch), batch.labels).detach()
    model.requires_grad_(False)
    close(model.extractor(Pass(model.task, batch), batch.labels), expected)


@pytest.mark.parametrize("name", [*ATTRIBUTIONS, "random", "dual-lm", "shared-lm"])
@pytest.mark.parametrize("family", ["bert", "roberta", "mpnet", "modernbert", "deberta-v2"])
def test_padding_does_not_change_scores(encoders, family, name):
    if name == "input-x-gradient" and family in ("modernbert", "deberta-v2"):
        pytest.skip("their embeddings are normalised first, so that e · dF/de is 0 but for rounding")
    folder = encoders(family)
    model = tiny.build_model(folder, extractor=name)
    alone, together = tiny.build_batch(folder, tiny.SENTENCES[:1]), tiny.build_batch(folder)
    width = alone.input_ids.shape[1]
    one, many = (model.extractor(Pass(model.task, batch), batch.labels) for batch in (alone, together))
    assert width < many.shape[1]
    close(many[0, :width], one[0])


def random_scores(batch, seed=0):
    return build_extractor("random", None, {"seed": seed})(Pass(None, batch), None)


def test_random_scores_belong_to_the_text_and_the_seed(encoders):
    folder = encoders("bert")
    batch, alone = tiny.build_batch(folder), tiny.build_batch(folder, tiny.SENTENCES[3:4])
    scores = random_scores(batch)
    width = alone.input_ids.shape[1]
    assert torch.equal(scores[3, :width], random_scores(alone)[0])
    assert (scores[~batch.attention_mask] == 0).all()
    assert not torch.equal(scores, random_scores(batch, seed=1))
    assert not torch.equal(scores[0, :5], scores[1, :5])


def test_random_scores_are_standard_normal():
    ids = torch.arange(2000).reshape(200, 10).repeat(1, 10)
    mask = torch.ones_like(ids, dtype=torch.bool)
    scores = random_scores(Batch(ids, mask, ~mask, mask))
    assert abs(scores.mean()) < 0.03
    assert abs(scores.std() - 1) < 0.03
    assert abs((scores < 1.645).float().mean() - 0.95) < 0.01


def test_gold_and_its_opposite(encoders):
    folder = encoders("bert")
    batch = tiny.build_batch(folder, tiny.SENTENCES[:3])
    marked = replace(batch, has_rationale=torch.ones(3, dtype=torch.bool))
    gold = build_extractor("gold", None, {})(Pass(None, marked), None)
    inverse = build_extractor("inverse", None, {})(Pass(None, marked), None)
    assert torch.equal(gold, batch.rationale.float())
    assert torch.equal(gold + inverse, batch.attention_mask.float())
    for name in ("gold", "inverse"):
        for nobody in (batch, replace(batch, rationale=None, has_rationale=None)):
            with pytest.raises(UserError, match="need a gold rationale"):
                build_extractor(name, None, {})(Pass(None, nobody), None)


def test_dual_lm_shares_nothing(encoders):
    model = tiny.build_model(encoders("bert"), extractor="dual-lm")
    task, own = (dict(part.encoder.named_parameters()) for part in (model.task, model.extractor))
    assert own.keys() == task.keys()
    assert not {p.data_ptr() for p in model.task.parameters()} & {
        p.data_ptr() for p in model.extractor.parameters()
    }
    assert all(torch.equal(own[name], task[name]) for name in own)  # the same start


def test_shared_lm_needs_no_pass_of_its_own(encoders):
    folder = encoders("bert")
    model = tiny.build_model(folder, extractor="shared-lm")
    batch = replace(tiny.build_batch(folder), labels=None)
    with tiny.counted(model.task.encoder) as shapes:
        model(**batch.tensors())
    assert sum(rows for rows, _ in shapes) == len(batch.input_ids)


def test_mistakes_name_what_there_is():
    config = tiny.encoder_config("bert", 50, pad=0)
    with pytest.raises(
        UserError, match=r"'integrated-gradient'; did you mean 'integrated-gradients'\? Known: .*shared-lm"
    ):
        build_extractor("integrated-gradient", config, {})
    with pytest.raises(
        UserError, match=r"'integrated-gradients' has no option 'step'; its options: steps, pooling"
    ):
        build_extractor("integrated-gradients", config, {"step": 3})
    with pytest.raises(UserError, match=r"'gold' has no option 'seed'; its options: none"):
        build_extractor("gold", config, {"seed": 3})
    with pytest.raises(UserError, match="unknown head 'mlp'"):
        build_extractor("shared-lm", config, {"head": "mlp"})


def planted_texts(count, classes, width=14):
    """Noise with at most one word that matters: 7 means class 1, 8 means class 2, neither class 0."""
    labels = torch.tensor(classes)[torch.randint(len(classes), (count,))]
    places, rows = torch.randint(1, width - 1, (count,)), torch.arange(count)
    ids = torch.randint(10, 60, (count, width))
    ids[rows, places] = torch.where(labels > 0, 6 + labels, ids[rows, places])
    ids[:, 0], ids[:, -1] = 2, 3
    special = (ids == 2) | (ids == 3)
    mask = torch.ones_like(special)
    return Batch(ids, mask, special, ~special, labels=labels), places


def share_found(name, task, **options):
    batch, places = planted_texts(100, (1, 2))
    scores = build_extractor(name, task.encoder.config, options)(Pass(task, batch), batch.labels)
    return (scores.masked_fill(~batch.selectable, -torch.inf).argmax(-1) == places).float().mean()


@pytest.fixture(scope="module")
def learnt():
    """A tiny BERT that has learnt which words decide."""
    from transformers import AutoModel

    torch.manual_seed(0)
    config = tiny.encoder_config("bert", 60, pad=0)
    config.hidden_dropout_prob = config.attention_probs_dropout_prob = 0.0
    task = TaskModel(AutoModel.from_config(config, add_pooling_layer=False), pooling="cls", classes=3)
    optimizer = torch.optim.AdamW(task.parameters(), lr=3e-3)
    for _ in range(250):
        batch, _ = planted_texts(32, (0, 1, 2))
        loss = nn.functional.cross_entropy(task(batch), batch.labels, label_smoothing=0.3)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return task


@pytest.mark.parametrize("name", ["gradient", "integrated-gradients"])
def test_the_word_that_decides_is_found(learnt, name):
    # The sign of one local gradient (Input×Gradient) is luck in a trained network: it is tried below.
    assert share_found(name, learnt) > 0.9


class BagOfWords(nn.Module):
    """An encoder without attention: every word for itself, bent upwards."""

    def __init__(self):
        super().__init__()
        self.words, self.bend = nn.Embedding(60, 4), nn.Softplus(beta=4)
        self.config = SimpleNamespace(hidden_size=4, pad_token_id=0)
        with torch.no_grad():
            self.words.weight.mul_(0.05)[7, 1] = self.words.weight[8, 2] = 2.0

    def get_input_embeddings(self):
        return self.words

    def forward(self, input_ids=None, inputs_embeds=None, attention_mask=None):
        embeds = self.words(input_ids) if inputs_embeds is None else inputs_embeds
        return SimpleNamespace(last_hidden_state=self.bend(embeds))


@pytest.mark.parametrize("name", ATTRIBUTIONS)
def test_every_attribution_finds_the_planted_word(name):
    torch.manual_seed(0)
    task = TaskModel(BagOfWords(), pooling="mean", classes=3)
    with torch.no_grad():
        task.head.weight.copy_(torch.eye(3, 4))
    assert share_found(name, task) == 1


def test_deeplift_rules_are_used_where_they_reach():
    # Softplus is a module captum knows, everything else is linear: here DeepLIFT must be complete.
    torch.manual_seed(0)
    task = TaskModel(BagOfWords(), pooling="mean", classes=3)
    batch, _ = planted_texts(20, (1, 2))
    full = Pass(task, batch)
    scores = build_extractor("deeplift", task.encoder.config, {})(full, batch.labels)
    rows = torch.arange(20)
    change = full.logits[rows, batch.labels] - task(batch, baseline(full))[rows, batch.labels]
    torch.testing.assert_close(scores.sum(-1), change, rtol=1e-4, atol=1e-5)


def test_an_mlp_pools_embeddings_of_another_width_than_the_states():
    from transformers import AlbertConfig

    config = AlbertConfig(vocab_size=50, embedding_size=16, hidden_size=32, num_attention_heads=2)
    made = build_extractor("integrated-gradients", config, {"pooling": "mlp-8-2"})
    assert made.pooling(torch.zeros(1, 3, 16)).shape == (1, 3, 1)


@pytest.mark.parametrize("family", tiny.FAMILIES)
@pytest.mark.parametrize("name", ["shared-lm", "dual-lm"])
def test_a_head_can_read_several_layers(encoders, family, name):
    """The last layer and others at equal distances, each normalised; a text alone has the same scores."""
    folder = encoders(family)
    model = tiny.build_model(folder, extractor=name, extractor_options={"layers": 3}).eval()
    batch = tiny.build_batch(folder)
    scores = model.step(batch, target=batch.labels).scores
    encoder = model.task.encoder if name == "shared-lm" else model.extractor.encoder
    for row in range(len(batch.input_ids)):
        alone = batch.rows(torch.tensor([row]), int(batch.attention_mask[row].sum()))
        output = encode(encoder, alone, output_hidden_states=True)
        layers, tokens = output.hidden_states, alone.input_ids.shape[1]
        chosen = [layers[0], layers[len(layers) // 2], layers[-1]]
        states = torch.cat([F.layer_norm(state[:, :tokens], state.shape[-1:]) for state in chosen], -1)
        expected = model.extractor.head(states)[0, :, 0]
        torch.testing.assert_close(scores[row, :tokens], expected, rtol=1e-4, atol=1e-5)


def test_no_more_layers_than_there_are(encoders):
    with pytest.raises(UserError, match="from 1 to 3; the encoder has no more"):
        tiny.build_model(encoders("bert"), extractor="shared-lm", extractor_options={"layers": 4})


def test_only_marked_texts_are_differentiated_twice(setting, monkeypatch):
    model, full, target = setting
    rows: list[tuple[bool, int]] = []
    gradient = torch.autograd.grad

    def counted(outputs, inputs, *, create_graph):
        rows.append((create_graph, len(inputs)))
        return gradient(outputs, inputs, create_graph=create_graph)

    monkeypatch.setattr(torch.autograd, "grad", counted)
    extract = extractor(model, "integrated-gradients", create_graph=True, steps=2)
    plain = extract(full, target)
    taught = torch.zeros(len(target), dtype=torch.bool)
    taught[1] = True
    rows.clear()
    scores = extract(replace(full, taught=taught), target)
    close(scores, plain)
    weights = [part for part in model.task.encoder.parameters() if part.requires_grad]
    ours, theirs = (
        gradient(values[1].square().sum(), weights, retain_graph=True, materialize_grads=True)
        for values in (scores, plain)
    )
    close(torch.cat([slope.flatten() for slope in ours]), torch.cat([slope.flatten() for slope in theirs]))
    assert sum(count for second, count in rows if second) == 2
    assert sum(count for second, count in rows if not second) == 2 * (len(target) - 1)
    rows.clear()
    close(extract(replace(full, taught=~taught & taught), target), plain)
    assert not any(second for second, _ in rows)
