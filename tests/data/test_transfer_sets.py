"""The five sets that systems are carried over to, read from small files in their published layouts."""

import csv
from collections import Counter

import pytest
from data_files import write_rows

from unirex.data import load_dataset
from unirex.data.validate import collecting
from unirex.errors import UserError

SIZES = (20, 6, 8)


def reviews(count, title=False):
    """Rows of the public archives: one in four is positive."""
    texts = ((f"title {n}", f"text {n}") if title else (f"text {n}",) for n in range(count))
    return [("2" if n % 4 == 0 else "1", *cells) for n, cells in enumerate(texts)]


def write_csv(path, rows):
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w", newline="", encoding="utf-8") as file:
        csv.writer(file, quoting=csv.QUOTE_ALL, lineterminator="\n").writerows(rows)


def archive(root, name="yelp", title=False, train=100, test=40):
    write_csv(root / name / "train.csv", reviews(train, title))
    write_csv(root / name / "test.csv", reviews(test, title))
    return root


def sizes(data):
    return {split: len(part) for split, part in data.items()}


def balance(data):
    return {split: dict(Counter(example.label for example in part)) for split, part in data.items()}


def texts(data):
    return [example.segments for part in data.values() for example in part]


def test_yelp_is_a_stratified_sample(tmp_path):
    data = load_dataset("yelp", root=archive(tmp_path), sizes=SIZES)
    assert sizes(data) == {"train": 20, "dev": 6, "test": 8}
    assert balance(data)["train"] == {"neg": 15, "pos": 5}
    assert balance(data)["test"] == {"neg": 6, "pos": 2}
    assert (data.info.labels, data.info.metric, data.info.task) == (("neg", "pos"), "accuracy", "text")
    assert not {one.id for one in data["train"]} & {one.id for one in data["dev"]}
    for example in data["train"]:
        number = int(example.id.removeprefix("train-"))
        assert example.segments == (f"text {number - 1}",)
        assert example.label == ("pos" if (number - 1) % 4 == 0 else "neg")
        assert example.rationale is None


def test_the_seed_decides_the_sample(tmp_path):
    archive(tmp_path)
    first, again, other = (load_dataset("yelp", root=tmp_path, sizes=SIZES, seed=seed) for seed in (0, 0, 1))
    assert texts(first) == texts(again) != texts(other)


def test_the_first_rows_as_in_the_released_code(tmp_path):
    data = load_dataset("yelp", root=archive(tmp_path), sizes=SIZES, sample="first_n", seed=9)
    assert [one.id for one in data["train"]] == [f"train-{n}" for n in range(1, 21)]
    assert [one.id for one in data["dev"]] == [f"train-{n}" for n in range(21, 27)]
    assert [one.id for one in data["test"]] == [f"test-{n}" for n in range(1, 9)]


def test_amazon_has_a_title_and_a_text(tmp_path):
    archive(tmp_path, "amazon", title=True)
    write_csv(tmp_path / "amazon" / "test.csv", [("1", "", "no title"), ("2", "no text", "")])
    data = load_dataset("amazon", root=tmp_path, sizes=(20, 6, 2))
    assert (data.info.task, data.info.labels) == ("segments", ("neg", "pos"))
    assert all(len(one.segments) == 2 for one in data["train"])
    assert texts(data)[-2:] == [("", "no title"), ("no text", "")]


def test_escapes_of_the_archives_are_restored(tmp_path):
    archive(tmp_path)
    raw = r'"1","so ""good"",\n\nreally \""good\"", C:\temp"' + "\n" + '"2","plain, and a\u2028b"\n'
    (tmp_path / "yelp" / "test.csv").write_text(raw, "utf-8")
    data = load_dataset("yelp", root=tmp_path, sizes=(20, 6, 2))
    first, second = data["test"]
    assert first.text == 'so "good",\n\nreally "good", C:\\temp'
    assert second.text == "plain, and a\u2028b"


@pytest.mark.parametrize("suffix", [".parquet", ".jsonl"])
@pytest.mark.parametrize(("name", "columns"), [("yelp", ["text"]), ("amazon", ["title", "content"])])
def test_the_layout_of_the_hub_gives_the_same(tmp_path, suffix, name, columns):
    title = len(columns) == 2
    there = load_dataset(name, root=archive(tmp_path / "archive", name, title), sizes=SIZES)
    for split, count in (("train", 100), ("test", 40)):
        rows = [
            {"label": int(label) - 1, **dict(zip(columns, cells, strict=True))}
            for label, *cells in reviews(count, title)
        ]
        halves = {f"{split}-00000-of-00002": rows[:50], f"{split}-00001-of-00002": rows[50:]}
        for stem, part in (halves if split == "train" else {split: rows}).items():
            write_rows(tmp_path / "hub" / name / f"{stem}{suffix}", part)
    here = load_dataset(name, root=tmp_path / "hub", sizes=SIZES)
    assert texts(here) == texts(there)
    assert balance(here) == balance(there)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({}, r"yelp: train: only 100 usable rows, but 10000 \+ 2000 are asked for; give smaller sizes"),
        ({"sample": "first_n"}, r"yelp: train: only 100 usable rows"),
        ({"sizes": (20, 6, 80)}, r"yelp: test: only 40 usable rows, but 80 are asked for"),
        ({"sizes": (20, 6)}, r"sizes must be three whole numbers"),
        ({"sizes": (20, 0, 8)}, r"sizes must be three whole numbers"),
        ({"sample": "last_n", "sizes": SIZES}, r"unknown sample 'last_n'"),
        ({"size": 3}, r"dataset 'yelp': unknown option 'size'; did you mean 'sizes'\? Known: sample, sizes"),
    ],
)
def test_sizes_that_do_not_fit(tmp_path, options, message):
    with pytest.raises(UserError, match=message):
        load_dataset("yelp", root=archive(tmp_path), **options)


@pytest.mark.parametrize(
    ("row", "message"),
    [
        (("label", "text"), r"train\.csv:101: a row must be label, text, the label 1 or 2, without a header"),
        (("0", "x"), r"train\.csv:101: .* not \['0', 'x'\]"),
        (("1", "x", "y"), r"train\.csv:101: a row must be"),
        (("1",), r"train\.csv:101: a row must be"),
    ],
)
def test_rows_that_are_no_reviews(tmp_path, row, message):
    archive(tmp_path)
    write_csv(tmp_path / "yelp" / "train.csv", [*reviews(100), row])
    with pytest.raises(UserError, match=message):
        load_dataset("yelp", root=tmp_path, sizes=SIZES)
    with collecting() as problems:
        assert sizes(load_dataset("yelp", root=tmp_path, sizes=SIZES))["train"] == 20
    assert len(problems) == 1


def test_rows_of_the_hub_that_are_no_reviews(tmp_path):
    write_rows(tmp_path / "yelp" / "train.jsonl", [{"label": 2, "text": "x"}])
    with pytest.raises(UserError, match=r"train\.jsonl:1: 'label' must be 0 \(negative\) or 1"):
        load_dataset("yelp", root=tmp_path, sizes=SIZES)
    write_rows(tmp_path / "yelp" / "train.jsonl", [{"label": 1, "content": "x"}])
    with pytest.raises(UserError, match=r"train\.jsonl:1: unknown column 'text'"):
        load_dataset("yelp", root=tmp_path, sizes=SIZES)


def test_blank_reviews_are_never_drawn(tmp_path):
    archive(tmp_path)
    write_csv(tmp_path / "yelp" / "test.csv", [("1", "x"), ("1", " "), ("2", "y")])
    with collecting() as problems:
        data = load_dataset("yelp", root=tmp_path, sizes=(20, 6, 2))
    assert [one.text for one in data["test"]] == ["x", "y"]
    assert problems == [f"{tmp_path / 'yelp' / 'test.csv'}:2: left out: the row has no text"]


def test_files_of_reviews_that_are_not_there(tmp_path):
    (tmp_path / "yelp").mkdir()
    with pytest.raises(UserError, match=r"yelp: no file of train; there should be train\.csv, "):
        load_dataset("yelp", root=tmp_path)
    write_rows(tmp_path / "yelp" / "train-00000-of-00002.jsonl", [])
    with pytest.raises(UserError, match=r"found train-00000-of-00002\.jsonl; .* all shards of one"):
        load_dataset("yelp", root=tmp_path)
    archive(tmp_path)
    with pytest.raises(UserError, match=r"found train-00000-of-00002\.jsonl, train\.csv"):
        load_dataset("yelp", root=tmp_path)


def forum(root, rows=(), hate=30, other=120):
    """Stormfront in small."""
    folder = root / "stormfront"
    (folder / "all_files").mkdir(parents=True)
    table = [(f"{n}_1", "hate" if n < hate else "noHate") for n in range(hate + other)] + list(rows)
    for name, label in table:
        (folder / "all_files" / f"{name.replace('/', '_')}.txt").write_text(f"{label} {name}\n")
    header = ("file_id", "user_id", "subforum_id", "num_contexts", "label")
    lines = [dict(zip(header, (name, 7, 1346, 0, label), strict=True)) for name, label in table]
    write_rows(folder / "annotations_metadata.csv", lines)
    return folder


def test_stormfront_is_split_in_the_papers_proportions(tmp_path):
    forum(tmp_path, hate=1087, other=1087)
    data = load_dataset("stormfront", root=tmp_path)
    assert balance(data) == {
        "train": {"hate": 789, "not_hate": 789},
        "dev": {"hate": 98, "not_hate": 98},
        "test": {"hate": 200, "not_hate": 200},
    }
    assert (data.info.labels, data.info.metric) == (("not_hate", "hate"), "binary_f1")


def test_stormfront_texts_and_ids(tmp_path):
    forum(tmp_path)
    data, other = (load_dataset("stormfront", root=tmp_path, seed=seed) for seed in (0, 1))
    for example in (one for part in data.values() for one in part):
        assert example.text == f"{'noHate' if example.label == 'not_hate' else 'hate'} {example.id}"
    assert texts(data) != texts(other)
    assert sorted(texts(data)) == sorted(texts(other))


def test_stormfront_leaves_out_what_was_not_judged_alone(tmp_path, caplog):
    caplog.set_level("INFO", logger="unirex")
    folder = forum(tmp_path, [("900_1", "relation"), ("900_2", "idk/skip"), ("900_3", "relation")])
    (folder / "all_files" / "900_1.txt").unlink()
    with collecting() as problems:
        data = load_dataset("stormfront", root=tmp_path)
    assert sum(sizes(data).values()) == 150
    assert problems == []
    assert "left out: 2 relation, 1 idk/skip" in caplog.text


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ([("900_1", "Hate")], r"annotations_metadata\.csv:152: unknown label 'Hate'; did you mean 'hate'"),
        ([("../900_1", "hate")], r"annotations_metadata\.csv:152: file_id '../900_1' is no name"),
        ([("3_1", "hate")], r"annotations_metadata\.csv:152: duplicate id '3_1'"),
    ],
)
def test_mistakes_in_the_table_of_stormfront(tmp_path, rows, message):
    forum(tmp_path, rows)
    with pytest.raises(UserError, match=message):
        load_dataset("stormfront", root=tmp_path)


def test_mistakes_in_the_texts_of_stormfront(tmp_path):
    folder = forum(tmp_path)
    (folder / "all_files" / "4_1.txt").unlink()
    (folder / "all_files" / "5_1.txt").write_text(" \n")
    (folder / "all_files" / "6_1.txt").write_bytes(b"\xff")
    with pytest.raises(UserError, match=r"annotations_metadata\.csv:6: there is no text all_files/4_1\.txt"):
        load_dataset("stormfront", root=tmp_path)
    with collecting() as problems:
        load_dataset("stormfront", root=tmp_path)
    assert len(problems) == 3
    assert "annotations_metadata.csv:7: 'all_files/5_1.txt' is empty" in problems[1]
    assert "6_1.txt:1: not UTF-8" in problems[2]


MAPPINGS = {"irony": "0\tnon_irony\n1\tirony", "offensive": "0\tnot-offensive\n1\toffensive\n"}


def tweets(root, task="irony", **changed):
    folder = root / "tweeteval" / task
    folder.mkdir(parents=True)
    files = {"mapping": MAPPINGS[task]}
    for name in ("train", "val", "test"):
        files[f"{name}_text"] = f"{name} one \n{name} two\u2028\x85\x0b\r!\n{name} three\n"
        files[f"{name}_labels"] = "0\n1\n1\n"
    for name, content in (files | changed).items():
        (folder / f"{name}.txt").write_text(content, "utf-8", newline="")
    return folder


@pytest.mark.parametrize(
    ("name", "task", "labels", "metric"),
    [
        ("irony", "irony", ("not_irony", "irony"), "binary_f1"),
        ("offenseval", "offensive", ("not_offensive", "offensive"), "macro_f1"),
    ],
)
def test_tweets_keep_their_published_splits(tmp_path, name, task, labels, metric):
    tweets(tmp_path, task)
    data = load_dataset(name, root=tmp_path, seed=5)
    assert sizes(data) == {"train": 3, "dev": 3, "test": 3}
    assert (data.info.labels, data.info.metric, data.info.task) == (labels, metric, "text")
    assert [one.label for one in data["dev"]] == [labels[0], labels[1], labels[1]]
    assert [one.id for one in data["dev"]] == ["val-1", "val-2", "val-3"]


def test_only_a_line_feed_ends_a_tweet(tmp_path):
    tweets(tmp_path)
    data = load_dataset("irony", root=tmp_path)
    assert [one.text for one in data["test"]] == ["test one ", "test two\u2028\x85\x0b\r!", "test three"]


def test_the_other_folder_name_and_crlf(tmp_path):
    tweets(tmp_path, val_text="a\r\nb\r\nc", val_labels="1\r\n0\r\n1").rename(tmp_path / "irony")
    data = load_dataset("irony", root=tmp_path)
    assert [example.text for example in data["dev"]] == ["a", "b", "c"]
    assert [example.label for example in data["dev"]] == ["irony", "not_irony", "irony"]


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"val_labels": "0\n1\n"}, r"val_text\.txt: 3 lines, but val_labels\.txt has 2; .* get both files"),
        ({"val_text": "a\n\nb\nc\n"}, r"val_text\.txt: 4 lines, but val_labels\.txt has 3"),
        ({"val_text": "a\n\nb\n"}, r"val_text\.txt:2: 'the tweet' is empty"),
        ({"val_labels": "0\n2\n1\n"}, r"val_text\.txt:2: its label is '2' \(val_labels\.txt:2\); .* 0, 1"),
        ({"val_labels": "0\n\n1\n"}, r"val_text\.txt:2: its label is ''"),
        ({"mapping": "0\tirony\n1\tnon_irony"}, r"mapping\.txt: says '0 irony, 1 non_irony', not"),
        ({"mapping": MAPPINGS["offensive"]}, r"mapping\.txt: .* this is the folder of another task"),
        ({"train_labels": "1\n1\n1\n"}, r"irony: fewer than two classes in train"),
    ],
)
def test_files_of_tweets_that_do_not_fit(tmp_path, changed, message):
    tweets(tmp_path, **changed)
    with pytest.raises(UserError, match=message):
        load_dataset("irony", root=tmp_path)


def test_a_blank_tweet_shifts_nothing(tmp_path):
    tweets(tmp_path, train_text="a\n\nb\nc\n", train_labels="0\n0\n1\n0\n")
    with collecting() as problems:
        data = load_dataset("irony", root=tmp_path)
    assert [example.id for example in data["train"]] == ["train-1", "train-3", "train-4"]
    assert [example.label for example in data["train"]] == ["not_irony", "irony", "not_irony"]
    assert len(problems) == 1
