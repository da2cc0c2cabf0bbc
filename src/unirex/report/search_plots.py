"""The plots of a search: the front of several desiderata, parallel coordinates, importance of settings.

Each returns a matplotlib figure, drawn inside `figures.drawing`. Points have ids (`spot_id`), by which a page
says what they are.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

from unirex.report.figures import CARD, COLOURS, INK, MUTED, canvas

BEATEN, BEST = COLOURS[0], COLOURS[1]
LETTER = 0.085  # inches that a letter of a name takes


@dataclass(frozen=True, slots=True)
class Spot:
    """A point of a front.

    Args:
        name: unique among the points.
        values: one per desideratum, as they are shown; more is better.
        optimal: no other is at least as good in all and better in one; drawn filled.
        label: stands beside it.
        chosen: has a ring around it.
    """

    name: str
    values: Sequence[float]
    optimal: bool
    label: str = ""
    chosen: bool = False


def spot_id(name: str, panel: int) -> str:
    """The id of a point in one panel of a front."""
    return f"{name.replace(' ', '-')}-panel-{panel}"


def panels_of(desiderata: Sequence[str]) -> list[tuple[int, int]]:
    """Which two desiderata each panel of a front shows."""
    return list(combinations(range(len(desiderata)), 2))


def front(lines: Sequence[Sequence[Spot]], desiderata: Sequence[str], *, one_colour: bool = False) -> Any:
    """Every two desiderata against each other: up and right is better; the points of a line are joined."""
    pairs = panels_of(desiderata)
    figure, axes = canvas(len(pairs), across=3, height=4.2)
    for panel, (axis, (x, y)) in enumerate(zip(axes, pairs, strict=True)):
        for number, spots in enumerate(lines):
            colour = BEATEN if one_colour else COLOURS[number % len(COLOURS)]
            across, up = ([spot.values[side] for spot in spots] for side in (x, y))
            if len(spots) > 1:
                axis.plot(across, up, color=colour, lw=1, alpha=0.6, zorder=1)
            for spot in spots:
                _spot(axis, spot, (spot.values[x], spot.values[y]), colour, spot_id(spot.name, panel))
        axis.set(xlabel=f"{desiderata[x]} →", ylabel=f"{desiderata[y]} →")
        axis.margins(0.12)
    return figure


def _spot(axis: Any, spot: Spot, place: tuple[float, float], colour: str, gid: str) -> None:
    if spot.chosen:
        axis.plot(*place, "o", ms=13, mfc="none", mec=BEST, mew=1.6, zorder=2)
    fill = colour if spot.optimal else CARD
    axis.plot(*place, "o", ms=6, mfc=fill, mec=colour, mew=1.4, zorder=3, gid=gid)
    if spot.label:
        axis.annotate(spot.label, place, (4, 3), textcoords="offset points", fontsize=8)


@dataclass(frozen=True, slots=True)
class Axis:
    """One upright of parallel coordinates: places from 0 to 1 of every line, and ticks by their places."""

    name: str
    places: Sequence[float]
    ticks: Mapping[float, str]


def parallel(axes: Sequence[Axis], names: Sequence[str], strong: Sequence[bool], chosen: int | None) -> Any:
    """One line per trial through all uprights; `strong` ones are in full colour, the chosen one is thick."""
    figure, (axis,) = canvas(1, across=1, height=4.4)
    order = sorted(range(len(names)), key=lambda line: (strong[line], line == chosen))  # the best on top
    for line in order:
        up = [upright.places[line] for upright in axes]
        style = {"color": BEATEN, "lw": 1.6} if strong[line] else {"color": MUTED, "lw": 0.8, "alpha": 0.45}
        if line == chosen:
            style = {"color": BEST, "lw": 2.8}
        axis.plot(range(len(axes)), up, **style, gid=spot_id(names[line], 0))
    for place, upright in enumerate(axes):
        axis.axvline(place, color=INK, lw=0.8, zorder=0)
        for height, text in upright.ticks.items():
            box = {"boxstyle": "round,pad=0.15", "fc": CARD, "ec": "none", "alpha": 0.85}
            beside = {"fontsize": 8, "color": INK, "va": "center", "bbox": box, "zorder": 5}
            axis.annotate(text, (place, height), (5, 0), textcoords="offset points", **beside)
    names_of = [upright.name for upright in axes]
    fits = max(map(len, names_of)) * LETTER < figure.get_figwidth() / len(axes)
    turned = {} if fits else {"rotation": 50, "ha": "right", "rotation_mode": "anchor"}
    axis.set_xticks(range(len(axes)), names_of, **turned)
    axis.set(yticks=[], xlim=(-0.1, len(axes) - 0.6), ylim=(-0.06, 1.06))
    axis.grid(False)
    axis.spines["left"].set_visible(False)
    return figure


def importance(shares: Mapping[str, Mapping[str, float]]) -> Any:
    """Bars of how much each setting matters, a panel for every objective."""
    rows = len(next(iter(shares.values())))
    figure, axes = canvas(len(shares), across=3, height=1.0 + 0.36 * rows)
    for axis, (title, values) in zip(axes, shares.items(), strict=True):
        axis.barh(range(len(values)), list(values.values()), 0.7, color=BEATEN)
        axis.set_yticks(range(len(values)), list(values))
        axis.invert_yaxis()
        axis.set(title=title, xlim=(0, 1), xlabel="share of importance")
        axis.grid(False, axis="y")
    return figure
