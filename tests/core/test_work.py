"""How many tokens the encoder runs, counted, not timed: a step that does more work than it must fails here.

Two counts of a fixed batch. The real tokens run are exactly those of the distinct views: whatever is run
twice, or for nobody, shows. With padding they stay below the bounds in `PADDED`, which stand a little above
what was found when they were last set (`pytest -s` prints it; only lengths matter, not weights), and below a
multiple of the real ones.
"""

import random
from contextlib import contextmanager
from dataclasses import dataclass, replace

import pytest
from transformers import AutoTokenizer, PreTrainedTokenizerBase

import tiny
import unirex
from planted import planted
from unirex.data.example import Example
from unirex.encoding.batch import collate
from unirex.evaluation.run import evaluate
from unirex.objectives import Comprehensiveness, Objectives, Plausibility, Sufficiency
from unirex.system import System

BUDGETS = (1, 5, 10, 20, 50)
SPECIAL = 2  # [CLS] and [SEP] of every text
OVERHEAD, SLACK = 1.25, 200  # padded tokens for each real one, and a few that are cheaper than another chunk
PADDED = {
    "slm-fp": 3850,
    "slm-fp, 1%": 1800,
    "slm-fp, 5%": 1800,
    "slm-fp, 10%": 1800,
    "slm-fp, 20%": 1800,
    "slm-fp, 50%": 1700,
    "dlm-fp": 3850,
    "dlm-fp, extractor": 820,
    "aa-f": 6100,
    "slm-p": 820,
    "vanilla": 820,
    "evaluate": 3850,
    "explain": 820,
    "explain by IG": 3800,
}
FAITHFUL = Objectives(comprehensiveness=Comprehensiveness(0.5), sufficiency=Sufficiency(0.5))
METHODS = {
    "slm-fp": {"objectives": replace(FAITHFUL, plausibility=Plausibility(0.5))},
    "dlm-fp": {"objectives": replace(FAITHFUL, plausibility=Plausibility(0.5)), "extractor": "dual-lm"},
    "aa-f": {"objectives": FAITHFUL, "extractor": "integrated-gradients"},
    "slm-p": {"objectives": Objectives(plausibility=Plausibility(0.5))},
    "vanilla": {"extractor": "integrated-gradients"},
}


def lengths():
    """Words in each text of the batch: as short and as uneven as sentences of reviews are."""
    chance = random.Random(0)
    return [1, 2, 3, 3, *(min(50, max(3, round(chance.gauss(19, 9)))) for _ in range(28))]


WORDS = lengths()
WHOLE = sum(words + SPECIAL for words in WORDS)  # tokens of the texts themselves


def needed(budgets, words=WORDS):
    """Tokens of the distinct texts that a batch and its views consist of."""
    total = 0
    for count in words:
        kept = {max(1, round(count * budget / 100)) for budget in budgets}
        total += count + SPECIAL
        total += sum(size + SPECIAL for size in kept if size < count)  # all of them: the text itself
        total += sum(count - size + SPECIAL for size in kept)
    return total


@dataclass
class Work:
    """What an encoder was seen to do."""

    rows: int = 0
    real: int = 0
    padded: int = 0


@contextmanager
def watched(encoder):
    work = Work()

    def note(_module, _args, kwargs):
        mask = kwargs["attention_mask"]
        work.rows += len(mask)
        work.real += int(mask.sum())
        work.padded += mask.numel()

    handle = encoder.register_forward_pre_hook(note, with_kwargs=True)
    try:
        yield work
    finally:
        handle.remove()


def examples():
    chance = random.Random(1)
    texts = [" ".join(chance.choice(tiny.WORDS) for _ in range(count)) for count in WORDS]
    return tiny.examples(texts)


@pytest.fixture
def build(encoders):
    """A system that has found out how it may remove tokens, and the batch."""

    def made(method, **settings):
        folder = encoders("bert")
        model = tiny.build_model(folder, pooling="mean", **METHODS[method] | settings)
        system = System(model, AutoTokenizer.from_pretrained(folder))
        encoded = system.text_encoder.encode(examples())
        assert [one.length for one in encoded] == [count + SPECIAL for count in WORDS]
        batch = collate(encoded, system.tokenizer.pad_token_id)
        model(**batch.tensors())
        return system, batch

    return made


def assert_work(name, work, real):
    print(f"{name}: {work.padded} padded, {work.real} real, {work.padded / work.real:.3f}")
    assert work.real == real
    assert work.padded <= PADDED[name], f"{name}: more tokens are run than before"
    assert work.padded <= OVERHEAD * real + SLACK


def stepped(system, batch, encoder):
    """The work of a training step forward; nothing is run again backward while there is memory."""
    with watched(encoder) as work:
        loss = system.model(**batch.tensors()).loss
        forward = replace(work)
        loss.backward()
    assert work == forward
    return forward


def test_all_budgets_run_each_distinct_view_once(build):
    system, batch = build("slm-fp")
    assert_work("slm-fp", stepped(system, batch, system.model.task.encoder), needed(BUDGETS))


@pytest.mark.parametrize("budget", BUDGETS)
def test_one_budget_runs_the_text_and_two_views(build, budget):
    system, batch = build("slm-fp", budgets=(budget,))
    work = stepped(system, batch, system.model.task.encoder)
    assert_work(f"slm-fp, {budget}%", work, needed([budget]))
    assert work.rows <= 3 * len(WORDS)


def test_a_sampled_budget_costs_what_it_costs_alone(build):
    system, batch = build("slm-fp", budgets_per_step=1)
    for _ in range(5):
        work = stepped(system, batch, system.model.task.encoder)
        assert work.real in {needed([budget]) for budget in BUDGETS}
        assert work.padded <= max(PADDED[f"slm-fp, {budget}%"] for budget in BUDGETS)


def test_a_second_language_model_has_one_pass_of_its_own(build):
    system, batch = build("dlm-fp")
    assert_work("dlm-fp", stepped(system, batch, system.model.task.encoder), needed(BUDGETS))
    second = stepped(system, batch, system.model.extractor.encoder)
    assert_work("dlm-fp, extractor", second, WHOLE)
    assert second.rows == len(WORDS)


def test_integrated_gradients_add_their_three_points(build):
    system, batch = build("aa-f")
    assert_work("aa-f", stepped(system, batch, system.model.task.encoder), needed(BUDGETS) + 3 * WHOLE)


@pytest.mark.parametrize("method", ["slm-p", "vanilla"])
def test_what_no_objective_asks_for_is_not_run(build, method):
    """No views without faithfulness; no attributions without anybody who looks at them."""
    system, batch = build(method)
    work = stepped(system, batch, system.model.task.encoder)
    assert_work(method, work, WHOLE)
    assert work.rows == len(WORDS)


@pytest.mark.parametrize(("objective", "kept"), [("comprehensiveness", False), ("sufficiency", True)])
def test_one_side_of_faithfulness_runs_only_its_own_views(build, objective, kept):
    alone = Objectives(**{objective: getattr(FAITHFUL, objective)})
    system, batch = build("aa-f", objectives=alone, extractor="random")
    work = stepped(system, batch, system.model.task.encoder)
    views = 0
    for count in WORDS:
        for size in {max(1, round(count * budget / 100)) for budget in BUDGETS}:
            shown = size if kept else count - size
            views += shown + SPECIAL if shown < count else 0
    assert work.real == WHOLE + views


def test_evaluation_runs_each_distinct_view_once(build):
    system, _ = build("slm-fp")
    with watched(system.model.task.encoder) as work:
        evaluate(system, examples(), beside=(), draws=0)
    assert_work("evaluate", work, needed(BUDGETS))
    with watched(system.model.task.encoder) as both:
        evaluate(system, examples(), beside=("attention_mask",), draws=3)
    once = needed(BUDGETS) - WHOLE
    assert both.real == WHOLE + 5 * once, "other removals and random scores have views, not predictions"


def test_explaining_reads_each_text_once(build):
    system, _ = build("slm-fp")
    texts = [example.text for example in examples()]
    with watched(system.model.task.encoder) as work:
        system.explain(texts)
    assert_work("explain", work, WHOLE)
    assert work.rows == len(texts)
    with watched(system.model.task.encoder) as alone:
        system.explain(texts[-1])
    assert (alone.rows, alone.padded) == (1, WORDS[-1] + SPECIAL)


def test_explaining_by_integrated_gradients_adds_its_three_points_and_the_baseline(build):
    system, _ = build("vanilla")
    with watched(system.model.task.encoder) as work:
        system.explain([example.text for example in examples()])
    assert_work("explain by IG", work, 5 * WHOLE)


def test_choices_are_read_once_each(encoders):
    from unirex.config import Config
    from unirex.data.example import Layout
    from unirex.modeling import RationaleModel

    folder = encoders("bert")
    layout = Layout(1, choice=True, rationale_segments=(0,))
    model = RationaleModel.from_encoder(Config(encoder=str(folder)), ("A", "B", "C"), layout=layout).eval()
    system = System(model, AutoTokenizer.from_pretrained(folder))
    question = Example("q", ("the film is dull",), choices=("good", "not good", "a film"))
    with watched(model.task.encoder) as work:
        system.explain(question)
    assert (work.rows, work.real) == (3, 3 * (4 + 3) + 1 + 2 + 2)  # question, special tokens; the choices


def test_texts_are_tokenised_once_however_many_epochs(learner, monkeypatch):
    data = planted((24, 8, 0))
    call, seen = PreTrainedTokenizerBase.__call__, []

    def noted(self, texts=None, *args, **options):
        seen.extend([texts] if isinstance(texts, str) else texts)
        return call(self, texts, *args, **options)

    monkeypatch.setattr(PreTrainedTokenizerBase, "__call__", noted)

    def tokenised(epochs):
        seen.clear()
        training = {"epochs": epochs, "batch_size": 8, "learning_rate": 1e-3}
        unirex.fit("slm-fp", data, encoder=str(learner), pooling="mean", training=training, progress=False)
        return sorted(seen)

    texts = {example.text for split in ("train", "dev") for example in data[split]}
    once = tokenised(1)
    assert texts <= set(once) and len(once) < 1.1 * len(texts) + 10
    assert tokenised(3) == once
