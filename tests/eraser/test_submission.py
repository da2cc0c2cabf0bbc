"""A submission comes back from its file as it was written, and a file that is none says where and why."""

import json

import pytest
from hand_worked import submission, write_lines
from hypothesis import given
from hypothesis import strategies as st

from unirex.eraser import (
    DocumentRationale,
    Instance,
    Thresholded,
    TokenSpan,
    read_submission,
    write_submission,
)
from unirex.errors import UserError

finite = st.floats(allow_nan=False, allow_infinity=False)


def test_every_field_is_read(tmp_path):
    first = next(read_submission(write_lines(tmp_path / "s.jsonl", submission())))
    assert first.place == f"{tmp_path / 's.jsonl'}:1"
    assert first.annotation_id == "a"
    assert first.rationales == (
        DocumentRationale(
            "d1", (TokenSpan(4, 6), TokenSpan(0, 1)), (0.2, 0.1, 0.1, 0.6, 0.8, 0.9), (0.1, 0.9)
        ),
    )
    assert (first.classification, first.classification_scores) == ("POS", {"POS": 0.9, "NEG": 0.1})
    assert (first.comprehensiveness, first.sufficiency) == (
        {"POS": 0.5, "NEG": 0.5},
        {"POS": 0.8, "NEG": 0.2},
    )
    assert first.tokens_to_flip == 3
    assert first.thresholded[1] == Thresholded(0.5, {"POS": 0.4, "NEG": 0.6}, {"POS": 0.85, "NEG": 0.15})


def test_a_written_file_has_the_names_of_the_format(tmp_path):
    given = write_lines(tmp_path / "given.jsonl", submission())
    assert write_submission(tmp_path / "written.jsonl", read_submission(given)) == 3
    rows = [json.loads(one) for one in (tmp_path / "written.jsonl").read_text("utf-8").splitlines()]
    assert rows == submission()


def test_what_is_left_out_stays_left_out(tmp_path):
    bare = Instance("a", (DocumentRationale("d1"),))
    write_submission(tmp_path / "s.jsonl", [bare])
    assert json.loads((tmp_path / "s.jsonl").read_text()) == {
        "annotation_id": "a",
        "rationales": [{"docid": "d1"}],
    }
    assert list(read_submission(tmp_path / "s.jsonl")) == [bare]


@given(st.lists(finite, min_size=1), finite, st.dictionaries(st.text(), finite))
def test_floats_come_back_bit_for_bit(tmp_path_factory, scores, threshold, probabilities):
    path = tmp_path_factory.mktemp("floats") / "s.jsonl"
    one = Instance(
        "ä\u2028x",
        (DocumentRationale("d", (), tuple(scores)),),
        classification_scores=probabilities,
        thresholded=(Thresholded(threshold, probabilities, None),),
    )
    write_submission(path, [one, one])
    assert list(read_submission(path)) == [one, one]


def test_reading_and_writing_take_one_line_at_a_time(tmp_path):
    path = write_lines(tmp_path / "s.jsonl", [*submission(), "not JSON"])
    instances = read_submission(path)
    assert [next(instances).annotation_id for _ in range(3)] == ["a", "b", "c"]
    with pytest.raises(UserError, match=r"s\.jsonl:4: malformed JSON"):
        next(instances)


def test_null_is_the_same_as_left_out(tmp_path):
    row = {"annotation_id": "a", "rationales": [{"docid": "d", "soft_sentence_predictions": None}]}
    (read,) = read_submission(write_lines(tmp_path / "s.jsonl", [{**row, "classification": None}]))
    assert read == Instance("a", (DocumentRationale("d"),))


WRONG = {  # the parser is that of `validate`, whose tests have the other faults
    "id is a number": ({"annotation_id": 3, "rationales": []}, "'annotation_id' must be text, not 3"),
    "an unknown field": (
        {"annotation_id": "a", "rationales": [], "classificatoin": "POS"},
        "'classificatoin' is no field of a line; did you mean 'classification'",
    ),
    "rationales is an object": (
        {"annotation_id": "a", "rationales": {"docid": "d"}},
        "'rationales' must be a list of objects",
    ),
    "a score is text": (
        {"annotation_id": "a", "rationales": [{"docid": "d", "soft_rationale_predictions": [0.1, "x"]}]},
        "document 'd': 'soft_rationale_predictions' must be a list of finite numbers; 'x' is not",
    ),
    "a score is NaN": (
        '{"annotation_id": "a", "rationales": [{"docid": "d", "soft_rationale_predictions": [NaN]}]}',
        "finite numbers; nan is not",
    ),
    "no threshold": (
        {"annotation_id": "a", "rationales": [], "thresholded_scores": [{}]},
        "'threshold' is missing",
    ),
}


@pytest.mark.parametrize("case", WRONG)
def test_a_wrong_line_is_named(tmp_path, case):
    row, message = WRONG[case]
    path = write_lines(tmp_path / "s.jsonl", [submission()[0], row])
    with pytest.raises(UserError) as caught:
        list(read_submission(path))
    assert str(caught.value).startswith(f"{path}:2: ") and message in str(caught.value)


def test_an_empty_file_is_no_submission(tmp_path):
    with pytest.raises(UserError, match="the file is empty"):
        list(read_submission(write_lines(tmp_path / "s.jsonl", [])))


def test_numbers_that_json_lacks_are_not_written(tmp_path):
    with pytest.raises(UserError, match="annotation 'a': a score or probability is not a finite number"):
        write_submission(
            tmp_path / "s.jsonl", [Instance("a", (DocumentRationale("d", soft=(float("nan"),)),))]
        )
    assert not list(tmp_path.iterdir())
