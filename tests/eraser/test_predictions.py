"""Outputs of any tool are held against any dataset: gold, selections and metrics come from the examples."""

import pytest
import torch
from hand_worked import submission, write_lines
from hypothesis import given
from hypothesis import strategies as st

from unirex.data.example import Example
from unirex.eraser import read_predictions
from unirex.errors import UserError
from unirex.evaluation.records import budget_count, top_k
from unirex.evaluation.summary import Summary
from unirex.select import budget_counts
from unirex.select import top_k as torch_top_k

LABELS = ("neg", "pos")
ONE = Example("1", ("so very  good",), "pos", (((9, 13),),))
TWO = Example("2", ("dull and slow",), "neg", (((0, 4), (9, 13)),))
PAIR = Example("p", ("a man", "a person sits"), "neg", ((), ((2, 8),)))


def read(tmp_path, rows, examples=(ONE, TWO), labels=LABELS, **settings):
    return list(read_predictions(write_lines(tmp_path / "p.jsonl", rows), examples, labels, **settings))


def test_scores_of_words(tmp_path):
    two, one = read(tmp_path, [{"id": "2", "scores": [3, -1, 2]}, {"id": "1", "scores": [0.5, -0.5, 1]}])
    assert (two.id, one.id) == ("2", "1")  # in the order of the file
    (scored,) = one.sequences
    assert scored.tokens == ((0, 0, 2), (0, 3, 7), (0, 9, 13))
    assert (scored.scores, scored.gold, scored.chosen) == ((0.5, -0.5, 1.0), (False, False, True), None)
    assert one.budgets == (1, 5, 10, 20, 50)
    assert scored.selected == ((2,), (2,), (2,), (2,), (0, 2))  # 1.5 words of 3: 2, the even number
    assert (one.label, one.predicted, one.views, one.probabilities) == ("pos", None, (), ())


def test_metrics_follow_from_what_is_given(tmp_path):
    rows = [{"id": "1", "scores": [0.5, -0.5, 1]}, {"id": "2", "scores": [3, -1, 2]}]
    found = Summary.of("tool", read(tmp_path, rows), LABELS).metrics
    assert found["auprc"] == 1 and found["token_f1"] == pytest.approx((2 / 3 + 1) / 2)
    assert "accuracy" not in found and "comprehensiveness" not in found
    for row, positive in zip(rows, (0.75, 0.75), strict=True):
        row["probabilities"] = {"pos": positive, "neg": 1 - positive}
        row["removed"] = {"20": {"pos": 0.5, "neg": 0.5}}
        row["kept"] = {"20": {"pos": 1.0, "neg": 0.0}}
    found = Summary.of("tool", read(tmp_path, rows), LABELS).metrics
    assert found["accuracy"] == 0.5
    assert (found["comprehensiveness@20"], found["sufficiency@20"]) == (0.25, -0.25)


def test_scores_of_characters(tmp_path):
    """What is not scored counts as not important, down to the lowest score."""
    rows = [{"id": "1", "scores": [[9, 11, 0.5], {"start": 11, "end": 13, "score": -0.5}]}]
    (one,) = read(tmp_path, rows, [ONE])
    assert one.sequences[0].tokens == ((0, 0, 2), (0, 3, 7), (0, 9, 11), (0, 11, 13))
    assert one.sequences[0].scores == (-0.5, -0.5, 0.5, -0.5)
    assert one.sequences[0].gold == (False, False, True, True)


def test_segments(tmp_path):
    (all_of_it,) = read(tmp_path, [{"id": "p", "scores": [1, 2, 3, 4, 5]}], [PAIR])
    assert [segment for segment, _, _ in all_of_it.sequences[0].tokens] == [0, 0, 1, 1, 1]
    (first,) = read(tmp_path, [{"id": "p", "scores": [1, 2]}], [PAIR])
    assert first.sequences[0].scores == (1, 2, 0, 0, 0)  # the second is marked, so it counts
    (spans,) = read(tmp_path, [{"id": "p", "scores": [[1, 2, 8, 7.5]]}], [PAIR])
    assert spans.sequences[0].tokens == ((1, 0, 1), (1, 2, 8), (1, 9, 13))
    with pytest.raises(UserError, match=r"p\.jsonl:1: 4 scores for 5 or 2 blank-separated words"):
        read(tmp_path, [{"id": "p", "scores": [1, 2, 3, 4]}], [PAIR])


@pytest.mark.parametrize("rationale", [[2], [0, 0, 1], [[9, 13]]])
def test_a_selection_however_it_is_written(tmp_path, rationale):
    (one,) = read(tmp_path, [{"id": "1", "rationale": rationale}], [ONE])
    assert (one.sequences[0].chosen, one.sequences[0].scores) == ((2,), ())
    found = Summary.of("tool", [one], LABELS).metrics
    assert found["token_f1"] == 1 and "auprc" not in found


def test_a_selection_in_segments(tmp_path):
    for rationale in ([[], [1]], {"1": [1]}):
        (one,) = read(tmp_path, [{"id": "p", "rationale": rationale}], [PAIR])
        assert one.sequences[0].tokens == ((1, 0, 1), (1, 2, 8), (1, 9, 13))
        assert one.sequences[0].chosen == (1,)


def test_probabilities_are_cut_where_asked(tmp_path):
    row = {"id": "1", "scores": [0.1, 0.4, 0.9]}
    assert read(tmp_path, [row], [ONE], above=0.5)[0].sequences[0].chosen == (2,)


def test_labels(tmp_path):
    (one,) = read(tmp_path, [{"id": "1", "label": "neg"}], [ONE])
    assert (one.predicted, one.target, one.sequences) == ("neg", "neg", ())
    (two,) = read(tmp_path, [{"id": 1, "probabilities": {"neg": 0.2, "pos": 0.8}}], [ONE])
    assert (two.predicted, two.probabilities) == ("pos", (0.2, 0.8))
    flags = Example("1", ("x",), True)
    (three,) = read(tmp_path, [{"id": "1", "probabilities": {"true": 1, "false": 0}}], [flags], (False, True))
    assert three.predicted is True and three.probabilities == (0, 1)


def test_a_submission_is_seen_by_its_first_line(tmp_path):
    examples = [
        Example("a", ("the film is\nso very good",), "POS"),
        Example("b", ("dull and slow , avoid",), "NEG"),
        Example("c", ("it is fine",), "POS"),
    ]
    assert len(read(tmp_path, submission(), examples, ("NEG", "POS"))) == 3
    with pytest.raises(UserError, match="'id' must be the id of an example, not None"):
        read(tmp_path, submission(), examples, format="scores")
    with pytest.raises(UserError, match="unknown format of predictions 'csv'"):
        read(tmp_path, submission(), examples, format="csv")


BOTH = {"probabilities": {"pos": 0.5, "neg": 0.5}, "removed": {"5": {"pos": 1, "neg": 0}}}
WRONG = {
    "no id": ({"scores": [1]}, r"p\.jsonl:1: 'id' must be"),
    "unknown id": ({"id": "11"}, r"p\.jsonl:1: no example '11' in the data; did you mean '1'"),
    "unknown field": ({"id": "1", "score": [1]}, r"p\.jsonl:1: unknown field 'score'; did you mean 'scores'"),
    "too few": ({"id": "1", "scores": [1]}, r"p\.jsonl:1: 1 scores for 3 blank-separated words"),
    "no list": ({"id": "1", "scores": 1}, r"'scores' must be a list, not 1"),
    "text": ({"id": "1", "scores": [1, "x", 2]}, r"'scores' must be finite numbers, .*; 'x' is not"),
    "NaN": ('{"id": "1", "scores": [1, NaN, 2]}', r"nan is not"),
    "mixed": ({"id": "1", "scores": [[0, 2, 1.0], 2]}, r"'scores' has 2; give a number for each word, or"),
    "outside": (
        {"id": "1", "scores": [[9, 15, 1.0]]},
        r"characters 9 to 15 of segment 0, which are not there",
    ),
    "no segment": ({"id": "1", "scores": [[1, 0, 1, 1.0]]}, r"characters 0 to 1 of segment 1"),
    "overlap": ({"id": "1", "scores": [[0, 3, 1.0], [2, 4, 1.0]]}, r"overlapping characters: \(0, 3\) and"),
    "label": ({"id": "1", "label": "meh"}, r"p\.jsonl:1: unknown label 'meh'"),
    "label is a list": ({"id": "1", "label": ["pos"]}, r"'label' must be text, a number or true/false"),
    "probabilities": ({"id": "1", "probabilities": {"pos": 0.9, "neg": 0.9}}, r"adds up to 1\.8"),
    "lacking": ({"id": "1", "probabilities": {"pos": 1}}, r"'probabilities' has no probability for 'neg'"),
    "list": ({"id": "1", "probabilities": [0.5, 0.5]}, r"'probabilities' must be an object"),
    "removed alone": ({"id": "1", **BOTH}, r"'removed' and 'kept' must have the same budgets"),
    "no full text": (
        {"id": "1", "removed": BOTH["removed"], "kept": BOTH["removed"]},
        r"'removed' and 'kept' without 'probabilities'",
    ),
    "budget": ({"id": "1", **BOTH, "kept": {"all": {}}}, r"'kept': 'all' is no budget; give per cents"),
    "rationale": ({"id": "1", "rationale": [7]}, r"p\.jsonl:1: "),
}


@pytest.mark.parametrize("case", WRONG)
def test_mistakes_are_told_with_their_line(tmp_path, case):
    row, message = WRONG[case]
    with pytest.raises(UserError, match=message):
        read(tmp_path, [row], [ONE], format="scores")


def test_all_lines_have_the_same_budgets(tmp_path):
    rows = [{"id": "1", **BOTH, "kept": BOTH["removed"]}, {"id": "2", "label": "neg"}]
    with pytest.raises(UserError, match=r"p\.jsonl:2: probabilities at no budget, but 5 % at .*p\.jsonl:1"):
        read(tmp_path, rows)


def test_ids_are_checked_before_anything_is_read(tmp_path):
    path = write_lines(tmp_path / "p.jsonl", [{"id": "1", "scores": "bad"}])
    with pytest.raises(UserError, match=r"p\.jsonl: no line for example '2'; add them"):
        read_predictions(path, [ONE, TWO], LABELS)
    with pytest.raises(UserError, match=r"p\.jsonl:2: '1' is there twice, first at .*:1"):
        read(tmp_path, [{"id": "1"}, {"id": "1"}])
    assert [one.id for one in read(tmp_path, [{"id": "2"}], missing="skip")] == ["2"]
    with pytest.raises(UserError, match="unknown way with missing lines 'drop'"):
        read(tmp_path, [{"id": "2"}], missing="drop")
    with pytest.raises(UserError, match="the file is empty"):
        read(tmp_path, [])
    with pytest.raises(UserError, match="neither 'id' nor 'annotation_id'"):
        read(tmp_path, [{"text": "x"}])


@given(st.integers(0, 2000), st.sampled_from([0.5, 1.0, 2.5, 5.0, 10.0, 20.0, 50.0, 100.0]))
def test_a_budget_buys_as_many_words_as_in_training(tokens, budget):
    assert budget_count(tokens, budget) == int(budget_counts(torch.tensor(tokens), budget))


@given(st.lists(st.integers(-2, 2), min_size=1, max_size=30))
def test_the_selected_words_are_those_of_training(scores):
    tensor = torch.tensor([scores], dtype=torch.float64)
    masks = torch_top_k(tensor, torch.ones_like(tensor, dtype=torch.bool), (1, 5, 10, 20, 50))
    assert top_k(scores) == tuple(tuple(mask[0].nonzero().flatten().tolist()) for mask in masks)
