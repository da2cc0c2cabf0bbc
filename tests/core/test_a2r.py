"""A2R: who gets the soft predictor's attention, and how agreement is measured."""

from dataclasses import replace
from math import log
from types import SimpleNamespace

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from test_choices import model_for, question_batch
from test_windows import LIMIT, LONG
from torch.nn import functional as F

import tiny
from unirex.data.example import Example
from unirex.encoding.batch import Batch, collate
from unirex.encoding.encode import TextEncoder
from unirex.errors import UserError
from unirex.extractors.a2r_selector import A2RSelector, soft_attention
from unirex.models.labelling import OneLabel
from unirex.models.task import NO_CHOICE, Pass
from unirex.objectives.agreement import Agreement
from unirex.objectives.soft_task import SoftTask

ANY = torch.zeros(1, dtype=torch.long)  # a label: the selector chooses before there is one

SIZES = st.shared(st.integers(2, 5))
LOGITS = SIZES.flatmap(lambda size: st.lists(st.floats(-50, 50, width=32), min_size=size, max_size=size))


def selector(model, **options):
    torch.manual_seed(0)
    return tiny.shaken(A2RSelector(model.config.encoder, **options)).eval()


def wider(batch: Batch, by: int) -> Batch:
    """The same texts with more padding."""
    grown = {
        name: F.pad(value, (0, by))
        for name, value in batch.tensors().items()
        if value.dim() == 2 and value.shape == batch.input_ids.shape
    }
    return replace(batch, **grown)


@pytest.mark.parametrize("soft", ["shared", "own"])
def test_padding_gets_no_soft_attention(encoders, soft):
    model = tiny.build_model(encoders("bert"))
    made, batch = selector(model, soft=soft), tiny.build_batch(encoders("bert"))
    full, more = Pass(model.task, batch), Pass(model.task, wider(batch, 9))
    scores, padded = made(full, ANY), made(more, ANY)
    weights = soft_attention(padded, more.batch)
    assert (weights[~more.batch.selectable] == 0).all()
    torch.testing.assert_close(weights.sum(-1), torch.ones(len(weights)))
    torch.testing.assert_close(
        made.soft_logits(full, scores), made.soft_logits(more, padded), atol=1e-5, rtol=1e-4
    )


def test_with_the_mistake_of_unirex_it_does(encoders):
    model = tiny.build_model(encoders("bert"))
    batch = tiny.build_batch(encoders("bert"))
    made, scores = selector(model, pads=True), torch.zeros(batch.input_ids.shape)
    weights = soft_attention(scores, batch, pads=True)
    torch.testing.assert_close(weights, torch.full_like(weights, 1 / weights.shape[1]))
    more = Pass(model.task, wider(batch, 9))
    apart = made.soft_logits(Pass(model.task, batch), scores) - made.soft_logits(more, F.pad(scores, (0, 9)))
    assert (apart.abs().amax(-1) > 1e-4).all()


def test_attention_is_the_softmax_over_what_can_be_selected():
    flags = torch.tensor([[0, 1, 1, 0, 0], [0, 0, 0, 0, 0]]).bool()
    mask = torch.tensor([[1, 1, 1, 1, 0], [1, 1, 0, 0, 0]]).bool()
    batch = Batch(mask.long(), mask, ~flags & mask, flags)
    scores = torch.tensor([[9.0, 0.0, log(3), 9.0, 9.0], [0.0, 0.0, 5.0, 5.0, 5.0]])
    expected = torch.tensor([[0, 0.25, 0.75, 0, 0], [0.5, 0.5, 0, 0, 0]])  # nothing to select: all tokens
    torch.testing.assert_close(soft_attention(scores, batch), expected)


def test_the_soft_predictor_is_the_weighted_mean_of_states(encoders):
    model = tiny.build_model(encoders("roberta"))
    made, batch = selector(model), tiny.build_batch(encoders("roberta"))
    full = Pass(model.task, batch)
    scores = made(full, ANY)
    for row, soft in enumerate(made.soft_logits(full, scores)):
        here = batch.selectable[row]
        pooled = scores[row][here].softmax(-1) @ full.hidden[row][here]
        torch.testing.assert_close(soft, made.soft_head(pooled), atol=1e-5, rtol=1e-4)


def test_choices_are_answered_in_their_places(encoders):
    model = model_for(encoders("bert"))
    made, full = selector(model, classes=1), Pass(model.task, question_batch())
    answers = made.soft_logits(full, made(full, ANY))
    assert answers.shape == full.logits.shape == (2, 3)
    assert answers[1, 2] == NO_CHOICE
    with pytest.raises(UserError, match="set classes to 1"):
        selector(model).soft_logits(full, made(full, ANY))


def test_long_texts_are_read_through_their_windows(encoders):
    model = tiny.build_model(encoders("bert"))
    encoder = TextEncoder(tiny.tokenizer("wordpiece"), LIMIT, ("neg", "pos"), truncation="windows")
    batch = collate(encoder.encode([Example("l", (LONG,), "neg"), Example("s", ("a dull film",), "pos")]), 0)
    model.task.window = LIMIT
    full = Pass(model.task, batch)
    assert full.windows is not None
    for soft in ("shared", "own"):
        made = selector(model, soft=soft)
        assert made.soft_logits(full, made(full, ANY)).isfinite().all()


@pytest.mark.parametrize("soft", ["shared", "own"])
def test_who_learns_from_the_soft_predictor(encoders, soft):
    model = tiny.build_model(encoders("bert"))
    made, full = selector(model, soft=soft), Pass(model.task, tiny.build_batch(encoders("bert")))
    made.soft_logits(full, made(full, ANY)).square().sum().backward()
    learns = {name.split(".")[0] for name, one in made.named_parameters() if one.grad is not None}
    assert learns == {"encoder", "head", "soft_head"} | ({"soft_reader"} if soft == "own" else set())
    assert (model.task.encoder.embeddings.word_embeddings.weight.grad is not None) == (soft == "shared")
    assert model.task.head.weight.grad is None


def distance(name, first, second):
    return float(Agreement(divergence=name).distance(torch.tensor([first]), torch.tensor([second]))[0])


@given(LOGITS, LOGITS)
def test_jensen_shannon_is_symmetric_bounded_and_a_distance(first, second):
    found = distance("js", first, second)
    assert found == pytest.approx(distance("js", second, first), abs=1e-6)
    assert -1e-6 <= found <= log(2) + 1e-6
    assert distance("js", first, first) == pytest.approx(0, abs=1e-6)


@given(LOGITS, LOGITS, st.sampled_from(["js", "js-reversed", "kl"]))
def test_divergences_are_those_of_double_precision_and_have_gradients(first, second, name):
    one, two = (torch.tensor(row, dtype=torch.double).log_softmax(-1) for row in (first, second))
    middle = ((one.exp() + two.exp()) / 2).log()

    def kl(p, q):
        return float((p.exp() * (p - q)).sum())

    expected = {
        "js": (kl(one, middle) + kl(two, middle)) / 2,
        "js-reversed": (kl(middle, one) + kl(middle, two)) / 2,
        "kl": kl(one, two) + kl(two, one),
    }
    assert distance(name, first, second) == pytest.approx(expected[name], rel=1e-4, abs=1e-5)
    hard, soft = torch.tensor([first], requires_grad=True), torch.tensor([second], requires_grad=True)
    Agreement(divergence=name).distance(hard, soft).sum().backward()
    assert hard.grad.isfinite().all()
    assert soft.grad.isfinite().all()


def test_a_worked_divergence():
    # p = (3/4, 1/4), q = (1/4, 3/4), m = (1/2, 1/2)
    first, second = [log(3), 0.0], [0.0, log(3)]
    both = 0.75 * log(1.5) + 0.25 * log(0.5)
    assert distance("js", first, second) == pytest.approx(both, abs=1e-6)
    assert distance("js-reversed", first, second) == pytest.approx(0.5 * log(4 / 3), abs=1e-6)
    assert distance("kl", first, second) == pytest.approx(log(3), abs=1e-6)


@pytest.mark.parametrize("name", ["js", "js-reversed", "kl"])
def test_missing_choices_do_not_count(name):
    first, second = [1.0, -1.0], [0.5, 2.0]
    expected = distance(name, first, second)
    assert distance(name, [*first, NO_CHOICE], [*second, NO_CHOICE]) == pytest.approx(expected, abs=1e-6)


def test_objectives_average_over_budgets_and_ask_for_a_soft_predictor():
    hard = torch.tensor([[[log(3), 0.0]], [[0.0, 0.0]]])  # [K, B, C]
    soft, extractor = torch.tensor([[0.0, log(3)]]), SimpleNamespace(soft_logits=None)
    step = SimpleNamespace(kept_logits=hard, soft_logits=soft, extractor=extractor, labelling=OneLabel())
    each = [distance("js", *pair) for pair in (([log(3), 0.0], [0.0, log(3)]), ([0.0, 0.0], [0.0, log(3)]))]
    torch.testing.assert_close(Agreement(1.0)(step), torch.tensor([sum(each) / 2]))
    step.answer_loss = lambda logits: F.cross_entropy(logits, torch.tensor([1]), reduction="none")
    torch.testing.assert_close(SoftTask(1.0)(step), torch.tensor([log(4 / 3)]))
    for objective in (Agreement(1.0), SoftTask(1.0)):
        with pytest.raises(UserError, match="a2r"):
            objective(SimpleNamespace(extractor=None))


def test_unknown_soft_predictors_are_refused(encoders):
    with pytest.raises(UserError, match="shared, own"):
        selector(tiny.build_model(encoders("bert")), soft="hard")
