"""Tables: aligned, directed, and honest about what is missing."""

import math

from unirex.report import markdown, table
from unirex.report.table import cell, columns_of

ROWS = {
    "slm-fp": {
        "accuracy": 0.9349,
        "sufficiency": -0.00001,
        "comprehensiveness": 0.25,
        "auprc": 0.5,
        "csd@5": 0.1,
        "auprc/correct": 0.6,
    },
    "random 🎲": {"accuracy": 0.5, "sufficiency": math.nan, "my own": 1.5},
}


def test_numbers_are_shown_the_way_they_are_read():
    assert table(ROWS).splitlines() == [
        "           Acc ↑  Comp ↑  Suff ↓  AUPRC ↑  my own",
        "slm-fp      93.5   0.250   0.000     50.0       –",
        "random 🎲   50.0       –       –        –   1.500",
    ]


def test_columns_follow_the_desiderata_and_leave_out_budgets_and_parts_unless_asked():
    assert columns_of(ROWS) == ["accuracy", "comprehensiveness", "sufficiency", "auprc", "my own"]
    assert table(ROWS, ["csd@5"]).splitlines()[0].strip() == "CSD@5 ↑"
    assert table(ROWS, ["auprc/correct"]).splitlines()[0].strip() == "AUPRC correct ↑"


def test_markdown_has_the_same_cells():
    lines = markdown(ROWS, ["accuracy", "sufficiency"]).splitlines()
    assert lines == [
        "|  | Acc ↑ | Suff ↓ |",
        "|:--|--:|--:|",
        "| slm-fp | 93.5 | 0.000 |",
        "| random 🎲 | 50.0 | – |",
    ]


def test_intervals_stand_under_their_numbers_in_the_same_units():
    known = {"accuracy": (0.9, 0.95), "sufficiency": (-0.01, 0.02), "comprehensiveness": (math.nan, math.nan)}
    keys = ["accuracy", "comprehensiveness", "sufficiency"]
    assert table(ROWS, keys, {"slm-fp": known}).splitlines() == [
        "               Acc ↑  Comp ↑           Suff ↓",
        "slm-fp          93.5   0.250            0.000",
        "  95 %     90.0–95.0          -0.010 to 0.020",
        "random 🎲       50.0       –                –",
    ]


def test_names_cannot_break_out_of_their_cell():
    shown = markdown({"a|b\nc": {"accuracy": 1.0}})
    assert "| a\\|b␊c | 100.0 |" in shown and len(shown.splitlines()) == 3
    assert "\x1b" not in table({"\x1b[31mred": {"accuracy": 1.0}})


def test_no_rows_is_an_empty_table():
    assert table({}) == ""
    assert markdown({}).splitlines()[1] == "|:--|"


def test_missing_is_not_zero():
    assert cell("accuracy", 0.0) == "0.0"
    assert cell("accuracy", None) == cell("accuracy", math.nan) == "–"
