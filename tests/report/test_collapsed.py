"""Classifiers that say the same to every text, and where tables warn of them."""

import pytest
from sample_records import record

from unirex.evaluation.summary import Summary
from unirex.metrics.performance import Collapse, collapse_of
from unirex.report.grid import Cell, Grid, Head
from unirex.report.table import markdown, table


@pytest.mark.parametrize(
    ("counts", "found"),
    [
        ({("neg", "neg"): 6, ("neg", "pos"): 4}, Collapse("neg", 1.0)),
        ({("neg", "neg"): 5, ("neg", "pos"): 4}, None),  # too few texts
        ({("neg", "neg"): 50}, None),  # nothing else to say
        ({("neg", "neg"): 50, ("neg", "pos"): 49, ("pos", "pos"): 1}, Collapse("neg", 0.99)),
        ({("neg", "neg"): 50, ("neg", "pos"): 48, ("pos", "pos"): 2}, None),
        ({("neg", "neg"): 995, ("pos", "pos"): 5}, None),  # the texts are so, and it knows
        ({("neg", "neg"): 995, ("neg", "pos"): 5}, Collapse("neg", 1.0)),
        ({("B", "A"): 4, ("B", "B"): 3, ("B", "C"): 3}, Collapse("B", 1.0)),  # letters of choices
        ({(0, 1): 9, (0, 0): 9, (1, 1): 0}, Collapse(0, 1.0)),
        ({}, None),
    ],
)
def test_what_counts_as_collapsed(counts, found):
    assert collapse_of(counts) == found


def evaluation(predicted, name="slm-x", **more):
    made = [
        record(f"{at}", "good film", predicted=one, label=("neg", "pos")[at % 2], **more)
        for at, one in enumerate(predicted)
    ]
    return Summary.of(name, made, ("neg", "pos"))


def test_the_table_of_an_evaluation_warns():
    summary = evaluation(["neg"] * 12)
    shown = " ".join(summary.table().split())
    assert "warning: slm-x answers 'neg' to every text: its accuracy is that of this one answer." in shown
    assert summary.plain()["collapsed"] == "neg"


def test_nearly_all_is_said_as_such():
    summary = evaluation([*["neg"] * 249, "pos"])
    assert "answers 'neg' to 99.6 % of the texts" in " ".join(summary.table().split())


def test_a_classifier_that_looks_is_not_warned_of():
    summary = evaluation(["neg", "pos"] * 6)
    assert "warning" not in summary.table() and summary.plain()["collapsed"] is None


def test_notes_and_warnings_stand_below_any_table():
    rows = {"a": {"accuracy": 0.5}}
    assert table(rows, notes=["note: b"], warnings=["c"]).endswith("\n\nnote: b\nwarning: c")
    assert markdown(rows, notes=["b"], warnings=["c|d"]).endswith("\n\nb\n\n**Warning:** c\\|d")


def grid(sign="†"):
    cell = Cell("0.000", mark=sign, numbers={"": 0.0})
    other = Cell("0.100", strong=True, numbers={"": 0.1})
    body = [[Cell("fresh"), cell], [Cell("slm"), other], [Cell("aa"), Cell("0.200", numbers={"": 0.2})]]
    return Grid([Head("", "method"), Head("Suff ↓", "sufficiency")], body, "Said.", ["† By 100 %."], ["<b>."])


def test_marks_hang_over_the_edge_like_stars():
    lines = grid().text().splitlines()
    assert lines[1:4] == ["fresh   0.000†", "slm     0.100*", "aa      0.200"]
    assert lines[5:] == ["Said.", "† By 100 %.", "warning: <b>."]


def test_marks_in_every_format():
    assert "| fresh | 0.000† |" in grid().markdown()
    latex = grid().latex()
    assert r"fresh & 0.000$^{\dagger}$ \\" in latex
    assert (
        r"\footnotesize $^{\dagger}$ By 100 \%." in latex and r"Warning: \textless{}b\textgreater{}." in latex
    )
    assert latex.index(r"\end{tabular}") < latex.index("By 100") < latex.index(r"\end{table}")
    html = grid().html()
    assert "0.000<sup>†</sup>" in html and '<p class="warning" role="note">Warning: &lt;b&gt;.</p>' in html
    assert html.index("Warning") < html.index("<table")
    assert grid().csv().splitlines() == [
        "method,sufficiency,note", "fresh,0.0,By 100 %.", "slm,0.1,", "aa,0.2,"
    ]  # fmt: skip
