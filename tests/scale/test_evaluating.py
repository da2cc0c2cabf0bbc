"""Evaluation in shards: the records of one process, and metrics from all of them, not means of means."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from commands import fails, succeeds
from unirex.cli import main
from unirex.evaluation.record_files import read_records
from unirex.evaluation.summary import Summary

MEASURED = ("--split", "all", "--draws", "1", "--beside", "--threads", "1", "--number", "1100")
MEASURED += ("--budgets", "[10,50]")
TOLERANCE = 1e-12  # relative: equal values added in another order


def records_of(folder: Path):
    """All records but for the time they took."""
    for ending in ("jsonl", "parquet"):
        yield [replace(record, seconds=None) for record in read_records(folder / f"records.{ending}")]


def numbers(metrics: dict):
    """All numbers by name, but for the time."""
    for part in ("metrics", "floor", "intervals"):
        for name, value in metrics[part].items():
            values = list(value.values()) if isinstance(value, dict) else value
            if "seconds" not in name and None not in (values if isinstance(values, list) else [values]):
                yield f"{part} {name}", values


@pytest.fixture(scope="module")
def whole(run, corpus) -> Path:
    """The evaluation by one process without shards."""
    out = corpus.with_name("whole")
    assert main(["evaluate", str(run), "--data", str(corpus), "--out", str(out), *MEASURED]) == 0
    return out


def check_same(folder: Path, whole: Path) -> None:
    assert list(records_of(folder)) == list(records_of(whole))  # to the bit: the batches are the same
    found, expected = (json.loads((place / "metrics.json").read_text("utf-8")) for place in (folder, whole))
    known = dict(numbers(expected))
    assert len(known) > 50
    for name, value in numbers(found):
        assert value == pytest.approx(known.pop(name), rel=TOLERANCE, abs=TOLERANCE), name
    assert not known
    same = ("system", "labels", "texts", "counts", "classes", "confusion", "leading", "collapsed")
    assert [found[name] for name in same] == [expected[name] for name in same]


def test_two_workers_measure_what_one_process_does(run, corpus, whole, tmp_path, capsys):
    """Both read and write by addresses, which every process finds."""
    options = [
        "--data",
        f"file://{corpus}",
        "--out",
        f"file://{tmp_path}/out",
        *MEASURED,
        "--engine",
        "local",
    ]
    said = succeeds(capsys, "evaluate", run, *options, "--workers", "2")
    assert "1100 texts" in said.replace(",", "")
    check_same(tmp_path / "out", whole)
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == [
        "metrics.json",
        "records.jsonl",
        "records.parquet",
    ]


def test_an_evaluation_at_an_address_goes_on(run, corpus, whole, tmp_path, capsys, monkeypatch):
    import fsspec

    from unirex.scale import evaluating

    out, memory = "memory://evaluated/corpus", fsspec.filesystem("memory")
    command = ["evaluate", run, "--data", corpus, "--out", out, *MEASURED, "--engine", "local"]
    done, usual = [], evaluating.EvaluateWork.run
    monkeypatch.setattr(evaluating.EvaluateWork, "run", _first_only(usual))
    assert main([str(word) for word in command]) == 130
    monkeypatch.setattr(evaluating.EvaluateWork, "run", _noting(usual, done))
    assert "another run (other options)" in fails(capsys, *command, "--draws", "0")
    succeeds(capsys, *command)
    assert done == [1]
    memory.get("/evaluated/corpus/", f"{tmp_path}/", recursive=True)
    memory.rm("/evaluated", recursive=True)
    check_same(tmp_path, whole)
    assert len(list(tmp_path.iterdir())) == 3  # no parts are left


def _first_only(usual):
    def run(work, shard, *others):
        if shard.number:
            raise KeyboardInterrupt
        return usual(work, shard, *others)

    return run


def _noting(usual, done):
    def run(work, shard, *others):
        done.append(shard.number)
        return usual(work, shard, *others)

    return run


def test_summaries_are_merged_by_sums_not_means(whole):
    records = list(read_records(whole / "records.parquet"))[:100]
    parts = [Summary.of("a", records[:7]), Summary.of("a", records[7:90]), Summary.of("a", records[90:])]
    merged, expected = Summary("a"), Summary.of("a", records)
    for part in parts:
        merged.extend(part)
    assert merged.metrics == pytest.approx(expected.metrics, rel=TOLERANCE, abs=TOLERANCE)
    for name, interval in expected.intervals.items():
        assert merged.intervals[name] == pytest.approx(interval, rel=TOLERANCE, abs=TOLERANCE, nan_ok=True), (
            name
        )
    assert merged.confusion == expected.confusion and merged.seen == expected.seen
    assert merged.columns.ids == expected.columns.ids


def test_a_pattern_of_files(run, corpus, tmp_path, capsys):
    lines = corpus.read_text("utf-8").splitlines(keepends=True)
    for name, part in (("a", lines[:20]), ("b", lines[20:50])):
        (tmp_path / f"{name}.jsonl").write_text("".join(part), "utf-8")
    options = ["--data", f"{tmp_path}/*.jsonl", *MEASURED, "--out", tmp_path / "out"]
    assert "50 texts" in succeeds(capsys, "evaluate", run, *options)
    given = ["evaluate", run, "--data", f"file://{tmp_path}/*.jsonl", "--out", "memory://out"]
    assert "--out memory://out: an address is for --engine" in fails(capsys, *given, *MEASURED)
    assert "read as a whole; give --split all" in fails(capsys, *given, "--engine", "local")
    given += [*MEASURED, "--engine", "local"]
    assert "--html: the page is made of the records" in fails(capsys, *given, "--html", "a.html")
    given[3] = f"file://{tmp_path}/none.jsonl"
    assert "none.jsonl: no such file" in fails(capsys, *given)
    assert "at one position of the dial" in fails(
        capsys, "evaluate", run, *options, "--engine", "local", "--dial", "0.1", "0.2"
    )
