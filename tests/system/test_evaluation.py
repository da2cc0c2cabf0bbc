"""Evaluation: records first, averages after, and both again from the file."""

import gc
import json
from dataclasses import replace

import numpy as np
import pytest
import torch
from transformers import AutoTokenizer

import unirex
from planted import planted
from tiny import build_model
from unirex.encoding.batch import Encoded, collate
from unirex.errors import UserError
from unirex.evaluation.probes import PROBES
from unirex.evaluation.record_files import read_records, write_records
from unirex.evaluation.records import Record
from unirex.evaluation.run import evaluate, evaluate_to, evaluated
from unirex.evaluation.summary import Summary
from unirex.evaluation.values import example_values
from unirex.metrics.plausibility import auprc, token_f1_macro2
from unirex.metrics.registry import PROBED
from unirex.objectives import Objectives
from unirex.objectives.comprehensiveness import Comprehensiveness
from unirex.system import System

DATA = planted((8, 8, 24))


def built(folder, **options):
    return System(build_model(folder, pooling="mean", **options), AutoTokenizer.from_pretrained(folder))


@pytest.fixture(scope="module")
def system(encoders):
    return built(encoders("bert"))


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
    again = Summary.of("ours", read_records(tmp_path / "records.jsonl"), system.labels).metrics
    assert again == results.metrics
    saved = json.loads((tmp_path / "metrics.json").read_text())
    assert saved["system"] == "vanilla + shared-lm" and saved["metrics"] == results.metrics


def test_any_text_survives_the_records_file(system, tmp_path):
    odd = unirex.Example("odd", ("a good\u2028film\u0085\U0001f600",), "pos", (((2, 6),),))
    results = evaluate(system, [odd])
    results.save(tmp_path)
    for ending in ("jsonl", "parquet"):
        assert tuple(read_records(tmp_path / f"records.{ending}")) == results.records


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
    cost = {"seconds": 0, "token_forwards": 0}
    assert one | cost == pytest.approx(many | cost, abs=1e-5)


def test_a_floor_of_random_scores_stands_beside_every_system(system):
    results = evaluate(system, DATA["test"])
    name, floor = results.rows
    assert floor == f"{name}: random scores"
    assert results.rows[floor]["accuracy"] == results.metrics["accuracy"]
    assert results.rows[floor]["auprc"] != results.metrics["auprc"]
    assert "random scores" in results.table()
    assert not evaluate(system, DATA["test"], draws=0).floor


def test_texts_without_gold_do_not_count_for_plausibility(system):
    bare = [replace(example, rationale=None) for example in DATA["test"][:12]]
    mixed = evaluate(system, [*bare, *DATA["test"][12:]]).metrics
    assert mixed["auprc"] == pytest.approx(evaluate(system, DATA["test"][12:]).metrics["auprc"])
    assert "auprc" not in evaluate(system, bare).metrics
    assert "AUPRC" not in evaluate(system, bare).table()


def test_a_perfect_and_a_perverse_extractor_bound_plausibility(system):
    best, worst = (
        evaluate(system.with_extractor(name), DATA["test"]).metrics for name in ("gold", "inverse")
    )
    assert best["auprc"] == best["token_f1"] == best["token_f1_macro2"] == 1
    assert worst["token_f1"] == 0 and worst["auprc"] < 0.3


def test_plausibility_as_the_paper_counts_has_special_tokens_as_unmarked(system):
    """Two more tokens that nobody marks, with the scores the extractor gives them: [CLS] and [SEP]."""
    records = evaluate(system, DATA["dev"], draws=0).records
    for record in records:
        (scored,), values = record.sequences, example_values(record)
        assert len(scored.others) == 2
        scores, gold = [*scored.scores, *scored.others], [*scored.gold, False, False]
        assert values["auprc_all_tokens"] == auprc(scores, gold)
        chosen = [score > 0 for score in scores]
        assert values["token_f1_macro2_all_tokens"] == token_f1_macro2(chosen, gold)


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


# A stream of any length: the same numbers, in flat memory, and files that appear whole.


def test_a_stream_comes_to_the_same_as_all_at_once(system, tmp_path):
    results = evaluate(system, DATA["test"])
    results.save(tmp_path / "whole")
    summary = evaluate_to(tmp_path / "stream", system, iter(DATA["test"]))
    assert summary.count == 24 and summary.table() == results.table()
    for one, other in zip(summary.rows.values(), results.rows.values(), strict=True):
        assert {**one, "seconds": 0} == {**other, "seconds": 0}
    for ending in ("jsonl", "parquet"):
        streamed, whole = (
            [replace(one, seconds=0) for one in read_records(tmp_path / name / f"records.{ending}")]
            for name in ("stream", "whole")
        )
        assert streamed == whole
        again = Summary.of("again", read_records(tmp_path / "stream" / f"records.{ending}"), system.labels)
        assert list(again.rows.values()) == list(summary.rows.values())
        assert again.intervals == summary.intervals


def test_windows_keep_the_order_and_the_numbers(system, monkeypatch):
    whole = evaluate(system, DATA["test"])
    monkeypatch.setattr("unirex.system.WINDOW", 5)
    records = list(evaluated(system, iter(DATA["test"]), batch_size=3))
    assert [record.id for record in records] == [example.id for example in DATA["test"]]
    for own, record in zip(records, whole.records, strict=True):
        assert own.removed == pytest.approx(record.removed, abs=1e-5)
        chance, floor = own.drawn(2), record.drawn(2)
        assert chance.kept == pytest.approx(floor.kept, abs=1e-5)
        assert [one.selected for one in chance.sequences] == [one.selected for one in floor.sequences]


def alive(system, count, monkeypatch):
    """The most records and encodings in memory at once while so many texts are evaluated."""
    monkeypatch.setattr("unirex.system.WINDOW", 16)
    read, peak = [], 0

    def texts():
        for number in range(count):
            read.append(number)
            yield replace(DATA["test"][number % 24], id=str(number))

    for number, _ in enumerate(evaluated(system, texts(), budgets=[50], draws=0)):
        assert len(read) <= number + 16, "no more than a window is read ahead"
        if number in (count // 2, count - 1):
            peak = max(peak, sum(type(one) in (Record, Encoded) for one in gc.get_objects()))
    return peak


def test_memory_does_not_grow_with_the_number_of_texts(system, monkeypatch):
    gc.collect()
    few, many = alive(system, 32, monkeypatch), alive(system, 320, monkeypatch)
    assert many <= few + 16


def test_a_mistake_far_into_a_stream_leaves_nothing_behind(system, tmp_path, monkeypatch):
    monkeypatch.setattr("unirex.system.WINDOW", 4)
    for change, said in (({"label": None}, "test-9 has no label"), ({"label": "meh"}, "test-9: label 'meh'")):
        bad = [replace(one, **change) if one.id == "test-9" else one for one in DATA["test"]]
        with pytest.raises(UserError, match=said):
            evaluate_to(tmp_path / "evaluation" / "new", system, iter(bad))
        assert not list(tmp_path.iterdir())
    with pytest.raises(UserError, match="no examples"):
        evaluate_to(tmp_path / "new", system, iter(()))
    assert not list(tmp_path.iterdir())


def test_a_failed_evaluation_keeps_the_one_before(system, tmp_path):
    evaluate_to(tmp_path, system, DATA["test"][:4])
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    with pytest.raises(UserError, match="no label"):
        evaluate_to(tmp_path, system, [*DATA["test"][:4], replace(DATA["test"][4], label=None)])
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == before


def test_texts_that_were_cut_are_told_once_after_the_last(encoders, caplog):
    system = built(encoders("bert"), max_length=6)
    cut = [record.truncated for record in evaluated(system, iter(DATA["test"]), draws=0)]
    told = [one.getMessage() for one in caplog.records]
    assert len(told) == 1 and f"{sum(map(bool, cut))} of 24 texts" in told[0]
    assert f"{sum(cut)} tokens were left out" in told[0]


def test_what_is_done_is_told_after_every_batch(system):
    done = []
    for _ in evaluated(system, DATA["test"], batch_size=10, advance=done.append):
        assert sum(done) == 24  # one window: all of it ran before the first answer
    assert done == [10, 10, 4]


# What stands beside the main metrics: other removals, random scores, probes, the gold label's probability.


def test_a_removal_training_never_saw_stands_beside_the_one_it_used(encoders):
    objectives = Objectives(comprehensiveness=Comprehensiveness(weight=0.5))
    taught = built(encoders("bert"), objectives=objectives)
    record = evaluate(taught, DATA["test"][:3], draws=0).records[0]
    assert [views.removal for views in record.views] == ["delete", "attention_mask", "mask_token"]
    assert record.trained_removal == "attention_mask"
    record = evaluate(taught, DATA["test"][:3], removal="mask_token", draws=0).records[0]
    assert [views.removal for views in record.views] == ["mask_token", "attention_mask", "pad_token"]
    plain = built(encoders("bert"), objectives=Objectives())
    record = evaluate(plain, DATA["test"][:3], draws=0).records[0]
    assert [views.removal for views in record.views] == ["delete", "mask_token"]
    assert record.trained_removal is None


def test_metrics_under_another_removal_are_those_of_evaluating_with_it(system):
    beside = evaluate(system, DATA["test"], beside=["mask_token", "delete", "pad_token"], draws=0)
    assert [views.removal for views in beside.records[0].views] == ["delete", "mask_token", "pad_token"]
    for removal in ("mask_token", "pad_token"):
        alone = evaluate(system, DATA["test"], removal=removal, beside=(), draws=0).metrics
        for name in ("comprehensiveness", "sufficiency", "csd"):
            assert beside.metrics[f"{name}/{removal}"] == pytest.approx(alone[name], abs=1e-5)


def test_the_floor_is_the_mean_of_its_draws(system):
    results = evaluate(system, DATA["test"], draws=3)
    drawn = [Summary.of("ours", records, system.labels).metrics for records in results.floor]
    assert len({one["auprc"] for one in drawn}) == 3, "each draw is another one"
    floor = results.summary.floor_metrics
    for name in ("comprehensiveness", "auprc"):
        values = [one[name] for one in drawn]
        assert floor[name] == pytest.approx((np.mean(values), np.std(values, ddof=1)))
    with pytest.raises(UserError, match="draws -1"):
        evaluate(system, DATA["test"], draws=-1)


def test_probes_bring_their_metrics_and_survive_the_files(system, tmp_path):
    results = evaluate(system, DATA["test"][:6], draws=2, probes=PROBES)
    extra = set(PROBED)
    assert extra < results.metrics.keys() and extra < results.summary.floor_metrics.keys()
    assert not extra & evaluate(system, DATA["test"][:6], draws=0).metrics.keys()
    results.save(tmp_path)
    for ending in ("jsonl", "parquet"):
        assert tuple(read_records(tmp_path / f"records.{ending}")) == results.records
    with pytest.raises(UserError, match="unknown probe 'curve'; did you mean 'curves'"):
        evaluate(system, DATA["test"][:6], probes=["curve"])


def test_the_gold_label_can_be_followed_instead_of_the_prediction(system):
    records = evaluate(system, DATA["test"], target="gold", draws=0).records
    wrong = [one for one in records if one.predicted != one.label]
    assert wrong and all(one.target == one.label for one in records)
    for record in wrong:
        assert record.full == record.probabilities[record.labels.index(record.label)] < 0.5


def test_plausibility_is_told_apart_for_right_and_wrong_predictions(system):
    results = evaluate(system, DATA["test"], draws=0)
    right = [one for one in results.records if one.predicted == one.label]
    wrong = [one for one in results.records if one.predicted != one.label]
    assert right and wrong
    assert results.metrics["auprc/correct"] == Summary.of("ours", right, system.labels).metrics["auprc"]
    assert results.metrics["auprc/wrong"] == Summary.of("ours", wrong, system.labels).metrics["auprc"]


def test_labels_of_any_type_survive_parquet(system, tmp_path):
    record = evaluate(system, DATA["test"][:1], draws=1).records[0]
    for labels in ((0, 1), (False, True), (0.5, 1.0), ("a", 1)):
        changed = replace(record, labels=labels, label=labels[0], predicted=labels[1], target=labels[1])
        write_records(tmp_path / "records.parquet", [changed])
        (read,) = read_records(tmp_path / "records.parquet")
        assert read == changed and type(read.label) is type(labels[0])


def test_files_that_hold_no_records_are_named(tmp_path):
    for name, content, said in (
        ("a.jsonl", "{nonsense\n", "a.jsonl:1: not valid JSON"),
        ("b.jsonl", '{"id": "1"}\n', "b.jsonl:1: not a record"),
        ("c.parquet", "nonsense", "c.parquet: not a Parquet file"),
    ):
        (tmp_path / name).write_text(content)
        with pytest.raises(UserError, match=said):
            list(read_records(tmp_path / name))
    with pytest.raises(UserError, match="no such file"):
        list(read_records(tmp_path / "d.jsonl"))


@pytest.mark.parametrize("ending", ["jsonl", "parquet"])
def test_records_of_any_number_are_summed_up_with_few_of_them_in_memory(
    system, tmp_path, monkeypatch, ending
):
    monkeypatch.setattr("unirex.evaluation.record_files.ROWS", 16)
    (record,) = evaluate(system, DATA["test"][:1], draws=2).records
    path = tmp_path / f"records.{ending}"
    write_records(path, (replace(record, id=str(number)) for number in range(320)))
    gc.collect()
    before = sum(type(one) is Record for one in gc.get_objects())
    summary, peak = Summary("read", system.labels), 0
    for number, one in enumerate(read_records(path)):
        summary.add(one)
        if number % 100 == 99:
            peak = max(peak, sum(type(one) is Record for one in gc.get_objects()))
    assert summary.count == 320 and peak <= before + 4
    assert summary.metrics["auprc"] == pytest.approx(
        Summary.of("ours", [record], system.labels).metrics["auprc"]
    )
