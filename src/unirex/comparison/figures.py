"""The figures of a comparison: the numbers they show, and their captions."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from math import isnan, nan
from typing import TYPE_CHECKING

from unirex.comparison.method import (
    ExampleSubset,
    Method,
    f1_by_class,
    f1_intervals,
    interval_over,
    mean_over,
    split_by_length,
)
from unirex.comparison.notes import figure_note
from unirex.errors import UserError, unknown
from unirex.metrics.calibration import share_interval
from unirex.metrics.registry import metric
from unirex.report import plots
from unirex.report.figures import Figure
from unirex.report.plots import Estimate, LinePanel, Point, Reliability, Series
from unirex.report.table import header

if TYPE_CHECKING:
    from unirex.comparison.comparison import Comparison

MOST_CLASSES = 20  # more are only in the table
SUBSET_METRICS = ("accuracy", "csd", "auprc")  # one for each desideratum, all of them means over texts
FEWEST = 10  # texts behind a mark; of fewer, a number says little
NEEDS = {  # of each figure
    "trade-off": "needs two methods, and two of performance, faithfulness and plausibility of each",
    "curves": "needs comprehensiveness or sufficiency at two budgets",
    "calibration": "needs predicted probabilities",
    "classes": f"needs gold labels of 2 to {MOST_CLASSES} classes",
    "lengths": "needs texts of different lengths",
}
INTERVALS = "Bars and bands: 95 % intervals over texts; of several seeds, that of their mean."


def figures(comparison: Comparison) -> list[Figure]:
    """Every figure that there are numbers for."""
    return [figure for make in FIGURES.values() for figure in make(comparison)]


def figure(comparison: Comparison, kind: str) -> Figure:
    """One figure by its name; a `UserError` if there are no numbers for it."""
    if kind not in FIGURES:
        raise unknown("figure", kind, FIGURES)
    found = next(FIGURES[kind](comparison), None)
    if found is None:
        raise UserError(f"figure '{kind}': {NEEDS[kind]}.")
    return found


def trade_off(comparison: Comparison) -> Iterator[Figure]:
    """The desiderata against each other, one metric each, of those that every method has."""
    keys = [
        key
        for key in (comparison.performance, "csd", "auprc")
        if not any(isnan(sum(estimate(method, key))) for method in comparison.methods)
    ]
    if len(keys) < 2 or len(comparison.methods) < 2:
        return
    top = pareto_optimal(comparison.methods, keys)
    points = [
        Point(method.name, [estimate(method, key) for key in keys], order, method.name in top)
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


def estimate(method: Method, key: str) -> Estimate:
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
            lines.append(Series(method.name, [estimate(method, name) for name in budgets], order))
            if method.floor:
                floor = [(method.floor.get(name, nan), nan, nan) for name in budgets]
                lines.append(Series(method.name, floor, order, floor=True))
        ticks = [f"{size} %" for size in sizes]
        panels.append(LinePanel(header(key), "tokens in the rationale", "", ticks, lines))
    if panels:
        dotted = "Dotted: the mean of random scores; a line on it does no better than chance. "
        yield Figure(
            "curves",
            "Faithfulness by size of the rationale",
            "How far the prediction falls without the rationale (Comp) and from the rationale alone (Suff). "
            f"{dotted if any(method.floor for method in comparison.methods) else ''}"
            f"{INTERVALS}{figure_note(comparison.methods)}",
            lambda: plots.lines(panels, height=3.6),
        )


def reliability(comparison: Comparison) -> Iterator[Figure]:
    """Whether confidence means anything."""
    diagrams = [_diagram(method, order) for order, method in enumerate(comparison.methods)]
    shown = [diagram for diagram in diagrams if diagram.points]
    if shown:
        yield Figure(
            "calibration",
            "Calibration",
            "How often a prediction is right, by its confidence; on the dashed line the two are equal. "
            f"Lines: 95 % intervals; fewer than {FEWEST} texts have no mark. Bars at the foot: how many "
            "texts are so sure. ECE is the mean gap (lower is better).",
            lambda: plots.reliability(shown),
        )


def _diagram(method: Method, order: int) -> Reliability:
    """The bins of a method, and a point for each that holds enough texts."""
    bins, points = method.reliability, []
    for row in bins:
        texts = row.texts / method.seeds  # the same texts for every seed, so that they count once
        if texts >= FEWEST:
            points.append((row.confidence, (row.accuracy, *share_interval(row.accuracy, texts))))
    error = (method.value("ece"), *method.interval("ece"))
    return Reliability(method.name, bins, points, error, order)


def classes(comparison: Comparison) -> Iterator[Figure]:
    """F1 of each label."""
    by_class = {label: row for label, row in f1_by_class(comparison.methods).items() if row[0] >= FEWEST}
    if not 2 <= len(by_class) <= MOST_CLASSES:
        return
    labels, texts = [str(label) for label in by_class], [texts for texts, _ in by_class.values()]
    lines = []
    for order, method in enumerate(comparison.methods):
        bounds = zip(by_class.values(), f1_intervals(method, list(by_class)), strict=True)
        numbers = [(100 * f1[order], 100 * low, 100 * high) for (_, f1), (low, high) in bounds]
        lines.append(Series(method.name, numbers, order))
    yield Figure(
        "classes",
        "F1 by class",
        "F1 of every label in per cent (higher is better); n is the number of texts with that label, and "
        f"labels of fewer than {FEWEST} are left out. {INTERVALS}",
        lambda: plots.dots(labels, lines, across="F1, %", texts=texts),
    )


def lengths(comparison: Comparison) -> Iterator[Figure]:
    """The desiderata on short and on long texts."""
    subsets = [part for part in split_by_length(comparison.methods[0].lengths) if part.texts >= FEWEST]
    keys = comparison.measured(SUBSET_METRICS)
    if len(subsets) < 2 or not keys:
        return
    panels = []
    for key in keys:
        lines = []
        for order, method in enumerate(comparison.methods):
            lines.append(Series(method.name, [_part(method, key, subset) for subset in subsets], order))
        panels.append(LinePanel(header(key), "tokens", "", [subset.name for subset in subsets], lines))
    yield Figure(
        "lengths",
        "Short and long texts",
        f"The texts in quarters by their number of tokens; fewer than {FEWEST} texts have no mark. "
        f"Read it for trends; the parts are small. {INTERVALS}",
        lambda: plots.lines(panels, height=3.4),
    )


def _part(method: Method, key: str, subset: ExampleSubset) -> Estimate:
    """A metric over some of the texts with its interval, in the units it is shown in."""
    scale, (low, high) = metric(key).scale, interval_over(method, key, subset, fewest=FEWEST)
    return scale * mean_over(method, key, subset), scale * low, scale * high


FIGURES: dict[str, Callable[[Comparison], Iterator[Figure]]] = {
    "trade-off": trade_off,
    "curves": curves,
    "calibration": reliability,
    "classes": classes,
    "lengths": lengths,
}
