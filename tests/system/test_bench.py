"""The benchmark compares like with like, and keeps what it finds whatever happens."""

import gc
import json
from dataclasses import replace

import pytest
import torch

from planted import planted
from unirex import evaluate
from unirex.bench import GROUPS, cases, processes
from unirex.bench.attribution import Peers, measure_attribution
from unirex.bench.cases import Trainee, largest_difference
from unirex.bench.command import save_plots
from unirex.bench.harness import Goal, Measurements, Row, Spread, interleaved, not_measured, ratio
from unirex.bench.references import NaiveModel, PlainClassifier, naive_evaluation, padded, stock_pipeline
from unirex.bench.workload import Pace, Workload
from unirex.cli import main

TINY = Pace(
    repetitions=2, slow=1, explained=10, evaluated=6, attributed=2, samples=8, tokens=64, lengths=(8, 16)
)


@pytest.fixture(autouse=True)
def no_collection(monkeypatch):
    """Collecting garbage takes longer than all that is measured here."""
    monkeypatch.setattr(gc, "collect", lambda: 0)


@pytest.fixture(scope="module")
def work(learner):
    return Workload(planted((40, 8, 12)), encoder=str(learner), batch_size=4, pace=TINY)


def test_cases_run_equally_often_and_warm_up_first():
    calls = []
    found = interleaved({name: lambda name=name: calls.append(name) for name in "abc"}, 4, warmup=2)
    rounds = ["".join(calls[start : start + 3]) for start in range(0, len(calls), 3)]
    assert len(rounds) == 6 and all(sorted(calls) == ["a", "b", "c"] for calls in rounds)
    assert len(set(rounds)) > 1, "the order changes"
    assert {name: len(seconds) for name, seconds in found.items()} == {"a": 4, "b": 4, "c": 4}


def test_ratios_are_taken_within_a_repetition():
    timings = {"ours": (2.0, 20.0, 2.0), "theirs": (1.0, 10.0, 1.0)}  # the machine was slow in between
    assert ratio("key", "what", timings, ("ours", "theirs")).value == Spread(2.0, 2.0, 2.0)


def test_the_naive_step_has_our_loss_and_our_gradients(work):
    system = work.build()
    naive = NaiveModel(system, copy=True).eval()
    system.model.eval()
    for batch in (*work.grouped_batches(2), *work.random_batches(2)):
        naive.zero_grad()
        system.model.zero_grad()
        theirs, ours = naive.loss(padded(batch, 40, work.pad)), system.model(**batch.tensors()).loss
        torch.testing.assert_close(theirs, ours, rtol=1e-5, atol=1e-6)
        theirs.backward()
        ours.backward()
        pairs = zip(naive.plain.parameters(), system.model.task.parameters(), strict=True)
        for one, other in pairs:
            torch.testing.assert_close(one.grad, other.grad, rtol=1e-4, atol=1e-6)


def test_the_naive_evaluation_finds_our_figures(work):
    examples = work.examples(10)
    results = evaluate(work.system, examples, draws=0, batch_size=4)
    naive = NaiveModel(work.system).eval()
    found = naive_evaluation(naive, examples, width=30, batch_size=3)
    assert largest_difference(found, results) < 1e-5


def test_the_plain_classifier_is_the_system_without_its_reasons(work):
    texts = work.texts(9)
    plain = PlainClassifier(work.system).eval()
    told = list(work.explain(texts))
    assert all(abs(one.probabilities[one.label] - 0.5) > 1e-4 for one in told), "or rounding decides a label"
    labels = [work.system.labels.index(one.label) for one in told]
    assert plain.predict(texts, 4) == plain.predict_sorted(texts, 4) == labels
    stock = stock_pipeline(work.system, 4)
    assert len(stock(texts)) == 9
    theirs = dict(stock.model.base_model.named_parameters())
    for name, ours in work.system.model.task.encoder.named_parameters():
        assert torch.equal(ours, theirs[name])


def test_a_training_step_changes_the_weights(work):
    for name in ("plain", "naive", "slm-fp sampled"):
        trainee = Trainee(work, name)
        before = [parameter.detach().clone() for parameter in trainee.model.parameters()]
        trainee.over(work.grouped_batches(1))()
        after = zip(before, trainee.model.parameters(), strict=True)
        assert any(not torch.equal(old, new) for old, new in after), name


def test_batches_are_those_of_training_or_of_chance(work):
    assert [len(batch.input_ids) for batch in (*work.grouped_batches(3), *work.random_batches(3))] == [4] * 6
    wasted = [
        sum(float((~batch.attention_mask).sum()) for batch in batches)
        for batches in (work.grouped_batches(5), work.random_batches(5))
    ]
    assert wasted[0] < wasted[1]


@pytest.mark.parametrize("length", [8, 16, 40])
def test_texts_of_the_sweep_have_exactly_that_length(work, length):
    texts = cases.texts_of_length(work, length, 3)
    assert cases.training_batch(work, texts).attention_mask.sum(-1).tolist() == [length] * 3


def test_a_peer_that_is_not_installed_is_said_to_be_missing(work, monkeypatch):
    def missing(self, texts, samples):
        raise ModuleNotFoundError("No module named 'shap'")

    monkeypatch.setattr(Peers, "shap", missing)
    rows = {row.key: row for row in measure_attribution(work)}
    assert rows["shap"].value is None and rows["shap"].note == "not measured: No module named 'shap'"
    measured = {key for key, row in rows.items() if row.value}
    assert {"ig-3", "ig-50", "occlusion", "our ig-3", "our ig-50"} <= measured
    assert "scores differ by" in rows["our ig-50"].note


def test_growth_runs_the_command_on_files_of_every_size(work, monkeypatch):
    seen = []

    def fake(*arguments):
        source = arguments[arguments.index("--file") + 1]
        with open(source, encoding="utf-8") as file:  # noqa: PTH123
            rows = [json.loads(line)["text"] for line in file]
        assert max(len(text.split()) for text in rows) <= processes.WORDS
        seen.append(len(rows))
        return processes.Usage(seconds=5 + len(rows) / 100, cpu=1, peak_mb=400)

    monkeypatch.setattr(processes, "run_python", fake)
    larger = replace(work, pace=replace(work.pace, growth=(10, 50)))
    rows = {row.key: row for row in processes.measure_growth(larger)}
    assert seen == [1, 1, 10, 50]
    assert rows["seconds at 50"].value.median == pytest.approx(10)
    assert rows["time"].value.median == pytest.approx(1) and rows["time"].reached
    assert rows["memory"].value.median == 1


def test_a_child_is_measured_by_itself():
    big = processes.run_python("-c", "x = bytearray(300_000_000)")
    small = processes.run_python("-c", "pass")
    assert big.peak_mb > 300 > 100 > small.peak_mb, "not that of this process, which holds torch"
    assert small.seconds > 0 and small.cpu > 0
    with pytest.raises(RuntimeError, match="code 1: ValueError: no"):
        processes.run_python("-c", "raise ValueError('no')")


def run_bench(learner, tmp_path, *options):
    places = ["--data", "demo", "--encoder", str(learner), "--out", str(tmp_path / "out")]
    return main(["bench", *places, "--quick", "--repetitions", "1", "--batch_size", "4", *options])


@pytest.fixture
def fake_groups(monkeypatch):
    """Groups that take no time: one good, one that breaks, one that is stopped."""

    def good(work):
        yield Row("speed", "ours ÷ theirs", Spread(1.0, 2.0, 3.0), goal=Goal("≤", 2.5), note="a note")
        yield not_measured("other", "ours ÷ others", "others are out")
        for at in (16.0, 32.0):
            yield Row(f"slm-fp at {at}", f"step, {at} tokens", Spread(1, 1, 1), case="slm-fp", at=at)

    def broken(work):
        yield Row("first", "the first", Spread(1.0, 1.0, 1.0))
        raise ValueError("boom")

    def stopped(work):
        yield Row("one", "the one that was finished", Spread(1.0, 1.0, 1.0))
        raise KeyboardInterrupt

    for name, group in (("lengths", good), ("explain", broken), ("growth", stopped)):
        monkeypatch.setitem(GROUPS.loaded, name, group)


def test_results_are_kept_as_json_table_and_plots(learner, tmp_path, fake_groups, capsys):
    assert run_bench(learner, tmp_path, "--only", "lengths", "explain") == 0
    name = f"bench-demo-{learner.name}-lengths-explain-quick"
    folder = tmp_path / "out"
    endings = ("json", "md", "png", "svg")
    assert sorted(path.name for path in folder.iterdir()) == [f"{name}.{ending}" for ending in endings]
    found = json.loads((folder / f"{name}.json").read_text("utf-8"))
    assert found["complete"] and list(found["groups"]) == ["explain", "lengths"]
    speed = found["groups"]["lengths"]["speed"]
    assert (speed["value"]["median"], speed["goal"], speed["reached"]) == (2.0, "≤ 2.5", True)
    assert "boom" in found["groups"]["explain"]["explain"]["note"], "the next group went on"
    assert found["machine"]["threads"] >= 1 and "torch" in found["versions"]
    text = (folder / f"{name}.md").read_text("utf-8")
    assert "| ours ÷ theirs | 2.00 | 1.00 – 3.00 | ≤ 2.5 | yes |" in text
    assert "| ours ÷ others | not measured: others are out |" in text
    assert "A quick run" in text and "- lengths: a note." in text
    assert "ours ÷ theirs: 2.00 (1.00 – 3.00), to reach ≤ 2.5: yes" in capsys.readouterr().err


def test_no_results_name_places_of_this_machine(learner, tmp_path, fake_groups):
    run_bench(learner, tmp_path, "--only", "lengths")
    for path in (tmp_path / "out").iterdir():
        content = path.read_bytes().decode("utf-8", "replace")
        assert str(tmp_path.parent) not in content and str(learner) not in content


def test_ctrl_c_keeps_what_is_finished(learner, tmp_path, fake_groups, capsys):
    assert run_bench(learner, tmp_path, "--only", "growth", "lengths") == 130
    (path,) = (tmp_path / "out").glob("*.json")
    found = json.loads(path.read_text("utf-8"))
    assert not found["complete"]
    assert "speed" in found["groups"]["lengths"] and "one" in found["groups"]["growth"]
    assert "Stopped before the end" in path.with_suffix(".md").read_text("utf-8")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--only", "trainin"], "did you mean 'training'"),
        (["--repetitions", "0"], "--repetitions 0: must be at least 1"),
        (["--batch_size", "0"], "--batch_size 0: must be at least 1"),
        (["--data", "nothing.csv"], "nothing.csv"),
        (["--run", "nowhere"], "nowhere"),
    ],
)
def test_mistakes_are_told_in_one_line(learner, tmp_path, capsys, options, message):
    assert run_bench(learner, tmp_path, *options) == 2
    said = capsys.readouterr().err
    assert message in said and "Traceback" not in said
    assert not (tmp_path / "out").exists()


def test_the_real_groups_run_on_a_tiny_encoder(learner, tmp_path):
    options = ("--only", "training", "evaluation", "explain", "lengths")
    assert run_bench(learner, tmp_path, *options) == 0
    (path,) = (tmp_path / "out").glob("*.json")
    groups = json.loads(path.read_text("utf-8"))["groups"]
    steps = {
        "slm-fp",
        "slm-fp sampled",
        "slm-fp random",
        "slm-fpo sampled",
        "dlm-fp",
        "aa-f",
        "aa-fp",
        "naive",
        "naive random",
    }
    assert steps <= set(groups["training"])
    assert set(groups["explain"]) == {"÷ forward", "÷ forward sorted", "÷ pipeline", "slm-fpo ÷ forward"}
    assert "comp/suff" in groups["evaluation"] and "slm-fp at 16" in groups["lengths"]
    failed = {key: row["note"] for rows in groups.values() for key, row in rows.items() if "value" not in row}
    assert not failed


def test_threads_are_left_as_they_were(work, monkeypatch):
    seen, before = [], torch.get_num_threads()
    fake = dict.fromkeys(cases.THREADED, lambda: seen.append(torch.get_num_threads()))
    monkeypatch.setattr(cases, "_threaded_cases", lambda work: fake)
    monkeypatch.setattr(cases, "usable_cores", lambda: 2)
    assert [row.key for row in cases.measure_threads(work)] == list(cases.THREADED)
    assert set(seen) == {1, 2} and torch.get_num_threads() == before
    monkeypatch.setattr(cases, "usable_cores", lambda: 1)
    (row,) = cases.measure_threads(work)
    assert row.note == "not measured: only one core can be used here"


def test_nothing_is_drawn_without_figures_over_a_range(tmp_path):
    assert save_plots(Measurements({}, {"explain": [Row("a", "b", Spread(1, 1, 1))]}), tmp_path, "x") == []
