"""Occlusion, LIME and KernelSHAP against naive and independent references."""

from itertools import combinations
from math import factorial
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from torch import nn

import tiny
from unirex.data.example import Example, Layout
from unirex.encoding.batch import Batch, collate
from unirex.encoding.encode import TextEncoder
from unirex.extractors import build_extractor
from unirex.extractors.kernel_shap import coalitions
from unirex.models.task import Pass, TaskModel

SHORT = ("dull .", "a film", "good and bad", "the plot is thin")


def setting(folder, texts=tiny.SENTENCES, **settings):
    model = tiny.build_model(folder, extractor="random", **{"pooling": "mean"} | settings)
    batch = tiny.build_batch(folder, texts)
    return model, Pass(model.task, batch), batch.labels


def extractor(model, name, **options):
    return build_extractor(name, model.config.encoder, options)


@torch.no_grad()
def naive_logits(task, batch, row, kept):
    """Logits [V, C] of one text, its tokens hidden by the attention mask: `kept` [V, n] of the selectable."""
    length = int(batch.attention_mask[row].sum())
    mask = torch.ones(len(kept), length, dtype=torch.bool)
    mask[:, batch.selectable[row, :length]] = torch.as_tensor(kept).bool()
    ids = batch.input_ids[row, :length].expand(len(kept), -1)
    return task(Batch(ids, mask, ~mask, mask))


@pytest.mark.parametrize("family", [one for one in tiny.FAMILIES if one != "bigbird-sparse"])
@pytest.mark.parametrize("kind", ["logit", "probability"])
def test_occlusion_is_what_a_masked_token_costs(encoders, family, kind):
    model, full, target = setting(encoders(family))
    scores = extractor(model, "occlusion", target=kind)(full, target)
    for row, label in enumerate(target.tolist()):
        places = full.batch.selectable[row].nonzero().flatten()
        kept = torch.cat([torch.ones(1, len(places)), 1 - torch.eye(len(places))])
        found = naive_logits(model.task, full.batch, row, kept)
        values = (found.softmax(-1) if kind == "probability" else found)[:, label]
        torch.testing.assert_close(scores[row, places], values[0] - values[1:], rtol=1e-4, atol=1e-4)
    assert (scores[~full.batch.selectable] == 0).all()


@pytest.mark.parametrize("removal", ["delete", "pad_token", "mask_token", "previous_token"])
def test_tokens_can_be_removed_otherwise(encoders, removal):
    model, full, target = setting(encoders("bert"))
    row, place = 0, 2
    scores = extractor(model, "occlusion", removal=removal, mask_token_id=4)(full, target)
    ids = full.batch.input_ids[row, full.batch.attention_mask[row]].clone()
    if removal == "delete":
        ids = torch.cat([ids[:place], ids[place + 1 :]])
    else:
        ids[place] = {"mask_token": 4, "pad_token": 0, "previous_token": ids[place - 1]}[removal]
    mask = torch.ones(1, len(ids), dtype=torch.bool)
    left = model.task(Batch(ids[None], mask, ~mask, mask))
    expected = (full.logits - left)[row, target[row]]
    torch.testing.assert_close(scores[row, place], expected, rtol=1e-4, atol=1e-4)


def test_the_probability_of_a_choice_is_among_the_others(encoders):
    layout = Layout(1, choice=True, rationale_segments=(0,), markers=("Q:", "A:"))
    made = TextEncoder(tiny.tokenizer("wordpiece"), 60, ("A", "B", "C"), layout=layout)
    examples = [
        Example("q0", ("where is the film",), "B", None, ("the plot", "it", "a good audience")),
        Example("q1", ("what do people like",), "A", None, ("fun", "the director")),
    ]
    batch = collate(made.encode(examples), made.tokenizer.pad_token_id)
    model = tiny.build_model(encoders("bert"), extractor="random", pooling="mean", labels=("only",))
    full = Pass(model.task, batch)
    scores = extractor(model, "occlusion", target="probability")(full, batch.labels)
    sequence, place = 1, int(batch.selectable[1].nonzero()[0])  # the second choice of the first question
    kept = torch.ones(1, int(batch.selectable[sequence].sum()))
    kept[0, 0] = 0
    changed = full.logits[0].detach().clone()
    changed[1] = naive_logits(model.task, batch, sequence, kept)[0, 0]
    expected = full.logits[0].softmax(-1)[1] - changed.softmax(-1)[1]
    torch.testing.assert_close(scores[sequence, place], expected.detach(), rtol=1e-4, atol=1e-5)


class Sum(nn.Module):
    """An encoder whose first state is the sum of all words it sees: every word counts for itself."""

    def __init__(self, words=60, width=4):
        super().__init__()
        self.words = nn.Embedding(words, width)
        self.config = SimpleNamespace(hidden_size=width, pad_token_id=0)

    def get_input_embeddings(self):
        return self.words

    def forward(self, input_ids=None, inputs_embeds=None, attention_mask=None, position_ids=None):
        embeds = self.words(input_ids) if inputs_embeds is None else inputs_embeds
        summed = (embeds * attention_mask[..., None]).sum(1, keepdim=True)
        return SimpleNamespace(last_hidden_state=summed.expand_as(embeds))


def linear_setting(lengths=(5, 12, 30)):
    torch.manual_seed(0)
    task = TaskModel(Sum(), pooling="cls", classes=3)
    mask = torch.arange(max(lengths) + 2) < torch.tensor(lengths)[:, None] + 2
    ids = torch.randint(4, 60, mask.shape)
    special = torch.zeros_like(mask)
    special[:, 0] = True
    special[torch.arange(len(lengths)), torch.tensor(lengths) + 1] = True
    batch = Batch(ids, mask, special, mask & ~special)
    target = torch.arange(len(lengths)) % 3
    worth = (task.embed(ids) @ task.head.weight[target][..., None]).squeeze(-1)  # what each word adds
    return task, Pass(task, batch), target, (worth * batch.selectable).detach()


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("occlusion", {}),
        ("lime", {"ridge": 1e-8}),
        ("kernel-shap", {}),
        ("kernel-shap", {"samples": 70}),  # most of the parts by chance
    ],
)
def test_a_linear_model_is_recovered(name, options):
    task, full, target, worth = linear_setting()
    scores = build_extractor(name, task.encoder.config, options)(full, target)
    torch.testing.assert_close(scores, worth, rtol=1e-3, atol=1e-4)


def test_lime_is_a_weighted_ridge_regression(encoders):
    from sklearn.linear_model import Ridge
    from sklearn.metrics import pairwise_distances

    model, full, target = setting(encoders("bert"))
    made = extractor(model, "lime", samples=60)
    seen = []
    sample = made.sample
    made.sample = lambda *given: seen.append(sample(*given)) or seen[-1]
    scores = made(full, target)
    for row, (kept, weights) in enumerate(seen):
        kept = kept.numpy().astype(float)
        assert kept[0].all() and (kept[1:].sum(-1) < kept.shape[1]).all()
        distance = 100 * pairwise_distances(kept, kept[:1], metric="cosine")[:, 0]
        expected = np.sqrt(np.exp(-(distance**2) / 25**2))
        np.testing.assert_allclose(weights, expected, rtol=1e-6, atol=1e-9)
        values = naive_logits(model.task, full.batch, row, kept)[:, target[row]].double()
        ridge = Ridge(alpha=1.0).fit(kept, values, sample_weight=expected)
        found = scores[row, full.batch.selectable[row]]
        np.testing.assert_allclose(found, ridge.coef_, rtol=1e-3, atol=1e-4 * np.abs(ridge.coef_).max())


def shapley(values, tokens):
    """Shapley values by their definition, from the value of every set of tokens."""
    worth = np.zeros(tokens)
    for one in range(tokens):
        rest = [other for other in range(tokens) if other != one]
        for size in range(tokens):
            weight = factorial(size) * factorial(tokens - size - 1) / factorial(tokens)
            for part in combinations(rest, size):
                worth[one] += weight * (values[frozenset(part) | {one}] - values[frozenset(part)])
    return worth


def answers(model, full, row, label):
    """What a text's target logit is for sets of its tokens, given as rows of 0 and 1."""
    return lambda kept: naive_logits(model.task, full.batch, row, kept)[:, label].double().numpy()


def short_texts(model, full, target):
    """For each text its row, the places of its tokens and how it answers."""
    for row, label in enumerate(target.tolist()):
        places = full.batch.selectable[row].nonzero().flatten()
        assert len(places) <= 8
        yield row, places, answers(model, full, row, label)


def test_kernel_shap_is_exact_for_short_texts(encoders):
    model, full, target = setting(encoders("bert"), SHORT)
    scores = extractor(model, "kernel-shap")(full, target)
    for row, places, value in short_texts(model, full, target):
        tokens = len(places)
        sets = [frozenset(part) for size in range(tokens + 1) for part in combinations(range(tokens), size)]
        table = np.array([[place in one for place in range(tokens)] for one in sets], dtype=float)
        expected = shapley(dict(zip(sets, value(table), strict=True)), tokens)
        np.testing.assert_allclose(scores[row, places], expected, rtol=1e-3, atol=1e-4)


def test_kernel_shap_is_that_of_shap(encoders):
    shap = pytest.importorskip("shap", reason="the extra `bench` has it")
    model, full, target = setting(encoders("bert"), SHORT)
    scores = extractor(model, "kernel-shap")(full, target)
    for row, places, value in short_texts(model, full, target):
        other = shap.KernelExplainer(value, np.zeros((1, len(places))), silent=True)
        found = other.shap_values(np.ones((1, len(places))), nsamples=2 ** len(places), silent=True)[0]
        np.testing.assert_allclose(scores[row, places], found, rtol=1e-3, atol=1e-3)


@pytest.mark.parametrize("samples", [20, 200])  # fewer than tokens, and more
def test_kernel_shap_adds_up(encoders, samples):
    model, full, target = setting(encoders("bert"))
    made = extractor(model, "kernel-shap", samples=samples)
    scores = made(full, target)
    for row, label in enumerate(target.tolist()):
        count = int(full.batch.selectable[row].sum())
        whole, nothing = naive_logits(model.task, full.batch, row, [[1] * count, [0] * count])[:, label]
        assert abs(scores[row].sum() - (whole - nothing)) < 1e-4 * max(1, abs(whole - nothing))
    assert made.convergence_delta(full, target, scores).abs().max() < 1e-4
    assert made.convergence_delta(full, target).abs().max() < 1e-4


def test_more_parts_come_closer_to_shapley_values(encoders):
    model, full, target = setting(encoders("bert"), [tiny.SENTENCES[6]])
    count = int(full.batch.selectable.sum())
    assert 8 < count <= 12
    exact = extractor(model, "kernel-shap", samples=2**count)(full, target)
    far, near = (
        torch.stack(
            [extractor(model, "kernel-shap", samples=n, seed=seed)(full, target) - exact for seed in range(5)]
        ).norm()
        for n in (40, 600)
    )
    assert near < far / 2


@pytest.mark.parametrize(
    ("tokens", "samples"), [(1, 200), (2, 200), (7, 10), (9, 100), (13, 200), (300, 200)]
)
def test_parts_are_proper_and_weighted_by_shapleys_kernel(tokens, samples):
    kept, weights = coalitions(tokens, samples, torch.Generator().manual_seed(0))
    sizes = kept.sum(-1)
    assert ((sizes > 0) & (sizes < tokens)).all()
    assert len(kept) <= max(samples + 1, 2 ** min(tokens, 8) - 2)
    assert torch.equal(kept.sum(0), (~kept).sum(0))  # every part has its complement
    kernel = [(tokens - 1) / (size * (tokens - size)) for size in range(1, tokens)]
    torch.testing.assert_close(float(weights.sum()), float(sum(kernel)))
    if tokens <= 8:
        assert len(kept.unique(dim=0)) == 2**tokens - 2


def test_views_of_long_texts_are_laid_out_in_parts(encoders, monkeypatch):
    model, full, target = setting(encoders("bert"))
    names = ("occlusion", "lime", "kernel-shap")
    whole = [extractor(model, name)(full, target) for name in names]
    monkeypatch.setattr("unirex.extractors.masking.VIEWS", 3 * full.batch.input_ids.numel())
    monkeypatch.setattr("unirex.extractors.occlusion.VIEWS", 3 * full.batch.input_ids.numel())
    for name, expected in zip(names, whole, strict=True):
        found = extractor(model, name)(full, target)
        torch.testing.assert_close(found, expected, rtol=1e-3, atol=1e-3 * float(expected.abs().max()))
