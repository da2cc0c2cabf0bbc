"""What is bold: the best, and whoever cannot be told apart from it, if anybody can be."""

import re
from dataclasses import replace

import numpy as np
import pytest
from made import file, records, run

from unirex.comparison import compare
from unirex.comparison.page import differences_table
from unirex.comparison.significance import Difference, best, whole_set_score
from unirex.errors import UserError
from unirex.evaluation.record_files import write_records


@pytest.fixture(scope="module")
def planted(tmp_path_factory):
    """Two methods with the same faithfulness, one without; all as accurate; one plausible."""
    folder = tmp_path_factory.mktemp("planted")
    how = {"number": 120, "right": 0.85}
    places = {
        "faithful": file(folder / "a.jsonl", faithful=0.5, plausible=0.9, **how, seed=11),
        "also": file(folder / "b.jsonl", faithful=0.5, plausible=0.1, **how, seed=12),
        "not": file(folder / "c.jsonl", faithful=0.1, plausible=0.1, **how, seed=13),
    }
    return compare(places, draws=1999)


def places_of(methods):
    return {method.name: method.runs[0].source.folder for method in methods}


def test_ties_for_the_best_are_all_bold_and_the_worse_is_not(planted):
    assert planted.best("csd") == {"faithful", "also"}
    assert planted.best("auprc") == {"faithful"}


def test_nothing_is_bold_where_nobody_is_worse(planted):
    assert planted.best("accuracy") == set()
    row = planted.table("markdown").splitlines()[2]
    assert re.match(r"\| faithful \| \d", row) and row.count("**") >= 4


def test_lower_is_better_where_it_is(planted):
    suff = {one.name: one.value("sufficiency") for one in planted.methods}
    assert min(suff, key=suff.get) in planted.best("sufficiency") and "not" not in planted.best("sufficiency")


def test_every_pair_is_tested_and_corrected_within_its_metric(planted):
    found = planted.differences("csd")
    pairs = [("faithful", "also"), ("faithful", "not"), ("also", "not")]
    assert [(test.first, test.second) for test in found] == pairs
    for test in found:
        assert test.corrected >= test.p_value and test.low <= test.difference <= test.high
        assert test.pairs == 120
    assert [test.significant for test in found] == [False, True, True]
    assert found[1].p_value == pytest.approx(1 / 2000) and found[1].corrected == pytest.approx(3 / 2000)
    assert len(planted.tests()) == 3 * len(planted.columns)


def test_a_difference_is_that_of_the_table(planted):
    for key in ("accuracy", "csd", "auprc"):
        one = planted.differences(key)[0]
        first, second = planted.methods[0].value(key), planted.methods[1].value(key)
        assert one.difference == pytest.approx(first - second)


def test_macro_f1_and_ece_are_tested_though_they_are_no_means(tmp_path):
    places = {
        "good": file(tmp_path / "a.jsonl", right=0.95, seed=1),
        "bad": file(tmp_path / "b.jsonl", right=0.5, seed=2),
    }
    found = compare(places, columns=["macro_f1", "ece"], draws=400)
    assert found.best("macro_f1") == {"good"} and found.best("ece") == {"good"}
    for key in ("macro_f1", "ece"):
        (one,) = found.differences(key)
        assert one.difference == pytest.approx(found.methods[0].value(key) - found.methods[1].value(key))


def test_labels_that_a_tool_writes_as_text_are_the_same_labels(tmp_path):
    def written(kind):
        label = {"neg": kind(0), "pos": kind(1)}
        return lambda one: replace(
            one,
            label=label[one.label],
            predicted=label[one.predicted],
            target=label[one.target],
            labels=tuple(label.values()),
        )

    ours = file(tmp_path / "a.jsonl", right=0.7, seed=1, change=written(int))
    tools = [file(tmp_path / f"{seed}.jsonl", right=0.9, seed=seed, change=written(str)) for seed in (2, 3)]
    found = compare({"ours": ours, "one": tools[0], "two": tools[1]}, columns=["macro_f1"], draws=99)
    value = {method.name: method.value("macro_f1") for method in found.methods}
    for test in found.tests():
        assert test.difference == pytest.approx(value[test.first] - value[test.second])


def test_a_stray_answer_is_counted_in_the_interval_of_its_method(tmp_path):
    def bare(one):
        stray = "zz" if one.id == "text-3" else one.predicted
        keys = dict.fromkeys(("labels", "probabilities", "views", "budgets", "sequences"), ())
        return replace(one, predicted=stray, target=stray, **keys)

    seeds = [file(tmp_path / f"{seed}.jsonl", right=0.9, seed=seed, change=bare, draws=0) for seed in (4, 5)]
    other = file(tmp_path / "6.jsonl", right=0.8, seed=6, change=bare, draws=0)
    method = compare({"A": seeds, "B": other}, columns=["macro_f1"], draws=99).methods[0]
    low, high = method.interval("macro_f1")
    assert method.labels is None and low < method.value("macro_f1") < high < 0.7


def test_a_method_that_does_not_know_what_is_right_leaves_the_tests_of_others(tmp_path):
    def bare(**changed):
        keys = dict.fromkeys(("labels", "probabilities", "views", "budgets", "sequences"), ())
        return lambda one: replace(one, **keys, **changed)

    without = file(tmp_path / "a.jsonl", seed=1, change=bare(label=None), draws=0)
    others = [
        file(tmp_path / f"{right}.jsonl", right=right, seed=2, change=bare(), draws=0)
        for right in (0.5, 0.95)
    ]
    for places in ([without, *others], [*others, without]):
        found = compare(places, columns=["macro_f1"], draws=99)
        known = [test for test in found.tests() if not np.isnan(test.difference)]
        assert [abs(test.difference) > 0.2 for test in known] == [True]


def test_seeds_of_unequal_numbers_are_averaged(tmp_path):
    places = {
        "two": [file(tmp_path / f"a{seed}.jsonl", seed=seed, faithful=0.5) for seed in (1, 2)],
        "three": [file(tmp_path / f"b{seed}.jsonl", seed=seed, faithful=0.2) for seed in (3, 4, 5)],
    }
    found = compare(places, draws=500)
    two, three = found.methods
    (csd,) = found.differences("csd")  # text by text
    assert csd.significant and csd.difference == pytest.approx(two.value("csd") - three.value("csd"))
    for key in ("macro_f1", "micro_f1", "ece"):
        score, terms = whole_set_score(key, [two, three])
        for method, added in zip((two, three), terms, strict=True):
            assert score(added.sum(axis=1)[None]) == pytest.approx(method.value(key))


def test_a_single_method_is_compared_with_nobody(tmp_path):
    found = compare([run(tmp_path / "a")])
    assert found.tests() == [] and found.gains == {} and found.best("csd") == set()
    assert "Strong" not in found.table() and "slm-fp" in found.page()


def test_the_bootstrap_agrees(planted):
    found = compare(places_of(planted.methods), test="bootstrap", draws=500)
    assert found.best("csd") == {"faithful", "also"} and "paired bootstrap test" in found.table()


def test_the_bootstrap_is_used_for_f1_and_ece_too(planted):
    places = places_of(planted.methods[:2])
    swapped_tests, drawn_tests = (
        compare(places, columns=["macro_f1", "ece"], test=test, draws=300).tests()
        for test in ("randomisation", "bootstrap")
    )
    for swapped, drawn in zip(swapped_tests, drawn_tests, strict=True):
        assert drawn.p_value != swapped.p_value
        assert (drawn.low, drawn.high, drawn.pairs) == (swapped.low, swapped.high, 120)


def test_the_caption_tells_how_often_was_drawn_and_over_how_many_texts(planted):
    places = places_of(planted.methods[:2])
    grid = differences_table(compare(places, columns=["accuracy", "macro_f1", "auprc/correct"]))
    assert "5000 draws; several" in grid.caption
    texts = [int(row[-1].text) for row in grid.body]
    assert texts[:2] == [120, 120] and 0 < texts[2] < 120
    assert "1999 draws; several" in differences_table(planted).caption
    assert "fewer than 20 texts" in differences_table(compare(places, test="bootstrap", draws=99)).caption


def test_a_test_that_points_the_other_way_than_the_table_makes_nobody_bold(planted):
    a, b = planted.methods[:2]
    high, low = (a, b) if a.value("csd") > b.value("csd") else (b, a)
    numbers = {"low": 0.0, "high": 0.0, "p_value": 0.001, "corrected": 0.001, "pairs": 9}
    for lead, bold in ((0.1, {high.name}), (-0.1, set())):
        there = Difference("csd", high.name, low.name, lead, **numbers)
        back = Difference("csd", low.name, high.name, -lead, **numbers)
        assert best([a, b], "csd", [there]) == best([a, b], "csd", [back]) == bold


def test_numbers_that_are_no_means_are_tested_on_texts_both_answer(tmp_path):
    made = records(right=0.6, seed=2)
    silent = [replace(one, predicted=None, target=None, probabilities=(), views=()) for one in made[:20]]
    write_records(tmp_path / "b.jsonl", [*silent, *made[20:]])
    found = compare([file(tmp_path / "a.jsonl"), tmp_path / "b.jsonl"], columns=["macro_f1", "ece"], draws=99)
    assert [one.pairs for one in found.tests()] == [40, 40]


def test_wrong_choices_are_named(tmp_path):
    place = file(tmp_path / "a.jsonl")
    for how, says in (
        ({"test": "t-test"}, "unknown test 't-test'"),
        ({"draws": 0}, "--draws 0"),
        ({"examples": -1}, "--examples -1"),
        ({"columns": ["acuracy"]}, "did you mean 'accuracy'"),
        ({"columns": ["naopc"]}, "--columns naopc: no evaluation has it; evaluate with --probes naopc"),
        ({"columns": ["deletion_auc"]}, "evaluate with --probes curves"),
        ({"columns": ["comprehensiveness@11"]}, "has it; budgets are 10, 20, 50; others: evaluate with"),
        ({"columns": ["sufficiency/pad_token"]}, "--beside pad_token; measured removals: delete, mask_token"),
        ({"budget": 7}, "--budget 7: measured are 10, 20, 50 %"),
        ({"paper": "ssst"}, "unknown dataset of the paper 'ssst'; did you mean 'sst'"),
    ):
        with pytest.raises(UserError, match=says):
            compare([place], **how)


def test_records_of_other_tools_that_tell_less_are_compared_on_what_they_tell(tmp_path):
    unknown = {"predicted": None, "target": None, "seconds": None}
    unknown |= dict.fromkeys(("probabilities", "views", "draws", "budgets"), ())
    bare = file(tmp_path / "bare.jsonl", seed=4, change=unknown)
    found = compare([file(tmp_path / "full.jsonl", plausible=0.9), bare])
    assert np.isnan(found.methods[1].value("accuracy")) and found.methods[1].value("auprc") > 0
    assert "–" in found.table() and "bare" in found.page()


def test_few_draws_do_not_make_differences_impossible_to_find(tmp_path):
    """Eight methods are 28 pairs: of 99 draws, Holm's correction would leave no p-value below 0.28."""
    places = {
        f"m{number}": file(tmp_path / f"{number}.jsonl", faithful=0.1 + 0.1 * number, seed=number, draws=0)
        for number in range(8)
    }
    found = compare(places, columns=["csd"], draws=99)
    assert found.best("csd") == {"m7"}
