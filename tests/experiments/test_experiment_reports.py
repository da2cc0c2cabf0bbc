"""Every experiment runs at its smallest scale and reports what it has."""

import re

import pytest

from studies import tidy
from unirex.experiments.definition_file import experiment_names
from unirex.experiments.results import StudyResults, with_interval
from unirex.experiments.saved import load_study


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
    for row in rows if table else ():
        if row["metric"] == "accuracy":  # every row of the table has its own numbers
            line = next(line for line in table.splitlines() if line.startswith(f"| {shown_name(row)} |"))
            assert f"{100 * float(row['value']):.1f}" in line


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
    gains = (studied("main") / "report" / "gains-planted.md").read_text("utf-8")
    assert "| CNRG ↑ |" in gains and all(f"| {name} |" in gains for name in ("L2E", "FRESH", "SLM-FPO"))
    cost = (studied("efficiency") / "report" / "table-planted.md").read_text("utf-8")
    assert "AA (IG) (steps 10)" in cost and "s/text" in cost
    marked = (studied("qualitative") / "report" / "examples-planted.tex").read_text("utf-8")
    assert r"\textbf{" in marked and "Gold &" in marked


def test_the_interval_of_an_f1_follows_from_its_confusion_matrix(studied):
    results = StudyResults(load_study(studied("efficiency")), studied("efficiency"))
    saved = results.saved(results.finished[0])
    known = saved["intervals"].pop("binary_f1")
    assert with_interval(saved)["intervals"]["binary_f1"] == known
