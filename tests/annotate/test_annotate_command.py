"""From unlabelled texts by way of people to a better system: the commands, on a tiny encoder."""

import json
import socket
import subprocess
import sys
import time
from http.cookiejar import CookieJar
from pathlib import Path
from types import SimpleNamespace
from urllib.error import HTTPError, URLError
from urllib.request import HTTPCookieProcessor, Request, build_opener
from xml.etree import ElementTree

import pytest
from annotating import annotate_all, project, reply

import commands
import unirex
from commands import fails, succeeds, write_rows
from planted import interrupt_at, planted
from unirex.annotate.create import suggestions
from unirex.annotate.definition import Definition, Source
from unirex.annotate.items import Reply
from unirex.annotate.project import Project
from unirex.annotate.retrain import main, plan
from unirex.cli import annotate as command
from unirex.data.example import Example
from unirex.data.formats.label_studio import read as read_tasks
from unirex.data.formats.table import Columns

TRAINING = {"epochs": 2, "learning_rate": 4e-3, "batch_size": 16}


@pytest.fixture(scope="module")
def trained(learner, tmp_path_factory):
    """A run on a file of few texts, and more texts of the same kind without labels."""
    folder = tmp_path_factory.mktemp("annotating")
    data = planted((32, 12, 30), seed=3)
    rows = [row(example, split) for split in ("train", "dev") for example in data[split]]
    write_rows(folder / "old.jsonl", rows)
    write_rows(folder / "new.jsonl", [{"id": one.id, "text": one.text} for one in data["test"]])
    old = unirex.load_dataset(str(folder / "old.jsonl"))
    settings = {"encoder": str(learner), "pooling": "mean", "training": TRAINING, "progress": False}
    unirex.fit("slm-p", old, out=folder / "slm", **settings)
    return folder, data["test"]


def row(example, split):
    marks = [list(span) for span in example.rationale[0]]
    return {
        "id": example.id,
        "text": example.text,
        "label": example.label,
        "rationale": marks,
        "split": split,
    }


@pytest.fixture
def made_by_command(trained, tmp_path, monkeypatch):
    """`made_by_command(option, …)` is what the command would serve."""
    folder, _ = trained
    served = []
    monkeypatch.setattr(command, "_serve", lambda made, *_: served.append(made) or 0)

    def make(capsys, *options, out=None):
        out = out or tmp_path / "gold.sqlite"
        succeeds(capsys, "annotate", folder / "new.jsonl", "--out", out, *options)
        return served[-1]

    return make


def annotated(made, gold, people=1):
    """People who mark what the corpus has as gold."""
    truth = {example.id: example for example in gold}
    for number in range(people):
        me = made.annotator(number)
        while (item := made.next(me)) is not None:
            ((name,),) = made.store.rows("SELECT id FROM texts WHERE number = ?", (item.text,))
            example = truth[name]
            label = item.labels.index(example.label)
            made.save(me, item.text, Reply((label,), example.rationale), version=0)


def test_suggestions_and_the_order_come_from_the_run(trained, made_by_command, capsys):
    folder, _ = trained
    options = ("--run", folder / "slm", "--start", "suggestion", "--order", "uncertainty", "--budget", 30)
    made = made_by_command(capsys, *options)
    assert made.definition.labels == ("neg", "pos")
    (source,) = made.definition.systems
    assert (source.place, source.name, source.budget) == (str(folder / "slm"), "slm-p", 30.0)
    rows = made.store.rows("SELECT id, segments, suggestion, priority FROM texts")
    first = made.next(made.annotator(0))
    assert first.text == max(range(len(rows)), key=lambda number: (rows[number]["priority"], -number))
    system = unirex.load(folder / "slm")
    explained = system.explain(json.loads(rows[5]["segments"])[0], budget=30)
    said = json.loads(rows[5]["suggestion"])
    assert said["label"] == explained.label
    assert said["marks"] == [[[span.start, span.end] for span in explained.spans]]
    again = made_by_command(capsys, *options)  # the same command goes on
    assert again.codes() == made.codes()
    assert "was made with --order" in fails(
        capsys, "annotate", "--out", made.store.path, "--order", "disagreement", "--per_text", 2
    )
    assert "other texts" in fails(capsys, "annotate", folder / "old.jsonl", "--out", made.store.path)


def run_here(command, **_):
    """The training of `retrain` in this process."""
    return SimpleNamespace(returncode=main(command[3:]))


def test_the_export_trains_evaluates_and_is_measured_before_and_after(
    trained, made_by_command, capsys, tmp_path, learner, monkeypatch
):
    folder, gold = trained
    made = made_by_command(capsys, "--run", folder / "slm", "--per_text", 2, "--people", 2)
    annotated(made, gold, people=2)
    file = made.store.path
    out = succeeds(capsys, "annotate", "status", file)
    assert "30 of 30 texts annotated" in out and "Agreement on words" in out
    target = tmp_path / "gold.jsonl"
    assert "30 annotated texts" in succeeds(capsys, "annotate", "export", file, target)
    lines = [json.loads(line) for line in target.read_text("utf-8").splitlines()]
    by_id = {example.id: example for example in gold}
    for line in lines:
        example = by_id[line["id"]]
        marks = [list(span) for span in example.rationale[0]]
        assert (line["text"], line["label"], line["rationale"]) == (example.text, example.label, marks)
        assert line["groups"] == [marks, marks] == [line["rationale_a01"], line["rationale_a02"]]
    people = ("--columns.rationale", "rationale_a01,rationale_a02", "--columns.label", "label_a01,label_a02")
    found = json.loads(succeeds(capsys, "data", "agreement", target, *people, "--json"))
    assert found["all"]["words"]["alpha"] == 1.0
    run = tmp_path / "run"
    options = ("--encoder", learner, "--pooling", "mean", "--training.epochs", 1, "--summary", 0)
    succeeds(capsys, "train", "--method", "slm-p", "--data", target, "--out", run, *options)
    assert "AUPRC" in succeeds(capsys, "evaluate", run, "--data", target, "--draws", 1)

    again = tmp_path / "slm2"
    retraining = ("annotate", "retrain", file, "--run", folder / "slm", "--out", again)
    with monkeypatch.context() as patch:
        interrupt_at(patch, 6)  # in the second epoch of 4 steps
        trained_here = SimpleNamespace(run=run_here, STDOUT=subprocess.STDOUT)
        patch.setattr("unirex.annotate.retrain.subprocess", trained_here)
        code, _, said = commands.run(capsys, *retraining)
        assert code == 2 and "ended with code 130" in said
    table = succeeds(capsys, *retraining)
    log = (tmp_path / "slm2-retrain" / "log.txt").read_text("utf-8")
    assert "epoch 2/2" in log and "epoch 1/2" not in log  # it went on from the checkpoint
    assert "before" in table and "after" in table and "9 held-out texts" in table
    assert (again / "model.safetensors").is_file() and (tmp_path / "slm2-retrain" / "log.txt").is_file()
    data = [json.loads(line) for line in (tmp_path / "slm2-retrain" / "data.jsonl").open(encoding="utf-8")]
    held = {line["text"] for line in data if line["split"] == "test"}
    assert not held & {line["text"] for line in data if line["split"] != "test"}
    assert succeeds(capsys, *retraining) == table  # nothing is done twice
    assert "was begun with seed 0" in fails(capsys, *retraining, "--seed", 1)


def test_held_out_gold_is_in_no_other_split_and_replaces_what_was_said(tmp_path):
    old = planted((40, 12, 5), seed=5)
    fresh = planted((30, 1, 1), seed=9)["train"]
    known = [Example(f"k{n}", one.segments, one.label, ((),)) for n, one in enumerate(old["train"][:4])]
    made = plan(old, [*fresh, *known], hold_out=0.4, seed=1)
    texts = {split: [one.text for one in part] for split, part in made.data.items()}
    assert not set(texts["test"]) & {*texts["train"], *texts["dev"]}
    assert not set(texts["test"]) & {one.text for one in known}  # the run was trained on these
    renewed = [one for one in made.data["train"] if one.text == known[0].text]
    assert renewed and all(one.rationale == ((),) and not one.id.startswith("k") for one in renewed)
    assert made.replaced >= 4 and not made.seen
    assert plan(old, known, hold_out=0.5).seen
    assert made.data == plan(old, [*fresh, *known], hold_out=0.4, seed=1).data


def test_label_studio_reads_the_answers_of_each_person(tmp_path, capsys):
    made = project(tmp_path / "g.sqlite", per_text=2)
    for number, spans in enumerate([[(0, 2)], [(0, 2), (3, 5)]]):
        annotate_all(made, number, label=0, spans=spans, limit=2)
        annotate_all(made, number, label=1, spans=spans)
    target = tmp_path / "tasks.json"
    succeeds(capsys, "annotate", "export", made.store.path, target, "--label_studio")
    data = unirex.load_dataset(str(target), annotators="2")
    examples = {example.id: example for part in data.values() for example in part}
    assert set(examples) == {"t0", "t1", "t2", "t3", "t4"} and examples["t1"].label == "neg"
    assert all(one.rationale == (((0, 2),),) and len(one.groups) == 2 for one in examples.values())
    assert "must end in .jsonl" in fails(capsys, "annotate", "export", made.store.path, tmp_path / "x.csv")


def test_pairs_sets_and_choices_go_out_as_they_came_in(tmp_path, capsys):
    pair = Example("p", ("a man sleeps", "he is awake"))
    made = project(tmp_path / "p.sqlite", [pair], names=("premise", "hypothesis"), rationale_segments=(1,))
    me = made.annotator(0)
    item = made.next(me)
    assert item.markable == (False, True)
    with pytest.raises(unirex.UserError, match="cannot be marked"):
        made.save(me, 0, Reply((0,), [[(0, 1)], []]), version=0)
    made.save(me, 0, Reply((0,), [[], [(6, 11)]]), version=0)
    assert "--columns.text premise,hypothesis" in succeeds(
        capsys, "annotate", "export", made.store.path, tmp_path / "p.jsonl"
    )
    assert json.loads((tmp_path / "p.jsonl").read_text("utf-8"))["rationale"] == {
        "premise": [],
        "hypothesis": [[6, 11]],
    }
    choice = [Example("c", ("where do fish live ?",), choices=("sea", "sky"))]
    made = project(tmp_path / "c.sqlite", choice, labels=("A", "B"))
    made.next(made.annotator(0))
    made.save(made.annotator(0), 0, reply(1), version=0)
    succeeds(capsys, "annotate", "export", made.store.path, tmp_path / "c.jsonl")
    line = json.loads((tmp_path / "c.jsonl").read_text("utf-8"))
    assert (line["label"], line["choices"]) == ("B", ["sea", "sky"])
    data, view, chosen = tasks_of(capsys, made, tmp_path / "c.json")
    assert (data["choices"], chosen) == (["sea", "sky"], ["B"])
    assert data["options"] == [{"value": "A", "html": "A. sea"}, {"value": "B", "html": "B. sky"}]
    assert (view.get("value"), view.get("choice"), list(view)) == ("$options", "single", [])
    (back,) = records(tmp_path / "c.json")
    assert (back.label, back.choices) == ("B", ("sea", "sky"))
    several = project(tmp_path / "s.sqlite", [Example("s", ("loud",))], multi_label=True)
    several.next(several.annotator(0))
    several.save(several.annotator(0), 0, Reply((0, 1), [[]]), version=0)
    succeeds(capsys, "annotate", "export", several.store.path, tmp_path / "s.jsonl")
    assert json.loads((tmp_path / "s.jsonl").read_text("utf-8"))["label"] == ["neg", "pos"]
    data, view, chosen = tasks_of(capsys, several, tmp_path / "s.json")
    assert (chosen, data["multi_label"], view.get("choice")) == (["neg", "pos"], True, "multiple")
    assert [label.get("value") for label in view] == ["neg", "pos"]
    several.save(several.annotator(0), 0, Reply((), [[]]), version=1)
    succeeds(capsys, "annotate", "export", several.store.path, tmp_path / "none.json", "--label_studio")
    assert [one.label for one in (*records(tmp_path / "s.json"), *records(tmp_path / "none.json"))] == [
        ("neg", "pos"),
        (),
    ]


def tasks_of(capsys, made, target):
    """An export for Label Studio: the data of its only task, its <Choices>, and what was chosen."""
    succeeds(capsys, "annotate", "export", made.store.path, target, "--label_studio")
    (task,) = json.loads(target.read_text("utf-8"))
    (view,) = ElementTree.parse(target.with_suffix(".xml")).iter("Choices")
    (result,) = task["annotations"][0]["result"]
    return task["data"], view, result["value"]["choices"]


def records(path):
    return [record.example for record in read_tasks(path, columns=Columns())]


def test_systems_must_know_the_labels_people_choose_from(trained):
    folder, gold = trained
    system = unirex.load(folder / "slm")
    source = Source("runs/slm", "slm-p", "shared-lm", 20.0)
    other = Definition("t", ("good", "bad"), ("text",), systems=(source,))
    with pytest.raises(unirex.UserError, match="must be the same"):
        suggestions(gold, [system], other)


def test_mistakes_get_one_line(tmp_path, capsys):
    texts = write_rows(tmp_path / "t.jsonl", [{"text": "so good"}, {"text": "so bad"}])
    out = tmp_path / "g.sqlite"
    assert "--out" in fails(capsys, "annotate", texts)
    assert "does not exist yet" in fails(capsys, "annotate", "--out", out)
    assert "fewer than two labels" in fails(capsys, "annotate", texts, "--out", out)
    assert "--run" in fails(capsys, "annotate", texts, "--out", out, "--start", "suggestion")
    assert "key" in fails(capsys, "annotate", texts, "--out", out, "--host", "0.0.0.0")
    url = "https://annotate.example"
    assert f"--url {url}: other machines" in fails(capsys, "annotate", texts, "--out", out, "--url", url)
    assert not out.exists()
    people = ("--order", "disagreement", "--per_text", 2)
    assert "--per_text 3" in fails(capsys, "annotate", texts, "--out", out, *people)
    assert "cannot be read" in fails(
        capsys, "annotate", texts, "--out", out, "--guidelines", tmp_path / "no.md"
    )
    assert "no such file" in fails(capsys, "annotate", "status", tmp_path / "none.sqlite")
    made = project(out)
    assert "nothing to export" in fails(capsys, "annotate", "export", out, tmp_path / "new.jsonl")
    assert "retrain needs --run" in fails(capsys, "annotate", "retrain", out)
    assert Project(out).codes() == made.codes() and not Path(tmp_path / "new.jsonl").exists()


def test_links_name_this_machine_where_all_addresses_are_listened_at(tmp_path, capsys, monkeypatch):
    made = project(tmp_path / "g.sqlite", people=1)
    monkeypatch.setattr(
        "unirex.serve.running.run_app",
        lambda app, settings, port, *, announce: announce(f"http://{settings.host}:{port}") or 0,
    )
    options = ("--host", "0.0.0.0", "--port", 8001, "--api_key", "a-key-that-is-long-enough")
    link = succeeds(capsys, "annotate", "--out", made.store.path, *options).split()[1]
    assert link == f"http://{socket.gethostname()}:8001/#{made.codes()[0]}"


def test_a_killed_server_lost_nothing_and_sessions_go_on(tmp_path):
    texts = write_rows(
        tmp_path / "t.jsonl", [{"text": f"so good {n}", "label": "ab"[n % 2]} for n in range(60)]
    )
    with Served(texts, tmp_path / "g.sqlite") as served:
        address, code = served.link.split("/#")
        served.ask(address, "/join", {"who": code})
        saved = [served.save(address) for _ in range(5)]
        served.process.kill()
        served.process.wait()
    with Served(texts, tmp_path / "g.sqlite", cookies=served.cookies) as again:
        assert again.link.split("/#")[1] == code
        saved.append(again.save(again.link.split("/#")[0]))  # the cookie still names the person
    assert saved == [0, 1, 2, 3, 4, 5]
    assert Project(tmp_path / "g.sqlite").annotator(0).annotated == 6


class Served:
    """The command in a process of its own, and a person with a cookie."""

    def __init__(self, texts, out, cookies=None):
        arguments = ["annotate", str(texts), "--out", str(out), "--port", "0"]
        self.process = subprocess.Popen(
            [sys.executable, "-m", "unirex.cli", *arguments],
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )
        self.cookies = cookies or CookieJar()
        self.opener = build_opener(HTTPCookieProcessor(self.cookies))

    def __enter__(self):
        self.link = self.process.stdout.readline().split()[1]
        for cookie in self.cookies:  # a browser sends it to every port of the host
            assert cookie.domain == "127.0.0.1"
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait()
        self.process.stdout.close()

    def ask(self, address, path, body):
        headers = {"Content-Type": "application/json"}
        request = Request(address + path, json.dumps(body).encode(), headers)
        for _ in range(600):
            try:
                with self.opener.open(request, timeout=60) as answer:
                    return json.loads(answer.read())
            except URLError as error:  # it listens, but does not answer yet
                if isinstance(error, HTTPError):
                    raise
                time.sleep(0.05)
        raise AssertionError("the server does not answer")

    def save(self, address):
        item = self.ask(address, "/next", {})["item"]
        body = {"text": item["text"], "version": 0, "label": [0], "marks": [[[3, 7]]]}
        assert self.ask(address, "/save", body)["version"] == 1
        return item["text"]
