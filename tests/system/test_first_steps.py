"""The first twenty steps of a stranger: from a file in any shape to a page, each as they would type it.

Steps marked "Dead end" once led nowhere: without a line that says what to do next, or without any line.
"""

import csv
import gzip
import io
import json
import os
import shlex
import subprocess
import sys
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import yaml
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import FunctionTransformer
from test_any_classifier import save_classifier

import unirex
from commands import fails, run, succeeds, write_rows
from planted import planted
from unirex.cli import main

ROWS = [
    {"text": example.text, "label": example.label, "rationale": [list(span) for span in example.rationale[0]]}
    for part in planted((40, 8, 8)).values()
    for example in part
]
NAMED = ["--columns.text", "review", "--columns.label", "opinion", "--columns.rationale", "because"]
SOUND = f"no problems in {len(ROWS)} examples\n"


def write_table(path, rows, *, delimiter=",", encoding="utf-8"):
    """A CSV file; lists are written as JSON."""
    with path.open("w", encoding=encoding, newline="") as file:
        writer = csv.DictWriter(file, rows[0], delimiter=delimiter)
        writer.writeheader()
        writer.writerows(
            {name: json.dumps(cell) if isinstance(cell, list) else cell for name, cell in row.items()}
            for row in rows
        )
    return path


@pytest.fixture(scope="module")
def reviews(tmp_path_factory):
    """A table as a spreadsheet of Western Europe writes it."""
    rows = [
        {"review": f"{row['text']} à Orléans", "opinion": row["label"], "because": row["rationale"]}
        for row in ROWS
    ]
    path = tmp_path_factory.mktemp("strange") / "reviews.csv"
    return write_table(path, rows, delimiter=";", encoding="latin-1")


@pytest.fixture(scope="module")
def trained(reviews, learner, tmp_path_factory):
    """The folder of a run, what training printed and what it said on the way."""
    folder, out, err = tmp_path_factory.mktemp("runs") / "mine", io.StringIO(), io.StringIO()
    command = ["train", "--method", "slm-fpo", "--data", reviews, *NAMED, "--encoder", learner]
    command += ["--out", folder, "--pooling", "mean", "--class_weights", "balanced"]
    with redirect_stdout(out), redirect_stderr(err):
        assert main([*map(str, command), "--training.epochs", "1", "--training.batch_size", "8"]) == 0
    return folder, out.getvalue(), err.getvalue()


@pytest.fixture(autouse=True)
def elsewhere(tmp_path, monkeypatch):
    """Commands run in an empty folder."""
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")


def test_01_a_semicolon_table_in_latin_1_with_names_of_its_own(reviews, capsys):
    code, out, _ = run(capsys, "data", "check", reviews)
    assert code == 1 and len(out.splitlines()) == 2, "one line about the file, not one about each row"
    assert "Known: review, opinion, because." in out and "--columns.text NAME" in out
    unmarked = succeeds(capsys, "data", "check", reviews, *NAMED[:4])
    assert "none has marked words" in unmarked and "--columns.rationale NAME" in unmarked
    assert succeeds(capsys, "data", "check", reviews, *NAMED) == SOUND


def test_02_a_table_in_any_other_shape(tmp_path, capsys):
    lines = write_rows(tmp_path / "lines.jsonl", ROWS)
    (tmp_path / "array.json").write_text(json.dumps(ROWS), "utf-8")
    (tmp_path / "packed.jsonl.gz").write_bytes(gzip.compress(lines.read_bytes()))
    pq.write_table(pa.Table.from_pylist(ROWS), tmp_path / "frame.parquet")
    write_table(tmp_path / "tabs.tsv", ROWS, delimiter="\t")
    write_table(tmp_path / "wide.csv", ROWS, encoding="utf-16")
    names = ("lines.jsonl", "array.json", "packed.jsonl.gz", "frame.parquet", "tabs.tsv", "wide.csv")
    for name in names:
        assert succeeds(capsys, "data", "check", tmp_path / name) == SOUND, name


def test_03_posts_in_the_shape_of_hatexplain(tmp_path, capsys):
    posts = {
        f"{label}{number}": {
            "post_id": f"{label}{number}",
            "post_tokens": ["so", "it", "is", f"word{number}"],
            "annotators": [{"label": label, "annotator_id": person} for person in (1, 2, 3)],
            "rationales": [] if label == "normal" else [[0, 0, 0, 1], [0, 0, 1, 1], [0, 0, 0, 1]],
        }
        for label in ("hatespeech", "normal", "offensive")
        for number in range(10)
    }
    (tmp_path / "dataset.json").write_text(json.dumps(posts), "utf-8")
    told = json.loads(succeeds(capsys, "data", "stats", tmp_path / "dataset.json", "--json"))
    assert told["agreement"]["train"]["labels"]["alpha"] == 1


def test_04_flat_offsets_and_no_column_of_labels(tmp_path, capsys, caplog):
    """Dead ends: a table without labels; offsets that were taken for words and then refused."""
    rows = [
        {"marks": list(range(*row["rationale"][0])) if number % 2 else [], "text": row["text"]}
        for number, row in enumerate(ROWS)
    ]
    table = write_table(tmp_path / "comments.csv", rows)
    code, out, _ = run(capsys, "data", "check", table)
    assert code == 1 and len(out.splitlines()) == 2
    option = "--columns.rationale marks --columns.label marks"
    assert option in out
    assert succeeds(capsys, "data", "check", table, *option.split()) == SOUND
    assert "marks are read as the offset of every marked character" in caplog.text


def test_05_marks_as_tags_in_the_text(tmp_path, capsys):
    rows = []
    for row in ROWS:
        (start, end), text = row["rationale"][0], row["text"]
        tagged = f"{text[:start]}<em>{text[start:end]}</em>{text[end:]}"
        rows.append({"text": tagged, "label": row["label"]})
    table = write_table(tmp_path / "tagged.csv", rows)
    assert "gold:" in succeeds(capsys, "data", "show", table, "--number", 1)


def test_06_a_column_for_each_annotator(tmp_path, capsys):
    """Dead end: `--annotators` on a table."""
    rows = [
        {"text": row["text"], "label": row["label"]}
        | {"ann": row["rationale"], "bob": row["rationale"], "eve": []}
        for row in ROWS
    ]
    table = write_table(tmp_path / "people.csv", rows)
    people = ["--columns.rationale", "ann,bob,eve", "--annotators"]
    for how, gold in (("majority", True), ("intersection", False)):
        told = json.loads(succeeds(capsys, "data", "stats", table, *people, how, "--json"))
        assert bool(told["splits"]["train"]["gold"]["density"]) is gold


def test_07_annotators_as_lists_in_a_list(tmp_path, capsys):
    """Dead end: nested lists of annotators."""
    rows = [{**row, "rationale": [row["rationale"], row["rationale"], []]} for row in ROWS]
    path = write_rows(tmp_path / "nested.jsonl", rows)
    assert succeeds(capsys, "data", "check", path, "--annotators", "2") == SOUND
    told = json.loads(succeeds(capsys, "data", "agreement", path, "--json"))
    assert told["all"]["words"]["texts"] == len(ROWS)


def test_08_nine_bad_spans(tmp_path, capsys):
    """Dead end: a few bad spans that blocked a whole file."""
    rows = [
        {**row, "rationale": [*row["rationale"], [90, 99]]} if number < 9 else row
        for number, row in enumerate(ROWS)
    ]
    path = write_rows(tmp_path / "rows.jsonl", rows)
    assert "rows.jsonl:1: rationale span [90, 99]" in fails(capsys, "data", "stats", path)
    _, out, _ = run(capsys, "data", "check", path)
    assert "and 8 more like it, the next: " in out and "9 problems in" in out
    assert "rows.jsonl:1" in fails(capsys, "data", "agreement", path)
    _, _, err = run(capsys, "data", "agreement", path, "--on-error", "skip")
    assert "it takes two" in err and len(Path("rows.jsonl.skipped.txt").read_text("utf-8").splitlines()) == 9
    for how, kept in (("skip", len(ROWS) - 9), ("clip", len(ROWS))):
        told = json.loads(succeeds(capsys, "data", "stats", path, "--on_error", how, "--json"))
        assert sum(split["examples"] for split in told["splits"].values()) == kept


def test_09_lists_of_labels(tmp_path, capsys):
    rows = [{**row, "label": [row["label"], "long"] if number % 3 else []} for number, row in enumerate(ROWS)]
    path = write_rows(tmp_path / "sets.jsonl", rows)
    assert succeeds(capsys, "data", "check", path) == SOUND
    shown = succeeds(capsys, "data", "stats", path)
    assert all(label in shown for label in ("long", "neg", "pos"))


def test_10_chinese(tmp_path, capsys):
    rows = [
        {"text": f"第{n}部电影很好看。", "label": "好" if n % 2 else "坏", "rationale": ["很好"]}
        for n in range(30)
    ]
    path = write_rows(tmp_path / "films.jsonl", rows)
    assert "no problems in 30" in succeeds(capsys, "data", "check", path)
    assert "很好" in succeeds(capsys, "data", "show", path, "--number", 1)


def test_11_pairs(tmp_path, capsys):
    rows = [{"premise": row["text"], "claim": "it is good .", "label": row["label"]} for row in ROWS]
    table = write_table(tmp_path / "pairs.csv", rows)
    assert SOUND.strip() in succeeds(capsys, "data", "check", table, "--columns.text", "premise,claim")
    model = save_classifier(tmp_path / "model")
    command = ["explain", "--model", model, "--pair", "It is dull. It is bad.", "it is good ."]
    (told,) = succeeds(capsys, *command, "--unit", "sentence", "--json").splitlines()
    assert json.loads(told)["unit"] == "sentence" and len(json.loads(told)["segments"]) == 2


def test_12_frames_and_generators_in_a_notebook():
    read = unirex.load_dataset(pd.DataFrame(ROWS))
    made = unirex.load_dataset(row for row in ROWS)
    assert [len(part) for part in read.values()] == [len(part) for part in made.values()]
    assert "<table" in read._repr_html_()


def test_13_training_says_what_it_does(trained):
    """Dead ends: `class_weights balanced`; minutes without a line of output."""
    folder, _, err = trained
    assert "training on " in err and "epoch 1/1: dev " in err and "training ended" in err
    weights = yaml.safe_load((folder / "settings.yaml").read_text("utf-8"))["class_weights"]
    assert len(set(weights)) == 2, "one for each label"


def test_14_a_mistake_is_found_at_once():
    """Dead end: minutes, or seconds, before a usage error; what takes seconds is loading torch."""
    script = """import sys; from unirex.cli import main
for command in sys.argv[1:]: print(main(command.split()), 'torch' in sys.modules)"""
    mistakes = {
        "train --data demo --out runs/mine --training.epoch 3": "did you mean",
        "train --data demo --out runs/mine --training.epochs 0": "must be at least 1",
        "explain runs/none fine": "runs/none: no such folder",
        "explain runs/none fine --unit words": "did you mean 'word'?",
        "explain runs/none fine --extractor igs": "unknown extractor 'igs'",
    }
    done = subprocess.run(
        [sys.executable, "-c", script, *mistakes],
        env={**os.environ, "HF_HUB_OFFLINE": "1"},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.split() == ["2", "False"] * len(mistakes)
    told = done.stderr.splitlines()
    assert all(part in line for part, line in zip(mistakes.values(), told, strict=True))


def test_15_the_next_command_is_pasted_back(trained, capsys):
    folder, printed, _ = trained
    (following,) = [line for line in printed.splitlines() if line.startswith("next: ")]
    told = succeeds(capsys, *shlex.split(following.removeprefix("next: unirex ")), "--draws", 1)
    assert "random scores" in told and (folder / "evaluation").is_dir()


def test_16_reasons_for_each_label_or_one_rather_than_another(trained, capsys):
    explain = ["explain", trained[0], "a good film", "the plot is dull"]
    assert "rationale" in succeeds(capsys, *explain)
    lines = succeeds(capsys, *explain, "--for", "all", "--json").splitlines()
    assert [json.loads(line)["target"] for line in lines] == ["neg", "pos"] * 2
    assert "pos rather than neg" in succeeds(capsys, *explain, "--contrast", "pos", "neg")
    assert "give one" in fails(capsys, *explain, "--for", "pos", "--contrast", "pos", "neg")


def test_17_a_file_or_a_pipe(trained, tmp_path, capsys, monkeypatch):
    (tmp_path / "texts.txt").write_text("a good film\nso dull\n", "utf-8")
    told = succeeds(capsys, "explain", trained[0], "--file", tmp_path / "texts.txt", "--json")
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(b"a good film\nso dull\n")))
    piped = succeeds(capsys, "explain", trained[0], "--json")
    assert [json.loads(line)["spans"] for line in told.splitlines()] == [
        json.loads(line)["spans"] for line in piped.splitlines()
    ]


def test_18_whole_sentences_to_the_terminal_a_page_and_a_file(trained, capsys):
    text = "the film is long . It is good . What do people know ?"
    outputs = ["--json", "--html", "page.html", "--out", "lines.jsonl"]
    told = succeeds(capsys, "explain", trained[0], text, "--unit", "sentence", *outputs)
    assert Path("lines.jsonl").read_text("utf-8") == told and "people" in Path("page.html").read_text("utf-8")
    assert json.loads(told)["spans"][0]["text"].endswith((".", "?"))


def test_19_the_words_that_carry_each_label_and_a_page_of_comparison(trained, reviews, tmp_path, capsys):
    chosen = ["--data", reviews, "--number", 4]
    assert "texts" in succeeds(capsys, "global", trained[0], *chosen, "--min_count", 1)
    results = [tmp_path / name for name in ("own", "random")]
    for extractor, out in zip(([], ["--extractor", "random"]), results, strict=True):
        succeeds(capsys, "evaluate", trained[0], *chosen, "--draws", 0, "--out", out, *extractor)
    succeeds(capsys, "compare", *results, "--html", tmp_path / "comparison.html")
    assert "slm-fpo" in (tmp_path / "comparison.html").read_text("utf-8")


def test_20_a_step_of_a_scikit_learn_pipeline(learner):
    classifier = unirex.RationaleClassifier("vanilla", encoder=str(learner), epochs=1, batch_size=16)
    pipeline = Pipeline([("as it is", FunctionTransformer()), ("classify", classifier)])
    pipeline.fit([row["text"] for row in ROWS], [row["label"] for row in ROWS])
    assert set(pipeline.predict(["a good film", "so dull"])) <= {"neg", "pos"}
    assert "dull" in classifier.explain("so dull")._repr_html_()
