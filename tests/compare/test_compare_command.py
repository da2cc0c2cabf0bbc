"""`unirex compare`, from the command line to files, and the report in a real browser."""

import re
import shutil
import subprocess
from dataclasses import replace

import pytest
from jsonargparse import ArgumentParser
from made import file, run

from unirex import comparison
from unirex.cli import compare
from unirex.errors import UserError

EVIL = "<script>alert(1)</script>"
CHROMIUM = shutil.which("chromium")
FLAGS = """--headless --no-sandbox --disable-gpu --no-first-run --disable-background-networking
--disable-component-update --disable-sync --virtual-time-budget=3000 --dump-dom"""


def call(*arguments):
    parser = ArgumentParser(exit_on_error=False)
    compare.options(parser, arguments)
    return compare.run(parser.parse_args([str(one) for one in arguments]))


@pytest.fixture(scope="module")
def places(tmp_path_factory):
    folder = tmp_path_factory.mktemp("runs")
    return [
        run(folder / "a", plausible=0.9),
        run(folder / "b", method="vanilla", faithful=0.1, seed=2),
        f"{EVIL}={file(folder / 'c.jsonl', seed=3)}",
    ]


def test_the_table_is_printed_with_what_to_know(places, capsys):
    assert call(*places, "--draws", 99, "--paper", "sst") == 0
    out = capsys.readouterr().out
    words, table = out.split("\n\n", maxsplit=1)
    assert words.startswith("Most accurate: ") and table.splitlines()[1].startswith("slm-fp")
    assert "\nnote: Paper: " in out and "\nnote: NRG is left out" in out


def test_files_are_written_in_the_format_their_ending_says(places, tmp_path, capsys):
    for ending, start in (("md", "|  |"), ("tex", "% \\usepackage"), ("csv", "method,"), ("txt", "   ")):
        assert call(*places, "--draws", 99, "--out", tmp_path / f"t.{ending}") == 0
        assert (tmp_path / f"t.{ending}").read_text("utf-8").startswith(start)
    assert "table in" in capsys.readouterr().out


def test_every_run_has_a_row_on_request(places, tmp_path):
    seeds = [run(tmp_path / f"s{seed}", seed=seed) for seed in (4, 5)]
    assert call(*seeds, "--every_run", "--out", tmp_path / "runs.csv") == 0
    lines = (tmp_path / "runs.csv").read_text("utf-8").splitlines()
    assert lines[0].startswith("method,run,seed,accuracy,accuracy_low") and len(lines) == 3


@pytest.mark.drawn
def test_the_report_stands_alone_and_shows_names_as_names(places, tmp_path, capsys):
    target = tmp_path / "report.html"
    assert call(*places, "--draws", 99, "--html", target, "--plots", tmp_path / "plots", "--title", EVIL) == 0
    html = target.read_text("utf-8")
    assert len(re.findall("<script", html)) == 2 and "&lt;script&gt;alert(1)" in html
    assert "script-src 'sha256-" in html.replace("&#x27;", "'")
    assert html.count('class="plot"') == 5 and len(list((tmp_path / "plots").iterdir())) == 10
    parts = ("verdict", "scores", "examples", "trade-off", "faithfulness", "calibration", "parts")
    places = [html.index(f'id="{part}"') for part in (*parts, "agreement", "differences")]
    assert places == sorted(places)  # the texts come before the figures
    assert str(tmp_path) not in html  # no places of this machine


def test_the_same_evaluations_give_the_same_report(places, tmp_path):
    for name in ("one", "two"):
        call(*places, "--draws", 99, "--html", tmp_path / f"{name}.html")
    assert (tmp_path / "one.html").read_bytes() == (tmp_path / "two.html").read_bytes()


@pytest.mark.drawn
def test_texts_cannot_break_out_of_the_report(tmp_path):
    def hostile(record):
        return replace(record, segments=(f"{record.segments[0]} {EVIL}",))

    call(file(tmp_path / "a.jsonl", change=hostile), "--html", tmp_path / "report.html")
    html = (tmp_path / "report.html").read_text("utf-8")
    assert "<script>alert" not in html and "alert(1)" in html


def test_examples_of_the_page_can_be_limited_or_left_out(places, tmp_path):
    call(places[0], "--examples", 5, "--html", tmp_path / "few.html")
    assert "5 of the 60 texts are on this page" in (tmp_path / "few.html").read_text("utf-8")
    call(places[0], "--examples", 0, "--html", tmp_path / "none.html")
    assert "<script" not in (tmp_path / "none.html").read_text("utf-8")


def test_mistakes_are_named_before_anything_is_read(places, tmp_path):
    (tmp_path / "folder").mkdir()
    (tmp_path / "file").write_text("x")
    with pytest.raises(UserError, match="--format pdf: choose one of text, markdown, latex, csv"):
        call("nowhere", "--format", "pdf")
    with pytest.raises(UserError, match=r"--html .*: is a folder"):
        call("nowhere", "--html", tmp_path / "folder")
    with pytest.raises(UserError, match=r"--plots .*: is a file"):
        call("nowhere", "--plots", tmp_path / "file")


@pytest.mark.drawn
@pytest.mark.skipif(CHROMIUM is None, reason="chromium is not installed")
def test_chromium_draws_the_figures_and_lets_the_script_browse_the_texts(tmp_path):
    """Under the policy of the page itself."""
    places = {"a <b>": file(tmp_path / "a.jsonl"), "b": file(tmp_path / "b.jsonl", seed=1, faithful=0.1)}
    page = tmp_path / "report.html"
    page.write_text(comparison.compare(places, draws=99).page("Drawn"), encoding="utf-8")
    command = [CHROMIUM, *FLAGS.split(), f"--user-data-dir={tmp_path / 'profile'}", page.as_uri()]
    seen = subprocess.run(command, check=True, capture_output=True, timeout=120, text=True).stdout
    assert len(re.findall('<svg[^>]* class="plot"', seen)) == 5
    assert "60 texts · 1–5 shown" in re.sub("<[^>]+>", "", seen)  # the script ran
    assert "a <b>" not in seen and "a &lt;b&gt;" in seen
