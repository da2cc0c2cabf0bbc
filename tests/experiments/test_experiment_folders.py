"""Folders of studies: found, gone on with from anywhere, not lost to one another."""

from pathlib import Path
from shutil import copytree

from tiny_studies import SETTINGS, command, tidy
from unirex.cli import main
from unirex.experiments.report import LIST
from unirex.experiments.results import StudyResults
from unirex.experiments.saved import load_study
from unirex.experiments.study import make_study, store_of


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
    said = capsys.readouterr().out
    assert "1 of 1 measurement finished" in said and "NRG is left out: it compares rows" in said


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


def test_studies_and_packs_are_found_by_short_names(studied, place, tmp_path, monkeypatch, capsys):
    folder = studied("efficiency")
    (tmp_path / "studies").mkdir()
    for name in ("efficiency", "cells"):
        (tmp_path / "studies" / name).symlink_to(store_of(folder).parent / name)
    monkeypatch.chdir(tmp_path)
    for asked in (
        ["status", "efficiency"],
        ["report", "efficiency", "--out", "again"],
        ["report", "efficiency", "--out", "studies/efficiency"],
        ["studies/efficiency"],
    ):
        assert main(["experiment", *asked]) == 0
    assert main(["experiment", "pack", "efficiency", "numbers"]) == 0
    assert (tmp_path / "numbers.zip").is_file()
    capsys.readouterr()
    for asked, said in (
        (["status", "numbers.zip"], "a pack, if it is one; `unirex experiment report numbers.zip` shows it"),
        (["pack", "efficiency", "again"], "again: give a file, such as again/efficiency.zip."),
        (["pack", "efficiency", "."], ".: give a file, such as efficiency.zip."),
        (["pack", "efficiency", ".zip"], ".zip: give a file, such as efficiency.zip."),
        (["report", "numbers.zip", "--html", "again"], "--html again: is a folder; give a file."),
        (["report", "efficiency", "--html", "again"], "--html again: is a folder; give a file."),
    ):
        assert main(["experiment", *asked]) == 2
        assert said in capsys.readouterr().err


def test_nothing_finished_is_said(place, tmp_path, capsys):
    study = make_study("main", scale="tiny", data=[str(place / "planted.jsonl")])
    study.save(tmp_path / "empty")
    assert main(["experiment", "report", str(tmp_path / "empty")]) == 0
    assert "0 of 18 measurements finished" in capsys.readouterr().out
    assert StudyResults(study, tmp_path / "empty").datasets() == []
