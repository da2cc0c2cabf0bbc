"""Rows that pass as harmless and would be lost, merged or never come to an end."""

import os

import pytest
from data_files import write_rows

from commands import fails
from unirex.cli import main
from unirex.config import build_config
from unirex.data.formats.table import read_records
from unirex.errors import UserError
from unirex.methods import resolve

GOOD = '{"text": "fine", "label": "a"}'


@pytest.mark.parametrize(
    ("row", "said"),
    [
        ('{"text": "x", "label": "a", "label": "b"}', "'label' is there twice"),
        ('{"text": "x", "label": "a", "rationale": [{"start": 0, "start": 1}]}', "'start' is there twice"),
        ('{"text": "x", "label": "\\ud800"}', "'label' holds half a surrogate pair"),
        ('{"text": "x", "label": "a", "id": "\\udc00"}', "'id' holds half a surrogate pair"),
        ('{"text": "x", "label": 9223372036854775808}', "too large for most formats"),
        ('{"text": "x", "label": -1e300}', "too large for most formats"),
    ],
)
def test_what_no_other_file_could_hold_is_refused(tmp_path, row, said):
    with pytest.raises(UserError, match=rf"x\.jsonl:2: .*{said}"):
        list(read_records(write_rows(tmp_path / "x.jsonl", [GOOD, row])))


def test_a_name_twice_in_a_json_file(tmp_path):
    path = write_rows(tmp_path / "x.json", f'[{GOOD}, {{"text": "x", "text": "y", "label": "a"}}]')
    with pytest.raises(UserError, match=r"x\.json: 'text' is there twice"):
        list(read_records(path))


def test_labels_of_two_kinds_are_a_problem_to_be_listed(tmp_path, capsys):
    task = '{{"text": "fine {0}", "label": {1}, "_input_hash": {0}, "_task_hash": {0}, "answer": "accept"}}'
    labels = ['"a"', '"b"', "true"] * 4
    path = write_rows(
        tmp_path / "x.jsonl", [task.format(number, label) for number, label in enumerate(labels)]
    )
    assert main(["data", "check", str(path)]) == 1
    assert "x.jsonl:3" in capsys.readouterr().out


def test_a_pipe_is_refused_and_does_not_hang(tmp_path, capsys):
    os.mkfifo(tmp_path / "x.jsonl")
    assert "is a pipe" in fails(capsys, "data", "stats", tmp_path / "x.jsonl")


def test_control_characters_of_data_do_not_reach_the_terminal(tmp_path, capsys):
    path = write_rows(tmp_path / "x.jsonl", [GOOD, '{"text": "x", "\\u001b[2Jlabel\\u0007": 1}'])
    said = fails(capsys, "train", "--data", path, "--out", tmp_path / "run")
    assert "x.jsonl:2" in said and not set("\x1b\x07") & set(said)


@pytest.mark.parametrize("value", [None, 5, "comprehensiveness", [1], True])
@pytest.mark.parametrize("table", ["objectives", "training", "sgt", "extractor_options"])
def test_a_block_of_settings_is_a_table(tmp_path, table, value):
    with pytest.raises(UserError, match=f"setting '{table}' is a table of settings"):
        build_config({table: value})


@pytest.mark.parametrize(
    ("setting", "said"), [("method: .nan", "unknown method 'nan'"), ("extractor: {}", "extractor")]
)
def test_a_name_that_is_no_text_is_an_error_in_a_line(tmp_path, capsys, setting, said):
    path = tmp_path / "mine.yaml"
    path.write_text(f"{setting}\n")
    assert said in fails(capsys, "train", "--config", path, "--data", "demo", "--out", tmp_path / "run")


def test_the_file_with_a_wrong_block_is_named(tmp_path, capsys):
    path = tmp_path / "mine.yaml"
    path.write_text("objectives:\n  comprehensiveness: 3\n")
    with pytest.raises(UserError, match=r"mine\.yaml: setting 'objectives\.comprehensiveness' is a table"):
        resolve("slm-fp", path, {})
    data = write_rows(tmp_path / "x.jsonl", [GOOD])
    said = fails(capsys, "train", "--config", path, "--data", data, "--out", tmp_path / "run")
    assert "mine.yaml: setting 'objectives.comprehensiveness' is a table of settings" in said


@pytest.mark.parametrize("settings", [{"temperature": float("nan")}, {"class_weights": [1.0, float("inf")]}])
def test_settings_are_finite(settings):
    with pytest.raises(UserError, match="give a finite number"):
        build_config(settings)
