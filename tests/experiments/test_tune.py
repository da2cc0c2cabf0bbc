"""Searches: trials are cells on dev, resumed to the same ones, pruned by a rule, and one is chosen."""

import csv
import json
import shlex
import sys
from dataclasses import fields, replace
from pathlib import Path
from types import SimpleNamespace

import optuna
import pytest

import planted
from unirex import __version__
from unirex.cli import build_parser, main
from unirex.config import Config, build_config
from unirex.data.convert import convert
from unirex.errors import UserError
from unirex.experiments import rounds
from unirex.experiments.cells import Cell, Data
from unirex.experiments.definition import Row, Variant
from unirex.experiments.engine import Failure
from unirex.experiments.rounds import JOURNAL, Rounds
from unirex.experiments.search import SPLIT, Search
from unirex.experiments.space import Choice, Range, read_space
from unirex.experiments.study import Measured
from unirex.experiments.tune import load_tuning, tune
from unirex.experiments.tuning import Trial, Tuning

WEIGHT, DIAL = "objectives.plausibility.weight", "measure.dial"
SPACE = f"{WEIGHT}: [0.5, 1.0]\n{DIAL}: [0.2, 0.8]\n"


@pytest.fixture(scope="module")
def place(tmp_path_factory, learner):
    """A folder with data, a tiny encoder and a small space; searches in it share their cells."""
    folder = tmp_path_factory.mktemp("searches")
    convert(planted.planted((24, 8, 8)), folder / "planted.jsonl")
    (folder / "encoder").symlink_to(learner)
    (folder / "space.yaml").write_text(SPACE, "utf-8")
    return folder


def command(place: Path, out: str, *options: str) -> list[str]:
    settings = [f"--settings.encoder={place / 'encoder'}", "--settings.pooling=mean"]
    settings += ["--settings.training.batch_size=8", "--settings.training.max_batches=1"]
    data = ["--data", str(place / "planted.jsonl"), "--search", str(place / "space.yaml")]
    usual = ["--scale", "tiny", "--out", str(place / out), "--threads", "1"]
    return ["experiment", "tune", "--method", "slm-fpo", *data, *usual, *settings, *options]


@pytest.fixture(scope="module")
def tuned(place):
    """The folder of a search of every point of the space."""
    assert main(command(place, "grid", "--sampler", "grid", "--trials", "9")) == 0
    return place / "grid"


def test_settings_that_share_a_part_are_all_taken(tuned):
    settings = json.loads((tuned / "tune.json").read_text("utf-8"))["settings"]
    assert settings["pooling"] == "mean" and settings["training"] == {"batch_size": 8, "max_batches": 1}


def test_every_point_is_a_trial_on_dev(tuned, place):
    with (tuned / "report" / "trials.csv").open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    points = sorted((float(row[WEIGHT]), float(row[DIAL])) for row in rows)
    assert points == [(0.5, 0.2), (0.5, 0.8), (1.0, 0.2), (1.0, 0.8)]
    assert all(0 <= float(row["accuracy"]) <= 1 and row["csd"] and row["auprc"] for row in rows)
    assert sum("chosen" in row["state"] for row in rows) == 1
    tuning = load_tuning(tuned)
    measured = [tuning.search.study(trial.point).measured[0] for trial in tuning.trials]
    assert len({one.trained[0].key for one in measured}) == 2  # the dial is a matter of measuring
    assert {one.cell.state(place / "cells") for one in measured} == {"done"}
    assert len({one.cell.key for one in measured}) == 4
    assert {one.cell.content["split"] for one in measured} == {SPLIT}


def test_the_report_says_what_was_chosen_and_how_to_train_it(tuned, capsys):
    tuning = load_tuning(tuned)
    page = (tuned / "report.html").read_text("utf-8")
    assert tuning.why[0] in page and "<title>trial 0" in page and "script-src" in page
    assert f"Made with unirex {__version__}, torch " in page
    drawn = (tuned / "report" / "front.svg").read_text("utf-8")
    assert all(f">{text}" in drawn for text in ("Acc", "CSD", "AUPRC"))
    assert (tuned / "report" / "parallel.png").stat().st_size > 2000
    train, evaluate = (shlex.split(line)[1:] for line in tuning.commands(tuning.chosen))
    given = build_parser(train).parse_args(train)["train"].as_dict()
    config = build_config({field.name: given[field.name] for field in fields(Config)})
    trained = tuning.search.study(tuning.chosen.point).measured[0].trained[-1]
    assert config == build_config(trained.content["config"])
    dial = build_parser(evaluate).parse_args(evaluate)["evaluate"].dial
    assert dial == [tuning.chosen.point[DIAL]]
    assert main(["experiment", "report", str(tuned)]) == 0
    assert main(["experiment", "status", str(tuned)]) == 0
    assert "4 trials: 4 done" in capsys.readouterr().out


def test_an_interrupted_search_goes_on_to_the_same_trials(tuned, place, monkeypatch):
    """What was asked for is picked up again, also if the journal was being written when the process died."""
    space = place / "six.yaml"
    space.write_text(f"{WEIGHT}: [0.5, 1.0]\n{DIAL}: [0.2, 0.5, 0.8]\n", "utf-8")
    options = ("--trials", "6", "--search", str(space))
    assert main(command(place, "whole", *options)) == 0
    run = rounds.run_cells

    def interrupted(cells, store, **options):
        run(cells, store, **options)
        raise KeyboardInterrupt

    monkeypatch.setattr(rounds, "run_cells", interrupted)
    assert main(command(place, "halves", *options)) == 130
    assert [trial.state for trial in load_tuning(place / "halves").trials] == ["begun"] * 4
    monkeypatch.setattr(rounds, "run_cells", run)
    journal = place / "halves" / JOURNAL
    with journal.open("ab") as file:
        file.write(b'{"op_code": 6, "wor')
    Path(f"{journal}.lock").touch()
    assert main(command(place, "halves", *options)) == 0
    trials = load_tuning(place / "whole").trials
    assert load_tuning(place / "halves").trials == trials
    assert len({tuple(trial.point.items()) for trial in trials}) == 6  # every point once


def test_a_kill_while_a_point_is_queued_repeats_none(place, tmp_path, numbers, monkeypatch):
    searched(place, tmp_path / "cut", trials=1)
    ask, asked = optuna.Study.ask, []

    def killed(study, *arguments):
        asked.append(study)
        if len(asked) == 2:  # the first is asked aside
            raise KeyboardInterrupt
        return ask(study, *arguments)

    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
        patch.setattr(optuna.Study, "ask", killed)
        searched(place, tmp_path / "cut", trials=4)
    trials = searched(place, tmp_path / "cut", trials=4).trials
    assert len({tuple(trial.point.items()) for trial in trials}) == len(trials) == 4


def test_another_search_in_the_folder_is_refused(tuned, place, capsys):
    assert main(command(place, "grid", "--seed", "1", "--sampler", "grid")) == 2
    assert "holds a search with another seed; choose another --out" in capsys.readouterr().err


def test_searches_and_studies_have_folders_of_their_own(tuned, place, capsys):
    usual = ["--scale", "tiny", "--data", str(place / "planted.jsonl"), "--rows", "AA (Grad)"]
    settings = [f"--settings.encoder={place / 'encoder'}", "--settings.pooling=mean"]
    assert main(["experiment", "run", "main", *usual, *settings, "--out", str(tuned)]) == 2
    assert "holds a search; choose another --out" in capsys.readouterr().err
    (place / "study").mkdir()
    (place / "study" / "study.json").write_text("{}")
    assert main(command(place, "study", "--sampler", "grid")) == 2
    assert "holds a study; choose another --out" in capsys.readouterr().err
    assert main(["experiment", "report", str(tuned), "--out", str(place / "study")]) == 2
    assert "holds a study; its report would be lost" in capsys.readouterr().err
    assert main(["experiment", "report", str(tuned), str(tuned.parent), "--out", str(place / "again")]) == 2
    assert "a search, not a study" in capsys.readouterr().err
    assert main(["experiment", "report", str(tuned), "--out", str(place / "again")]) == 0
    for name in ("report.html", "report/trials.md"):
        assert (place / "again" / name).read_bytes() == (tuned / name).read_bytes()


@pytest.fixture
def numbers(monkeypatch):
    """Trials without trainings: performance falls with the weight, faithfulness grows with it."""

    def stub(self, definition, point, name):
        cell = Cell("measure", name, {**point, "options": {}}, f"{name} {point}")
        measured = Measured(Variant(Row(name, self.method), point), 0, "", "", (), cell)
        return SimpleNamespace(cells=[cell], measured=[measured])

    def saved(self, measured):
        point = measured.variant.point
        weight, dial = point[WEIGHT], point.get(DIAL, 0.0)
        values = {"accuracy": 1 - weight / 2, "csd": weight + dial, "auprc": 1 - dial}
        values |= {"comprehensiveness": weight + dial, "sufficiency": 0.1, "token_f1_macro2": 0.5}
        return {"metrics": values, "collapsed": None}

    monkeypatch.setattr(rounds, "run_cells", lambda cells, store, **options: [])
    monkeypatch.setattr(Rounds, "_saved", saved)
    monkeypatch.setattr(Search, "_study", stub)


def searched(place, out, **options):
    settings = {"encoder": str(place / "encoder"), "training": {"batch_size": 8}}
    usual = {"scale": "tiny", "search": str(place / "space.yaml"), "settings": settings, "shown": False}
    return tune("slm-fpo", str(place / "planted.jsonl"), out=out, **usual | options)


def test_hopeless_trials_are_pruned(place, tmp_path, numbers):
    tuning = searched(place, tmp_path / "pruned", trials=8, prune=True)
    assert {trial.point[WEIGHT]: trial.state for trial in tuning.trials} == {0.5: "done", 1.0: "pruned"}
    pruned = next(trial for trial in tuning.trials if trial.state == "pruned")
    assert pruned.note == "short training: Acc 50.0, best 75.0"
    kept = searched(place, tmp_path / "kept", trials=8, prune=True, margin=0.3)
    assert {trial.state for trial in kept.trials} == {"done"}


def test_a_short_training_is_a_quarter_of_an_epoch(place):
    data, settings = Data(str(place / "planted.jsonl")), {"encoder": str(place / "encoder")}
    search = Search("slm-fpo", data, {}, settings={**settings, "training": {"batch_size": 2}})
    study = search.short({WEIGHT: 0.7, DIAL: 0.4})
    trained = study.measured[0].trained[-1].content["config"]
    assert trained["training"]["epochs"] == 1 and trained["training"]["max_batches"] == 3  # 24 / 2 / 4
    assert trained["objectives"]["plausibility"]["weight"] == 0.7
    assert study.measured[0].cell.content["options"] == {"draws": 0, "beside": [], "budgets": [20]}


@pytest.mark.parametrize("sampler", ["nsga2", "tpe"])
def test_the_number_of_trials_grows_to_the_same_ones(place, tmp_path, numbers, sampler):
    (tmp_path / "space.yaml").write_text(f"{WEIGHT}: {{low: 0.1, high: 1.0}}\n{DIAL}: [0.2, 0.4, 0.8]\n")
    options = {"sampler": sampler, "search": str(tmp_path / "space.yaml")}
    searched(place, tmp_path / "grown", trials=4, **options)
    grown = searched(place, tmp_path / "grown", trials=20, **options)
    whole = searched(place, tmp_path / "whole", trials=20, **options)
    assert grown.trials == whole.trials and len(whole.trials) == 20
    assert set(whole.importances) == {"accuracy", "csd", "auprc"}
    assert whole.importances["accuracy"][WEIGHT] > whole.importances["accuracy"][DIAL]
    assert grown.trials[:4] == searched(place, tmp_path / "few", trials=4, **options).trials


def test_a_shared_storage(place, tmp_path, numbers):
    url = f"sqlite:///{tmp_path / 'trials.db'}"
    first = searched(place, tmp_path / "here", trials=2, storage=url)
    both = searched(place, tmp_path / "there", trials=5, storage=url)
    assert both.trials[:2] == first.trials and len(both.trials) == 4  # points there are
    with pytest.raises(UserError, match="no storage of trials"):
        searched(place, tmp_path / "nowhere", storage="sqlite:////no/such/folder/trials.db")
    assert not (tmp_path / "nowhere" / "tune.json").exists()


def test_failures(place, tmp_path, monkeypatch, numbers):
    def failing(cells, store, **options):
        return [Failure(cell, "went wrong") for cell in cells if cell.content[WEIGHT] == 1.0]

    monkeypatch.setattr(rounds, "run_cells", failing)
    tuning = searched(place, tmp_path / "some", trials=4, sampler="grid")
    assert {(trial.point[WEIGHT], trial.state, trial.note) for trial in tuning.trials} == {
        (0.5, "done", ""),
        (1.0, "failed", "went wrong"),
    }
    monkeypatch.setattr(rounds, "run_cells", lambda cells, *_, **__: [Failure(cell, "bad") for cell in cells])
    with pytest.raises(UserError, match="no trial could be done; the first one: bad"):
        searched(place, tmp_path / "all", trials=4)


def test_without_optuna(place, capsys, monkeypatch):
    monkeypatch.setitem(sys.modules, "optuna", None)
    assert main(command(place, "none")) == 2
    assert capsys.readouterr().err == "unirex: error: tuning needs Optuna: pip install 'unirex[tune]'\n"
    assert not (place / "none").exists()


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", "space.yaml: has nothing to search for slm-fp"),
        (
            f"{WEIGHT}: 0.5",
            f"space.yaml: {WEIGHT} is a list of values, or a range {{low: …, high: …}}, not 0.5",
        ),
        (f"{WEIGHT}: [[1, 2]]", f"space.yaml: {WEIGHT}: [1, 2] is no single value"),
        (f"{WEIGHT}: [0.5, 1, 0.5]", f"space.yaml: {WEIGHT}: 0.5 is there twice; give each value once"),
        ("measure.dial: [0, 2]", "space.yaml: measure.dial 2: dial 2: give a number from 0"),
        ("objectives: {plausibility: {weight: [1]}}", "Write nested settings with dots"),
        ("objectives.plausbility.weight: [1]", "did you mean 'objectives.plausibility'"),
        (f"{WEIGHT}: [a]", f"space.yaml: {WEIGHT} 'a': settings: "),
        ("training.learning_rate: {low: 1e-5, high: 1.0e-3}", "learning_rate.low is a number, not '1e-5'"),
        ("training.learning_rate: {low: 1.0e-5}", "space.yaml: training.learning_rate: a range needs high"),
        ("training.epochs: {low: 3, high: 2}", "low 3 must be below high 2"),
        ("training.epochs: {low: 0, high: 2, log: true}", "log needs a low above 0"),
        ("training.epochs: {low: 1, high: 2, stp: 1}", "space.yaml: training.epochs: unknown key 'stp'"),
        ("seed: [0, 1]", "space.yaml: seed: all trials have that of --seed"),
        ("measure.dail: [0.2]", "space.yaml: unknown setting 'measure.dail'; did you mean 'measure.dial'"),
    ],
)
def test_a_wrong_search_file_is_named(tmp_path, content, message):
    file = tmp_path / "space.yaml"
    file.write_text(content, "utf-8")
    with pytest.raises(UserError) as caught:
        read_space(str(file), "slm-fp", {}, preset="default", dataset="demo")
    assert message in str(caught.value)


def test_spaces(tmp_path):
    def names(method):
        space = read_space(None, method, {}, preset="default", dataset="demo")
        return [name.removeprefix("objectives.").removesuffix(".weight") for name in space]

    faithful = ["comprehensiveness", "sufficiency"]
    assert names("aa-f") == faithful and names("slm-fp") == [*faithful, "plausibility"]
    assert names("dlm-fpo") == names("slm-fpo") == [*faithful, "plausibility", "ordering", "measure.dial"]
    with pytest.raises(UserError, match="nothing to search for vanilla"):
        names("vanilla")
    (tmp_path / "own.yaml").write_text("training.epochs: {low: 0, high: 4}\n")
    with pytest.raises(
        UserError, match=r"own.yaml: training.epochs 0: training.epochs 0: must be at least 1"
    ):
        read_space(str(tmp_path / "own.yaml"), "vanilla", {}, preset="default", dataset="demo")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"trials": 0}, "--trials 0"),
        ({"sampler": "nsga"}, "unknown sampler 'nsga'; did you mean 'nsga2'"),
        ({"objective": "best"}, "unknown objective 'best'"),
        ({"margin": 5}, "--margin 5"),
        ({"settings": {"seed": 7}}, "--settings.seed 7: the seed of all trials is --seed"),
        ({"settings": {"objectives": {"plausibility": {"weight": 0.3}}}}, f"--settings.{WEIGHT}: the search"),
    ],
)
def test_wrong_options(place, tmp_path, options, message):
    with pytest.raises(UserError) as caught:
        searched(place, tmp_path / "wrong", **options)
    assert message in str(caught.value) and not (tmp_path / "wrong").exists()


def hand_made(objective: str, *rows: tuple[float, float, float, float, float]) -> Tuning:
    """Trials by accuracy, comprehensiveness, sufficiency, AUPRC and token F1."""
    names = ("accuracy", "comprehensiveness", "sufficiency", "auprc", "token_f1_macro2")
    trials = []
    for number, row in enumerate(rows):
        metrics = dict(zip(names, row, strict=True))
        metrics["csd"] = metrics["comprehensiveness"] - metrics["sufficiency"]
        trials.append(Trial(number, {WEIGHT: 0.5}, "done", metrics))
    space = {WEIGHT: Choice((0.5, 1.0)), "training.learning_rate": Range(1e-5, 1e-3, log=True)}
    return Tuning(Search("slm-fp", Data("demo"), space, objective=objective), trials)


def test_the_choice():
    """Trial 0 is best in two, 1 in one; 2 is beaten, but for its token F1, which only CNRG counts."""
    rows = ((0.9, 0.4, 0.1, 0.6, 0.4), (0.8, 0.2, 0.1, 0.8, 0.4), (0.9, 0.4, 0.1, 0.59, 0.9))
    pareto = hand_made("pareto", *rows)
    assert [trial.number for trial in pareto.front] == [0, 1] and pareto.chosen.number == 0
    # FNRG (1 + .5) / 2, PNRG (.01 / .21 + 0) / 2, TNRG 1
    assert pareto.cnrg(pareto.trials[0]) == pytest.approx((0.75 + 0.01 / 0.42 + 1) / 3)
    assert "of the 2 trials on the Pareto front; next is trial 1" in pareto.why[0]
    assert (
        pareto.why[1] == "It has Acc 90.0 (the best), CSD 0.300 (the best), AUPRC 60.0 (best: 80.0, trial 1)."
    )
    cnrg = hand_made("cnrg", *rows)
    assert cnrg.chosen.number == 2 and "not on the front" in cnrg.why[2]
    constant = hand_made("cnrg", *rows)
    constant.trials[2] = replace(constant.trials[2], collapsed="it answers 'pos'")
    assert constant.chosen.number == 0 and constant.why[-1].endswith("hardly changes: trial 2.")
    assert hand_made("pareto").why == ["No trial is finished, so none is chosen."]
