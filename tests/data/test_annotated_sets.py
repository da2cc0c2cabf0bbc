"""HateXplain and Toxic Spans, read by name and by path from small made-up files in their published shapes."""

import json

import pytest
from data_files import write_rows

from unirex.data import load_dataset
from unirex.data.validate import collecting
from unirex.errors import UserError

TOKENS = ["you", "are", "a", "<user>", "toad"]


def post(name, *labels, marks=(), tokens=TOKENS):
    people = [{"label": label, "annotator_id": n, "target": ["None"]} for n, label in enumerate(labels, 1)]
    return {"post_id": name, "annotators": people, "rationales": list(marks), "post_tokens": tokens}


HATE, OFFENCE, NORMAL = "hatespeech", "offensive", "normal"
MARKS = [[0, 0, 0, 0, 1], [0, 0, 1, 1, 1], [1, 0, 0, 0, 1]]


def posts(**more):
    """A hateful, an offensive, a normal and an undecided post for each split."""
    made = {}
    for split in ("train", "val", "test"):
        made[f"{split}-h"] = post(f"{split}-h", HATE, HATE, OFFENCE, marks=MARKS)
        made[f"{split}-o"] = post(f"{split}-o", OFFENCE, NORMAL, OFFENCE, marks=MARKS[:2])
        made[f"{split}-n"] = post(f"{split}-n", NORMAL, NORMAL, NORMAL)
        made[f"{split}-u"] = post(f"{split}-u", HATE, NORMAL, OFFENCE)
    return made | more


def hatexplain(root, divided=True, **more):
    folder = root / "hatexplain"
    write_rows(folder / "dataset.json", json.dumps(posts(**more)))
    if divided:
        ids = {split: [f"{split}-{kind}" for kind in "hon"] for split in ("train", "val", "test")}
        write_rows(folder / "post_id_divisions.json", json.dumps(ids))
    return folder


def marked(example):
    return [example.text[start:end] for start, end in example.rationale[0]]


def test_hatexplain_has_the_majority_of_labels_and_marks(tmp_path):
    hatexplain(tmp_path)
    data = load_dataset("hatexplain", root=tmp_path)
    assert {split: [one.id for one in part] for split, part in data.items()} == {
        "train": ["train-h", "train-o", "train-n"],
        "dev": ["val-h", "val-o", "val-n"],
        "test": ["test-h", "test-o", "test-n"],
    }
    hateful, offensive, normal = data["dev"]
    assert hateful.text == "you are a <user> toad"
    assert (hateful.label, hateful.votes, len(hateful.groups)) == (HATE, (HATE, HATE, OFFENCE), 3)
    assert marked(hateful) == ["toad"]  # by three; "a", "<user>" and "you" by one each
    assert (offensive.label, marked(offensive)) == (OFFENCE, ["toad"])
    assert (normal.label, normal.rationale, normal.groups) == (NORMAL, None, ())
    union = load_dataset("hatexplain", root=tmp_path, annotators="union")["dev"][0]
    assert marked(union) == ["you", "a", "<user>", "toad"]


def test_hatexplain_by_path_is_the_same(tmp_path):
    folder = hatexplain(tmp_path)
    named = load_dataset("hatexplain", root=tmp_path)
    assert load_dataset(folder) == load_dataset(folder / "dataset.json") == named


def test_hatexplain_without_its_divisions_is_split_by_a_seed(tmp_path, caplog):
    more = {f"{kind}{n}": post("", *[kind] * 3) for kind in (HATE, NORMAL, OFFENCE) for n in range(20)}
    data = load_dataset(hatexplain(tmp_path, divided=False, **more) / "dataset.json")
    assert sum(map(len, data.values())) == 69 and "post_id_divisions.json" in caplog.text


@pytest.mark.parametrize(
    ("bad", "message"),
    [
        (post("", HATE, "hate", HATE), r"post val-h: unknown label 'hate'. Known: hatespeech, normal"),
        (post("", HATE, marks=[[1, 0]]), r"post val-h: a rationale must be a 0 or 1 for each of 5 tokens"),
        (post("", HATE, tokens="text"), r"post val-h: 'post_tokens' must be a list of texts"),
        (post("", HATE) | {"rationales": 3}, r"post val-h: 'rationales' must be a list of markings"),
        ({"post_tokens": TOKENS}, r"post val-h: 'annotators' must be a list"),
    ],
)
def test_posts_that_are_not_as_published(tmp_path, bad, message):
    hatexplain(tmp_path, **{"val-h": bad})
    with pytest.raises(UserError, match=message):
        load_dataset("hatexplain", root=tmp_path)
    with collecting() as problems:
        assert [one.id for one in load_dataset("hatexplain", root=tmp_path)["dev"]] == ["val-o", "val-n"]
    assert len(problems) == 1


def test_divisions_of_other_posts(tmp_path):
    folder = hatexplain(tmp_path)
    write_rows(folder / "post_id_divisions.json", json.dumps({"train": ["train-h", "nowhere"]}))
    with pytest.raises(UserError, match=r"post_id_divisions.json: 1 of its posts are not in dataset.json"):
        load_dataset(folder)


def toxic_spans(root):
    folder = root / "toxic-spans"
    for name in ("train", "trial", "test"):
        rows = [{"spans": "[10, 11, 12, 13]", "text": f"what, you toad {name} {n}"} for n in range(6)]
        rows += [{"spans": "[]", "text": f"nothing to mark {name} {n}"} for n in range(4)]
        write_rows(folder / f"tsd_{name}.csv", rows)
    return folder


def test_toxic_spans_are_labelled_by_their_spans(tmp_path):
    toxic_spans(tmp_path)
    data = load_dataset("toxic-spans", root=tmp_path)
    assert [(split, len(part), part[0].id) for split, part in data.items()] == [
        ("train", 10, "tsd_train-1"),
        ("dev", 10, "tsd_trial-1"),
        ("test", 10, "tsd_test-1"),
    ]
    first, last = data["test"][0], data["test"][-1]
    assert (first.label, marked(first), first.groups) == ("toxic_span", ["toad"], ())
    assert (last.label, last.rationale) == ("no_toxic_span", ((),))  # looked at, and nothing found


def test_toxic_spans_by_path(tmp_path):
    folder = toxic_spans(tmp_path)
    assert load_dataset(folder) == load_dataset("toxic-spans", root=tmp_path)
    alone = load_dataset(folder / "tsd_train.csv")
    assert alone.info.name == "toxic-spans" and sum(map(len, alone.values())) == 10
    (folder / "tsd_test.csv").unlink()
    with pytest.raises(UserError, match=r"tsd_test\.csv: no such file"):
        load_dataset("toxic-spans", root=tmp_path)


def test_a_table_without_labels_may_be_labelled_by_its_marks(tmp_path):
    path = toxic_spans(tmp_path) / "tsd_train.csv"
    mine = path.rename(tmp_path / "mine.csv")
    fix = r"mine\.csv: unknown column 'label'\. .* --columns\.rationale spans --columns\.label spans"
    with pytest.raises(UserError, match=fix):
        load_dataset(mine)
    data = load_dataset(mine, columns={"rationale": "spans", "label": "spans"})
    assert data.info.labels == ("marked", "unmarked")
    assert all((one.label == "marked") == ("toad" in one.text) for one in data["train"])
    tagged = [{"text": f"you <em>toad</em> {n}"} for n in range(7)] + [
        {"text": f"fine {n}"} for n in range(5)
    ]
    data = load_dataset(write_rows(tmp_path / "tagged.jsonl", tagged), columns={"label": "text"})
    assert {(one.label, "toad" in one.text) for one in data["train"]} == {
        ("marked", True),
        ("unmarked", False),
    }


def test_undecided_posts_are_no_problem(tmp_path):
    hatexplain(tmp_path)
    with collecting() as problems:
        load_dataset("hatexplain", root=tmp_path)
    assert problems == []
