"""Studies: every experiment runs at its smallest scale, is resumed, shares cells and reports what it has."""

import csv
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

import planted
from unirex.cli import main
from unirex.config import merge
from unirex.data.convert import convert
from unirex.errors import UserError
from unirex.experiments.cells import DONE, Cell, Data
from unirex.experiments.definition import as_definition, experiment_names, read_definition
from unirex.experiments.engine import run_cells
from unirex.experiments.plan import plan, training_passes
from unirex.experiments.results import StudyResults
from unirex.experiments.study import load_study, make_study, store_of
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
    "qualitative": ["UNIREX (AA-FP)", "SLM-FPO"],
}


@pytest.mark.parametrize("name", experiment_names())
def test_every_experiment_runs(studied, name):
    folder = studied(name)
    study = load_study(folder)
    rows = tidy(folder)
    assert {row["row"] for row in rows} == {row.name for row in study.definition.rows}
    assert {"accuracy", "csd", "auprc"} <= {row["metric"] for row in rows}
    page = (folder / "report.html").read_text("utf-8")
    assert all(row.name.split(" (")[0] in page for row in study.definition.rows)


def test_files_of_a_report(studied):
    gold = studied("gold-efficiency")
    assert (gold / "report" / "auprc-planted.svg").stat().st_size > 2000
    assert {row["training.gold_fraction"] for row in tidy(gold)} == {"10", "100", ""}
    cost = (studied("efficiency") / "report" / "table-planted.md").read_text("utf-8")
    assert "AA (IG) (steps 10)" in cost and "s/text" in cost
    marked = (studied("qualitative") / "report" / "examples-planted.tex").read_text("utf-8")
    assert r"\textbf{" in marked and "Gold &" in marked


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

    found, known = numbers(again), numbers(expected)
    assert found == {key: known[key] for key in found}
    assert store_of(again) == tmp_path / "cells"


def test_killed_and_run_again(place, studied, tmp_path):
    out = tmp_path / "main"
    arguments = command("run", place, "main", out, "--rows", "AA (IG)", "SLM-FPO")
    code = f"import sys; from unirex.cli import main; sys.exit(main({arguments!r}))"
    process = subprocess.Popen(
        [sys.executable, "-c", code], start_new_session=True, stderr=subprocess.DEVNULL
    )
    limit = time.monotonic() + 120
    while not list((tmp_path / "cells").glob(f"train-*/{DONE}")) and time.monotonic() < limit:
        time.sleep(0.05)
    os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    assert main(arguments) == 0
    whole = studied("main")

    def numbers(folder):
        return {
            (row["row"], row["metric"]): row["value"] for row in tidy(folder) if row["metric"] != "seconds"
        }

    found, known = numbers(out), numbers(whole)
    assert found == {key: known[key] for key in found}


def cell(key: str, *after: str) -> Cell:
    return Cell("train", key, {}, key, after)


def trivial(cell: Cell, store: Path) -> None:
    if "bad" in cell.key:
        raise ValueError("went wrong")
    if "dead" in cell.key:
        os.kill(os.getpid(), signal.SIGKILL)
    cell.folder(store).mkdir(parents=True, exist_ok=True)
    (cell.folder(store) / DONE).write_text(json.dumps({"seconds": 0}))


def test_a_failure_is_recorded_and_the_others_go_on(tmp_path):
    cells = [cell("bad"), cell("needs", "bad"), cell("needs-too", "needs"), cell("good")]
    failures = run_cells(cells, tmp_path, run=trivial, shown=False)
    assert {failure.cell.key: failure.error for failure in failures} == {
        "bad": "went wrong",
        "needs": "needs train bad, which failed",
        "needs-too": "needs train needs, which failed",
    }
    assert cells[-1].state(tmp_path) == "done"


def test_a_process_that_dies_costs_its_cells_only(tmp_path):
    cells = [cell("dead"), *(cell(f"good-{number}") for number in range(4))]
    failures = run_cells(cells, tmp_path, run=trivial, workers=2, threads=1, shown=False)
    assert "dead" in {failure.cell.key for failure in failures}
    assert run_cells(cells[1:], tmp_path, run=trivial, shown=False, retry_failed=True) == []


def test_failed_cells_are_said(place, tmp_path, capsys):
    out = tmp_path / "study"
    arguments = command(
        "run", place, "main", out, "--rows", "UNIREX (DLM-P)", f"--settings.encoder={place / 'none'}"
    )
    assert main(arguments) == 1
    assert main(["experiment", "status", str(out)]) == 1
    said = capsys.readouterr().out
    assert "failed: train UNIREX (DLM-P), seed 0, planted: " in said and "Traceback" not in said


def test_plan(place, studied):
    folder = studied("main")
    study = load_study(folder)
    planned = plan(study, store_of(folder), timed=False)
    assert all(item.state == "done" for item in planned)
    assert main(command("plan", place, "main", folder, "--rows", "AA (IG)")) == 0


def test_passes():
    """A text is seen once an epoch; one budget costs one more pass, and an attribution two thirds a point."""
    vanilla = resolve("vanilla", None, {"training": {"epochs": 2}})
    assert training_passes(vanilla, 100) == 200
    assert training_passes(resolve("slm-fp", None, {"training": {"epochs": 1}}), 100) == 600
    assert (
        training_passes(resolve("aa-f", None, {"budgets_per_step": 1, "training": {"epochs": 1}}), 100) == 400
    )


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ({"rows": {}}, "mine.yaml: has no rows"),
        ({"rows": {"a": {"method": "slm-fp", "sed": 1}}}, "mine.yaml: row a: unknown key 'sed'"),
        ({"rows": {"a": {"settings": {}}}}, "mine.yaml: row a needs a method"),
        ({"rows": {"a": {"method": "slm-fp"}}, "vary": {"seed": 3}}, "vary.seed is a list of values, not 3"),
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
    file = tmp_path / "mine.yaml"
    file.write_text("rows:\n  Plain: {method: vanilla}\nreport: [table]\n", "utf-8")
    assert main(command("run", place, str(file), tmp_path / "mine")) == 0
    assert "Plain" in capsys.readouterr().out
    assert main(["experiment", "plan", "mian"]) == 2
    assert "did you mean 'main'" in capsys.readouterr().err


def test_every_row_resolves_at_the_scale_of_the_paper():
    for name in experiment_names():
        definition = read_definition(name).at_scale("paper")
        for row in definition.rows:
            config = resolve(row.method, None, merge(definition.settings, row.settings))
            assert config.encoder == "google/bigbird-roberta-base" and config.training.epochs == 10


def test_labels_that_stand_for_others(place):
    data = Data(str(place / "planted.jsonl"), labels=(("neg", "bad"),))
    assert {example.label for example in data.examples("test")} == {"bad", "pos"}


def test_nothing_finished_is_said(place, tmp_path, capsys):
    study = make_study("main", scale="tiny", data=[str(place / "planted.jsonl")])
    study.save(tmp_path / "empty")
    assert main(["experiment", "report", str(tmp_path / "empty")]) == 0
    assert "0 of 18 measurements are finished" in capsys.readouterr().out
    assert StudyResults(study, tmp_path / "empty").datasets() == []
