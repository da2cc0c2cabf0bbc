"""Cells: run once, by processes that may be killed, and resumed."""

import json
import os
import signal
import time
from dataclasses import replace
from pathlib import Path

import pytest

import planted
from campaign.children import Child
from commands import write_rows
from tiny_studies import SETTINGS, cell, command, tidy
from unirex.cli import main
from unirex.errors import UserError
from unirex.experiments import cells as cells_module
from unirex.experiments import engine, workers
from unirex.experiments.cells import DONE, Cell, keep_failure, run_cell
from unirex.experiments.engine import run_cells
from unirex.experiments.progress import StudyProgress
from unirex.experiments.study import make_study, store_of
from unirex.files import HeldError


def test_two_workers_give_the_same_table(studied, place, tmp_path):
    expected = studied("efficiency")
    again = tmp_path / "efficiency"
    options = ["--workers", "2", "--rows", "AA (IG)", "SLM-FPO"]
    assert main(command("run", place, "efficiency", again, *options)) == 0

    def numbers(folder):
        return {
            (row["row"], row["measure.extractor_options.steps"], row["metric"]): row["value"]
            for row in tidy(folder)
            if row["metric"] != "seconds"
        }

    assert numbers(again) == numbers(expected)
    assert store_of(again) == tmp_path / "cells"


def test_killed_and_run_again(place, studied, tmp_path):
    """Between two cells, and inside one, which goes on after its last whole epoch."""
    rows = ("--rows", "AA (IG)", "SLM-FPO")
    between = command("run", place, "main", tmp_path / "between" / "main", *rows)
    killed(between, tmp_path / "between", f"cells/train-*/{DONE}")
    studied("main")  # whose cells the uninterrupted study takes
    whole = command("run", place, "main", place / "two-rows", *rows)
    assert main(whole) == main(between) == 0
    assert_same_report(place / "two-rows", tmp_path / "between" / "main", rows={"AA (IG)", "SLM-FPO"})

    long = ("--rows", "SLM-FPO", "--settings.training.epochs", "3", "--settings.training.max_batches", "2")
    inside = command("run", place, "main", tmp_path / "inside" / "main", *long)
    cell = "cells/train-slm-fpo-*"
    killed(inside, tmp_path / "inside", f"{cell}/run/checkpoints/last.safetensors")
    (metrics,) = (tmp_path / "inside").glob(f"{cell}/run/metrics.csv")
    assert not list((tmp_path / "inside").glob(f"{cell}/{DONE}"))
    before = metrics.read_text("utf-8")
    whole = command("run", place, "main", tmp_path / "whole" / "main", *long)
    assert main(whole) == main(inside) == 0
    assert metrics.read_text("utf-8").startswith(before)
    (log,) = (tmp_path / "inside").glob(f"{cell}/log.txt")
    assert " are done" in log.read_text("utf-8")
    assert_same_report(tmp_path / "whole" / "main", tmp_path / "inside" / "main", rows={"SLM-FPO"})


def killed(arguments: list[str], folder: Path, when: str) -> None:
    """Run a command in a process of its own that is killed as soon as there is such a file."""
    child, limit = Child(lambda: main(arguments)), time.monotonic() + 120
    while not list(folder.glob(when)) and time.monotonic() < limit:
        time.sleep(0.01)
    assert list(folder.glob(when))
    child.kill()
    assert child.wait(240).code in (-signal.SIGKILL, None)  # not by itself; None: after a long time


def assert_same_report(expected: Path, found: Path, *, rows: set[str]) -> None:
    def numbers(folder: Path) -> list[tuple[str, str, str]]:
        return [
            (row["row"], row["metric"], row["value"]) for row in tidy(folder) if row["metric"] != "seconds"
        ]

    assert numbers(found) == numbers(expected) and {name for name, *_ in numbers(found)} == rows
    tables = [path.name for path in (expected / "report").glob("*.md")]
    assert "table-planted.md" in tables
    for name in tables:
        assert (found / "report" / name).read_text("utf-8") == (expected / "report" / name).read_text("utf-8")


def trivial(cell: Cell, store: Path) -> None:
    if "bad" in cell.key:
        raise ValueError("went wrong")
    if "slow" in cell.key:
        _slow(store / "pid", store / "released")
    if "dead" in cell.key:
        while not (store / "pid").exists():  # until the other cell runs
            time.sleep(0.01)
        os.kill(os.getpid(), signal.SIGKILL)
    cell.folder(store).mkdir(parents=True, exist_ok=True)
    (cell.folder(store) / DONE).write_text(json.dumps({"seconds": 0}))


def _slow(pid: Path, alone: Path) -> None:
    """Goes on when asked to end, as a training does; the second time, say whether the first one is gone."""
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    if not pid.exists():
        pid.write_text(str(os.getpid()), "utf-8")
        time.sleep(600)
    try:
        os.kill(int(pid.read_text("utf-8")), 0)
    except ProcessLookupError:
        alone.touch()


def test_a_failure_is_recorded_and_the_others_go_on(tmp_path):
    cells = [cell("bad"), cell("needs", "bad"), cell("needs-too", "needs"), cell("good")]
    failures = run_cells(cells, tmp_path, run=trivial, shown=False)
    assert {failure.cell.key: failure.error for failure in failures} == {
        "bad": "went wrong",
        "needs": "needs train bad, which failed",
        "needs-too": "needs train needs, which failed",
    }
    assert cells[-1].state(tmp_path) == "done"


def test_failed_cells_run_again_when_asked(tmp_path):
    cells, repaired = [cell("bad"), cell("needs", "bad")], []

    def run(one: Cell, store: Path) -> None:
        repaired.append(one.key)
        one.folder(store).mkdir(parents=True, exist_ok=True)
        (one.folder(store) / DONE).write_text(json.dumps({"seconds": 0}))

    cells[0].folder(tmp_path).mkdir(parents=True)
    keep_failure(cells[0].folder(tmp_path), ValueError("went wrong"))
    assert len(run_cells(cells, tmp_path, run=run, shown=False)) == 2 and not repaired
    assert run_cells(cells, tmp_path, run=run, shown=False, retry_failed=True) == []
    assert repaired == ["bad", "needs"]


def ends(*_: object) -> None:
    os._exit(1)


def test_a_script_that_workers_cannot_read_fails_no_cell(tmp_path, monkeypatch):
    """As one that runs a study without `if __name__ == "__main__":`."""
    monkeypatch.setattr(workers, "become_worker", ends)
    with pytest.raises(UserError, match="put what it does below `if __name__ == '__main__':`"):
        run_cells([cell("good")], tmp_path, run=trivial, workers=2, threads=1, shown=False)
    assert cell("good").state(tmp_path) == "waiting"


def test_a_process_that_dies_costs_its_own_cell_only(tmp_path):
    """What ran beside it is ended at once, and runs again when it has let go of everything."""
    cells = [cell("dead"), cell("slow"), *(cell(f"good-{number}") for number in range(3))]
    failures = run_cells(cells, tmp_path, run=trivial, workers=2, threads=1, shown=False)
    assert [failure.cell.key for failure in failures] == ["dead"]
    assert [cell.state(tmp_path) for cell in cells] == ["failed", *["done"] * 4]
    assert cells[0].failure(tmp_path) == "its process was killed"
    assert (tmp_path / "released").exists()


def asked_to_end(cell: Cell, store: Path) -> None:
    if cell.key == "ended":
        raise SystemExit(143)  # what Lightning raises at SIGTERM
    trivial(cell, store)


def test_a_worker_that_is_asked_to_end_costs_its_cell_for_now(tmp_path):
    cells = [cell("ended"), *(cell(f"good-{number}") for number in range(3))]
    failures = run_cells(cells, tmp_path, run=asked_to_end, workers=2, threads=1, shown=False)
    assert [failure.error for failure in failures] == [
        "its process was asked to end; the same command goes on with it."
    ]
    assert [cell.state(tmp_path) for cell in cells] == ["waiting", *["done"] * 3]


def test_a_cell_of_another_command_is_waited_for_and_fails_as_there(tmp_path, monkeypatch, capsys):
    """It is said once, is not run here when it has failed there, and its time is that of the other."""
    monkeypatch.setattr(engine, "PATIENCE", 0.0)
    cells, tries = [cell("theirs"), cell("broken"), cell("own")], []

    def run(one: Cell, store: Path) -> None:
        tries.append(one.key)
        folder = one.folder(store)
        folder.mkdir(parents=True, exist_ok=True)
        if one.key != "own" and tries.count(one.key) <= 3:
            if tries.count(one.key) == 3 and one.key == "broken":  # meanwhile, there
                keep_failure(folder, ValueError("went wrong"))
            raise HeldError("another process is working there")
        if one.key == "own":
            (folder / DONE).write_text(json.dumps({"seconds": 0}))
        elif one.key == "theirs":
            (folder / DONE).write_text(json.dumps({"seconds": 5000}))

    failures = run_cells(cells, tmp_path, run=run)
    assert [(failure.cell.key, failure.error) for failure in failures] == [
        ("broken", "ValueError: went wrong")
    ]
    assert tries.count("broken") == 3
    said = capsys.readouterr().err
    assert said.count("training theirs") == said.count("waiting for theirs") == 1
    assert "trained theirs in 83 min" in said


def test_a_cell_whose_other_command_has_ended_is_said_to_run_here(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(engine, "PATIENCE", 0.0)
    tries = []

    def run(one: Cell, store: Path) -> None:
        tries.append(one.key)
        if len(tries) == 1:
            raise HeldError("another process is working there", store / "stage")
        trivial(one, store)

    assert run_cells([cell("left")], tmp_path, run=run) == []
    said = capsys.readouterr().err.splitlines()
    assert [line.partition(",")[0] for line in said if "cells" not in line] == [
        "training left",
        "waiting for left",
        "training left",
        "trained left in 0 s",
    ]


def test_the_seconds_of_a_training_are_those_of_all_its_parts(place, tmp_path, monkeypatch):
    one = make_study(
        "main", scale="tiny", rows=["AA (IG)"], settings=SETTINGS, data=[str(place / "planted.jsonl")]
    ).cells[0]
    monkeypatch.setitem(cells_module.WORK, "train", lambda cell, store: store / "run")
    folder = one.folder(tmp_path)
    folder.mkdir(parents=True)
    ended = time.time() - 1000
    (folder / "log.txt").touch()
    os.utime(folder / "log.txt", (ended, ended))
    (folder / "cell.json").write_text(json.dumps({"begun": ended - 100, "seconds_before": 20.0}))

    def waits(cell: Cell, store: Path) -> Path:
        about = json.loads((folder / "cell.json").read_text())
        (folder / "cell.json").write_text(json.dumps({**about, "begun": about["begun"] - 1000}))
        print("a stage is made by another cell")
        raise HeldError("another process is working there")

    with monkeypatch.context() as other:  # which is no part of it
        other.setitem(cells_module.WORK, "train", waits)
        for _ in range(2):
            with pytest.raises(HeldError):
                run_cell(one, tmp_path)
    run_cell(one, tmp_path)
    assert 120 <= one.result(tmp_path)["seconds"] < 150


def test_failed_cells_are_said(place, tmp_path, capsys):
    out = tmp_path / "study"
    arguments = command(
        "run", place, "main", out, "--rows", "UNIREX (DLM-P)", f"--settings.encoder={place / 'none'}"
    )
    assert main(arguments) == 1
    said = capsys.readouterr().out
    assert "1 cell failed; --retry-failed runs them again. Logs:\n  " in said
    assert "Not done: measure UNIREX (DLM-P), seed 0, planted: needs train UNIREX (DLM-P), seed 0" in said
    assert Path(said.splitlines()[-1].strip()).read_text("utf-8")
    assert main(arguments) == 1
    assert "would fail" not in capsys.readouterr().err  # it is not run again
    assert main(["experiment", "status", str(out)]) == 1
    said = capsys.readouterr().out
    assert "failed: train UNIREX (DLM-P), seed 0, planted: " in said and "Traceback" not in said
    assert main(["experiment", "plan", *arguments[2:], "--no_timing"]) == 1
    assert "would fail: train UNIREX (DLM-P), seed 0, planted: encoder '" in capsys.readouterr().out


def test_what_will_fail_is_said_at_the_beginning(place, tmp_path, capsys):
    rows = [
        {"text": item.text, "label": item.label, "split": split}
        for split, part in planted.planted((8, 4, 4)).items()
        for item in part
    ]
    data = str(write_rows(tmp_path / "unmarked.jsonl", rows))
    arguments = command("run", place, "main", tmp_path / "study", "--rows", "UNIREX (DLM-P)", "--data", data)
    assert main(arguments) == 1
    first = capsys.readouterr().err.splitlines()[0]
    assert first.startswith("would fail: train UNIREX (DLM-P), seed 0, unmarked: dataset 'unmarked' has no")
    long = command(
        "plan", place, "main", tmp_path / "study", "--rows", "AA (IG)", "--settings.max_length=9999"
    )
    assert main([*long, "--no_timing"]) == 1
    assert "planted: max_length 9999: this encoder takes" in capsys.readouterr().out


def test_progress_says_what_runs_and_how_long_it_takes(capsys):
    now = 0.0
    cells = [cell("a"), replace(cell("a"), work="measure", key="b", name="b"), cell("c"), cell("d")]
    work = {"a": 10.0, "b": 5.0, "c": 20.0, "d": 30.0}
    with StudyProgress(cells, done=["a"], work=work, clock=lambda: now) as progress:
        progress.started(cells[1])
        now = 5.0
        progress.finished(cells[1], 5.0)
        progress.started(cells[2])
        now = 15.0
        progress.failed(cells[2], "went wrong")
    assert capsys.readouterr().err.splitlines() == [
        "measuring b",
        "measured b in 5 s; 2 of 4 cells, about 50 s left",
        "training c",
        "failed: train c: went wrong; 3 of 4 cells, about 30 s left",
    ]
