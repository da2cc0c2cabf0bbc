"""What is written out reads back the same, and nothing that is there already is touched."""

import json
from dataclasses import replace

import pytest

from unirex.data import load_dataset
from unirex.data.convert import convert, table_rows, text_columns
from unirex.data.example import DatasetInfo, Example, Splits
from unirex.errors import UserError

TABLES = (".jsonl", ".csv", ".tsv", ".parquet")
WILD = [
    "so 😀 good",
    "non\u00a0breaking",
    'a "quoted",\tnew\r\nline',
    "a lone \r return",
    "مرحبا بك",
    "日本語 x",
    "a\u2028b",
    "=1+1",
    "\ufeffmarked",
]


def splits(info, made):
    """The first two thirds are train."""
    dev, test = len(made) * 4 // 6, len(made) * 5 // 6
    return Splits(info, {"train": made[:dev], "dev": made[dev:test], "test": made[test:]})


def texts(labels=("neg", "pos")):
    """Wild texts: the first word marked, nothing marked, and not annotated, in turn."""
    gold = [(((0, 1),),), ((),), None]
    wild = enumerate(WILD * 3)
    made = [Example(f"id-{n}", (text,), labels[n % 2], gold[n % 3]) for n, text in wild]
    return splits(DatasetInfo("wild", labels), made)


def pairs():
    gold = [(((2, 4), (5, 9)), ((0, 3),)), ((), ((4, 7),)), ((), ()), None]
    made = [
        Example(str(n), ("a  long premise", f"the hypothesis {n}"), ("no", "yes")[n % 2], gold[n % 4])
        for n in range(12)
    ]
    return splits(DatasetInfo("pairs", ("no", "yes"), "segments"), made)


def questions():
    made = []
    for n in range(12):
        choices = ("the sea", 'a "bay"', "sky")[: 2 + n % 2 + (n % 3 == 2)]
        made.append(Example(str(n), (f"where is it {n}?",), "ABC"[n % 3], (((0, 5),),), choices))
    return splits(DatasetInfo("quiz", ("A", "B", "C"), "choice"), made)


def same(data, back):
    """All examples, in every part."""
    assert list(back) == list(data)
    for split, part in data.items():
        assert list(back[split]) == list(part)


@pytest.mark.parametrize("suffix", TABLES)
@pytest.mark.parametrize("make", [texts, pairs, questions])
def test_it_reads_back_the_same(tmp_path, make, suffix):
    data, path = make(), tmp_path / f"out{suffix}"
    assert convert(data, path) == [path]
    names = text_columns(data)
    same(data, load_dataset(path, columns={"text": ",".join(names)}))
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize("labels", [(0, 1), (False, True), (0.5, 2.0), ("0", "1")])
@pytest.mark.parametrize("suffix", [".jsonl", ".parquet"])
def test_labels_keep_their_type(tmp_path, labels, suffix):
    convert(texts(labels), tmp_path / f"out{suffix}")
    assert repr(load_dataset(tmp_path / f"out{suffix}").info.labels) == repr(labels)


def test_the_columns_of_several_texts_can_be_named(tmp_path):
    convert(pairs(), tmp_path / "out.jsonl", names=["premise", "hypothesis"])
    row = json.loads((tmp_path / "out.jsonl").read_text("utf-8").splitlines()[0])
    assert row == {
        "id": "0",
        "split": "train",
        "premise": "a  long premise",
        "hypothesis": "the hypothesis 0",
        "label": "no",
        "rationale": {"premise": [[2, 4], [5, 9]], "hypothesis": [[0, 3]]},
    }
    same(pairs(), load_dataset(tmp_path / "out.jsonl", columns={"text": "premise,hypothesis"}))


@pytest.mark.parametrize(
    ("names", "says"),
    [
        (["one"], "give 2"),
        (["x", "x"], "'x'"),
        (["label", "x"], "'label'"),
        (["a,b", "x"], "'a,b'"),
        (["", "x"], "''"),
    ],
)
def test_names_that_would_not_do(tmp_path, names, says):
    with pytest.raises(UserError, match=says):
        convert(pairs(), tmp_path / "out.jsonl", names=names)
    assert not list(tmp_path.iterdir())


def test_one_split_alone(tmp_path):
    convert(texts(), tmp_path / "out.jsonl", split="test")
    rows = [json.loads(line) for line in (tmp_path / "out.jsonl").read_text("utf-8").split("\n")[:-1]]
    assert [row["id"] for row in rows] == [example.id for example in texts()["test"]]
    assert {row["split"] for row in rows} == {"test"}
    with pytest.raises(UserError, match="did you mean 'test'"):
        convert(texts(), tmp_path / "other.jsonl", split="tset")


def test_groups_are_written_by_text(tmp_path):
    example = replace(pairs()["train"][0], groups=((((2, 4),), ()), ((), ((0, 3),))))
    (row,) = table_rows(Splits(pairs().info, {"train": [example]}), ("a", "b"))
    assert row["groups"] == [{"a": [[2, 4]], "b": []}, {"a": [], "b": [[0, 3]]}]
    data = Splits(pairs().info, {**pairs(), "train": [example, *pairs()["train"][1:]]})
    for suffix in TABLES:
        convert(data, tmp_path / f"out{suffix}")
        same(data, load_dataset(tmp_path / f"out{suffix}", columns={"text": "segment_1,segment_2"}))


@pytest.mark.parametrize(
    ("suffix", "existing"), [*((suffix, suffix) for suffix in (*TABLES, ".json")), (".json", ".xml")]
)
def test_a_file_that_is_there_is_left_alone(tmp_path, suffix, existing):
    path = tmp_path / f"out{existing}"
    path.write_text("mine")
    with pytest.raises(UserError, match=rf"out\{existing} exists already"):
        convert(texts(), tmp_path / f"out{suffix}")
    assert path.read_text() == "mine" and list(tmp_path.iterdir()) == [path]


def test_an_unsupported_suffix(tmp_path):
    with pytest.raises(UserError, match=r"unsupported suffix '\.xlsx'; supported: \.jsonl"):
        convert(texts(), tmp_path / "out.xlsx")


@pytest.mark.parametrize("suffix", TABLES)
def test_what_breaks_off_leaves_nothing(tmp_path, suffix):
    """An example with one segment too many stands for a disk that is full."""
    train = pairs()["train"]
    data = Splits(pairs().info, {"train": [*train, replace(train[0], segments=("one",))]})
    with pytest.raises(ValueError, match="zip"):
        convert(data, tmp_path / f"out{suffix}")
    assert not list(tmp_path.iterdir())


def test_tasks_for_label_studio(tmp_path):
    data = splits(texts().info, [one for one in texts()["train"] if one.rationale != ((),)])
    assert convert(data, tmp_path / "tasks.json") == [tmp_path / "tasks.json", tmp_path / "tasks.xml"]
    same(data, load_dataset(tmp_path / "tasks.json"))
    tasks = json.loads((tmp_path / "tasks.json").read_text("utf-8"))
    annotations = [annotation for task in tasks for annotation in task["annotations"]]
    ids = [result["id"] for annotation in annotations for result in annotation["result"]]
    assert len(set(ids)) == len(ids)
    assert '<Choice value="pos"/>' in (tmp_path / "tasks.xml").read_text("utf-8")


def test_choices_and_sets_of_labels_for_label_studio(tmp_path):
    convert(questions(), tmp_path / "quiz.json")
    same(questions(), load_dataset(tmp_path / "quiz.json"))
    assert 'value="$options"' in (tmp_path / "quiz.xml").read_text("utf-8")
    sets = [(), ("loud",), ("dull", "loud")]
    made = [Example(str(n), (f"text {n}",), sets[n % 3], (((0, 4),),)) for n in range(12)]
    data = splits(DatasetInfo("sets", ("dull", "loud"), multi_label=True), made)
    convert(data, tmp_path / "sets.json")
    back = load_dataset(tmp_path / "sets.json")
    same(data, back)
    assert back.info.multi_label
    assert 'choice="multiple"' in (tmp_path / "sets.xml").read_text("utf-8")
