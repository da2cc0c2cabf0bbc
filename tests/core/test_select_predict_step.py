"""Systems that predict from the rationale alone: what they read, and what it is compared with (T10)."""

import math

import pytest
import torch

import tiny
import unirex
from planted import planted, planted_choices, planted_segments
from unirex.encoding.batch import collate
from unirex.errors import UserError
from unirex.evaluation.values import example_values
from unirex.methods import resolve
from unirex.methods.building import build_system
from unirex.perturb import drops_exactly
from unirex.select import budget_counts
from unirex.step import SelectPredictStep

DATA = {
    "text": planted((8, 4, 8)),
    "pair": planted_segments(2, (8, 4, 8)),
    "choice": planted_choices((8, 4, 8)),
}
BOUND = {"rationale_segments": (1,)}  # the other text is read whatever is selected


@pytest.fixture(scope="module")
def systems(learner):
    """`systems(kind, method, **settings)`: a system as it is before training, with large random heads."""

    def build(kind="text", method="a2r", **settings):
        config = resolve(method, None, {"encoder": str(learner), "pooling": "mean", **settings})
        system = build_system(method, DATA[kind], config, learns=False)
        tiny.shaken(system.model.task.head, seed=1, scale=3.0)
        tiny.shaken(system.model.extractor.head, seed=2)
        system.model.eval()
        return system

    return build


def batch_of(system, examples):
    """The examples in tokens."""
    encoded = system.text_encoder.encode(examples)
    return collate(encoded, system.tokenizer.pad_token_id), list(encoded)


def read_alone(model, ids):
    """What the predictor says to some token ids, run all by themselves: [C]."""
    ids = torch.tensor([ids])
    hidden = model.task.encoder(input_ids=ids, attention_mask=torch.ones_like(ids)).last_hidden_state
    return model.task.head(hidden.mean(1))[0]  # pooling: mean


@pytest.mark.parametrize("method", ["a2r", "fresh-p", "hard-kuma"])
@torch.no_grad()
def test_the_answer_is_that_of_the_cropped_text(systems, method):
    system = systems(method=method)
    batch, _ = batch_of(system, DATA["text"]["test"])
    step = system.model.step(batch, removal="delete")
    assert isinstance(step, SelectPredictStep)
    for row, ids in enumerate(batch.input_ids):
        kept = step.masks[-1][row] | batch.special[row]
        expected = read_alone(system.model, ids[kept & batch.attention_mask[row]].tolist())
        torch.testing.assert_close(step.logits[row], expected, rtol=1e-4, atol=1e-5)


@torch.no_grad()
def test_comprehensiveness_is_against_the_empty_text(systems):
    system = systems(removal="delete")
    test = DATA["text"]["test"]
    cls, sep = system.tokenizer.cls_token_id, system.tokenizer.sep_token_id
    empty = read_alone(system.model, [cls, sep]).softmax(-1)
    for record in unirex.evaluate(system, test, draws=2).records:
        target = record.labels.index(record.target)
        for views in (record.views[0], *(draw.views for draw in record.draws)):
            for removed in views.removed:
                assert removed == pytest.approx(empty.tolist(), abs=1e-5)
        comp = record.probabilities[target] - float(empty[target])
        assert example_values(record)["comprehensiveness@20"] == pytest.approx(comp, abs=1e-5)


@pytest.mark.parametrize("kind", DATA)
@pytest.mark.parametrize("method", ["a2r", "fresh-p", "hard-kuma"])
def test_sufficiency_is_exactly_0(systems, kind, method):
    results = unirex.evaluate(systems(kind, method), DATA[kind]["test"], draws=2)
    for record in results.records:
        for one in (record, record.drawn(0), record.drawn(1)):
            values = {name: value for name, value in example_values(one).items() if "sufficiency" in name}
            assert set(values.values()) == {0.0} and len(values) > 2, "over all, per budget, other removals"
    assert {row["sufficiency"] for row in results.rows.values()} == {0.0}
    assert results.metrics["csd"] == results.metrics["comprehensiveness"]


@torch.no_grad()
def test_what_cannot_be_selected_stays_in_the_empty_text(systems):
    system = systems("pair", **BOUND)
    batch, _ = batch_of(system, DATA["pair"]["test"])
    step = system.model.step(batch, removal="delete")
    for row, ids in enumerate(batch.input_ids):
        stays = ~batch.selectable[row] & batch.attention_mask[row]
        first = system.tokenizer.tokenize(DATA["pair"]["test"][row].segments[0])
        assert int(stays.sum()) == len(first) + 3, "the first text, CLS and two SEP"
        torch.testing.assert_close(
            step.dropped_logits[-1][row],
            read_alone(system.model, ids[stays].tolist()),
            rtol=1e-4,
            atol=1e-5,
        )


@torch.no_grad()
@pytest.mark.parametrize("removal", ["delete", "attention_mask"])
def test_the_predictor_never_reads_the_whole_text(systems, removal):
    """Neither to answer nor to be measured: no row is as long as any text."""
    system, test = systems(budgets=[20], removal=removal), DATA["text"]["test"]
    batch, _ = batch_of(system, test)
    tokens = batch.selectable.sum(-1)
    longest = int(budget_counts(tokens, 20).max()) + 2
    assert longest < int(tokens.min()) + 2
    drops_exactly(system.model.task.encoder, 0)  # reads a few tokens of nobody's, once
    with tiny.counted(system.model.task.encoder) as shapes:
        step = system.model.step(batch)
        step.logits, step.kept_logits, step.dropped_logits  # noqa: B018
        system.explain(list(test))
        unirex.evaluate(system, test, beside=[], draws=2)
    assert shapes and max(width for _, width in shapes) <= longest


def test_training_reads_the_whole_text_only_for_the_soft_predictor(systems):
    batch, _ = batch_of(systems(), DATA["text"]["train"])
    whole = int(batch.lengths().max())
    for weights, reads in (({"soft_task": {"weight": 0.0}, "agreement": {"weight": 0.0}}, False), ({}, True)):
        system = systems(objectives=weights)
        drops_exactly(system.model.task.encoder, 0)
        with tiny.counted(system.model.task.encoder) as shapes:
            system.model(**batch.tensors()).loss.backward()
        assert (max(width for _, width in shapes) == whole) is reads


@pytest.mark.parametrize("method", ["a2r", "fresh-p", "hard-kuma"])
@torch.no_grad()
def test_an_explanation_names_what_was_read(systems, method):
    system, test = systems(method=method), DATA["text"]["test"]
    batch, _ = batch_of(system, test)
    step = system.model.step(batch)
    for row, told in enumerate(system.explain(list(test))):
        places = batch.selectable[row].nonzero().flatten()
        read = zip(step.scores[row, places].tolist(), step.masks[-1][row, places].tolist(), strict=True)
        tiny.assert_same_choice([(token.score, token.selected) for token in told.tokens], read)
        assert list(told.probabilities.values()) == pytest.approx(
            step.logits[row].softmax(-1).tolist(), abs=1e-5
        )


def test_another_rationale_than_the_one_it_read_is_refused(systems):
    system, text = systems(budgets=[20]), "the film is good"
    assert system.explain(text, budget=20) == system.explain(text, selector="top-k") == system.explain(text)
    for asked in ({"budget": 50}, {"selector": "best-span"}):
        with pytest.raises(UserError, match=r"predicts from its rationale \(top-k, 20 %\); it has no other"):
            system.explain(text, **asked)
    with pytest.raises(UserError, match="another extractor would change it"):
        system.with_extractor("integrated-gradients")


@pytest.mark.parametrize("probe", ["curves", "leave-one-out", "naopc", "soft", "empty"])
def test_probes_of_the_whole_text_are_refused(systems, probe):
    with pytest.raises(UserError, match="rationale"):
        unirex.evaluate(systems(), DATA["text"]["test"], probes=[probe])


def test_best_span_reads_one_run_of_words(systems):
    system = systems(rationale_selector="best-span", budgets=[50])
    for told in system.explain(list(DATA["text"]["test"])):
        assert len(told.spans) == 1
        count = budget_counts(torch.tensor(len(told.tokens)), 50)
        assert sum(token.selected for token in told.tokens) == count


def test_the_floor_reads_as_many_tokens_as_the_system(systems):
    """With a threshold there is no budget to hold random scores to; the number of tokens is the system's."""
    system = systems(method="hard-kuma")
    results = unirex.evaluate(system, DATA["text"]["test"], draws=3)
    sizes = set()
    for record in results.records:
        (own,) = record.sequences[0].selected
        sizes.add(len(own))
        assert len(own) == sum(score > 0 for score in record.sequences[0].scores)
        for draw in record.draws:
            assert len(draw.selected[0][0]) == len(own)
    assert len(sizes) > 1, "rationales of several sizes, or nothing was tried"
    picked = [tuple(draw.selected[0][0]) for record in results.records for draw in record.draws]
    own = [record.sequences[0].selected[0] for record in results.records for _ in record.draws]
    assert picked != own


def test_hard_kuma_draws_in_training_only(systems):
    system = systems(method="hard-kuma")
    batch, _ = batch_of(system, DATA["text"]["train"])
    torch.manual_seed(0)
    drawn = {system.model.step(batch, explores=True).masks.numpy().tobytes() for _ in range(4)}
    quiet = {system.model.step(batch).masks.numpy().tobytes() for _ in range(4)}
    assert len(drawn) > 1 and len(quiet) == 1


def test_a_drawn_gate_scales_the_word_it_is_for(systems):
    """Between 0 and 1 the word is that much itself and the rest padding; at 0 it is not read at all."""
    system = systems(method="hard-kuma")
    batch, _ = batch_of(system, DATA["text"]["train"])
    torch.manual_seed(1)
    step = system.model.step(batch, target=batch.labels, explores=True, removal="delete")
    gate, embed = step.sample, system.model.task.embed
    assert bool(((gate > 0) & (gate < 1) & batch.selectable).any()), "a gate in between, or nothing was tried"
    pad = embed(torch.tensor(system.tokenizer.pad_token_id))
    for row, ids in enumerate(batch.input_ids):
        read = (step.masks[0][row] | batch.special[row]) & batch.attention_mask[row]
        share = torch.where(batch.selectable[row], gate[row], torch.ones(()))[read][:, None]
        words = share * embed(ids[read]) + (1 - share) * pad
        hidden = system.model.task.encoder(inputs_embeds=words[None]).last_hidden_state
        torch.testing.assert_close(
            step.logits[row], system.model.task.head(hidden.mean(1))[0], rtol=1e-4, atol=1e-5
        )


@torch.no_grad()
def test_the_answer_is_from_the_largest_budget_whatever_is_asked_for_beside(systems):
    system = systems(budgets=[10, 50])
    batch, _ = batch_of(system, DATA["text"]["test"])
    own, other = system.model.step(batch), system.model.step(batch, budgets=[10])
    assert own.logits.equal(own.kept_logits[1])
    torch.testing.assert_close(other.logits, own.logits, rtol=1e-5, atol=1e-6)
    assert not torch.allclose(own.logits, own.kept_logits[0])


def test_probabilities_of_choices_are_of_choices(systems):
    results = unirex.evaluate(systems("choice"), DATA["choice"]["test"], draws=1)
    for record, example in zip(results.records, DATA["choice"]["test"], strict=True):
        assert len(record.probabilities) == len(example.choices)
        assert all(len(kept) == len(example.choices) for kept in record.views[0].kept)
        assert math.isclose(sum(record.probabilities), 1, abs_tol=1e-5)


def test_faithfulness_to_a_text_it_never_reads_is_refused(learner):
    for name in ("comprehensiveness", "sufficiency"):
        with pytest.raises(UserError, match="never sees the whole text"):
            unirex.fit("a2r", DATA["text"], encoder=str(learner), objectives={name: {"weight": 1.0}})


def test_other_budgets_and_removals_than_its_own_are_refused(systems):
    texts = DATA["text"]["test"]
    with pytest.raises(UserError, match="it has no other"):
        unirex.evaluate(systems(), texts, budgets=[50])
    with pytest.raises(UserError, match="would change its answers"):
        unirex.evaluate(systems(), texts, removal="pad_token")


def test_random_rationales_have_no_answer_of_the_system(systems):
    results = unirex.evaluate(systems(), DATA["text"]["test"], draws=1)
    own, floor = results.rows.values()
    assert "accuracy" in own and "accuracy" not in floor and floor["sufficiency"] == 0
