"""Files of experiments: scales, own files, and mistakes that are found before anything is trained."""

import re

import pyarrow.parquet
import pytest

from tiny_studies import command, tidy
from unirex.cli import main
from unirex.config import merge
from unirex.errors import UserError
from unirex.experiments.cells import MEASURING, OF_SYSTEM, Data
from unirex.experiments.definition import PARTS
from unirex.experiments.definition_file import as_definition, experiment_names, read_definition
from unirex.experiments.report import DRAWN
from unirex.experiments.results import StudyResults
from unirex.experiments.saved import load_study
from unirex.experiments.study import make_study
from unirex.methods.resolving import resolve


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


MISTAKES = (  # what a file says beside one row, options, and what is answered
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
    ("texts: [test-5]", ["--measure.number", "2"], "texts: 'test-5' is not among the 2 of measure.number"),
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
)


def test_mistakes_are_found_before_anything_is_trained(place, tmp_path, capsys):
    for content, options, message in MISTAKES:
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
    assert f"revision {made['git'][:7]}" in said if made["git"] else "Made with unirex" in said
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
