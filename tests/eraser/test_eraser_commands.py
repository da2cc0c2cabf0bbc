"""`unirex eraser export | check | score`, called as the command line calls them."""

import json

import pytest
from hand_worked import submission, write_data, write_lines
from jsonargparse import ArgumentParser
from test_export import record

from unirex.cli import eraser
from unirex.errors import UserError
from unirex.evaluation.record_files import write_records

TABLE = """\
hard rationales            P      R     F1
tokens, micro          0.714  0.714  0.714
tokens, macro          0.556  0.472  0.508
spans, exact, micro    0.200  0.333  0.250
spans, exact, macro    0.167  0.167  0.167
overlap of 0.5, micro  0.600  1.000  0.750
overlap of 0.5, macro  0.500  1.000  0.667

soft rationales  AUPRC     AP    ROC
tokens           0.790  0.944  0.750
sentences        0.833  1.000  1.000

classes
accuracy                 0.667
macro F1                 0.400
comprehensiveness        0.233
sufficiency              0.100
comprehensiveness, AOPC  0.283
sufficiency, AOPC        0.167
tokens to flip, share    0.567
"""


def run(*arguments):
    parser = ArgumentParser(exit_on_error=False)
    eraser.options(parser, arguments)
    return eraser.run(parser.parse_args(list(map(str, arguments))))


@pytest.fixture
def files(tmp_path):
    """A submission and its data."""
    return write_lines(tmp_path / "s.jsonl", submission()), write_data(tmp_path / "data")


@pytest.fixture
def evaluation(tmp_path):
    (tmp_path / "evaluation").mkdir()
    write_records(tmp_path / "evaluation" / "records.jsonl", [record("a"), record("b", label="neg")])
    return tmp_path / "evaluation"


def test_check(files, capsys):
    path, data = files
    assert run("check", path, "--data", data) == 0
    assert capsys.readouterr().out == f"no faults in {path}\n"


def test_check_lists_the_faults(files, capsys):
    path, data = files
    rows = submission()
    rows[0]["rationales"][0]["hard_rationale_predictions"][0].update(start_token=6, end_token=4)
    write_lines(path, rows)
    assert run("check", path, "--data", data) == 1
    first, last = capsys.readouterr().out.splitlines()
    assert first.startswith(f"{path}:1: annotation 'a', document 'd1': span 6 to 4 is empty")
    assert last == f"1 fault in {path}"


def test_score(files, tmp_path, capsys):
    path, data = files
    options = ["--thresholds", "[0.1, 0.5]", "--out", tmp_path / "scores.json"]
    assert run("score", path, "--data", data, *options) == 0
    shown = capsys.readouterr()
    assert shown.out == TABLE
    assert "note: soft_rationale_predictions: 1 of 3 documents" in shown.err
    written = json.loads((tmp_path / "scores.json").read_text())
    assert written["token_prf"]["instance_micro"]["f1"] == pytest.approx(5 / 7)


def test_scores_as_json_have_null_for_what_is_not_known(files, capsys):
    path, data = files
    rows = submission()
    for row in rows:
        row["rationales"][0]["hard_rationale_predictions"] = []
    write_lines(path, rows)
    assert run("score", path, "--data", data, "--json") == 0
    found = json.loads(capsys.readouterr().out)
    assert found["token_prf"]["instance_micro"]["p"] is None
    assert any("no line selects anything" in note for note in found["notes"])


def test_export_check_score(evaluation, tmp_path, capsys):
    target = tmp_path / "out" / "submission.jsonl"
    assert run("export", evaluation, target, "--with_data") == 0
    assert "comprehensiveness and sufficiency at 10 % of the tokens" in capsys.readouterr().out
    assert run("check", target, "--data", target.parent) == 0
    assert run("score", target, "--data", target.parent, "--thresholds", "[0.1, 0.5]") == 0
    assert "accuracy                  0.500" in capsys.readouterr().out


def test_export_of_a_budget(evaluation, tmp_path):
    target = tmp_path / "submission.jsonl"
    run("export", evaluation / "records.jsonl", target, "--hard", 10, "--budget", 50, "--word", "mean")
    first = json.loads(target.read_text().splitlines()[0])
    assert first["rationales"][0]["hard_rationale_predictions"] == [{"start_token": 2, "end_token": 3}]
    assert first["comprehensiveness_classification_scores"] == {"neg": 1.0, "pos": 0.0}


def test_nothing_is_written_over(evaluation, tmp_path):
    target = tmp_path / "submission.jsonl"
    run("export", evaluation, target)
    with pytest.raises(UserError, match=r"submission\.jsonl exists already"):
        run("export", evaluation, target)
    (tmp_path / "docs.jsonl").touch()
    with pytest.raises(UserError, match=r"docs\.jsonl exists already"):
        run("export", evaluation, tmp_path / "other.jsonl", "--with_data")


def test_mistakes_of_the_command_line(files, evaluation, tmp_path):
    path, data = files
    with pytest.raises(UserError, match=r"needs to know what to do: unirex eraser export \| check \| score"):
        run()
    with pytest.raises(UserError, match=r"nothing\.jsonl: no such file"):
        run("score", tmp_path / "nothing.jsonl", "--data", data)
    with pytest.raises(UserError, match=r"no dev\.jsonl"):
        run("check", path, "--data", data, "--split", "dev")
    with pytest.raises(UserError, match="unknown split 'tset'"):
        run("check", path, "--data", data, "--split", "tset")
    with pytest.raises(UserError, match="no such folder; give one of ERASER's format"):
        run("check", path, "--data", tmp_path / "nowhere")
    with pytest.raises(UserError, match="dataset 'movies'"):
        run("check", path, "--data", "movies", "--root", tmp_path)
    with pytest.raises(UserError, match=r"hard 'all': give positive, or a budget"):
        run("export", evaluation, tmp_path / "t.jsonl", "--hard", "all")
