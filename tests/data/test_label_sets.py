"""Sets of labels in files and frames, and the metric that leads."""

import json

import pytest

from unirex.data.convert import convert
from unirex.data.example import DatasetInfo, Example, Splits
from unirex.data.load import load_dataset
from unirex.data.split import stratified_split
from unirex.errors import UserError

ROWS = [
    {"text": "so loud", "label": ["sound"], "split": "train"},
    {"text": "well played, well told", "label": ["plot", "acting"], "split": "train"},
    {"text": "nothing to say", "label": [], "split": "dev"},
    {"text": "played", "label": ["acting"], "split": "test"},
]
SETS = [("sound",), ("acting", "plot"), (), ("acting",)]


def written(path, rows):
    """A file of rows: JSON Lines, or CSV with lists as JSON."""
    if path.suffix == ".jsonl":
        path.write_text("".join(json.dumps(row) + "\n" for row in rows))
        return path
    names = list(rows[0])
    cells = [
        [row[name] if isinstance(row[name], str) else json.dumps(row[name]) for name in names] for row in rows
    ]
    quoted = [",".join('"' + cell.replace('"', '""') + '"' for cell in line) for line in (names, *cells)]
    path.write_text("\n".join(quoted) + "\n")
    return path


def sets(data):
    return [example.label for part in data.values() for example in part]


@pytest.mark.parametrize("name", ["labels.jsonl", "labels.csv"])
@pytest.mark.parametrize("column", ["label", "labels"])
def test_a_list_in_the_label_column_is_a_set(tmp_path, name, column):
    rows = [{column if key == "label" else key: value for key, value in row.items()} for row in ROWS]
    data = load_dataset(written(tmp_path / name, rows))
    assert sets(data) == SETS
    assert data.info == DatasetInfo(
        "labels", ("acting", "plot", "sound"), metric="macro_f1", multi_label=True
    )


def test_columns_of_zeros_and_ones_are_a_set(tmp_path):
    flags = ("acting", "plot", "sound")
    rows = [
        {
            "text": row["text"],
            "split": row["split"],
            "label": "x",
            **{f: str(int(f in row["label"])) for f in flags},
        }
        for row in ROWS
    ]
    path = written(tmp_path / "flags.csv", rows)
    assert sets(load_dataset(path, columns={"labels": "acting,plot,sound"})) == SETS
    rows[1]["plot"] = "0.7"
    with pytest.raises(UserError, match=r"flags.csv:3: 'plot' must be 0 or 1: .* '0.7'"):
        load_dataset(written(path, rows), columns={"labels": "acting,plot,sound"})


@pytest.mark.parametrize("ending", ["jsonl", "csv", "parquet"])
def test_written_and_read_again_they_are_the_same(tmp_path, ending):
    data = load_dataset(ROWS)
    (path,) = convert(data, tmp_path / f"data.{ending}")
    assert sets(load_dataset(path)) == SETS


def test_names_of_classes_are_read_inside_lists(tmp_path):
    datasets = pytest.importorskip("datasets")
    kind = datasets.Sequence(datasets.ClassLabel(names=["acting", "plot", "sound"]))
    features = datasets.Features({"text": datasets.Value("string"), "labels": kind})
    rows = {"text": [row["text"] for row in ROWS], "labels": [[2], [1, 0], [], [0]]}
    part = datasets.Dataset.from_dict(rows, features=features)
    assert load_dataset({"train": part, "dev": part})["train"][1].label == ("acting", "plot")


@pytest.mark.parametrize(
    ("label", "said"),
    [
        ("plot", "row 2: one label at train row 2, but a list at train row 1; write lists in all rows"),
        ([["plot"]], "'label' must be text, a number or true/false"),
        ([1], "does not go with"),
        ([None], "'label' is missing"),
        (["plot", "plot"], "has a label twice.*votes of several people are a column each"),
    ],
)
def test_mixed_and_unreadable_labels_are_refused(label, said):
    rows = [{"text": "a", "label": ["plot", "acting"]}, {"text": "b", "label": label}]
    with pytest.raises(UserError, match=said):
        load_dataset({"train": rows, "dev": rows})


def test_sets_are_split_by_their_rarest_label():
    labels = [("common",)] * 40 + [("common", "rare")] * 10 + [()] * 10
    parts = stratified_split([Example(str(n), ("x",), label) for n, label in enumerate(labels)])
    for name, size in (("train", 8), ("dev", 1), ("test", 1)):
        assert sum("rare" in example.label for example in parts[name]) == size


@pytest.mark.parametrize(("rare", "metric"), [(10, "accuracy"), (9, "macro_f1")])
def test_macro_f1_leads_where_labels_are_imbalanced(rare, metric):
    """One label with more than three times the texts of the rarest."""
    rows = [{"text": f"t {n}", "label": "many" if n >= rare else "few"} for n in range(rare + 30)]
    data = load_dataset({"train": rows, "dev": rows})
    assert data.info.metric == metric
    assert isinstance(data, Splits)
