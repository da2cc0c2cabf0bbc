"""One door to all datasets: a name, a file or a folder."""

import sys
import types
from importlib import import_module
from pathlib import Path

import pytest
from data_files import write_rows

from unirex.data import DATASETS, FORMATS, DatasetInfo, Example, Splits, load_dataset, load_records
from unirex.data.formats.table import Columns, DatasetRecord
from unirex.errors import UserError


def rows(count=20, **more):
    return [{"text": f"text {n}", "label": "ab"[n % 2], **more} for n in range(count)]


def ids(data):
    return {name: [example.id for example in part] for name, part in data.items()}


def sizes(data):
    return {name: len(part) for name, part in data.items()}


def test_a_file_is_split_by_seed(tmp_path):
    path = write_rows(tmp_path / "reviews.jsonl", rows(60))
    data = load_dataset(path, seed=1)
    assert data.info == DatasetInfo("reviews", ("a", "b"), "text", "accuracy")
    assert sizes(data) == {"train": 48, "dev": 6, "test": 6}
    assert ids(data) == ids(load_dataset(str(path), seed=1)) != ids(load_dataset(path, seed=2))


def test_the_split_column_decides(tmp_path):
    content = rows(4, split="Training") + rows(2, split="valid") + rows(2, split="heldout")
    data = load_dataset(write_rows(tmp_path / "data.jsonl", content))
    assert sizes(data) == {"train": 4, "dev": 2, "test": 2}


def test_dev_is_carved_and_test_left_absent(tmp_path):
    data = load_dataset(write_rows(tmp_path / "file" / "data.jsonl", rows(40, split="train")))
    assert sizes(data) == {"train": 36, "dev": 4}
    write_rows(tmp_path / "folder" / "train.jsonl", rows(20))
    assert sizes(load_dataset(tmp_path / "folder")) == {"train": 18, "dev": 2}


def test_a_row_without_split_among_others(tmp_path):
    path = write_rows(tmp_path / "data.jsonl", rows(4, split="train") + rows(1))
    with pytest.raises(UserError, match=r"data\.jsonl:5: the row has no split"):
        load_dataset(path)


def test_columns_and_rationale_format(tmp_path):
    content = [{"body": "a b", "stars": n % 2, "rationale": [0, 1]} for n in range(20)]
    path = write_rows(tmp_path / "data.jsonl", content)
    data = load_dataset(path, columns={"text": "body", "label": "stars"}, rationale_format="words")
    assert data.info.labels == (0, 1)
    assert data["train"][0].rationale == (((0, 1), (2, 3)),)
    with pytest.raises(UserError, match="unknown column role 'txt'; did you mean 'text'"):
        load_dataset(path, columns={"txt": "body"})


def test_a_folder_of_splits(tmp_path):
    write_rows(tmp_path / "train.jsonl", rows(10))
    write_rows(tmp_path / "val.ndjson", rows(4))
    write_rows(tmp_path / "test.jsonl", rows(2))
    (tmp_path / "README.md").write_text("hello")
    data = load_dataset(tmp_path)
    assert sizes(data) == {"train": 10, "dev": 4, "test": 2}
    assert (data.info.name, data["dev"][0].id) == (tmp_path.name, "val-1")


@pytest.mark.parametrize(
    ("files", "message"),
    [
        ({}, r"no train file"),
        ({"dev.jsonl": rows()}, r"no train file"),
        (
            {"train.jsonl": rows(), "dev.jsonl": rows(), "val.jsonl": rows()},
            r"dev\.jsonl and val\.jsonl are both dev",
        ),
        ({"train.jsonl": rows(), "dev.csv": rows()}, r"files of different kinds"),
        (
            {"train.jsonl": rows(), "dev.jsonl": rows(2, split="test")},
            r"dev\.jsonl:1: split 'test' in a file of dev",
        ),
        ({"train.jsonl": rows(), "dev.jsonl": [{"text": "x", "label": 1}]}, r"dev\.jsonl:1: label 1 \(int\)"),
        (
            {"train.jsonl": rows(), "test.jsonl": [{"text": "x", "label": "c"}]},
            r"label 'c' of test .*'test-1'",
        ),
    ],
)
def test_folders_that_do_not_fit(tmp_path, files, message):
    for name, content in files.items():
        write_rows(tmp_path / name, content)
    with pytest.raises(UserError, match=message):
        load_dataset(tmp_path)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (rows(9, label="a"), r"data\.jsonl: fewer than two classes"),
        (rows(2), r"data\.jsonl: too few examples"),
        (rows(4, split="dev"), r"data\.jsonl: no training examples"),
    ],
)
def test_files_that_cannot_be_learnt_from(tmp_path, content, message):
    with pytest.raises(UserError, match=message):
        load_dataset(write_rows(tmp_path / "data.jsonl", content))


def test_an_unknown_name():
    with pytest.raises(
        UserError, match=r"unknown dataset 'dmo'; did you mean 'demo'\? .* path .* may be given"
    ):
        load_dataset("dmo")


@pytest.mark.parametrize("source", ["nope.jsonl", "nowhere/nope", Path("nope"), "x" * 5000 + ".csv"])
def test_a_path_that_is_not_there(source):
    with pytest.raises(UserError, match="no such file"):
        load_dataset(source)


@pytest.fixture
def planted(monkeypatch):
    """A dataset by name that lies in a folder and has options; its name shows what it was given."""

    def load(folder, *, seed=0, sample="all", sizes=()):
        return Splits(DatasetInfo(f"{folder.parent.name}/{folder.name} {seed} {sample} {sizes}", ()), {})

    module = types.ModuleType("planted_dataset")
    module.load, module.FOLDERS = load, ("best/planted", "planted")
    monkeypatch.setitem(sys.modules, "planted_dataset", module)
    monkeypatch.setitem(DATASETS, "planted", "planted_dataset")
    monkeypatch.delenv("UNIREX_DATA", raising=False)
    return module


def test_a_dataset_without_a_folder_is_imported_when_asked_for(planted):
    del planted.FOLDERS
    planted.load = lambda seed=0: Splits(DatasetInfo(f"planted {seed}", ()), {})
    assert load_dataset("planted", seed=4).info.name == "planted 4"


def test_a_known_dataset_is_found_under_a_root(planted, tmp_path, monkeypatch):
    (tmp_path / "planted").mkdir()
    (tmp_path / "best").write_text("a file is no folder")
    assert load_dataset("planted", root=tmp_path, seed=2).info.name == f"{tmp_path.name}/planted 2 all ()"
    monkeypatch.setenv("UNIREX_DATA", str(tmp_path))
    found = load_dataset("planted", sample="some", sizes=(1, 2))
    assert found.info.name == f"{tmp_path.name}/planted 0 some (1, 2)"
    with pytest.raises(UserError, match="not found"):
        load_dataset("planted", root=tmp_path / "elsewhere")  # a root that is given wins


def test_the_first_folder_is_taken(planted, tmp_path):
    for name in ("planted", "best/planted"):
        (tmp_path / name).mkdir(parents=True)
    assert load_dataset("planted", root=tmp_path).info.name == "best/planted 0 all ()"


def test_a_known_dataset_that_is_nowhere(planted, tmp_path):
    with pytest.raises(
        UserError,
        match=r"'planted': no data root is given; .* UNIREX_DATA or --root .*best/planted or planted$",
    ):
        load_dataset("planted")
    looked = rf"not found \(looked for the folder {tmp_path}/best/planted, {tmp_path}/planted\)"
    with pytest.raises(UserError, match=looked):
        load_dataset("planted", root=tmp_path)


def test_one_that_can_be_fetched_says_so(tmp_path, monkeypatch):
    monkeypatch.delenv("UNIREX_DATA", raising=False)
    for where in ({}, {"root": tmp_path}):
        with pytest.raises(UserError, match=r"--root .*, or fetch it: unirex data download irony$"):
            load_dataset("irony", **where)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (
            {"smaple": "all"},
            r"dataset 'planted': unknown option 'smaple'; did you mean 'sample'.*sample, sizes",
        ),
        ({"rationale_format": "words"}, "dataset 'planted': unknown option 'rationale_format'"),
        ({"annotators": "majority"}, "dataset 'planted': unknown option 'annotators'"),
        ({"columns": {"text": "body"}}, "columns are for files"),
    ],
)
def test_options_a_dataset_does_not_have(planted, tmp_path, given, message):
    (tmp_path / "planted").mkdir()
    with pytest.raises(UserError, match=message):
        load_dataset("planted", root=tmp_path, **given)


def test_every_known_dataset_has_a_module():
    for name, place in DATASETS.items():
        assert place == f"unirex.data.datasets.{name.replace('-', '_')}"
        module = import_module(place)
        assert module.__doc__ and module.INFO.name == name
        assert name == "demo" or module.FOLDERS


@pytest.fixture
def formats(monkeypatch):
    """Stand-ins for every format that has a reader of its own; each records how it was called."""
    calls = []
    for name in ("label-studio", "prodigy", "doccano", "huggingface"):
        module = types.ModuleType(f"planted_{name}")

        def read(path, *, columns, annotators="its own", name=name):
            calls.append((name, path, columns, annotators))
            return [
                DatasetRecord(f"{path}:{n}", None, Example(str(n), ("x",), "ab"[n % 2])) for n in range(20)
            ]

        module.read, module.is_saved = read, lambda folder: (folder / "dataset_info.json").exists()
        monkeypatch.setitem(sys.modules, f"planted_{name}", module)
        monkeypatch.setitem(FORMATS, name, f"planted_{name}")
    return calls


ENTITY = {"start_offset": 0, "end_offset": 1, "label": "a"}


@pytest.mark.parametrize(
    ("name", "content", "found"),
    [
        ("data.json", [], "label-studio"),
        ("data.jsonl", [{"_input_hash": 1, "text": "x"}], "prodigy"),
        ("data.jsonl", [{"_task_hash": 1, "text": "x"}], "prodigy"),
        ("data.jsonl", [{"text": "x", "entities": []}, {"text": "x", "entities": [ENTITY]}], "doccano"),
    ],
)
def test_formats_are_seen_from_the_content(tmp_path, formats, name, content, found):
    path = write_rows(tmp_path / name, content)
    assert load_dataset(path).info == DatasetInfo("data", ("a", "b"))
    assert formats == [(found, path, Columns(), "its own")]


@pytest.mark.parametrize(
    "more", [{"entities": []}, {"entities": ["Bonn"]}, {"entities": [{"start": 0}]}, {"entities": "none"}, {}]
)
def test_other_lines_are_a_table(tmp_path, formats, more):
    assert len(load_dataset(write_rows(tmp_path / "data.jsonl", rows(20, **more)))["train"]) == 16
    assert formats == []


def test_a_format_by_name(tmp_path, formats):
    path = write_rows(tmp_path / "data.jsonl", rows())
    load_dataset(str(path), format="doccano", columns={"label": "class"}, annotators="majority")
    assert formats == [("doccano", path, Columns(label="class"), "majority")]
    assert len(load_records(path, format="prodigy")) == len(load_records(path)) == 20
    with pytest.raises(UserError, match="unknown format 'docano'; did you mean 'doccano'"):
        load_dataset(path, format="docano")


def test_a_saved_dataset_is_a_folder_or_an_id(tmp_path, formats):
    write_rows(tmp_path / "dataset_info.json", [])
    load_dataset(tmp_path)
    assert load_dataset("someone/reviews", format="huggingface").info.name == "reviews"
    assert [call[:2] for call in formats] == [("huggingface", tmp_path), ("huggingface", "someone/reviews")]


def test_settings_a_format_has_no_use_for(tmp_path, formats):
    path = write_rows(tmp_path / "data.jsonl", rows())
    with pytest.raises(UserError, match="unknown way to combine annotators 'most'"):
        load_dataset(path, annotators="most")
    with pytest.raises(UserError, match="format 'table': unknown option 'sizes'"):
        load_dataset(path, sizes=(1, 2, 3))
    with pytest.raises(UserError, match="format 'prodigy': unknown option 'rationale_format'"):
        load_dataset(path, format="prodigy", rationale_format="words")


def test_what_a_reader_leaves_out_is_reported(tmp_path, monkeypatch, formats):
    path = write_rows(tmp_path / "data.json", [])
    planted = sys.modules["planted_label-studio"]
    example = Example("1", ("x",), "a")
    first = DatasetRecord("here", None, example)
    for records, message in [
        ([DatasetRecord("here", None, Example("1", ("x",)))], "here: 'label' is missing"),
        ([first, DatasetRecord("there", None, example)], "there: duplicate id '1'"),
        ([first, DatasetRecord("there", "train", example)], "here: the row has no split"),
        ([first, DatasetRecord("there", None, Example("2", ("x", "y"), "a"))], "there: 2 texts"),
        ([], "no example that could be read"),
    ]:
        monkeypatch.setattr(planted, "read", lambda path, *, columns, records=records: records)
        with pytest.raises(UserError, match=message):
            load_dataset(path)


def test_a_name_with_a_format(tmp_path, monkeypatch):
    """A format is for what is in the file system, where something may be called like a known dataset."""
    monkeypatch.chdir(tmp_path)
    with pytest.raises(UserError, match="'sst' is no file or folder here, but a dataset by name"):
        load_dataset("sst", format="table")
    (tmp_path / "sst").mkdir()
    write_rows(tmp_path / "sst" / "train.jsonl", rows())
    assert load_dataset("sst", format="table").info.name == "sst"


def eraser(folder):
    """Twenty annotations of twenty short documents."""
    (folder / "docs").mkdir(parents=True)
    for n in range(20):
        (folder / "docs" / f"d{n}").write_text("so good\nreally")
    evidence = {"start_token": 1, "end_token": 2, "text": "good", "start_sentence": 0, "end_sentence": 1}
    content = [
        {"annotation_id": f"d{n}", "query": "what?", "classification": "AB"[n % 2], "evidences": [[
            {"docid": f"d{n}", **evidence}]]}
        for n in range(20)
    ]  # fmt: skip
    write_rows(folder / "train.jsonl", content[:10])
    write_rows(folder / "val.jsonl", content[10:])
    return folder


def test_an_eraser_folder_brings_its_own_splits(tmp_path):
    data = load_dataset(eraser(tmp_path / "mine"))
    assert sizes(data) == {"train": 10, "dev": 10}
    assert data["train"][0].rationale[0] == ((3, 7),)
    records = load_records(tmp_path / "mine")
    assert (records[0].split, records[0].example) == ("train", data["train"][0])
    with pytest.raises(UserError, match="format 'eraser': unknown option 'columns'"):
        load_dataset(tmp_path / "mine", columns={"text": "body"})


def test_a_file_is_no_eraser_folder(tmp_path):
    with pytest.raises(UserError):
        load_dataset(write_rows(tmp_path / "data.jsonl", rows()), format="eraser")


def test_a_dataset_records_how_it_was_read(planted, tmp_path):
    (tmp_path / "planted").mkdir()
    found = load_dataset("planted", root=tmp_path, seed=2, sample="some")
    assert found.origin == {"source": "planted", "format": "auto", "seed": 2, "sample": "some"}
