"""The plots of a comparison: trade-offs, curves, reliability diagrams, classes; and of one text.

Each returns a matplotlib figure, drawn inside `figures.drawing`. A number without an interval is not drawn.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

from unirex.metrics.calibration import BinRow
from unirex.report.figures import CARD, INK, MUTED, SystemStyle, canvas, short_names

Estimate = tuple[float, float, float]  # a value and the bounds of its interval: low, high
ACROSS = 4  # reliability diagrams in a row
LONGEST = 22  # characters of a name above a reliability diagram
TALLEST_BAR = 0.3  # of the fullest bin, as a share of the height of its diagram


@dataclass(frozen=True, slots=True)
class Series:
    """One system's numbers along an axis; a floor has no interval and is a thin dotted line."""

    name: str
    numbers: Sequence[Estimate]
    order: int  # of the system in the comparison, which sets its style
    floor: bool = False


@dataclass(frozen=True, slots=True)
class LinePanel:
    """Several series over the same ticks."""

    title: str
    xlabel: str
    ylabel: str
    ticks: Sequence[str]
    lines: Sequence[Series]


def lines(panels: Sequence[LinePanel], *, height: float = 3.3) -> Any:
    """Panels of lines with a band for each interval, and one legend for all."""
    figure, axes = canvas(len(panels), across=3, height=height)
    for axis, panel in zip(axes, panels, strict=True):
        for line in panel.lines:
            _line(axis, line)
        axis.set_xticks(range(len(panel.ticks)), panel.ticks)
        axis.set(title=panel.title, xlabel=panel.xlabel, ylabel=panel.ylabel)
        axis.margins(x=0.06)
    every = [line for panel in panels for line in panel.lines]
    systems = {line.name: line for line in every if not line.floor}
    _legend(figure, list(systems.values()), floor=any(line.floor for line in every))
    return figure


def _line(axis: Any, line: Series) -> None:
    style, x = SystemStyle.of(line.order), range(len(line.numbers))
    if line.floor:
        floor = [value for value, _, _ in line.numbers]
        axis.plot(x, floor, color=style.colour, lw=1.2, ls=(0, (1, 2)), zorder=1)
        return
    values, low, high = zip(*map(_drawn, line.numbers), strict=True)
    axis.plot(x, values, **_line_style(line.order), zorder=3)
    axis.fill_between(x, low, high, color=style.colour, alpha=0.14, lw=0, zorder=2)
    known = [False, *(not math.isnan(value) for value in values), False]
    alone = [at for at in x if known[at + 1] and not known[at] and not known[at + 2]]  # a band would not show
    axis.vlines(alone, [low[at] for at in alone], [high[at] for at in alone], color=style.colour, alpha=0.5)


def _drawn(estimate: Estimate) -> Estimate:
    """The estimate if its interval is known; otherwise nothing that a plot would draw."""
    return (math.nan,) * 3 if any(map(math.isnan, estimate)) else estimate


def _line_style(order: int) -> dict[str, Any]:
    style = SystemStyle.of(order)
    edge = {"markeredgecolor": CARD, "markeredgewidth": 0.8}
    return {"color": style.colour, "marker": style.marker, "ls": style.dash, **edge}


@dataclass(frozen=True, slots=True)
class Point:
    """A system's numbers on several desiderata."""

    name: str
    numbers: Sequence[Estimate]  # one per desideratum
    order: int
    optimal: bool  # no other is at least as good in all and better in one


def trade_off(points: Sequence[Point], desiderata: Sequence[str]) -> Any:
    """Every two desiderata against each other: up and right is better; dominated systems are hollow."""
    pairs = list(combinations(range(len(desiderata)), 2))
    figure, axes = canvas(len(pairs), across=3, height=3.5)
    for axis, (x, y) in zip(axes, pairs, strict=True):
        for point in points:
            style = SystemStyle.of(point.order)
            (across, left, right), (up, low, high) = _drawn(point.numbers[x]), _drawn(point.numbers[y])
            bars = {"color": style.colour, "lw": 1, "alpha": 0.55, "zorder": 2}
            axis.plot([left, right], [up, up], **bars)
            axis.plot([across, across], [low, high], **bars)
            fill = style.colour if point.optimal else CARD
            axis.plot(across, up, style.marker, ms=9, mfc=fill, mec=style.colour, mew=1.6, zorder=3)
        axis.set(xlabel=f"{desiderata[x]} →", ylabel=f"{desiderata[y]} →")
        axis.margins(0.14)
    _legend(figure, [Series(point.name, [], point.order) for point in points], line=False)
    return figure


@dataclass(frozen=True, slots=True)
class Reliability:
    """Accuracy of a system by confidence."""

    name: str
    bins: Sequence[BinRow]  # whose numbers of texts stand at the foot
    points: Sequence[tuple[float, Estimate]]  # of the bins worth a mark: mean confidence, share right
    error: Estimate  # ECE
    order: int


def reliability(systems: Sequence[Reliability]) -> Any:
    """Reliability diagrams: accuracy by confidence; a calibrated system is on the diagonal."""
    figure, axes = canvas(len(systems), across=ACROSS, height=2.9)
    labels = short_names([system.name for system in systems], LONGEST)
    for number, (axis, label, system) in enumerate(zip(axes, labels, systems, strict=True)):
        style = SystemStyle.of(system.order)
        axis.plot([0, 1], [0, 1], color=MUTED, lw=1, ls=(0, (4, 3)), zorder=1)
        marks = {"marker": style.marker, "lw": 0.8, "ec": CARD, "clip_on": False}
        for sure, estimate in system.points:
            right, low, high = _drawn(estimate)
            axis.plot([sure, sure], [low, high], color=style.colour, lw=1.4, zorder=2)
            axis.scatter([sure], [right], s=45, color=style.colour, **marks, zorder=3)
        # At the foot, bars for the number of texts in each bin.
        most = max(row.texts for row in system.bins)
        for row in system.bins:
            height, middle = TALLEST_BAR * row.texts / most, (row.low + row.high) / 2
            axis.bar(middle, height, 0.9 * (row.high - row.low), color=style.colour, alpha=0.18, zorder=0)
            above = {"ha": "center", "va": "bottom", "fontsize": 6.5, "color": MUTED}
            axis.text(middle, height + 0.01, f"{row.texts}", **above)
        error, low, high = (100 * bound for bound in system.error)
        axis.set(title=f"{label}\nECE {error:.1f} % ({low:.1f}–{high:.1f})", xlim=(0, 1.03), ylim=(0, 1.03))
        axis.set(xlabel="confidence", ylabel="" if number % ACROSS else "share right")
        axis.set(xticks=[0, 0.5, 1], yticks=[0, 0.5, 1])
    return figure


def dots(
    rows: Sequence[str], systems: Sequence[Series], *, across: str, texts: Sequence[int] | None = None
) -> Any:
    """One row per class, one mark per system; `texts` are the numbers of texts of each class."""
    figure, (axis,) = canvas(1, across=1, height=1.2 + len(rows) * max(0.34, 0.14 * len(systems)))
    for system in systems:
        style = SystemStyle.of(system.order)
        # Marks of a row stand a little apart, so that equal ones do not hide each other.
        shift = 0.5 * (system.order / (len(systems) - 1) - 0.5) if len(systems) > 1 else 0.0
        heights = [row + shift for row in range(len(rows))]
        values, low, high = zip(*map(_drawn, system.numbers), strict=True)
        axis.hlines(heights, low, high, color=style.colour, lw=1.4, zorder=2)
        marks = {"mec": CARD, "mew": 0.8, "ms": 8, "clip_on": False}
        axis.plot(values, heights, style.marker, color=style.colour, **marks, zorder=3)
    labels = short_names(rows)
    if texts is not None:
        labels = [f"{label}  (n = {count})" for label, count in zip(labels, texts, strict=True)]
    axis.set_yticks(range(len(rows)), labels)
    axis.set_ylim(len(rows) - 0.4, -0.6)
    axis.set(xlabel=across)
    axis.margins(x=0.04)
    _legend(figure, systems, line=False)
    return figure


def word_scores(words: Sequence[tuple[str, float, bool]], *, title: str, across: str) -> Any:
    """One bar per word: its text, its score and whether it is in the rationale, which is drawn filled."""
    figure, (axis,) = canvas(1, across=1, height=1.0 + 0.24 * len(words))
    colour = SystemStyle.of(0).colour
    for row, (_, score, selected) in enumerate(words):
        axis.barh(row, score, height=0.7, color=colour if selected else CARD, edgecolor=colour, lw=1)
    axis.set_yticks(range(len(words)), [_short_word(text) for text, _, _ in words])
    axis.set(title=_short_word(title, 2 * LONGEST), xlabel=across, ylim=(len(words) - 0.4, -0.6))
    axis.axvline(0, color=MUTED, lw=0.8)
    axis.grid(visible=False, axis="y")
    return figure


def _short_word(text: str, length: int = LONGEST) -> str:
    """A word as it fits beside its bar; words may be equal, so nothing is numbered."""
    return short_names([text], length)[0]


def _legend(figure: Any, systems: Sequence[Series], *, line: bool = True, floor: bool = False) -> None:
    """The style of each system, under the panels."""
    from matplotlib.lines import Line2D

    dashes = {} if line else {"ls": "none"}
    handles = [Line2D([], [], **(_line_style(system.order) | dashes)) for system in systems]
    labels = short_names([system.name for system in systems])
    if floor:
        handles.append(Line2D([], [], color=MUTED, lw=1.1, ls=(0, (1, 2))))
        labels.append("random scores, by colour")
    longest = max(map(len, labels), default=1)
    fitting = int(11 * figure.get_figwidth())  # about 11 characters fit into an inch
    columns = max(1, min(len(labels), fitting // (longest + 6)))
    drawn = figure.legend(handles, labels, loc="outside lower center", ncols=columns)
    for text in drawn.get_texts():
        text.set_color(INK)
