"""One door to all datasets: a name, a file or a folder."""

import json
import subprocess
import sys
import types
from pathlib import Path

import pytest

from unirex.data import DATASETS, DatasetInfo, Splits, load_dataset
from unirex.errors import UserError


def write(path, rows):
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def rows(count=20, **more):
    return [{"text": f"text {n}", "label": "ab"[n % 2], **more} for n in range(count)]


def ids(data):
    return {name: [one.id for one in part] for name, part in data.items()}


def test_a_file_is_split_by_seed(tmp_path):
    path = write(tmp_path / "reviews.jsonl", rows(60))
    data = load_dataset(path, seed=1)
    assert data.info == DatasetInfo("reviews", ("a", "b"), "text", "accuracy")
    assert {name: len(part) for name, part in data.items()} == {"train": 48, "dev": 6, "test": 6}
    assert ids(data) == ids(load_dataset(str(path), seed=1)) != ids(load_dataset(path, seed=2))


def test_the_split_column_decides(tmp_path):
    content = rows(4, split="Training") + rows(2, split="valid") + rows(2, split="heldout")
    data = load_dataset(write(tmp_path / "data.jsonl", content))
    assert {name: len(part) for name, part in data.items()} == {"train": 4, "dev": 2, "test": 2}


def test_dev_is_carved_and_test_left_absent(tmp_path):
    data = load_dataset(write(tmp_path / "data.jsonl", rows(40, split="train")))
    assert {name: len(part) for name, part in data.items()} == {"train": 36, "dev": 4}


def test_a_row_without_split_among_others(tmp_path):
    path = write(tmp_path / "data.jsonl", rows(4, split="train") + rows(1))
    with pytest.raises(UserError, match=r"data\.jsonl:5: the row has no split"):
        load_dataset(path)


def test_columns_and_rationale_format(tmp_path):
    content = [{"body": "a b", "stars": n % 2, "rationale": [0, 1]} for n in range(20)]
    path = write(tmp_path / "data.jsonl", content)
    data = load_dataset(path, columns={"text": "body", "label": "stars"}, rationale_format="words")
    assert data.info.labels == (0, 1)
    assert data["train"][0].rationale == (((0, 1), (2, 3)),)
    with pytest.raises(UserError, match="unknown column role 'txt'; did you mean 'text'"):
        load_dataset(path, columns={"txt": "body"})


def test_a_folder_of_splits(tmp_path):
    write(tmp_path / "train.jsonl", rows(10))
    write(tmp_path / "val.ndjson", rows(4))
    write(tmp_path / "test.jsonl", rows(2))
    (tmp_path / "README.md").write_text("hello")
    data = load_dataset(tmp_path)
    assert {name: len(part) for name, part in data.items()} == {"train": 10, "dev": 4, "test": 2}
    assert (data.info.name, data["dev"][0].id) == (tmp_path.name, "val-1")


def test_a_folder_with_train_only(tmp_path):
    write(tmp_path / "train.jsonl", rows(20))
    assert {name: len(part) for name, part in load_dataset(tmp_path).items()} == {"train": 18, "dev": 2}


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
        write(tmp_path / name, content)
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
        load_dataset(write(tmp_path / "data.jsonl", content))


def test_an_unknown_name():
    with pytest.raises(
        UserError, match=r"unknown dataset 'dmo'; did you mean 'demo'\? .* path .* may be given"
    ):
        load_dataset("dmo")


@pytest.mark.parametrize("source", ["nope.jsonl", "nowhere/nope", Path("nope"), "x" * 5000 + ".csv"])
def test_a_path_that_is_not_there(source):
    with pytest.raises(UserError, match="no such file"):
        load_dataset(source)


def test_known_names_are_imported_when_asked_for(monkeypatch):
    module = types.ModuleType("planted_dataset")
    module.load = lambda seed=0: Splits(DatasetInfo(f"planted {seed}", ("a", "b")), {})
    monkeypatch.setitem(sys.modules, "planted_dataset", module)
    monkeypatch.setitem(DATASETS, "planted", "planted_dataset:load")
    assert load_dataset("planted", seed=4).info.name == "planted 4"
    with pytest.raises(UserError, match="columns are for files"):
        load_dataset("planted", columns={"text": "body"})


def test_importing_data_is_light():
    code = "import sys, unirex.data; print({'torch', 'transformers', 'pyarrow', 'numpy'} & set(sys.modules))"
    assert subprocess.check_output([sys.executable, "-c", code], text=True).strip() == "set()"
