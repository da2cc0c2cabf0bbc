"""The page of a comparison: stands alone, runs one known script, and shows text as text."""

import base64
import hashlib
import re
from html import unescape

from page_reader import Page

from unirex.report.browser_data import ComparedExample, MethodAnswer
from unirex.report.compare_page import Section, compare_page
from unirex.report.figures import Figure, canvas
from unirex.report.grid import Cell, Grid, Head

EVIL = "</script><script>alert(1)</script><img src=x onerror=alert(2)>"


def shown(text):
    answer = MethodAnswer("pos", 0.9, ((0, 0, 1, 3, False), (0, 2, 7, 8, True)))
    return ComparedExample("text-1", (text,), None, "pos", ((0, 2, 7),), {EVIL: answer, "b": answer})


def drawn():
    figure, (axis,) = canvas(1, across=1, height=2)
    axis.set_title(EVIL)
    return figure


def page(texts=(f"a witty {EVIL}",)):
    grid = Grid([Head("", "method"), Head("Acc", "accuracy")], [[Cell(EVIL), Cell("93.5")]], EVIL)
    section = Section("scores", EVIL, EVIL, [EVIL], [grid], [Figure("f", EVIL, EVIL, drawn)], {EVIL: [grid]})
    return compare_page(EVIL, [section], [shown(text) for text in texts], [EVIL, "b"], texts=1)


def test_no_text_is_more_than_text():
    html = page()
    assert "<img" not in html and "<script>alert" not in html
    assert len(re.findall("<script", html)) == 2  # the examples as JSON, and what browses them


def test_the_page_allows_one_script_by_its_hash_and_nothing_else():
    html = page()
    policy = unescape(re.search(r'http-equiv="Content-Security-Policy" content="([^"]+)"', html)[1])
    script = re.search(r"<script>(.*?)</script>", html, re.S)[1]
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    assert policy.startswith("default-src 'none'; style-src 'unsafe-inline'")
    assert policy.endswith(f"script-src 'sha256-{digest}'") and "unsafe-eval" not in policy


def test_the_page_stands_alone():
    html = page()
    marked_up = re.sub(r"<script.*?</script>", "", html, flags=re.S)
    outside = re.findall(r"""(?:src|href|action)=["']?(?!#)([^"'\s>]+)""", marked_up)
    assert [address for address in outside if not address.startswith("x")] == []
    assert "url(http" not in html and "@import" not in html
    read = Page(marked_up)  # well-formed, too
    assert read.texts("h1") == [EVIL] and read.texts("summary") == [EVIL]


def test_without_examples_no_script_is_allowed():
    html = page(texts=())
    assert "<script" not in html and "script-src" not in html and 'href="#examples"' not in html


def test_every_link_of_the_contents_leads_somewhere():
    html = page()
    ids = set(re.findall(r' id="([^"]+)"', html))
    links = re.findall(r'<a href="#([^"]+)"', html)
    assert links == ["examples", "scores"] and set(links) <= ids
