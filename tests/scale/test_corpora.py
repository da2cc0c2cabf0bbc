"""Corpora in shards: cut where rows end, explained as one process would, resumed, and adding up."""

import hashlib
import json
import os
import signal
import time
from functools import partial
from pathlib import Path

import pytest
from deadly import deadly

import commands
import unirex
from commands import fails, succeeds, write_rows
from unirex.cli import main
from unirex.data.formats.table import Columns, read_inputs
from unirex.errors import UserError
from unirex.explanation import Explanation
from unirex.scale.crew import Died, Done, Memory, Outcome, Ready, run_shards
from unirex.scale.engines import Staff
from unirex.scale.explaining import explain_corpus
from unirex.scale.shards import Shard, find_shards

ENGINE = ("--engine", "local", "--shard_rows", "1024", "--threads", "1")


def manifest_of(out: Path) -> dict:
    """The manifest, once every part is as it says."""
    found = json.loads((out / "manifest.json").read_text("utf-8"))
    for shard in found["shards"]:
        (file,) = shard["files"]
        part = (out / file["name"]).read_bytes()
        assert hashlib.sha256(part).hexdigest() == file["sha256"]
        assert len(part) == file["bytes"] == shard["bytes"]
        assert shard["rows"] == part.count(b"\n")
    for name in ("rows", "texts", "bytes", "skipped"):
        assert found["totals"][name] == sum(shard[name] for shard in found["shards"])
    assert found["complete"] and not (out / "_done").exists()
    return found


def joined(out: Path) -> bytes:
    return b"".join(part.read_bytes() for part in sorted(out.glob("part-*")))


def read_back(shards):
    return [example for shard in shards for example in shard.read(Columns())]


@pytest.mark.parametrize("rows", [1, 2, 3, 100])
def test_every_row_is_in_one_shard(tmp_path, rows):
    file = tmp_path / "odd.jsonl"
    lines = [
        '\ufeff{"text": "é\u2028 one"}',
        "",
        '{"text": "two", "id": "b"}',
        "  ",
        '{"text": "三"}\r',
        "",
        "",
    ]
    file.write_bytes("\n".join([*lines, '{"text": "four"}']).encode())  # no end of line at the end
    sources, shards = find_shards(str(file), rows=rows)
    assert read_back(shards) == [record.example for record in read_inputs(file)]
    assert [shard.start for shard in shards] == [0, *(shard.end for shard in shards[:-1])]
    assert shards[-1].end == file.stat().st_size == sources[0].bytes
    assert sum(shard.rows for shard in shards) == sources[0].rows == 4


@pytest.mark.parametrize("rows", [2, 5, 7])
def test_parquet_is_cut_between_rows(tmp_path, rows):
    import pyarrow as pa
    import pyarrow.parquet as pq

    table = pa.table({"text": [f"text {number}" for number in range(11)]})
    for name, group in (("a", 3), ("b", 100)):
        pq.write_table(table, tmp_path / f"{name}.parquet", row_group_size=group)
    _, shards = find_shards(f"{tmp_path}/*.parquet", rows=rows)
    expected = [record.example for name in "ab" for record in read_inputs(tmp_path / f"{name}.parquet")]
    assert read_back(shards) == expected
    assert [shard.number for shard in shards] == list(range(2 * -(-11 // rows)))


def test_one_process_with_shards_says_what_one_without_says(run, corpus, plain, tmp_path, capsys):
    out = tmp_path / "out"
    said = succeeds(capsys, "explain", run, "--file", corpus, "--out", out, *ENGINE)
    assert "2,100 texts, 2,100 explanations in 3 parts" in said
    assert joined(out) == plain
    assert manifest_of(out)["totals"]["shards"] == 3


def test_a_worker_that_is_killed_costs_nothing(run, corpus, plain, tmp_path):
    out, marker = tmp_path / "out", tmp_path / "killed"
    totals = explain_corpus(
        str(corpus),
        str(out),
        partial(deadly, run, marker),
        staff=Staff("local", workers=2, threads=1),
        options={"targets": "predicted"},
        shard_rows=1024,
        shown=False,
    )
    processes = {shard["process"] for shard in manifest_of(out)["shards"]}
    assert marker.exists() and int(marker.read_text()) not in processes and os.getpid() not in processes
    assert totals["texts"] == 2100 and joined(out) == plain
    assert not list(out.glob(".*"))  # no drafts of the dead process, no lock


def test_a_command_that_is_killed_goes_on(run, corpus, plain, tmp_path, capsys):
    out = tmp_path / "out"
    command = ["explain", run, "--file", corpus, "--out", out, *ENGINE]
    child = os.fork()  # torch is loaded already, and computes in one thread
    if child == 0:
        os._exit(main([str(word) for word in command]))
    limit = time.monotonic() + 120
    while not list(out.glob("_done/part-*")) and time.monotonic() < limit:
        time.sleep(0.005)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    noted = [json.loads(path.read_text())["files"][0]["name"] for path in out.glob("_done/part-*")]
    kept = {name: (out / name).stat().st_mtime_ns for name in noted}
    succeeds(capsys, *command)
    assert joined(out) == plain and manifest_of(out)
    assert noted and kept == {name: (out / name).stat().st_mtime_ns for name in noted}
    again = {path: path.stat().st_mtime_ns for path in out.glob("part-*")}
    succeeds(capsys, *command)  # complete: nothing is done twice
    assert again == {path: path.stat().st_mtime_ns for path in out.glob("part-*")}


def test_another_run_in_the_same_folder_is_refused(run, tmp_path, capsys):
    rows = [{"text": f"a film {number}"} for number in range(5)]
    file, out = write_rows(tmp_path / "a.jsonl", rows), tmp_path / "out"
    command = ["explain", run, "--file", file, "--out", out, *ENGINE]
    succeeds(capsys, *command)
    assert "another run (other options)" in fails(capsys, *command, "--budget", "50")
    assert "other shard_rows" in fails(capsys, *command[:-4], "--threads", "1")
    write_rows(file, [*rows, {"text": "one more"}])
    assert "other input" in fails(capsys, *command)
    file.write_text("")
    assert "a.jsonl: the file is empty" in fails(capsys, *command)


def test_parts_that_are_not_as_written_are_done_again(run, tmp_path, capsys):
    file = write_rows(tmp_path / "a.jsonl", [{"text": f"a film {number}"} for number in range(9)])
    out = tmp_path / "out"
    command = ["explain", run, "--file", file, "--out", out, "--engine", "local", "--shard_rows", "4"]
    _, _, said = commands.run(capsys, *command)
    assert "note: a worker holds about" in said and "with its model" in said and "; all 1, about" in said
    whole, first, last = joined(out), out / "part-00000.jsonl", out / "part-00002.jsonl"
    last.unlink()
    first.write_bytes(first.read_bytes()[:-9])
    _, _, said = commands.run(capsys, *command)
    assert f"note: {last} is missing; part-00002 is done again" in said
    assert f"{first} has " in said and "were written; part-00000 is done again" in said
    assert joined(out) == whole and manifest_of(out)
    first.write_bytes(first.read_bytes().swapcase())  # as many bytes
    _, _, said = commands.run(capsys, *command)
    assert "done again" not in said and joined(out) != whole
    _, _, said = commands.run(capsys, *command, "--verify")
    assert "part-00000.jsonl does not hold what was written" in said and said.count("done again") == 1
    assert joined(out) == whole and manifest_of(out)


def test_bad_rows_are_named_and_can_be_skipped(run, tmp_path, capsys):
    rows = [{"text": f"a film {number}"} for number in range(9)]
    rows[5] = {"text": 7}
    file, out = write_rows(tmp_path / "a.jsonl", rows), tmp_path / "out"
    command = ["explain", run, "--file", file, "--out", out, "--engine", "local", "--shard_rows", "4"]
    assert f"{file}:6: 'text' must be a string, not 7" in fails(capsys, *command)
    said = succeeds(capsys, *command, "--on_error", "skip")  # goes on after the first shard
    assert "8 texts" in said and "1 bad rows skipped" in said
    found = manifest_of(out)
    assert [(shard["texts"], shard["skipped"]) for shard in found["shards"]] == [(4, 0), (3, 1), (1, 0)]
    assert (out / "skipped.txt").read_text().startswith(f"{file}:6: ")


def test_parquet_parts_hold_the_same(run, tmp_path, capsys):
    import pyarrow.parquet as pq

    rows = [{"text": f"a film {number}", "label": "pos"} for number in range(600)]
    file = write_rows(tmp_path / "a.jsonl", rows)
    for parts in ("jsonl", "parquet"):
        command = ["explain", run, "--file", file, "--engine", "local", "--parts", parts]
        succeeds(capsys, *command, "--out", tmp_path / parts)
    lines = (tmp_path / "jsonl/part-00000.jsonl").read_text("utf-8").splitlines()
    expected = [Explanation.from_dict(json.loads(line)) for line in lines]
    found = pq.read_table(tmp_path / "parquet/part-00000.parquet").to_pylist()
    assert [Explanation.from_dict(row) for row in found] == expected


def test_addresses(run, tmp_path):
    import fsspec

    memory = fsspec.filesystem("memory")
    with memory.open("/corpus/a.jsonl", "wb") as file:
        file.write(b"".join(b'{"text": "a film %d"}\n' % number for number in range(10)))
    load = partial(unirex.load, run)
    for _ in range(2):  # the second time there is nothing to do
        totals = explain_corpus("memory://corpus/*.jsonl", "memory://out", load, shard_rows=4, shown=False)
        assert totals["rows"] == 10 and totals["shards"] == 3
    names = {path.rpartition("/")[2] for path in memory.ls("/out", detail=False)}
    assert names == {"manifest.json", *(f"part-0000{number}.jsonl" for number in range(3))}
    assert json.loads(memory.cat("/out/part-00001.jsonl").splitlines()[0])["id"].endswith("a.jsonl:5")
    memory.rm("/out", recursive=True)
    with pytest.raises(UserError, match=r"s3://bucket/a\.jsonl: cannot be opened here"):
        find_shards("s3://bucket/a.jsonl")


def test_options_without_effect_are_refused(run, corpus, tmp_path, capsys):
    usual = ["explain", run, "--file", corpus, "--out", tmp_path / "out"]
    assert "an address is for --engine" in fails(capsys, *usual[:4], "--out", "memory://out")
    assert "--verify is for --engine" in fails(capsys, *usual, "--verify")
    assert "--workers is for --engine" in fails(capsys, *usual, "--workers", "2")
    assert "--parts is for --engine" in fails(capsys, *usual, "--parts", "parquet")
    assert "--address is that of a Ray cluster" in fails(capsys, *usual, *ENGINE, "--address", "auto")
    assert "leave out --html" in fails(capsys, *usual, *ENGINE, "--html", tmp_path / "a.html")
    assert "unknown engine 'rya'; did you mean 'ray'" in fails(capsys, *usual, "--engine", "rya")
    assert "no such file" in fails(capsys, *usual[:2], "--file", tmp_path / "*.csv", *usual[4:], *ENGINE)
    assert "--shard_rows 0: give at least 1" in fails(
        capsys, *usual, "--engine", "local", "--shard_rows", "0"
    )


class Mortal:
    """A crew of one whose worker dies of some shards."""

    def __init__(self, fatal: set[int]) -> None:
        self.fatal, self.news, self.workers = fatal, [], 0

    def __enter__(self):
        return self

    def __exit__(self, *_):
        pass

    def start(self):
        self.workers += 1
        self.news.append(Ready(self.workers))

    def give(self, worker, shard):
        self.news.append(Died(worker) if shard.number in self.fatal else Done(worker, Outcome({"texts": 1})))

    def events(self, advanced):
        news, self.news = self.news, []
        return news


def test_memory_is_said_of_one_worker_and_of_all():
    gigabyte = 10**9
    said = Memory(gigabyte, gigabyte // 2).said(4)
    assert "a worker holds about 1.5 GB of memory at most (1.0 GB with its model, 0.5 GB for a batch)" in said
    assert said.endswith("all 4, about 6.0 GB")
    assert "2.0 GB of memory with its model" in Memory(2 * gigabyte, None).said(1)


def test_a_shard_that_kills_its_workers_is_given_up():
    shards, counts = [Shard(number, "", 1) for number in range(3)], []
    run = run_shards(shards, Mortal({1}), workers=1, advance=counts.append)
    assert next(run)[0].number == 0
    with pytest.raises(UserError, match=r"part-00001 .* failed 3 times"):
        list(run)
    assert len(list(run_shards(shards, Mortal(set()), workers=3, advance=counts.append))) == 3
    assert sum(counts) == 4
