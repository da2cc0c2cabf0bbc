"""HardKuma: the gates against chance itself, their gradients, and the multipliers that keep them few."""

from math import exp
from types import SimpleNamespace

import pytest
import torch
from test_choices import model_for, question_batch
from test_windows import LIMIT, LONG

import tiny
from unirex.data.example import Example
from unirex.encoding.batch import collate
from unirex.encoding.encode import TextEncoder
from unirex.errors import UserError
from unirex.extractors.hard_kuma import HardKuma, Kuma
from unirex.models.task import Pass
from unirex.objectives.sparsity import Sparsity, selection_rate, transition_rate

SHAPES = [(1.0, 1.0), (0.5, 0.5), (2.0, 0.3), (0.2, 3.0), (5.0, 5.0), (0.7, 20.0)]


def kuma(a, b, *, size=1, grad=False):
    return Kuma(*(torch.full((1, size), one, requires_grad=grad) for one in (a, b)))


@pytest.mark.parametrize(("a", "b"), SHAPES)
def test_probabilities_are_the_integrals_of_the_density(a, b):
    edges = torch.linspace(0, 1, 200_001, dtype=torch.double)
    middles = (edges[1:] + edges[:-1]) / 2
    inside = (middles > 1 / 12) & (middles < 11 / 12)
    density = a * b * middles ** (a - 1) * (1 - middles**a) ** (b - 1)
    expected = float(density[inside].sum() / 200_000)
    found = kuma(a, b)
    assert float(found.prob_inside) == pytest.approx(expected, abs=1e-4)
    assert float(found.prob_zero + found.prob_one + found.prob_inside) == pytest.approx(1, abs=1e-6)


def test_probabilities_worked_by_hand():
    even = kuma(1.0, 1.0)  # uniform on (-.1, 1.1)
    for found in (even.prob_zero, even.prob_one):
        assert float(found) == pytest.approx(1 / 12, abs=1e-6)
    two = kuma(2.0, 1.0)  # density 2x
    assert float(two.prob_zero) == pytest.approx(1 / 144, abs=1e-6)
    assert float(two.prob_one) == pytest.approx(1 - (11 / 12) ** 2, abs=1e-6)


@pytest.mark.parametrize(("a", "b"), SHAPES)
def test_samples_are_as_often_zero_and_one_as_they_should_be(a, b):
    torch.manual_seed(0)
    size = 100_000
    gates = kuma(a, b, size=size)
    drawn = gates.sample()
    assert ((drawn >= 0) & (drawn <= 1)).all()
    for value, chance in ((0.0, gates.prob_zero), (1.0, gates.prob_one)):
        expected = float(chance[0, 0])
        sigma = max((expected * (1 - expected) / size) ** 0.5, 1e-4)
        # the thousandth of the tails that is never drawn
        assert float((drawn == value).float().mean()) == pytest.approx(expected, abs=3 * sigma + 1.1e-3)


def test_gradient_flows_through_gates_inside_and_through_no_others():
    torch.manual_seed(0)
    gates = kuma(0.8, 0.8, size=500, grad=True)
    drawn = gates.sample()
    drawn.sum().backward()
    inside = (drawn > 0) & (drawn < 1)
    assert (drawn == 0).any()
    assert (drawn == 1).any()
    for grad in (gates.a.grad, gates.b.grad):
        assert (grad[inside] != 0).all()
        assert (grad[~inside] == 0).all()


def test_gradients_of_samples_are_those_of_differences():
    chance = torch.tensor([[0.2, 0.5, 0.8]], dtype=torch.double)

    def drawn(a, b):
        return Kuma(a, b).quantile(chance)

    shape = [torch.tensor([[0.7, 1.5, 3.0]], dtype=torch.double, requires_grad=True) for _ in range(2)]
    assert torch.autograd.gradcheck(drawn, shape)


@pytest.mark.parametrize("a", [1e-6, 1e-3, 1.0, 100.0])
@pytest.mark.parametrize("b", [1e-6, 1e-3, 1.0, 100.0])
def test_extreme_shapes_stay_finite(a, b):
    gates = kuma(a, b, size=3, grad=True)
    drawn = gates.quantile(torch.tensor([[1e-3, 0.5, 1 - 1e-3]]))
    total = drawn.sum() + gates.scores().sum() + gates.prob_open.sum()
    total.backward()
    for found in (total, gates.prob_zero, gates.prob_one, gates.a.grad, gates.b.grad):
        assert found.isfinite().all()
    for chance in (gates.prob_zero, gates.prob_one, gates.prob_inside):
        assert ((chance >= -1e-6) & (chance <= 1 + 1e-6)).all()


def test_scores_are_above_zero_where_the_likeliest_gate_is_open():
    generator = torch.Generator().manual_seed(0)
    gates = Kuma(*(torch.empty(2, 1, 2000).exponential_(generator=generator) * 2 + 1e-3))
    likeliest = torch.stack([gates.prob_zero, gates.prob_inside, gates.prob_one]).argmax(0)
    assert ((gates.scores() > 0) == (likeliest > 0)).all()
    assert set(likeliest.unique().tolist()) == {0, 1, 2}


def hard_kuma(model, **options):
    torch.manual_seed(0)
    return tiny.shaken(HardKuma(model.config.encoder, **options)).eval()


def test_texts_choices_and_windows_have_gates(encoders):
    model = tiny.build_model(encoders("bert"))
    encoder = TextEncoder(tiny.tokenizer("wordpiece"), LIMIT, ("neg", "pos"), truncation="windows")
    long = collate(
        encoder.encode([Example("l", (LONG,), "neg"), Example("p", ("a film", "is dull"), "pos")]), 0
    )
    made = hard_kuma(model)
    for task, batch in (
        (model.task, tiny.build_batch(encoders("bert"))),
        (model.task, long),
        (model_for(encoders("bert")).task, question_batch()),
    ):
        task.window = LIMIT if batch is long else task.window
        full = Pass(task, batch)
        assert (full.windows is not None) == (batch is long)
        gates = made.gates(full)
        assert gates.a.shape == gates.sample().shape == batch.input_ids.shape
        torch.testing.assert_close(made(full, None), gates.scores())


def test_the_sample_trains_the_selector(encoders):
    model = tiny.build_model(encoders("bert"))
    made = hard_kuma(model)
    made.gates(Pass(model.task, tiny.build_batch(encoders("bert")))).sample().sum().backward()
    assert made.head.weight.grad.abs().sum() > 0
    assert all(one.grad is None for one in model.task.parameters())


def test_multipliers_follow_the_moving_average_in_training_only(encoders):
    made = hard_kuma(tiny.build_model(encoders("bert")), multiplier=0.5, rate=0.1, decay=0.9)
    above = torch.tensor([0.4, -0.2])
    torch.testing.assert_close(made.constrain(above), torch.tensor([0.5, 0.5]))
    made.train()
    with torch.no_grad():
        torch.testing.assert_close(made.constrain(above), torch.tensor([0.5, 0.5]))
    # averages .04 and -.02, then .9 * .04 + .04 = .076 and -.038
    first = made.constrain(above)
    torch.testing.assert_close(first, torch.tensor([0.5 * exp(0.004), 0.5 * exp(-0.002)]))
    second = made.constrain(above)
    torch.testing.assert_close(second, torch.tensor([0.5 * exp(0.0116), 0.5 * exp(-0.0058)]))
    assert first[0] < second[0], "what was given out must not change"
    assert {"lagrange", "average"} <= made.state_dict().keys()


def test_multipliers_are_bounded(encoders):
    made = hard_kuma(tiny.build_model(encoders("bert")), multiplier=1.0, rate=100.0, decay=0.0).train()
    assert made.constrain(torch.tensor([1.0, -1.0])).tolist() == pytest.approx([5.0, 1e-12])


def sparsity_step(selected, selectable, multipliers):
    batch = SimpleNamespace(selectable=torch.tensor(selectable).bool())
    gates = SimpleNamespace(prob_open=torch.tensor(selected, requires_grad=True))
    extractor = SimpleNamespace(constrain=lambda violations: torch.tensor(multipliers))
    return SimpleNamespace(batch=batch, gates=gates, extractor=extractor)


SELECTED, HERE = [[0.9, 1.0, 0.5, 0.0], [0.9, 0.2, 0.0, 0.9]], [[0, 1, 1, 1], [0, 1, 1, 0]]


def test_sparsity_is_the_excess_over_the_targets():
    step = sparsity_step(SELECTED, HERE, [2.0, 10.0])
    # selected (1 + .5) / 3 and .2 / 2; changes (.5 + .5) / 3 and .2 / 2
    found = Sparsity(1.0, selection=0.2, transitions=0.1)(step)
    torch.testing.assert_close(found, torch.tensor([2 * 0.3 + 10 * (1 / 3 - 0.1), 2 * -0.1 + 10 * 0.0]))
    found.mean().backward()
    grad = step.gates.prob_open.grad
    assert (grad[~step.batch.selectable] == 0).all()
    torch.testing.assert_close(Sparsity(1.0, selection=0.2)(step), torch.tensor([0.6, -0.2]))


@pytest.mark.parametrize("hinge", [True, False])
def test_what_is_below_its_target_counts_only_without_the_hinge(hinge):
    seen = []
    step = sparsity_step(SELECTED, HERE, [2.0, 10.0])
    step.extractor.constrain = lambda violations: seen.append(violations) or torch.tensor([2.0, 10.0])
    found = Sparsity(1.0, selection=0.5, hinge=hinge)(step)  # .5 and .1 were selected
    torch.testing.assert_close(found, torch.zeros(2) if hinge else torch.tensor([0.0, -0.8]))
    torch.testing.assert_close(seen[0], torch.tensor([0.0 if hinge else -0.2, 0.0]))


def test_a_text_without_anything_to_select_has_no_loss():
    step = sparsity_step(SELECTED, [[0, 0, 0, 0], [0, 1, 1, 0]], [1.0, 1.0])
    found = Sparsity(1.0, selection=0.05, transitions=0.05)(step)
    assert found[0] == 0
    assert found[1] > 0


def test_expected_rates_are_those_of_samples():
    torch.manual_seed(0)
    chances, here = torch.rand(1, 9), torch.tensor([[0, 1, 1, 1, 0, 1, 1, 1, 0]]).bool()
    drawn = (torch.rand(40_000, 9) < chances).float()
    many = here.expand(len(drawn), -1)
    for rate in (selection_rate, transition_rate):
        assert float(rate(chances, here)) == pytest.approx(float(rate(drawn, many).mean()), abs=0.01)


def test_sparsity_asks_for_gates():
    with pytest.raises(UserError, match="hard-kuma"):
        Sparsity(1.0)(SimpleNamespace(extractor=None))


def test_the_multipliers_are_saved_with_the_model(encoders, tmp_path):
    from unirex.modeling import RationaleModel

    model = tiny.build_model(encoders("bert"), extractor="hard-kuma").train()
    model.extractor.constrain(torch.tensor([0.5, 0.1]))
    model.save_pretrained(tmp_path)
    again = RationaleModel.from_pretrained(tmp_path)
    for name in ("lagrange", "average"):
        torch.testing.assert_close(getattr(again.extractor, name), getattr(model.extractor, name))
