"""What a study would run, what it needs, and how far it is."""

import pytest

from tiny_studies import SETTINGS, command
from unirex.cli import main
from unirex.config import merge
from unirex.experiments.passes import stage_passes, training_passes
from unirex.experiments.plan import plan, too_large
from unirex.experiments.saved import load_study
from unirex.experiments.study import make_study, store_of
from unirex.files import locked
from unirex.methods.resolving import resolve


def test_plan(place, studied, capsys):
    folder = studied("main")
    study = load_study(folder)
    planned = plan(study, store_of(folder))
    assert all(item.state == "done" and item.seconds is None for item in planned)
    capsys.readouterr()  # what running it said
    assert main(command("plan", place, "main", folder, "--no_timing")) == 0
    said = capsys.readouterr().out
    assert said.startswith("main, scale tiny: 33 cells\n")
    assert "    AA (Grad), seed 0, planted: for 6 rows\n" in said  # who shares the classifier
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
    assert seen["two"].cores == 2 and 1.2e9 < seen["two"].memory < 1.4e9
    assert seen["gpu"].gpus == 2 and not seen["two"].gpus
    asked = "--settings.training.accelerator=gpu"
    assert main(command("plan", place, "main", tmp_path, "--no_timing", "--rows", "AA (IG)", asked)) == 0
    said = capsys.readouterr().out
    assert "the largest training holds about 0.6 GB of memory, and needs 1 GPU\n" in said
    assert "the largest measurement holds about 0.6 GB of memory\n" in said


def test_cells_that_do_not_fit_alone_or_side_by_side_are_named(place, tmp_path, monkeypatch):
    def lines(*rows, workers=1, **training):
        settings = merge(SETTINGS, {"encoder": str(place / "encoder"), "training": training})
        study = make_study(
            "main", scale="tiny", data=[str(place / "planted.jsonl")], rows=rows, settings=settings
        )
        return too_large(study, tmp_path / "cells", workers=workers)

    monkeypatch.setattr("unirex.models.plan.memory", lambda device: 0.7e9)  # one needs 0.6 GB
    (large,) = lines("UNIREX (SLM-FP)", batch_size=64_000)
    assert large.startswith(
        "train UNIREX (SLM-FP), seed 0, planted: takes about 7 GB of memory, this machine has 1 GB"
    )
    monkeypatch.setattr("unirex.models.plan.memory", lambda device: 1.1e9)
    assert lines("UNIREX (SLM-FP)", workers=2) == []  # one of each kind, after the other
    assert lines("UNIREX (SLM-FP)", "UNIREX (DLM-FP)") == []
    trainings, measurements = lines("UNIREX (SLM-FP)", "UNIREX (DLM-FP)", workers=4)
    assert trainings.startswith("the 2 largest trainings, side by side: take about 1 GB of memory")
    assert measurements.startswith("the 2 largest measurements, side by side")


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


def test_cells_are_shared(studied, place):
    studied("main")
    trained = [path.name for path in (place / "cells").glob("train-vanilla-*")]
    assert len(trained) == 1  # for every row and every study
    study = load_study(studied("transfer"))
    assert study.states(place / "cells") == {"done": len(study.cells)}
