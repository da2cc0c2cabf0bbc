"""`unirex data …` as a stranger uses it: what it prints, what it writes, and every mistake."""

import json
from pathlib import Path

import pytest

import tiny
from commands import fails, run, write_rows
from unirex.cli import main
from unirex.cli.data import ACTIONS, token_counter
from unirex.data import DATASETS, load_dataset
from unirex.data.example import Layout
from unirex.data.statistics import statistics
from unirex.encoding.encode import TextEncoder

ROWS = [
    {"id": "a", "text": "a gorgeous , witty film", "label": "pos", "rationale": [[2, 10]], "split": "train"},
    {"id": "b", "text": "the plot is dull <b>", "label": "neg", "rationale": [[12, 16]], "split": "train"},
    {"id": "c", "text": "A Gorgeous, witty film", "label": "pos", "split": "dev"},
    {"id": "d", "text": "the plot  is dull <b>", "label": "pos", "rationale": [], "split": "test"},
]


@pytest.fixture
def films(tmp_path) -> Path:
    return write_rows(tmp_path / "films.jsonl", ROWS)


@pytest.fixture(autouse=True)
def elsewhere(tmp_path, monkeypatch):
    """Commands run in an empty folder, with no datasets of this machine in reach."""
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    monkeypatch.delenv("UNIREX_DATA", raising=False)


def sst_folder(root: Path) -> Path:
    (root / "sst").mkdir(parents=True)
    (root / "sst" / "train.txt").write_text("(4 (2 so) (4 good))\n(0 (2 so) (0 bad))\n")
    for split in ("dev", "test"):
        (root / "sst" / f"{split}.txt").write_text("(4 (2 all) (4 good))\n")
    return root


# list


def test_every_named_dataset_is_listed(capsys):
    code, out, _ = run(capsys, "data", "list")
    assert code == 0
    for name in DATASETS:
        assert f"\n{name}: " in f"\n{out}"
    assert "comes with unirex" in out and "unirex data download sst" in out and "licence: " in out
    assert "choice; labels A, B, C, D, E" in out and "not here" in out


def test_what_is_there_is_listed_with_its_place(capsys, tmp_path, monkeypatch):
    root = sst_folder(tmp_path / "sets")
    assert f"in {root / 'sst'}" in run(capsys, "data", "list", "--root", root)[1]
    monkeypatch.setenv("UNIREX_DATA", str(root))
    assert f"in {root / 'sst'}" in run(capsys, "data", "list")[1]


# stats


def test_stats_as_a_table_and_as_json(capsys, films, encoders):
    options = ["data", "stats", films, "--encoder", encoders("bert"), "--max_length", 8]
    code, out, _ = run(capsys, *options)
    assert code == 0 and "films · text" in out and "over 8 tokens" in out and "also in train" in out
    told = json.loads(run(capsys, *options, "--json")[1])
    assert told["splits"]["train"]["gold"]["density"] == 2 / 10 and told["max_length"] == 8
    assert told["splits"]["test"]["lost"]["examples"] == 1
    assert told["across"][1] == {"of": "test", "in": "train", "same": 0, "conflicting": 1}


@pytest.mark.parametrize("limit", [6, 12, 64])
@pytest.mark.parametrize("family", ["bert", "roberta"])
def test_tokens_are_counted_as_they_are_encoded(encoders, tmp_path, family, limit):
    """The statistics agree with what training reads, for pairs and for choices."""
    premise = [
        {"a": text, "b": "not bad at all", "label": n % 2, "rationale": {"a": [0], "b": [1]}, "split": split}
        for split in ("train", "dev")
        for n, text in enumerate(tiny.SENTENCES)
    ]
    asked = [
        {"text": one["a"], "label": "A", "choices": ["a film", "people , not films !"]}
        | {"rationale": [0], "split": one["split"]}
        for one in premise
    ]
    for rows, columns in ((premise, {"text": "a,b"}), (asked, None)):
        data = load_dataset(write_rows(tmp_path / "rows.jsonl", rows), columns=columns)
        found = statistics(data, token_counter(str(encoders(family)), limit)).splits["train"]
        reader = tiny.PreTrainedTokenizerFast.from_pretrained(encoders(family))
        whole, cut = (
            TextEncoder(reader, size, data.info.labels, layout=Layout.of(data)).encode(data["train"])
            for size in (10_000, limit)
        )
        lengths = [len(one.input_ids) for example in whole for one in example.sequences]
        assert found.tokens.max == max(lengths) and found.tokens.mean == sum(lengths) / len(lengths)
        shorter = [len(one.input_ids) for example in cut for one in example.sequences]
        assert found.lost.tokens == sum(lengths) - sum(shorter)
        assert found.lost.examples == sum(example.truncated > 0 for example in cut)
        assert found.lost.gold_tokens == gold_tokens(whole) - gold_tokens(cut)


def gold_tokens(encoded) -> int:
    return sum(int(one.rationale.sum()) for example in encoded for one in example.sequences)


def test_without_an_encoder_words_are_counted_and_a_note_says_so(capsys, films, monkeypatch):
    monkeypatch.setattr("unirex.cli.data.find_spec", lambda name: None)
    code, out, err = run(capsys, "data", "stats", films)
    assert code == 0 and "words, mean" in out and "tokens, mean" not in out
    assert "unirex[minilm]" in err


def test_a_named_dataset_is_found_under_the_root(capsys, tmp_path, monkeypatch):
    monkeypatch.setattr("unirex.cli.data.find_spec", lambda name: None)
    code, out, _ = run(capsys, "data", "stats", "sst", "--root", sst_folder(tmp_path / "sets"))
    assert code == 0 and "sst · text" in out
    assert "UNIREX_DATA" in fails(capsys, "data", "stats", "sst")


# check


def test_sound_data_has_no_problems(capsys, films):
    rows = [row for row in ROWS if row["id"] != "d"]
    code, out, err = run(capsys, "data", "check", write_rows(films, rows))
    assert code == 0 and out == "no problems in 3 examples\n" and not err


def test_every_problem_has_its_line(capsys, films):
    bad = [
        *ROWS[:3],
        {"text": "x", "label": "pos", "rationale": [[0, 99]], "split": "train"},
        {"text": " ", "label": "pos", "split": "train"},
        {"text": "fine", "label": "neg", "split": "tarin"},
        ROWS[3],
    ]
    code, out, _ = run(capsys, "data", "check", write_rows(films, bad))
    *problems, total = out.splitlines()
    assert code == 1 and total == f"4 problems in {films}"
    for line, problem in zip((4, 5, 6), problems, strict=False):
        assert problem.startswith(f"{films}:{line}: ")
    assert "example 'd': labelled 'pos', but the same text is 'neg' in train (example 'b')" in problems[3]


def test_data_that_cannot_be_put_together_is_one_problem(capsys, films):
    code, out, _ = run(capsys, "data", "check", write_rows(films, ROWS[:1] + ROWS[2:3]))
    assert code == 1 and "fewer than two classes" in out and "1 problem in" in out


def test_a_problem_cannot_steer_the_terminal(capsys, films):
    rows = [*ROWS[:3], {"text": "x", "label": "pos", "split": "\x1b[31m\nred"}]
    out = run(capsys, "data", "check", write_rows(films, rows))[1]
    assert "\x1b" not in out and len(out.splitlines()) == 2


def test_what_is_not_there_is_a_mistake_and_not_a_problem(capsys):
    assert "no such file" in fails(capsys, "data", "check", "nothing.jsonl")
    assert "did you mean 'demo'" in fails(capsys, "data", "check", "demoo")
    assert "UNIREX_DATA" in fails(capsys, "data", "check", "movies")


# show


def test_examples_are_shown_with_their_gold(capsys, films):
    code, out, _ = run(capsys, "data", "show", films)
    assert code == 0 and "pos · a" in out and "gold: gorgeous" in out and "gold: dull" in out
    assert "not annotated" in run(capsys, "data", "show", films, "--split", "dev")[1]


def test_which_examples_are_shown(capsys):
    def ids(*options):
        out = run(capsys, "data", "show", "demo", *options)[1]
        return [line.split(" · ")[1].split()[0] for line in out.splitlines() if line.startswith("╭")]

    assert ids("--number", 2) == ["demo-train-0", "demo-train-1"]
    assert ids("--ids", "demo-train-9,demo-train-3") == ["demo-train-9", "demo-train-3"]
    assert ids("--number", 3, "--seed", 1) == ids("--number", 3, "--seed", 1) != ids("--number", 3)
    assert len(ids("--split", "dev", "--number", 1000)) == 320


def test_a_page_of_examples(capsys, films, tmp_path):
    page = tmp_path / "page.html"
    code, out, _ = run(capsys, "data", "show", films, "--html", page)
    assert code == 0 and str(page) in out
    html = page.read_text("utf-8")
    assert "dull</span> &lt;b&gt;" in html and "films, train" in html
    assert "exists already" in fails(capsys, "data", "show", films, "--html", page)
    assert page.read_text("utf-8") == html


# agreement


def answer(text, who, *marks, split="train"):
    """One line of a Prodigy export; `marks` are the marked words."""
    spans = [{"start": text.index(word), "end": text.index(word) + len(word)} for word in marks]
    about = {"text": text, "_input_hash": len(text), "_annotator_id": who, "answer": "accept"}
    return about | {"label": "pos", "spans": spans, "meta": {"split": split}}


def test_agreement_of_annotators_by_split(capsys, tmp_path):
    lines = [
        *(answer("so very good", "ann", "good"), answer("so very good", "ben", "very", "good")),
        *(answer("all dull", "ann", "dull", split="test"), answer("all dull", "ben", "dull", split="test")),
        answer("only ann looked", "ann", "only"),
    ]
    export = write_rows(tmp_path / "export.jsonl", lines)
    code, out, _ = run(capsys, "data", "agreement", export)
    assert code == 0 and "Fleiss' κ" in out
    rows = [[cell.strip() for cell in line.split("│")[1:-1]] for line in out.splitlines() if "│" in line]
    # Of the words of train, 001 and 011 are marked: α = 1 - 5 · 2 / (2 · 3 · 3), κ = (2/3 - 1/2) / (1/2).
    assert rows[0] == ["train", "1", "3", "2", "0.444", "0.333", "0.667"]
    assert rows[1] == ["test", "1", "2", "2", "1.000", "1.000", "1.000"]
    assert rows[2][:4] == ["all", "2", "5", "2"]
    assert rows[-1] == ["all", "2", "2", "–", "–", "100.0 %"]  # on labels, of which there is one
    told = json.loads(run(capsys, "data", "agreement", export, "--json")[1])
    assert told["train"]["words"]["pairwise_f1"] == pytest.approx(2 / 3)
    assert told["all"]["words"]["annotators"] == [2, 2] and told["all"]["labels"]["same"] == 1


def test_stats_tell_agreement(capsys, films, tmp_path):
    people = [("ann", [[0, 2]], [[0, 2]]), ("ben", [[0, 2]], [[3, 7]])]
    rows = [
        {"text": f"so good {n}", "label_ann": "ab"[n % 2], "label_ben": "ab"[n % 2]}
        | {f"rationale_{who}": (same, other)[n == 0] for who, same, other in people}
        for n in range(20)
    ]
    names = {role: f"{role}_ann,{role}_ben" for role in ("label", "rationale")}
    columns = [word for role, given in names.items() for word in (f"--columns.{role}", given)]
    source = write_rows(tmp_path / "two.jsonl", rows)
    told = json.loads(run(capsys, "data", "stats", source, *columns, "--json")[1])["agreement"]["all"]
    assert told["words"]["pairwise_f1"] == pytest.approx(19 / 20)
    assert told["labels"] == {"texts": 20, "annotators": [2, 2], "alpha": 1, "kappa": 1, "same": 1}
    out = run(capsys, "data", "stats", source, *columns)[1]
    assert "Agreement on words" in out and "Agreement on labels" in out
    assert "Agreement" not in run(capsys, "data", "stats", films)[1]


def test_agreement_without_splits_and_with_nothing_to_agree_on(capsys, tmp_path):
    text = "so very good"
    rows = [{"text": text, "label": "pos", "rationale": [[0, 12]], "groups": [[[0, 12]], [[0, 12]]]}]
    told = json.loads(run(capsys, "data", "agreement", write_rows(tmp_path / "a.jsonl", rows), "--json")[1])
    assert list(told) == ["all"] and told["all"]["labels"] is None
    assert told["all"]["words"]["alpha"] is None and told["all"]["words"]["pairwise_f1"] == 1


def test_agreement_needs_annotators(capsys, films, tmp_path):
    assert "no text was marked or labelled by two annotators" in fails(capsys, "data", "agreement", films)
    assert "do not say who marked what" in fails(capsys, "data", "agreement", "movies")
    assert "no such file" in fails(capsys, "data", "agreement", "nothing.jsonl")
    assert "did you mean 'text'" in fails(capsys, "data", "agreement", films, "--columns.txt", "x")


# convert


@pytest.mark.parametrize("suffix", [".jsonl", ".csv", ".tsv", ".parquet", ".json"])
def test_a_dataset_is_converted(capsys, films, tmp_path, suffix):
    target = tmp_path / f"out{suffix}"
    code, out, _ = run(capsys, "data", "convert", films, target)
    assert code == 0 and str(target) in out
    back, data = load_dataset(target), load_dataset(films)
    assert back["train"] == data["train"] and [one.id for one in back["test"]] == ["d"]
    assert "exists already" in fails(capsys, "data", "convert", films, target)


def test_converted_pairs_say_how_to_read_them(capsys, tmp_path):
    pair = {"a": "one", "b": "two"}
    rows = [{**pair, "label": n, "split": split} for split in ("train", "dev") for n in range(2)]
    data = write_rows(tmp_path / "pairs.jsonl", rows)
    options = ["data", "convert", data, tmp_path / "out.csv", "--columns.text", "a,b", "--names", "x,y"]
    code, out, _ = run(capsys, *options, "--split", "dev")
    assert code == 0 and "--columns.text x,y" in out
    assert (tmp_path / "out.csv").read_text().startswith("id,split,x,y,label\npairs-3,dev,one,two,0\n")


# download


def test_a_dataset_is_fetched_into_the_root_that_is_meant(capsys, monkeypatch):
    asked = []

    def fetched(name, root, *, progress, force):
        asked.append((name, str(root), force))
        return root / name

    monkeypatch.setattr("unirex.data.download.download", fetched)
    code, out, _ = run(capsys, "data", "download", "sst")
    assert code == 0 and "into data/ here" in out and "unirex data stats sst --root data" in out
    monkeypatch.setenv("UNIREX_DATA", "sets")
    assert "here" not in run(capsys, "data", "download", "sst", "--force")[1]
    run(capsys, "data", "download", "sst", "--root", "mine")
    assert asked == [("sst", "data", False), ("sst", "sets", True), ("sst", "mine", False)]


def test_a_dataset_nobody_can_fetch(capsys):
    assert "did you mean 'sst'" in fails(capsys, "data", "download", "sstt")
    assert not list(Path.cwd().iterdir())


# Mistakes: one clear line each, exit code 2, nothing left behind.


def test_mistakes_on_the_command_line(capsys, films):
    assert "stats | check" in fails(capsys, "data")
    assert "'stats'" in fails(capsys, "data", "stat")
    assert "needs SOURCE" in fails(capsys, "data", "stats")
    assert "did you mean '--columns'" in fails(capsys, "data", "check", films, "--colums", "x")
    assert "did you mean '--max_length'" in fails(capsys, "data", "stats", films, "--max_lenght", "9")
    assert "did you mean 'table'" in fails(capsys, "data", "check", films, "--format", "tabel")
    assert "did you mean 'text'" in fails(capsys, "data", "check", films, "--columns.txt", "x")
    assert "max_length 2" in fails(capsys, "data", "stats", films, "--max_length", "2")
    assert "no such encoder" in fails(capsys, "data", "stats", films, "--encoder", "no such encoder")
    assert "did you mean 'test'" in fails(capsys, "data", "show", films, "--split", "tset")
    assert "number 0" in fails(capsys, "data", "show", films, "--number", "0")
    assert "did you mean 'demo-train-1" in fails(capsys, "data", "show", "demo", "--ids", "demo_train-1")
    assert "unsupported suffix" in fails(capsys, "data", "convert", films, "out.txt")
    option = ("--data_options.sample", "first_n")
    assert "unknown option 'sample'" in fails(capsys, "data", "show", "demo", *option)
    assert not list(Path.cwd().iterdir())


def test_the_whole_help_and_that_of_each_action(capsys):
    for action in ([], *([action] for action in ACTIONS)):
        with pytest.raises(SystemExit) as stop:
            main(["data", *action, "--help"])
        assert stop.value.code == 0
    assert "download" in capsys.readouterr().out
