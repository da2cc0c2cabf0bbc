"""Presets: what each line does, for whom, and how a run remembers it."""

import json
import logging
import re
from importlib import import_module
from inspect import signature
from pathlib import Path

import pytest
import yaml

import unirex
from commands import fails, run, succeeds, write_rows
from planted import planted, planted_choices
from unirex.cli import main
from unirex.config import flat, plain
from unirex.data.catalogue import DATASETS
from unirex.data.load import load_dataset
from unirex.errors import UserError
from unirex.methods import method_names, preset, preset_names, resolve
from unirex.methods.building import build_system, check_method, check_trainable
from unirex.metrics.registry import HEADLINE, METRICS
from unirex.report.table import header

DOCS = Path(__file__).resolve().parents[2] / "docs"
PARITY = preset("parity")
SETTINGS = [line for line in PARITY.lines if line.name != "columns" and "data_options" not in line.name]
READING = [line for line in PARITY.lines if line.name.startswith("data_options.")]
QUICK = ["--training.epochs", "1", "--training.max_batches", "1", "--max_length", "30"]


def settings_of(method, **how):
    return flat(plain(resolve(method, None, {}, **how)))


@pytest.fixture(scope="module")
def root(tmp_path_factory) -> Path:
    """A folder of named datasets with a small sst, whose texts begin with a capital."""
    root = tmp_path_factory.mktemp("datasets")
    (root / "sst").mkdir()
    for split, part in planted((24, 8, 8)).items():
        rows = [
            {
                "text": example.text.capitalize(),
                "classification": example.label,
                "rationale": [1.0] + [0.0] * (len(example.text.split()) - 1),
            }
            for example in part
        ]
        write_rows(root / "sst" / f"{split}.jsonl", rows)
    return root


@pytest.fixture(scope="module")
def command(root, learner) -> list[str]:
    shown = ["--data", "sst", "--root", root, "--encoder", learner, "--summary", "4", *QUICK]
    return ["train", "--method", "aa-fp", "--preset", "parity", *map(str, shown)]


@pytest.fixture(scope="module")
def trained(command, tmp_path_factory) -> Path:
    out = tmp_path_factory.mktemp("runs") / "parity"
    assert main([*command, "--out", str(out)]) == 0
    return out


@pytest.fixture(scope="module")
def usual():
    return {method: settings_of(method) for method in method_names()}


def test_the_default_changes_nothing(usual):
    assert preset_names()[0] == "default"
    default = preset("default")
    assert (default.lines, default.columns, default.data_options("movies")) == ((), (), {})
    for method in method_names():
        assert default.settings(method, "movies") == {}
        assert settings_of(method, preset="default", dataset="movies") == usual[method]


@pytest.mark.parametrize("method", method_names())
def test_every_method_builds_under_parity(method, learner):
    data = planted_choices((8, 4, 4))  # the hardest kind of task
    config = resolve(method, None, {"encoder": str(learner)}, preset="parity")
    check_method(method, config)
    check_trainable(data, config)
    build_system(method, data, config, learns=False)


@pytest.mark.parametrize("line", SETTINGS, ids=str)
def test_every_setting_takes_effect_somewhere(line, usual):
    value = yaml.safe_load(line.value)
    group = line.name.split(".")[0]
    for method in [group] if group in method_names() else method_names():
        found = settings_of(method, preset="parity", dataset=line.dataset)
        if found.get(line.name) == value != usual[method].get(line.name):
            return
    pytest.fail(f"{line} changes nothing")


@pytest.mark.parametrize("line", READING, ids=str)
def test_every_reading_option_is_one_of_its_dataset_and_not_the_usual(line):
    option = line.name.removeprefix("data_options.")
    usual = signature(import_module(DATASETS[line.dataset]).load).parameters[option].default
    assert PARITY.data_options(line.dataset)[option] == yaml.safe_load(line.value) != usual


def test_the_columns_are_metrics_but_not_the_usual_ones():
    assert set(PARITY.columns) <= METRICS.keys() and set(PARITY.columns) - set(HEADLINE)


@pytest.mark.parametrize("line", PARITY.lines, ids=str)
def test_every_line_says_why_and_stands_on_the_page(line):
    page = (DOCS / "presets.md").read_text("utf-8")
    errors = (DOCS / "spec/known-errors.md").read_text("utf-8")
    assert re.match(r"(D-\d+(, D-\d+)*|spec/\w+\.md#[\w-]+): \S", line.reason), line.reason
    row = next(row for row in page.splitlines() if row.startswith(f"| `{line}` |"))
    for number in re.findall(r"D-(\d+)", line.reason):
        assert f'<a id="d-{number}">' in errors and f"known-errors.md#d-{number})" in row
    for place in re.findall(r"spec/\w+\.md#[\w-]+", line.reason):
        assert place in row


def test_settings_that_a_method_does_not_have_are_left_out():
    assert "create_graph" not in resolve("slm-fp", None, {}, preset="parity").extractor_options
    assert PARITY.settings("slm-fp")["extractor_options"] == {}
    assert "a2r" not in PARITY.settings("fresh") and "fresh" in PARITY.settings("fresh-p")
    deeplift = resolve("aa-fp", None, {"extractor": "deeplift"}, preset="parity")
    assert deeplift.extractor_options == {}
    assert resolve("a2r", None, {}, preset="parity").objectives.agreement.divergence == "js-reversed"


def test_file_and_settings_win_over_a_preset(tmp_path):
    file = tmp_path / "mine.yaml"
    file.write_text("preset: parity\nseparators: false\ntraining: {dropout: true}\n")
    config = resolve("aa-fp", file, {"extractor_options": {"create_graph": True}})
    assert (config.separators, config.training.dropout, config.training.optimizer) == (False, True, "unirex")
    assert config.extractor_options == {"create_graph": True}
    with pytest.raises(UserError, match="for preset 'parity', not 'default'"):
        resolve("aa-fp", file, {}, preset="default")
    original = resolve("a2r", None, {"a2r": {"variant": "original"}}, preset="parity")
    assert original.budgets == (20,) and original.objectives.soft_task.weight == 1


def test_an_unknown_preset_lists_the_known_ones(capsys, trained):
    with pytest.raises(UserError, match=r"unknown preset 'pairty'.*parity"):
        unirex.fit("slm-fp", planted((8, 4, 4)), preset="pairty")
    assert "parity" in fails(capsys, "train", "--preset", "pairty")
    assert "parity" in fails(capsys, "evaluate", trained, "--data", "sst", "--preset", "pairty")


def test_the_presets_are_listed_with_their_reasons(capsys):
    listed = succeeds(capsys, "list", "presets")
    for line in PARITY.lines:
        assert re.search(rf"^  {re.escape(str(line))} +{re.escape(line.reason)}$", listed, re.MULTILINE)


def test_help_has_the_defaults_of_the_preset(capsys):
    for name, dropout in (("default", "True"), ("parity", "False")):
        with pytest.raises(SystemExit):
            main(["train", "--preset", name, "--data", "movies", "--help"])
        shown = " ".join(capsys.readouterr().out.split())
        said = re.search(r"--training\.dropout \{true,false\} .*?\(type: bool, default: (\w+)\)", shown)
        assert said[1] == dropout
        assert ("'offsets': 'sentence'" in shown) == (name == "parity")


def test_a_run_keeps_its_preset_and_what_it_set(trained):
    settings = yaml.safe_load((trained / "settings.yaml").read_text("utf-8"))
    assert (settings["preset"], settings["separators"], settings["pooling"]) == ("parity", True, "pooler")
    assert settings["extractor_options"] == {"create_graph": False}
    kept = json.loads((trained / "run.json").read_text("utf-8"))
    assert kept["preset"] == "parity" and kept["data"]["read"]["lowercase"] is True


def test_a_run_is_resumed_under_its_own_preset(trained, command, capsys):
    assert main([*command, "--out", str(trained), "--resume"]) == 0
    usual = [word for word in command if word not in ("--preset", "parity")]
    said = fails(capsys, *usual, "--out", trained, "--resume")
    assert "begun with preset 'parity', not 'default'" in said
    taken = [*("train", "--config", trained / "settings.yaml"), "--data", "sst", "--summary", "0"]
    root = command[command.index("--root") + 1]
    assert main([*map(str, taken), "--root", root, "--out", str(trained), "--resume"]) == 0
    assert "for preset 'parity', not 'default'" in fails(capsys, *taken, "--preset", "default")


def test_evaluate_reads_as_the_run_and_shows_the_columns_of_the_preset(trained, capsys):
    _, out, err = run(capsys, "evaluate", trained, "--data", "sst", "--draws", "1", "--preset", "parity")
    assert "--data_options.lowercase True" in err
    shown = next(line for line in out.splitlines() if "↑" in line)
    assert re.split(r"  +", shown.strip()) == [header(key) for key in ("accuracy", *PARITY.columns)]
    folder = trained / "evaluation/sst-lowercase-True-test"
    assert json.loads((folder / "metrics.json").read_text("utf-8"))["settings"]["run"]["preset"] == "parity"
    usual = succeeds(capsys, "evaluate", "--from_records", folder)
    assert header("auprc") in usual and header("auprc_all_tokens") not in usual
    assert header("auprc_all_tokens") in succeeds(
        capsys, "evaluate", "--from_records", folder, "--preset", "parity"
    )


def test_evaluate_reads_a_named_dataset_as_the_preset_says(root, tmp_path, capsys):
    texts = [*load_dataset("sst", root=root)["test"]]
    rows = [{"id": example.id, "label": example.label} for example in texts]
    said = write_rows(tmp_path / "said.jsonl", rows)
    asked = ["--predictions", said, "--data", "sst", "--root", root, "--out", tmp_path / "out"]
    succeeds(capsys, "evaluate", *asked, "--preset", "parity")
    records = (tmp_path / "out/records.jsonl").read_text("utf-8").splitlines()
    assert all(json.loads(record)["segments"][0].islower() for record in records)


def test_fit_reads_a_named_dataset_as_the_preset_says(root, learner, tmp_path, monkeypatch, caplog):
    monkeypatch.setenv("UNIREX_DATA", str(root))
    training = {"epochs": 1, "max_batches": 1}
    how = {"preset": "parity", "encoder": str(learner), "training": training, "progress": False}
    unirex.fit("vanilla", "sst", out=tmp_path / "run", **how)
    kept = json.loads((tmp_path / "run/run.json").read_text("utf-8"))
    assert kept["data"]["read"]["lowercase"] is True
    with caplog.at_level(logging.WARNING):
        unirex.fit("vanilla", load_dataset("sst"), **how)
    assert "sst was read without what preset 'parity' says: lowercase=True" in caplog.text
