"""The optimiser of the released code by hand, and the learning-rate schedule."""

import math

import pytest
import torch
from torch import nn

from tiny import build_model
from unirex.config import Training
from unirex.training.optimizer import UncorrectedAdamW, build_optimizer, linear_schedule


def test_adam_without_bias_correction_by_hand():
    weight = nn.Parameter(torch.tensor([1.0]))
    optimizer = UncorrectedAdamW([weight], lr=0.1)
    weight.grad = torch.tensor([0.5])
    optimizer.step()
    # m = .1 * .5 = .05; v = .02 * .25 = .005; step = .1 * .05 / sqrt(.005)
    first = 1.0 - 0.1 * 0.05 / (math.sqrt(0.005) + 1e-8)
    assert weight.item() == pytest.approx(first)
    weight.grad = torch.tensor([-1.0])
    optimizer.step()
    # m = .9 * .05 - .1 = -.055; v = .98 * .005 + .02 = .0249
    assert weight.item() == pytest.approx(first + 0.1 * 0.055 / (math.sqrt(0.0249) + 1e-8))


def test_decay_is_decoupled_and_spares_biases_and_norms():
    model = nn.Sequential(nn.Linear(2, 2), nn.LayerNorm(2))
    for parameter in model.parameters():
        nn.init.ones_(parameter)
        parameter.grad = torch.zeros_like(parameter)
    for name in ("adamw", "unirex"):
        optimizer = build_optimizer(model, Training(optimizer=name, weight_decay=0.5), 0.1)
        before = model[0].weight[0, 0].item()
        optimizer.step()
        assert model[0].weight.flatten().tolist() == pytest.approx([before * 0.95] * 4)
        assert all((p == 1).all() for p in model.parameters() if p.dim() == 1)


def test_frozen_parameters_are_left_out():
    model = nn.Sequential(nn.Linear(2, 2), nn.Linear(2, 2))
    model[0].requires_grad_(False)
    groups = build_optimizer(model, Training(), 0.1).param_groups
    assert sum(len(group["params"]) for group in groups) == 2
    assert groups[0]["betas"] == (0.9, 0.999)


def rates(steps, warmup):
    optimizer = torch.optim.SGD([nn.Parameter(torch.zeros(1))], lr=1.0)
    schedule = linear_schedule(optimizer, steps=steps, warmup=warmup)
    found = []
    for _ in range(steps + 1):
        found.append(schedule.get_last_lr()[0])
        optimizer.step()
        schedule.step()
    return found


def test_the_rate_rises_over_the_warm_up_then_falls_to_zero():
    assert rates(10, 0.2) == pytest.approx(
        [0.5, 1.0, 1.0, 7 / 8, 6 / 8, 5 / 8, 4 / 8, 3 / 8, 2 / 8, 1 / 8, 0.0]
    )


@pytest.mark.parametrize(("steps", "warmup"), [(1, 0.0), (1, 0.1), (1, 1.0), (7, 1.0), (100, 0.1), (3, 0.0)])
def test_every_step_learns_something(steps, warmup):
    found = rates(steps, warmup)
    assert all(0 < rate <= 1 for rate in found[:-1])
    assert max(found) == 1


def test_heads_have_a_rate_of_their_own(encoders):
    model = build_model(encoders("bert"), pooling="mean", extractor="shared-lm")
    groups = build_optimizer(model, Training(head_rate=10), 0.1).param_groups
    rates = {id(p): group["lr"] for group in groups for p in group["params"]}
    for name, parameter in model.named_parameters():
        if parameter.requires_grad:
            assert rates[id(parameter)] == (0.1 if ".encoder." in name else 1.0), name
