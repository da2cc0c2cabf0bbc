"""What is written in a file is what comes out, or a message that names the line."""

from itertools import islice

import pyarrow as pa
import pytest
from data_files import write_rows
from hypothesis import given
from hypothesis import strategies as st
from pyarrow import parquet

from unirex.data.formats.table import Columns, read_inputs, read_records, stream_records
from unirex.data.rows import estimate_row_count
from unirex.errors import UserError

WILD = ["so 😀 good", "no\u00a0break", 'a "quoted",\nnew\r\nline', "مرحبا", "日本語", "a\u2028b", " spaces\t"]
SUFFIXES = [".jsonl", ".ndjson", ".csv", ".tsv", ".parquet"]
OK = '{"text": "x", "label": "a"}\n'


def read_texts(path, *, column="text"):
    """The texts of a file with their places, as `unirex explain --file` reads them."""
    columns = Columns(text=column, label="", rationale="", id="", choices="", groups="")
    return ((record.place, record.example.text) for record in read_inputs(path, columns=columns))


def examples(path, **columns):
    return [record.example for record in read_records(path, columns=Columns(**columns))]


def written(folder, content, name="data.jsonl"):
    path = folder / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_round_trip(tmp_path, suffix):
    rows = [
        {"text": text, "label": "ab"[index % 2], "rationale": [[0, 2]] if index else None, "id": f"n{index}"}
        for index, text in enumerate(WILD)
    ]
    write_rows(tmp_path / f"data{suffix}", rows)
    found = examples(tmp_path / f"data{suffix}")
    assert [one.segments for one in found] == [(text,) for text in WILD]
    assert [one.label for one in found] == [row["label"] for row in rows]
    assert [one.id for one in found] == [row["id"] for row in rows]
    assert [one.rationale for one in found] == [None] + [(((0, 2),),)] * (len(WILD) - 1)


@given(texts=st.lists(st.text(st.characters(codec="utf-8"), min_size=1).filter(str.strip), min_size=1))
@pytest.mark.parametrize("suffix", SUFFIXES)
def test_any_text_survives(tmp_path_factory, suffix, texts):
    path = tmp_path_factory.mktemp("wild") / f"data{suffix}"
    write_rows(path, [{"text": text, "label": "a"} for text in texts])
    assert [one.text for one in examples(path)] == texts
    assert [text for _, text in read_texts(path)] == texts


@given(st.binary(max_size=80), st.sampled_from([*SUFFIXES, ".txt"]))
def test_any_bytes_give_rows_or_a_user_error(tmp_path_factory, content, suffix):
    path = written(tmp_path_factory.mktemp("bytes"), content, f"data{suffix}")
    for read in (read_records, lambda path: list(read_texts(path))):
        try:
            assert read(path)
        except UserError as error:
            assert str(path) in str(error)


@pytest.mark.parametrize(
    ("name", "labels"),
    [
        *[("data.jsonl", labels) for labels in (["a", "b"], [0, 1], [True, False], [0.5, 1], [0, 2.5])],
        *[("data.parquet", labels) for labels in (["a", "b"], [0, 1], [True, False], [0.5, 1.5])],
    ],
)
def test_label_types_are_kept(tmp_path, name, labels):
    path = write_rows(tmp_path / name, [{"text": "x", "label": label} for label in labels])
    found = [example.label for example in examples(path)]
    assert [(type(label), label) for label in found] == [(type(label), label) for label in labels]


def test_csv_labels_are_strings_as_written(tmp_path):
    path = written(tmp_path, "text,label\nx,1\ny,1.0\nz,True\nw, a\n", "data.csv")
    assert [one.label for one in examples(path)] == ["1", "1.0", "True", " a"]


def test_missing_ids_are_made_of_the_stem_and_the_row(tmp_path):
    path = written(tmp_path, '{"text": "x", "label": 1}\n\n{"text": "y", "label": 1, "id": 7}\n')
    assert [one.id for one in examples(path)] == ["data-1", "7"]


def test_columns_by_other_names(tmp_path):
    path = written(tmp_path, "body,stars,why,key,part\ngood film,5,[0],k,validation\n", "data.csv")
    columns = Columns(text="body", label="stars", rationale="why", id="key", split="part")
    (record,) = read_records(path, columns=columns)
    assert (record.example.text, record.example.label, record.example.id) == ("good film", "5", "k")
    assert (record.example.rationale, record.split, record.place) == ((((0, 4),),), "dev", f"{path}:2")


def test_an_empty_name_leaves_a_column_out(tmp_path):
    path = written(tmp_path, '{"text": "x", "label": 1, "split": "fold 3"}')
    assert read_records(path, columns=Columns(split=""))[0].split is None


def test_rationale_format_is_passed_on(tmp_path):
    path = written(tmp_path, '{"text": "a b", "label": 1, "rationale": [0, 1]}')
    assert read_records(path)[0].example.rationale == (((2, 3),),)
    assert read_records(path, rationale_format="words")[0].example.rationale == (((0, 1), (2, 3)),)


def test_byte_order_mark_crlf_and_padded_header(tmp_path):
    path = written(tmp_path, b"\xef\xbb\xbftext, label\r\nx,a\r\n\r\ny,b\r\n", "data.csv")
    assert [(one.text, one.label) for one in examples(path)] == [("x", "a"), ("y", "b")]
    path = written(tmp_path, b'\xef\xbb\xbf{"text": "x", "label": "a"}\r\n')
    assert [one.text for one in examples(path)] == ["x"]


def test_very_long_fields(tmp_path):
    path = written(tmp_path, f"text,label\n{'x' * 300_000},a\n", "data.csv")
    assert len(examples(path)[0].text) == 300_000


def test_quoted_newlines_do_not_shift_the_line_told(tmp_path):
    path = written(tmp_path, 'text,label\n"one\ntwo\n",a\nthree,b\n"four\nfive",\n', "data.csv")
    with pytest.raises(UserError, match=r"data\.csv:6: 'label' is missing"):
        read_records(path)
    assert [place for place, _ in read_texts(path)] == [f"{path}:2", f"{path}:5", f"{path}:6"]


def test_a_short_row_has_empty_cells(tmp_path):
    path = written(tmp_path, "text,label,rationale\nx,a\n", "data.csv")
    assert examples(path)[0].rationale is None


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("data.json", "{}", r"data\.json: not a list of objects"),
        ("data.yaml", "", r"data\.yaml: unsupported suffix '\.yaml'; supported: \.jsonl, .*\.xlsx$"),
        ("data.txt", "x", r"data\.txt: unsupported suffix '\.txt'"),
        ("data", "x", r"data: unsupported suffix ''"),
        ("data.jsonl", "", r"data\.jsonl: the file is empty"),
        ("data.jsonl", "\n \n", r"data\.jsonl: the file is empty"),
        ("data.csv", "", r"data\.csv: the file is empty"),
        ("data.csv", "text,label\n", r"data\.csv: the file is empty"),
        ("data.csv", "txt,label\nx,a\n", r"csv: unknown column 'text'; did you mean 'txt'\? Known: txt, l"),
        ("data.csv", 'text,label\n"  ",a\n', r"csv:2: 'text' is empty"),
        ("data.csv", "text,label\na,b,c\n", r"csv:2: 3 fields, but the header has 2"),
        ("data.csv", 'text,label\nx,a\n"open,b\ny,a\n', r"csv:3: malformed row: unexpected end of data"),
        ("data.csv", 'text,label\n"a"b,b\n', r"csv:2: malformed row"),
        ("data.csv", "text,label\rx,a\r", r"csv:1: malformed row"),
        ("data.csv", "text,text\nx,a\n", r"csv:1: column 'text' is there twice"),
        ("data.csv", "text,label,rationale\nx,a,first\n", r"csv:2: rationale 'first' is not JSON"),
        ("data.parquet", "no", r"data\.parquet: not a readable Parquet file"),
    ],
)
def test_mistakes_name_the_place(tmp_path, name, content, message):
    with pytest.raises(UserError, match=message):
        read_records(written(tmp_path, content, name))


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ('{"test": "x", "label": 1}', r"unknown column 'text'; did you mean 'test'"),
        ('{"text": "x"}', r"unknown column 'label'.* Known: text"),
        ('{"text": "", "label": 1}', r"'text' is empty"),
        ('{"text": 3, "label": 1}', r"'text' must be a string, not 3"),
        ('{"text": null, "label": 1}', r"'text' must be a string, not None"),
        ('{"text": "a\\ud83d", "label": 1}', r"'text' holds half a surrogate.* 1"),
        ('{"text": "x", "label": null}', r"'label' is missing"),
        ('{"text": "x", "label": NaN}', r"'label' is missing"),
        ('{"text": "x", "label": ["a"]}', r"one label at .*jsonl:1, but a list at"),
        ('{"text": "x", "label": }', r"malformed JSON at column 24: Expecting value"),
        ("[1]", r"a line must be a JSON object"),
        ("[" * 100_000, r"unreadable JSON"),
        ('{"n": ' + "9" * 5000 + "}", r"unreadable JSON"),
        (b'{"text": "\xff"}', r"not UTF-8 at byte 10 .*\(byte 38 of the"),
        ('{"text": "x", "label": "b", "id": "data-1"}', r"duplicate id 'data-1', .*:1;"),
        ('{"text": "x", "label": "b", "split": "trian"}', r"unknown split 'trian'; did"),
        ('{"text": "x", "label": "b", "rationale": [[0, 9]]}', r"rationale span"),
    ],
)
def test_mistakes_in_json_name_the_line(tmp_path, line, message):
    path = written(tmp_path, OK.encode() + (line if isinstance(line, bytes) else line.encode()))
    with pytest.raises(UserError, match=f"jsonl:2: {message}"):
        read_records(path)


@pytest.mark.parametrize("labels", [[1, True], [0, 1.0, 1], [False, 0], ["1", 1], [True, "True"], [2, True]])
def test_labels_that_would_be_confused(tmp_path, labels):
    write_rows(tmp_path / "data.jsonl", [{"text": "x", "label": label} for label in labels])
    with pytest.raises(UserError, match=rf"data\.jsonl:{len(labels)}: label .* at .*jsonl:\d; write all"):
        read_records(tmp_path / "data.jsonl")


def test_parquet_mistakes_name_the_row(tmp_path):
    write_rows(tmp_path / "data.parquet", [{"text": "x", "label": "a"}, {"text": " ", "label": "a"}])
    with pytest.raises(UserError, match=r"data\.parquet: row 2: 'text' is empty"):
        read_records(tmp_path / "data.parquet")
    bad = pa.array([b"\xff"]).cast(pa.string(), safe=False)
    parquet.write_table(pa.table({"text": bad, "label": ["a"]}), tmp_path / "bad.parquet")
    with pytest.raises(UserError, match=r"bad\.parquet: row 1 .*not UTF-8"):
        read_records(tmp_path / "bad.parquet")


def test_a_named_column_must_be_there(tmp_path):
    path = written(tmp_path, '{"text": "x", "label": 1, "reason": [0]}')
    with pytest.raises(UserError, match=r"data\.jsonl: unknown column 'reasons'; did you mean 'reason'"):
        read_records(path, columns=Columns(rationale="reasons"))


def test_a_missing_file_tells_the_nearest(tmp_path):
    written(tmp_path, OK, "reviews.jsonl")
    with pytest.raises(UserError, match=r"review\.jsonl: no such file; did you mean '.*reviews\.jsonl'"):
        read_records(tmp_path / "review.jsonl")
    with pytest.raises(UserError, match=r"nor is there a folder"):
        read_records(tmp_path / "nowhere" / "review.jsonl")
    with pytest.raises(UserError, match=r"nor is there a folder"):
        read_records(tmp_path / "reviews.jsonl" / "review.jsonl")


def test_a_folder_is_not_a_file(tmp_path):
    for read in (read_records, read_texts):
        with pytest.raises(UserError, match="is a folder; give a file in it"):
            read(tmp_path)


def test_plain_text_skips_blank_lines(tmp_path):
    path = written(tmp_path, "one\n\n  two \r\n \nthree", "data.txt")
    assert list(read_texts(path)) == [(f"{path}:1", "one"), (f"{path}:3", "  two "), (f"{path}:5", "three")]
    assert len(list(read_texts(path, column="whatever"))) == 3


def test_texts_need_no_labels_and_name_the_place(tmp_path):
    path = written(tmp_path, '{"body": "x"}\n{"body": " "}\n')
    texts = read_texts(path, column="body")
    assert next(texts) == (f"{path}:1", "x")
    with pytest.raises(UserError, match=r"data\.jsonl:2: 'body' is empty"):
        next(texts)
    with pytest.raises(UserError, match=r"data\.jsonl:1: unknown column 'text'"):
        next(read_texts(path))


def test_a_missing_file_of_texts_is_told_at_once(tmp_path):
    with pytest.raises(UserError, match="no such file"):
        read_texts(tmp_path / "data.txt")


@pytest.mark.parametrize("suffix", [".jsonl", ".csv", ".txt"])
def test_texts_stream(tmp_path, suffix):
    """The first text comes before a mistake far behind it is read."""
    head = {".jsonl": b"", ".csv": b"text\n", ".txt": b""}[suffix]
    line = b'{"text": "x"}\n' if suffix == ".jsonl" else b"x\n"
    path = written(tmp_path, head + line * 50_000 + b"\xff", f"data{suffix}")
    assert [text for _, text in islice(read_texts(path), 3)] == ["x"] * 3


def test_the_number_of_rows_is_seen_without_reading_them(tmp_path):
    path = tmp_path / "texts.jsonl"
    path.write_text('{"text": "a"}\n' * 7, "utf-8")
    assert estimate_row_count(path) == 7
    (tmp_path / "t.csv").write_text("text\n" + "fine\n" * 5, "utf-8")
    assert estimate_row_count(tmp_path / "t.csv") == 6  # about: the header counts
    for unknown in ("tasks.json", "no.txt"):
        assert estimate_row_count(tmp_path / unknown) is None
    parquet.write_table(pa.table({"text": ["a", "b", "c"]}), tmp_path / "t.parquet")
    assert estimate_row_count(tmp_path / "t.parquet") == 3
    (tmp_path / "bad.parquet").write_bytes(b"nothing")
    assert estimate_row_count(tmp_path / "bad.parquet") is None


def test_a_stream_of_records_is_read_as_it_is_asked_for(tmp_path):
    path = tmp_path / "texts.jsonl"
    path.write_text('{"text": "a", "label": 1}\nnot json\n', "utf-8")
    stream = stream_records(path)
    first = next(stream)
    assert (first.place, first.example.id, first.example.label) == (f"{path}:1", "texts-1", 1)
    with pytest.raises(UserError, match=r"texts\.jsonl:2: malformed"):
        next(stream)
    path.write_text('{"text": "a"}\n', "utf-8")
    with pytest.raises(UserError, match=r"texts\.jsonl:1"):
        next(stream_records(path))
