"""Few passes, the same numbers: losses, gradients and metrics are those of the naive reference.

The models are in double precision. In single, sums in another order differ by about 1e-7 of the largest
number, which a gradient that cancels can show as 1e-4 of itself, and a near tie of two scores could even
change a rationale: noise that would hide a real difference. In double the bound below is ten times
stricter than the 1e-5 promised. Single precision has a test of its own, which measures against the whole
gradient.
"""

import copy
from dataclasses import replace

import pytest
import torch
from naive import Naive, metrics, texts_of

import tiny
from unirex.config import Config
from unirex.data.example import Example, Layout
from unirex.encoding.batch import collate
from unirex.evaluation.run import evaluate
from unirex.models.plan import Limits, device_limits
from unirex.objectives import Comprehensiveness, Objectives, Plausibility, Sufficiency
from unirex.system import System

PROMISED = 1e-5
FAMILIES = ("bert", "roberta", "distilbert", "mpnet", "bigbird", "modernbert", "deberta-v2")
PROBE = (1, 16)  # how it is found out whether tokens may be dropped: twice, on the first step
POOLINGS = {"bert": "pooler", "roberta": "mean", "bigbird": "cls", "deberta-v2": "cls"}

FAITHFUL = Objectives(comprehensiveness=Comprehensiveness(0.5), sufficiency=Sufficiency(0.7))
BOTH = replace(FAITHFUL, plausibility=Plausibility(0.9))
LINEAR = Objectives(
    comprehensiveness=Comprehensiveness(0.5, "diff"),
    sufficiency=Sufficiency(0.5, "diff"),
    plausibility=Plausibility(0.5),
)
GRADIENTS = {"extractor": "integrated-gradients"}
METHODS = {
    "slm-fp": {"objectives": BOTH},
    "dlm-fp": {"objectives": BOTH, "extractor": "dual-lm"},
    "aa-f": {"objectives": FAITHFUL} | GRADIENTS,
    "aa-fp first order": {"objectives": BOTH} | GRADIENTS,
    "aa-fp": {"objectives": BOTH, "extractor_options": {"create_graph": True}} | GRADIENTS,
}
TEXTS = (
    "a",  # its rationale is everything there is
    "the plot is bad and dull",
    "dull",
    "a good film",  # with the next: equally long
    "a film good",
    "not good and not bad and not a film that people watch",  # mixed: words and letters
    "people know films",  # with few tokens several budgets buy the same rationale
    "a film",  # nobody marked anything in it
)
PAIRS = [
    Example("p0", ("a good film", "the plot is dull"), "neg", (((2, 6),), ())),
    Example("p1", ("", "it is bad"), "pos", ((), ())),  # nothing here can be selected
    Example("p2", ("dull", "people"), "pos", (((0, 4),), ())),
    Example("p3", ("the film is good and the plot is not bad", "a"), "neg", (((12, 16), (37, 40)), ())),
    Example("p4", ("a bad film", "the plot is good"), "pos", None),
]
QUESTIONS = [
    Example("q0", ("what is not dull",), "B", (((12, 16),),), ("a film", "people", "the good plot")),
    Example("q1", ("a",), "A", (((0, 1),),), ("films", "the bad plot and the film")),
    Example("q2", ("what do people know and like",), "C", None, ("a", "a", "not a film")),
]
LAYOUTS = {
    "text": Layout(1),
    "pair": Layout(2, rationale_segments=(0,)),
    "choice": Layout(1, choice=True, rationale_segments=(0,), markers=("Q:", "A:")),
}
EXAMPLES = {"text": tiny.examples(TEXTS), "pair": PAIRS, "choice": QUESTIONS}
LABELS = {"text": ("neg", "pos"), "pair": ("neg", "pos"), "choice": ("A", "B", "C")}


def build(folder, kind="text", *, seed=1, double=True, **settings):
    """A system with dropout off; its heads, and a second encoder, are its own."""
    config = Config(**{"encoder": str(folder), "pooling": POOLINGS.get(folder.name, "mean")} | settings)
    model = tiny.built_once(config, LABELS[kind], seed=seed, layout=LAYOUTS[kind])
    tiny.shaken(model.task.head, seed=seed)
    if hasattr(model.extractor, "head"):
        tiny.shaken(model.extractor.head, seed=seed + 1)
    if hasattr(model.extractor, "encoder"):
        tiny.shaken(model.extractor.encoder, seed=seed + 2)
    return (model.double() if double else model).eval()


def system_of(folder, kind="text", **settings):
    return System(build(folder, kind, **settings), tiny.tokenizer_in(folder))


def batch_of(system, examples):
    return collate(system.text_encoder.encode(examples), system.tokenizer.pad_token_id)


def reference(model):
    """The same weights for the naive way; attention with second derivatives."""
    other = copy.deepcopy(model)
    other.task.encoder.set_attn_implementation("eager")
    return other


def ours(model, batch):
    """Losses by name, and gradients by parameter, after one step."""
    output = model(**batch.tensors())
    return stepped(model, output.losses | {"loss": output.loss})


def theirs(model, batch, **options):
    return stepped(model, Naive(model).losses(batch, **options))


def stepped(model, losses):
    model.zero_grad()
    losses["loss"].backward()
    losses = {name: float(torch.as_tensor(loss).detach()) for name, loss in losses.items()}
    # Nobody's loss and a loss of 0 are the same to an optimiser without weight decay.
    return losses, {
        n: torch.zeros_like(p) if p.grad is None else p.grad.clone() for n, p in model.named_parameters()
    }


def assert_same(found, expected, tolerance=PROMISED, *, whole=False):
    """Losses and gradients agree, relative to each loss and to the largest entry of each gradient.

    A gradient that is 0 but for rounding (that of a key's bias, always) has no scale of its own: it is
    measured against a thousandth of the largest of all; with `whole` every gradient against the largest.
    """
    (losses, gradients), (naive_losses, naive_gradients) = found, expected
    assert losses == pytest.approx(naive_losses, rel=tolerance, abs=tolerance)
    assert gradients.keys() == naive_gradients.keys()
    largest = max(float(gradient.abs().max()) for gradient in naive_gradients.values())
    assert largest > 0
    for name, gradient in naive_gradients.items():
        scale = largest if whole else max(float(gradient.abs().max()), 1e-3 * largest)
        assert float((gradients[name] - gradient).abs().max()) <= tolerance * scale, name


@pytest.mark.parametrize("method", ["slm-fp", "dlm-fp", "aa-fp"])
@pytest.mark.parametrize("family", FAMILIES)
def test_a_training_step_is_the_naive_one(encoders, family, method):
    system = system_of(encoders(family), **METHODS[method])
    batch = batch_of(system, EXAMPLES["text"])
    expected = theirs(reference(system.model), batch)
    assert_same(ours(system.model, batch), expected)
    reached = {name.split(".")[0] for name, gradient in expected[1].items() if gradient.abs().max() > 0}
    learns = method in ("slm-fp", "dlm-fp")
    assert reached == ({"task", "extractor"} if learns else {"task"})


@pytest.mark.parametrize("method", ["slm-fp", "dlm-fp", "aa-fp"])
@pytest.mark.parametrize("kind", ["pair", "choice"])
@pytest.mark.parametrize("family", ["bert", "roberta"])
def test_a_training_step_on_several_texts_or_choices_is_the_naive_one(encoders, family, kind, method):
    system = system_of(encoders(family), kind, **METHODS[method])
    batch = batch_of(system, EXAMPLES[kind])
    assert_same(ours(system.model, batch), theirs(reference(system.model), batch))


@pytest.fixture
def cramped(monkeypatch):
    """A device with room for hardly anything: many chunks, and all of them run again to go backward."""
    monkeypatch.setattr("unirex.models.plan._limits", lambda *_: Limits(chunk=24, overhead=1, saved=0))


@pytest.mark.parametrize(
    ("family", "method", "kind"),
    [
        *(("bert", method, "text") for method in METHODS),
        ("roberta", "slm-fp", "pair"),
        ("bert", "aa-f", "choice"),
        ("mpnet", "slm-fp", "text"),
    ],
)
def test_a_training_step_without_room_is_the_naive_one(encoders, cramped, family, method, kind):
    system = system_of(encoders(family), kind, **METHODS[method])
    batch = batch_of(system, EXAMPLES[kind])
    with tiny.counted(system.model.task.encoder) as shapes:
        found = ours(system.model, batch)
    assert all(rows == 1 or rows * width <= 24 for rows, width in shapes if (rows, width) != PROBE)
    assert_same(found, theirs(reference(system.model), batch))


@pytest.mark.parametrize("method", ["slm-fp", "aa-fp first order"])
@pytest.mark.parametrize("criterion", ["kl", "mae", "diff"])
def test_other_criteria_and_class_weights_give_the_naive_numbers(encoders, criterion, method):
    objectives = replace(BOTH, sufficiency=Sufficiency(0.7, criterion))
    settings = METHODS[method] | {"objectives": objectives, "class_weights": (0.2, 1.5)}
    system = system_of(encoders("bert"), **settings)
    batch = batch_of(system, EXAMPLES["text"])
    assert_same(ours(system.model, batch), theirs(reference(system.model), batch))


@pytest.mark.parametrize("settings", [{"separators": True}, {"removal": "delete"}, {"budgets": (100, 3)}])
def test_other_ways_to_select_and_remove_give_the_naive_numbers(encoders, settings):
    system = system_of(encoders("roberta"), **METHODS["slm-fp"] | settings)
    batch = batch_of(system, EXAMPLES["text"])
    assert_same(ours(system.model, batch), theirs(reference(system.model), batch))


@pytest.mark.parametrize("removal", ["attention_mask", "delete"])
@pytest.mark.parametrize("method", ["slm-fp", "slm-fp without room", "dlm-fp", "aa-fp"])
def test_a_training_step_on_long_texts_is_the_naive_one(encoders, request, method, removal):
    if method.endswith("without room"):
        request.getfixturevalue("cramped")
    method = method.removesuffix(" without room")
    # States and logits of windows are added up in single precision, whatever the model's: a coarser bound.
    long = " ".join(("the film is dull and the plot is not good", *TEXTS[3:]))
    settings = METHODS[method] | {"max_length": 16, "truncation": "windows", "removal": removal}
    system = system_of(encoders("bert"), stride=None if method == "slm-fp" else 5, **settings)
    examples = tiny.examples((TEXTS[0], long, TEXTS[3], f"{TEXTS[5]} {TEXTS[1]}", TEXTS[4]))
    batch = batch_of(system, examples)
    assert batch.sliding.any()
    with tiny.counted(system.model.task.encoder) as shapes:
        found = ours(system.model, batch)
    room = device_limits(system.model.task.encoder).chunk
    assert all(rows == 1 or rows * width <= room for rows, width in shapes if (rows, width) != PROBE)
    assert_same(found, theirs(reference(system.model), batch), PROMISED)


@pytest.mark.parametrize("method", METHODS)
def test_a_training_step_in_single_precision_is_the_naive_one(encoders, method):
    system = system_of(encoders("bert"), double=False, **METHODS[method])
    batch = batch_of(system, EXAMPLES["text"])
    assert_same(ours(system.model, batch), theirs(reference(system.model), batch), PROMISED, whole=True)


def test_the_texts_are_what_they_should_be(encoders):
    """The batch has the cases that a shortcut could get wrong, and margins on both sides of their kink."""
    for family in FAMILIES:
        system = system_of(encoders(family), **METHODS["slm-fp"])
        batch = batch_of(system, EXAMPLES["text"])
        texts = texts_of(batch)
        assert sum(texts[0].selectable) == 1
        lengths = [len(text.ids) for text in texts]
        assert len(set(lengths)) < len(lengths) and max(lengths) >= 2.5 * min(lengths)
        with torch.no_grad():
            step = system.model.step(batch, target=batch.labels)
            comp = step.full_loss - step.dropped_loss
            suff = step.kept_loss - step.full_loss
            counts = step.masks.sum(-1)
        assert (counts[0] == counts[1]).any() and (counts[0] < counts[4]).any()
        assert (step.masks[0, 0] == batch.selectable[0]).all()
        assert (comp > -1).any() and (suff > -0.1).any() and (suff < -0.1).any(), family


# --- sampled budgets ---


def single(model, batch, budget):
    """A step with this budget alone."""
    one = copy.deepcopy(model)
    one.config.budgets, one.config.budgets_per_step = (budget,), None
    return ours(one, batch)


@pytest.mark.parametrize("method", ["slm-fp", "aa-fp"])
def test_a_sampled_budget_is_right_on_average(encoders, method):
    system = system_of(encoders("bert"), **METHODS[method])
    model, batch = system.model, batch_of(system, EXAMPLES["text"])
    every = ours(model, batch)
    alone = [single(model, batch, budget) for budget in model.config.budgets]
    losses = {name: sum(one[0][name] for one in alone) / 5 for name in every[0]}
    gradients = {name: sum(one[1][name] for one in alone) / 5 for name in every[1]}
    assert_same((losses, gradients), every)
    assert len({round(one[0]["loss"], 9) for one in alone}) > 2, "the budgets differ, or this shows nothing"


# --- evaluation ---


def assert_evaluated(system, examples, results, *, removal="delete", draw=None):
    """Records and metrics are those of the naive evaluation."""
    batch, naive = batch_of(system, examples), Naive(reference(system.model))
    records, scores = results.records, None
    if draw is not None:  # the scores are given; what is looked at is what comes of them
        records, places = results.floor[draw], [one.nonzero().flatten() for one in batch.selectable]
        given = [torch.tensor(one.scores).double() for record in records for one in record.sequences]
        empty = torch.zeros(batch.input_ids.shape, dtype=torch.double)
        scores = [row.scatter(0, *pair) for row, *pair in zip(empty, places, given, strict=True)]
    seen = naive.evaluated(batch, scores=scores, removal=removal)
    for record, one in zip(records, seen, strict=True):
        assert record.full == pytest.approx(one.full, rel=PROMISED)
        assert record.removed == pytest.approx(one.removed, rel=PROMISED)
        assert record.kept == pytest.approx(one.kept, rel=PROMISED)
    expected = metrics(seen, batch.labels.tolist(), len(system.labels), system.model.config.budgets)
    found = results.metrics if draw is None else results.summary.floor[draw].metrics()
    found = {name: found[name] for name in expected}
    assert found == pytest.approx(expected, rel=PROMISED, abs=PROMISED)


@pytest.mark.parametrize(
    ("family", "removal"), [*((family, "delete") for family in FAMILIES), ("bert", "attention_mask")]
)
def test_metrics_are_the_naive_ones(encoders, family, removal):
    system = system_of(encoders(family), **METHODS["slm-fp"])
    results = evaluate(system, EXAMPLES["text"], removal=None if removal == "delete" else removal)
    assert_evaluated(system, EXAMPLES["text"], results, removal=removal)


@pytest.mark.parametrize("extractor", ["shared-lm", "dual-lm", "integrated-gradients"])
@pytest.mark.parametrize("kind", LAYOUTS)
def test_metrics_of_every_kind_of_task_are_the_naive_ones(encoders, kind, extractor):
    system = system_of(encoders("roberta"), kind, extractor=extractor)
    results = evaluate(system, EXAMPLES[kind], batch_size=3)
    assert_evaluated(system, EXAMPLES[kind], results)
    assert_evaluated(system, EXAMPLES[kind], results, draw=1)


@pytest.mark.parametrize("extractor", ["shared-lm", "integrated-gradients"])
def test_explanations_have_the_naive_scores(encoders, extractor):
    system = system_of(encoders("bert"), extractor=extractor)
    seen = Naive(reference(system.model)).evaluated(batch_of(system, EXAMPLES["text"]))
    for found, one in zip(system.explain(list(TEXTS)), seen, strict=True):
        assert found.label == system.labels[one.predicted]
        assert found.probabilities[found.label] == pytest.approx(one.full, rel=PROMISED)
        (text,), (scores,) = one.texts, one.scores
        expected = [float(score) for score, free in zip(scores, text.selectable, strict=True) if free]
        assert [token.score for token in found.tokens] == pytest.approx(expected, rel=PROMISED, abs=PROMISED)


# --- dropout ---

SEEDS, REPEATS = 25, 6  # draws, and how often each text is in a batch


@pytest.mark.parametrize(
    ("extractor", "objectives", "texts"),
    [("shared-lm", LINEAR, (0, 3, 4, 6)), ("dual-lm", BOTH, (3, 4, 6))],  # number 0: see below
)
def test_with_dropout_the_expectation_is_the_naive_one(encoders, extractor, objectives, texts):
    """Views that are shared, and a pass that both predicts and scores, share their dropout.

    That moves no mean of a sum, so with `diff` all is the same on average. It can move the mean of a
    criterion with a kink: where the rationale is the whole text (number 0) CE(rationale) - CE(whole) is 0,
    and not the difference of two draws. Fixed seeds, so that this always ends the same way.
    """
    settings = {"budgets": (10, 50), "extractor": extractor, "objectives": objectives}
    system = system_of(encoders("bert"), double=False, **settings)
    batch = batch_of(system, [EXAMPLES["text"][number] for number in texts] * REPEATS)
    other = reference(system.model).train()
    naive = Naive(other, length=batch.input_ids.shape[1])
    system.model.train()
    found, expected = [], []
    with torch.no_grad():
        for seed in range(SEEDS):
            torch.manual_seed(seed)
            found.append(list(system.model(**batch.tensors()).losses.values()))
            torch.manual_seed(1000 + seed)
            expected.append(list(naive.losses(batch).values())[:4])
    ours, theirs = torch.tensor(found).double(), torch.tensor(expected).double()  # [N, 4]
    error = ((ours.var(0) + theirs.var(0)) / SEEDS).sqrt()
    assert ((ours.mean(0) - theirs.mean(0)).abs() <= 4 * error).all()
    assert (ours.std(0) > 1e-3).all(), "there was dropout"


@pytest.mark.parametrize("method", ["slm-fp", "dlm-fp", "aa-f"])
@pytest.mark.parametrize("room", ["cramped", None])
def test_with_dropout_the_gradient_is_that_of_the_loss_drawn(encoders, request, room, method):
    """What is computed again in the backward pass must meet the dropout it met in the forward pass.

    Along a random direction the loss, with the same seed, changes as the gradient says.
    """
    if room:
        request.getfixturevalue(room)
    system = system_of(encoders("bert"), **METHODS[method])
    model, batch = system.model.train(), batch_of(system, EXAMPLES["text"])

    def loss():
        torch.manual_seed(7)
        return model(**batch.tensors()).loss

    loss().backward()
    generator = torch.Generator().manual_seed(0)
    weights = [(p, torch.randn(p.shape, generator=generator).double()) for p in model.parameters()]
    slope = sum(float((p.grad * direction).sum()) for p, direction in weights if p.grad is not None)
    values = []
    with torch.no_grad():
        for step in (1e-6, -2e-6):
            for parameter, direction in weights:
                parameter += step * direction
            values.append(float(loss()))
    assert (values[0] - values[1]) / 2e-6 == pytest.approx(slope, rel=1e-5)
