"""The tables of a comparison in every format, and the published numbers beside them."""

import csv
import io
import re

import pytest
from made import file, run

from unirex.comparison import compare
from unirex.comparison.scores import scores

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


def test_seeds_have_deviations_and_single_runs_intervals(found):
    lines = found.table().splitlines()
    assert re.match(r"slm-fp +3 +\d\d\.\d ± \d\.\d", lines[1])
    assert re.match(r"vanilla +1 +\d\d\.\d", lines[4]) and re.match(r"  95 % +\d\d\.\d–\d\d\.\d", lines[5])


def test_in_text_the_paper_and_the_floor_stand_below_their_method(found):
    names = [line[:26].strip() for line in found.table().splitlines()]
    assert names[1:4] == ["slm-fp", "random scores", "paper: UNIREX (SLM-FP)"]
    assert names[4:8] == ["vanilla", "95 %", "random scores", "paper: AA (IG)"]
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
    heads = [head.key for head in scores(found).head]
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
