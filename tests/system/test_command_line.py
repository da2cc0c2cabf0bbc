"""The command line as a stranger uses it: the happy path, then every mistake."""

import io
import json
import os
import pickle
import shlex
import signal
import subprocess
import sys
import time
from inspect import signature
from pathlib import Path
from types import SimpleNamespace

import pytest
import torch

from campaign import children
from commands import fails, run, succeeds, write_rows
from planted import planted
from unirex.cli import build_parser, main
from unirex.cli.command import called_parser
from unirex.comparison import compare
from unirex.data import load_dataset
from unirex.demo import run_demo
from unirex.evaluation import evaluated

ROWS = [
    {"text": e.text, "label": e.label, "rationale": [list(s) for s in e.rationale[0]], "split": split}
    for split, part in planted((48, 16, 16)).items()
    for e in part
]
QUICK = ["--pooling", "mean", "--training.epochs", "2", "--training.learning_rate", "4e-3"]


@pytest.fixture(scope="module")
def reviews(tmp_path_factory) -> Path:
    return write_rows(tmp_path_factory.mktemp("data") / "reviews.jsonl", ROWS)


@pytest.fixture(scope="module")
def trained(reviews, learner, tmp_path_factory) -> Path:
    """A run made by the command line."""
    out = tmp_path_factory.mktemp("runs") / "slm"
    command = ["train", "--method", "slm-fp", "--data", reviews, "--encoder", learner, "--out", out]
    assert main([*map(str, command), *QUICK]) == 0
    return out


@pytest.fixture(autouse=True)
def elsewhere(tmp_path, monkeypatch):
    """Commands run in an empty folder."""
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")


def test_evaluate_prints_the_table_and_keeps_the_records(trained, reviews, capsys):
    code, out, _ = run(capsys, "evaluate", trained, "--data", reviews, "--split", "test")
    assert code == 0 and "slm-fp" in out and "random scores" in out and "CSD" in out
    records = (trained / "evaluation/reviews-test/records.jsonl").read_text("utf-8").splitlines()
    assert len(records) == 16
    assert run(capsys, "evaluate", trained, "--data", reviews, "--split", "test")[1] == out  # twice: the same


def test_evaluate_takes_other_extractors_budgets_and_removals(trained, reviews, capsys, tmp_path):
    options = ["--extractor", "integrated-gradients", "--extractor_options.steps", "5", "--split", "all"]
    options += ["--budgets", "[10,50]", "--removal", "mask_token", "--out", tmp_path / "out"]
    code, _, err = run(capsys, "evaluate", trained, "--data", reviews, *options)
    assert code == 0, err
    record = json.loads((tmp_path / "out/records.jsonl").read_text("utf-8").splitlines()[0])
    assert record["budgets"] == [10, 50] and record["views"][0]["removal"] == "mask_token"
    assert len((tmp_path / "out/records.jsonl").read_text("utf-8").splitlines()) == 80


def test_metrics_are_computed_again_from_records_bit_for_bit(trained, reviews, capsys, tmp_path):
    out = tmp_path / "out"
    code, printed, err = run(
        capsys, "evaluate", trained, "--data", reviews, "--probes", "curves", "--draws", "2", "--out", out
    )
    assert code == 0, err
    assert "mask_token (held out)" in printed and "attention_mask (trained with)" in printed
    saved = json.loads((out / "metrics.json").read_text("utf-8"))
    for place in (out, out / "records.jsonl", out / "records.parquet"):
        code, again, err = run(capsys, "evaluate", "--from-records", place, "--out", tmp_path / "again")
        assert code == 0, err
        assert again.splitlines()[:-1] == printed.splitlines()[:-1], "the same table"
        read = json.loads((tmp_path / "again/metrics.json").read_text("utf-8"))
        for part in ("system", "labels", "texts", "metrics", "intervals", "floor", "classes"):
            assert read[part] == saved[part]


def test_what_another_tool_said_is_scored(reviews, capsys, tmp_path):
    lines = [
        {"id": one.id, "label": one.label, "scores": [[*span, 1.0] for span in one.rationale[0]]}
        for one in load_dataset(reviews)["test"]
    ]
    said = write_rows(tmp_path / "theirs.jsonl", lines)
    code, printed, err = run(capsys, "evaluate", "--predictions", said, "--data", reviews)
    assert code == 0, err
    assert "theirs" in printed and "100.0" in printed
    told = fails(capsys, "evaluate", "--predictions", said, "--data", reviews, "--split", "all")
    assert "reviews-1" in told, "an example without a line is named"


def test_evaluate_needs_one_thing_to_evaluate(trained, reviews, capsys, tmp_path):
    assert "give one of these" in fails(capsys, "evaluate")
    assert "give one of these" in fails(capsys, "evaluate", trained, "--from-records", tmp_path)
    assert "needs --data" in fails(capsys, "evaluate", trained)
    assert "no records" in fails(capsys, "evaluate", "--from-records", tmp_path)
    for idle in (("--removal", "delete"), ("--number", "3"), ("--missing", "skip")):
        assert f"{idle[0]} is for evaluating" in fails(capsys, "evaluate", "--from-records", tmp_path, *idle)
    assert "--above is for" in fails(capsys, "evaluate", trained, "--data", reviews, "--above", "0.5")
    command = ["evaluate", trained, "--data", reviews]
    assert "unknown probe 'curve'" in fails(capsys, *command, "--probes", "curve")
    assert "unknown format of records 'xml'" in fails(capsys, *command, "--records", "xml")


def test_all_rows_of_a_table_are_read_as_a_stream(trained, reviews, capsys, tmp_path, monkeypatch):
    monkeypatch.setattr("unirex.system.WINDOW", 20)
    for whole in ("load_records", "load_dataset"):
        monkeypatch.setattr(f"unirex.cli.inputs.{whole}", lambda *_, **__: pytest.fail("read whole"))
    options = ["--data", reviews, "--split", "all", "--out", tmp_path / "out"]
    code, out, err = run(capsys, "evaluate", trained, *options)
    assert code == 0 and "80 texts" in out and err == f"loading {trained} …\n"
    records = [json.loads(line) for line in (tmp_path / "out/records.jsonl").read_text("utf-8").splitlines()]
    assert [one["id"] for one in records] == [f"reviews-{number}" for number in range(1, 81)]


def test_a_bad_row_far_into_a_stream_is_named_and_leaves_nothing(trained, capsys, tmp_path, monkeypatch):
    monkeypatch.setattr("unirex.system.WINDOW", 20)
    for row, said in (
        ({"text": "fine"}, "label"),
        ({"text": "fine", "label": "meh"}, "rows-51: label 'meh'"),
    ):
        data = write_rows(tmp_path / "rows.jsonl", [*ROWS[:50], row, *ROWS[50:]])
        told = fails(capsys, "evaluate", trained, "--data", data, "--split", "all", "--out", tmp_path / "a/b")
        assert said in told and ("rows.jsonl:51" in told or "rows-51" in told)
        assert not (tmp_path / "a").exists()


def test_a_column_that_no_row_of_a_stream_has_is_a_mistake(trained, reviews, capsys, tmp_path):
    options = ["--split", "all", "--columns.rationale", "marks", "--out", tmp_path / "out"]
    assert "'marks'" in fails(capsys, "evaluate", trained, "--data", reviews, *options)
    assert not (tmp_path / "out").exists()


def test_threads_can_be_set_by_option_or_environment(trained, capsys, monkeypatch):
    asked = []
    monkeypatch.setattr(torch, "set_num_threads", asked.append)
    monkeypatch.setenv("RAYON_NUM_THREADS", "1")
    assert run(capsys, "explain", trained, "a good film")[0] == 0 and not asked  # torch's own choice
    assert run(capsys, "explain", trained, "a good film", "--threads", "2")[0] == 0
    monkeypatch.setenv("UNIREX_THREADS", "3")
    assert run(capsys, "explain", trained, "a good film")[0] == 0
    assert run(capsys, "explain", trained, "a good film", "--threads", "1")[0] == 0  # the option wins
    assert asked == [2, 3, 1]


def test_a_number_of_threads_that_is_none(trained, reviews, capsys, monkeypatch):
    for command in (["explain", trained, "x"], ["evaluate", trained, "--data", reviews]):
        assert "--threads 0" in fails(capsys, *command, "--threads", "0")
        assert "threads" in fails(capsys, *command, "--threads", "many")
    assert "--threads -1" in fails(capsys, *TRAIN, "--data", reviews, "--threads", "-1")
    for value in ("0", "-2", "two", "1.5"):
        monkeypatch.setenv("UNIREX_THREADS", value)
        assert f"UNIREX_THREADS={value}" in fails(capsys, "explain", trained, "x")


def test_explain_shows_text_label_and_rationale(trained, capsys):
    code, out, _ = run(capsys, "explain", trained, "the film is good", "--budget", "30")
    assert code == 0 and "good" in out and ("pos" in out or "neg" in out)


def test_explain_as_json_has_offsets_into_the_original_text(trained, capsys):
    text = "The  film\tis GOOD — really"
    _, out, _ = run(capsys, "explain", trained, text, "--json", "--budget", "40")
    told = json.loads(out)
    assert told["segments"] == [text] and told["budget"] == 40
    assert all(
        text[s["start"] : s["end"]] == s["text"] for s in told["spans"] + told["words"] + told["tokens"]
    )


def test_explain_a_file_to_jsonl_and_html(trained, capsys, tmp_path):
    (tmp_path / "texts.csv").write_text('id,review\n1,"a good, long\nfilm"\n2,<b>bad</b>\n', "utf-8")
    options = ["explain", trained, "--file", tmp_path / "texts.csv", "--columns.text", "review"]
    code, _, said = run(capsys, *options, "--out", tmp_path / "out.jsonl")
    assert code == 0 and "explaining holds about" in said  # the memory it takes
    told = [json.loads(line) for line in (tmp_path / "out.jsonl").read_text("utf-8").splitlines()]
    assert [one["segments"][0] for one in told] == ["a good, long\nfilm", "<b>bad</b>"]
    assert run(capsys, *options, "--html", tmp_path / "page.html")[0] == 0
    page = (tmp_path / "page.html").read_text("utf-8")
    assert "<b>bad" not in page and "&lt;b&gt;" in page


def test_global_counts_the_words_of_many_explanations(trained, reviews, capsys, tmp_path):
    chosen = ["--data", reviews, "--split", "all", "--number", "12", "--budget", "30"]
    now = json.loads(succeeds(capsys, "global", trained, *chosen, "--min_count", "1", "--json"))
    assert now["texts"] == 12 and any(label["words"] for label in now["labels"])
    succeeds(capsys, "explain", trained, *chosen, "--out", tmp_path / "explained.jsonl")
    saved = succeeds(capsys, "global", tmp_path / "explained.jsonl", "--min_count", "1", "--json")
    assert json.loads(saved) == now


def piped(monkeypatch, content: str) -> None:
    """Standard input with this content."""
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(content.encode())))


def test_explain_reads_texts_or_objects_from_a_pipe(trained, capsys, monkeypatch):
    for content in ("a good film\n\nso bad", '{"text": "a good film"}\n{"text": "so bad", "id": 7}\n'):
        for named in ([], ["--file", "-"]):
            piped(monkeypatch, content)
            lines = run(capsys, "explain", trained, "--json", *named)[1].splitlines()
            assert [json.loads(line)["segments"] for line in lines] == [["a good film"], ["so bad"]]
    piped(monkeypatch, "\n")
    assert "standard input: there is nothing in it" in fails(capsys, "explain", trained)
    piped(monkeypatch, '{"text": "fine"}\n{"text": ')
    assert "standard input:2: malformed JSON" in fails(capsys, "explain", trained)


def test_bad_rows_of_texts_to_explain_can_be_skipped(trained, capsys, monkeypatch, tmp_path):
    content = '{"text": "a good film"}\n{"text": ""}\n{"text": "so bad"}\n'
    file = tmp_path / "texts.jsonl"
    file.write_text(content, "utf-8")
    assert "texts.jsonl:2: 'text' is empty" in fails(capsys, "explain", trained, "--file", file)
    for named, listed in ((file, "texts.jsonl"), ("-", "standard-input")):
        piped(monkeypatch, content)
        out = succeeds(capsys, "explain", trained, "--file", named, "--on-error", "skip", "--json")
        assert len(out.splitlines()) == 2
        assert ":2: 'text' is empty" in Path(f"{listed}.skipped.txt").read_text("utf-8")
    assert "no effect on texts" in fails(capsys, "explain", trained, "fine", "--on-error", "skip")


def test_a_text_from_a_pipe_is_explained_before_the_next_arrives(trained, capsys, monkeypatch):
    class Slow(io.BytesIO):
        def read1(self, size=-1):
            line = self.readline()
            if line.startswith(b"so"):
                shown.append(capsys.readouterr().out)
            return line

    shown = []
    monkeypatch.setattr("sys.stdin", SimpleNamespace(buffer=Slow(b"a film\nso bad\n"), isatty=lambda: False))
    assert run(capsys, "explain", trained, "--json")[0] == 0
    assert '"a film"' in shown[0]


def test_explanations_are_printed_and_written_to_several_files_at_once(trained, capsys, tmp_path):
    page, lines, tasks = tmp_path / "page.html", tmp_path / "lines.jsonl", tmp_path / "tasks.json"
    targets = ["--html", page, "--out", lines, "--label-studio", tasks]
    code, out, err = run(capsys, "explain", trained, "a good film", "so bad", "--json", *targets)
    assert code == 0 and out == lines.read_text("utf-8") and len(out.splitlines()) == 2
    assert "bad" in page.read_text("utf-8") and len(json.loads(tasks.read_text("utf-8"))) == 2
    assert all(str(path) in err for path in (page, lines, tasks))


def test_data_is_read_as_in_training_unless_said_otherwise(learner, capsys, tmp_path):
    rows = [{"review": row["text"], "stars": row["label"]} for row in ROWS[:40]]
    data, out = write_rows(tmp_path / "my reviews.jsonl", [*rows, {"review": "a film"}]), tmp_path / "a run"
    reading = ["--columns", "{text: review, label: stars}", "--on-error", "skip", "--data-seed", "3"]
    command = ["train", "--method", "vanilla", "--data", data, "--encoder", learner, "--out", out, *reading]
    (following,) = [
        line for line in succeeds(capsys, *command, *QUICK).splitlines() if line.startswith("next: ")
    ]
    code, printed, err = run(capsys, *shlex.split(following.removeprefix("next: unirex ")), "--draws", "1")
    assert code == 0 and "4 texts" in printed, err
    assert err.count("skipped are listed in") == 1, "though the file is read twice"
    taken = "--columns.text review --columns.label stars --on_error skip --data_seed 3"
    assert all(option in err for option in ("as in the training of", *taken.split(" --")))
    write_rows(tmp_path / "texts.jsonl", [{"review": "a film"}])
    assert "a film" in succeeds(capsys, "explain", out, "--file", tmp_path / "texts.jsonl")
    other = write_rows(tmp_path / "other.jsonl", ROWS)
    said = fails(capsys, "evaluate", out, "--data", other)
    assert "'review'" in said and "as in the training of" in said and "--columns '{}'" in said
    assert run(capsys, "evaluate", out, "--data", other, "--columns", "{}", "--draws", "1")[0] == 0


def test_the_methods_settings_are_defaults_that_options_override(capsys):
    with pytest.raises(SystemExit):
        main(["train", "--method", "aa-fp", "--objectives.sufficiency.criterion", "kl", "--print_config"])
    shown = capsys.readouterr().out
    assert "create_graph: true" in shown and "criterion: kl" in shown and "integrated-gradients" in shown


def test_the_default_method_has_its_settings(capsys):
    shown = []
    for method in ([], ["--method", "slm-fp"]):
        with pytest.raises(SystemExit):
            main(["train", *method, "--print_config"])
        shown.append(capsys.readouterr().out)
    assert shown[0] == shown[1] and "weight: 0.5" in shown[0]


def test_the_settings_of_a_run_train_it_again(trained, reviews, capsys, tmp_path):
    again = ["train", "--config", trained / "settings.yaml", "--data", reviews, "--out", tmp_path / "again"]
    assert run(capsys, *again)[0] == 0
    assert json.loads((tmp_path / "again/run.json").read_text())["method"] == "slm-fp"
    for name in ("metrics.csv", "settings.yaml"):
        assert (tmp_path / "again" / name).read_text() == (trained / name).read_text()


def test_train_ends_with_a_table_and_a_next_command_that_works(learner, capsys, tmp_path):
    rows = [{"film: text": row["text"], **row} for row in ROWS if row["split"] != "test"]
    for row in rows:
        del row["text"]
    data = write_rows(tmp_path / 'it\'s "mine".jsonl', rows)
    command = ["train", "--data", data, "--columns", '{"text": "film: text"}', "--encoder", learner]
    command += ["--out", tmp_path / "run 1", "--summary", "9", "--training.epochs", "1"]
    code, out, err = run(capsys, *command)
    assert code == 0, err
    assert "On dev, 9 of 16 texts:" in out and "AUPRC" in out and "random scores" in out
    last = out.splitlines()[-1]
    assert last.startswith("next: unirex evaluate ") and last.endswith(" --split dev")  # there is no test
    code, out, err = run(capsys, *shlex.split(last)[2:])
    assert code == 0 and "16 texts" in out, err


def test_evaluations_with_other_settings_do_not_overwrite_each_other(trained, reviews, capsys):
    for options in ([], ["--extractor", "gradient"], ["--budgets", "[50]"], ["--removal", "pad_token"]):
        assert run(capsys, "evaluate", trained, "--data", reviews, "--split", "dev", *options)[0] == 0
    names = {folder.name for folder in (trained / "evaluation").iterdir()}
    assert names >= {"reviews-dev", "reviews-dev-gradient", "reviews-dev-k50", "reviews-dev-pad_token"}


def test_a_file_of_nothing_but_test_texts_can_be_evaluated(trained, capsys, tmp_path):
    data = write_rows(tmp_path / "held_out.jsonl", [row for row in ROWS if row["split"] == "test"][:5])
    code, out, err = run(capsys, "evaluate", trained, "--data", data)
    assert code == 0 and "5 texts" in out, err


@pytest.mark.parametrize(
    "kind", ["methods", "extractors", "objectives", "criteria", "datasets", "metrics", "encoders", "removals"]
)
def test_everything_can_be_listed_with_a_line_on_each(capsys, kind):
    _, out, _ = run(capsys, "list", kind)
    assert out.strip() and all(len(line.split(maxsplit=1)) == 2 for line in out.splitlines())


# Mistakes: one clear line each, exit code 2, no traceback, nothing overwritten.

TRAIN = ["train", "--method", "slm-fp", "--out", "unused"]


def test_missing_file(capsys, tmp_path):
    assert "no such file" in fails(capsys, *TRAIN, "--data", tmp_path / "revews.jsonl")


def test_unknown_dataset_method_kind_and_command(capsys):
    assert "did you mean 'demo'" in fails(capsys, *TRAIN, "--data", "demoo")
    assert "did you mean 'slm-fp'" in fails(capsys, *TRAIN, "--data", "demo", "--method", "slmfp")
    assert "did you mean 'methods'" in fails(capsys, "list", "method")
    assert "did you mean 'evaluate'" in fails(capsys, "evaluat")
    assert "did you mean 'check'" in fails(capsys, "data", "chekc", "x")


BAD_ROWS = {  # the rows, and what the message names
    "unknown column": ([{"review": "fine", "label": "pos"}], ("text", "review")),
    "span outside its text": ([*ROWS[:3], {**ROWS[0], "rationale": [[2, 9999]]}], ("d.jsonl:4",)),
    "label seen only in test": ([*ROWS, {**ROWS[0], "label": "meh", "split": "test"}], ("meh", "test")),
    "empty text": ([{"text": " ", "label": "pos"}], ("d.jsonl:1",)),
    "one class": ([{"text": f"fine {number}", "label": "pos"} for number in range(20)], ("pos",)),
}


@pytest.mark.parametrize("case", BAD_ROWS)
def test_rows_that_cannot_be_trained_on(capsys, tmp_path, case):
    rows, parts = BAD_ROWS[case]
    said = fails(capsys, *TRAIN, "--data", write_rows(tmp_path / "d.jsonl", rows))
    assert all(part in said for part in parts)


def test_bytes_that_are_not_utf8(capsys, tmp_path):
    (tmp_path / "d.jsonl").write_bytes(b'{"text": "a", "label": 1}\n{"text": "caf\xe9", "label": 2}\n')
    assert "d.jsonl:2" in fails(capsys, *TRAIN, "--data", tmp_path / "d.jsonl")


def test_config_key_with_a_typo(capsys, tmp_path, reviews):
    (tmp_path / "c.yaml").write_text("training:\n  epoch: 3\n")
    said = fails(capsys, *TRAIN, "--data", reviews, "--config", tmp_path / "c.yaml")
    assert "epoch" in said and "did you mean 'training.epochs'" in said


def test_option_with_a_typo_or_a_wrong_value(capsys, reviews):
    assert "training.epochs" in fails(capsys, *TRAIN, "--data", reviews, "--training.epoch", "3")
    assert "training.epochs" in fails(capsys, *TRAIN, "--data", reviews, "--training.epochs", "many")


def test_the_nearest_option_is_one_of_the_command(capsys, trained, tmp_path):
    assert "did you mean '--columns'" in fails(capsys, "explain", trained, "fine", "--colum", "review")
    assert "did you mean '--split'" in fails(capsys, "evaluate", trained, "--data", "demo", "--splt", "dev")


def test_a_model_that_is_not_ours(capsys, learner, tmp_path):
    assert "not a unirex system" in fails(capsys, "explain", learner, "fine")
    (tmp_path / "empty").mkdir()
    assert "not a unirex system" in fails(capsys, "explain", tmp_path / "empty", "fine")
    assert "no such folder" in fails(capsys, "explain", tmp_path / "nothing", "fine")
    Path("runs").mkdir()
    assert "no such folder" in fails(capsys, "explain", "runs/typo", "fine")


def test_a_run_that_is_not_there(capsys, monkeypatch):
    monkeypatch.setattr("huggingface_hub.is_offline_mode", lambda: True)
    nothing = fails(capsys, "explain", "run/mine", "fine")
    assert "cache of the Hub" in nothing and "unirex train --out run/mine" in nothing
    for folder in ("a", "runs/mine"):
        Path(folder).mkdir(parents=True)
        Path(folder, "config.json").write_text("{}", "utf-8")
    assert "did you mean 'runs/mine'?" in fails(capsys, "explain", "run/mine", "fine")
    assert "here are: a, runs/mine" in fails(capsys, "explain", "elsewhere", "fine")


def test_the_hub_is_asked_before_anything_is_loaded(capsys, monkeypatch):
    def unreachable(*_):
        raise ConnectionError("no route\nto host")

    monkeypatch.setattr("huggingface_hub.is_offline_mode", lambda: False)
    for answer, said in ((lambda *_: False, "no such model on the Hub"), (unreachable, "(no route to host)")):
        monkeypatch.setattr("huggingface_hub.file_exists", answer)
        code, _, err = run(capsys, "explain", "owner/name", "fine")
        assert code == 2 and said in err and "loading" not in err


def test_a_pickle_offered_as_a_model_or_an_encoder(capsys, tmp_path, reviews, trained):
    bomb = tmp_path / "model.bin"
    bomb.write_bytes(pickle.dumps({"weights": 1}))
    assert "pickle" in fails(capsys, "explain", bomb, "fine")
    assert "pickle" in fails(capsys, *TRAIN, "--data", reviews, "--encoder", bomb)
    folder = tmp_path / "ours"
    folder.mkdir()
    (folder / "config.json").write_text((trained / "config.json").read_text())
    (folder / "pytorch_model.bin").write_bytes(pickle.dumps({"weights": 1}))
    assert "pickle" in fails(capsys, "explain", folder, "fine")


def test_an_output_already_used(capsys, trained, reviews, tmp_path):
    before = (trained / "run.json").read_text()
    assert "already holds a run" in fails(capsys, "train", "--data", reviews, "--out", trained)
    assert (trained / "run.json").read_text() == before
    (tmp_path / "page.html").write_text("mine")
    assert "exists already" in fails(capsys, "explain", trained, "fine", "--html", tmp_path / "page.html")
    assert (tmp_path / "page.html").read_text() == "mine"


def test_an_option_without_effect_is_refused(capsys, trained):
    for option in (("annotators", "majority"), ("data_seed", "3"), ("split", "dev"), ("columns.text", "x")):
        said = fails(capsys, "explain", trained, "fine", f"--{option[0]}", option[1])
        assert f"--{option[0].partition('.')[0]} is for --data" in said


def test_nothing_to_explain_or_too_much_asked(capsys, trained, monkeypatch):
    monkeypatch.setattr("sys.stdin.isatty", lambda: True, raising=False)
    assert "needs texts, --file or --data" in fails(capsys, "explain", trained)
    assert "empty" in fails(capsys, "explain", trained, "  ")
    assert "budget 0" in fails(capsys, "explain", trained, "fine", "--budget", "0")
    assert "two outputs" in fails(capsys, "explain", trained, "fine", "--out", "x", "--html", "x")
    assert "must be trained" in fails(capsys, "explain", trained, "fine", "--extractor", "dual-lm")
    options = ["--extractor", "integrated-gradients", "--extractor_options.stps", "3"]
    assert "no option 'stps'" in fails(capsys, "explain", trained, "x", *options)


def test_mistakes_in_evaluate(capsys, trained, reviews, tmp_path):
    command = ["evaluate", trained, "--data", reviews]
    assert "batch_size 0" in fails(capsys, *command, "--batch_size", "0")
    assert "budgets" in fails(capsys, *command, "--budgets", "[]")
    assert "budgets" in fails(capsys, *command, "--budgets", "[0,500]")
    assert "name one" in fails(capsys, *command, "--extractor_options.steps", "3")
    assert "column" in fails(capsys, *command, "--split", "all", "--columns.txt", "review")
    (tmp_path / "file").write_text("mine")
    assert "file" in fails(capsys, *command, "--out", tmp_path / "file")
    assert (tmp_path / "file").read_text() == "mine"


def test_a_split_that_is_not_there(capsys, trained, reviews):
    assert "has no split 'tst'" in fails(capsys, "evaluate", trained, "--data", reviews, "--split", "tst")


def test_debug_shows_where_it_happened(capsys, tmp_path):
    _, _, err = run(capsys, "explain", tmp_path / "nothing", "fine", "--debug")
    assert "Traceback" in err and "no such folder" in err


def test_failed_commands_leave_nothing_behind(capsys, reviews, learner):
    fails(capsys, "train", "--data", "missing.jsonl", "--out", "runs/x")
    fails(capsys, *TRAIN, "--data", reviews, "--encoder", "no/such/encoder")
    fails(capsys, *TRAIN, "--data", reviews, "--encoder", learner, "--extractor_options.heads", "3")
    fails(capsys, *TRAIN, "--data", reviews, "--encoder", learner, "--extractor_options.head", "mlp")
    assert not list(Path.cwd().iterdir())


def test_ctrl_c_leaves_a_run_that_goes_on(reviews, learner, tmp_path):
    train = ["train", "--data", reviews, "--encoder", learner, "--out", tmp_path / "run"]
    train = children.command(*train, "--training.epochs", 400, "--training.patience", 400)

    def listening():
        signal.signal(signal.SIGINT, signal.default_int_handler)  # ignored by background jobs
        return train()

    child = children.Child(listening)
    deadline = time.monotonic() + 120
    while not (tmp_path / "run/checkpoints/last.safetensors").exists() and time.monotonic() < deadline:
        time.sleep(0.1)
    os.kill(child.pid, signal.SIGINT)
    ended = child.wait(240)
    assert ended.code == 130, ended.err
    assert "--resume" in ended.err and "Traceback" not in ended.err
    assert (tmp_path / "run/checkpoints/last.safetensors").exists()


def test_commands_without_a_model_are_light(tmp_path):
    """Mistakes, lists and checks of data end without torch; one process for all of them."""
    write_rows(tmp_path / "d.jsonl", ROWS)
    commands = ["list extractors", "list removals", "list methods", "data check d.jsonl", "explain nothere x"]
    commands += ["explain x y --budget 300", "explain x --file none.csv", "evaluate nothere --data d.jsonl"]
    commands += ["train --training.epochs ten", "train --data none.csv --out x", "explian"]
    code = f"import sys; from unirex.cli import main; [main(line.split()) for line in {commands}]\n"
    code += "print('heavy:', sorted({'torch', 'transformers'} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=tmp_path)
    assert done.stdout.endswith("heavy: []\n"), done.stderr


def test_help_is_light():
    """No torch, no transformers before they are needed (a count of modules, not of seconds)."""
    code = (
        "import sys; from unirex.cli import COMMANDS, build_parser; build_parser()\n"
        "[build_parser([name]) for name in COMMANDS if name != 'nrg']; print(*sorted(sys.modules))\n"
        "build_parser(['nrg']); print(*sorted(sys.modules))"
    )
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    most, with_gains = (set(line.split()) for line in out.splitlines())
    assert not {"torch", "transformers", "lightning", "pyarrow", "numpy"} & most
    assert "torch" not in with_gains  # the metrics need numpy


@pytest.mark.parametrize(
    ("command", "function"), [("evaluate", evaluated), ("compare", compare), ("demo", run_demo)]
)
def test_defaults_are_those_of_the_python_interface(command, function):
    options = called_parser(build_parser([command]), [command]).get_defaults()
    shared = [one for one in signature(function).parameters.values() if one.name in options]
    assert shared
    for one in shared:
        default = list(one.default) if isinstance(one.default, tuple) else one.default
        assert options[one.name] == default, one.name
