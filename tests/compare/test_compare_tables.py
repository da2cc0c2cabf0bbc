"""The tables of a comparison in every format, and the published numbers beside them."""

import csv
import io
import json
import re
from collections import Counter
from dataclasses import replace

import pytest
from made import file, records, run

from unirex.comparison import compare
from unirex.comparison.main_table import main_table
from unirex.evaluation.record_files import write_records
from unirex.evaluation.records import Probes

EVIL = "<script>alert(1)</script>_%&"
PAPER_BUDGETS = (1.0, 5.0, 10.0, 20.0, 50.0)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    home = tmp_path_factory.mktemp("runs")
    for seed in (0, 1, 2):
        run(home / f"s{seed}", seed=seed, plausible=0.9, budgets=PAPER_BUDGETS, trained="attention_mask")
    run(
        home / "v",
        method="vanilla",
        faithful=0.2,
        seed=7,
        budgets=PAPER_BUDGETS,
        settings={"extractor": "integrated-gradients"},
    )
    return home


@pytest.fixture(scope="module")
def found(folder):
    return compare([*sorted(folder.glob("s*")), folder / "v"], paper="sst", draws=400)


def test_seeds_have_deviations_and_every_method_an_interval(found):
    lines = found.table().splitlines()
    assert re.match(r"slm-fp +3 +\d\d\.\d ± \d\.\d", lines[1])
    assert re.match(r"vanilla +1 +\d\d\.\d", lines[5])
    for number in (2, 6):
        assert re.match(r"  95 % +\d\d\.\d–\d\d\.\d +0\.\d\d\d–0\.\d\d\d", lines[number])


def test_intervals_of_several_seeds_stand_in_every_format(found):
    mean, std = found.methods[0].metrics["csd"]
    low, high = found.methods[0].interval("csd")
    assert low < mean < high
    shown, bounds = f"{mean:.3f} ± {std:.3f}", f"{low:.3f}–{high:.3f}"
    text = found.table()
    assert shown in text and bounds in text
    assert re.search(rf"{shown}(\*\*)? \({bounds}\)", found.table("markdown"))
    latex = found.table("latex")
    assert f"{mean:.3f} $\\pm$ {std:.3f}" in latex and rf"{{\scriptsize ({low:.3f}--{high:.3f})}}" in latex
    assert f"<small>{bounds}</small>" in main_table(found).html()
    row = next(csv.DictReader(io.StringIO(found.table("csv"))))
    assert [float(row[f"csd{part}"]) for part in ("", "_std", "_low", "_high")] == [mean, std, low, high]


def test_every_run_can_be_seen(found):
    rows = list(csv.DictReader(io.StringIO(found.table("csv", runs=True))))
    assert [(one["method"], one["run"], one["seed"]) for one in rows] == [
        ("slm-fp", "1", "0"),
        ("slm-fp", "2", "1"),
        ("slm-fp", "3", "2"),
        ("vanilla", "1", "7"),
    ]
    values = [float(one["csd"]) for one in rows[:3]]
    assert sum(values) / 3 == pytest.approx(found.methods[0].value("csd"))
    assert all(float(one["csd_low"]) < float(one["csd"]) < float(one["csd_high"]) for one in rows)
    assert "<summary>Every run</summary>" in found.page()


def test_in_text_the_paper_and_the_floor_stand_below_their_method(found):
    names = [line[:26].strip() for line in found.table().splitlines()]
    assert names[1:5] == ["slm-fp", "95 %", "random scores", "paper: UNIREX (SLM-FP)"]
    assert names[5:9] == ["vanilla", "95 %", "random scores", "paper: AA (IG)"]
    assert "paper: UNIREX (DLM-FP)" in names


def test_elsewhere_the_paper_has_columns_beside_ours(found):
    rows = list(csv.DictReader(io.StringIO(found.table("csv"))))
    ours = next(row for row in rows if row["method"] == "slm-fp")
    assert (ours["accuracy_paper"], ours["accuracy_paper_std"]) == ("0.9368", "0.0067")
    assert float(ours["accuracy"]) == found.methods[0].value("accuracy") and float(ours["seeds"]) == 3
    assert 0 <= float(ours["cnrg"]) <= 1
    vanilla = next(row for row in rows if row["method"] == "vanilla")
    low, value, high = (float(vanilla[name]) for name in ("csd_low", "csd", "csd_high"))
    assert low < value < high and vanilla["csd_std"] == ""
    heads = [head.key for head in main_table(found).head]
    assert heads[2:4] == ["accuracy", "accuracy_paper"]


def test_caveats_of_the_paper_are_told(found):
    assert any("BigBird" in one for one in found.warnings)
    assert not any("These budgets are not" in one for one in found.warnings)


def test_other_budgets_than_the_papers_are_told(tmp_path):
    found = compare([run(tmp_path / "a")], paper="sst")
    assert any("These budgets are not the paper's" in one for one in found.warnings)


def test_performance_is_measured_as_the_paper_does(folder):
    assert compare([folder / "v"], paper="movies").columns[0] == "macro_f1"


def test_relative_gain_is_over_the_compared_methods(found):
    gains = found.gains
    assert gains["slm-fp"].pnrg == 1.0 and gains["vanilla"].pnrg == 0.0


def test_a_collapsed_predictor_is_warned_of(tmp_path):
    places = {
        "real": file(tmp_path / "a.jsonl", faithful=0.5, plausible=0.9),
        "collapsed": file(tmp_path / "b.jsonl", right=0.5, faithful=0.0, seed=3),
    }
    gated = compare(places, gate=0.9)
    assert any("collapsed performs below the gate" in one for one in gated.warnings)
    assert gated.gains["collapsed"].cnrg == 0.0


@pytest.mark.parametrize("performance", ["accuracy", "macro_f1", "micro_f1", "binary_f1"])
def test_one_answer_to_all_is_warned_of_whatever_performance_is_measured_by(performance, tmp_path):
    often = Counter(record.label for record in records()).most_common(1)[0][0]
    sure = (0.1, 0.9) if often == "pos" else (0.9, 0.1)
    always = {"predicted": often, "target": often, "probabilities": sure}
    places = {
        "real": file(tmp_path / "real.jsonl", right=0.9, faithful=0.5),
        "constant": file(tmp_path / "constant.jsonl", seed=3, change=always),
    }
    keys = [performance, "comprehensiveness", "sufficiency"]
    warned = [one for one in compare(places, columns=keys).warnings if "near chance" in one]
    assert len(warned) == 1 and warned[0].startswith("constant earns FNRG")


def test_columns_can_be_chosen(folder):
    found = compare([folder / "v"], columns=["auprc/correct", "csd/mask_token", "sufficiency@10"])
    assert found.table().splitlines()[0].split("↑")[0].strip() == "AUPRC correct"


@pytest.mark.parametrize("form", ["markdown", "latex", "csv", "text"])
def test_names_from_anywhere_stay_names(form, tmp_path):
    shown = compare(
        {EVIL: file(tmp_path / "a.jsonl"), "b": file(tmp_path / "b.jsonl", seed=1)}, draws=99
    ).table(form)
    expected = {"latex": r"\textless{}script\textgreater{}", "markdown": r"\<script>"}.get(form, "<script>")
    assert expected in shown


def test_latex_rows_have_as_many_cells_as_columns(found):
    shown = found.table("latex")
    width = len(re.search(r"\\begin\{tabular\}\{l(r+)\}", shown)[1]) + 1
    rows = [line for line in shown.splitlines() if line.endswith(r"\\") and "multicolumn" not in line]
    assert {len(re.findall(r"(?<!\\)&", line)) + 1 for line in rows} == {width}


def test_what_other_edits_show_has_a_table_of_its_own_with_the_floor(tmp_path):
    probes = Probes(left_out=None, words=(0.5, 0.2), lowest=0.1, highest=0.6)
    made = records()
    with_probes = [
        replace(one, probes=probes, draws=tuple(replace(draw, probes=probes) for draw in one.draws))
        for one in made
    ]
    write_records(tmp_path / "a.jsonl", with_probes)
    found = compare([tmp_path / "a.jsonl", file(tmp_path / "b.jsonl", seed=1)], draws=99)
    second = found.table().split("\n\n")[2].splitlines()
    assert second[0].split() == ["NAOPC", "↑"]
    assert [line.split()[0] for line in second[1:]] == ["a", "95", "random", "b", "95"]
    assert "What other edits show" in found.page()
    assert "What other edits show" not in compare([tmp_path / "b.jsonl"]).page()


def test_the_papers_numbers_for_other_data_are_warned_of(tmp_path):
    path = run(tmp_path / "a") / "evaluation" / "sst-test" / "metrics.json"
    saved = json.loads(path.read_text())
    for name, told in (("demo", True), ("SST", False)):
        saved["settings"]["data"] = {"name": name, "split": "test", "number": 60}
        path.write_text(json.dumps(saved))
        warnings = compare([tmp_path / "a"], paper="sst").warnings
        assert any("These texts are of 'demo', not SST" in one for one in warnings) == told
