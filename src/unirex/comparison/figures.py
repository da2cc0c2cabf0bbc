"""The figures of a comparison: the numbers they show, and their captions."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from math import isnan, nan
from typing import TYPE_CHECKING

from unirex.comparison.examples import any_pair, prediction_agreement
from unirex.comparison.method import Method, f1_by_class, mean_over, split_by_length
from unirex.comparison.notes import figure_note
from unirex.metrics.registry import metric
from unirex.report import plots
from unirex.report.figures import Figure
from unirex.report.plots import Estimate, LinePanel, Point, Reliability, Series
from unirex.report.table import header

if TYPE_CHECKING:
    from unirex.comparison.comparison import Comparison

MOST_CLASSES = 20  # more are only in the table
SUBSET_METRICS = ("accuracy", "csd", "auprc")  # one for each desideratum, all of them means over texts
INTERVALS = "Bars and bands: 95 % intervals over texts; of several seeds, that of their mean."


def figures(comparison: Comparison) -> list[Figure]:
    """Every figure that there are numbers for."""
    makers = (trade_off, curves, reliability, classes, lengths, agreement)
    return [figure for make in makers for figure in make(comparison)]


def trade_off(comparison: Comparison) -> Iterator[Figure]:
    """The desiderata against each other, one metric each, of those that every method has."""
    keys = [
        key
        for key in (comparison.performance, "csd", "auprc")
        if all(not isnan(method.value(key)) for method in comparison.methods)
    ]
    if len(keys) < 2 or len(comparison.methods) < 2:
        return
    top = pareto_optimal(comparison.methods, keys)
    points = [
        Point(method.name, [_estimate(method, key) for key in keys], order, method.name in top)
        for order, method in enumerate(comparison.methods)
    ]
    headers = [metric(key).header for key in keys]
    yield Figure(
        "trade-off",
        "Trade-off",
        "Up and to the right is better. Filled: no other method is at least as good in everything shown and "
        f"better in something (Pareto-optimal). Hollow: one is. {INTERVALS}{figure_note(comparison.methods)}",
        lambda: plots.trade_off(points, headers),
    )


def pareto_optimal(methods: Sequence[Method], keys: Sequence[str]) -> set[str]:
    """The methods that no other beats: at least as good in everything, better in something.

    A method that lacks a number is not among them.
    """
    signs = [1 if metric(key).direction == "higher" else -1 for key in keys]
    return unbeaten(
        {
            method.name: [sign * method.value(key) for sign, key in zip(signs, keys, strict=True)]
            for method in methods
        }
    )


def unbeaten(rows: Mapping[str, Sequence[float]]) -> set[str]:
    """The names of the rows that no other beats, where higher is better in everything.

    >>> sorted(unbeaten({"a": [1, 3], "b": [2, 2], "c": [2, 1]}))
    ['a', 'b']
    """

    def beaten(row: Sequence[float]) -> bool:  # comparisons with NaN are false: a missing number never beats
        pairs = [list(zip(other, row, strict=True)) for other in rows.values()]
        return any(all(a >= b for a, b in both) and any(a > b for a, b in both) for both in pairs)

    return {name for name, row in rows.items() if not beaten(row) and not any(map(isnan, row))}


def _estimate(method: Method, key: str) -> Estimate:
    """A metric with its interval, in the units it is shown in."""
    scale, (low, high) = metric(key).scale, method.interval(key)
    return scale * method.value(key), scale * low, scale * high


def curves(comparison: Comparison) -> Iterator[Figure]:
    """Faithfulness by size of the rationale."""
    names = {name for method in comparison.methods for name in method.metrics if "/" not in name}
    panels = []
    for key in ("comprehensiveness", "sufficiency"):
        sizes = sorted((name.partition("@")[2] for name in names if name.startswith(f"{key}@")), key=float)
        if len(sizes) < 2:
            continue
        budgets = [f"{key}@{size}" for size in sizes]
        lines = []
        for order, method in enumerate(comparison.methods):
            lines.append(Series(method.name, [_estimate(method, name) for name in budgets], order))
            if method.floor:
                floor = [(method.floor.get(name, nan), nan, nan) for name in budgets]
                lines.append(Series(method.name, floor, order, floor=True))
        ticks = [f"{size} %" for size in sizes]
        panels.append(LinePanel(header(key), "tokens in the rationale", "", ticks, lines))
    if panels:
        yield Figure(
            "curves",
            "Faithfulness by size of the rationale",
            "How far the prediction falls without the rationale (Comp) and from the rationale alone (Suff). "
            "A method whose line is on the dotted one of its colour does no better than chance. "
            f"{INTERVALS}{figure_note(comparison.methods)}",
            lambda: plots.lines(panels, height=3.6),
        )


def reliability(comparison: Comparison) -> Iterator[Figure]:
    """Whether confidence means anything."""
    diagrams = [
        Reliability(method.name, method.reliability, method.value("ece"), order)
        for order, method in enumerate(comparison.methods)
    ]
    shown = [diagram for diagram in diagrams if diagram.bins]
    if shown:
        yield Figure(
            "calibration",
            "Calibration",
            "How often a prediction is right, by its confidence; on the dashed line the two are equal. "
            "Bars: how many texts are so sure. ECE is the mean gap (lower is better).",
            lambda: plots.reliability(shown),
        )


def classes(comparison: Comparison) -> Iterator[Figure]:
    """F1 of each label."""
    by_class = f1_by_class(comparison.methods)
    if not 2 <= len(by_class) <= MOST_CLASSES:
        return
    labels, texts = [str(label) for label in by_class], [texts for texts, _ in by_class.values()]
    lines = [
        Series(method.name, [(100 * f1[order], nan, nan) for _, f1 in by_class.values()], order)
        for order, method in enumerate(comparison.methods)
    ]
    yield Figure(
        "classes",
        "F1 by class",
        "F1 of every label in per cent (higher is better); n is the number of texts with that label.",
        lambda: plots.dots(labels, lines, across="F1, %", texts=texts),
    )


def lengths(comparison: Comparison) -> Iterator[Figure]:
    """The desiderata on short and on long texts."""
    subsets = split_by_length(comparison.methods[0].lengths)
    keys = comparison.measured(SUBSET_METRICS)
    if len(subsets) < 2 or not keys:
        return
    panels = []
    for key in keys:
        lines = []
        for order, method in enumerate(comparison.methods):
            means = [metric(key).scale * mean_over(method, key, subset) for subset in subsets]
            lines.append(Series(method.name, [(mean, nan, nan) for mean in means], order))
        panels.append(LinePanel(header(key), "tokens", "", [subset.name for subset in subsets], lines))
    yield Figure(
        "lengths",
        "Short and long texts",
        "The texts in quarters by their number of tokens. Read it for trends; the parts are small.",
        lambda: plots.lines(panels, height=3.4),
    )


def agreement(comparison: Comparison) -> Iterator[Figure]:
    """Which methods give the same labels, and which select the same words."""
    if len(comparison.methods) < 2:
        return
    matrices = [
        ("Same label, % of texts", prediction_agreement(comparison.methods)),
        (f"Same words at {comparison.budget:g} %, F1", comparison.gathered.rationale_agreement()),
    ]
    panels = [(title, matrix) for title, matrix in matrices if any_pair(matrix)]
    if not panels:
        return
    yield Figure(
        "agreement",
        "Agreement between methods",
        "Same label: the share of texts that two methods give the same one. Same words: the mean F1 of the "
        f"words they select for {comparison.budget:g} % of the tokens. First seed of each; darker is more.",
        lambda: plots.heat_map(panels, [method.name for method in comparison.methods]),
    )
