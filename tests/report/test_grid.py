"""One table, five ways to write it; in each, what is data stays data."""

import csv
import io
import re

import pytest

from unirex.errors import UserError
from unirex.report.grid import Cell, Grid, Head

EVIL = "<script>alert(1)</script> & 100 % of_a|b \\ $x$ {y} #1 ~ ^ *z*"


def grid(name="slm-fp"):
    head = [
        Head("", "method"),
        Head("Acc ↑", "accuracy", "Performance"),
        Head("CSD ↑", "csd", "Faithfulness"),
    ]
    body = [
        [
            Cell(name, under="95 %"),
            Cell("93.5", strong=True, under="92.1–94.6", numbers={"": 0.935, "low": 0.921, "high": 0.946}),
            Cell("-0.020", under="-0.030 to -0.010", numbers={"": -0.02, "low": -0.03, "high": -0.01}),
        ],
        [
            Cell("random", quiet=True),
            Cell("50.0 ± 1.2", quiet=True, numbers={"": 0.5, "std": 0.012}),
            Cell("–", quiet=True),
        ],
    ]
    return Grid(head, body, "A caption of 5 %.")


def test_text_is_aligned_by_digits_and_stars_what_is_strong():
    assert grid().text().splitlines() == [
        "             Acc ↑              CSD ↑",
        "slm-fp        93.5*            -0.020",
        "  95 %   92.1–94.6   -0.030 to -0.010",
        "random  50.0 ± 1.2                  –",
        "",
        "A caption of 5 %.",
    ]


def test_markdown_is_bold_and_italic():
    lines = grid().markdown().splitlines()
    assert lines[2] == "| slm-fp | **93.5** (92.1–94.6) | -0.020 (-0.030 to -0.010) |"
    assert lines[3] == "| *random* | *50.0 ± 1.2* | *–* |"
    assert lines[-1] == "A caption of 5 %."


def test_csv_has_raw_numbers_in_columns_of_their_own():
    head, first, second = csv.reader(io.StringIO(grid(EVIL).csv()))
    assert head == [
        "method", "accuracy", "accuracy_std", "accuracy_low", "accuracy_high", "csd", "csd_low", "csd_high"
    ]  # fmt: skip
    assert first == [EVIL, "0.935", "", "0.921", "0.946", "-0.02", "-0.03", "-0.01"]
    assert second == ["random", "0.5", "0.012", "", "", "", "", ""]


def test_latex_is_booktabs_with_every_sign_escaped():
    shown = grid(EVIL).latex()
    assert r"93.5} {\scriptsize (92.1--94.6)}" in shown and r"\textbf{93.5}" in shown
    assert r"Acc $\uparrow$" in shown and r"50.0 $\pm$ 1.2" in shown and r"\textcolor{gray}{random}" in shown
    assert r"$-$0.020 {\scriptsize ($-$0.030 to $-$0.010)}" in shown
    assert r"\multicolumn{1}{c}{Performance}" in shown and r"\cmidrule(lr){2-2} \cmidrule(lr){3-3}" in shown
    assert r"\caption{A caption of 5 \%.}" in shown
    assert [shown.count(rf"\{rule}rule") for rule in ("top", "mid", "bottom")] == [1, 1, 1]


def test_latex_has_a_minus_before_numbers_only():
    cell = Cell("0.289", under="0.286–0.292", numbers={"": 0.289})
    other = Cell("-0.001 ± 0.020", under="-0.030 to 0.010", numbers={"": -0.001})
    shown = Grid([Head(""), Head("A"), Head("B")], [[Cell("a-0.5"), cell, other]]).latex()
    assert r"0.289 {\scriptsize (0.286--0.292)}" in shown and "a-0.5" in shown
    assert r"$-$0.001 $\pm$ 0.020 {\scriptsize ($-$0.030 to 0.010)}" in shown


def test_latex_is_balanced_whatever_is_in_a_name():
    shown = "\n".join(grid(EVIL).latex().splitlines()[1:])  # the first line is a comment
    bare = re.sub(r"\\[{}$&%#_]", "", shown)  # what is escaped prints as it is
    assert bare.count("{") == bare.count("}") and bare.count("$") % 2 == 0
    assert "%" not in bare and "#" not in bare and "~" not in bare and "^" not in bare
    rows = [line for line in bare.splitlines() if line.endswith(r"\\")]
    assert {line.count("&") for line in rows} == {2}
    assert shown.count(r"\begin{") == shown.count(r"\end{") == 2


def test_html_escapes_and_groups():
    shown = grid(EVIL).html()
    assert "<script" not in shown and "&lt;script&gt;" in shown
    assert '<th scope="colgroup" colspan="1" class="group">Performance</th>' in shown
    assert "<strong>93.5</strong><small>92.1–94.6</small>" in shown
    assert '<tr class="floor">' in shown


def test_a_grid_without_rows_or_groups_is_written_too():
    empty = Grid([Head("", "method"), Head("Acc", "accuracy")], [])
    assert empty.csv() == "method,accuracy\n"
    assert empty.text() == "  Acc"
    assert "multicolumn" not in empty.latex() and "colgroup" not in empty.html()


def test_names_cannot_steer_the_terminal_nor_break_markdown():
    assert "\x1b" not in grid("\x1b[31mred").text()
    assert "| a\\|b␊\\*c\\* \\<i> |" in grid("a|b\n*c* <i>").markdown()


def test_an_unknown_format_is_named():
    with pytest.raises(UserError, match="unknown format 'latx'; did you mean 'latex'"):
        grid().written("latx")


def marked():
    cell = Cell("0.000", mark="†", numbers={"": 0.0})
    other = Cell("0.100", strong=True, numbers={"": 0.1})
    body = [[Cell("fresh"), cell], [Cell("slm"), other], [Cell("aa"), Cell("0.200", numbers={"": 0.2})]]
    return Grid([Head("", "method"), Head("Suff ↓", "sufficiency")], body, "Said.", ["† By 100 %."], ["<b>."])


def test_marks_hang_over_the_edge_like_stars():
    lines = marked().text().splitlines()
    assert lines[1:4] == ["fresh   0.000†", "slm     0.100*", "aa      0.200"]
    assert lines[5:] == ["Said.", "† By 100 %.", "warning: <b>."]


def test_marks_in_every_format():
    assert "| fresh | 0.000† |" in marked().markdown()
    latex = marked().latex()
    assert r"fresh & 0.000$^{\dagger}$ \\" in latex
    assert (
        r"\footnotesize $^{\dagger}$ By 100 \%." in latex and r"Warning: \textless{}b\textgreater{}." in latex
    )
    assert latex.index(r"\end{tabular}") < latex.index("By 100") < latex.index(r"\end{table}")
    html = marked().html()
    assert "0.000<sup>†</sup>" in html and '<p class="warning" role="note">Warning: &lt;b&gt;.</p>' in html
    assert html.index("Warning") < html.index("<table")
    assert marked().csv().splitlines() == [
        "method,sufficiency,note", "fresh,0.0,By 100 %.", "slm,0.1,", "aa,0.2,"
    ]  # fmt: skip
