"""The tables of a comparison in every format, and the published numbers beside them."""

import csv
import io
import re
from collections import Counter
from dataclasses import replace

import numpy as np
import pytest
from made import change_saved, file, records, run

from unirex.comparison import compare
from unirex.comparison.gain_intervals import GainIntervals
from unirex.comparison.tables import main_table
from unirex.evaluation.records import Probes
from unirex.evaluation.tally import INTERVAL_DRAWS
from unirex.metrics.bootstrap import resamples
from unirex.metrics.relative_gain import FAITHFULNESS, PERFORMANCE, PLAUSIBILITY, relative_gain

EVIL = "<script>alert(1)</script>_%&"
PAPER_BUDGETS = (1.0, 5.0, 10.0, 20.0, 50.0)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    home = tmp_path_factory.mktemp("runs")
    for seed in (0, 1, 2):
        run(home / f"s{seed}", seed=seed, plausible=0.9, budgets=PAPER_BUDGETS, trained="attention_mask")
    extractor = {"extractor": "integrated-gradients"}
    run(home / "v", method="vanilla", faithful=0.2, seed=7, budgets=PAPER_BUDGETS, settings=extractor)
    return home


@pytest.fixture(scope="module")
def found(folder):
    return compare([*sorted(folder.glob("s*")), folder / "v"], paper="sst", draws=400)


def others(folder):
    """Two more methods: relative gains are for four and more."""
    return {f"other {seed}": file(folder / f"{seed}.jsonl", seed=seed) for seed in (8, 9)}


def csv_rows(comparison, **how):
    return list(csv.DictReader(io.StringIO(comparison.table("csv", **how))))


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
    row = csv_rows(found)[0]
    assert [float(row[f"csd{part}"]) for part in ("", "_std", "_low", "_high")] == [mean, std, low, high]


def test_every_run_can_be_seen(found):
    rows = csv_rows(found, runs=True)
    named = [f"{row['method']} {row['run']} {row['seed']}" for row in rows]
    assert named == ["slm-fp 1 0", "slm-fp 2 1", "slm-fp 3 2", "vanilla 1 7"]
    values = [float(row["csd"]) for row in rows[:3]]
    assert sum(values) / 3 == pytest.approx(found.methods[0].value("csd"))
    assert all(float(row["csd_low"]) < float(row["csd"]) < float(row["csd_high"]) for row in rows)
    assert "<summary>Every run</summary>" in found.page()


def test_in_text_the_paper_and_the_floor_stand_below_their_method(found):
    names = [line[:26].strip() for line in found.table().splitlines()]
    assert names[1:5] == ["slm-fp", "95 %", "random scores", "paper: UNIREX (SLM-FP)"]
    assert names[5:9] == ["vanilla", "95 %", "random scores", "paper: AA (IG)"]
    assert "paper: UNIREX (DLM-FP)" in names


def test_elsewhere_the_paper_has_columns_beside_ours(found):
    rows = {row["method"]: row for row in csv_rows(found)}
    ours, vanilla = rows["slm-fp"], rows["vanilla"]
    assert (ours["accuracy_paper"], ours["accuracy_paper_std"]) == ("0.9368", "0.0067")
    assert float(ours["accuracy"]) == found.methods[0].value("accuracy") and float(ours["seeds"]) == 3
    low, value, high = (float(vanilla[name]) for name in ("csd_low", "csd", "csd_high"))
    assert low < value < high and vanilla["csd_std"] == ""
    heads = [head.key for head in main_table(found).head]
    assert heads[2:4] == ["accuracy", "accuracy_paper"]


def test_caveats_of_the_paper_and_other_budgets_than_its_own_are_told(found, tmp_path):
    assert any("BigBird" in note for note in found.warnings)
    assert not any("These budgets are not" in note for note in found.warnings)
    other = compare([run(tmp_path / "a")], paper="sst")
    assert any("These budgets are not the paper's" in note for note in other.warnings)


def test_performance_is_measured_as_the_paper_does(folder):
    assert compare([folder / "v"], paper="movies").columns[0] == "macro_f1"


def test_relative_gain_is_over_at_least_four_methods_of_which_some_differ(found, tmp_path):
    assert not found.gains and "cnrg" not in csv_rows(found)[0]
    assert any("fewer than 4" in note for note in found.warnings)
    equal = {name: file(tmp_path / f"{name}.jsonl") for name in "abcd"}
    alike = compare(equal, draws=99)
    assert not alike.gains and any("none is significant" in note for note in alike.warnings)
    places = equal | {"a": file(tmp_path / "best.jsonl", plausible=0.9, seed=5)}
    different = compare(places, draws=99)
    assert different.gains["a"].parts["auprc"] == 1.0 and different.gains["b"].parts["auprc"] == 0.0
    assert 0 <= float(csv_rows(different)[0]["cnrg"]) <= 1


def test_distances_in_cnrg_have_intervals_that_move_with_the_scale(tmp_path):
    """Draw by draw it is the relative gain of the metrics over the texts that were drawn."""
    places = {
        "best": file(tmp_path / "a.jsonl", plausible=0.9, faithful=0.6, right=0.95, seed=1),
        "same": file(tmp_path / "b.jsonl", plausible=0.9, faithful=0.6, right=0.95, seed=1),
        "middle": file(tmp_path / "c.jsonl", plausible=0.6, faithful=0.4, right=0.9, seed=2),
        "worst": file(tmp_path / "d.jsonl", plausible=0.1, faithful=0.1, right=0.6, seed=3),
    }
    found = compare(places, draws=99)
    sure = found.gain_intervals
    keys = [*FAITHFULNESS, *PLAUSIBILITY, *PERFORMANCE]
    times = next(resamples(found.texts, INTERVAL_DRAWS, 0))[7].astype(float)

    def mean(values):
        known = ~np.isnan(values)
        return np.average(values[known], weights=times[known])

    table = {method.name: {key: mean(method.values(key)[0]) for key in keys} for method in found.methods}
    again = relative_gain(table)
    for name, gain in found.gains.items():
        assert sure.drawn[name][7] == pytest.approx(again[name].cnrg)
        low, high = sure.lead(sure.top, name)
        assert low <= found.gains[sure.top].cnrg - gain.cnrg <= high
    assert sure.best == {"best", "same"} and sure.lead("best", "same") == (0.0, 0.0)
    assert sure.lead("best", "worst")[0] > 0 > sure.lead("worst", "middle")[1]
    rows = {row["method"]: row for row in csv_rows(found)}
    distance = float(rows[sure.top]["cnrg"]) - float(rows["middle"]["cnrg"])
    assert 0 < float(rows["middle"]["behind_low"]) < distance < float(rows["middle"]["behind_high"])
    assert float(rows["middle"]["behind"]) == pytest.approx(distance) and not rows[sure.top]["behind"]
    assert "Behind: how far a CNRG is below the highest" in found.table("markdown")
    unknown = GainIntervals(found.gains, {name: np.full(9, np.nan) for name in found.gains})
    assert unknown.best == set()  # what cannot be told apart is not


def test_a_collapsed_predictor_is_warned_of(tmp_path):
    places = {
        "real": file(tmp_path / "a.jsonl", faithful=0.5, plausible=0.9),
        "collapsed": file(tmp_path / "b.jsonl", right=0.5, faithful=0.0, seed=3),
        **others(tmp_path),
    }
    gated = compare(places, gate=0.9, draws=99)
    assert any("collapsed performs below the gate" in note for note in gated.warnings)
    assert gated.gains["collapsed"].cnrg == 0.0


@pytest.mark.parametrize("performance", ["accuracy", "macro_f1", "micro_f1", "binary_f1"])
def test_one_answer_to_all_is_warned_of_whatever_performance_is_measured_by(performance, tmp_path):
    often = Counter(record.label for record in records()).most_common(1)[0][0]
    sure = (0.1, 0.9) if often == "pos" else (0.9, 0.1)
    always = {"predicted": often, "target": often, "probabilities": sure}
    places = {
        "real": file(tmp_path / "real.jsonl", right=0.9, faithful=0.5),
        "constant": file(tmp_path / "constant.jsonl", seed=3, change=always),
        **others(tmp_path),
    }
    keys = [performance, "comprehensiveness", "sufficiency"]
    warned = [note for note in compare(places, columns=keys, draws=99).warnings if "near chance" in note]
    assert len(warned) == 1 and warned[0].startswith("constant earns FNRG")


def test_columns_can_be_chosen(folder):
    found = compare([folder / "v"], columns=["auprc/correct", "csd/mask_token", "sufficiency@10"])
    assert found.table().splitlines()[0].split("↑")[0].strip() == "AUPRC correct"


@pytest.mark.parametrize("form", ["markdown", "latex", "csv", "text"])
def test_names_from_anywhere_stay_names(form, tmp_path):
    places = {EVIL: file(tmp_path / "a.jsonl"), "b": file(tmp_path / "b.jsonl", seed=1)}
    shown = compare(places, draws=99).table(form)
    expected = {"latex": r"\textless{}script\textgreater{}", "markdown": r"\<script>"}.get(form, "<script>")
    assert expected in shown


def test_latex_rows_have_as_many_cells_as_columns(found):
    shown = found.table("latex")
    width = len(re.search(r"\\begin\{tabular\}\{l(r+)\}", shown)[1]) + 1
    rows = [line for line in shown.splitlines() if line.endswith(r"\\") and "multicolumn" not in line]
    assert {len(re.findall(r"(?<!\\)&", line)) + 1 for line in rows} == {width}


def test_what_other_edits_show_has_a_table_of_its_own_with_the_floor(tmp_path):
    probes = Probes(left_out=None, words=(0.5, 0.2), lowest=0.1, highest=0.6)

    def probed(record):
        draws = tuple(replace(draw, probes=probes) for draw in record.draws)
        return replace(record, probes=probes, draws=draws)

    places = [file(tmp_path / "a.jsonl", change=probed), file(tmp_path / "b.jsonl", seed=1)]
    found = compare(places, draws=99)
    second = found.table().split("\n\n")[2].splitlines()
    assert second[0].split() == ["NAOPC", "↑"]
    assert [line.split()[0] for line in second[1:]] == ["a", "95", "random", "b", "95"]
    assert "What other edits show" in found.page()
    assert "What other edits show" not in compare(places[1:]).page()


def test_the_papers_numbers_for_other_data_are_warned_of(tmp_path):
    place = run(tmp_path / "a")
    for name, told in (("demo", True), ("SST", False)):
        change_saved(place, data={"name": name, "split": "test", "number": 60})
        warnings = compare([place], paper="sst").warnings
        assert any("These texts are of 'demo', not SST" in note for note in warnings) == told
