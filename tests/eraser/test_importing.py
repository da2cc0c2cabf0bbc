"""Submissions of other systems become records whose tokens are ERASER's words."""

import pytest
from hand_worked import classes, spans, submission, write_data, write_lines

from unirex.data.example import Example
from unirex.eraser import import_submission, read_gold
from unirex.errors import UserError
from unirex.evaluation.summary import Summary

LABELS = ("NEG", "POS")
EXAMPLES = [
    Example("a", ("the film is\nso very good",), "POS", (((12, 24),),)),
    Example("b", ("dull and slow , avoid",), "NEG", (((0, 4), (9, 21)),)),
    Example("c", ("it is fine",), "POS"),
]


def imported(tmp_path, rows, examples=EXAMPLES, labels=LABELS, **settings):
    return list(import_submission(write_lines(tmp_path / "s.jsonl", rows), examples, labels, **settings))


def test_a_whole_submission(tmp_path):
    first, second, third = imported(tmp_path, submission())
    assert [first.id, second.id, third.id] == ["a", "b", "c"]
    assert (second.label, second.predicted, second.probabilities) == ("NEG", "POS", (0.4, 0.6))
    (scored,) = first.sequences
    assert [first.segments[0][start:end] for _, start, end in scored.tokens] == first.segments[0].split()
    assert scored.gold == (False, False, False, True, True, True) and third.sequences[0].gold is None
    assert scored.chosen == (0, 4, 5)
    assert (first.budgets, first.removed, first.kept) == ((10.0, 50.0), (0.7, 0.4), (0.6, 0.85))


def test_our_metrics_follow(tmp_path):
    found = Summary.of("theirs", imported(tmp_path, submission()), LABELS).metrics
    assert found["accuracy"] == pytest.approx(2 / 3)
    assert found["comprehensiveness_mean"] == pytest.approx(1.7 / 6)  # as in test_eraser_score
    assert found["token_f1"] == pytest.approx((2 / 3 + 6 / 7) / 2)  # of the two with gold


def test_documents_are_told_by_their_names_or_their_order(tmp_path):
    pair = Example("s", ("a man", "a person sits"), "POS", (((2, 5),), ()))

    def line(*docids):
        entries = []
        for number, docid in enumerate(docids):
            length = 3 if "hypo" in docid or docid.endswith("1") else 2
            entries.append({"docid": docid, "soft_rationale_predictions": [float(number)] * length})
        return {"annotation_id": "s", "rationales": entries}

    for docids in (("s_premise", "s_hypothesis"), ("s_0", "s_1"), ("x", "y1")):
        (one,) = imported(tmp_path, [line(*docids)], [pair])
        assert one.sequences[0].scores == (0, 0, 1, 1, 1)
    (turned,) = imported(tmp_path, [line("s_hypothesis", "s_premise")], [pair])
    assert turned.sequences[0].scores == (1, 1, 0, 0, 0)
    (alone,) = imported(tmp_path, [line("s_hypothesis")], [pair])
    assert alone.sequences[0].gold == (False, True, False, False, False)  # what was not found counts
    with pytest.raises(UserError, match="document 'z' is no segment of example 's'"):
        imported(tmp_path, [line("x", "y1", "z")], [pair])


def test_with_the_data_documents_are_told_by_their_texts(tmp_path):
    gold = read_gold(write_data(tmp_path / "data"))
    assert len(imported(tmp_path, submission(), gold=gold)) == 3
    wrong = submission()
    wrong[0]["rationales"][0]["docid"] = "d2"
    with pytest.raises(UserError, match=r"s\.jsonl:1: document 'd2' is none of annotation 'a'"):
        imported(tmp_path, wrong, gold=gold)


def test_hard_spans_alone(tmp_path):
    row = {"annotation_id": "c", "rationales": [{"docid": "d3", "hard_rationale_predictions": spans((0, 2))}]}
    (one,) = imported(tmp_path, [row], EXAMPLES[2:])
    (scored,) = one.sequences
    assert (scored.scores, scored.chosen, scored.selected) == ((), (0, 1), ())
    assert (one.predicted, one.probabilities, one.views) == (None, (), ())


def test_soft_scores_alone_are_cut_where_asked(tmp_path):
    entry = {"docid": "d3", "soft_rationale_predictions": [0.2, 0.6, 0.9]}
    row = {"annotation_id": "c", "rationales": [entry]}
    (one,) = imported(tmp_path, [row], EXAMPLES[2:])
    assert one.sequences[0].chosen is None and len(one.budgets) == 5
    (two,) = imported(tmp_path, [row], EXAMPLES[2:], above=0.5)
    assert two.sequences[0].chosen == (1, 2)


def test_probabilities_at_one_size(tmp_path):
    """Without thresholds they stand for the share that people mark: 3 of 6 and 4 of 5 words, 65 %."""
    rows = submission()
    for row in rows:
        del row["thresholded_scores"]
    assert imported(tmp_path, rows)[0].budgets == (65.0,)
    (first, *_) = imported(tmp_path, rows, budget=20)
    assert (first.budgets, first.removed, first.kept) == ((20.0,), (0.5,), (0.8,))


def test_a_class_alone(tmp_path):
    row = {"annotation_id": "c", "rationales": [], "classification_scores": classes(0.25)}
    (one,) = imported(tmp_path, [row], EXAMPLES[2:])
    assert (one.predicted, one.sequences) == ("NEG", ())


def test_choices_have_letters(tmp_path):
    asked = Example("c", ("it is fine",), "B", None, ("x", "y", "z"))
    scores = {"A": 0.1, "B": 0.7, "C": 0.2}
    row = {"annotation_id": "c", "rationales": [], "classification": "B", "classification_scores": scores}
    (one,) = imported(tmp_path, [row], [asked], labels=tuple("ABCDE"))
    assert (one.labels, one.probabilities, one.predicted) == (("A", "B", "C"), (0.1, 0.7, 0.2), "B")


def test_double_spaces_need_the_data(tmp_path):
    spaced = Example("c", ("it  is",), "POS")
    hard = {"annotation_id": "c", "rationales": [{"docid": "c", "hard_rationale_predictions": spans((0, 1))}]}
    with pytest.raises(UserError, match="document 'c' can be counted as 3 or 2 tokens; give the data"):
        imported(tmp_path, [hard], [spaced])
    for scores in ([1, 2], [1, 0, 2]):  # with scores it is plain
        hard["rationales"][0]["soft_rationale_predictions"] = scores
        (one,) = imported(tmp_path, [hard], [spaced])
        assert one.sequences[0].scores == tuple(scores)


WRONG = {
    "unknown": (lambda rows: rows[1].update(annotation_id="bb"), r"s\.jsonl:2: no example 'bb' in the data"),
    "missing": (
        lambda rows: rows.pop(),
        r"s\.jsonl: no line for example 'c'; add them, or skip them with --missing",
    ),
    "class": (lambda rows: rows[0].update(classification="MEH"), r"s\.jsonl:1: unknown label 'MEH'"),
    "logits": (
        lambda rows: rows[0].update(classification_scores={"POS": 3.0, "NEG": -1.0}),
        r"s\.jsonl:1: 'classification_scores' .* adds up to 2; give probabilities",
    ),
    "length": (
        lambda rows: rows[2]["rationales"][0].update(soft_rationale_predictions=[1, 2]),
        r"s\.jsonl:3: document 'd3' has 3 tokens, but soft_rationale_predictions has 2",
    ),
    "span": (
        lambda rows: rows[2]["rationales"][0].update(hard_rationale_predictions=spans((2, 4))),
        r"s\.jsonl:3: document 'd3': span 2 to 4 is not inside its 3 tokens",
    ),
    "budgets": (
        lambda rows: rows[1]["thresholded_scores"].pop(),
        r"s\.jsonl:2: probabilities at 10 %, but 10 %, 50 % at .*s\.jsonl:1",
    ),
}


@pytest.mark.parametrize("case", WRONG)
def test_mistakes_are_told_with_their_line(tmp_path, case):
    change, message = WRONG[case]
    rows = submission()
    change(rows)
    with pytest.raises(UserError, match=message):
        imported(tmp_path, rows)


def test_missing_lines_may_be_skipped(tmp_path):
    assert [one.id for one in imported(tmp_path, submission()[1:], missing="skip")] == ["b", "c"]
