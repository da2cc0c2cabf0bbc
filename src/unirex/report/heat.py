"""Every two systems side by side in shades: a heat map that reads without its colours."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from unirex.report.figures import MUTED, canvas, names

TALLEST = 3.2  # inches; tiles are as high as they are wide, and a row has two maps
LONGEST = 22  # signs of a name at the side of a map
LIGHT, DARK, STEEL = "#fdfdfd", "#101010", "#0a3d62"  # of heat maps, the same on every page


def heat(panels: Sequence[tuple[str, Sequence[Sequence[float]]]], systems: Sequence[str]) -> Any:
    """Every two systems by how far they agree, in per cent; darker is more."""
    labels, size = names(systems, LONGEST), len(systems)
    under = 0.04 * max(map(len, labels))  # inches that slanted names take
    figure, axes = canvas(len(panels), across=2, height=1.1 + under + min(0.5 * size, TALLEST))
    for axis, (title, table) in zip(axes, panels, strict=True):
        for y, row in enumerate(table):
            for x, share in enumerate(row):
                _tile(axis, x, y, share)
        axis.set(title=title, xlim=(-0.5, size - 0.5), ylim=(size - 0.5, -0.5), aspect="equal")
        axis.set_xticks(range(size), labels, rotation=30, ha="right")
        axis.set_yticks(range(size), labels)
        axis.tick_params(length=0)
        axis.grid(visible=False)
        axis.spines[:].set_visible(False)
    return figure


def _tile(axis: Any, x: int, y: int, share: float) -> None:
    from matplotlib.colors import to_hex, to_rgb
    from matplotlib.patches import Rectangle

    if math.isnan(share):
        axis.text(x, y, "–", ha="center", va="center", color=MUTED)
        return
    light, dark = to_rgb("#eef2f6"), to_rgb(STEEL)
    red, green, blue = (a + (b - a) * share for a, b in zip(light, dark, strict=True))
    axis.add_patch(Rectangle((x - 0.48, y - 0.48), 0.96, 0.96, facecolor=to_hex((red, green, blue)), lw=0))
    axis.text(x, y, f"{100 * share:.0f}", ha="center", va="center", color=LIGHT if share > 0.5 else DARK)
