"""doccano's JSONL: marks and classes out of every kind of project that has them."""

import pytest
from data_files import records_or_user_error, write_rows
from hypothesis import given
from hypothesis import strategies as st

from unirex.data.example import Example
from unirex.data.formats.doccano import read
from unirex.data.formats.table import Columns
from unirex.data.validate import collecting
from unirex.errors import UserError

TEXT = "a fine film"


def row(**more):
    return {"text": TEXT, **more}


def records(folder, *lines, offsets="auto", **columns):
    path = write_rows(folder / "all.jsonl", lines)
    return read(path, columns=Columns(**columns), offsets=offsets)


def examples(folder, *lines, **options):
    return [record.example for record in records(folder, *lines, **options)]


def test_sequence_labelling_with_the_class_in_a_column(tmp_path):
    row = {"id": 4, "text": TEXT, "sentiment": "pos", "split": "test", "label": [[2, 6, "why"]]}
    (record,) = records(tmp_path, row | {"Comments": []}, label="sentiment")
    assert (record.place, record.split) == (f"{tmp_path / 'all.jsonl'}:1", "test")
    assert record.example == Example("4", (TEXT,), "pos", (((2, 6),),))


@pytest.mark.parametrize("column", ["label", "labels"])
def test_the_class_is_the_name_of_the_marks(tmp_path, column):
    found = examples(
        tmp_path,
        {"id": 1, "text": TEXT, column: [[2, 6, "pos"], [7, 11, "pos"]]},
        {"id": 2, "text": "a dull film", column: [[2, 6, "neg"]]},
    )
    assert [(one.label, one.rationale) for one in found] == [
        ("pos", (((2, 6), (7, 11)),)),
        ("neg", (((2, 6),),)),
    ]


def test_relations_and_data(tmp_path):
    entity = {"id": 9, "label": "why", "start_offset": 2, "end_offset": 6}
    row = {"id": 1, "data": TEXT, "gold": "pos", "entities": [entity], "relations": []}
    (found,) = examples(tmp_path, row, label="gold")
    assert (found.segments, found.rationale) == ((TEXT,), (((2, 6),),))


def test_intent_detection_and_slot_filling(tmp_path):
    (found,) = examples(tmp_path, {"id": 1, "text": TEXT, "cats": ["pos"], "entities": [[2, 6, "why"]]})
    assert (found.label, found.rationale) == ("pos", (((2, 6),),))


def test_text_classification(tmp_path):
    found = examples(
        tmp_path,
        {"text": TEXT, "label": ["pos"]},
        {"text": "x", "labels": ["neg"]},
        {"text": "y", "label": 3},
    )
    assert [(one.id, one.label, one.rationale) for one in found] == [
        ("all-1", "pos", None),
        ("all-2", "neg", None),
        ("all-3", 3, None),
    ]


def test_a_text_without_marks_has_no_rationale(tmp_path):
    (found,) = examples(tmp_path, {"text": TEXT, "gold": "pos", "label": []}, label="gold")
    assert found.rationale is None


def test_a_file_for_each_annotator(tmp_path):
    folder = tmp_path / "export"
    ids = {"fine": 1, "dull": 2}
    rows = {
        "ann": [("fine", "pos", [[2, 6, "pos"]]), ("dull", "neg", [[2, 6, "neg"]])],
        "bob": [("fine", "pos", [[0, 6, "pos"]]), ("dull", "neg", [])],
        "cy": [("fine", "neg", [[7, 11, "neg"]])],
    }
    for who, said in rows.items():
        lines = [{"id": ids[word], "text": f"a {word} film", "label": marks} for word, _, marks in said]
        write_rows(folder / f"{who}.jsonl", lines)
    with collecting() as problems:
        found = [record.example for record in read(folder, columns=Columns())]
    assert [(one.id, one.label, one.rationale) for one in found] == [
        ("1", "pos", (((0, 6),),)),
        ("2", "neg", (((2, 6),),)),
    ]
    assert [len(one.groups) for one in found] == [2, 0]
    assert problems == [f"{folder / 'ann.jsonl'}:1: cy chose 'neg', most chose 'pos': the marks are left out"]
    both = [record.example for record in read(folder, columns=Columns(), annotators="intersection")]
    assert both[0].rationale == (((2, 6),),)
    with pytest.raises(UserError, match="no file of an annotator in it"):
        read(tmp_path, columns=Columns())


EMOJI = "so 😀 good"


@pytest.mark.parametrize(
    ("pair", "offsets", "expected"),
    [
        ([6, 10], "auto", (5, 9)),  # as doccano counts
        ([5, 9], "auto", (5, 9)),  # imported by a program in Python
        ([3, 5], "auto", (3, 4)),  # the emoji
        ([6, 10], "utf-16", (5, 9)),
        ([0, 2], "characters", (0, 2)),
        ([5, 9], "characters", (5, 9)),
    ],
)
def test_offsets(tmp_path, pair, offsets, expected):
    row = {"text": EMOJI, "gold": "pos", "label": [[*pair, "why"]]}
    (found,) = examples(tmp_path, row, label="gold", offsets=offsets)
    assert found.rationale == ((expected,),)


def test_how_offsets_were_read_is_told_where_it_matters(tmp_path):
    rows = [{"text": text, "gold": "x", "label": [[0, 2, "why"]]} for text in ("so good", EMOJI)]
    with collecting() as problems:
        examples(tmp_path, *rows, label="gold")
    path = tmp_path / "all.jsonl"
    assert len(problems) == 1
    assert problems[0].startswith(f"{path}: offsets are read as UTF-16 code units, which matters in 1 texts")
    assert f"first at {path}:2" in problems[0]
    with collecting() as problems:
        examples(tmp_path, rows[0], label="gold")
    assert problems == []


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        ([row()], r"jsonl:1: no class: give every text one in doccano.*there are text\)"),
        ([row(label=[])], r"jsonl:1: no class"),
        ([row(label=[[2, 6, "why"]])], r"jsonl:1: no class"),  # one name is no class
        ([row(label=[[0, 1, "p"], [2, 6, "n"]])], r"jsonl:1: its marks are for several classes \(n, p\)"),
        ([row(label=["a", "b"])], r"jsonl:1: 'label' holds several classes, \['a', 'b'\]"),
        ([row(label=["a", [0, 1, "b"]])], r"jsonl:1: 'label' holds several classes"),
        ([row(label={"a": 1})], r"jsonl:1: 'label' must be text"),
        ([row(cats=["a"], label=[[0, 99, "b"]])], r"jsonl:1: rationale span \[0, 99\] is outs"),
        ([row(cats=["a"], label=[[0, "1", "b"]])], r"jsonl:1: .* two whole numbers"),
        ([row(cats=["a"], label=[[0, 1]])], r"'label' must be \[start, end, name\], not \[0, 1\]"),
        ([row(cats=["a"], label=[7])], r"must be \[start, end, name\], not 7"),
        ([row(cats=["a"], entities=[{"label": "b"}])], r"jsonl:1: .* two whole numbers"),
        ([row(cats=["a"], entities=[[0, 1, []]])], r"jsonl:1: 'entities' must be text"),
        ([row(annotations=[{"label": 7}])], r"jsonl:1: it names labels by numbers, .*\(text label\)"),
        ([row(text=" ", label=["a"])], r"jsonl:1: 'text' is empty"),
        ([{"body": TEXT, "label": ["a"]}], r"jsonl:1: unknown column 'text'"),
        ([row(label=["a"], id=1)] * 2, r"jsonl:2: duplicate id '1'"),
        ([row(label=["a"], split="x")], r"jsonl:1: unknown split 'x'"),
    ],
)
def test_mistakes_name_the_line(tmp_path, lines, message):
    with pytest.raises(UserError, match=message):
        examples(tmp_path, *lines)


def test_options_are_checked(tmp_path):
    path = write_rows(tmp_path / "all.jsonl", [{"text": TEXT, "label": ["a"]}])
    for message, options in {
        "unknown way to combine annotators": {"annotators": "any"},
        "unknown way to count offsets": {"offsets": "bytes"},
        "name one text column": {"columns": Columns(text="a,b")},
        "unknown column 'gold'": {"columns": Columns(label="gold")},
    }.items():
        with pytest.raises(UserError, match=message):
            read(path, **{"columns": Columns(), **options})
    with pytest.raises(UserError, match="unsupported suffix"):
        read(path.rename(tmp_path / "all.csv"), columns=Columns())


def test_all_problems_are_collected(tmp_path):
    rows = [{"text": ""}, {"text": TEXT, "label": ["a"]}, {"text": "x", "label": []}]
    with collecting() as problems:
        assert len(examples(tmp_path, *rows)) == 1
    assert [problem.split(":")[1] for problem in problems] == ["1", "3"]


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-1, 12) | st.sampled_from(["a", "b", EMOJI]) | st.floats(),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(["start_offset", "end_offset", "label"]), inner)
    ),
    max_leaves=8,
)
KEYS = ["text", "data", "label", "labels", "entities", "cats", "id", "annotations"]


@given(st.lists(st.dictionaries(st.sampled_from(KEYS), VALUES), min_size=1, max_size=4), st.booleans())
def test_any_json_gives_records_or_a_user_error(tmp_path_factory, wild, whole):
    lines = [{"text": EMOJI, "cats": ["a"], **one} if whole else one for one in wild]
    path = write_rows(tmp_path_factory.mktemp("wild") / "all.jsonl", lines)
    records_or_user_error(read, path, columns=Columns())
