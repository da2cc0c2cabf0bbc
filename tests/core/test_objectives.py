"""The terms of the loss against arithmetic written out and against torch's own functions."""

from types import SimpleNamespace

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch.nn import functional as F

import tiny
from unirex.encoding.batch import Batch
from unirex.errors import UserError
from unirex.models.labelling import OneLabel
from unirex.objectives import Comprehensiveness, Objectives, Plausibility, Sufficiency, Task
from unirex.perturb import Perturber
from unirex.step import Step

BUDGETS = (10, 50)


def losses(full, *, kept=None, dropped=None):
    """A step of one text and one budget, known only by its cross-entropies."""
    tensors = {"full_loss": [full], "kept_loss": [[kept]], "dropped_loss": [[dropped]]}
    known = {name: torch.tensor(v) for name, v in tensors.items() if v not in ([[None]],)}
    return SimpleNamespace(**known, progress=1.0)


@pytest.mark.parametrize(
    ("dropped", "expected"),
    [(2.0, 0.0), (0.5, 0.7), (0.2, 1.0), (0.1, 1.1)],  # max(-1, .2 - .5) + 1 = .7
)
def test_comprehensiveness_margin(dropped, expected):
    found = Comprehensiveness()(losses(0.2, dropped=dropped))
    torch.testing.assert_close(found, torch.tensor([expected]))


@pytest.mark.parametrize(
    ("kept", "expected"),
    [(0.15, 0.05), (0.5, 0.4), (0.2, 0.1), (0.01, 0.0)],  # max(-.1, .15 - .2) + .1 = .05
)
def test_sufficiency_margin(kept, expected):
    found = Sufficiency()(losses(0.2, kept=kept))
    torch.testing.assert_close(found, torch.tensor([expected]))


def test_differences_without_margin():
    step = losses(0.2, kept=0.05, dropped=2.0)
    torch.testing.assert_close(Comprehensiveness(criterion="diff")(step), torch.tensor([-1.8]))
    torch.testing.assert_close(Sufficiency(criterion="diff")(step), torch.tensor([-0.15]))
    torch.testing.assert_close(Sufficiency(criterion="mae")(step), torch.tensor([0.15]))
    torch.testing.assert_close(Sufficiency(criterion="mse")(step), torch.tensor([0.0225]))


def test_the_margin_is_taken_per_text_and_budget_before_averaging():
    step = SimpleNamespace(
        full_loss=torch.tensor([0.2, 1.0]),
        dropped_loss=torch.tensor([[2.0, 1.0], [0.5, 3.0]]),
        progress=1.0,
    )
    # text 0: (0 + .7) / 2; text 1: (max(-1, 0) + 1 + max(-1, -2) + 1) / 2 = (1 + 0) / 2
    torch.testing.assert_close(Comprehensiveness()(step), torch.tensor([0.35, 0.5]))


@pytest.mark.parametrize("class_mean", [False, True])
@pytest.mark.parametrize("direction", ["rationale-whole", "whole-rationale"])
def test_sufficiency_divergence_is_torchs(direction, class_mean):
    generator = torch.Generator().manual_seed(0)
    kept, full = torch.randn(3, 4, 5, generator=generator), torch.randn(4, 5, generator=generator)
    step = SimpleNamespace(
        kept_logits=kept, full=SimpleNamespace(logits=full), progress=1.0, labelling=OneLabel()
    )
    found = Sufficiency(criterion="kl", direction=direction, class_mean=class_mean)(step)
    logkept, logfull = kept.log_softmax(-1), full.log_softmax(-1).expand(3, 4, 5)
    # kl_div(input, target) is KL(target || input)
    pair = (logfull, logkept) if direction == "rationale-whole" else (logkept, logfull)
    expected = F.kl_div(*pair, reduction="none", log_target=True).sum(-1).mean(0)
    torch.testing.assert_close(found, expected / 5 if class_mean else expected)
    assert (found > 0).all()


def gold_step(scores, gold, mask, has):
    scores, gold, mask = torch.tensor(scores), torch.tensor(gold).bool(), torch.tensor(mask).bool()
    scores.requires_grad_()
    batch = Batch(mask.long(), mask, ~mask, mask, rationale=gold, has_rationale=torch.tensor(has))
    return SimpleNamespace(batch=batch, marks=scores * mask), scores


def test_cross_entropy_by_hand():
    # T6: 8 valid tokens, 2 gold, so each gold token counts (8 - 2) / 2 = 3 times; the sum is divided by 8.
    step, _ = gold_step([[0.0] * 4, [0.0] * 4], [[1, 0, 0, 0], [0, 1, 0, 0]], [[1] * 4] * 2, [True, True])
    found = Plausibility()(step).mean()
    log2 = 0.6931471805599453
    assert found.item() == pytest.approx((2 * 3 * log2 + 6 * log2) / 8)


def test_cross_entropy_is_torchs():
    generator = torch.Generator().manual_seed(0)
    scores = (torch.randn(3, 6, generator=generator) * 3).tolist()
    gold = [[0, 1, 1, 0, 0, 0], [0, 0, 0, 1, 0, 0], [0, 1, 0, 0, 0, 0]]
    mask = [[1] * 6, [1] * 5 + [0], [1] * 4 + [0, 0]]
    for balance in (True, False):
        step, leaf = gold_step(scores, gold, mask, [True, True, True])
        found = Plausibility(balance=balance)(step).mean()
        valid, marked = torch.tensor(mask).bool(), torch.tensor(gold).float()
        weight = torch.tensor((15 - 4) / 4) if balance else None
        copy = torch.tensor(scores, requires_grad=True)
        expected = F.binary_cross_entropy_with_logits(copy[valid], marked[valid], pos_weight=weight)
        torch.testing.assert_close(found, expected)
        found.backward()
        expected.backward()
        torch.testing.assert_close(leaf.grad, copy.grad)


def test_linear_by_hand():
    # (1 - 2 r) s: text 0: +1 - 2 - (-3) = 2 (its last token is padding); text 1: 5 - 7 = -2
    rows = ([[1.0, 2.0, -3.0, 9.0], [5.0, 7.0, 0.0, 0.0]], [[0, 1, 1, 1], [0, 1, 0, 0]])
    step, _ = gold_step(*rows, [[1, 1, 1, 0], [1, 1, 1, 1]], [True, True])
    assert Plausibility(criterion="linear")(step).tolist() == [2.0, -2.0]
    # max(-.1, .) + .1
    found = Plausibility(criterion="linear-margin")(step)
    torch.testing.assert_close(found, torch.tensor([2.1, 0.0]))


def test_divergence_by_hand():
    # Uniform scores over 4 tokens, one gold: sum 1/4 (log 1/4 - log q); q is (gold + .001) / 1.004
    step, _ = gold_step([[0.0] * 4], [[0, 1, 0, 0]], [[1] * 4], [True])
    q = torch.tensor([0.001, 1.001, 0.001, 0.001]) / 1.004
    expected = F.kl_div(q.log(), torch.full((4,), 0.25), reduction="sum")
    torch.testing.assert_close(Plausibility(criterion="kl")(step), expected[None])


CRITERIA = ("bce", "kl", "linear", "linear-margin")


@pytest.mark.parametrize("criterion", CRITERIA)
def test_without_gold_the_loss_is_zero_and_so_are_its_gradients(criterion):
    mask = [[1, 1, 1], [1, 1, 0]]
    step, leaf = gold_step([[1.0, 2.0, 3.0], [4.0, 5.0, 0.0]], [[0] * 3] * 2, mask, [False, False])
    found = Plausibility(criterion=criterion)(step)
    assert found.tolist() == [0.0, 0.0]
    found.sum().backward()
    assert leaf.grad.abs().max() == 0


@pytest.mark.parametrize("criterion", CRITERIA)
def test_texts_without_gold_add_exactly_nothing(criterion):
    scores = [[1.0, -2.0, 3.0], [400.0, 5.0, -6.0], [0.5, 0.2, 0.1]]
    gold = [[0, 1, 0], [1, 1, 1], [1, 0, 0]]  # the middle one claims gold it does not have
    step, leaf = gold_step(scores, gold, [[1] * 3] * 3, [True, False, True])
    found = Plausibility(criterion=criterion)(step)
    found.sum().backward()
    assert found[1].item() == 0
    assert leaf.grad[1].tolist() == [0.0] * 3
    assert leaf.grad[[0, 2]].abs().sum() > 0
    alone, _ = gold_step([scores[0], scores[2]], [gold[0], gold[2]], [[1] * 3] * 2, [True, True])
    scale = (
        1.5 if criterion == "bce" else 1.0
    )  # a share of the batch's mean over valid tokens: 3 rows against 2
    torch.testing.assert_close(found[[0, 2]], Plausibility(criterion=criterion)(alone) * scale)


def test_marked_but_empty_is_no_crash():
    step, leaf = gold_step([[1.0, 2.0]], [[0, 0]], [[1, 1]], [True])
    found = Plausibility()(step)
    found.sum().backward()
    assert found.tolist() == [0.0]
    assert leaf.grad.tolist() == [[0.0, 0.0]]


BIG = st.floats(-1e4, 1e4, width=32)
GOLD_ROWS = st.lists(st.tuples(BIG, st.booleans()), min_size=1, max_size=8)


@pytest.mark.parametrize("criterion", CRITERIA)
@given(row=GOLD_ROWS, pads=st.integers(0, 3))
def test_plausibility_is_finite_for_wild_scores(criterion, row, pads):
    scores, gold = [s for s, _ in row] + [0.0] * pads, [int(g) for _, g in row] + [0] * pads
    step, leaf = gold_step([scores, scores], [gold, gold], [[1] * len(row) + [0] * pads] * 2, [True, False])
    found = Plausibility(criterion=criterion)(step)
    found.sum().backward()
    assert found.isfinite().all()
    assert leaf.grad.isfinite().all()


@given(st.lists(BIG, min_size=3, max_size=3), st.lists(BIG, min_size=3, max_size=3))
def test_divergence_is_finite_for_wild_logits(kept, full):
    for direction in ("rationale-whole", "whole-rationale"):
        left, right = torch.tensor([[kept]], requires_grad=True), torch.tensor([full], requires_grad=True)
        step = SimpleNamespace(
            kept_logits=left, full=SimpleNamespace(logits=right), progress=1.0, labelling=OneLabel()
        )
        found = Sufficiency(criterion="kl", direction=direction)(step)
        found.sum().backward()
        assert found.isfinite().all()
        assert left.grad.isfinite().all()
        assert right.grad.isfinite().all()


class FixedPass:
    """A task model that answers from a table."""

    def __init__(self, logits):
        self.logits, self.batch = logits, SimpleNamespace(labels=None)
        self.task = SimpleNamespace(labelling=OneLabel())


def test_class_weights_count_in_every_term():
    full, kept, dropped = torch.randn(4, 3), torch.randn(2, 4, 3), torch.randn(2, 4, 3)
    target, weights = torch.tensor([0, 1, 2, 1]), torch.tensor([0.1, 1.0, 5.0])
    step = Step(FixedPass(full), target, None, Perturber(), BUDGETS, class_weights=weights)
    object.__setattr__(step, "kept_logits", kept)
    object.__setattr__(step, "dropped_logits", dropped)
    scale = weights[target]

    def plain(logits):
        return F.cross_entropy(logits, target, reduction="none")

    torch.testing.assert_close(Task()(step), plain(full) * scale)
    found = Comprehensiveness(criterion="diff")(step)
    expected = torch.stack([(plain(full) - plain(view)) * scale for view in dropped]).mean(0)
    torch.testing.assert_close(found, expected)
    found = Sufficiency(criterion="diff")(step)
    torch.testing.assert_close(found, torch.stack([(plain(v) - plain(full)) * scale for v in kept]).mean(0))


def objectives(**weights):
    made = {"task": Task, "comprehensiveness": Comprehensiveness, "sufficiency": Sufficiency}
    made["plausibility"] = Plausibility
    return Objectives(**{name: made[name](weight=weight) for name, weight in weights.items()})


@pytest.mark.parametrize(("comp", "suff"), [(0.0, 0.0), (1.0, 0.0), (0.0, 1.0), (1.0, 1.0)])
def test_what_has_no_weight_is_not_computed(encoders, comp, suff):
    folder = encoders("bert")
    chosen = objectives(comprehensiveness=comp, sufficiency=suff)
    model = tiny.build_model(folder, extractor="random", objectives=chosen, budgets=BUDGETS)
    batch = tiny.build_batch(folder)
    model(**batch.tensors())  # the first time also tries whether tokens can be dropped
    with tiny.counted(model.task.encoder) as shapes:
        output = model(**batch.tensors())
    rows, texts = sum(rows for rows, _ in shapes), len(batch.input_ids)
    asked = (bool(comp) + bool(suff)) * len(BUDGETS)
    assert (rows > texts) == bool(asked)
    assert texts <= rows <= texts + asked * texts  # the whole texts once, and no view nobody asked for
    expected = {"task", *(["comprehensiveness"] if comp else []), *(["sufficiency"] if suff else [])}
    assert set(output.losses) == expected


def test_faithfulness_costs_nothing_before_it_begins(encoders):
    folder = encoders("bert")
    late = {
        "comprehensiveness": Comprehensiveness(1.0, warmup=0.5),
        "sufficiency": Sufficiency(1.0, warmup=0.3),
    }
    model = tiny.build_model(folder, extractor="random", objectives=Objectives(**late), budgets=BUDGETS)
    batch = tiny.build_batch(folder)
    begun = {}
    for model.progress in (0.2, 0.4, 0.6):
        output = model(**batch.tensors())
        begun[model.progress] = {name for name in late if output.losses[name] != 0}, model.trained_views()
    assert begun[0.2] == (set(), ())
    assert begun[0.4] == ({"sufficiency"}, ("kept",))
    assert begun[0.6] == ({"comprehensiveness", "sufficiency"}, ("dropped", "kept"))


def test_an_extractor_nobody_asks_is_not_run(encoders):
    model = tiny.build_model(encoders("bert"), extractor="dual-lm")
    with tiny.counted(model.extractor.encoder) as shapes:
        model(**tiny.build_batch(encoders("bert")).tensors())
    assert shapes == []


def test_the_total_is_the_weighted_sum(encoders):
    folder = encoders("bert")
    chosen = objectives(task=1.0, comprehensiveness=0.5, sufficiency=0.7, plausibility=2.0)
    model = tiny.build_model(folder, extractor="shared-lm", objectives=chosen)
    output = model(**tiny.build_batch(folder).tensors())
    weights = {"task": 1.0, "comprehensiveness": 0.5, "sufficiency": 0.7, "plausibility": 2.0}
    torch.testing.assert_close(output.loss, sum(weights[name] * loss for name, loss in output.losses.items()))


# Who learns from what: the paper's claim. Hard selection lets no faithfulness gradient into the extractor.
TASK_MODEL = {"task encoder", "task head"}
LEARNERS = {
    ("shared-lm", "task"): TASK_MODEL,
    ("shared-lm", "comprehensiveness"): TASK_MODEL,
    ("shared-lm", "sufficiency"): TASK_MODEL,
    ("shared-lm", "plausibility"): {"task encoder", "extractor head"},
    ("dual-lm", "task"): TASK_MODEL,
    ("dual-lm", "comprehensiveness"): TASK_MODEL,
    ("dual-lm", "sufficiency"): TASK_MODEL,
    ("dual-lm", "plausibility"): {"extractor encoder", "extractor head"},
    ("integrated-gradients", "task"): TASK_MODEL,
    ("integrated-gradients", "comprehensiveness"): TASK_MODEL,
    ("integrated-gradients", "sufficiency"): TASK_MODEL,
    ("integrated-gradients", "plausibility"): {"task encoder"},  # its word embeddings: see test_extractors
}


def part_of(name):
    owner, _, rest = name.partition(".")
    kind = "encoder" if rest.startswith("encoder.") else "head"
    return f"{'task' if owner == 'task' else 'extractor'} {kind}"


@pytest.mark.parametrize(("extractor", "objective"), LEARNERS)
def test_who_learns_from_what(encoders, extractor, objective):
    folder = encoders("bert")
    chosen = objectives(**({"task": 0.0} | {objective: 1.0}))
    model = tiny.build_model(folder, extractor=extractor, objectives=chosen, budgets=BUDGETS)
    model(**tiny.build_batch(folder).tensors()).loss.backward()
    learners = {
        part_of(name) for name, p in model.named_parameters() if p.grad is not None and p.grad.abs().max() > 0
    }
    assert learners == LEARNERS[extractor, objective]


def test_a_view_nobody_announced_is_run_when_asked_for(encoders):
    folder = encoders("bert")
    model = tiny.build_model(folder, extractor="random", budgets=BUDGETS)
    batch = tiny.build_batch(folder)
    announced, silent = model.step(batch), model.step(batch, views=())
    torch.testing.assert_close(silent.dropped_logits, announced.dropped_logits, rtol=1e-5, atol=1e-5)
    torch.testing.assert_close(silent.kept_logits, announced.kept_logits, rtol=1e-5, atol=1e-5)


def test_nothing_to_train_for_is_an_error(encoders):
    folder = encoders("bert")
    model = tiny.build_model(folder, objectives=Objectives(task=Task(weight=0.0)))
    with pytest.raises(UserError, match="no objective has a weight"):
        model(**tiny.build_batch(folder).tensors())
