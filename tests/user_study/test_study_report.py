"""The report of a study, from scripted annotators whose differences are known; and planning its size."""

import csv
import json
import re
import sys
from pathlib import Path

import pytest
from studies import definition, item, joined, study

sys.path.append(str(Path(__file__).resolve().parents[1] / "report"))
from page_reader import Page
from sample_records import NASTY

from commands import fails, succeeds
from unirex.errors import UserError
from unirex.user_study import Arm, Reply, UserStudy
from unirex.user_study.analysis import ALIGNMENT, Analysis
from unirex.user_study.answers import read_answers
from unirex.user_study.power import power
from unirex.user_study.report import report_page, report_sections, results_table
from unirex.user_study.simulate import Spread, make_script, simulate_answers

MEANS = {"accuracy": {"A": 0.95, "B": 0.4}, "alignment": {"A": 4.5, "B": 2.0}}


@pytest.fixture(scope="module")
def filled(tmp_path_factory):
    made = study(tmp_path_factory.mktemp("filled") / "s", annotators=4)
    simulate_answers(made, make_script(made.definition, **MEANS))
    return made


def test_planted_differences_are_found(filled):
    analysis = Analysis(filled)
    accuracy, alignment = analysis.results["accuracy"], analysis.results["alignment"]
    assert accuracy["A"].mean > 0.8 > 0.6 > accuracy["B"].mean and "No Rationale" not in alignment
    assert accuracy["A"].low <= accuracy["A"].mean <= accuracy["A"].high and accuracy["A"].answers == 32
    pair = next(pair for pair in analysis.tests["alignment"] if (pair.first, pair.second) == ("A", "B"))
    assert pair.result.difference > 1.5 and pair.result.p_value <= pair.corrected < 0.05
    assert analysis.best(ALIGNMENT) == {"A"}


def test_means_are_those_of_the_answers(filled):
    rows = [row for row in read_answers(filled) if row.part == "main" and row.method == "B"]
    right = [row.correct for row in rows if row.task == "simulation"]
    points = [row.alignment for row in rows if row.task == "rating"]
    results = Analysis(filled).results
    assert results["accuracy"]["B"].mean == pytest.approx(sum(right) / len(right))
    assert results["alignment"]["B"].mean == pytest.approx(sum(points) / len(points))


def test_agreement_is_over_texts_in_an_arm(filled):
    agreement = Analysis(filled).agreement
    assert (agreement["accuracy"].questions, agreement["accuracy"].annotators) == (32, 4)
    assert agreement["alignment"].questions == 24
    assert agreement["accuracy"].kappa > agreement["confidence"].kappa  # labels are what people agree on


def test_the_published_row_stands_beside(filled):
    table = results_table(Analysis(filled))
    written = {row[0].text: [cell.text for cell in row] for row in table.body}
    assert "83.6 ± 5.4" in written["A"] and "3.64 ± 0.28" in written["B"]
    assert "72.0 ± 7.8" in written["paper: UNIREX (AA-FP)"]
    assert any("simulated" in warning for warning in table.warnings)


def obeyed(question, *, attentive):
    """The answer that an attention check asks for, or another one; 3 points elsewhere."""
    asked = re.search(r"(?:“(\w+)” and confidence|alignment) (\d)", question.segments[-1])
    label, points = (asked[1] or "pos", int(asked[2])) if asked else ("pos", 3)
    if asked and not attentive:
        points = points % 4 + 1
    return Reply(label, points) if question.task == "simulation" else Reply(alignment=points)


def test_who_fails_attention_checks_can_be_left_out(tmp_path):
    made = study(tmp_path / "s", annotators=2)
    for number in range(2):
        person = joined(made, number)
        while (question := made.next(person)) is not None:
            made.answer(person, question, obeyed(question, attentive=number == 0), seconds=1)
    assert dict(Analysis(made).failed) == {"a02": 2}
    assert Analysis(made).annotators == ["a01", "a02"] and not Analysis(made).simulated
    assert Analysis(made, max_failed=1).annotators == ["a01"]
    with pytest.raises(UserError, match="people have answered here"):
        simulate_answers(made, make_script(made.definition))


def test_learning_compares_before_and_after(tmp_path):
    made = study(tmp_path / "s", annotators=4, design="learning")
    simulate_answers(made, make_script(made.definition))
    results = Analysis(made).results
    for arm in ("A", "B"):
        gain = results["post"][arm].mean - results["pre"][arm].mean
        assert results["change"][arm].mean == pytest.approx(gain)
    assert Analysis(made).tests["change"][0].result.difference == pytest.approx(
        results["change"]["A"].mean - results["change"]["B"].mean
    )


def test_hostile_names_and_texts_are_inert(tmp_path):
    arms = (Arm(NASTY), Arm("B"))
    items = [
        item(n, role) for role, size in {"main": 4, "practice": 1, "check": 1}.items() for n in range(size)
    ]
    items = [
        type(one)(one.id, (NASTY,), {**one.showings, NASTY: one.showings["A"]}, one.role) for one in items
    ]
    made = UserStudy.create(
        tmp_path / "s",
        definition(title=NASTY, arms=arms, items=tuple(items), rounds=2, tasks=("rating",)),
        annotators=2,
    )
    simulate_answers(made, make_script(made.definition))
    analysis = Analysis(UserStudy.open(tmp_path / "s"))
    page = Page(report_page(analysis, report_sections(analysis)))
    assert page.harmless


def test_the_commands(tmp_path, capsys):
    folder = tmp_path / "s"
    study(folder, annotators=3)
    assert "nothing has been answered" in fails(capsys, "study", "report", folder)
    wrong = fails(capsys, "study", "simulate", folder, "--accuracy", json.dumps({"C": 0.5}))
    assert "unknown arm of the study 'C'" in wrong
    assert "simulated answers" in succeeds(capsys, "study", "simulate", folder, "--accuracy", '{"B": 0.3}')
    out = succeeds(capsys, "study", "report", folder)
    assert "Fleiss' κ" in out and "SGT+P" not in out and "A − B" in out
    assert "warning: These answers were simulated" in out
    names = {path.name for path in (folder / "report").iterdir()}
    assert {"results.csv", "results.tex", "agreement.md", "study-accuracy.svg"} <= names
    assert Page((folder / "report.html").read_text("utf-8")).harmless
    succeeds(capsys, "study", "export", folder, tmp_path / "a.csv")
    succeeds(capsys, "study", "export", folder, tmp_path / "a.jsonl")
    rows = list(csv.DictReader((tmp_path / "a.csv").read_text("utf-8").splitlines()))
    plain = [json.loads(line) for line in (tmp_path / "a.jsonl").read_text("utf-8").splitlines()]
    assert len(rows) == len(plain) and rows[0]["annotator"] == plain[0]["annotator"] == "a01"
    codes = UserStudy.open(folder).codes().values()
    assert not any(code in (tmp_path / "a.csv").read_text("utf-8") for code in codes)
    assert "exists already" in fails(capsys, "study", "export", folder, tmp_path / "a.csv")
    assert "ends in .csv or .jsonl" in fails(capsys, "study", "export", folder, tmp_path / "a.txt")
    assert "a02 has withdrawn; 60 answers deleted" in succeeds(capsys, "study", "withdraw", folder, "a02")
    assert "no annotator has the name" in fails(capsys, "study", "withdraw", folder, "a99")
    status = succeeds(capsys, "study", "status", folder, "--add", 1)
    assert "withdrawn" in status and "a04" in status
    assert "no user study here" in fails(capsys, "study", "status", tmp_path)


def test_power_grows_with_people_and_is_small_without_a_difference(capsys):
    settings = {"items": 20, "repeats": 40}
    few, many = (power("accuracy", (0.9, 0.65), people=people, **settings) for people in (3, 12))
    assert few < many and many > 0.6
    assert power("alignment", (3.5, 3.5), people=5, **settings) <= 0.15
    calm = Spread(0, 0, 0, 0)
    assert power("alignment", (2.5, 4.0), people=4, rounds=1, spread=calm, **settings) > 0.9
    sizes = ["--items", 10, 20, "--people", 4, "--repeats", 20]
    out = succeeds(capsys, "study", "power", "--alignment", 2.5, 4, *sizes)
    assert "20 items" in out and "4 people" in out
    assert "two means" in fails(capsys, "study", "power")
    assert "at least two of each" in fails(capsys, "study", "power", "--accuracy", 0.5, 0.6, "--items", 1)
