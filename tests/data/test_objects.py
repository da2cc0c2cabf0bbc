"""Data in memory is read like a file, and its mistakes are named by row."""

from dataclasses import replace

import pandas as pd
import pyarrow as pa
import pytest
from datasets import ClassLabel, Dataset, DatasetDict, Features, Value

from unirex.data.example import Example
from unirex.data.formats.objects import examples_of, inputs_of
from unirex.data.load import load_dataset
from unirex.errors import UserError

ROWS = [
    {"text": f"{word} film {n}", "label": label, "rationale": [0]}
    for n in range(10)
    for word, label in (("good", "pos"), ("bad", "neg"))
]


def frames():
    yield "pandas", pd.DataFrame(ROWS)
    yield "arrow", pa.Table.from_pylist(ROWS)
    yield "datasets", Dataset.from_list(ROWS)
    yield "list", ROWS
    yield "generator", (row for row in ROWS)


@pytest.mark.parametrize(("kind", "source"), list(frames()))
def test_any_kind_of_table_is_the_same_data(kind, source):
    data = load_dataset(source)
    expected = load_dataset(ROWS)
    assert data == expected
    assert sorted(len(part) for part in data.values()) == [2, 2, 16]
    assert data["train"][0].rationale[0][0] in ((0, 4), (0, 3))


def test_polars_frames_are_read_without_importing_polars():
    class LazyFrame:
        def collect(self):
            return self

        def to_dicts(self):
            return ROWS

    LazyFrame.__module__ = "polars.lazyframe.frame"
    assert load_dataset(LazyFrame()) == load_dataset(ROWS)


def test_parts_are_splits():
    parts = {
        "train": pd.DataFrame(ROWS[:12]),
        "validation": ROWS[12:16],
        "test": Dataset.from_list(ROWS[16:]),
    }
    assert {name: len(part) for name, part in load_dataset(parts).items()} == {
        "train": 12,
        "dev": 4,
        "test": 4,
    }
    saved = DatasetDict(train=Dataset.from_list(ROWS[:12]), test=Dataset.from_list(ROWS[12:]))
    assert set(load_dataset(saved)) == {"train", "dev", "test"}


def test_columns_classes_and_missing_values():
    named = Features({"review": Value("string"), "stars": ClassLabel(names=["bad", "good"])})
    dataset = Dataset.from_list([{"review": f"text {n}", "stars": n % 2} for n in range(20)], features=named)
    data = load_dataset(dataset, columns={"text": "review", "label": "stars"})
    assert data.info.labels == ("bad", "good")
    frame = pd.DataFrame(ROWS)
    frame.loc[3, "rationale"] = None
    frame["stars"] = [n % 2 for n in range(len(frame))]  # NumPy integers
    examples = list(examples_of(frame, {"label": "stars"}))
    assert examples[3].rationale is None and examples[3].label == 1 and type(examples[3].label) is int


def test_examples_pass_as_they_are():
    given = [Example("a", ("so good",), "pos"), Example("b", ("so bad",), "neg")]
    assert list(examples_of(given)) == list(examples_of(iter(given))) == given
    assert list(examples_of([])) == list(examples_of(iter([]))) == []
    assert [example.label for example in examples_of(ROWS)][:2] == ["pos", "neg"]
    data = load_dataset([replace(one, id=f"{one.id}{n}") for one in given for n in range(10)])
    assert len(data["train"]) == 16
    assert load_dataset(data) is data
    with pytest.raises(UserError, match="columns: the data is read already"):
        load_dataset(data, columns={"text": "review"})


def test_texts_of_a_frame_need_no_label():
    assert [one.text for one in inputs_of(pd.DataFrame({"text": ["a", "b"]}))] == ["a", "b"]
    assert inputs_of("a text") == "a text"
    named = [{"review": "a", "stars": 1}, {"review": "b", "stars": 2}]
    for rows in (named, iter(named), pd.DataFrame(named)):
        assert [example.text for example in inputs_of(rows, {"text": "review"})] == ["a", "b"]
    assert [example.label for example in inputs_of(row for row in ROWS)][:2] == ["pos", "neg"]
    with pytest.raises(UserError, match="row 2: 'review' is empty"):
        inputs_of([{"review": "a"}, {"review": ""}], {"text": "review"})


def test_texts_with_choices_are_no_rows():
    texts = [{"text": "where ?", "choices": ["here", "there"]}]
    assert inputs_of(texts) == list(inputs_of(iter(texts))) == texts


@pytest.mark.parametrize(
    ("source", "columns", "message"),
    [
        ([*ROWS, {"text": "", "label": "pos"}], None, "row 21: 'text' is empty"),
        ({"train": ROWS, "test": [{"text": "a"}]}, None, "test row 1: unknown column 'label'"),
        (pd.DataFrame(ROWS), {"text": "txt"}, "row 1: unknown column 'txt'; did you mean 'text'"),
        (ROWS, {"rationale": "why"}, "data: unknown column 'why'"),
        ([("a", "b")], None, "row 1 is tuple, not a dictionary"),
        (7, None, "data cannot be read from int"),
        ([], None, "the data has no rows"),
        ({"trian": ROWS}, None, "trian"),
        ([*ROWS, {"text": "a", "label": "pos", "id": "row-1"}], None, "row 21: duplicate id 'row-1'"),
    ],
)
def test_mistakes_are_named_by_row(source, columns, message):
    with pytest.raises(UserError, match=message):
        load_dataset(source, columns=columns)
