"""Charts: numbers land where they belong, and labels do not touch."""

import math
from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st
from page_reader import Page
from sample_explanations import curve

from unirex.report.axis import Axis, apart, ticks
from unirex.report.chart import Series, chart, series_of

NUMBERS = st.floats(-1, 1)


@given(st.lists(NUMBERS, min_size=1))
def test_an_axis_holds_zero_and_every_value_between_few_round_numbers(values):
    axis = Axis.over(values, low=100, high=0)
    labels = [value for value, _ in ticks(axis)]
    assert 2 <= len(labels) <= 9
    assert all(-1e-6 <= axis(value) <= 100 + 1e-6 for value in (0.0, *values))


def test_bigger_numbers_are_higher_on_the_paper():
    axis = Axis.over([0.0, 0.5], low=100, high=0)
    assert (axis(0.0), axis(0.25), axis(0.5)) == (100, 50, 0)


@given(st.lists(st.floats(0, 300), min_size=1, max_size=10))
def test_labels_keep_their_distance_and_their_order(places):
    moved = apart(places, gap=15, low=0, high=300)
    ordered = sorted(moved)
    assert all(b - a >= 15 - 1e-6 for a, b in pairwise(ordered))
    assert ordered[0] >= -1e-6 and ordered[-1] <= 300
    assert [x for _, x in sorted(zip(places, moved, strict=True), key=lambda pair: pair)] == ordered


def test_series_are_sorted_by_budget_and_know_the_floor():
    values = {"csd@50": 0.5, "csd@5": 0.1, "csd@10": math.nan, "csd": 1.0, "csd_mean@5": 9.0}
    found = series_of("csd", {"ours": values, "random": values, "one": {"csd@5": 0.1}}, systems=["ours"])
    assert [(one.name, one.floor) for one in found] == [("ours", False), ("random", True)]
    assert list(found[0].values.items()) == [(5.0, 0.1), (50.0, 0.5)]


def test_lines_are_told_apart_without_colour():
    looks = [Series("x", {}, order, False) for order in range(4)]
    assert len({one.look.get("stroke_dasharray") for one in looks}) == 4
    assert len({one.marker for one in looks}) == 4


def test_a_chart_says_what_it_is_and_shortens_names_only_in_the_drawing():
    rows = {"a system with a very long name": curve(csd=[0.1, 0.2, 0.3, 0.4, 0.5])}
    svg = chart("CSD by budget", series_of("csd", rows, systems=rows))
    page = Page(svg)
    assert page.texts("title") == ["CSD by budget"] and page.texts("text", "name") == ["a system with a …"]
    assert [text for text in page.texts("text", "middle") if "%" in text] == [
        "1 %",
        "5 %",
        "10 %",
        "20 %",
        "50 %",
    ]
