"""What the figures of a comparison look like: trade-offs, curves, reliability, classes, agreement."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

from unirex.metrics.calibration import BinRow
from unirex.report.figures import CARD, INK, MUTED, Look, canvas, names

Number = tuple[float, float, float]  # a value, and how sure it is: low, high
ACROSS = 4  # reliability diagrams in a row
LONGEST = 22  # signs of a name above one of them
TALLEST = 0.3  # the bar of the fullest bin, of the height of its diagram


@dataclass(frozen=True, slots=True)
class Line:
    """One system's numbers along an axis; a floor is drawn as a thin dotted line of its colour."""

    name: str
    numbers: Sequence[Number]
    order: int
    floor: bool = False


@dataclass(frozen=True, slots=True)
class Panel:
    """Lines over the same places."""

    title: str
    across: str
    up: str
    places: Sequence[str]
    lines: Sequence[Line]


def lines(panels: Sequence[Panel], *, height: float = 3.3) -> Any:
    """Lines side by side with bands for how sure they are; one legend for all."""
    figure, axes = canvas(len(panels), across=3, height=height)
    for axis, panel in zip(axes, panels, strict=True):
        for line in panel.lines:
            _line(axis, line)
        axis.set_xticks(range(len(panel.places)), panel.places)
        axis.set(title=panel.title, xlabel=panel.across, ylabel=panel.up)
        axis.margins(x=0.06)
    systems = [line for line in _distinct(panels) if not line.floor]
    _legend(figure, systems, floor=any(line.floor for panel in panels for line in panel.lines))
    return figure


def _line(axis: Any, line: Line) -> None:
    look, x = Look(line.order), range(len(line.numbers))
    values = [value for value, _, _ in line.numbers]
    if line.floor:
        axis.plot(x, values, color=look.colour, lw=1.2, ls=(0, (1, 2)), zorder=1)
        return
    axis.plot(x, values, **_style(line.order), zorder=3)
    low, high = ([number[side] for number in line.numbers] for side in (1, 2))
    if not any(map(math.isnan, (*low, *high))):
        axis.fill_between(x, low, high, color=look.colour, alpha=0.14, lw=0, zorder=2)


def _style(order: int) -> dict[str, Any]:
    look = Look(order)
    edge = {"markeredgecolor": CARD, "markeredgewidth": 0.8}
    return {"color": look.colour, "marker": look.marker, "ls": look.dash, **edge}


@dataclass(frozen=True, slots=True)
class Point:
    """A system by several desiderata."""

    name: str
    numbers: Sequence[Number]  # one a desideratum
    order: int
    optimal: bool  # no other is at least as good in all and better in one


def trade_off(points: Sequence[Point], desiderata: Sequence[str]) -> Any:
    """Every two desiderata against each other: up and to the right is better; what is dominated is hollow."""
    pairs = list(combinations(range(len(desiderata)), 2))
    figure, axes = canvas(len(pairs), across=3, height=3.5)
    for axis, (x, y) in zip(axes, pairs, strict=True):
        for point in points:
            _point(axis, point, x, y)
        axis.set(xlabel=f"{desiderata[x]} →", ylabel=f"{desiderata[y]} →")
        axis.margins(0.14)
    _legend(figure, [Line(one.name, [], one.order) for one in points], line=False)
    return figure


def _point(axis: Any, point: Point, x: int, y: int) -> None:
    look = Look(point.order)
    (across, left, right), (up, low, high) = point.numbers[x], point.numbers[y]
    bars = {"color": look.colour, "lw": 1, "alpha": 0.55, "zorder": 2}
    if not math.isnan(left + right):
        axis.plot([left, right], [up, up], **bars)
    if not math.isnan(low + high):
        axis.plot([across, across], [low, high], **bars)
    fill = look.colour if point.optimal else CARD
    axis.plot(across, up, look.marker, ms=9, mfc=fill, mec=look.colour, mew=1.6, zorder=3)


@dataclass(frozen=True, slots=True)
class Reliability:
    """How sure and how right a system is, by confidence."""

    name: str
    bins: Sequence[BinRow]
    error: float  # ECE
    order: int


def reliability(systems: Sequence[Reliability]) -> Any:
    """How often each system is right when it is so sure; on the diagonal it knows how sure to be."""
    figure, axes = canvas(len(systems), across=ACROSS, height=2.9)
    labels = names([one.name for one in systems], LONGEST)
    for place, (axis, label, one) in enumerate(zip(axes, labels, systems, strict=True)):
        look = Look(one.order)
        sure, right = [row.confidence for row in one.bins], [row.accuracy for row in one.bins]
        axis.plot([0, 1], [0, 1], color=MUTED, lw=1, ls=(0, (4, 3)), zorder=1)
        axis.plot(sure, right, color=look.colour, lw=1.4, zorder=2)
        marks = {"marker": look.marker, "lw": 0.8, "ec": CARD, "clip_on": False}
        axis.scatter(sure, right, s=45, color=look.colour, **marks, zorder=3)
        _filled(axis, one)
        axis.set(title=f"{label}\nECE {100 * one.error:.1f} %", xlim=(0, 1.03), ylim=(0, 1.03))
        axis.set(xlabel="confidence", ylabel="" if place % ACROSS else "share right")
        axis.set(xticks=[0, 0.5, 1], yticks=[0, 0.5, 1])
    return figure


def _filled(axis: Any, one: Reliability) -> None:
    """How many texts each bin has, as bars at the foot of the diagram."""
    most = max(row.texts for row in one.bins)
    for row in one.bins:
        height, middle = TALLEST * row.texts / most, (row.low + row.high) / 2
        axis.bar(
            middle, height, 0.9 * (row.high - row.low), color=Look(one.order).colour, alpha=0.18, zorder=0
        )
        axis.text(middle, height + 0.01, f"{row.texts}", ha="center", va="bottom", fontsize=6.5, color=MUTED)


def dots(
    rows: Sequence[str], systems: Sequence[Line], *, across: str, texts: Sequence[int] | None = None
) -> Any:
    """One row a class, one mark a system: who finds what; `texts` are how many a class has."""
    figure, (axis,) = canvas(1, across=1, height=1.2 + len(rows) * max(0.34, 0.14 * len(systems)))
    for system in systems:
        look, shift = Look(system.order), _shift(system.order, len(systems))
        places = [place + shift for place in range(len(rows))]
        values = [value for value, _, _ in system.numbers]
        marks = {"mec": CARD, "mew": 0.8, "ms": 8, "clip_on": False}
        axis.plot(values, places, look.marker, color=look.colour, **marks, zorder=3)
    labels = names(rows)
    if texts is not None:
        labels = [f"{label}  (n = {count})" for label, count in zip(labels, texts, strict=True)]
    axis.set_yticks(range(len(rows)), labels)
    axis.set_ylim(len(rows) - 0.4, -0.6)
    axis.set(xlabel=across)
    axis.margins(x=0.04)
    _legend(figure, systems, line=False)
    return figure


def _shift(number: int, of: int) -> float:
    """Marks of the same row a little apart, so that equal ones do not hide each other."""
    return 0.0 if of < 2 else 0.5 * (number / (of - 1) - 0.5)


def _distinct(panels: Sequence[Panel]) -> list[Line]:
    return list({(one.name, one.floor): one for panel in panels for one in panel.lines}.values())


def _legend(figure: Any, systems: Sequence[Line], *, line: bool = True, floor: bool = False) -> None:
    """Which look belongs to which system, under the panels."""
    from matplotlib.lines import Line2D

    style = {} if line else {"ls": "none"}
    handles = [Line2D([], [], **(_style(one.order) | style)) for one in systems]
    labels = names([one.name for one in systems])
    if floor:
        handles.append(Line2D([], [], color=MUTED, lw=1.1, ls=(0, (1, 2))))
        labels.append("random scores, by colour")
    longest = max(map(len, labels), default=1)
    columns = max(1, min(len(labels), 110 // (longest + 6)))
    drawn = figure.legend(handles, labels, loc="outside lower center", ncols=columns)
    for text in drawn.get_texts():
        text.set_color(INK)
