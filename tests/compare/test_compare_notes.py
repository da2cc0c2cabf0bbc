"""Numbers that are so by construction, and predictors that say one thing to all: every table says so."""

import csv
import io
from dataclasses import replace

import pytest
from made import LABELS, records

from unirex.comparison import compare
from unirex.comparison.page import (
    classes_table,
    differences_table,
    lengths_table,
    outcomes_table,
    removals_table,
)
from unirex.evaluation.record_files import write_records
from unirex.evaluation.summary import Summary

SELECTS = "Suff is 0 by construction"
FORMS = ("text", "markdown", "latex")


def selecting(made):
    """The same systems, had they predicted from the rationale: what is kept is what was predicted."""

    def own(views):
        return replace(views, whole=views.kept)

    return [
        replace(
            record,
            views=tuple(own(views) for views in record.views),
            draws=tuple(replace(draw, views=own(draw.views)) for draw in record.draws),
        )
        for record in made
    ]


def constant(made):
    """The same texts, but one answer to all."""
    return [replace(record, predicted="neg", target="neg", probabilities=(0.9, 0.1)) for record in made]


def compared(folder, **made):
    for name, of_method in made.items():
        write_records(folder / f"{name}.jsonl", of_method)
    return compare({name: folder / f"{name}.jsonl" for name in made}, draws=200)


def csv_rows(comparison):
    return {row["method"]: row for row in csv.DictReader(io.StringIO(comparison.table("csv")))}


@pytest.fixture(scope="module")
def found(tmp_path_factory):
    return compared(
        tmp_path_factory.mktemp("cautions"),
        good=records(faithful=0.6),
        bad=records(faithful=0.0, seed=1),
        fresh=selecting(records(faithful=0.5, seed=2, budgets=(10.0,))),
        usual=records(faithful=0.3, seed=4),
    )


def plain(text):
    return " ".join(text.split())


@pytest.mark.parametrize("form", FORMS)
def test_what_is_so_by_construction_is_marked_and_said(found, form):
    shown, sign = found.table(form), r"0.000$^{\dagger}$" if form == "latex" else "0.000†"
    row = next(line for line in shown.splitlines() if line.lstrip("| ").startswith("fresh"))
    assert sign in row
    raw = found.methods[2].value("comprehensiveness_mean")
    assert SELECTS in plain(shown) and f"raw it is {raw:.3f} for fresh (K = 1: 10" in plain(shown)
    assert found.methods[2].value("comprehensiveness") == pytest.approx(raw / 2)


def test_csv_says_it_in_a_column(found):
    rows = csv_rows(found)
    assert float(rows["fresh"]["sufficiency"]) == 0.0 and SELECTS in rows["fresh"]["note"]
    assert rows["good"]["note"] == ""


def test_a_sufficiency_by_construction_is_neither_tested_nor_the_best(found):
    for key in ("sufficiency", "csd", "comprehensiveness"):  # the last as its budget is its own
        assert not any("fresh" in (test.first, test.second) for test in found.differences(key))
        assert found.best(key) == {"good"}
    assert any("fresh" in (test.first, test.second) for test in found.differences("accuracy"))
    caption = differences_table(found).caption
    assert "fresh" in caption and "by construction" in caption


def test_at_the_same_budgets_comprehensiveness_is_tested(tmp_path):
    found = compared(tmp_path, a=records(faithful=0.2), b=selecting(records(faithful=0.7, seed=1)))
    assert len(found.differences("comprehensiveness")) == 1 and not found.differences("sufficiency")


def test_a_budget_of_its_own_is_no_mistake_and_nothing_is_left_out(found):
    assert not any("left out" in one for one in found.warnings)
    assert found.methods[2].value("comprehensiveness") > 0


def test_further_tables_mark_it_too(found):
    grids = [removals_table(found), lengths_table(found, ["csd"]), outcomes_table(found, ["csd"])]
    for grid in grids:
        assert any(cell.mark == "†" for row in grid.body for cell in row)
        assert any("by construction" in note for note in grid.notes)
    assert SELECTS in plain(found.table(runs=True))
    page = found.page()
    assert "<sup>†</sup>" in page and SELECTS in page


WARNED = "constant answers 'neg' to every text"


@pytest.fixture(scope="module")
def collapsed(tmp_path_factory):
    made = {"real": records(), "constant": constant(records(seed=3, faithful=0.0))}
    made |= {f"other{seed}": records(seed=seed, plausible=0.9) for seed in (4, 5)}
    return compared(tmp_path_factory.mktemp("collapsed"), **made)


@pytest.mark.parametrize("form", FORMS)
def test_a_collapsed_predictor_is_warned_of_in_every_format(collapsed, form):
    assert WARNED in plain(collapsed.table(form)) and "arning:" in collapsed.table(form)
    assert WARNED in plain(collapsed.table(form, runs=True))


def test_a_collapsed_predictor_is_warned_of_on_the_page_and_in_csv(collapsed):
    page = collapsed.page()
    assert 'class="warning"' in page and "constant answers &#x27;neg&#x27; to every text" in page
    assert csv_rows(collapsed)["constant"]["note"].startswith("Collapsed")
    grids = [make(collapsed) for make in (classes_table, removals_table, differences_table)]
    for grid in (*grids, lengths_table(collapsed, ["csd"])):
        assert any("Collapsed" in note for note in grid.notes)
        signs = [cell.mark for row in grid.body for cell in row] + [head.text[-1:] for head in grid.head]
        assert "‡" in signs


def test_relative_gain_is_shown_without_the_collapsed(collapsed):
    gains = collapsed.gains["constant"]
    assert gains.collapsed and "answers 'neg' to every text" in gains.reason and gains.guarded == 0.0
    assert "CNRG guarded" in collapsed.table()


def test_the_seeds_that_collapsed_are_named(tmp_path):
    places = [tmp_path / f"{seed}.jsonl" for seed in range(3)]
    for seed, path in enumerate(places):
        write_records(path, constant(records(seed=seed)) if seed else records())
    shown = plain(compare({"slm": places, "other": [places[0]]}, draws=99).table())
    assert "slm (run 2, run 3) answers 'neg' to every text" in shown


@pytest.mark.drawn
def test_what_a_label_is_called_stays_text(tmp_path):
    evil = "<script>alert(1)</script>"
    made = [
        replace(record, labels=(evil, "pos"), predicted=evil, target=evil, label=evil if at % 2 else "pos")
        for at, record in enumerate(records(number=20))
    ]
    found = compared(tmp_path, a=made)
    page = found.page()
    assert evil not in page and "&lt;script&gt;alert(1)&lt;/script&gt;" in page
    assert r"\textless{}script\textgreater{}" in found.table("latex")
    assert r"\<script>" in found.table("markdown") and "a answers " in found.table()


def test_ordinary_methods_have_neither_marks_nor_warnings(tmp_path):
    found = compared(tmp_path, a=records(), b=records(seed=1))
    for form in (*FORMS, "csv"):
        assert not {"†", "‡"} & set(found.table(form)) and "arning" not in found.table(form)
        assert "dagger" not in found.table(form) and "guarded" not in found.table(form)
    page = found.page()
    assert "<sup>" not in page and 'class="warning"' not in page


def test_what_a_summary_keeps_is_read_back():
    fresh = Summary.of("fresh", selecting(constant(records(number=30))), LABELS).plain()
    assert fresh["collapsed"] == "neg" and fresh["settings"]["predicts_from"] == "rationale"
    ordinary = Summary.of("ordinary", records(number=30), LABELS).plain()
    assert ordinary["collapsed"] is None and ordinary["settings"]["predicts_from"] == "text"


def test_who_is_known_to_answer_differently_is_not_guarded_against(found):
    assert found.gains["fresh"].collapsed  # by its numbers: warned of
    assert found.gains["fresh"].guarded is None and "guarded" not in found.table()
