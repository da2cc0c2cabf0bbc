"""Marks of tables: one way of writing for a whole file, and those of several people."""

import pytest
from data_files import write_rows

from unirex.data.formats.table import Columns, read_records
from unirex.data.load import load_dataset
from unirex.data.validate import collecting
from unirex.errors import UserError

ROWS = [  # the same marks in each row, "good" and "bad", however they are written
    ("a good film", "pos", (2, 6)),
    ("so bad", "neg", (3, 6)),
    ("rather good , not great", "pos", (7, 11)),
]
WAYS = {
    "characters": [[[2, 6]], [[3, 6]], [[7, 11]]],
    "objects": [[{"start": start, "end": end, "label": "why"}] for _, _, (start, end) in ROWS],
    "offsets": [[2, 3, 4, 5], [3, 4, 5], [7, 8, 9, 10]],
    "words": [[1], [1], [1]],
    "flags": [[0, 1, 0], [0, 1], [0, 1, 0, 0, 0]],
    "phrases": [["good"], ["bad"], ["good"]],
}


def rows(marks, **more):
    for (text, label, _), mark in zip(ROWS, marks, strict=True):
        yield {"text": text, "label": label, "rationale": mark, **more}


def golds(path, **options):
    return [record.example.rationale for record in read_records(path, **options)]


@pytest.mark.parametrize("suffix", [".jsonl", ".csv", ".parquet"])
@pytest.mark.parametrize("way", WAYS)
def test_every_way_of_writing_marks_is_recognised(tmp_path, caplog, way, suffix):
    path = write_rows(tmp_path / f"data{suffix}", list(rows(WAYS[way])))
    assert golds(path) == [((span,),) for _, _, span in ROWS]
    said = [record.getMessage() for record in caplog.records]
    if way in ("characters", "objects"):  # nothing else they could be
        assert not said
    else:
        assert len(said) == 1 and said[0].startswith(f"{path}: marks are read as")


def test_marks_in_the_text_itself(tmp_path):
    texts = ["a <em>good</em> film", "so **bad**", "rather <mark>good</mark> , not great"]
    tagged = [{"text": text, "label": row[1]} for text, row in zip(texts, ROWS, strict=True)]
    path = write_rows(tmp_path / "t.csv", tagged)
    records = read_records(path)
    assert [record.example.text for record in records] == [text for text, _, _ in ROWS]
    assert [record.example.rationale for record in records] == [((span,),) for _, _, span in ROWS]


def test_a_few_stars_are_no_marks(tmp_path):
    path = write_rows(tmp_path / "t.jsonl", [{"text": text, "label": label} for text, label, _ in ROWS])
    path.write_text(path.read_text().replace("so bad", "so **bad**"))
    assert [record.example.text for record in read_records(path)][1] == "so **bad**"
    assert golds(path, rationale_format="tags")[1] == (((3, 6),),)


FLAGS = [[[0, 1, 0], [0, 1, 1], [0, 0, 0]], [[0, 1], [1, 1], [1, 1]], [[0, 1, 0, 0, 0], [1] * 5, None]]


@pytest.mark.parametrize(
    ("how", "first"),
    [("union", ((2, 6), (7, 11))), ("majority", ((2, 6),)), ("2", ((2, 6),)), ("intersection", ())],
)
def test_marks_of_several_people_in_a_list_or_in_columns(tmp_path, how, first):
    listed = write_rows(tmp_path / "list.jsonl", list(rows(FLAGS)))
    apart = [
        {"text": text, "label": label, "a": mark[0], "b": mark[1], "c": mark[2]}
        for (text, label, _), mark in zip(ROWS, FLAGS, strict=True)
    ]
    columns = Columns(rationale="a,b,c")
    in_columns = write_rows(tmp_path / "columns.csv", [{**row, "c": row["c"] or ""} for row in apart])
    for path, options in ((listed, {}), (in_columns, {"columns": columns})):
        records = read_records(path, annotators=how, **options)
        assert records[0].example.rationale == (first,)
        assert [len(record.example.groups) for record in records] == [3, 3, 2]


def test_votes_for_the_label_go_with_the_marks(tmp_path):
    row = {
        "text": "so bad",
        "l1": "neg",
        "l2": "pos",
        "l3": "neg",
        "m1": [[3, 6]],
        "m2": [[0, 2]],
        "m3": [[0, 6]],
    }
    path = write_rows(tmp_path / "votes.jsonl", [row])
    columns = Columns(label="l1,l2,l3", rationale="m1,m2,m3")
    with collecting() as problems:
        (record,) = read_records(path, columns=columns, annotators="intersection")
    assert record.example.label == "neg"
    assert record.example.rationale == (((3, 6),),)  # not of the person who said otherwise
    assert "person 2 chose 'pos', most chose 'neg'" in problems[0]
    tied = write_rows(tmp_path / "tied.jsonl", [{**row, "l3": None}])
    with pytest.raises(UserError, match=r"tied.jsonl:1: the annotators do not agree on a label"):
        read_records(tied, columns=columns)


def test_a_wrong_mark_is_named_in_the_format_of_the_file(tmp_path):
    path = write_rows(tmp_path / "data.jsonl", list(rows([[1], [5], [1, 0]])))
    with pytest.raises(UserError, match=r"data.jsonl:2: rationale word index 5 is out of range"):
        read_records(path)


def test_check_names_rows_that_alone_would_be_read_otherwise(tmp_path):
    """[0, 1] are words here, as in the third row; alone, in a text of two words, they would be flags."""
    path = write_rows(tmp_path / "data.jsonl", list(rows([[1], [0, 1], [3, 1]])))
    with collecting() as problems:
        assert golds(path)[1] == (((0, 2), (3, 6)),)
    (problem,) = problems
    assert "data.jsonl:2: rationale [0, 1] is read as word indices" in problem
    with collecting() as problems:
        golds(path, rationale_format="words")
    assert not problems


def test_bad_rows_stop_are_skipped_or_clipped(tmp_path, caplog):
    marked = [[[2, 6]], [[3, 99]], [[7, 11]]]
    path = write_rows(tmp_path / "data.jsonl", [*rows(marked)] * 8)
    with pytest.raises(UserError, match=r"data.jsonl:2: rationale span \[3, 99\] is outside"):
        load_dataset(path)
    data = load_dataset(path, on_error="clip")
    assert sum(map(len, data.values())) == 24
    assert {e.rationale for part in data.values() for e in part if e.text == "so bad"} == {(((3, 6),),)}
    assert "8 marks outside their texts were cut off" in caplog.text
    with path.open("a") as file:
        file.write('{"text": "", "label": "pos"}\n')
    with pytest.raises(UserError, match=r"data.jsonl:25: 'text' is empty"):
        load_dataset(path, on_error="clip")
    mixed = [{"text": f"text {n}", "label": "ab"[n % 2]} for n in range(20)]
    mixed += ['{"text": "", "label": "a"}', "{oops", '{"text": "x", "label": "a", "id": "mixed-1"}']
    mixed = write_rows(tmp_path / "mixed.jsonl", mixed)
    data = load_dataset(mixed, on_error="skip")
    assert sum(map(len, data.values())) == 20
    assert [problem.partition(": ")[0][-2:] for problem in data.skipped] == ["21", "22", "23"]
    assert "3 bad rows skipped; the first:" in caplog.text
    with pytest.raises(UserError, match="unknown way to handle bad rows 'ignore'"):
        load_dataset(mixed, on_error="ignore")


def test_what_was_clipped_or_skipped_is_not_served_to_those_who_want_an_error(tmp_path, monkeypatch):
    """A set of this size is cached; its key does not say what became of bad rows."""
    monkeypatch.setenv("UNIREX_CACHE", str(tmp_path / "cache"))
    many = [{"text": f"text {n}", "label": "ab"[n % 2], "rationale": [[0, 4]]} for n in range(1200)]
    many[7]["rationale"] = [[0, 99]]
    path = write_rows(tmp_path / "many.jsonl", many)
    for on_error, texts in (("clip", 1200), ("skip", 1199)):
        assert sum(map(len, load_dataset(path, on_error=on_error).values())) == texts
    with pytest.raises(UserError, match=r"many.jsonl:8: rationale span \[0, 99\] is outside"):
        load_dataset(path)
