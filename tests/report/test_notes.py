"""Notes and warnings below tables, above all of classifiers that give one answer to all texts."""

import pytest
from sample_records import record

from unirex.evaluation.summary import Summary
from unirex.metrics.performance import Collapse, collapse_of
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


def test_a_classifier_that_looks_is_not_warned_of():
    summary = evaluation(["neg", "pos"] * 6)
    assert "warning" not in summary.table() and summary.plain()["collapsed"] is None


def test_notes_and_warnings_stand_below_any_table():
    rows = {"a": {"accuracy": 0.5}}
    assert table(rows, notes=["note: b"], warnings=["c"]).endswith("\n\nnote: b\nwarning: c")
    assert markdown(rows, notes=["b"], warnings=["c|d"]).endswith("\n\nb\n\n**Warning:** c\\|d")
