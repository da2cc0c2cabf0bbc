"""Rows of an experiment under presets, side by side."""

from dataclasses import replace

import pytest

import planted
from commands import write_rows
from tiny_studies import SETTINGS, command
from unirex.cli import main
from unirex.errors import UserError
from unirex.experiments.study import make_study


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
