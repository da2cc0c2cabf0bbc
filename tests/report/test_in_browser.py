"""A real browser draws the comparison page."""

import shutil
import subprocess

import pytest
from sample_explanations import curve, explanation

from unirex.report import comparison_page

CHROMIUM = shutil.which("chromium")
FLAGS = """--headless --no-sandbox --disable-gpu --no-first-run --disable-background-networking
--disable-component-update --disable-sync --window-size=1200,1600"""


@pytest.mark.skipif(CHROMIUM is None, reason="chromium is not installed")
def test_chromium_draws_the_page(tmp_path):
    one = explanation(
        "a witty , gorgeous film", scores=[0.1, 0.6, 0.0, 0.9], gold=["gorgeous"], gold_label="pos"
    )
    rows = {"ours": curve(comprehensiveness=[0.1, 0.2, 0.3, 0.4, 0.5], sufficiency=[0.3, 0.2, 0.1, 0.0, 0.0])}
    page, picture = tmp_path / "page.html", tmp_path / "page.png"
    page.write_text(comparison_page(title="Drawn", systems={"ours": [one]}, rows=rows), encoding="utf-8")
    places = [f"--user-data-dir={tmp_path / 'profile'}", f"--screenshot={picture}", page.as_uri()]
    subprocess.run([CHROMIUM, *FLAGS.split(), *places], check=True, capture_output=True, timeout=120)
    content = picture.read_bytes()
    assert content.startswith(b"\x89PNG") and len(content) > 30_000  # a blank page is about 10 kB
