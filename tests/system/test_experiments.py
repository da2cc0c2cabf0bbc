"""Studies: every experiment runs at its smallest scale, is resumed, shares cells and reports what it has."""

import csv
import json
import os
import re
import signal
import time
import zipfile
from dataclasses import replace
from pathlib import Path
from shutil import copytree

import pyarrow.parquet
import pytest

import planted
from campaign.children import Child
from commands import write_rows
from unirex.cli import main
from unirex.config import merge
from unirex.data.convert import convert
from unirex.errors import UserError
from unirex.experiments import cells as cells_module
from unirex.experiments import engine, workers
from unirex.experiments.cells import DONE, MEASURING, OF_SYSTEM, Cell, Data, keep_failure, run_cell
from unirex.experiments.definition import PARTS
from unirex.experiments.definition_file import as_definition, experiment_names, read_definition
from unirex.experiments.engine import run_cells
from unirex.experiments.passes import stage_passes, training_passes
from unirex.experiments.plan import plan, too_large
from unirex.experiments.progress import StudyProgress
from unirex.experiments.report import DRAWN, LIST
from unirex.experiments.results import StudyResults, with_interval
from unirex.experiments.saved import load_study
from unirex.experiments.study import make_study, store_of
from unirex.files import HeldError, locked
from unirex.methods.resolving import resolve

SETTINGS = {"training": {"batch_size": 8, "max_batches": 1, "learning_rate": 4e-3}, "pooling": "mean"}


@pytest.fixture(scope="module")
def place(tmp_path_factory, learner):
    """A folder with data, a tiny encoder, and the cells that all studies of this module share."""
    folder = tmp_path_factory.mktemp("studies")
    convert(planted.planted((24, 8, 8)), folder / "planted.jsonl")
    (folder / "encoder").symlink_to(learner)
    return folder


@pytest.fixture(scope="module")
def studied(place):
    """`studied("main")` is the folder of an experiment that was run at the scale `tiny`."""

    def folder(name: str) -> Path:
        out = place / name
        if not (out / "report.html").exists():
            rows = ["--rows", *ROWS[name]] if name in ROWS else []
            assert main(command("run", place, name, out, *rows)) == 0
        return out

    return folder


def command(action: str, place: Path, name: str, out: Path, *options: str) -> list[str]:
    settings = [f"--settings.encoder={place / 'encoder'}", "--settings.pooling=mean"]
    settings += ["--settings.training.batch_size=8", "--settings.training.max_batches=1"]
    data = ["--data", str(place / "planted.jsonl"), "--scale", "tiny", "--out", str(out)]
    threads = ["--threads", "1"] if action == "run" else []
    return ["experiment", action, name, *data, *settings, *threads, *options]


def tidy(folder: Path) -> list[dict[str, str]]:
    with (folder / "results.csv").open(encoding="utf-8") as file:
        return list(csv.DictReader(file))


ROWS = {  # those that teach something new; the others are methods and settings with tests of their own
    "main": ["AA (IG)", "L2E", "FRESH", "UNIREX (SLM-FP)", "SLM-FPO"],
    "ablation": ["AA-F (Rand)", "SLM-FP", "SLM-FP (Comp)", "SLM-FP (Linear)"],
    "efficiency": ["AA (IG)", "SLM-FPO"],
    "gold-efficiency": ["AA (IG)", "UNIREX (SLM-FP)"],
    "qualitative": ["A2R+P", "SLM-FPO"],
    "transfer": ["AA (IG)", "SLM-FPO"],
}


@pytest.mark.parametrize("name", experiment_names())
def test_every_experiment_runs(studied, name):
    folder = studied(name)
    study = load_study(folder)
    rows = tidy(folder)
    assert {row["row"] for row in rows} == {row.name for row in study.definition.rows}
    assert {"accuracy", "csd", "auprc"} <= {row["metric"] for row in rows}
    page = (folder / "report.html").read_text("utf-8")
    assert all(row.name in page for row in study.definition.rows)
    table = (folder / "report" / "table-planted.md").read_text("utf-8") if name != "qualitative" else ""
    for row in rows if table else ():
        if row["metric"] == "accuracy":  # every row of the table has its own numbers
            line = next(line for line in table.splitlines() if line.startswith(f"| {shown_name(row)} |"))
            assert f"{100 * float(row['value']):.1f}" in line


def shown_name(row: dict[str, str]) -> str:
    """The name of a row of results.csv in a table, with what varies."""
    varied = [(key, row[key]) for key in row if "." in key and row[key]]
    point = ", ".join(f"{key.rpartition('.')[2]} {value}" for key, value in varied)
    return (row["row"] + (f" ({point})" if point else "")).replace("*", r"\*")


def test_files_of_a_report(studied):
    assert {row["training.gold_fraction"] for row in tidy(studied("gold-efficiency"))} == {"10", "100", ""}
    for name, figure, texts in (
        ("main", "composite", ("L2E", "FRESH", "SLM-FPO")),
        ("main", "desiderata", ("faithfulness", "plausibility", "performance", "L2E", "SLM-FPO")),
        ("gold-efficiency", "auprc", ("AA (IG)", "UNIREX (SLM-FP)", "10", "100", "AUPRC ↑")),
        ("ablation", "intervals", ("AA-F (Rand)", "SLM-FP (Comp)", "CSD ↑", "AUPRC ↑")),
        ("efficiency", "cost", ("CSD ↑", "AUPRC ↑", "milliseconds a text", "AA (IG)", "SLM-FPO")),
        ("transfer", "intervals", ("AA (IG)", "SLM-FPO", "CSD ↑", "AUPRC ↑")),
    ):
        drawn = (studied(name) / "report" / f"{figure}-planted.svg").read_text("utf-8")
        missing = [text for text in texts if f">{text}<" not in drawn]
        assert not missing, re.findall(r">([^<>]+)</text>", drawn)[12:]
    gains = (studied("main") / "report" / "gains-planted.md").read_text("utf-8")
    assert "| CNRG ↑ |" in gains and all(f"| {name} |" in gains for name in ("L2E", "FRESH", "SLM-FPO"))
    cost = (studied("efficiency") / "report" / "table-planted.md").read_text("utf-8")
    assert "AA (IG) (steps 10)" in cost and "s/text" in cost
    marked = (studied("qualitative") / "report" / "examples-planted.tex").read_text("utf-8")
    assert r"\textbf{" in marked and "Gold &" in marked


def test_a_folder_called_like_an_experiment_does_not_hide_it(studied, place, monkeypatch, capsys):
    studied("efficiency")
    monkeypatch.chdir(place)
    assert main(command("plan", place, "efficiency", place / "efficiency", "--no_timing")) == 0
    assert main(["experiment", "plan", "efficiency", "--scale", "tiny", "--no_timing"]) == 0
    assert main(["experiment", "run", "efficiency"]) == 2
    assert "`--out studies/efficiency` begins a new one." in capsys.readouterr().err


def test_a_study_goes_on_from_another_folder(studied, place, tmp_path, monkeypatch, capsys):
    studied("main")
    monkeypatch.chdir(place)
    asked = command("run", place, "main", place / "moved", "--rows", "AA (IG)")
    asked[asked.index("--data") + 1] = "planted.jsonl"
    asked = [word.replace(f"{place}/encoder", "encoder") for word in asked]
    assert main(asked) == 0
    monkeypatch.chdir(tmp_path)
    assert main(["experiment", "run", str(place / "moved")]) == 0
    assert "1 of 1 measurement finished" in capsys.readouterr().out


def test_a_training_that_was_killed_goes_on_from_another_folder(place, tmp_path, monkeypatch):
    """Its cell names data and encoder by whole paths, whatever was typed where."""
    monkeypatch.chdir(place)
    settings = {**SETTINGS, "encoder": "encoder"}
    options = {"rows": ["AA (IG)"], "settings": settings, "scale": "tiny", "data": ["planted.jsonl"]}
    here = make_study("main", **options)
    here.save(tmp_path / "study")
    keys = [(cell.key, cell.content) for cell in here.cells]
    assert keys[0][1]["config"]["encoder"] == str(place / "encoder")
    assert keys[0][1]["data"]["source"] == str(place / "planted.jsonl")
    monkeypatch.chdir(tmp_path)
    assert [(cell.key, cell.content) for cell in load_study(tmp_path / "study").cells] == keys


def test_a_folder_keeps_its_experiment_and_only_files_of_its_last_report(studied, place, capsys):
    studied("main")
    out = place / "kept"
    assert main(command("run", place, "main", out, "--rows", "AA (IG)", "SLM-FPO")) == 0
    mine, other, written = (out / "report" / name for name in ("table-mine.md", "table-other.md", LIST))
    mine.touch(), other.touch()
    written.write_text(written.read_text("utf-8") + f"\n{other.name}", "utf-8")  # as of another dataset
    assert main(command("run", place, "main", out, "--rows", "AA (IG)")) == 0
    assert mine.exists() and not other.exists() and (out / "report" / "table-planted.md").exists()
    assert main(command("run", place, "efficiency", out)) == 2
    assert f"{out}: holds a study of main; choose another --out." in capsys.readouterr().err


def test_cells_are_shared(studied, place):
    studied("main")
    trained = [path.name for path in (place / "cells").glob("train-vanilla-*")]
    assert len(trained) == 1  # for every row and every study
    study = load_study(studied("transfer"))
    assert study.states(place / "cells") == {"done": len(study.cells)}


def test_rows_under_several_presets(place):
    study = make_study(
        "main",
        scale="tiny",
        data=[str(place / "planted.jsonl")],
        rows=["UNIREX (AA-FP)"],
        settings={**SETTINGS, "encoder": str(place / "encoder")},
        presets=["default", "parity"],
    )
    names = [number.variant.name for number in study.measured]
    assert names == ["UNIREX (AA-FP)", "UNIREX (AA-FP) [parity]"]
    usual, parity = (number.trained[-1].content["config"] for number in study.measured)
    assert usual["training"]["dropout"] and not parity["training"]["dropout"]


def test_rows_under_each_choice_of_a_preset(place):
    def names(*rows, presets):
        study = make_study(
            "main",
            scale="tiny",
            data=[str(place / "planted.jsonl")],
            rows=list(rows),
            settings={**SETTINGS, "encoder": str(place / "encoder"), "pooling": "mean"},
            presets=presets,
        )
        return [number.variant.name for number in study.measured]

    common = ["separators", "training.dropout", "training.optimizer"]  # pooling is chosen above
    assert names("UNIREX (SLM-FP)", presets=["default", "parity:each"]) == [
        "UNIREX (SLM-FP)",
        *(f"UNIREX (SLM-FP) [parity:{choice}]" for choice in common),
    ]
    found = names("SGT+P", "L2E", presets=["parity:each"])
    own = {
        name.partition("parity:")[2] for name in found if not name.endswith(tuple(f"{c}]" for c in common))
    }
    assert own == {"extractor_options.create_graph]", "objectives.sufficiency.class_mean]", "l2e.variant]"}
    with pytest.raises(UserError, match=r"--preset parity:l2e\.variant: changes nothing in these rows"):
        names("UNIREX (SLM-FP)", presets=["parity:l2e.variant"])
    for wrong, said in (
        ("parity:dropuot", "unknown choice of preset parity 'dropuot'"),
        ("parity:", "unknown choice of preset parity ''"),
        ("default:each", "'default' makes no choices of its own"),
    ):
        with pytest.raises(UserError, match=said):
            names("UNIREX (SLM-FP)", presets=[wrong])


def test_presets_that_read_texts_differently_stand_in_one_table(place, tmp_path, monkeypatch, capsys):
    (tmp_path / "sst").mkdir()
    for split, part in planted.planted((24, 8, 8)).items():
        rows = [
            {
                "text": item.text.title(),
                "classification": item.label,
                "rationale": [1.0] * len(item.text.split()),
            }
            for item in part
        ]
        write_rows(tmp_path / "sst" / f"{split}.jsonl", rows)
    options = ["--data", "sst", "--root", str(tmp_path), "--preset", "default", "parity", "--rows", "AA (IG)"]
    asked = command("run", place, "main", tmp_path / "study", *options)
    del asked[asked.index("--data") : asked.index("--data") + 2]
    assert main(asked) == 0
    said = capsys.readouterr().out
    assert "AA (IG) [parity]" in said and "8 of 8 texts are read differently in some rows." in said
    published = [line for line in said.splitlines() if "AA (IG)" in line and "93.8 ± 0.5" in line]
    assert len(published) == 2  # beside each of the two

    def other(preset, data):  # as `sample: first_n` of Yelp
        return replace(data, source="demo") if preset == "parity" else data

    monkeypatch.setattr("unirex.experiments.study.read_by", other)
    study = make_study(
        "main", scale="tiny", data=[str(place / "planted.jsonl")], presets=["default", "parity"]
    )
    with pytest.raises(UserError, match="take other examples of planted to measure on"):
        _ = study.measured


def test_equal_settings_are_one_cell_and_others_are_not(place):
    def keys(**settings):
        study = make_study(
            "main",
            scale="tiny",
            data=[str(place / "planted.jsonl")],
            rows=["AA (IG)", "UNIREX (SLM-FP)"],
            settings={**SETTINGS, "encoder": str(place / "encoder"), **settings},
        )
        return {cell.name: cell.key for cell in study.cells if cell.work == "train"}

    usual = keys()
    assert keys() == usual
    changed = keys(objectives={"plausibility": {"weight": 0.7}})
    assert {name for name in usual if usual[name] != changed[name]} == {"UNIREX (SLM-FP), seed 0, planted"}


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
    out = tmp_path / "main"
    arguments = command("run", place, "main", out, "--rows", "AA (IG)", "SLM-FPO")
    child = Child(lambda: main(arguments))
    limit = time.monotonic() + 120
    while not list((tmp_path / "cells").glob(f"train-*/{DONE}")) and time.monotonic() < limit:
        time.sleep(0.05)
    assert list((tmp_path / "cells").glob(f"train-*/{DONE}"))
    child.kill()
    assert child.wait(240).code in (-signal.SIGKILL, None)  # not by itself; None: after a long time
    assert main(arguments) == 0
    studied("main")  # whose cells the uninterrupted study takes
    whole = place / "two-rows"
    assert main(command("run", place, "main", whole, "--rows", "AA (IG)", "SLM-FPO")) == 0

    def numbers(folder):
        return [
            (row["row"], row["metric"], row["value"]) for row in tidy(folder) if row["metric"] != "seconds"
        ]

    assert numbers(out) == numbers(whole)
    assert {name for name, *_ in numbers(out)} == {"AA (IG)", "SLM-FPO"}
    tables = [path.name for path in (whole / "report").glob("*.md")]
    assert "table-planted.md" in tables
    for name in tables:
        assert (out / "report" / name).read_text("utf-8") == (whole / "report" / name).read_text("utf-8")


def cell(key: str, *after: str) -> Cell:
    return Cell("train", key, {}, key, after)


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


def test_the_seconds_of_a_training_are_those_of_all_its_parts(place, tmp_path, monkeypatch):
    one = make_study(
        "main", scale="tiny", rows=["AA (IG)"], settings=SETTINGS, data=[str(place / "planted.jsonl")]
    ).cells[0]
    monkeypatch.setitem(cells_module.WORK, "train", lambda cell, store: store / "run")
    folder = one.folder(tmp_path)
    folder.mkdir(parents=True)
    (folder / "log.txt").touch()
    ended = (folder / "log.txt").stat().st_mtime
    (folder / "cell.json").write_text(json.dumps({"begun": ended - 100, "seconds_before": 20.0}))
    run_cell(one, tmp_path)
    assert 120 <= one.result(tmp_path)["seconds"] < 150


def test_a_study_is_not_lost_to_another_one(studied, place, tmp_path, monkeypatch, capsys):
    """The same one by other words, or with more rows, goes on; others need a folder that is named."""
    studied("main")
    monkeypatch.chdir(tmp_path)
    asked = command("run", place, "main", Path("-"), "--rows", "AA (IG)", "SLM-FPO")
    del asked[asked.index("--out") : asked.index("--out") + 2]
    (tmp_path / "studies").mkdir()
    for name, there in (
        ("studies/cells", "cells"),
        ("planted.jsonl", "planted.jsonl"),
        ("encoder", "encoder"),
    ):
        (tmp_path / name).symlink_to(place / there)
    relative = [word.replace(f"{place}/", "") for word in asked]
    assert main(relative) == 0
    assert main(["experiment", "run", "studies/main"]) == 0
    assert main(asked) == 0 and main(relative) == 0
    more, fewer = list(asked), [word for word in asked if word != "SLM-FPO"]
    more.insert(more.index("SLM-FPO"), "L2E")
    assert main(more) == 0
    capsys.readouterr()
    assert main(fewer) == 2
    assert "studies/main: holds this experiment with other rows, settings or data; go on with it by" in (
        capsys.readouterr().err
    )
    assert main([*fewer, "--out", "studies/main"]) == 0
    assert "with other rows, settings or data: replaced; what is measured is kept" in capsys.readouterr().err


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


def test_status_fills_up_and_says_what_runs(studied, place, tmp_path, capsys):
    folder = studied("main")
    capsys.readouterr()  # what running it said
    assert main(["experiment", "status", str(folder)]) == 0
    first, *rows, last = capsys.readouterr().out.splitlines()
    assert first.split()[:4] == ["done", "running", "failed", "waiting"] and "CSD ↑" in first
    assert rows[0].startswith("AA (IG)") and rows[0].split()[2] == "1" and last.endswith(" cells are done.")
    study = load_study(folder)
    study.save(tmp_path / "copy")
    training = study.measured[-1].trained[-1].folder(tmp_path / "cells")
    training.mkdir(parents=True)
    (training / "log.txt").write_text("epoch 1\ntraining: 3 of 9\n", "utf-8")
    with locked(training):
        assert main(["experiment", "status", str(tmp_path / "copy")]) == 0
    said = capsys.readouterr().out
    assert "running: train SLM-FPO, seed 0, planted: training: 3 of 9" in said
    assert next(line for line in said.splitlines() if line.startswith("SLM-FPO")).split() == ["SLM-FPO", "1"]


def test_finished_cells_can_be_copied(studied, tmp_path):
    """Cells are named by content, so that those of another machine count as soon as they are there."""
    folder = studied("efficiency")
    study = load_study(folder)
    for cell in study.cells:
        if cell.work == "measure":
            copytree(cell.folder(store_of(folder)), cell.folder(tmp_path / "cells"))
    study.save(tmp_path / "efficiency")
    assert main(["experiment", "report", str(tmp_path / "efficiency")]) == 0
    assert tidy(tmp_path / "efficiency") == tidy(folder)


def test_packs_give_the_same_report_without_texts(studied, place, tmp_path, capsys):
    """Two packs that have a row in common, beside the study that has all rows."""
    parts = {"a": ["SLM-FPO", "FRESH", "AA (IG)"], "b": ["AA (IG)", "L2E", "UNIREX (SLM-FP)"]}
    whole = studied("main")
    for name, rows in parts.items():
        assert main(command("run", place, "main", place / name, "--rows", *rows)) == 0
        assert main(["experiment", "pack", str(place / name), str(tmp_path / f"{name}.zip")]) == 0
    packs = [str(tmp_path / f"{name}.zip") for name in parts]
    capsys.readouterr()
    assert main(["experiment", "report", *packs, "--out", str(tmp_path / "both")]) == 0
    said = capsys.readouterr().out
    assert "5 of 5 measurements finished." in said
    assert tidy(tmp_path / "both") == tidy(whole)
    tables = sorted(path.name for path in (whole / "report").glob("*.[mtc]*"))
    assert tables and sorted(path.name for path in (tmp_path / "both/report").glob("*.[mtc]*")) == tables
    for name in tables:
        assert (tmp_path / "both/report" / name).read_text() == (whole / "report" / name).read_text(), name
    with zipfile.ZipFile(packs[0]) as pack:
        content = b"".join(pack.read(name) for name in pack.namelist())
    examples = Data(str(place / "planted.jsonl")).load()["test"]
    hidden = [part for example in examples for part in (example.id, *example.segments)]
    assert not [part for part in (*hidden, str(place)) if part.encode() in content]
    mixed = [packs[0], str(place / "b")]  # a study takes part as its pack
    assert main(["experiment", "report", *mixed]) == 0
    assert said.startswith(capsys.readouterr().out)


def test_examples_need_texts(studied, tmp_path, capsys):
    assert main(["experiment", "pack", str(studied("qualitative")), str(tmp_path / "q.zip")]) == 0
    assert main(["experiment", "report", str(tmp_path / "q.zip"), "--html", str(tmp_path / "q.html")]) == 0
    assert "`examples` is left out" in capsys.readouterr().out
    assert "`examples` is left out" in (tmp_path / "q.html").read_text("utf-8")


def repacked(source: Path, target: Path, **changed: bytes) -> str:
    """A pack with other contents of some of its files, by the first part of their names."""
    with zipfile.ZipFile(source) as pack, zipfile.ZipFile(target, "w") as other:
        for name in pack.namelist():
            other.writestr(name, changed.get(name.split("/")[0].removesuffix(".json"), pack.read(name)))
    return str(target)


def test_a_pack_of_another_experiment_gives_what_is_missing(studied, tmp_path, capsys):
    """SLM-FP with all its gold is a row of `main`, too, measured there under more removals."""
    whole, gold, other = studied("gold-efficiency"), tmp_path / "gold.zip", tmp_path / "main.zip"
    assert main(["experiment", "pack", str(whole), str(gold)]) == 0
    assert main(["experiment", "pack", str(studied("main")), str(other)]) == 0
    with zipfile.ZipFile(gold) as pack:
        about = json.loads(pack.read("pack.json"))
    about["measurements"] = [
        part for part in about["measurements"] if part["point"].get("training.gold_fraction") == 10
    ]  # without those of the plain classifier and of all the gold
    less = repacked(gold, tmp_path / "less.zip", pack=json.dumps(about).encode())
    capsys.readouterr()
    assert main(["experiment", "report", less]) == 0
    assert "Not yet, or not with all seeds and datasets: AA (IG), UNIREX (SLM-FP) (gold" in (
        " ".join(capsys.readouterr().out.split())
    )
    twice = [str(other), repacked(other, tmp_path / "again.zip")]
    assert main(["experiment", "report", less, *twice]) == 2
    assert "again.zip: is of experiment main and has nothing that is missing" in capsys.readouterr().err
    assert main(["experiment", "report", less, str(other), "--out", str(tmp_path / "both")]) == 0
    assert "3 of 3 measurements finished." in capsys.readouterr().out

    def numbers(folder):
        measured = [row for row in tidy(folder) if row["metric"] != "seconds"]
        return [[row[key] for key in row if key != "cell"] for row in measured]

    assert numbers(tmp_path / "both") == numbers(whole)
    assert main(["experiment", "report", str(gold), str(other)]) == 2
    said = capsys.readouterr().err
    assert "is of experiment main and has nothing that is missing in" in said and said.count("\n") == 1


def test_wrong_packs_are_named(studied, tmp_path, capsys):
    good = tmp_path / "good.zip"
    assert main(["experiment", "pack", str(studied("qualitative")), str(good)]) == 0
    assert main(["experiment", "pack", str(studied("efficiency")), str(tmp_path / "other.zip")]) == 0
    (tmp_path / "cut.zip").write_bytes(good.read_bytes()[:900])
    with zipfile.ZipFile(good) as pack:
        about = json.loads(pack.read("pack.json"))
    newer = json.dumps(about | {"format": 9}).encode()
    changed = json.loads(json.dumps(about))
    changed["measurements"][0]["config"]["seed"] = 1
    changed["measurements"][0]["config"]["pooling"] = "cls"
    changed["measurements"][0]["seed"] = 1
    capsys.readouterr()  # what packing said
    for places, message in (
        (["none.zip"], "none.zip: no such pack"),
        (["cut.zip"], "cut.zip: not a pack of a study"),
        ([repacked(good, tmp_path / "m.zip", metrics=b"{}")], "is not as it was packed"),
        ([repacked(good, tmp_path / "f.zip", pack=newer)], "format 9; this version reads 1"),
        ([repacked(good, tmp_path / "d.zip", pack=b"{}")], "damaged, or no pack of a study"),
        (["good.zip", "other.zip"], "is of experiment efficiency"),
        (
            ["good.zip", repacked(good, tmp_path / "s.zip", pack=json.dumps(changed).encode())],
            "has another pooling than",
        ),
    ):
        assert main(["experiment", "report", *(str(tmp_path / place) for place in places)]) == 2
        said = capsys.readouterr().err
        assert message in said and said.count("\n") == 1


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


def test_plan(place, studied, capsys):
    folder = studied("main")
    study = load_study(folder)
    planned = plan(study, store_of(folder))
    assert all(item.state == "done" and item.seconds is None for item in planned)
    wanted = ("--rows", "AA (IG)", "--workers")
    assert main(command("plan", place, "main", folder, *wanted, "2", "--threads", "1")) == 0
    assert "about 0 s here with 2 workers of 1 thread\n" in capsys.readouterr().out
    assert main(command("plan", place, "main", folder, *wanted, "0")) == 2
    assert "--workers 0: give at least 1." in capsys.readouterr().err


def test_what_cells_need_is_said_before_and_asked_of_a_cluster(place, tmp_path, monkeypatch, capsys):
    """From settings and the configuration of the encoder: no weights are read."""
    monkeypatch.setattr("unirex.models.encoders.load_encoder", lambda *_, **__: pytest.fail("weights"))
    seen, given = {}, []
    monkeypatch.setattr("unirex.experiments.engine.run_cells", lambda cells, *_, **__: given.extend(cells))
    for name, training in {
        "small": {},
        "large": {"batch_size": 64_000},
        "two": {"devices": 2, "strategy": "ddp"},
        "gpu": {"accelerator": "gpu", "devices": 2},
    }.items():
        settings = merge(SETTINGS, {"encoder": str(place / "encoder"), "training": training})
        options = {"scale": "tiny", "data": [str(place / "planted.jsonl")], "settings": settings}
        study = make_study("main", rows=["UNIREX (SLM-FP)"], **options)
        study.run(tmp_path / name, pool=object())
        seen[name], measured = (cell.needs for cell in given[-2:])
        assert 0.6e9 < measured.memory < 0.7e9 and measured.gpus == 0
    assert 0.6e9 < seen["small"].memory < 0.7e9 < seen["large"].memory
    large = merge(SETTINGS, {"encoder": str(place / "encoder"), "training": {"batch_size": 64_000}})
    study = make_study("main", rows=["UNIREX (SLM-FP)"], **{**options, "settings": large})
    monkeypatch.setattr("unirex.models.plan.memory", lambda device: seen["large"].memory - 1)
    assert [line.split(":")[0] for line in too_large(study, tmp_path / "cells")] == [
        "train UNIREX (SLM-FP), seed 0, planted"
    ]
    assert seen["two"].cores == 2 and 1.2e9 < seen["two"].memory < 1.4e9
    assert seen["gpu"].gpus == 2 and not seen["two"].gpus
    asked = "--settings.training.accelerator=gpu"
    assert main(command("plan", place, "main", tmp_path, "--no_timing", "--rows", "AA (IG)", asked)) == 0
    said = capsys.readouterr().out
    assert "the largest training holds about 0.6 GB of memory, and needs 1 GPU\n" in said
    assert "the largest measurement holds about 0.6 GB of memory\n" in said


def test_passes():
    """A text is seen once an epoch; one budget costs one more pass, and an attribution two thirds a point."""
    sizes = {"train": 100, "dev": 10}
    assert stage_passes("l2e", resolve("l2e", None, {}), sizes) == pytest.approx(100 * (1 / 3 + 2))
    fresh = {name: stage_passes(name, resolve(name, None, {}), sizes) for name in ("fresh", "fresh-p")}
    assert fresh["fresh-p"] == pytest.approx(110 * 2 / 3)  # the tagger is a second encoder
    assert fresh["fresh"] == pytest.approx(110 * 2 / 3 + 100 * (1 / 3 + 2))
    vanilla = resolve("vanilla", None, {"training": {"epochs": 2}})
    assert training_passes(vanilla, 100) == 200
    assert training_passes(resolve("slm-fp", None, {"training": {"epochs": 1}}), 100) == 600
    little = {"epochs": 1, "gold_fraction": 10, "batch_size": 32}  # 90 others, 16 to a batch: 6 batches
    assert training_passes(resolve("slm-fp", None, {"training": little}), 100) == 6 * 32 * 6
    assert (
        training_passes(resolve("slm-fp", None, {"training": little | {"max_batches": 2}}), 100) == 2 * 32 * 6
    )
    assert (
        training_passes(resolve("aa-f", None, {"budgets_per_step": 1, "training": {"epochs": 1}}), 100) == 400
    )


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ({"rows": {}}, "mine.yaml: has no rows"),
        ({"rows": {"a": {"method": "slm-fp", "sed": 1}}}, "mine.yaml: row a: unknown key 'sed'"),
        ({"rows": {"a": {"settings": {}}}}, "mine.yaml: row a needs a method"),
        (
            {"rows": {"a": {"method": "slm-fp"}}, "vary": {"stride": 3}},
            "vary.stride is a list of values, not",
        ),
        (
            {"rows": {"a": {"method": "slm-fp"}}, "vary": {"seed": [1]}},
            "vary.seed: every training has a seed",
        ),
        ({"rows": {"a": {"method": "slm-fp", "settings": {"seed": 1}}}}, "row a: settings.seed: every"),
        ({"rows": {"a": {"method": "slm-fp"}}, "seeds": [-1]}, "seeds are whole numbers from 0 on, not -1"),
        (
            {"rows": {"a": {"method": "slm-fp"}}, "sedes": [1]},
            "mine.yaml: unknown key 'sedes'; did you mean 'seeds'",
        ),
    ],
)
def test_a_wrong_file_is_named(content, message):
    with pytest.raises(UserError, match=message.replace("(", r"\(")):
        as_definition(content, "mine", place="mine.yaml")


def test_settings_of_a_file_go_over_those_of_a_scale():
    rows = {
        "rows": {"a": {"method": "slm-fp"}},
        "settings": {"training": {"epochs": 3}},
        "seeds": [0, 1, 2, 3],
    }
    own = {**rows, "scales": {"small": {"settings": {"training": {"epochs": 5}}}}}
    small = as_definition(rows, "mine", place="mine.yaml").at_scale("small")
    assert small.settings["training"]["epochs"] == 3 and small.seeds == [0, 1, 2, 3]
    assert small.settings["encoder"] == "minilm"
    assert as_definition(own, "mine", place="mine.yaml").at_scale("small").settings["training"]["epochs"] == 5


def test_data_seeds_and_measuring_of_ones_own_file_go_over_those_of_the_scales_of_the_package(tmp_path):
    rows = "rows: {a: {method: slm-fp}}\ndata: [mine.jsonl]\nseeds: [5, 6]\nmeasure: {number: 40}\n"
    file = tmp_path / "mine.yaml"
    file.write_text(rows, "utf-8")
    tiny = read_definition(str(file)).at_scale("tiny")
    assert (tiny.data, tiny.seeds) == (["mine.jsonl"], [5, 6])
    assert tiny.measure == {"number": 40, "draws": 1} and tiny.settings["training"]["max_batches"] == 2
    file.write_text(f"{rows}scales: {{tiny: {{seeds: [9]}}}}", "utf-8")
    assert read_definition(str(file)).at_scale("tiny").seeds == [9]


def test_studies_and_packs_are_found_by_short_names(studied, place, tmp_path, monkeypatch, capsys):
    folder = studied("efficiency")
    (tmp_path / "studies").mkdir()
    for name in ("efficiency", "cells"):
        (tmp_path / "studies" / name).symlink_to(store_of(folder).parent / name)
    monkeypatch.chdir(tmp_path)
    for asked in (
        ["status", "efficiency"],
        ["report", "efficiency", "--out", "again"],
        ["studies/efficiency"],
    ):
        assert main(["experiment", *asked]) == 0
    assert main(["experiment", "pack", "efficiency", "numbers"]) == 0
    assert (tmp_path / "numbers.zip").is_file()
    capsys.readouterr()
    for asked, said in (
        (["status", "numbers.zip"], "a pack, if it is one; `unirex experiment report numbers.zip` shows it"),
        (["report", "numbers.zip", "--html", "again"], "--html again: is a folder; give a file."),
        (["report", "efficiency", "--html", "again"], "--html again: is a folder; give a file."),
    ):
        assert main(["experiment", *asked]) == 2
        assert said in capsys.readouterr().err


def test_mistakes_are_found_before_anything_is_trained(place, tmp_path, capsys):
    for content, options, message in (
        ("report: [tabel]", [], "report: unknown part 'tabel'; did you mean 'table'"),
        ("seeds: [a]", [], "seeds are whole numbers from 0 on, not 'a'"),
        ("", ["--measure.number", "0"], "row A: measure: number 0: give a whole number, at least 1."),
        ("measure: {budgets: 5}", [], "row A: measure: budgets 5: give a list"),
        ("measure: {drawz: 3}", [], "row A: unknown option of measure 'drawz'; did you mean 'draws'"),
        ("measure: {extractor: igg}", [], "row A: unknown extractor 'igg'"),
        ("", ["--measure.target", "glod"], "row A: unknown value of target 'glod'; did you mean 'gold'?"),
        ("measure: {beside: [delet]}", [], "row A: unknown value of beside 'delet'; did you mean 'delete'?"),
        ("measure: {removal: [delete]}", [], "row A: unknown value of removal '['delete']'"),
        ("measure: {beside: [[delete]]}", [], "row A: unknown value of beside '['delete']'"),
        ("measure: {budgets: [true]}", [], "row A: budgets [True]: give per cents"),
        ("measure: {dial: 2}", [], "row A: dial 2: give a number from 0"),
        ("measure: {budgets: [ten]}", [], "row A: budgets ['ten']: give per cents"),
        ("measure: {dial: 0.5}", [], "row A: measure: dial 0.5: slm-fp has one score a token"),
        ("measure: {extractor_options: {steps: 5}}", [], "row A: measure: extractor_options are for an"),
        ("vary: {training.epochs: [1, 1]}", [], "vary.training.epochs: 1 is there twice"),
        (
            "vary: {stride: [9]}",
            ["--settings.stride", "8"],
            "--settings.stride: the row A .stride 9. has its",
        ),
        ("scales: {quick: {vary: {stride: [9]}}}", [], "scale quick: vary: unknown setting 'stride'"),
        ("", ["--settings.seed", "2"], "--settings.seed 2: seeds of trainings are --seeds"),
        ("", ["--seeds", "-1"], "--seeds -1: seeds are whole numbers from 0 on"),
        ("seeds: []", [], "seeds is an empty list"),
        ("presets: []", [], "presets is an empty list"),
        ("texts: [7]", [], "texts: no example of planted .test. has the id '7'"),
        ("measured_on: {demo: {lables: {a: b}}}", [], "measured_on.demo: unknown key 'lables'"),
        ("measured_on: {demo: {labels: {a: [b]}}}", [], "measured_on.demo.labels.a is a label, not"),
        (
            "measured_on: {demo: {labels: {positve: pos}}}",
            [],
            "unknown label 'positve'; did you mean 'positive'",
        ),
        (
            "measured_on: {demo: {}}",
            [],
            "measured_on.demo: planted has no label '.*'; say which of 'neg', 'pos'",
        ),
        ("about: 3", [], "about is text, not 3"),
        ("data: [3]", [], "data: 3 is no name; put it in quotes"),
        ("vary: {3: [1]}", [], "vary: 3 is no name; put it in quotes"),
        ("  B: {method: 3}", [], "row B: method is text, not 3"),
        ("  B: {method: aa-f, constant: maybe}", [], "row B: constant is true or false, not 'maybe'"),
        ("  1: {method: aa-f}", [], "rows: 1 is no name; put it in quotes"),
        ("", ["--split", "tset"], "row A: .* has no split 'tset'"),
        ("", ["--workers", "0"], "--workers 0: give at least 1"),
    ):
        file = tmp_path / "mine.yaml"
        file.write_text(f"rows:\n  A: {{method: slm-fp}}\n{content}\n", "utf-8")
        assert main(command("run", place, str(file), tmp_path / "mine", *options)) == 2
        assert re.search(message.replace("[", r"\["), capsys.readouterr().err)
        assert not (tmp_path / "mine").exists()


def test_names_that_are_written_twice_agree():
    from unirex.evaluation.run import EvaluationOptions  # loads torch, which workers of this module need not

    assert tuple(DRAWN) == PARTS
    assert set(MEASURING) == {*OF_SYSTEM, "number", *EvaluationOptions.__annotations__}


def test_what_would_be_mixed_up_is_refused(place, tmp_path, capsys):
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "planted.jsonl").write_bytes((place / "planted.jsonl").read_bytes())
    twice = [str(tmp_path / name / "planted.jsonl") for name in ("a", "b")]
    with pytest.raises(UserError, match="2 datasets are called 'planted'"):
        make_study("main", scale="tiny", data=twice)
    with pytest.raises(UserError, match="unknown label 'nege'; did you mean 'neg'"):
        Data(twice[0], labels=(("nege", "bad"),)).examples("test")
    make_study("main", scale="tiny", data=twice[:1]).save(tmp_path / "study")
    assert main(["experiment", "run", str(tmp_path / "study"), "--seeds", "1"]) == 2
    assert "--seeds: " in capsys.readouterr().err


def test_options_of_an_extractor_reach_the_measurement(place):
    def options(**settings):
        study = make_study(
            "main", scale="tiny", data=[str(place / "planted.jsonl")], rows=["AA (IG)"], settings=settings
        )
        return study.measured[0].cell.content["options"]["extractor_options"]

    assert options(extractor_options={"steps": 50})["steps"] == 50 and "steps" not in options()


def test_a_file_of_ones_own(place, tmp_path, capsys):
    """Also on data whose labels others stand for; `experiment FILE` is short for `experiment run FILE`."""
    rows = (place / "planted.jsonl").read_text("utf-8").replace('"neg"', '"rude"').replace('"pos"', '"fine"')
    (tmp_path / "tweets.jsonl").write_text(rows, "utf-8")
    measured = f"measured_on:\n  {tmp_path / 'tweets.jsonl'}: {{labels: {{rude: neg, fine: pos}}}}\n"
    measured += f"  {place / 'planted.jsonl'}: {{}}\n"
    file = tmp_path / "mine.yaml"
    file.write_text("rows:\n  Plain: {method: vanilla}\nreport: [table, intervals]\n" + measured, "utf-8")
    asked = command("run", place, str(file), tmp_path / "mine")
    assert main([asked[0], *asked[2:]]) == 0
    said = capsys.readouterr().out
    assert "trained on planted, measured on tweets" in said and "Plain" in said
    values = {
        (row["measured_on"], row["metric"]): row["value"] for row in tidy(tmp_path / "mine")
    }  # the same texts, other words for their labels
    assert values["tweets", "csd"] == values["planted", "csd"]
    assert values["tweets", "accuracy"] == values["planted", "accuracy"]
    for name in ("table-planted-tweets", "table-planted"):
        table = (tmp_path / "mine" / "report" / f"{name}.md").read_text("utf-8")
        assert f"{float(values['planted', 'csd']):.3f}" in table
    results = StudyResults(load_study(tmp_path / "mine"), tmp_path / "mine")
    (plain,) = results.comparison("planted", "tweets").methods
    saved = next(results.saved(number) for number in results.finished if number.measured_on == "tweets")
    assert plain.labels[-1] == "neg" and plain.value("binary_f1") == saved["metrics"]["binary_f1"]
    assert plain.interval("binary_f1") == tuple(saved["intervals"]["binary_f1"])
    drawn = (tmp_path / "mine" / "report" / "intervals-planted-tweets.svg").read_text("utf-8")
    assert ">CSD ↑ on tweets<" in drawn and ">CSD ↑ on planted<" in drawn
    found = pyarrow.parquet.read_table(tmp_path / "mine" / "results.parquet").to_pylist()
    assert [str(row["value"]) for row in found] == [row["value"] for row in tidy(tmp_path / "mine")]
    (made,) = results.made
    assert f"revision {made['git']}" in said if made["git"] else "Made with unirex" in said
    assert main(["experiment", "plan", "mian"]) == 2
    assert "did you mean 'main'" in capsys.readouterr().err


def test_every_row_resolves_at_the_scale_of_the_paper():
    for name in experiment_names():
        definition = read_definition(name).at_scale("paper")
        for row in definition.rows:
            config = resolve(row.method, None, merge(definition.settings, row.settings))
            assert config.encoder == "google/bigbird-roberta-base" and config.training.epochs == 10


def test_the_interval_of_an_f1_follows_from_its_confusion_matrix(studied):
    results = StudyResults(load_study(studied("efficiency")), studied("efficiency"))
    saved = results.saved(results.finished[0])
    known = saved["intervals"].pop("binary_f1")
    assert with_interval(saved)["intervals"]["binary_f1"] == known


def test_labels_that_stand_for_others(place):
    data = Data(str(place / "planted.jsonl"), labels=(("neg", "bad"),))
    assert {example.label for example in data.examples("test")} == {"bad", "pos"}


def test_nothing_finished_is_said(place, tmp_path, capsys):
    study = make_study("main", scale="tiny", data=[str(place / "planted.jsonl")])
    study.save(tmp_path / "empty")
    assert main(["experiment", "report", str(tmp_path / "empty")]) == 0
    assert "0 of 18 measurements finished" in capsys.readouterr().out
    assert StudyResults(study, tmp_path / "empty").datasets() == []
