"""Breakdowns and agreement: what averages hide, and where methods say the same."""

from dataclasses import replace

import numpy as np
import pytest
from made import file, records, run

from unirex.comparison import compare
from unirex.comparison.examples import gather_examples, prediction_agreement, side_by_side
from unirex.comparison.figures import FEWEST, figures, pareto_optimal
from unirex.comparison.method import (
    f1_by_class,
    f1_intervals,
    interval_over,
    mean_over,
    removals,
    split_by_length,
    split_by_outcome,
    under_removal,
)
from unirex.comparison.page import agreement_table


@pytest.fixture(scope="module")
def found(tmp_path_factory):
    folder = tmp_path_factory.mktemp("parts")
    trained = {"trained": "attention_mask", "removals": ("delete", "attention_mask")}
    places = {
        "a": run(folder / "a", plausible=0.9, **trained),
        "b": run(folder / "b", plausible=0.1, faithful=0.1, right=0.6, seed=3),
    }
    return compare(places, draws=200)


def test_parts_by_length_hold_every_text_once_and_their_means_add_up(found):
    method = found.methods[0]
    parts = split_by_length(method.lengths)
    assert sum(part.mask.astype(int) for part in parts).tolist() == [1] * 60
    assert 2 <= len(parts) <= 4 and parts[0].name.startswith(str(method.lengths.min()))
    whole = sum(mean_over(method, "csd", part) * part.texts for part in parts) / 60
    assert whole == pytest.approx(method.value("csd"))


def test_right_and_wrong_are_each_methods_own(found):
    for method in found.methods:
        right, wrong = split_by_outcome(method)
        assert right.texts + wrong.texts == 60
        assert right.texts / 60 == pytest.approx(method.value("accuracy"))
        assert mean_over(method, "auprc", right) == pytest.approx(method.value("auprc/correct"))


def test_f1_by_class_is_that_of_the_macro_mean(found):
    by_class = f1_by_class(found.methods).values()
    assert sum(texts for texts, _ in by_class) == 60
    for number, method in enumerate(found.methods):
        assert sum(f1[number] for _, f1 in by_class) / 2 == pytest.approx(method.value("macro_f1"))


def test_parts_have_intervals_over_their_texts_and_few_texts_none(found):
    method, parts = found.methods[0], split_by_length(found.methods[0].lengths)
    low, high = interval_over(method, "csd", parts[0], fewest=FEWEST)
    assert low < mean_over(method, "csd", parts[0]) < high
    assert np.isnan(interval_over(method, "csd", parts[0], fewest=parts[0].texts + 1)).all()
    by_class = f1_by_class([method])
    for (_, (f1,)), (low, high) in zip(by_class.values(), f1_intervals(method, list(by_class)), strict=True):
        assert low < f1 < high


def test_sets_of_labels_have_the_same_intervals_as_single_labels(tmp_path):
    def as_set(record):
        sets = {name: (getattr(record, name),) for name in ("label", "predicted")}
        return replace(record, **sets)

    places = [file(tmp_path / "one.jsonl"), file(tmp_path / "set.jsonl", change=as_set)]
    single, sets = (f1_intervals(compare([place]).methods[0], ["neg", "pos"]) for place in places)
    assert single == sets and not np.isnan(single).any()


def test_bins_and_parts_of_few_texts_are_not_drawn(tmp_path):
    few = compare({"a": file(tmp_path / "a.jsonl", number=12), "b": file(tmp_path / "b.jsonl", number=12)})
    assert {figure.name for figure in figures(few)} <= {"trade-off", "curves"}


def test_faithfulness_is_shown_for_every_way_of_removing(found):
    a, b = found.methods
    assert removals(found.methods) == ["delete", "attention_mask", "mask_token"]
    assert under_removal(a, "csd", "delete") == a.value("csd")
    assert under_removal(a, "csd", "attention_mask") == a.value("csd/attention_mask")
    assert np.isnan(under_removal(b, "csd", "attention_mask"))
    assert (a.trained_removals, b.trained_removals) == (["attention_mask"], [])


def test_predictions_agree_as_often_as_they_do(found):
    ((share, low, high),) = prediction_agreement(found.methods)
    a, b = (method.predicted() for method in found.methods)
    assert low < share < high and share == sum(x == y for x, y in zip(a, b, strict=True)) / 60
    (row,) = agreement_table(found).body
    assert [cell.text for cell in row[:3]] == ["a", "b", f"{100 * share:.1f}"]


def test_rationales_overlap_by_hand(tmp_path):
    sequence = records(number=1)[0].sequences[0]
    places = []
    for name, numbers in (("a", (0, 1)), ("b", (1, 2))):
        chosen = {"sequences": (replace(sequence, selected=(numbers,) * 3),)}
        places.append(file(tmp_path / f"{name}.jsonl", number=1, change=chosen))
    found = compare(places)
    assert found.gathered.rationale_agreement()[0][0] == 0.5  # one word of two each


def test_a_page_has_so_many_texts_spread_evenly(found):
    gathered = gather_examples(found.methods, budget=20, limit=4)
    assert [example.id for example in gathered.shown] == ["text-0", "text-15", "text-30", "text-45"]
    assert gathered.rationale_agreement() == found.gathered.rationale_agreement()  # all texts count
    assert gather_examples(found.methods, budget=20, limit=0).shown == []


def test_a_long_file_is_never_held_as_a_whole(tmp_path):
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


def test_a_method_that_is_beaten_or_lacks_a_number_is_not_optimal(found):
    a, b = found.methods
    assert pareto_optimal([a, b], ["csd", "auprc"]) == {"a"}
    assert pareto_optimal([a, a], ["csd"]) == {"a"}  # equals do not beat each other
    assert np.isnan(b.value("csd/attention_mask"))
    assert pareto_optimal([a, b], ["csd/attention_mask", "auprc"]) == {"a"}
    assert pareto_optimal([b], ["csd/attention_mask"]) == set()


def test_every_figure_there_are_numbers_for_is_drawn(found, tmp_path):
    drawn = figures(found)
    names = [figure.name for figure in drawn]
    assert names == ["trade-off", "curves", "calibration", "classes", "lengths"]
    paths = found.save_plots(tmp_path / "plots")
    assert len(paths) == 10 and all(path.stat().st_size > 2000 for path in paths)
    assert all(figure.caption.endswith(".") for figure in drawn)
