"""Evaluation: records first, averages after, and both again from the file."""

import json
from dataclasses import replace

import numpy as np
import pytest
import torch
from transformers import AutoTokenizer

import unirex
from planted import planted
from tiny import build_model
from unirex.batch import collate
from unirex.errors import UserError
from unirex.evaluation import aggregate, evaluate, read_records
from unirex.system import System

DATA = planted((8, 8, 24))


@pytest.fixture(scope="module")
def system(encoders):
    folder = encoders("bert")
    return System(build_model(folder, pooling="mean"), AutoTokenizer.from_pretrained(folder))


def by_hand(system, example, budget):
    """p(y|x), p(y|x without r), p(y|r) of one text, by writing the shorter texts out."""
    encoded = system.text_encoder.encode([example])[0]
    batch = collate([encoded], 0)
    with torch.no_grad():
        output = system.model(**{k: v for k, v in batch.tensors().items() if k != "labels"})
    scores = output.scores[0]
    (tokens,) = encoded.sequences
    places = [i for i, flag in enumerate(tokens.selectable) if flag]
    count = max(1, int(np.round(len(places) * budget / 100)))  # numpy rounds halves to even too
    chosen = set(sorted(places, key=lambda i: -scores[i])[:count])
    label = int(output.logits[0].argmax())

    def probability(keep):
        ids = torch.tensor([[int(tokens.input_ids[i]) for i in range(len(tokens)) if keep(i)]])
        out = system.model.task.encoder(input_ids=ids).last_hidden_state.mean(1)
        return float(system.model.task.head(out).softmax(-1)[0, label].detach())

    special = {i for i, flag in enumerate(tokens.selectable) if not flag}
    return (
        probability(lambda i: True),
        probability(lambda i: i not in chosen),
        probability(lambda i: i in chosen or i in special),
    )


@pytest.mark.parametrize("budget", [5, 20, 50])
def test_comp_and_suff_are_those_of_the_texts_with_words_deleted(system, budget):
    results = evaluate(system, DATA["test"], budgets=[budget])
    expected = [by_hand(system, example, budget) for example in DATA["test"]]
    for record, (full, removed, kept) in zip(results.records, expected, strict=True):
        assert record.full == pytest.approx(full, abs=1e-5)
        assert record.removed == pytest.approx((removed,), abs=1e-5)
        assert record.kept == pytest.approx((kept,), abs=1e-5)
    full, removed, kept = np.array(expected).T
    metrics = results.metrics
    assert metrics[f"comprehensiveness@{budget}"] == pytest.approx((full - removed).mean(), abs=1e-5)
    assert metrics["comprehensiveness"] == pytest.approx((full - removed).mean() / 2, abs=1e-5)  # / (|K| + 1)
    assert metrics["csd_mean"] == pytest.approx((kept - removed).mean(), abs=1e-5)


def test_metrics_come_out_of_the_records_file_bit_for_bit(system, tmp_path):
    results = evaluate(system, DATA["test"])
    results.save(tmp_path)
    again = aggregate(read_records(tmp_path / "records.jsonl"), system.labels)
    assert again == results.metrics
    assert json.loads((tmp_path / "metrics.json").read_text())["vanilla + shared-lm"] == results.metrics


def test_any_text_survives_the_records_file(system, tmp_path):
    odd = unirex.Example("odd", ("a good\u2028film\u0085\U0001f600",), "pos", (((2, 6),),))
    results = evaluate(system, [odd])
    results.save(tmp_path)
    assert read_records(tmp_path / "records.jsonl") == list(results.records)


def test_budgets_must_be_shares(system):
    for budgets in ([], [0], [500]):
        with pytest.raises(UserError, match="budgets"):
            evaluate(system, DATA["test"], budgets=budgets)
    with pytest.raises(UserError, match="batch_size 0"):
        evaluate(system, DATA["test"], batch_size=0)


def test_records_keep_the_order_and_the_text_of_the_examples(system):
    results = evaluate(system, DATA["test"], batch_size=5)
    assert [r.id for r in results.records] == [e.id for e in DATA["test"]]
    for record, example in zip(results.records, DATA["test"], strict=True):
        assert record.segments == example.segments and record.label == example.label
        (scored,) = record.sequences
        marked = [
            example.text[s:e] for (_, s, e), gold in zip(scored.tokens, scored.gold, strict=True) if gold
        ]
        start, end = example.rationale[0][0]
        assert "".join(marked) == example.text[start:end]


def test_batching_does_not_change_the_numbers(system):
    one, many = (evaluate(system, DATA["test"], batch_size=size).metrics for size in (1, 24))
    assert one == pytest.approx(many, abs=1e-5)


def test_a_floor_of_random_scores_stands_beside_every_system(system):
    results = evaluate(system, DATA["test"])
    name, floor = results.rows
    assert floor == f"{name}: random scores"
    assert results.rows[floor]["accuracy"] == results.metrics["accuracy"]
    assert results.rows[floor]["auprc"] != results.metrics["auprc"]
    assert "random scores" in results.table()
    assert not evaluate(system, DATA["test"], floor=False).floor


def test_texts_without_gold_do_not_count_for_plausibility(system):
    bare = [replace(example, rationale=None) for example in DATA["test"][:12]]
    mixed = evaluate(system, [*bare, *DATA["test"][12:]]).metrics
    assert mixed["auprc"] == pytest.approx(evaluate(system, DATA["test"][12:]).metrics["auprc"])
    assert "auprc" not in evaluate(system, bare).metrics
    assert "–" not in evaluate(system, bare).table()


def test_a_perfect_and_a_perverse_extractor_bound_plausibility(system):
    best, worst = (
        evaluate(system.with_extractor(name), DATA["test"]).metrics for name in ("gold", "inverse")
    )
    assert best["auprc"] == best["token_f1"] == best["token_f1_macro2"] == 1
    assert worst["token_f1"] == 0 and worst["auprc"] < 0.3


def test_train_mode_is_left_as_found(system):
    system.model.train()
    evaluate(system, DATA["test"][:4])
    system.explain("a good film")
    assert system.model.training
    system.model.eval()
    evaluate(system, DATA["test"][:4])
    assert not system.model.training


def test_examples_that_cannot_be_evaluated_are_named(system):
    with pytest.raises(UserError, match="no examples"):
        evaluate(system, [])
    with pytest.raises(UserError, match="test-0 has no label"):
        evaluate(system, [replace(DATA["test"][0], label=None)])
    with pytest.raises(UserError, match="label 'meh' is not one this system knows"):
        evaluate(system, [replace(DATA["test"][0], label="meh")])


def test_the_public_name_is_the_function(system):
    import unirex.evaluation

    assert callable(unirex.evaluate) and unirex.evaluate is evaluate
