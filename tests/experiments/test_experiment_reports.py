"""Every experiment runs at its smallest scale and reports what it has."""

import re
from dataclasses import replace
from math import nan

import numpy as np
import pytest

from tiny_studies import command, tidy
from unirex.cli import main
from unirex.experiments import gains
from unirex.experiments.cells import Data
from unirex.experiments.definition_file import experiment_names
from unirex.experiments.results import StudyResults, with_interval
from unirex.experiments.saved import load_study
from unirex.report.plots import LinePanel, Series, lines


@pytest.mark.parametrize("name", experiment_names())
def test_every_experiment_runs(studied, name):
    folder = studied(name)
    study = load_study(folder)
    rows = tidy(folder)
    assert {row["row"] for row in rows} == {row.name for row in study.definition.rows}
    assert {"accuracy", "csd", "auprc"} <= {row["metric"] for row in rows}
    page = (folder / "report.html").read_text("utf-8")
    assert all(row.name in page for row in study.definition.rows)
    table = (folder / "report" / "table-planted.md").read_text("utf-8") if name != "qualitative" else ""
    heads = table.partition("\n")[0].split(" | ")
    for row in rows if table else ():
        if row["metric"] in SHOWN:  # every row of the table has its own numbers, each in its column
            line = next(line for line in table.splitlines() if line.startswith(f"| {shown_name(row)} |"))
            head, scale, decimals = SHOWN[row["metric"]]
            number = f"{scale * float(row['value']):.{decimals}f}".replace("-0.000", "0.000")
            assert number in line.split(" | ")[heads.index(head)]


SHOWN = {"accuracy": ("Acc ↑", 100, 1), "csd": ("CSD ↑", 1, 3), "auprc": ("AUPRC ↑", 100, 1)}


def shown_name(row: dict[str, str]) -> str:
    """The name of a row of results.csv in a table, with what varies."""
    varied = [(key, row[key]) for key in row if "." in key and row[key]]
    point = ", ".join(f"{key.rpartition('.')[2]} {value}" for key, value in varied)
    return (row["row"] + (f" ({point})" if point else "")).replace("*", r"\*")


def test_files_of_a_report(studied):
    assert {row["training.gold_fraction"] for row in tidy(studied("gold-efficiency"))} == {"10", "100", ""}
    for name, figure, texts in (
        ("main", "composite", ("L2E", "FRESH", "SLM-FPO")),
        ("main", "desiderata", ("faithfulness", "plausibility", "performance", "L2E", "SLM-FPO")),
        ("gold-efficiency", "auprc", ("AA (IG)", "UNIREX (SLM-FP)", "10", "100", "AUPRC ↑")),
        ("ablation", "intervals", ("AA-F (Rand)", "SLM-FP (Comp)", "CSD ↑", "AUPRC ↑")),
        ("efficiency", "cost", ("CSD ↑", "AUPRC ↑", "milliseconds a text", "AA (IG)", "SLM-FPO")),
        ("transfer", "intervals", ("AA (IG)", "SLM-FPO", "CSD ↑", "AUPRC ↑")),
    ):
        drawn = (studied(name) / "report" / f"{figure}-planted.svg").read_text("utf-8")
        missing = [text for text in texts if f">{text}<" not in drawn]
        assert not missing, re.findall(r">([^<>]+)</text>", drawn)[12:]
    gain_table = (studied("main") / "report" / "gains-planted.md").read_text("utf-8")
    assert "| CNRG ↑ | behind ↓ |" in gain_table
    assert all(f"| {name} |" in gain_table for name in ("L2E", "FRESH", "SLM-FPO"))
    cost = (studied("efficiency") / "report" / "table-planted.md").read_text("utf-8")
    assert "AA (IG) (steps 10)" in cost and "s/text" in cost
    marked = (studied("qualitative") / "report" / "examples-planted.tex").read_text("utf-8")
    assert r"\textbf{" in marked and "Gold &" in marked


def test_texts_that_are_chosen_are_shown(studied, place, tmp_path):
    studied("qualitative")  # which has trained the row
    file, chosen = tmp_path / "mine.yaml", ["test-5", "test-2"]
    file.write_text(
        "rows: {SLM-FPO: {method: slm-fpo}}\nmeasure: {draws: 0, beside: []}\nreport: [examples]\n"
        f"texts: [{', '.join(chosen)}]\n",
        "utf-8",
    )
    assert main(command("run", place, str(file), place / "chosen")) == 0
    shown = (place / "chosen" / "report" / "examples-planted.md").read_text("utf-8").replace("*", "")
    texts = {example.id: example.segments[0] for example in Data(str(place / "planted.jsonl")).load()["test"]}
    places = [shown.find(texts[name]) for name in chosen]
    assert -1 < places[0] < places[1]
    assert not [name for name in texts if name not in chosen and texts[name] in shown]


def test_bars_are_as_long_as_the_gains_and_marked_where_the_paper_is(studied):
    results = StudyResults(load_study(studied("main")), studied("main"))
    rows = gains.by_row(results.comparison("planted", "planted").gains)
    theirs = {"L2E": {"fnrg": 0.3, "pnrg": 0.2, "tnrg": 0.1, "cnrg": 0.25}}
    for draw, kinds in ((gains.composite, ["cnrg"]), (gains.desiderata, ["fnrg", "pnrg", "tnrg"])):
        drawn = draw(results, rows, theirs).drawn()
        taught, untaught = {"UNIREX (SLM-FP)", "SLM-FPO"}, {"AA (IG)", "L2E", "FRESH"}
        for axis, names in zip(drawn.axes, (untaught, taught), strict=True):
            assert {label.get_text() for label in axis.get_yticklabels()} == names
            expected = [rows[name][kind] for kind in kinds for name in rows if name in names]
            assert [bar.get_width() for bar in axis.patches] == pytest.approx(expected)
        marks = [line.get_xdata()[0] for axis in drawn.axes for line in axis.lines]
        assert [mark for mark in marks if not np.isnan(mark)] == [theirs["L2E"][kind] for kind in kinds]


def test_means_over_datasets_are_of_the_rows_that_all_have_placed_among_these(studied, monkeypatch):
    results = StudyResults(load_study(studied("main")), studied("main"))
    whole = results.comparison("planted", "planted")
    fewer = replace(whole, methods=[method for method in whole.methods if method.name != "FRESH"])
    table, composite, desiderata = gains.mean_sections(results, {"planted": whole, "other": fewer})
    (grid,) = table.tables
    by_name = {line[0].text: [cell.text for cell in line[1:]] for line in grid.body}
    among = fewer.gains["L2E"]
    assert "FRESH" not in by_name and table.title.endswith("mean of planted, other")
    assert by_name["L2E"][3:] == [f"{among.cnrg:.3f}"] * 3
    assert [part.figures[0].name for part in (composite, desiderata)] == ["composite-mean", "desiderata-mean"]
    paper = {"planted": 0.4, "other": 0.6}
    monkeypatch.setattr(
        gains, "published_gains", lambda results, on: {"L2E": dict.fromkeys(gains.KINDS, paper[on])}
    )
    (grid,) = next(gains.mean_sections(results, {"planted": whole, "other": fewer})).tables
    line = next(line for line in grid.body if line[0].text == "L2E")
    shown = {head.key: cell.text for head, cell in zip(grid.head, line, strict=True)}
    assert (shown["cnrg"], shown["cnrg_paper"], shown["other"]) == (
        f"{among.cnrg:.3f}",
        "0.500",
        shown["cnrg"],
    )
    assert not list(gains.mean_sections(results, {"planted": whole}))


def test_a_point_without_neighbours_has_its_interval():
    one = Series("a", [(1.0, 0.5, 1.5), (nan, nan, nan), (2.0, 1.5, 2.5), (3.0, 2.5, 3.5)], 0)
    (axis,) = lines([LinePanel("", "x", "y", ["1", "2", "3", "4"], [one])]).axes
    (alone,) = [part for part in axis.collections if type(part).__name__ == "LineCollection"]
    assert [part.tolist() for part in alone.get_segments()] == [[[0.0, 0.5], [0.0, 1.5]]]


def test_the_interval_of_an_f1_follows_from_its_confusion_matrix(studied):
    results = StudyResults(load_study(studied("efficiency")), studied("efficiency"))
    saved = results.saved(results.finished[0])
    known = saved["intervals"].pop("binary_f1")
    assert with_interval(saved)["intervals"]["binary_f1"] == known
