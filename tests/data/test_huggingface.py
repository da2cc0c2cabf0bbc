"""Datasets of the `datasets` library are read like tables, with their classes by name."""

import sys

import pytest

from unirex.data.formats.huggingface import is_saved, read
from unirex.data.formats.table import Columns
from unirex.errors import UserError

datasets = pytest.importorskip("datasets")
datasets.disable_progress_bars()

ROWS = {"text": ["a fine film", "so 😀 bad"], "label": ["pos", "neg"], "rationale": [[[2, 6]], None]}


def dataset(**columns):
    return datasets.Dataset.from_dict({**ROWS, **columns})


def saved(folder, data):
    data.save_to_disk(str(folder / "data"))
    return folder / "data"


def records(source, **columns):
    return read(source, columns=Columns(**columns))


def test_a_dataset_by_itself_has_no_splits(tmp_path):
    path = saved(tmp_path, dataset())
    assert is_saved(path)
    first, second = records(path)
    assert (first.place, first.split, first.example.id) == (f"{path}: row 1", None, "data-1")
    assert (first.example.segments, first.example.label) == (("a fine film",), "pos")
    assert (first.example.rationale, second.example.rationale) == ((((2, 6),),), None)


def test_splits_by_their_names(tmp_path):
    splits = {name: dataset() for name in ("train", "validation", "test")}
    path = saved(tmp_path, datasets.DatasetDict(splits))
    assert is_saved(path)
    found = records(path)
    assert [record.split for record in found] == ["train"] * 2 + ["dev"] * 2 + ["test"] * 2
    assert found[2].place == f"{path}: validation row 1"
    assert len({record.example.id for record in found}) == 6


def test_numbers_of_classes_become_names(tmp_path):
    kind = datasets.ClassLabel(names=["negative", "positive"])
    data = dataset(label=[1, 0]).cast_column("label", kind)
    assert [record.example.label for record in records(saved(tmp_path, data))] == ["positive", "negative"]
    data = dataset(label=[1, -1]).cast_column("label", kind)  # -1: the publisher keeps it secret
    with pytest.raises(UserError, match=r"data: row 2: 'label' is missing"):
        records(saved(tmp_path / "secret", data))


@pytest.mark.parametrize("labels", [[0, 1], [True, False], [0.5, 1.5]])
def test_other_labels_keep_their_type(tmp_path, labels):
    found = [record.example.label for record in records(saved(tmp_path, dataset(label=labels)))]
    assert [(type(one), one) for one in found] == [(type(one), one) for one in labels]


def test_columns_by_other_names_and_none_too_many(tmp_path):
    data = dataset().rename_columns({"text": "premise", "label": "gold"})
    data = data.add_column("hypothesis", ["a film", "bad"])
    data = data.add_column("picture", [{"bytes": b"none", "path": None}] * 2)  # decoding it would fail
    data = data.cast_column("picture", datasets.Image())
    found = records(saved(tmp_path, data), text="premise,hypothesis", label="gold", rationale="")
    assert found[0].example.segments == ("a fine film", "a film")


def test_choices(tmp_path):
    data = datasets.Dataset.from_dict({"text": ["1 + 1?"], "choices": [["two", "three"]], "label": ["A"]})
    (found,) = records(saved(tmp_path, data))
    assert (found.example.choices, found.example.label) == (("two", "three"), "A")


def test_a_split_column_goes_before_the_splits(tmp_path):
    folds = {"fold1": dataset(split=["train", "test"]), "fold2": dataset(split=["dev", "val"])}
    data = datasets.DatasetDict(folds)
    assert [one.split for one in records(saved(tmp_path, data))] == ["train", "test", "dev", "dev"]


def test_strange_splits_are_told(tmp_path):
    path = saved(tmp_path, datasets.DatasetDict({"train": dataset(), "unsupervised": dataset()}))
    with pytest.raises(UserError, match=r"data: split 'unsupervised' is none of train, dev .*column 'split'"):
        records(path)


def test_a_saved_format_does_not_matter(tmp_path):
    path = saved(tmp_path, dataset(label=[3, 4]).with_format("numpy"))
    assert [type(record.example.label) for record in records(path)] == [int, int]


def test_rationale_format_is_passed_on(tmp_path):
    data = datasets.Dataset.from_dict({"text": ["a b"], "label": ["x"], "rationale": [[0, 1]]})
    (found,) = read(saved(tmp_path, data), columns=Columns(), rationale_format="words")
    assert found.example.rationale == (((0, 1), (2, 3)),)


@pytest.mark.parametrize(
    ("changed", "columns", "message"),
    [
        ({"text": ["a fine film", " "]}, {}, r"data: row 2: 'text' is empty"),
        ({"label": ["x", None]}, {}, r"data: row 2: 'label' is missing"),
        ({"rationale": [[[0, 99]], None]}, {}, r"data: row 1: rationale span \[0, 99\]"),
        ({"id": [4, 4]}, {}, r"data: row 2: duplicate id '4'"),
        ({"split": ["train", "trian"]}, {}, r"data: row 2: unknown split 'trian'"),
        ({}, {"text": "texts"}, r"data: unknown column 'texts'; did you mean 'text'\? Known: text, label"),
        ({}, {"label": "gold"}, r"data: unknown column 'gold'"),
        ({}, {"rationale": "why"}, r"data: unknown column 'why'"),
        ({}, {"text": "text,body"}, r"data: unknown column 'body'"),
    ],
)
def test_mistakes_name_the_row(tmp_path, changed, columns, message):
    with pytest.raises(UserError, match=message):
        records(saved(tmp_path, dataset(**changed)), **columns)


def test_what_is_no_dataset(tmp_path):
    assert not is_saved(tmp_path)
    assert not is_saved(tmp_path / "nowhere")
    with pytest.raises(UserError, match="cannot be opened by the datasets library"):
        records(tmp_path)


def test_an_empty_dataset(monkeypatch):
    empty = datasets.DatasetDict({"train": dataset().select([])})
    monkeypatch.setattr(datasets, "load_dataset", lambda *_: empty)
    with pytest.raises(UserError, match="owner/x: there are no rows in it"):
        records("owner/x")


@pytest.mark.parametrize("victim", ["state.json", "dataset_info.json", "data-00000-of-00001.arrow"])
@pytest.mark.parametrize(
    "content", [b"", b"[]", b"{}", b"\xff\xfe", b'{"_data_files": [{"filename": "/etc/x"}]}']
)
def test_broken_files_are_told_in_one_line(tmp_path, victim, content):
    path = saved(tmp_path, dataset())
    (path / victim).write_bytes(content)
    try:
        assert records(path)
    except UserError as error:
        assert str(error).startswith(str(path))
        assert "\n" not in str(error)


@pytest.fixture
def hub(monkeypatch):
    """The Hub, with a dataset on it; what was asked of it."""
    asked = []

    def load_dataset(*arguments, **options):
        asked.append((arguments, options))
        return datasets.DatasetDict({"train": dataset()})

    monkeypatch.setattr(datasets, "load_dataset", load_dataset)
    return asked


def test_ids_on_the_hub(hub):
    (first, _) = records("owner/reviews:english")
    assert (first.place, first.split) == ("owner/reviews:english: train row 1", "train")
    records("imdb")
    assert hub == [(("owner/reviews", "english"), {}), (("imdb", None), {})]  # and no code is trusted


@pytest.mark.parametrize(
    "source", ["../secrets", "a b", "https://x.y/z", "a/b/c", "", "/etc", ".hidden", "a/.b"]
)
def test_what_is_no_id(hub, source):
    with pytest.raises(UserError, match="is no id on the Hub"):
        records(source)
    assert hub == []


def test_an_unreachable_hub_is_told(monkeypatch):
    def load_dataset(*_):
        raise ConnectionError("Couldn't reach\nthe Hub")

    monkeypatch.setattr(datasets, "load_dataset", load_dataset)
    with pytest.raises(UserError, match=r"^owner/x: cannot be opened by the .*: Couldn't reach the Hub$"):
        records("owner/x")


def test_without_the_library(tmp_path, monkeypatch):
    path = saved(tmp_path, dataset())
    monkeypatch.setitem(sys.modules, "datasets", None)
    assert is_saved(path)
    with pytest.raises(UserError, match=r"pip install 'unirex\[datasets\]'"):
        records(path)
