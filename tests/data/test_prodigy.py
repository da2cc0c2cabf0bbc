"""Prodigy's JSON Lines: who said what of which text, and what an accept or a reject means."""

import pytest
from data_files import records_or_user_error, write_rows
from hypothesis import given
from hypothesis import strategies as st

from unirex.data.example import Example
from unirex.data.formats.prodigy import read
from unirex.data.formats.table import Columns
from unirex.data.validate import collecting
from unirex.errors import UserError

TEXT = "so 😀 good"


def line(text=TEXT, answer="accept", **more):
    return {"text": text, "_input_hash": len(text), "_task_hash": 5, "answer": answer, **more}


def span(start, end):
    return {"start": start, "end": end, "token_start": 0, "token_end": 0, "label": "RATIONALE"}


def yes_or_no(label, answer, text=TEXT, **more):
    return line(text, answer, label=label, _view_id="classification", **more)


def saved(folder, lines):
    return write_rows(folder / "reviews.jsonl", lines)


def records(folder, *lines, how="union", **columns):
    return read(saved(folder, lines), columns=Columns(**columns), annotators=how)


def examples(folder, *lines, **options):
    return [record.example for record in records(folder, *lines, **options)]


def told(problems):
    """The faults with their line numbers, without the path."""
    return [problem.split("reviews.jsonl:", 1)[1] for problem in problems]


def test_an_export_as_prodigy_writes_it(tmp_path):
    """A line of blocks (spans_manual and choice), as in Prodigy's documentation of its interfaces."""
    export = {
        "text": "A fine film.",
        "meta": {"source": "blog", "split": "validation", "id": 17},
        "_input_hash": -977724056,
        "_task_hash": -665543633,
        "_is_binary": False,
        "tokens": [{"text": "A", "start": 0, "end": 1, "id": 0, "ws": True}],
        "options": [{"id": "POS", "text": "positive"}, {"id": "NEG", "text": "negative"}],
        "spans": [{"start": 2, "end": 6, "token_start": 1, "token_end": 1, "label": "WHY", "text": "fine"}],
        "_view_id": "blocks",
        "accept": ["POS"],
        "config": {"choice_style": "single"},
        "answer": "accept",
        "_timestamp": 1660000000,
        "_annotator_id": "reviews-ann",
        "_session_id": "reviews-ann",
    }
    with collecting() as problems:
        (record,) = records(tmp_path, export)
    assert (record.place, record.split) == (f"{tmp_path / 'reviews.jsonl'}:1", "dev")
    assert record.example == Example("17", ("A fine film.",), "POS", (((2, 6),),))
    assert problems == []


def test_offsets_are_characters(tmp_path):
    (found,) = examples(tmp_path, line(label="good", spans=[span(5, 9)]))
    assert found.segments[0][slice(*found.rationale[0][0])] == "good"


def test_unmarked_and_marked_with_nothing(tmp_path):
    found = examples(tmp_path, line("a", label="x"), line("b", label="x", spans=[]))
    assert [one.rationale for one in found] == [None, ((),)]


def test_one_person_in_two_passes(tmp_path):
    marked = line(spans=[span(5, 9)], _view_id="spans_manual", _annotator_id="ann")
    chosen = line(accept=["good"], _view_id="choice", _annotator_id="ann")
    (found,) = examples(tmp_path, marked, chosen)
    assert (found.label, found.rationale, found.groups) == ("good", (((5, 9),),), ())


def test_several_people(tmp_path):
    lines = [
        line(label="good", spans=[span(0, 2)], _annotator_id="ann"),
        line("other", label="bad", _annotator_id="ann"),
        line(label="good", spans=[span(1, 4)], _session_id="bob"),
        line(label="bad", spans=[span(5, 9)], _annotator_id="cy"),
    ]
    with collecting() as problems:
        found = examples(tmp_path, *lines)
    assert [(one.label, one.rationale) for one in found] == [("good", (((0, 4),),)), ("bad", None)]
    assert found[0].groups == ((((0, 2),),), (((1, 4),),))
    assert told(problems) == ["1: cy chose 'bad', most chose 'good': the marks are left out"]
    assert examples(tmp_path, *lines, how="intersection")[0].rationale == (((1, 2),),)


def test_lines_without_names_are_people_of_their_own(tmp_path):
    same = [line(label="good", spans=[span(0, 2)]), line(label="good", spans=[span(1, 4)])]
    assert len(examples(tmp_path, *same)[0].groups) == 2


def test_one_text_with_two_hashes_is_two_texts(tmp_path):
    assert len(examples(tmp_path, line(label="a"), line(label="b") | {"_input_hash": -1})) == 2


def test_ignored_and_rejected_lines_are_left_out_with_a_remark(tmp_path):
    lines = [
        line(label="good", spans=[span(0, 2)], _view_id="spans_manual"),
        line(answer="ignore", label="bad"),
        line(answer="reject", label="good", spans=[span(5, 9)], _view_id="spans_manual"),
        line("other", answer="reject", accept=["bad"], _view_id="choice"),
    ]
    with collecting() as problems:
        found = examples(tmp_path, *lines)
    assert [(one.label, one.rationale) for one in found] == [("good", (((0, 2),),))]
    assert told(problems) == [
        "2: the answer is ignore; the line is left out",
        "3: the answer is reject; the line is left out",
        "4: the answer is reject; the line is left out",
    ]


def test_a_no_to_one_of_two_classes_is_a_yes_to_the_other(tmp_path):
    lines = [
        yes_or_no("good", "accept", "a"),
        yes_or_no("bad", "reject", "b"),
        yes_or_no("good", "reject", "c"),
    ]
    assert [one.label for one in examples(tmp_path, *lines)] == ["good", "good", "bad"]
    plain = [line("a", label="good"), line("b", "reject", label="good"), line("c", label="bad")]
    assert [one.label for one in examples(tmp_path, *plain)] == ["good", "bad", "bad"]


def test_a_no_to_the_only_class_is_a_class(tmp_path):
    lines = [yes_or_no("INSULT", "accept", "a"), yes_or_no("INSULT", "reject", "b")]
    assert [one.label for one in examples(tmp_path, *lines)] == ["INSULT", "not INSULT"]


def test_a_no_to_one_of_many_classes_says_nothing(tmp_path):
    lines = [yes_or_no(label, "accept", label) for label in ("a", "b", "c")] + [yes_or_no("a", "reject", "d")]
    with collecting() as problems:
        assert [one.label for one in examples(tmp_path, *lines)] == ["a", "b", "c"]
    assert told(problems) == ["4: a no to 'a' does not say which class it is; it is left out"]


def test_one_pass_for_each_class(tmp_path):
    lines = [
        yes_or_no(label, "accept" if label == text else "reject", text, _annotator_id="ann")
        for label in ("a", "b", "c")
        for text in ("a", "b", "c")
    ]
    with collecting() as problems:
        assert [one.label for one in examples(tmp_path, *lines)] == ["a", "b", "c"]
    assert problems == []


def test_spans_that_were_only_shown_are_no_marks(tmp_path):
    with collecting() as problems:
        (found,) = examples(tmp_path, yes_or_no("good", "accept", spans=[span(0, 2)]))
    assert found.rationale is None
    assert told(problems) == ["1: its spans were shown by 'classification', not marked; they are left out"]


def test_columns_by_other_names(tmp_path):
    (found,) = examples(
        tmp_path, line(body="b c", stars=5, key="k", spans=[span(2, 3)]), text="body", label="stars", id="key"
    )
    assert found == Example("k", ("b c",), 5, (((2, 3),),))


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        ([{"text": TEXT}], r"jsonl:1: unknown answer 'None'.* Export the lines with prodigy db-out"),
        ([line(answer="yes")], r"jsonl:1: unknown answer 'yes'\. Known: accept, reject, ignore"),
        ([line(answer=["accept"])], r"jsonl:1: unknown answer"),
        ([line(label="a"), line("b", spans=[])], r"jsonl:2: no class: neither 'accept' nor 'label' is in"),
        ([line("b")], r"jsonl:1: no class"),
        ([line(accept=[])], r"jsonl:1: 'accept' must hold one class, not \[\]"),
        ([line(accept=["a", "b"])], r"jsonl:1: 'accept' must hold one class"),
        ([line(accept="a")], r"jsonl:1: 'accept' must hold one class"),
        ([line(accept=[["a"]])], r"jsonl:1: 'accept' must be text"),
        ([line(label=["a"])], r"jsonl:1: 'label' must be text"),
        ([line(label="a", spans=[span(0, 99)])], r"jsonl:1: rationale span \[0, 99\] is outside its text"),
        ([line(label="a", spans=[{"text": "so"}])], r"jsonl:1: rationale span \[None, None\] must be"),
        ([line(label="a", spans=[[0, 2]])], r"jsonl:1: 'spans' must be a list of objects"),
        ([line(label="a", spans="all")], r"jsonl:1: 'spans' must be a list of objects"),
        ([line("")], r"jsonl:1: 'text' is empty"),
        ([{"answer": "accept", "html": "x"}], r"jsonl:1: unknown column 'text'"),
        ([line(label="a", split="trian")], r"jsonl:1: unknown split 'trian'"),
        ([line(label="a"), line(label="b")], r"jsonl:1: the annotators do not agree on a label \(line 1 'a'"),
        ([line(label=label, _annotator_id="ann") for label in "ab"], r"jsonl:1: ann gives .*: 'a', 'b'"),
        ([line("a", label="x", id=1), line("b", label="x", id=1)], r"jsonl:2: duplicate id '1'"),
    ],
)
def test_mistakes_name_the_line(tmp_path, lines, message):
    with pytest.raises(UserError, match=message):
        read(saved(tmp_path, lines), columns=Columns())


def test_options_are_checked(tmp_path):
    path = saved(tmp_path, [line(label="a")])
    with pytest.raises(UserError, match="name one text column"):
        read(path, columns=Columns(text="a,b"))
    with pytest.raises(UserError, match="unknown way to combine annotators"):
        read(path, columns=Columns(), annotators="any")
    with pytest.raises(UserError, match="unsupported suffix"):
        read(path.rename(tmp_path / "reviews.csv"), columns=Columns())


def test_all_problems_are_collected(tmp_path):
    with collecting() as problems:
        found = examples(tmp_path, line(""), line("a", label="x"), line("b"), line("c", answer="no"))
    assert len(found) == 1
    assert sorted(problem.split(":")[0] for problem in told(problems)) == ["1", "3", "4"]


KEYS = [
    "text", "answer", "label", "accept", "spans", "meta", "_input_hash", "_annotator_id", "_view_id", "id"
]  # fmt: skip
LEAVES = (
    st.none() | st.booleans() | st.integers(-1, 12) | st.sampled_from(["accept", "reject", "choice", TEXT])
)
VALUES = st.recursive(
    LEAVES,
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.sampled_from(["start", "end"]), inner),
    max_leaves=6,
)


@given(st.lists(st.dictionaries(st.sampled_from(KEYS), VALUES), min_size=1, max_size=4), st.booleans())
def test_any_json_gives_records_or_a_user_error(tmp_path_factory, wild, whole):
    lines = [{"text": TEXT, "answer": "accept", **one} if whole else one for one in wild]
    path = saved(tmp_path_factory.mktemp("wild"), lines)
    records_or_user_error(read, path, columns=Columns())
