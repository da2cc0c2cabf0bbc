"""Breakdowns and agreement: what averages hide, and where methods say the same."""

from dataclasses import replace

import numpy as np
import pytest
from made import file, records, run

from unirex.comparison import compare
from unirex.comparison.examples import gather_examples, prediction_agreement, side_by_side
from unirex.comparison.figures import figures, pareto_optimal
from unirex.comparison.method import (
    mean_over,
    removals,
    report_by_class,
    split_by_length,
    split_by_outcome,
    under_removal,
)
from unirex.evaluation.record_files import write_records


@pytest.fixture(scope="module")
def found(tmp_path_factory):
    folder = tmp_path_factory.mktemp("parts")
    return compare(
        {
            "a": run(
                folder / "a", plausible=0.9, trained="attention_mask", removals=("delete", "attention_mask")
            ),
            "b": run(folder / "b", plausible=0.1, faithful=0.1, right=0.6, seed=3),
        },
        draws=200,
    )


def test_parts_by_length_hold_every_text_once(found):
    lengths = found.methods[0].lengths
    parts = split_by_length(lengths)
    assert sum(part.mask.astype(int) for part in parts).tolist() == [1] * 60
    assert 2 <= len(parts) <= 4 and parts[0].name.startswith(str(lengths.min()))


def test_means_over_parts_add_up(found):
    method = found.methods[0]
    parts = split_by_length(method.lengths)
    whole = sum(mean_over(method, "csd", part) * part.texts for part in parts) / 60
    assert whole == pytest.approx(method.value("csd"))


def test_right_and_wrong_are_each_methods_own(found):
    for method in found.methods:
        right, wrong = split_by_outcome(method)
        assert right.texts + wrong.texts == 60
        assert right.texts / 60 == pytest.approx(method.value("accuracy"))
        assert mean_over(method, "auprc", right) == pytest.approx(method.value("auprc/correct"))


def test_f1_by_class_is_that_of_the_macro_mean(found):
    for method in found.methods:
        report = report_by_class(method)
        assert sum(row.f1 for row in report.values()) / 2 == pytest.approx(method.value("macro_f1"))
        assert sum(row.support for row in report.values()) == 60


def test_faithfulness_is_shown_for_every_way_of_removing(found):
    a, b = found.methods
    assert removals(found.methods) == ["delete", "attention_mask", "mask_token"]
    assert under_removal(a, "csd", "delete") == a.value("csd")
    assert under_removal(a, "csd", "attention_mask") == a.value("csd/attention_mask")
    assert np.isnan(under_removal(b, "csd", "attention_mask"))
    assert (a.trained_removals, b.trained_removals) == (["attention_mask"], [])


def test_predictions_agree_as_often_as_they_do(found):
    table = prediction_agreement(found.methods)
    a, b = (method.predicted() for method in found.methods)
    assert table[0][1] == table[1][0] == sum(x == y for x, y in zip(a, b, strict=True)) / 60
    assert table[0][0] == 1.0


def test_rationales_overlap_by_hand(tmp_path):
    one = records(number=1)[0]
    sequence = one.sequences[0]
    for name, numbers in (("a", (0, 1)), ("b", (1, 2))):
        chosen = replace(sequence, selected=(numbers,) * 3)
        write_records(tmp_path / f"{name}.jsonl", [replace(one, sequences=(chosen,))])
    found = compare([tmp_path / "a.jsonl", tmp_path / "b.jsonl"])
    assert found.gathered.rationale_agreement()[0][1] == 0.5  # one word of two each


def test_a_page_has_so_many_texts_spread_evenly(found):
    some = gather_examples(found.methods, budget=20, limit=4)
    assert [one.id for one in some.shown] == ["text-0", "text-15", "text-30", "text-45"]
    assert some.rationale_agreement() == found.gathered.rationale_agreement()  # all texts count
    assert gather_examples(found.methods, budget=20, limit=0).shown == []


def test_a_long_file_is_never_held_as_a_whole(tmp_path, monkeypatch):
    """Files in the same order are walked through with one record of each in hand."""
    found = compare([file(tmp_path / "a.jsonl"), file(tmp_path / "b.jsonl", seed=1)])
    read = {"a": 0, "b": 0}
    for name, method in zip(read, found.methods, strict=True):
        source = method.runs[0].source

        def counted(name=name, source=source):
            for record in source.read():
                read[name] += 1
                yield record

        method.runs[0].source = replace(source, read=counted)
    for number, _ in enumerate(side_by_side(found.methods), start=1):
        assert max(read.values()) <= number + 1


def test_who_is_beaten_is_not_optimal(found):
    a, b = found.methods
    assert pareto_optimal([a, b], ["csd", "auprc"]) == {"a"}
    assert pareto_optimal([a, a], ["csd"]) == {"a"}  # equals do not beat each other


def test_a_method_that_lacks_a_number_is_not_optimal(found):
    a, b = found.methods
    assert np.isnan(b.value("csd/attention_mask"))
    assert pareto_optimal([a, b], ["csd/attention_mask", "auprc"]) == {"a"}
    assert pareto_optimal([b], ["csd/attention_mask"]) == set()


def test_every_figure_there_are_numbers_for_is_drawn(found, tmp_path):
    names = [one.name for one in figures(found)]
    assert names == ["trade-off", "curves", "calibration", "classes", "lengths", "agreement"]
    paths = found.save_plots(tmp_path / "plots")
    assert len(paths) == 12 and all(path.stat().st_size > 2000 for path in paths)
    assert all(one.caption.endswith(".") for one in figures(found))
