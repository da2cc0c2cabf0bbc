"""Figures: the same numbers give the same files; in a page they take its colours and hold no surprises."""

import re
from math import nan
from xml.etree import ElementTree

import pytest

from unirex.metrics.calibration import BinRow
from unirex.report import plots
from unirex.report.figures import COLOURS, INK, Figure, SystemStyle
from unirex.report.plots import LinePanel, Point, Reliability, Series

EVIL = "<script>alert('$x_{$')</script>\x1b é 漢 🎲"
NUMBERS = [(0.1, 0.05, 0.15), (0.2, 0.1, 0.3), (0.25, nan, nan)]


def drawings(name=EVIL):
    line = Series(name, NUMBERS, 0)
    floor = Series(name, NUMBERS, 0, floor=True)
    panel = LinePanel("Comp ↑", "tokens", "", ["1 %", "5 %", "10 %"], [line, floor])
    bins = [BinRow(0.5, 0.6, 3, 0.55, 0.3), BinRow(0.9, 1.0, 17, 0.95, 0.9)]
    diagram = Reliability(name, bins, [(0.95, (0.9, 0.7, 0.97))], (0.1, 0.05, 0.2), 3)
    points = [Point(name, NUMBERS, 0, True), Point("_hidden", NUMBERS, 1, False)]
    other = Series("_hidden", NUMBERS, 1)
    return {
        "lines": lambda: plots.lines([panel, panel]),
        "trade_off": lambda: plots.trade_off(points, ["Acc", "CSD", "AUPRC"]),
        "reliability": lambda: plots.reliability([diagram] * 5),
        "dots": lambda: plots.dots([name, "pos", "neutral"], [line, other], across="F1"),
    }


def test_the_same_numbers_give_the_same_files(tmp_path):
    kind = "lines"
    for folder in ("one", "two"):
        paths = Figure(kind, "Title", "Caption", drawings()[kind]).save(tmp_path / folder)
        assert [path.name for path in paths] == [f"{kind}.svg", f"{kind}.png"]
    for ending in ("svg", "png"):
        first, second = ((tmp_path / folder / f"{kind}.{ending}").read_bytes() for folder in ("one", "two"))
        assert first == second and len(first) > 2000
    assert ElementTree.fromstring((tmp_path / "one" / f"{kind}.svg").read_text("utf-8")) is not None


@pytest.mark.parametrize("kind", drawings())
def test_in_a_page_a_drawing_is_themed_and_harmless(kind):
    shown = Figure(kind, "1 < 2", "Caption", drawings()[kind]).inline()
    root = ElementTree.fromstring(shown)
    tags = {node.tag for node in root.iter()}
    assert tags <= {"svg", "g", "path", "defs", "use", "text", "clipPath", "rect"}
    for node in root.iter():
        assert not [name for name in node.attrib if name.startswith("on")]
        assert node.get("href", "#").startswith("#") and "http" not in str(node.attrib)
    assert "<script" not in shown and "$x_{$" in "".join(root.itertext())
    assert not {INK, *COLOURS} & set(re.findall("#[0-9a-f]{6}", shown)) and "currentColor" in shown
    assert "font-family" not in shown


def test_ids_of_two_figures_never_meet():
    one, two = (Figure(name, "T", "C", drawings()["lines"]).inline() for name in ("one", "two"))
    found = [set(re.findall(r' id="([^"]+)"', shown)) for shown in (one, two)]
    assert found[0] and not found[0] & found[1]
    for shown, ids in zip((one, two), found, strict=True):
        assert set(re.findall(r'(?:href="#|url\(#)([^")]+)', shown)) <= ids


def test_systems_are_told_apart_without_colour():
    styles = [SystemStyle.of(order) for order in range(20)]
    assert len({(style.marker, str(style.dash)) for style in styles}) == 20
    assert len({(style.colour, str(style.dash)) for style in styles}) == 20


def test_a_name_that_starts_with_an_underscore_is_in_the_legend():
    shown = Figure("x", "T", "C", drawings()["trade_off"]).inline()
    assert "_hidden" in shown


def test_a_tight_figure_is_drawn_without_a_warning(recwarn):
    series = [Series("W" * 300, NUMBERS[:2], 0)]
    for narrow in (False, True):
        drawn = Figure("x", "T", "C", lambda: plots.dots(["a", "b"], series, across="F1", texts=[3, 7]))
        drawn.inline(narrow=narrow)
    assert not recwarn.list


def test_on_a_phone_panels_stand_below_each_other():
    figure = Figure("x", "T", "C", drawings()["trade_off"])
    sizes = []
    for narrow in (False, True):
        root = ElementTree.fromstring(figure.inline(narrow=narrow))
        _, _, width, height = map(float, root.attrib["viewBox"].split())
        sizes.append(height / width)
    assert sizes[0] < 1 and sizes[1] > 2


def test_a_number_without_an_interval_is_not_drawn():
    """A series whose last number has none: one marker fewer."""
    lines = [Series("m", numbers, 0) for numbers in (NUMBERS[:2], NUMBERS)]
    panels = [LinePanel("", "", "", ["1", "2", "3"], [line]) for line in lines]
    two, three = (
        Figure("x", "T", "C", lambda panel=panel: plots.lines([panel])).inline() for panel in panels
    )
    assert two.count("<use") > 2 and three.count("<use") == two.count("<use")


def test_how_many_texts_stand_behind_a_mark_is_shown():
    series = [Series("m", NUMBERS[:1], 0)]
    drawn = Figure("x", "T", "C", lambda: plots.dots(["a"], series, across="F1", texts=[41])).inline()
    assert "(n = 41)" in drawn
    bins = [BinRow(0.5, 0.6, 37, 0.55, 0.3), BinRow(0.9, 1.0, 71, 1.0, 1.0)]
    diagram = Reliability("m", bins, [], (0.1, 0.05, 0.2), 0)
    drawn = Figure("y", "T", "C", lambda: plots.reliability([diagram])).inline()
    assert ">37<" in drawn and ">71<" in drawn
