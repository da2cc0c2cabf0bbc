"""A submission is scored as by hand, in the official layout; it says where the official program fails."""

import math

import pytest
from hand_worked import ANNOTATIONS, annotation, classes, evidence, spans, submission, write_data, write_lines

from unirex.eraser import read_gold, read_submission, score
from unirex.errors import UserError


@pytest.fixture
def gold(tmp_path):
    return read_gold(write_data(tmp_path / "data"))


def scored(tmp_path, gold, change=lambda rows: None, **settings):
    rows = submission()
    change(rows)
    return score(write_lines(tmp_path / "s.jsonl", rows), gold, **{"thresholds": [0.1, 0.5], **settings})


def near(value):
    return pytest.approx(value, abs=1e-9)


def test_the_layout_is_the_official_one(tmp_path, gold):
    found = scored(tmp_path, gold)
    assert list(found) == [
        "iou_scores", "rationale_prf", "token_prf", "token_soft_metrics", "sentence_soft_metrics",
        "classification_scores", "notes",
    ]  # fmt: skip
    assert list(found["token_prf"]) == ["instance_micro", "instance_macro"]
    assert list(found["token_soft_metrics"]) == ["auprc", "average_precision", "roc_auc_score"]
    assert set(found["classification_scores"]) == {
        "accuracy", "prf", "comprehensiveness", "sufficiency", "comprehensiveness_entropy",
        "comprehensiveness_kl", "sufficiency_entropy", "sufficiency_kl", "aopc_thresholds",
        "comprehensiveness_aopc", "comprehensiveness_aopc_points", "sufficiency_aopc",
        "sufficiency_aopc_points", "tokens_to_flip",
    }  # fmt: skip


def test_rationales_by_hand(tmp_path, gold):
    found = scored(tmp_path, gold)
    assert found["token_prf"]["instance_micro"]["f1"] == near(5 / 7)  # worked out in test_eraser_metrics
    assert found["token_prf"]["instance_macro"]["f1"] == near(32 / 63)
    assert found["rationale_prf"]["instance_micro"]["f1"] == near(1 / 4)
    assert found["iou_scores"][0]["macro"]["f1"] == near(2 / 3)
    # a: 1; b: .8708333 (in test_eraser_metrics); c has nothing marked: .5
    assert found["token_soft_metrics"]["auprc"] == near((1 + 0.87083333333333 + 0.5) / 3)
    assert found["token_soft_metrics"]["average_precision"] == near((1 + 0.8875) / 2)
    assert found["token_soft_metrics"]["roc_auc_score"] == near((1 + 0.5) / 2)
    # a: [0 1] by [.1 .9]; b: its one sentence is marked; c: its one is not
    assert found["sentence_soft_metrics"] == near(
        {"auprc": 2.5 / 3, "average_precision": 1, "roc_auc_score": 1}
    )


def test_classes_by_hand(tmp_path, gold):
    found = scored(tmp_path, gold)["classification_scores"]
    assert found["accuracy"] == near(2 / 3)  # b is NEG, and all are called POS
    assert found["prf"]["POS"] == near({"precision": 2 / 3, "recall": 1, "f1-score": 0.8, "support": 2})
    assert found["prf"]["macro avg"]["f1-score"] == near(0.4)
    assert found["comprehensiveness"] == near((0.4 + 0.2 + 0.1) / 3)  # .9 - .5, .6 - .4, .7 - .6
    assert found["sufficiency"] == near((0.1 - 0.1 + 0.3) / 3)  # .9 - .8, .6 - .7, .7 - .4
    halves = [(0.9, 0.5), (0.6, 0.4), (0.7, 0.6)]
    entropies = [entropy(full) - entropy(reduced) for full, reduced in halves]
    assert found["comprehensiveness_entropy"] == near(sum(entropies) / 3)
    assert found["comprehensiveness_kl"] == near(
        sum(divergence(reduced, full) for full, reduced in halves) / 3
    )
    assert found["aopc_thresholds"] == [0.1, 0.5]
    # at .1: .2, .1, .1; at .5: .5, .3, .5
    assert found["comprehensiveness_aopc_points"] == near([0.4 / 3, 1.3 / 3])
    assert found["comprehensiveness_aopc"] == near(1.7 / 6)
    # at .1: .3, .1, .4; at .5: .05, -.05, .2
    assert found["sufficiency_aopc_points"] == near([0.8 / 3, 0.2 / 3])
    assert found["tokens_to_flip"] == near((3 / 6 + 1 / 5 + 3 / 3) / 3)


def entropy(p):
    return -p * math.log(p) - (1 - p) * math.log(1 - p)


def divergence(p, q):
    return p * math.log(p / q) + (1 - p) * math.log((1 - p) / (1 - q))


def test_unmarked_documents_are_spoken_of(tmp_path, gold):
    (tokens, sentences) = scored(tmp_path, gold)["notes"]
    assert tokens.startswith("soft_rationale_predictions: 1 of 3 documents have nothing marked")
    assert sentences.startswith("soft_sentence_predictions: 1 of 3")


def test_instances_score_as_their_file(tmp_path, gold):
    path = write_lines(tmp_path / "s.jsonl", submission())
    assert score(list(read_submission(path)), gold) == score(path, gold)


def test_parts_that_are_not_there_are_not_scored(tmp_path, gold):
    def bare(rows):
        rows[:] = [{"annotation_id": row["annotation_id"], "rationales": row["rationales"]} for row in rows]
        for row in rows:
            del row["rationales"][0]["soft_rationale_predictions"]
            del row["rationales"][0]["soft_sentence_predictions"]

    assert list(scored(tmp_path, gold, bare)) == ["iou_scores", "rationale_prf", "token_prf", "notes"]


def test_lines_that_select_nothing(tmp_path, gold):
    """A first line that is empty does not hide the others."""

    def empty(rows):
        for row in rows:
            row["rationales"][0]["hard_rationale_predictions"] = []

    found = scored(tmp_path, gold, lambda rows: empty(rows[:1]))
    assert found["token_prf"]["instance_micro"]["p"] == near(3 / 4)
    assert "the official program leaves out all metrics of hard rationales" in found["notes"][0]
    found = scored(tmp_path, gold, empty)
    assert math.isnan(found["token_prf"]["instance_micro"]["p"])
    assert any("no line selects anything" in note for note in found["notes"])


def test_a_missing_line_leaves_accuracy_open(tmp_path, gold):
    found = scored(tmp_path, gold, lambda rows: rows.pop(1))
    assert found["classification_scores"]["accuracy"] is found["classification_scores"]["prf"] is None
    assert any("1 annotations have no predicted class (first 'b')" in note for note in found["notes"])
    assert found["token_prf"]["instance_micro"]["r"] == near(2 / 7)  # b's tokens are not found
    assert found["token_soft_metrics"]["auprc"] == near(1.5 / 2)  # of the documents that are there


def test_a_class_nobody_knows(tmp_path, gold):
    found = scored(tmp_path, gold, lambda rows: rows[0].update(classification="MEH"))
    assert found["classification_scores"]["prf"]["MEH"]["support"] == 0
    assert math.isnan(found["classification_scores"]["comprehensiveness"])
    assert any("'MEH' is no class of the data" in note for note in found["notes"])
    assert any("1 lines (first 'a') lack the probability of a class" in note for note in found["notes"])


def test_thresholds_that_are_not_there(tmp_path, gold):
    found = scored(tmp_path, gold, thresholds=[0.1, 0.2])
    assert found["classification_scores"]["comprehensiveness_aopc"] is None
    assert any("each of the thresholds 0.1, 0.2 once" in note for note in found["notes"])
    assert scored(tmp_path, gold, thresholds=None)["classification_scores"]["aopc_thresholds"] == [0.1, 0.5]
    found = scored(tmp_path, gold, thresholds=[0.5])
    assert found["classification_scores"]["sufficiency_aopc"] == near(0.2 / 3)


def test_a_document_nobody_annotated_counts_as_unmarked(tmp_path, gold):
    def change(rows):
        rows[0]["rationales"].append({**rows[2]["rationales"][0]})

    found = scored(tmp_path, gold, change)
    assert found["token_soft_metrics"]["auprc"] == near((1 + 0.87083333333333 + 0.5 + 0.5) / 4)


def test_mistakes_are_told_with_their_place(tmp_path, gold):
    with pytest.raises(
        UserError, match=r"s\.jsonl:2: soft_rationale_predictions has 1 numbers, but document 'd2'"
    ):
        scored(tmp_path, gold, lambda rows: rows[1]["rationales"][0].update(soft_rationale_predictions=[1.0]))
    beyond = [annotation("a", "POS", ["d1"], [evidence("d1", 3, 9)]), *ANNOTATIONS[1:]]
    with pytest.raises(UserError, match=r"test\.jsonl:1: evidence to 9, but 'd1' has only 6"):
        scored(tmp_path, read_gold(write_data(tmp_path / "other", annotations=beyond)))


def test_a_hundred_percent(tmp_path, gold):
    def change(rows):
        for row, label in zip(rows, ("POS", "NEG", "POS"), strict=True):
            row["classification"], row["classification_scores"] = label, classes(float(label == "POS"))
        marked = [(3, 6)], [(0, 1), (2, 5)], []
        for row, pairs in zip(rows, marked, strict=True):
            row["rationales"][0]["hard_rationale_predictions"] = spans(*pairs)

    found = scored(tmp_path, gold, change)
    for name in ("rationale_prf", "token_prf"):
        assert all(values == {"p": 1, "r": 1, "f1": 1} for values in found[name].values())
    assert found["iou_scores"][0]["micro"]["f1"] == found["classification_scores"]["accuracy"] == 1
