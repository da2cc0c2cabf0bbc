"""Selections that pass gradients on: the same numbers, and the extractor hears of them."""

import math
from dataclasses import replace

import pytest
import torch

import tiny
import unirex
from planted import planted
from unirex.errors import UserError
from unirex.models.task import Pass
from unirex.objectives import Comprehensiveness, Objectives, Sufficiency, Task
from unirex.select import Selector, faded

BUDGETS = (20, 50)
FAITHFUL = Objectives(
    task=Task(weight=0.0),
    comprehensiveness=Comprehensiveness(weight=0.5),
    sufficiency=Sufficiency(weight=0.5),
)
SELECTORS = ("straight_through", "gumbel")


@pytest.fixture(scope="session")
def learner(shallow_learner):
    return shallow_learner


def build(encoders, selector, *, family="bert", extractor="dual-lm", **settings):
    return tiny.build_model(
        encoders(family),
        extractor=extractor,
        objectives=FAITHFUL,
        budgets=BUDGETS,
        selector=selector,
        **settings,
    )


@pytest.mark.parametrize("extractor", ["dual-lm", "shared-lm"])
@pytest.mark.parametrize("removal", ["attention_mask", "delete", "mask_token", "previous_token"])
def test_straight_through_changes_no_value_and_teaches_the_extractor(encoders, extractor, removal):
    batch = tiny.build_batch(encoders("bert"))
    plain, passing = (
        build(encoders, selector, extractor=extractor, removal=removal)
        for selector in ("detached", "straight_through")
    )
    steps = [model.step(batch, target=batch.labels) for model in (plain, passing)]
    assert torch.equal(*(step.masks for step in steps))
    for name in ("kept_logits", "dropped_logits", "kept_loss", "dropped_loss"):
        # Other texts run together, and whole texts run again: equal up to rounding.
        torch.testing.assert_close(*(getattr(step, name) for step in steps), rtol=1e-5, atol=1e-5, msg=name)
    outputs = [model(**batch.tensors()) for model in (plain, passing)]
    torch.testing.assert_close(outputs[0].loss, outputs[1].loss, rtol=1e-5, atol=1e-6)
    for output in outputs:
        output.loss.backward()
    assert all(one.grad is None for one in plain.extractor.parameters())
    assert all(one.grad.abs().max() > 0 for one in passing.extractor.head.parameters())


def test_the_task_model_learns_the_same_from_either(encoders):
    batch = tiny.build_batch(encoders("bert"))
    plain, passing = (build(encoders, selector) for selector in ("detached", "straight_through"))
    for model in (plain, passing):
        model(**batch.tensors()).loss.backward()
    for one, other in zip(plain.task.parameters(), passing.task.parameters(), strict=True):
        torch.testing.assert_close(one.grad, other.grad, rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("name", ["kept", "dropped"])
def test_a_gate_hears_how_the_loss_changes_as_its_token_fades(encoders, name):
    """The gradient of a gate is the loss's, by differences, in the amount its token is faded by."""
    model = build(encoders, "detached").double()
    batch = tiny.build_batch(encoders("bert"), tiny.SENTENCES[:2])
    step = model.step(batch, target=batch.labels)
    shown = step._shown(name).detach()

    def loss(amount):
        return step.target_loss(step._answers(shown, faded(step.full, amount))).sum()

    none = torch.zeros(batch.input_ids.shape, dtype=torch.double, requires_grad=True)
    (found,) = torch.autograd.grad(loss(none), none)
    expected = torch.zeros_like(found)
    with torch.no_grad():
        for row, place in batch.attention_mask.nonzero().tolist():
            small = torch.zeros_like(found)
            small[row, place] = 1e-5
            expected[row, place] = (loss(small) - loss(-small)) / 2e-5
    torch.testing.assert_close(found, expected, rtol=1e-5, atol=1e-8)
    seen = shown.any(0)  # a token no view shows has no say
    assert (found[~seen & batch.selectable] == 0).all() and found[seen].abs().max() > 0


@pytest.mark.parametrize("temperature", [0.5, 1.0, 3.0])
def test_scores_hear_it_through_the_chance_to_be_kept(encoders, temperature):
    """With p the chance: -(d loss / d fading) p (1 - p) / temperature if kept, the opposite if dropped."""
    model = build(encoders, "straight_through", temperature=temperature).double()
    batch = tiny.build_batch(encoders("bert"), tiny.SENTENCES[:2])
    full = Pass(model.task, batch)
    scores = torch.linspace(-2, 2, batch.input_ids.numel(), dtype=torch.double).view_as(batch.input_ids)
    weights = torch.randn(full.embeds.shape, generator=torch.Generator().manual_seed(0)).double()
    amount = torch.zeros_like(scores, requires_grad=True)
    (fading,) = torch.autograd.grad((faded(full, amount) * weights).sum(), amount)
    chance = (scores / temperature).sigmoid()
    for kept, sign in ((True, -1), (False, 1)):
        asked = scores.clone().requires_grad_()
        gated = Selector("straight_through", temperature).gated(full, asked, kept=kept)
        assert gated.equal(full.embeds)
        (found,) = torch.autograd.grad((gated * weights).sum(), asked)
        expected = sign * fading * chance * (1 - chance) / temperature * batch.selectable
        torch.testing.assert_close(found, expected)


def test_fading_goes_from_the_word_to_padding(encoders):
    model = build(encoders, "detached")
    full = Pass(model.task, tiny.build_batch(encoders("bert")))
    pad = model.task.encoder.get_input_embeddings().weight[model.config.encoder.pad_token_id]
    shape = full.batch.input_ids.shape
    assert faded(full, torch.zeros(shape)).equal(full.embeds)
    torch.testing.assert_close(faded(full, torch.ones(shape)), pad.expand_as(full.embeds))
    half = faded(full, torch.full(shape, 0.5))
    torch.testing.assert_close(half, (full.embeds + pad) / 2)


def test_gumbel_draws_in_training_and_not_in_evaluation(encoders):
    model, batch = build(encoders, "gumbel"), tiny.build_batch(encoders("bert"))

    def masks(explores):
        return model.step(batch, explores=explores).masks

    plain = build(encoders, "detached").step(batch).masks
    assert masks(False).equal(plain) and masks(False).equal(masks(False))
    torch.manual_seed(0)
    drawn = [masks(True) for _ in range(4)]
    assert len({one.numpy().tobytes() for one in drawn}) > 1
    assert all(one.sum(-1).equal(plain.sum(-1)) for one in drawn), "chance changes which, not how many"
    torch.manual_seed(0)
    assert masks(True).equal(drawn[0]), "the seed decides"


def test_a_training_forward_draws_and_a_validation_forward_does_not(encoders):
    model, batch = build(encoders, "gumbel"), tiny.build_batch(encoders("bert"))
    tensors = batch.tensors()
    losses = {float(model(**tensors).loss.detach()) for _ in range(4)}
    with torch.no_grad():
        quiet = {float(model(**tensors).loss) for _ in range(4)}
    assert len(losses) > 1 and len(quiet) == 1


def test_the_first_choice_follows_the_softmax_of_the_scores():
    """Gumbel-max: the highest of scores with Gumbel noise is token t with chance exp(s_t) / sum exp(s)."""
    scores, count = torch.tensor([1.5, 0.0, -0.5, 0.7, -2.0]), 20_000
    torch.manual_seed(3)
    drawn = Selector("gumbel", explores=True).drawn(scores.expand(count, 5)).argmax(-1)
    shares = drawn.bincount(minlength=5) / count
    for share, chance in zip(shares.tolist(), scores.softmax(-1).tolist(), strict=True):
        assert abs(share - chance) <= 4 * math.sqrt(chance * (1 - chance) / count)


def test_the_first_two_follow_a_draw_without_replacement():
    """P(first a, second b) = p_a * p_b / (1 - p_a)."""
    scores, count = torch.tensor([1.0, 0.0, -1.0]), 20_000
    torch.manual_seed(4)
    order = Selector("gumbel", explores=True).drawn(scores.expand(count, 3)).argsort(-1, descending=True)
    chances = scores.softmax(-1).tolist()
    for a in range(3):
        for b in {0, 1, 2} - {a}:
            chance = chances[a] * chances[b] / (1 - chances[a])
            share = float(((order[:, 0] == a) & (order[:, 1] == b)).float().mean())
            assert abs(share - chance) <= 4 * math.sqrt(chance * (1 - chance) / count)


@pytest.mark.parametrize("selector", SELECTORS)
def test_nothing_is_passed_on_where_no_gradient_is_asked_for(encoders, selector):
    """Then all views run together, as with a detached choice."""
    model, batch = build(encoders, selector), tiny.build_batch(encoders("bert"))
    with torch.no_grad():
        step = model.step(batch)
        assert not step.selector.passes_gradients
        expected = build(encoders, "detached").step(batch).kept_logits
    torch.testing.assert_close(step.kept_logits, expected, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("family", ["roberta", "distilbert", "modernbert", "deberta-v2"])
def test_it_serves_other_encoders(encoders, family):
    batch = tiny.build_batch(encoders(family))
    plain, passing = (build(encoders, name, family=family) for name in ("detached", "straight_through"))
    outputs = [model(**batch.tensors()) for model in (plain, passing)]
    torch.testing.assert_close(outputs[0].loss, outputs[1].loss, rtol=1e-5, atol=1e-6)
    outputs[1].loss.backward()
    assert all(one.grad.abs().max() > 0 for one in passing.extractor.head.parameters())


TRAINING = {"epochs": 14, "learning_rate": 2e-3, "batch_size": 16, "patience": 14}


def test_faithfulness_alone_teaches_the_extractor(learner):
    """Without any gold, by what its rationales do to the classifier, it finds the words that decide."""
    data = planted()
    settings = {"selector": "straight_through", "training_budgets": [20]}
    settings["objectives"] = {"plausibility": {"weight": 0.0}}
    system = unirex.fit(
        "dlm-fp",
        data,
        encoder=str(learner),
        pooling="mean",
        training=TRAINING,
        progress=False,
        **settings,
    )
    results = unirex.evaluate(system, data["test"])
    floor = results.rows["dlm-fp: random scores"]
    untaught = replace(system, model=with_untrained_extractor(system.model, learner))
    assert results.metrics["accuracy"] >= 0.9
    assert results.metrics["csd"] >= floor["csd"] + 0.25
    assert results.metrics["csd"] >= unirex.evaluate(untaught, data["test"], draws=0).metrics["csd"] + 0.25
    assert results.metrics["auprc"] >= floor["auprc"] + 0.3, "what decides is what people marked, here"


def with_untrained_extractor(model, learner):
    """The same classifier with an extractor as it was before training."""
    config = unirex.methods.resolve("dlm-fp", None, {"encoder": str(learner), "pooling": "mean"})
    fresh = unirex.methods.building.build_system("dlm-fp", planted((8, 4, 4)), config).model
    fresh.task = model.task
    return fresh.eval()


@pytest.mark.parametrize(
    ("method", "settings", "said"),
    [
        ("vanilla", {"selector": "gumbel"}, "selector=gumbel teaches an extractor; 'integrated-gradients'"),
        ("aa-f", {"selector": "straight_through"}, "learns nothing"),
        ("dlm-p", {"selector": "straight_through"}, "passes on what faithfulness teaches"),
        ("dlm-fp", {"objectives": {"plausibility": {"weight": 0.0}}}, "'dual-lm' has to learn"),
        ("dlm-fp", {"selector": "softmax"}, "softmax"),
        ("dlm-fp", {"selector": "gumbel", "temperature": 0}, "temperature"),
        ("dlm-fp", {"temperature": 0.5}, "temperature"),
    ],
)
def test_settings_that_would_do_nothing_are_refused(learner, method, settings, said):
    with pytest.raises(UserError, match=said):
        unirex.fit(method, planted((8, 4, 4)), encoder=str(learner), pooling="mean", **settings)


@pytest.mark.parametrize("name", ["kept", "dropped"])
def test_tokens_that_are_never_selected_get_no_gradient(encoders, name):
    """Special tokens, and here every third token too, stay in every view: their scores decide nothing."""
    model = build(encoders, "straight_through")
    batch = tiny.build_batch(encoders("bert"))
    every_third = torch.arange(batch.selectable.shape[1]) % 3 == 0
    batch = replace(batch, selectable=batch.selectable & ~every_third)
    step = model.step(batch, target=batch.labels)
    scores = step.scores.detach().requires_grad_()
    object.__setattr__(step, "scores", scores)
    getattr(step, f"{name}_loss").sum().backward()
    assert scores.grad[~batch.selectable].abs().max() == 0
    assert scores.grad[batch.selectable].abs().max() > 0
