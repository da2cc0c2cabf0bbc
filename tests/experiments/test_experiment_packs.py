"""Packs: the numbers of studies without texts, put together."""

import json
import zipfile
from pathlib import Path

from tiny_studies import command, tidy
from unirex.cli import main
from unirex.experiments.cells import Data


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
    said = capsys.readouterr().out
    assert "3 of 3 measurements finished." in said and "other settings" not in said

    def numbers(folder):
        measured = [row for row in tidy(folder) if row["metric"] != "seconds"]
        return [[row[key] for key in row if key != "cell"] for row in measured]

    assert numbers(tmp_path / "both") == numbers(whole)
    assert main(["experiment", "report", str(gold), str(other)]) == 2
    said = capsys.readouterr().err
    assert "is of experiment main and has nothing that is missing in" in said and said.count("\n") == 1


def test_rows_with_fewer_seeds_or_other_settings_are_named(studied, tmp_path, capsys):
    whole = tmp_path / "whole.zip"
    assert main(["experiment", "pack", str(studied("main")), str(whole)]) == 0
    with zipfile.ZipFile(whole) as pack:
        about = json.loads(pack.read("pack.json"))

    def part(name, wanted):
        kept = [found for found in about["measurements"] if (found["row"] == "L2E") == wanted]
        changed = json.dumps({**about, "measurements": kept}).encode()
        return repacked(whole, tmp_path / name, pack=changed)

    rest = part("rest.zip", wanted=False)
    about["definition"]["seeds"] = [0, 1]
    about["definition"]["settings"]["training"]["epochs"] = 7
    for found in about["measurements"]:
        found["config"]["training"]["epochs"] = 7 if found["row"] == "L2E" else 1
    one = part("one.zip", wanted=True)
    capsys.readouterr()
    assert main(["experiment", "report", one, rest]) == 0
    said = capsys.readouterr().out
    assert "5 of 10 measurements finished." in said and "Scale tiny, seeds 0, 1." in said
    assert "Run with other settings than the rest (in brackets): L2E: training.epochs 7 (1)." in said


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
