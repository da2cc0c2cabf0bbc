"""A real browser runs the report under its own policy."""

import re
import shutil
import subprocess

import pytest
from made import file

from unirex.comparison import compare

CHROMIUM = shutil.which("chromium")
FLAGS = """--headless --no-sandbox --disable-gpu --no-first-run --disable-background-networking
--disable-component-update --disable-sync --virtual-time-budget=3000 --dump-dom"""


@pytest.mark.skipif(CHROMIUM is None, reason="chromium is not installed")
def test_chromium_draws_the_figures_and_lets_the_script_browse_the_texts(tmp_path):
    places = {"a <b>": file(tmp_path / "a.jsonl"), "b": file(tmp_path / "b.jsonl", seed=1, faithful=0.1)}
    page = tmp_path / "report.html"
    page.write_text(compare(places, draws=99).page("Drawn"), encoding="utf-8")
    command = [CHROMIUM, *FLAGS.split(), f"--user-data-dir={tmp_path / 'profile'}", page.as_uri()]
    seen = subprocess.run(command, check=True, capture_output=True, timeout=120, text=True).stdout
    assert len(re.findall('<svg[^>]* class="plot"', seen)) == 6
    assert "60 texts · 1–25 shown" in re.sub("<[^>]+>", "", seen)  # the script ran
    assert "a <b>" not in seen and "a &lt;b&gt;" in seen
