"""The order of reasons: the objective `ordering`, two scores from one pass, scores for every label."""

import math

import pytest
import torch

import tiny
from unirex.errors import UserError
from unirex.extractors import build_extractor
from unirex.extractors.token_scores import scaled
from unirex.objectives import Objectives, Ordering, Plausibility, Task

ORDERED = {"order": True}
SHARED, DUAL = "shared-lm", "dual-lm"
ALONE = Objectives(task=Task(weight=0.0), ordering=Ordering(weight=1.0, warmup=0.0))


def build(encoders, extractor=SHARED, objectives=ALONE, **settings):
    return tiny.build_model(encoders("bert"), extractor=extractor, objectives=objectives, **settings)


def one_step(model, batch, **settings):
    return model.step(batch, target=batch.labels, **settings)


def test_the_loss_is_a_divergence_of_two_softmaxes_over_the_tokens():
    """Teacher 2, 1 scaled to 1, 1/2: softmax(4 · (1, 1/2)) = (e^2, 1) / (e^2 + 1); the student's is even."""
    scores, taught = torch.zeros(1, 3), torch.tensor([[2.0, 1.0, 9.0]])
    valid = torch.tensor([[True, True, False]])
    p = math.e**2 / (math.e**2 + 1)
    expected = p * math.log(2 * p) + (1 - p) * math.log(2 * (1 - p))
    found = Ordering(sharpness=4.0).divergence(scores, taught, [valid])
    assert found.tolist() == pytest.approx([expected], abs=1e-6)
    # No loss where the student's scores differ from 4 · (1, 1/2) by a constant.
    right = torch.tensor([[7.0, 5.0, -3.0]])
    assert Ordering(sharpness=4.0).divergence(right, taught, [valid]).tolist() == pytest.approx([0], abs=1e-6)


def test_a_text_with_nothing_to_compare_costs_nothing_and_stays_finite():
    scores = torch.zeros(2, 3, requires_grad=True)
    groups = [torch.tensor([[True, False, False], [False, False, False]])]
    loss = Ordering().divergence(scores, torch.zeros(2, 3), groups)
    assert loss.tolist() == [0, 0]
    loss.sum().backward()
    assert scores.grad.abs().sum() == 0


def test_gold_is_never_compared_with_the_rest(encoders):
    model, batch = build(encoders), tiny.build_batch(encoders("bert"))
    step = one_step(model, batch)
    inside, outside = Ordering().groups(step)
    assert not (inside & outside).any()
    assert torch.equal(inside | outside, batch.selectable)
    taught = torch.randn(inside.shape)
    scores = torch.randn(inside.shape)
    lifted = scores + 5.0 * inside  # all gold above the rest: another order between, the same within
    losses = [Ordering().divergence(values, taught, [inside, outside]) for values in (scores, lifted)]
    torch.testing.assert_close(*losses, rtol=1e-4, atol=1e-5)


def test_without_gold_all_tokens_are_compared(encoders):
    model, batch = build(encoders), tiny.build_batch(encoders("bert"))
    batch.has_rationale[:] = False
    groups = Ordering().groups(one_step(model, batch))
    assert torch.equal(torch.stack(groups).any(0), batch.selectable)
    assert not groups[0].any()


@pytest.mark.parametrize("extractor", [SHARED, DUAL])
def test_the_classifier_teaches_and_does_not_learn_from_it(encoders, extractor):
    model, batch = build(encoders, extractor, extractor_options=ORDERED), tiny.build_batch(encoders("bert"))
    model(**batch.tensors()).loss.backward()
    assert all(part.grad is None for part in model.task.head.parameters())
    own = [part.grad for part in model.extractor.parameters() if part.grad is not None]
    assert own and max(float(grad.abs().max()) for grad in own) > 0
    shared = [part.grad is not None for part in model.task.encoder.encoder.parameters()]
    assert all(shared) if extractor == SHARED else not any(shared)


def test_the_teacher_leaves_modes_and_gradients_as_it_found_them(encoders):
    model, batch = build(encoders), tiny.build_batch(encoders("bert"))
    model.train()
    model.task.head.eval()
    step = one_step(model, batch)
    before = [part.training for part in model.modules()]
    teacher = build_extractor("integrated-gradients", model.config.encoder, {})
    first, second = step.attributions(teacher), step.attributions(teacher)
    assert [part.training for part in model.modules()] == before
    assert torch.equal(first, second)  # no dropout
    assert not first.requires_grad and all(part.requires_grad for part in model.task.parameters())


def test_it_begins_after_the_warm_up_and_comes_every_few_steps(encoders):
    objectives = Objectives(task=Task(weight=0.0), ordering=Ordering(weight=1.0, warmup=0.5, every=3))
    model, batch = build(encoders, objectives=objectives), tiny.build_batch(encoders("bert"))
    for progress, steps, used in [(0.4, 3, False), (0.5, 3, True), (0.9, 4, False), (1.0, 6, True)]:
        model.progress, model.trained_steps = progress, steps
        loss = model(**batch.tensors()).losses["ordering"]
        assert (loss.item() > 0) == used and loss.requires_grad


@pytest.mark.parametrize("extractor", [SHARED, DUAL])
@pytest.mark.parametrize("per_label", [False, True])
def test_the_dial_turns_from_marks_to_order(encoders, extractor, per_label):
    options = {**ORDERED, "per_label": per_label}
    model, batch = build(encoders, extractor, extractor_options=options), tiny.build_batch(encoders("bert"))
    valid = batch.selectable
    for dial, wanted in [(0.0, "marks"), (1.0, "order")]:
        model.extractor.dial = dial
        step = one_step(model.eval(), batch)
        own = getattr(step, wanted).masked_fill(~valid, -1e9)
        ranked = step.scores.masked_fill(~valid, -1e9).argsort(stable=True)
        assert torch.equal(own.gather(1, ranked), own.sort().values)
        assert step.scores[valid].abs().max() <= 1 + 1e-6


def test_scores_for_a_label_come_from_the_same_pass(encoders):
    model = build(encoders, extractor_options={"per_label": True}).eval()
    batch = tiny.build_batch(encoders("bert"))
    step = model.step(batch)
    first, second = (torch.full_like(step.target, number) for number in (0, 1))
    scores = [model.extractor(step.full, target) for target in (first, second)]
    assert not torch.allclose(*scores)
    chosen = torch.where((step.target == 0)[:, None], *scores)
    torch.testing.assert_close(step.scores, chosen * batch.attention_mask)


def test_plausibility_teaches_the_marks_alone(encoders):
    objectives = Objectives(task=Task(weight=0.0), plausibility=Plausibility(weight=1.0))
    model = build(encoders, objectives=objectives, extractor_options=ORDERED)
    model(**tiny.build_batch(encoders("bert")).tensors()).loss.backward()
    marks, order = model.extractor.head.weight.grad
    assert marks.abs().max() > 0
    assert order.abs().max() == 0


def test_scaling_spans_minus_one_to_one():
    scores = torch.tensor([[2.0, 4.0, 3.0, 100.0], [5.0, 5.0, 0.0, 0.0]])
    valid = torch.tensor([[True, True, True, False], [True, True, False, False]])
    assert scaled(scores, valid)[0].tolist() == [-1, 1, 0, 0]
    assert scaled(scores, valid).isfinite().all()


@pytest.mark.parametrize("dial", [-0.1, 1.5, True, "half"])
def test_a_dial_that_does_not_exist_is_refused(encoders, dial):
    with pytest.raises(UserError, match="dial"):
        build(encoders, extractor_options={**ORDERED, "dial": dial})


def test_the_order_can_be_left_to_the_head(encoders):
    """With order_trains=head the same loss, and no gradient of it anywhere else; refused without an order."""
    with pytest.raises(UserError, match="there is no order to learn"):
        build(encoders, extractor_options={"order_trains": "head"})
    batch, losses = tiny.build_batch(encoders("bert")), []
    for trains in ("encoder", "head"):
        model = build(encoders, extractor_options={**ORDERED, "order_trains": trains})
        loss = model(**batch.tensors()).loss
        loss.backward()
        losses.append(loss.item())
        learnt = {
            name for name, p in model.named_parameters() if p.grad is not None and p.grad.abs().sum() > 0
        }
        assert "extractor.head.weight" in learnt
        assert (learnt <= {"extractor.head.weight", "extractor.head.bias"}) == (trains == "head")
    assert losses[0] == pytest.approx(losses[1])
