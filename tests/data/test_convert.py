"""What is written out reads back the same, and nothing that is there already is touched."""

import json
from dataclasses import replace

import pytest

from unirex.data import load_dataset
from unirex.data.convert import check_target, convert, table_rows, text_columns
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


def texts(labels=("neg", "pos")):
    """Wild texts: the first word marked, nothing marked, and nobody looked, in turn."""
    gold = [(((0, 1),),), ((),), None]
    made = [
        Example(f"id-{n}", (text,), labels[n % 2], gold[n % 3])
        for n, text in enumerate([*WILD, *WILD, *WILD])
    ]
    return Splits(DatasetInfo("wild", labels), {"train": made[:9], "dev": made[9:18], "test": made[18:]})


def pairs():
    gold = [(((2, 4), (5, 9)), ((0, 3),)), ((), ((4, 7),)), ((), ()), None]
    made = [
        Example(str(n), ("a  long premise", f"the hypothesis {n}"), ("no", "yes")[n % 2], gold[n % 4])
        for n in range(12)
    ]
    return Splits(
        DatasetInfo("pairs", ("no", "yes"), "segments"),
        {"train": made[:8], "dev": made[8:10], "test": made[10:]},
    )


def questions():
    made = [
        Example(
            str(n),
            (f"where is it {n}?",),
            "ABC"[n % 3],
            (((0, 5),),),
            choices=("the sea", 'a "bay"', "sky")[: 2 + n % 2 + (n % 3 == 2)],
        )
        for n in range(12)
    ]
    return Splits(
        DatasetInfo("quiz", ("A", "B", "C"), "choice"),
        {"train": made[:8], "dev": made[8:10], "test": made[10:]},
    )


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
    assert [one.name for one in tmp_path.iterdir()] == [path.name]


@pytest.mark.parametrize("labels", [(0, 1), (False, True), (0.5, 2.0), ("0", "1")])
@pytest.mark.parametrize("suffix", [".jsonl", ".parquet"])
def test_labels_keep_their_type(tmp_path, labels, suffix):
    convert(texts(labels), tmp_path / f"out{suffix}")
    back = load_dataset(tmp_path / f"out{suffix}")
    assert back.info.labels == labels and [type(one) for one in back.info.labels] == [
        type(one) for one in labels
    ]


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
    told = [json.loads(line) for line in (tmp_path / "out.jsonl").read_text("utf-8").split("\n")[:-1]]
    assert [one["id"] for one in told] == [one.id for one in texts()["test"]]
    assert {one["split"] for one in told} == {"test"}
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


@pytest.mark.parametrize("suffix", [*TABLES, ".json"])
def test_a_file_that_is_there_is_left_alone(tmp_path, suffix):
    path = tmp_path / f"out{suffix}"
    path.write_text("mine")
    with pytest.raises(UserError, match="exists already"):
        convert(texts(), path)
    assert path.read_text() == "mine" and len(list(tmp_path.iterdir())) == 1


def test_the_setup_beside_label_studio_tasks_is_left_alone_too(tmp_path):
    (tmp_path / "tasks.xml").write_text("mine")
    with pytest.raises(UserError, match=r"tasks\.xml exists already"):
        check_target(tmp_path / "tasks.json")


def test_a_kind_nobody_can_write(tmp_path):
    with pytest.raises(UserError, match=r"unsupported suffix '\.xlsx'; supported: \.jsonl"):
        convert(texts(), tmp_path / "out.xlsx")


@pytest.mark.parametrize("suffix", TABLES)
def test_what_breaks_off_leaves_nothing(tmp_path, suffix):
    """An example with one segment too many stands for a disk that is full."""
    data = Splits(
        pairs().info, {"train": [*pairs()["train"], replace(pairs()["train"][0], segments=("one",))]}
    )
    with pytest.raises(ValueError, match="zip"):
        convert(data, tmp_path / f"out{suffix}")
    assert not list(tmp_path.iterdir())


def test_tasks_for_label_studio(tmp_path):
    made = [replace(one, id=f"t{n}") for n, one in enumerate(texts()["train"]) if one.rationale != ((),)]
    data = Splits(texts().info, {"train": made[:4], "dev": made[4:5], "test": made[5:]})
    assert convert(data, tmp_path / "tasks.json") == [tmp_path / "tasks.json", tmp_path / "tasks.xml"]
    same(data, load_dataset(tmp_path / "tasks.json"))
    tasks = json.loads((tmp_path / "tasks.json").read_text("utf-8"))
    ids = [result["id"] for task in tasks for one in task["annotations"] for result in one["result"]]
    assert len(set(ids)) == len(ids)
    setup = (tmp_path / "tasks.xml").read_text("utf-8")
    assert '<Choice value="pos"/>' in setup


def test_choices_do_not_fit_label_studio(tmp_path):
    with pytest.raises(UserError, match="choices"):
        convert(questions(), tmp_path / "tasks.json")
    assert not list(tmp_path.iterdir())
