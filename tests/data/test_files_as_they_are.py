"""Files as people have them: other delimiters and encodings, compressed, JSON arrays, spreadsheets."""

import gzip
import json
import sys
from types import SimpleNamespace

import pytest
from data_files import write_rows

from unirex.data.formats.table import read_inputs, read_records
from unirex.data.load import load_dataset
from unirex.errors import UserError

ROWS = [
    {"text": f"{word} été, n° {n}", "label": label}
    for n in range(8)
    for word, label in (("ça", "x"), ("là", "y"))
]


CUT = gzip.compress(b'{"text": "a", "label": 1}\n' * 999, mtime=0)[:40]  # equal in every test process


def texts(path):
    return [record.example.text for record in read_records(path)]


EXPECTED = [row["text"] for row in ROWS]


def table(delimiter):
    lines = [delimiter.join(("text", "label"))]
    return "\n".join(lines + [delimiter.join((f'"{row["text"]}"', row["label"])) for row in ROWS]) + "\n"


@pytest.mark.parametrize("delimiter", [",", ";", "\t", "|"])
@pytest.mark.parametrize("suffix", [".csv", ".tsv"])
def test_the_delimiter_is_seen_from_the_header(tmp_path, delimiter, suffix):
    path = tmp_path / f"data{suffix}"
    path.write_text(table(delimiter), "utf-8")
    assert texts(path) == EXPECTED


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "latin-1"])
@pytest.mark.parametrize("suffix", [".csv", ".csv.gz", ".txt", ".txt.gz"])
def test_the_encoding_is_seen_from_the_bytes(tmp_path, caplog, encoding, suffix):
    path, plain = tmp_path / f"data{suffix}", ".txt" in suffix
    content = ("\n".join(EXPECTED) if plain else table(",")).encode(encoding)
    path.write_bytes(gzip.compress(content) if suffix.endswith(".gz") else content)
    read = [record.example.text for record in read_inputs(path)] if plain else texts(path)
    assert read == EXPECTED
    assert ("not UTF-8; read as cp1252" in caplog.text) == (encoding == "latin-1")


def test_a_utf16_character_that_holds_the_byte_of_a_line_break(tmp_path):
    path = tmp_path / "data.csv"
    path.write_text("text,label\nĊ and \u0a0a,x\nbad,y\n", "utf-16")
    assert texts(path) == ["Ċ and \u0a0a", "bad"]


@pytest.mark.parametrize("name", ["data.json", "data.json.gz", "data.jsonl.gz"])
def test_arrays_and_compressed_files(tmp_path, name):
    path, lines = tmp_path / name, ".jsonl" in name
    content = "\n".join(map(json.dumps, ROWS)) if lines else json.dumps(ROWS)
    path.write_bytes(gzip.compress(content.encode()) if name.endswith(".gz") else content.encode())
    assert texts(path) == EXPECTED
    assert len(load_dataset(path)["train"]) == 12


def test_a_folder_of_compressed_splits(tmp_path):
    for split in ("train", "test"):
        lines = "".join(json.dumps(row) + "\n" for row in ROWS)
        (tmp_path / f"{split}.jsonl.gz").write_bytes(gzip.compress(lines.encode()))
    assert set(load_dataset(tmp_path)) == {"train", "dev", "test"}


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("data.json", b'[{"text": "a", "label": 1}, 7]', "item 2: an item must be a JSON object"),
        ("data.csv.gz", b"not compressed", "data.csv.gz: cannot be read"),
        ("data.jsonl.gz", CUT, "cannot be read"),
        ("data.csv", "text,label\na,b\n".encode("utf-16")[:-1], "not readable as utf-16"),
        ("data.jsonl", b'{"text": "\xe9", "label": 1}', "not UTF-8 at byte"),
        ("data.xls", b"", "unsupported suffix '.xls'"),
    ],
)
def test_mistakes_name_the_file(tmp_path, name, content, message):
    path = tmp_path / name
    path.write_bytes(content)
    with pytest.raises(UserError, match=message):
        read_records(path)


@pytest.mark.parametrize("name", ["data.json.gz", "data.jsonl.gz", "data.csv.gz"])
def test_damage_inside_a_compressed_file_is_an_error_in_a_line(tmp_path, name):
    (tmp_path / name).write_bytes(CUT[:10] + b"\xff" * 20)  # a sound header
    with pytest.raises(UserError, match=f"{name}: cannot be read: .*invalid block type"):
        load_dataset(tmp_path / name)


def test_a_spreadsheet_is_its_first_sheet(tmp_path, monkeypatch):
    cells = [("text", "label", None), (None, None, None), *((row["text"], row["label"], 7) for row in ROWS)]
    sheet = SimpleNamespace(iter_rows=lambda values_only: iter(cells))
    fake = SimpleNamespace(load_workbook=lambda path, **options: SimpleNamespace(worksheets=[sheet]))
    monkeypatch.setitem(sys.modules, "openpyxl", fake)
    path = write_rows(tmp_path / "data.xlsx", "")
    assert texts(path) == EXPECTED
    monkeypatch.setitem(sys.modules, "openpyxl", None)
    with pytest.raises(UserError, match=r"pip install 'unirex\[excel\]', or save it as CSV"):
        read_records(path)
