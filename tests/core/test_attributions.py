"""Attribution methods beside the paper's: parity with references, and what all of them promise."""

from dataclasses import replace
from functools import cache

import captum.attr
import numpy as np
import pytest
import torch
from torch import nn
from transformers import AutoModel, AutoTokenizer, BertForSequenceClassification

import tiny
from unirex.data.example import Example, Layout
from unirex.encoding.batch import Batch, collate
from unirex.encoding.encode import TextEncoder
from unirex.encoding.sequence import Frame
from unirex.errors import UserError
from unirex.extractors import build_extractor
from unirex.extractors.attribution import baseline, embeddings, input_gradient
from unirex.models.classifier import Classifier
from unirex.models.plan import Limits
from unirex.models.task import Pass

GRADIENTS = ("gradient", "input-x-gradient", "integrated-gradients", "deeplift")
NEW = ("smoothgrad", "gradient-shap", "occlusion", "lime", "kernel-shap", "attention", "attention-rollout")
# Few samples: what is tried is not accuracy.
SAMPLED = {"smoothgrad": {"samples": 3}, "lime": {"samples": 20}, "kernel-shap": {"samples": 20}}
SPARSE = "bigbird-sparse"  # its long texts have no attention of all to all


def extractor(model, name, **options):
    return build_extractor(name, model.config.encoder, SAMPLED.get(name, {}) | options)


def setting(folder, texts=tiny.SENTENCES, **settings):
    model = tiny.build_model(folder, extractor="random", **{"pooling": "mean"} | settings)
    batch = tiny.build_batch(folder, texts)
    return model, Pass(model.task, batch), batch.labels


def close(found, expected, tolerance=1e-4):
    """Attributions are gradients, or small differences of logits: coarser than logits themselves."""
    assert (found - expected).abs().max() <= tolerance * expected.abs().max()


# GradientSHAP


class FromEmbeddings(nn.Module):
    """One text as captum wants it: so many versions of its embeddings."""

    def __init__(self, task, batch):
        super().__init__()
        self.task, self.batch = task, batch

    def forward(self, embeds):
        return self.task(self.batch.rows(torch.zeros(len(embeds), dtype=torch.long)), embeds)


@pytest.mark.parametrize("family", ["bert", "roberta"])
@pytest.mark.parametrize("stdev", [0.0, 0.3])
def test_gradient_shap_is_captums_at_the_same_points(encoders, monkeypatch, family, stdev):
    for number, text in enumerate(tiny.SENTENCES[:3]):  # one by one: captum would mix their baselines
        model, full, target = setting(encoders(family), [text])
        made = extractor(model, "gradient-shap", samples=4, stdev=stdev, seed=number)
        drawn = list(made.draws(full))
        points = torch.cat([where for _, where in drawn])[:, 0].numpy()
        noise = torch.cat([end - full.embeds for end, _ in drawn]).detach()
        monkeypatch.setattr(np.random, "uniform", lambda low, high, size, points=points: points)
        monkeypatch.setattr(torch, "normal", lambda mean, std, noise=noise: noise)
        reference = captum.attr.GradientShap(FromEmbeddings(full.task, full.batch))
        expected = reference.attribute(
            full.embeds.detach(), baseline(full).detach(), n_samples=4, stdevs=stdev, target=target
        )
        monkeypatch.undo()
        close(made(full, target), expected.sum(-1).detach())


def test_more_random_points_come_closer_to_integrated_gradients(encoders):
    model, full, target = setting(encoders("bert"))
    exact = extractor(model, "integrated-gradients", steps=60)(full, target)
    far, near = (
        (extractor(model, "gradient-shap", samples=n)(full, target) - exact).norm() for n in (3, 300)
    )
    assert near < far / 3


def test_gradient_shap_can_teach_every_parameter(encoders):
    model, full, target = setting(encoders("bert"))
    extractor(model, "gradient-shap", create_graph=True)(full, target).square().sum().backward()
    weight = model.task.encoder.encoder.layer[0].attention.self.query.weight
    assert weight.grad.abs().max() > 0


def test_smoothgrad_is_captums_with_the_same_noise(encoders, monkeypatch):
    model, full, target = setting(encoders("bert"), [tiny.SENTENCES[0]])
    made = extractor(model, "smoothgrad", samples=4)
    noise = torch.cat([drawn - full.embeds for drawn in made.draws(full)]).detach()
    assert noise.std() > 0
    monkeypatch.setattr(torch, "normal", lambda mean, std: noise)
    reference = captum.attr.NoiseTunnel(captum.attr.Saliency(FromEmbeddings(full.task, full.batch)))
    expected = reference.attribute(
        full.embeds.detach(), nt_type="smoothgrad", nt_samples=4, target=target, abs=False
    )
    monkeypatch.undo()
    close(made(full, target), expected.abs().sum(-1).detach())


# Contrasts

LINEAR = ("input-x-gradient", "integrated-gradients", "deeplift", "gradient-shap")


@pytest.mark.parametrize("name", [*LINEAR, "occlusion", "lime", "kernel-shap"])
def test_a_contrast_is_the_attribution_of_the_difference(encoders, name):
    model, full, _ = setting(encoders("bert"), labels=("a", "b", "c"))
    first, second = (torch.full((len(full.batch.input_ids),), number) for number in (2, 0))
    made, both = extractor(model, name), torch.stack([first, second], dim=1)
    found = made(full, both)
    close(found, made(full, first) - made(full, second), 1e-3)
    if name == "integrated-gradients":
        deltas = [made.convergence_delta(full, target) for target in (both, first, second)]
        close(deltas[0], deltas[1] - deltas[2], 1e-3)


# Gradient and what differences to the baseline add up to


def test_gradients_are_absolute_as_signed_ones_add_up_to_nothing(encoders):
    model, full, target = setting(encoders("bert"))
    expected = input_gradient(full, embeddings(full), target, create_graph=False)
    close(extractor(model, "gradient")(full, target), expected.abs().sum(-1))
    assert expected.sum(-1).abs().max() < 1e-5 * expected.abs().sum(-1).max(), "a layer norm follows"


@pytest.mark.parametrize("name", ["integrated-gradients", "deeplift", "gradient-shap"])
def test_the_error_of_completeness_is_what_is_missing_in_the_sum(encoders, name):
    model, full, target = setting(encoders("roberta"))
    made, rows = extractor(model, name), torch.arange(len(target))
    scores = made(full, target).detach()
    nothing = model.task(full.batch, baseline(full))
    missing = scores.sum(-1) - (full.logits - nothing)[rows, target].detach()
    near = {"rtol": 1e-4, "atol": 1e-4}
    torch.testing.assert_close(made.convergence_delta(full, target, scores), missing, **near)
    torch.testing.assert_close(made.convergence_delta(full, target), missing, **near)


# Attention


@cache
def eager_encoder(folder):
    return AutoModel.from_pretrained(folder, attn_implementation="eager").eval()


def naive_attention(folder, text, *, rollout, query="cls", layer=-1):
    """One text without padding through an eager encoder of its own; [T]."""
    batch = tiny.build_batch(folder, [text])
    with torch.no_grad():
        found = eager_encoder(folder)(input_ids=batch.input_ids, output_attentions=True).attentions
    heads = [one[0].mean(0).numpy() for one in found]
    flow = heads[layer]
    if rollout:
        flow = np.eye(len(flow))
        for one in heads:
            mixed = 0.5 * one + 0.5 * np.eye(len(one))
            flow = (mixed / mixed.sum(-1, keepdims=True)) @ flow
    return torch.tensor(flow[0] if query == "cls" else flow.mean(0)).float()


@pytest.mark.parametrize("family", [family for family in tiny.FAMILIES if family != SPARSE])
@pytest.mark.parametrize("options", [{}, {"query": "mean"}])
@pytest.mark.parametrize("name", ["attention", "attention-rollout"])
def test_attention_is_that_of_each_text_alone(encoders, family, options, name):
    folder = encoders(family)
    model, full, target = setting(folder)
    scores, mask = extractor(model, name, **options)(full, target), full.batch.attention_mask
    assert (scores[~mask] == 0).all()
    torch.testing.assert_close(scores.sum(-1), torch.ones(len(target)))
    for row, text in enumerate(tiny.SENTENCES):
        expected = naive_attention(folder, text, rollout=name.endswith("rollout"), **options)
        torch.testing.assert_close(scores[row, mask[row]], expected, rtol=1e-4, atol=1e-5)


def test_any_layer_can_be_looked_at(encoders):
    folder = encoders("bert")
    model, full, target = setting(folder, tiny.SENTENCES[:1])
    first, again, last = (extractor(model, "attention", layer=n)(full, target)[0] for n in (0, -2, 1))
    close(first, naive_attention(folder, tiny.SENTENCES[0], rollout=False, layer=0))
    assert torch.equal(first, again)
    assert not torch.equal(first, last)


@pytest.mark.parametrize("kind", ["sdpa", "eager"])
def test_looking_at_attention_leaves_it_as_it_was(encoders, kind):
    model, full, target = setting(encoders("bert"))
    model.task.encoder.set_attn_implementation(kind)
    for _ in range(2):
        extractor(model, "attention")(full, target)
        assert model.task.encoder.config._attn_implementation == kind
        assert not model.task.encoder.config.output_attentions
        assert getattr(model.task.encoder(full.batch.input_ids), "attentions", None) is None


def test_attention_weights_held_at_once_are_bounded(encoders, monkeypatch):
    model, full, target = setting(encoders("bert"))
    whole = extractor(model, "attention-rollout")(full, target)
    monkeypatch.setattr("unirex.extractors.attention.WEIGHTS", 0)
    with tiny.counted(model.task.encoder) as shapes:
        close(extractor(model, "attention-rollout")(full, target), whole)
    assert {rows for rows, _ in shapes} == {1}


@pytest.mark.parametrize(("family", "said"), [(SPARSE, "big_bird"), ("longformer", "longformer")])
@pytest.mark.parametrize("name", ["attention", "attention-rollout"])
def test_encoders_without_full_attention_say_so(encoders, family, said, name):
    model, full, target = setting(encoders(family))
    with pytest.raises(UserError, match=f"{said} encoders do not say .* use another extractor"):
        extractor(model, name)(full, target)
    assert not model.task.encoder.config.output_attentions


# All of them


def usable(family, name):
    return not (family == SPARSE and name.startswith("attention"))


LOCAL = "modernbert-local", "attention"  # its last layer sees only the first token's neighbours
CASES = [(family, name) for family in tiny.FAMILIES for name in NEW if usable(family, name)]


@pytest.mark.parametrize(("family", "name"), CASES)
def test_scores_belong_to_the_text_not_to_its_batch(encoders, family, name):
    folder = encoders(family)
    model, full, target = setting(folder)
    made = extractor(model, name)
    with torch.no_grad():
        many = made(full, target)
        again = made(Pass(model.task, full.batch), target)
    assert torch.equal(many, again)
    assert many.shape == full.batch.input_ids.shape
    assert many.isfinite().all()
    if (family, name) != LOCAL:
        assert (many[full.batch.selectable] != 0).float().mean() > 0.9
    for row in (0, 3):
        alone = tiny.build_batch(folder, [tiny.SENTENCES[row]])
        width = alone.input_ids.shape[1]
        found = made(Pass(model.task, alone), target[row : row + 1])[0]
        close(many[row, :width], found)
        assert (many[row, width:] * full.batch.attention_mask[row, width:] == 0).all()


@pytest.mark.parametrize("name", ["smoothgrad", "gradient-shap", "lime", "kernel-shap"])
def test_another_seed_draws_other_numbers(encoders, name):
    model, full, target = setting(encoders("bert"))
    one, other = (extractor(model, name, seed=seed)(full, target) for seed in (0, 1))
    assert not torch.allclose(one, other)


QUESTIONS = [
    Example("q0", ("where is the film dull",), "B", None, ("the plot", "it", "a good audience")),
    Example("q1", ("what do people like",), "A", None, ("fun", "the director and the plot")),
]


def question_setting(folder):
    layout = Layout(1, choice=True, rationale_segments=(0,), markers=("Q:", "A:"))
    made = TextEncoder(tiny.tokenizer("wordpiece"), 60, ("A", "B", "C"), layout=layout)
    model = tiny.build_model(folder, extractor="random", pooling="mean", labels=("only",))
    batch = collate(made.encode(QUESTIONS), made.tokenizer.pad_token_id)
    return model, Pass(model.task, batch), batch.labels


@pytest.mark.parametrize("name", NEW)
def test_every_choice_is_explained_by_its_own_logit(encoders, name):
    model, full, target = question_setting(encoders("bert"))
    scores = extractor(model, name)(full, target)
    assert scores.shape == full.batch.input_ids.shape
    plain = replace(full.batch, example=None, choice=None)
    zeros = torch.zeros(len(plain.input_ids), dtype=torch.long)
    close(extractor(model, name)(Pass(model.task, plain), zeros), scores)


@pytest.mark.parametrize("name", NEW)
def test_long_texts_are_scored_in_windows(encoders, name):
    folder = encoders("bert")
    model = tiny.build_model(folder, extractor="random", max_length=24, truncation="windows")
    tokens = tiny.tokenizer("wordpiece")
    made = TextEncoder(tokens, 24, ("neg", "pos"), truncation="windows")
    texts = (" ".join(tiny.SENTENCES[:3]), "a dull film", ("is it good", " ".join(tiny.SENTENCES[:2])))
    examples = [Example(str(n), (t,) if isinstance(t, str) else t, "pos") for n, t in enumerate(texts)]
    batch = collate(made.encode(examples), tokens.pad_token_id)
    full = Pass(model.task, batch)
    assert full.windows is not None
    scores = extractor(model, name)(full, batch.labels)
    assert scores.isfinite().all()
    assert (scores[batch.selectable] != 0).float().mean() > 0.9
    short = collate(made.encode(examples[1:2]), tokens.pad_token_id)
    alone = extractor(model, name)(Pass(model.task, short), batch.labels[1:2])[0]
    close(scores[1, : len(alone)], alone)


@pytest.mark.parametrize("name", [*NEW, *GRADIENTS])
def test_they_run_in_bounded_chunks(encoders, monkeypatch, name):
    model, full, target = setting(encoders("bert"))
    whole = extractor(model, name)(full, target)
    limits = Limits(chunk=full.batch.input_ids.shape[1], overhead=0, saved=1 << 30)
    monkeypatch.setattr("unirex.models.task.device_limits", lambda _: limits)
    with tiny.counted(model.task.encoder) as shapes:
        close(extractor(model, name)(full, target), whole)
    double = 2 if name == "deeplift" else 1  # captum runs the baseline beside the text
    assert all(rows * width <= double * limits.chunk for rows, width in shapes)


@pytest.mark.parametrize("name", NEW)
def test_a_pass_first_used_by_an_extractor_can_still_be_trained(encoders, name):
    model, full, target = setting(encoders("bert"))
    extractor(model, name)(full, target)
    nn.functional.cross_entropy(full.logits, target).backward()
    assert model.task.head.weight.grad.abs().max() > 0


@pytest.fixture(scope="module")
def stranger():
    """Somebody's classifier of pairs, as a pass over two texts, and the model itself with its inputs."""
    torch.manual_seed(0)
    tokens = tiny.tokenizer("wordpiece")
    config = tiny.encoder_config("bert", len(tokens), pad=tokens.pad_token_id)
    model = tiny.shaken(BertForSequenceClassification(config)).eval()
    pairs = [("a dull film", "it is not good"), ("the plot", "people know the plot and watch")]
    made = TextEncoder(tokens, 60, ("neg", "pos"), separators=False)
    examples = [Example(str(n), pair, "pos") for n, pair in enumerate(pairs)]
    batch = collate(made.encode(examples), tokens.pad_token_id)
    task = Classifier(model, frame=Frame.of(tokens), types=True)
    return Pass(task, batch), model, tokens, pairs


@pytest.mark.parametrize("name", [*NEW, *GRADIENTS])
def test_somebody_elses_classifier_is_explained(stranger, name):
    full, model, _, _ = stranger
    made = build_extractor(name, model.config, SAMPLED.get(name, {}))
    hooks = [len(module._forward_hooks) for module in model.modules()]
    with torch.no_grad():
        scores = made(full, torch.tensor([1, 0]))
    assert scores.isfinite().all()
    assert (scores[full.batch.selectable] != 0).all()
    assert hooks == [len(module._forward_hooks) for module in model.modules()]
    assert model.config._attn_implementation == "sdpa"


def test_attention_of_a_pair_is_that_of_the_classifier_itself(stranger):
    full, model, tokens, pairs = stranger
    found = build_extractor("attention", model.config, {})(full, torch.tensor([1, 0]))
    model.set_attn_implementation("eager")
    for row, pair in enumerate(pairs):
        given = tokens(*pair, return_tensors="pt", return_token_type_ids=True)
        with torch.no_grad():
            expected = model(**given, output_attentions=True).attentions[-1][0].mean(0)[0]
        torch.testing.assert_close(found[row, : len(expected)], expected, rtol=1e-4, atol=1e-5)
    model.set_attn_implementation("sdpa")


@pytest.mark.parametrize(
    ("name", "options", "said"),
    [
        ("gradient-shap", {"samples": 0}, "samples 0 must be a whole number above 0"),
        ("gradient-shap", {"stdev": -1}, "stdev -1"),
        ("smoothgrad", {"noise": -0.1}, "noise -0.1"),
        ("lime", {"samples": 2.5}, "samples 2.5"),
        ("lime", {"kernel_width": 0}, "kernel_width 0"),
        ("kernel-shap", {"removal": "mask_token"}, "say which token that is"),
        ("occlusion", {"removal": "hide"}, "unknown removal 'hide'"),
        ("occlusion", {"target": "logits"}, "unknown target 'logits'; did you mean 'logit'"),
        ("attention", {"layer": 2}, "layer 2 is none of -2 to 1"),
        ("attention-rollout", {"query": "sep"}, "unknown query 'sep'"),
        ("attention-rollout", {"layer": 1}, "its options: query"),
    ],
)
def test_wrong_options_are_named(name, options, said):
    with pytest.raises(UserError, match=said):
        build_extractor(name, tiny.encoder_config("bert", 50, pad=0), options)


def test_a_text_with_nothing_to_select_has_no_scores(encoders):
    model, full, target = setting(encoders("bert"))
    batch = full.batch
    none: Batch = replace(batch, selectable=batch.selectable & (torch.arange(len(target)) > 0)[:, None])
    for name in ("occlusion", "lime", "kernel-shap"):
        scores = extractor(model, name)(Pass(model.task, none), target)
        assert (scores[0] == 0).all()
        assert (scores[1] != 0).any()
        nothing = replace(batch, selectable=torch.zeros_like(batch.selectable))
        assert (extractor(model, name)(Pass(model.task, nothing), target) == 0).all()


@pytest.mark.parametrize("name", ["deeplift", "integrated-gradients"])
def test_how_far_scores_are_from_adding_up_is_said_beside_them(encoders, name):
    from rich.console import Console

    from unirex.report import print_explanation
    from unirex.system import System

    folder = encoders("bert")
    system = System(tiny.build_model(folder), AutoTokenizer.from_pretrained(folder))
    told = system.with_extractor(name).explain(tiny.SENTENCES[0])
    assert told.completeness_error is not None and told.completeness_error >= 0
    console = Console(record=True, width=100)
    print_explanation(told, console)
    assert f"completeness error of the scores: {told.completeness_error:.3g}" in console.export_text()
    assert system.explain(tiny.SENTENCES[0]).completeness_error is None  # learnt scores promise no sum
