"""`unirex nrg` as a stranger uses it: tables of any make, the paper's tables, and every mistake."""

import json

import pytest
from jsonargparse import ArgumentParser

from unirex.cli import nrg
from unirex.errors import UserError
from unirex.paper.published import files

ROWS = {
    "ours": {"comp": 0.3, "suff": 0.1, "auprc": 80.0, "tf1": 70.0, "perf": 93.0},
    "theirs": {"comp": 0.1, "suff": 0.2, "auprc": 50.0, "tf1": 50.0, "perf": 94.0},
}


def run(capsys, *arguments):
    parser = ArgumentParser(exit_on_error=False)
    nrg.options(parser, arguments)
    assert nrg.run(parser.parse_args([str(one) for one in arguments])) == 0
    return capsys.readouterr().out


def write(path, text):
    path.write_text(text, "utf-8")
    return path


def as_csv(rows, separator=","):
    names = list(next(iter(rows.values())))
    lines = [["method", *names], *([method, *map(str, row.values())] for method, row in rows.items())]
    return "".join(separator.join(line) + "\n" for line in lines)


@pytest.fixture
def table(tmp_path):
    return write(tmp_path / "methods.csv", as_csv(ROWS))


def cells(out, method):
    line = next(line for line in out.splitlines() if line.startswith(method))
    return line.removeprefix(method).split()


def test_a_table_with_the_papers_headers(capsys, table):
    out = run(capsys, table)
    assert out.splitlines()[0].split() == ["FNRG", "PNRG", "TNRG", "CNRG"]
    assert cells(out, "ours") == ["1.000", "1.000", "0.000", "0.667"]
    assert cells(out, "theirs") == ["0.000", "0.000", "1.000", "0.333"]


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("a.tsv", as_csv(ROWS, "\t")),
        ("a.json", json.dumps(ROWS)),
        ("a.json", json.dumps([{"method": name, **row} for name, row in ROWS.items()])),
        ("a.json", json.dumps([{"system": name, "texts": 9, "metrics": row} for name, row in ROWS.items()])),
        ("a.jsonl", "".join(json.dumps({"name": name, **row}) + "\n" for name, row in ROWS.items())),
        ("a.csv", as_csv(ROWS).replace("method,comp,suff", ",Comp ↑,Suff ↓").replace("perf", "Macro F1 ↑")),
        (
            "a.csv",
            as_csv(ROWS).replace("comp,suff,auprc,tf1,perf", "comprehensiveness,sufficiency,AUPRC,TF1,acc"),
        ),
    ],
)
def test_tables_of_other_makes_give_the_same(capsys, table, tmp_path, name, text):
    assert run(capsys, write(tmp_path / name, text)) == run(capsys, table)


def test_the_printed_table_itself_is_read_dataset_by_dataset(capsys):
    out = run(capsys, files("unirex.paper") / "tables" / "main_results.csv")
    assert [part.partition("\n")[0] for part in out.split("\n\n")] == [
        "sst",
        "movies",
        "cose",
        "multirc",
        "esnli",
    ]
    assert cells(out, "UNIREX (SLM-FP)") == ["0.807", "0.940", "0.927", "0.891", "0.889"]


def test_the_papers_table_with_what_disagrees(capsys):
    out = run(capsys, "--paper", "sst")
    assert cells(out, "UNIREX (SLM-FP)") == ["0.807", "0.940", "0.927", "0.891", "0.889"]
    assert "printed otherwise: UNIREX (AA-FP) FNRG 0.339, not 0.692" in out
    assert out.count("printed otherwise") == 1
    assert "note: L2E earns FNRG 0.487" in out
    assert "when comparing: Do not compare L2E" in out
    assert run(capsys, "--paper", "multirc").count("printed otherwise") == 6


def test_transfer_has_no_plausibility_but_a_weight_can_leave_it_out(capsys):
    assert cells(run(capsys, "--paper", "yelp"), "UNIREX (DLM-FP)") == ["0.924", "–", "0.898", "–"]
    weighted = run(capsys, "--paper", "yelp", "--weights", 1, 0, 1)
    assert cells(weighted, "UNIREX (DLM-FP)") == ["0.924", "–", "0.898", "0.911"]
    skipped = run(capsys, "--paper", "yelp", "--missing", "skip")
    assert cells(skipped, "UNIREX (DLM-FP)")[-1] == "0.911"


def test_the_gate(capsys):
    out = run(capsys, "--paper", "cose", "--gate", 0.9)
    assert cells(out, "A2R+P") == ["0.000"] * 4
    assert "note: A2R+P performs below the gate" in out
    assert "A2R+P earns FNRG 0.500" in run(capsys, "--paper", "cose")


def test_collapsed_methods_are_named_and_cnrg_is_shown_without_them(capsys):
    out = run(capsys, "--paper", "multirc")
    assert "CNRG guarded" in out.splitlines()[1]
    assert cells(out, "A2R+P")[-1] == "0.000" and cells(out, "A2R+P")[-2] != "0.000"
    assert "note: A2R+P earns FNRG" in out
    assert "note: CNRG guarded is CNRG where collapsed methods get 0" in out
    assert "CNRG guarded" not in run(capsys, "--paper", "multirc", "--gate", 0.9)


def test_chance_of_a_table_of_ones_own(capsys, tmp_path):
    rows = ROWS | {"guess": {"comp": 0.2, "suff": 0.0, "auprc": 60.0, "tf1": 60.0, "perf": 52.0}}
    out = run(capsys, write(tmp_path / "a.csv", as_csv(rows)), "--chance", 50)
    assert "guess earns FNRG" in out and "near chance (50.000)" in out


def test_json(capsys, tmp_path):
    path = write(tmp_path / "a.csv", "method,comp,suff,acc\na,0.3,0.1,0.9\nb,0.1,,0.8\n")
    (report,) = json.loads(run(capsys, path, "--json"))
    assert report["gains"]["a"]["tnrg"] == 1.0 and report["gains"]["a"]["pnrg"] is None
    assert report["gains"]["b"]["missing"] == ["sufficiency", "auprc", "token_f1_macro2"]
    assert report["gains"]["b"]["parts"]["comprehensiveness"] == 0.0
    assert any("No method has auprc" in one for one in report["notes"])
    (paper,) = json.loads(run(capsys, "--paper", "sst", "--json"))
    assert paper["disagreements"][0]["recomputed"] == pytest.approx(0.69207, abs=1e-5)


def test_other_metrics(capsys, tmp_path):
    path = write(tmp_path / "a.csv", "method,csd,token_f1,binary_f1\na,0.3,0.1,0.9\nb,0.1,0.2,0.8\n")
    out = run(capsys, path, "--faithfulness", "csd", "--plausibility", "token_f1")
    assert cells(out, "a") == ["1.000", "0.000", "1.000", "0.667"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("method,comp,seed\na,1,2\n", r"a.csv:2: column 'seed' is no metric; .*Known: accuracy.*comp"),
        ("method,sufficency\na,1\n", "did you mean 'sufficiency'"),
        ("method,comp\na,high\n", r"a.csv:2: column 'comp' must hold a number, not 'high'"),
        ("method,acc\na,1\na,2\n", r"a.csv:3: method 'a' is there twice; give the mean over its seeds"),
        ("method,acc\n,1\n", "names no method"),
        ("method,comp\na,1\n", "has none of accuracy"),
        ("method,macro_f1,binary_f1\na,1,1\n", "say which one is task performance"),
        ("", "empty"),
    ],
)
def test_mistakes_in_a_table_are_told_with_their_place(capsys, tmp_path, text, message):
    with pytest.raises(UserError, match=message):
        run(capsys, write(tmp_path / "a.csv", text))


@pytest.mark.parametrize(
    "text", ["{", "[1]", "{}", '{"a": 1}', "[]", '["a"]', '"a"', '{"system": "a", "metrics": 3}']
)
def test_json_of_another_shape_is_refused(capsys, tmp_path, text):
    with pytest.raises(UserError, match=r"a\.json"):
        run(capsys, write(tmp_path / "a.json", text))


def test_other_mistakes(capsys, table, tmp_path):
    with pytest.raises(UserError, match="one of the two"):
        run(capsys)
    with pytest.raises(UserError, match="one of the two"):
        run(capsys, table, "--paper", "sst")
    with pytest.raises(UserError, match="Known: sst"):
        run(capsys, "--paper", "ssst")
    with pytest.raises(UserError, match="cannot be read"):
        run(capsys, tmp_path / "nowhere.csv")
    with pytest.raises(UserError, match="must be one of"):
        run(capsys, write(tmp_path / "a.xls", ""))
    with pytest.raises(UserError, match="unknown metric"):
        run(capsys, table, "--faithfulness", "compp")


def test_an_infinite_number_is_an_error_at_its_place(capsys, tmp_path):
    path = write(tmp_path / "a.csv", as_csv(ROWS).replace("0.1,0.2", "inf,0.2"))
    with pytest.raises(UserError, match=r"a.csv:3: column 'comp' must hold a finite number, not 'inf'"):
        run(capsys, path)


def test_what_is_said_of_a_missing_metric_is_what_was_done(capsys, tmp_path):
    path = write(tmp_path / "a.csv", as_csv(ROWS).replace("0.1,0.2", ",0.2"))
    assert "theirs has no comprehensiveness: gains that need it are left out." in run(capsys, path)
    out = run(capsys, path, "--missing", "skip")
    assert "theirs has no comprehensiveness: means are over the rest." in out


def test_one_method_has_nobody_to_gain_on(capsys, tmp_path):
    out = run(capsys, write(tmp_path / "a.csv", as_csv({"ours": ROWS["ours"]})))
    assert "note: There is one method only" in out
