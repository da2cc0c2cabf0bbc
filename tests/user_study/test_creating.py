"""Making a study: from saved evaluations without a model, from a trained system, and what is refused."""

import sys
from dataclasses import replace
from pathlib import Path

import pytest

sys.path.append(str(Path(__file__).resolve().parents[1] / "compare"))
import made

import unirex
from commands import fails, succeeds, write_rows
from planted import planted
from unirex.data.rationales import words
from unirex.errors import UserError
from unirex.evaluation.records import Record, Scored
from unirex.user_study import UserStudy, create_study
from unirex.user_study.items import make_item, read_method

SIZES = {"items": 10, "practice": 2, "checks": 1}


@pytest.fixture
def runs(tmp_path):
    return [
        made.run(tmp_path / "runs" / "ours", method="dlm-fp", plausible=0.9),
        made.run(tmp_path / "runs" / "theirs", method="sgt-p", plausible=0.1, right=0.6),
    ]


def record(text, scores, gold, *, predicted="pos", label="pos", pieces=None):
    """One token a word, or the given pieces of words."""
    tokens = tuple((0, *span) for span in (pieces or words(text)))
    scored = Scored(tokens, tuple(scores), tuple(map(bool, gold)), ((),))
    return Record("1", (text,), label, predicted, ("neg", "pos"), (0.2, 0.8), (scored,), (20.0,), predicted)


def marked(item, arm):
    (text,), (spans,) = item.segments, item.showings[arm].marks
    return [text[start:end] for start, end in spans]


def test_rationales_have_as_many_words_as_gold():
    text = "an unbelievably good film"
    whole = record(text, [0.1, 0.2, 0.9, 0.8], [0, 1, 0, 1], predicted="neg")
    pieces = [(0, 2), (3, 5), (5, 15), (16, 20), (21, 25)]  # un ##believably
    cut = record(text, [0.3, 0.1, 0.9, 0.2, 0.1], [0, 1, 1, 0, 1], pieces=pieces)
    readings = {name: read_method([given], name)["1"] for name, given in {"whole": whole, "cut": cut}.items()}
    item = make_item(readings, "main")
    assert marked(item, "whole") == ["good film"] and item.showings["whole"].label == "neg"
    assert marked(item, "cut") == ["an unbelievably"]
    assert marked(item, "Gold") == ["unbelievably", "film"] and item.showings["Gold"].label == "pos"
    assert marked(item, "No Rationale") == [] and item.showings["No Rationale"].label == "pos"


def test_words_that_a_method_did_not_read_are_never_marked():
    text = "so good and more"
    given = record(text, [-3.0, -1.0], [0, 1], pieces=[(0, 2), (3, 7)])
    item = make_item({"it": read_method([given], "it")["1"]}, "main")
    assert marked(item, "it") == ["good"]


def test_labels_may_be_numbers_and_false():
    given = replace(record("so good", [0, 1], [0, 1]), label=0, predicted=0, labels=(0, 1), target=0)
    assert read_method([given], "it")["1"].outcome == ("0", True)


def test_a_study_from_saved_evaluations(tmp_path, runs):
    study = create_study(tmp_path / "s", runs, dataset="sst", annotators=3, **SIZES)
    assert [(arm.name, arm.paper) for arm in study.definition.arms] == [
        ("No Rationale", "No Rationale"),
        ("dlm-fp", "UNIREX (DLM-FP)"),
        ("sgt-p", "SGT+P"),
        ("Gold", "Gold"),
    ]
    roles = [item.role for item in study.definition.items]
    assert [roles.count(role) for role in ("main", "practice", "check")] == [10, 2, 1]
    assert len({item.id for item in study.definition.items}) == 13
    assert len(study.annotators()) == len(set(study.codes().values())) == 3
    again = create_study(tmp_path / "t", runs, dataset="sst", annotators=1, **SIZES)
    other = create_study(tmp_path / "u", runs, dataset="sst", annotators=1, **SIZES, seed=1)
    assert again.definition.items == study.definition.items != other.definition.items


def test_texts_to_simulate_after_learning_are_balanced(tmp_path, runs):
    study = create_study(tmp_path / "s", runs, design="learning", learning=4, **SIZES)
    assert [arm.name for arm in study.definition.arms] == ["dlm-fp", "sgt-p"]
    main = [item for item in study.definition.items if item.role == "main"]
    wrong = sum(item.showings["sgt-p"].label != item.showings["Gold"].label for item in main)
    assert 4 <= wrong <= 6


def test_what_cannot_be_asked_is_refused(tmp_path, runs):
    create = {"folder": tmp_path / "s", "runs": runs, **SIZES}
    with pytest.raises(UserError, match="63 texts are needed"):
        create_study(**(create | {"items": 60}))
    with pytest.raises(UserError, match="rounds 5: give 1 to 4"):
        create_study(**create, rounds=5)
    with pytest.raises(UserError, match="unknown task 'guessing'"):
        create_study(**create, tasks=["guessing"])
    with pytest.raises(UserError, match="needs runs"):
        create_study(**(create | {"runs": []}))
    bare = made.file(tmp_path / "bare.jsonl", change=lambda one: replace(one, sequences=()))
    with pytest.raises(UserError, match="a marked rationale"):
        create_study(**(create | {"runs": [bare]}))
    sets = made.file(tmp_path / "sets.jsonl", change={"label": ("a", "b"), "predicted": ("a",)})
    with pytest.raises(UserError, match="a set of labels"):
        create_study(**(create | {"runs": [sets]}))
    assert not (tmp_path / "s").exists()


def test_a_system_explains_the_texts_of_a_dataset(tmp_path, learner, capsys):
    once = {"epochs": 1, "max_batches": 1}
    system = unirex.fit("slm-fp", planted((16, 8, 8)), encoder=str(learner), training=once, progress=False)
    system.save_pretrained(tmp_path / "run")
    data = tmp_path / "films.jsonl"
    rows = [
        {"id": one.id, "text": one.text, "label": one.label, "rationale": one.rationale[0], "split": "test"}
        for one in planted()["test"]
    ]
    write_rows(data, rows)
    where = ["--runs", f"ours={tmp_path / 'run'}", "--data", data, "--items", 6]
    few = ["--practice", 1, "--checks", 1, "--annotators", 2]
    out = succeeds(capsys, "study", "create", tmp_path / "s", *where, *few)
    assert "6 items, arms: No Rationale, ours, Gold" in out and "a02" in out
    assert "exists already" in fails(capsys, "study", "create", tmp_path / "s", *where)
    study = UserStudy.open(tmp_path / "s")
    assert study.definition.dataset == "films"
    assert all(marked(item, "ours") for item in study.definition.items)
