"""The figures of a comparison: which of them there are numbers for, and what they show in words."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import isnan
from typing import TYPE_CHECKING

from unirex.comparison import examples as agreement
from unirex.comparison import method as breakdown
from unirex.comparison.method import Method, Part
from unirex.comparison.notes import in_figures
from unirex.metrics.registry import metric
from unirex.report import plots
from unirex.report.figures import Figure, heat
from unirex.report.plots import Line, Number, Panel, Point, Reliability

if TYPE_CHECKING:
    from unirex.comparison.comparison import Comparison


NAN = float("nan")
CLASSES = 20  # more are only in the table
SURE = "Bars and bands: 95 % intervals over texts; of several seeds, that of their mean."


def figures(found: Comparison) -> list[Figure]:
    """Every figure that there are numbers for."""
    made = (trade_off, curves, reliability, classes, lengths, agreements)
    return [figure for make in made for figure in make(found)]


def desiderata(found: Comparison) -> list[str]:
    """One metric for each desideratum, of those that every method has."""
    wanted = (found.performance, "csd", "auprc")
    return [key for key in wanted if all(not isnan(one.value(key)) for one in found.methods)]


def trade_off(found: Comparison) -> Iterator[Figure]:
    """The desiderata against each other."""
    keys = desiderata(found)
    if len(keys) < 2 or len(found.methods) < 2:
        return
    top = optimal(found.methods, keys)
    points = [
        Point(one.name, [number(one, key) for key in keys], order, one.name in top)
        for order, one in enumerate(found.methods)
    ]
    heads = [metric(key).header for key in keys]
    yield Figure(
        "trade-off",
        "Trade-off",
        "Up and to the right is better. Filled: no other method is at least as good in everything shown and "
        f"better in something (Pareto-optimal). Hollow: one is. {SURE}{in_figures(found.methods)}",
        lambda: plots.trade_off(points, heads),
    )


def optimal(methods: Sequence[Method], keys: Sequence[str]) -> set[str]:
    """The methods that no other beats: at least as good in everything, better in something.

    A method that lacks a number is not among them: nobody knows.
    """
    signs = [1 if metric(key).direction == "higher" else -1 for key in keys]
    rows = {
        one.name: [sign * one.value(key) for sign, key in zip(signs, keys, strict=True)] for one in methods
    }

    def beaten(row: list[float]) -> bool:
        pairs = [list(zip(other, row, strict=True)) for other in rows.values()]
        return any(all(a >= b for a, b in both) and any(a > b for a, b in both) for both in pairs)

    return {name for name, row in rows.items() if not beaten(row) and not any(map(isnan, row))}


def curves(found: Comparison) -> Iterator[Figure]:
    """Faithfulness by size of the rationale."""
    panels = [panel for key in ("comprehensiveness", "sufficiency") for panel in _curve(found, key)]
    if panels:
        yield Figure(
            "curves",
            "Faithfulness by size of the rationale",
            "How far the prediction falls without the rationale (Comp) and from the rationale alone (Suff). "
            "A method whose line is on the dotted one of its colour does no better than chance. "
            f"{SURE}{in_figures(found.methods)}",
            lambda: plots.lines(panels, height=3.6),
        )


def _curve(found: Comparison, key: str) -> Iterator[Panel]:
    keys = dict.fromkeys(name for one in found.methods for name in one.metrics if name.startswith(f"{key}@"))
    budgets = sorted(
        (name for name in keys if "/" not in name), key=lambda name: float(name.partition("@")[2])
    )
    if len(budgets) < 2:
        return
    lines = []
    for order, one in enumerate(found.methods):
        lines.append(Line(one.name, [number(one, name) for name in budgets], order))
        if one.floor:
            floor = [(one.floor.get(name, NAN), NAN, NAN) for name in budgets]
            lines.append(Line(one.name, floor, order, floor=True))
    places = [f"{name.partition('@')[2]} %" for name in budgets]
    about = metric(key)
    yield Panel(f"{about.header} {about.arrow}", "tokens in the rationale", "", places, lines)


def reliability(found: Comparison) -> Iterator[Figure]:
    """Whether confidence means anything."""
    known = [
        Reliability(one.name, one.reliability, one.value("ece"), order)
        for order, one in enumerate(found.methods)
    ]
    told = [one for one in known if one.bins]
    if told:
        yield Figure(
            "calibration",
            "Calibration",
            "How often a prediction is right, by its confidence; on the dashed line the two are equal. "
            "Bars: how many texts are so sure. ECE is the mean gap (lower is better).",
            lambda: plots.reliability(told),
        )


def classes(found: Comparison) -> Iterator[Figure]:
    """Who finds which label."""
    reports = [breakdown.by_class(one) for one in found.methods]
    labels = list(dict.fromkeys(label for report in reports for label in report))
    if not 2 <= len(labels) <= CLASSES:
        return
    texts = [next(report[label].support for report in reports if label in report) for label in labels]
    lines = [
        Line(
            one.name,
            [(100 * report[label].f1 if label in report else NAN, NAN, NAN) for label in labels],
            order,
        )
        for order, (one, report) in enumerate(zip(found.methods, reports, strict=True))
    ]
    yield Figure(
        "classes",
        "F1 by class",
        "F1 of every label in per cent (higher is better); n is the number of texts with that label.",
        lambda: plots.dots([str(label) for label in labels], lines, across="F1, %", texts=texts),
    )


def lengths(found: Comparison) -> Iterator[Figure]:
    """The desiderata on short and on long texts."""
    parts = breakdown.by_length(found.methods[0].lengths)
    keys = of_texts(found)
    if len(parts) < 2 or not keys:
        return
    panels = [_by_length(found, key, parts) for key in keys]
    yield Figure(
        "lengths",
        "Short and long texts",
        "The texts in quarters by their number of tokens. Read it for trends; the parts are small.",
        lambda: plots.lines(panels, height=3.4),
    )


def of_texts(found: Comparison) -> list[str]:
    """The desiderata that any method has, as metrics that any part of the texts has a mean of."""
    return [key for key in ("accuracy", "csd", "auprc") if any(key in one.metrics for one in found.methods)]


def _by_length(found: Comparison, key: str, parts: Sequence[Part]) -> Panel:
    about = metric(key)
    lines = [
        Line(
            one.name, [(about.scale * breakdown.mean_over(one, key, part), NAN, NAN) for part in parts], order
        )
        for order, one in enumerate(found.methods)
    ]
    return Panel(f"{about.header} {about.arrow}", "tokens", "", [part.name for part in parts], lines)


def agreements(found: Comparison) -> Iterator[Figure]:
    """Which methods say the same."""
    if len(found.methods) < 2:
        return
    tables = [
        ("Same label, % of texts", agreement.prediction_agreement(found.methods)),
        (f"Same words at {found.budget:g} %, F1", found.gathered.rationale_agreement()),
    ]
    tables = [(title, table) for title, table in tables if agreement.anything(table)]
    if not tables:
        return
    yield Figure(
        "agreement",
        "Agreement between methods",
        "Same label: the share of texts that two methods give the same one. Same words: the mean F1 of the "
        f"words they select for {found.budget:g} % of the tokens. First seed of each; darker is more.",
        lambda: heat(tables, [one.name for one in found.methods]),
    )


def number(method: Method, key: str) -> Number:
    """A metric with its interval, in the units it is shown in."""
    scale, (low, high) = metric(key).scale, method.interval(key)
    return scale * method.value(key), scale * low, scale * high
