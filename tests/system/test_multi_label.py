"""Texts with sets of labels, from a file to an evaluation: trained once by the command line."""

import json

import numpy as np
import pytest
from test_any_classifier import save_classifier
from transformers import pipeline

import unirex
from commands import fails, succeeds, write_rows
from planted import DECIDING_EACH, planted_sets
from unirex.cli import main
from unirex.errors import UserError
from unirex.evaluation.record_files import read_records

TRAINING = {"epochs": 6, "learning_rate": 6e-3, "batch_size": 16}


@pytest.fixture(scope="module")
def data():
    return planted_sets((160, 24, 32))


@pytest.fixture(scope="module")
def file(data, tmp_path_factory):
    """The corpus as a file: a list in the column `label`."""
    rows = [
        {"id": e.id, "text": e.text, "label": list(e.label), "rationale": e.rationale[0], "split": split}
        for split, part in data.items()
        for e in part
    ]
    return write_rows(tmp_path_factory.mktemp("sets") / "reviews.jsonl", rows)


@pytest.fixture(scope="module")
def folder(file, learner, tmp_path_factory):
    """A run of slm-fpo, which has scores for each label."""
    folder = tmp_path_factory.mktemp("runs") / "slm"
    options = [f"--training.{name}={value}" for name, value in TRAINING.items()]
    main(["train", "--method=slm-fpo", f"--data={file}", f"--out={folder}", f"--encoder={learner}", *options])
    return folder


@pytest.fixture(scope="module")
def system(folder):
    return unirex.load(folder)


def test_each_label_is_found_and_explained_by_its_own_word(system, data):
    assert system.multi_label and system.labels == ("acting", "plot", "sound")
    texts = [example for example in data["test"] if len(example.label) > 1]
    attributed = system.with_extractor("ig")
    found = list(attributed.explain_all(texts, targets="predicted", budget=1))
    assert len(found) == sum(len(example.label) for example in texts)  # one for each label
    for explanation in found:
        assert explanation.label == explanation.gold_label and explanation.target in explanation.label
        assert explanation.spans[0].text in DECIDING_EACH[explanation.target]
    first = system.explain(texts[0])
    assert first.target == max(first.probabilities, key=first.probabilities.get)
    assert first.to_dict()["label"] == texts[0].label


def test_a_text_without_labels_is_explained_for_the_likeliest(system):
    (explanation,) = system.explain_all(["the film is long"], targets="predicted")
    assert explanation.label == () and explanation.target in system.labels


def test_evaluation_counts_labels_and_whole_sets(system, data, tmp_path):
    from sklearn.metrics import accuracy_score, f1_score

    results = unirex.evaluate(system, data["test"], draws=1, probes=("curves", "empty"))
    flags = [
        np.array([[label in answer for label in system.labels] for answer in answers])
        for answers in zip(*((record.label, record.predicted) for record in results.records), strict=True)
    ]
    metrics = results.metrics
    assert metrics["macro_f1"] == pytest.approx(f1_score(*flags, average="macro"))
    assert metrics["micro_f1"] == pytest.approx(f1_score(*flags, average="micro"))
    assert metrics["accuracy"] == pytest.approx(accuracy_score(*flags))
    assert metrics["macro_f1"] > 0.9 and not {"ece", "binary_f1"} & metrics.keys()
    assert metrics["comprehensiveness"] > results.rows["slm-fpo: random scores"]["comprehensiveness"]
    record = next(record for record in results.records if len(record.predicted) > 1)
    assert record.target == record.labels[int(np.argmax(record.probabilities))]
    assert results.confusion is None and results.table().split()[:2] == ["Macro", "F1"]
    results.save(tmp_path)
    for ending in ("jsonl", "parquet"):
        assert tuple(read_records(tmp_path / f"records.{ending}")) == results.records
    assert json.loads((tmp_path / "metrics.json").read_text())["leading"] == "macro_f1"


def test_the_command_line_evaluates_explains_and_compares(folder, file, capsys, tmp_path):
    out = succeeds(capsys, "evaluate", folder, "--data", file, "--draws", 0, "--out", tmp_path / "one")
    assert out.split()[:2] == ["Macro", "F1"] and "acting" in out
    lines = succeeds(capsys, "explain", folder, "a good plot and a fun film", "--json").splitlines()
    assert [json.loads(line)["label"] for line in lines] == [["acting", "plot"]] * 2
    assert {json.loads(line)["target"] for line in lines} == {"acting", "plot"}
    shown = succeeds(capsys, "explain", folder, "the film is long")
    assert "no label" in shown and "rationale for" in shown
    page = tmp_path / "page.html"
    succeeds(capsys, "compare", tmp_path / "one", "--html", page)
    assert "acting, plot" in page.read_text("utf-8")


def test_global_explains_every_predicted_label(folder, file, system, data, capsys):
    told = json.loads(succeeds(capsys, "global", folder, "--data", file, "--json"))
    predicted = system.predict(data["test"])
    counts = [sum(label in answer for answer in predicted) for label in system.labels]
    assert [label["predictions"] for label in told["labels"]] == counts and "sets" in told["notes"][0]


def test_a_score_is_the_share_of_whole_sets(system, data):
    texts, answers = [e.text for e in data["test"]], [list(e.label) for e in data["test"]]
    assert system.score(texts, answers) == np.mean([e.label == system.predict(e.text) for e in data["test"]])
    with pytest.raises(UserError, match="give a list for each text"):
        system.score(texts[:1], ["plot"])
    for several in (answers, np.eye(3, dtype=int)[[0] * len(texts)]):
        with pytest.raises(UserError, match="several labels for a text"):
            unirex.RationaleClassifier("vanilla").fit(texts, several)


def test_what_cannot_be_said_of_sets_is_refused(folder, file, system, data, capsys, learner, tmp_path):
    succeeds(capsys, "evaluate", folder, "--data", file, "--draws", 0, "--out", tmp_path / "one")
    said = fails(capsys, "eraser", "export", tmp_path / "one", tmp_path / "eraser.jsonl")
    assert "a line of ERASER has one" in said
    predictions = write_rows(tmp_path / "other.jsonl", [{"id": "test-0", "label": "plot"}])
    said = fails(capsys, "evaluate", "--predictions", predictions, "--data", file, "--missing", "skip")
    assert "has a list of labels" in said
    with pytest.raises(UserError, match="target gold"):
        unirex.evaluate(system, data["test"], target="gold")
    with pytest.raises(UserError, match="fresh predicts from the reasons for one label"):
        unirex.fit("fresh", data, encoder=str(learner))
    with pytest.raises(UserError, match="binary_f1"):
        unirex.fit("vanilla", data, encoder=str(learner), training={"metric": "binary_f1"})


@pytest.mark.parametrize(
    "method", ["vanilla", "aa-fp", "dlm-fpo", "sgt", "l2e", "a2r-p", "fresh-p", "hard-kuma"]
)
def test_methods_train_on_sets(method, learner):
    """A few steps of each: losses, dev score and answers are those of sets."""
    small = planted_sets((8, 4, 4))
    options = {"encoder": str(learner), "training": {"epochs": 1, "batch_size": 4}, "progress": False}
    system = unirex.fit(method, small, class_weights="balanced", **options)
    assert system.multi_label
    results = unirex.evaluate(system, small["test"], draws=1)
    assert 0 <= results.metrics["macro_f1"] <= 1
    assert all(isinstance(record.predicted, tuple) for record in results.records)


def test_the_threshold_is_kept(system, tmp_path):
    system.model.config.label_threshold = 0.99
    try:
        system.save_pretrained(tmp_path / "strict")
    finally:
        system.model.config.label_threshold = 0.5
    again = unirex.load(tmp_path / "strict")
    assert again.model.task.labelling.threshold == 0.99
    text = "a good plot and a fun film"
    assert again.explain(text).probabilities == system.explain(text).probabilities


def test_a_third_party_classifier_of_sets_is_recognised(tmp_path):
    folder = save_classifier(tmp_path / "model", problem_type="multi_label_classification")
    system = unirex.load(folder)
    explanation = system.explain("a good film about people")
    assert system.multi_label and isinstance(explanation.label, tuple)
    stock = pipeline("text-classification", model=str(folder), top_k=None)(["a good film about people"])[0]
    assert explanation.probabilities == pytest.approx({row["label"]: row["score"] for row in stock}, abs=1e-5)


def test_the_pipeline_gives_all_labels(folder):
    answer = pipeline("rationale-classification", model=str(folder))("a good plot and a fun film")
    assert answer["label"] == ("acting", "plot")
    assert answer["score"] == max(answer["probabilities"].values())
