"""The figures of studies: lines over what varies, quality against cost, intervals."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from math import isnan, nan
from typing import TYPE_CHECKING, Any

from unirex.comparison import Comparison
from unirex.comparison.figures import INTERVALS, estimate
from unirex.comparison.tables import value_cell
from unirex.data.validate import is_number
from unirex.metrics.paired import mean_std
from unirex.metrics.registry import metric
from unirex.report import plots
from unirex.report.figures import MUTED, Figure, SystemStyle, canvas, short_names
from unirex.report.grid import Cell as TableCell
from unirex.report.plots import Estimate, LinePanel, Series
from unirex.report.table import cell, header

if TYPE_CHECKING:
    from unirex.experiments.results import Results

GOLD = "training.gold_fraction"
CONSTANT = "\0"  # the place of rows that have the same value at all points
Points = dict[
    Any, tuple[str, list[float]]
]  # at each value of a setting the variant and a value for each seed
Dots = Mapping[str, tuple[Estimate, float]]  # of each row, and as published


def mean_cell(key: str, values: Sequence[float]) -> TableCell:
    """Mean ± standard deviation over seeds."""
    mean, std = mean_std(values)
    if isnan(std):
        return value_cell(key, mean)
    return TableCell(f"{cell(key, mean)} ± {cell(key, std)}", numbers={"": mean, "std": std})


def auprc_lines(results: Results, comparison: Comparison, trained_on: str, measured_on: str) -> Figure | None:
    """AUPRC over the one setting that varies; bands are over seeds, of a single one over texts."""
    if not results.varied:
        return None
    setting, key = results.varied[0], "auprc"
    found = _by_setting(results, key, setting, trained_on, measured_on)
    several = any(len(values) > 1 for points in found.values() for _, values in points.values())
    of_texts = {} if several else {method.name: estimate(method, key) for method in comparison.methods}
    places = sorted({at for points in found.values() for at in points} - {CONSTANT}, key=_in_order)
    lines = [
        Series(row, [_spread(points, at, of_texts) for at in places], order)
        for order, (row, points) in enumerate(found.items())
    ]
    of_gold = setting == GOLD
    across = "training texts with gold, %" if of_gold else setting
    panel = LinePanel("", across, header(key), list(map(str, places)), lines)
    against = "the per cent of training texts that keep their gold rationale" if of_gold else setting
    bands = "one standard deviation over seeds" if several else "95 % intervals over texts, of one seed"
    return Figure(
        "auprc",
        "Plausibility by gold" if of_gold else f"Plausibility by {setting}",
        f"AUPRC against {against}. Bands: {bands}.",
        lambda: plots.lines([panel], height=4.2),
    )


def _by_setting(
    results: Results, key: str, setting: str, trained_on: str, measured_on: str
) -> dict[str, Points]:
    """A metric of every row at every value of a setting, one number for each seed."""
    found: dict[str, Points] = {}
    for measurement in results.finished:
        value, variant = results.saved(measurement)["metrics"].get(key), measurement.variant
        here = (measurement.trained_on, measurement.measured_on) == (trained_on, measured_on)
        if here and value is not None:
            others = {name: at for name, at in variant.point.items() if name != setting}
            points = found.setdefault(replace(variant, point=others).name, {})
            at = _hashable(variant.point.get(setting, CONSTANT))
            points.setdefault(at, (variant.name, []))[1].append(metric(key).scale * value)
    return found


def _spread(points: Points, at: Any, of_texts: Mapping[str, Estimate]) -> Estimate:
    """A point of a line: its interval over texts if that is given, else mean and deviation over seeds."""
    name, values = points.get(at) or points.get(CONSTANT) or ("", [nan])
    mean, std = mean_std(values)
    spread = 0.0 if isnan(std) else std
    return of_texts.get(name, (mean, mean - spread, mean + spread))


def _hashable(value: Any) -> Any:
    return str(value) if isinstance(value, list | dict) else value


def _in_order(value: Any) -> tuple[bool, float, str]:
    """Numbers by size, then everything else by name."""
    return (False, float(value), "") if is_number(value) else (True, 0.0, str(value))


def cost(results: Results, comparison: Comparison, trained_on: str, measured_on: str) -> Figure | None:
    """Faithfulness and plausibility against the seconds that a text takes."""
    keys = [key for key in ("csd", "auprc") if comparison.measured([key])]
    if not keys or not comparison.measured(["seconds"]):
        return None
    return Figure(
        "cost",
        "Quality against cost",
        "Milliseconds to predict and explain one text, where it was measured (left is cheaper, up is "
        "better). A line joins the same method at different settings.",
        lambda: _cost(results, comparison, keys),
    )


def _cost(results: Results, comparison: Comparison, keys: Sequence[str]) -> Any:
    rows = {
        measurement.variant.name: replace(measurement.variant, point={}).name
        for measurement in results.finished
    }
    figure, axes = canvas(len(keys), across=2, height=4.0)
    for axis, key in zip(axes, keys, strict=True):
        groups: dict[str, list[tuple[float, float]]] = {}
        for method in comparison.methods:
            point = (1000 * method.value("seconds"), metric(key).scale * method.value(key))
            groups.setdefault(rows[method.name], []).append(point)
        for order, (name, points) in enumerate(groups.items()):
            style = SystemStyle.of(order)
            across, up = zip(*sorted(points), strict=True)
            axis.plot(across, up, marker=style.marker, color=style.colour, ls=style.dash, label=name)
        axis.set(xscale="log", xlabel="milliseconds a text", ylabel=header(key))
        for ticks in (axis.xaxis.set_major_formatter, axis.xaxis.set_minor_formatter):
            ticks(lambda value, _: f"{value:g}" if f"{value:g}"[0] in "125" else "")
    figure.legend(*axes[0].get_legend_handles_labels(), loc="outside lower center", ncols=5)
    return figure


def intervals(results: Results, comparison: Comparison, trained_on: str, measured_on: str) -> Figure | None:
    """CSD and AUPRC of every row; CSD on every dataset, if several were measured on."""
    places = [on for by, on in results.datasets() if by == trained_on]
    if measured_on != places[0]:
        return None  # drawn with the first
    if len(places) > 1:
        shown = {f"{header('csd')} on {on}": (on, "csd", results.comparison(trained_on, on)) for on in places}
    else:
        keys = comparison.measured(["csd", "auprc"])
        shown = {header(key): (measured_on, key, comparison) for key in keys}
    panels = {title: _dots(results, trained_on, *about) for title, about in shown.items()}
    panels = {title: dots for title, dots in panels.items() if dots}
    if not panels:
        return None
    printed = any(not isnan(published) for dots in panels.values() for _, published in dots.values())
    what = "CSD by dataset" if len(places) > 1 else "Faithfulness and plausibility"
    return Figure(
        "intervals",
        what,
        f"{', '.join(dict.fromkeys(header(key) for _, key, _ in shown.values()))} of every row. "
        f"{'Hollow: as published. ' if printed else ''}{INTERVALS}",
        lambda: _intervals(panels, alike=len(places) > 1),
    )


def _dots(results: Results, trained_on: str, measured_on: str, key: str, comparison: Comparison) -> Dots:
    paper = results.paper(trained_on, measured_on)
    dots = {}
    for method in comparison.methods:
        printed = paper[method.name].metrics if method.name in paper else {}
        dots[method.name] = estimate(method, key), metric(key).scale * _printed(printed, key)
    return {name: dot for name, dot in dots.items() if not isnan(dot[0][0])}


def _printed(metrics: Mapping[str, tuple[float, float]], key: str) -> float:
    """The mean that the paper prints; CSD follows from the two it is the difference of."""
    if key == "csd" and key not in metrics:
        return _printed(metrics, "comprehensiveness") - _printed(metrics, "sufficiency")
    return metrics[key][0] if key in metrics else float("nan")


def _intervals(panels: Mapping[str, Dots], *, alike: bool) -> Any:
    """One line for every row, its interval on it; panels of the same metric have the same scale."""
    rows = list(dict.fromkeys(name for dots in panels.values() for name in dots))
    figure, axes = canvas(len(panels), across=2, height=1.0 + 0.26 * len(rows))
    style = SystemStyle.of(0)
    for axis, (title, dots) in zip(axes, panels.items(), strict=True):
        for row, name in enumerate(rows):
            if name in dots:
                (value, low, high), published = dots[name]
                axis.hlines(row, low, high, color=style.colour, lw=1.6)
                axis.plot(value, row, "o", color=style.colour, ms=5)
                axis.plot(published, row, "D", mfc="none", mec=MUTED, ms=4.5)
        axis.set_yticks(range(len(rows)), short_names(rows))
        axis.set_ylim(len(rows) - 0.4, -0.6)
        axis.set(title=title)
    if alike:
        bounds = [axis.get_xlim() for axis in axes]
        for axis in axes:
            axis.set_xlim(min(low for low, _ in bounds), max(high for _, high in bounds))
    return figure
