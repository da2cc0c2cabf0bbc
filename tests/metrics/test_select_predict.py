"""Systems that predict from their rationale: what the records keep of them and what the numbers then are."""

import json
from dataclasses import replace

import pytest

from unirex.errors import UserError
from unirex.evaluation.record_files import read_records, write_records
from unirex.evaluation.records import Draw, Record, Scored, Views, check_record, plain
from unirex.evaluation.summary import Summary, saved_summary
from unirex.evaluation.values import example_values


def record(*, kept, empty, budgets, whole="kept", **more):
    """A text of two words; p(pos) from the rationale of each budget and from the empty text."""
    rows = tuple((1 - p, p) for p in kept)
    views = Views("delete", tuple((1 - empty, empty) for _ in kept), rows, rows if whole == "kept" else whole)
    values = {
        "id": "a",
        "segments": ("good film",),
        "label": "pos",
        "predicted": "pos",
        "labels": ("neg", "pos"),
        "probabilities": rows[-1],
        "sequences": (Scored(((0, 0, 4), (0, 5, 9)), (0.9, 0.1), None, ((0,),) * len(kept)),),
        "budgets": budgets,
        "target": "pos",
        "views": (views,),
        "draws": (Draw(((0.1, 0.9),), (((1,),) * len(kept),), views),),
    }
    return Record(**(values | more))


FRESH = record(kept=(0.75,), empty=0.25, budgets=(10.0,))
A2R = record(kept=(0.5, 0.75, 0.875), empty=0.25, budgets=(5.0, 10.0, 50.0))


def test_sufficiency_is_exactly_0_and_comprehensiveness_against_the_empty_text():
    values = example_values(FRESH)
    assert values["sufficiency"] == values["sufficiency@10"] == values["sufficiency_mean"] == 0.0
    assert values["comprehensiveness@10"] == values["comprehensiveness_mean"] == 0.5  # .75 - .25, raw
    assert values["comprehensiveness"] == 0.25  # halved: spec/known-errors.md#d-5
    assert values["csd"] == 0.25


def test_each_budget_is_held_against_its_own_prediction():
    values = example_values(A2R)
    assert [values[f"sufficiency@{k}"] for k in (5, 10, 50)] == [0.0] * 3
    assert [values[f"comprehensiveness@{k}"] for k in (5, 10, 50)] == [0.25, 0.5, 0.625]
    assert values["comprehensiveness_mean"] == pytest.approx(1.375 / 3)
    assert values["comprehensiveness"] == pytest.approx(1.375 / 4)


def test_without_it_the_whole_text_is_what_counts():
    ordinary = record(kept=(0.75,), empty=0.25, budgets=(10.0,), whole=None, probabilities=(0.0, 1.0))
    assert example_values(ordinary)["sufficiency@10"] == 0.25
    assert not ordinary.select_predict and FRESH.select_predict and FRESH.drawn(0).select_predict
    assert example_values(FRESH.drawn(0))["sufficiency"] == 0.0


@pytest.mark.parametrize("ending", ["jsonl", "parquet"])
def test_files_keep_it(tmp_path, ending):
    ordinary = record(kept=(0.75,), empty=0.25, budgets=(10.0,), whole=None, id="b")
    path = tmp_path / f"records.{ending}"
    write_records(path, [FRESH, ordinary])
    assert list(read_records(path)) == [FRESH, ordinary]


def test_files_from_before_are_still_read(tmp_path):
    ordinary = record(kept=(0.75,), empty=0.25, budgets=(10.0,), whole=None)
    row = json.loads(json.dumps(plain(ordinary)))
    for views in (row["views"][0], row["draws"][0]["views"]):
        del views["whole"]
    path = tmp_path / "records.jsonl"
    path.write_text(json.dumps(row) + "\n", "utf-8")
    assert list(read_records(path)) == [ordinary]


def test_parquet_from_before_is_still_read(tmp_path):
    pa = pytest.importorskip("pyarrow")
    pq = pytest.importorskip("pyarrow.parquet")

    ordinary = record(kept=(0.75,), empty=0.25, budgets=(10.0,), whole=None, draws=())
    row = plain(ordinary)
    views = [{name: one for name, one in row["views"][0].items() if name != "whole"}]
    table = pa.Table.from_pylist([row | {"views": views}]).replace_schema_metadata({"labels": '"native"'})
    pq.write_table(table, tmp_path / "records.parquet")
    assert list(read_records(tmp_path / "records.parquet")) == [ordinary]


def test_counts_must_fit(tmp_path):
    views = replace(FRESH.views[0], whole=())
    with pytest.raises(ValueError, match="0 distributions where there should be 1"):
        check_record(replace(FRESH, views=(views,)))
    broken = replace(FRESH.views[0], whole=((0.5,),))
    write_records(tmp_path / "records.jsonl", [replace(FRESH, views=(broken,))])
    with pytest.raises(UserError, match=r"records.jsonl:1: .*1 probabilities where there should be 2"):
        list(read_records(tmp_path / "records.jsonl"))


def test_the_table_of_an_evaluation_says_what_the_numbers_are():
    shown = " ".join(Summary.of("fresh", [FRESH] * 3).table().split())
    assert "note: fresh predicts from its rationale alone, " in shown
    assert "% of the tokens: sufficiency is 0 by construction." in shown
    assert "against the empty text (nothing but [CLS], [SEP] and what is never selected): 0.500 raw;" in shown
    assert "the AOPC above divides it by K + 1 = 2" in shown
    several = " ".join(Summary.of("a2r", [A2R] * 3).table().split())
    assert "0.458 raw, the mean over 3 budgets; the AOPC above divides their sum by K + 1 = 4" in several


def test_metrics_from_records_know_it_again(tmp_path):
    write_records(tmp_path / "records.jsonl", [FRESH] * 3)
    Summary.of("fresh", [FRESH] * 3).save(tmp_path)
    kept = json.loads((tmp_path / "metrics.json").read_text("utf-8"))
    assert kept["settings"]["predicts_from"] == "rationale"
    again = saved_summary(tmp_path / "records.jsonl")
    for one in read_records(tmp_path / "records.jsonl"):
        again.add(one)
    assert again.select_predict and again.notes == Summary.of("fresh", [FRESH] * 3).notes
