"""Every run a point: accuracy, CSD and AUPRC against each other, as a figure and a Markdown table.

    python benchmarks/front.py docs/results runs/ordering/dev/*

reads the evaluations in these folders (`unirex evaluate … --out FOLDER`); a run's folder that holds several
positions of the dial is a line of points. Filled points are the Pareto front.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping, Sequence
from itertools import combinations
from pathlib import Path
from typing import Any

from unirex.comparison.figures import unbeaten
from unirex.metrics.registry import metric
from unirex.report.figures import CARD, COLOURS, Figure, canvas
from unirex.report.table import cell, header

AXES = ("accuracy", "csd", "auprc")
SHOWN = ("accuracy", "csd", "csd/mask_token", "auprc", "auprc_all_tokens")
Runs = Mapping[str, Mapping[str, Mapping[str, float]]]  # metrics by run and position of the dial ("": none)


def main(out: Path, folders: Sequence[Path]) -> None:
    """Draw the figure, print the table."""
    runs: dict[str, dict[str, Any]] = {}
    for path in sorted(path for folder in folders for path in folder.rglob("metrics.json")):
        run, dial = _named(path.parent)
        runs.setdefault(run, {})[dial] = json.loads(path.read_text("utf-8"))["metrics"]
    Figure("front", "Front", "", lambda: draw(runs)).save(out)
    print(f"| run | dial | {' | '.join(map(header, SHOWN))} |\n|:--|--:|{'--:|' * len(SHOWN)}")
    for name, points in runs.items():
        for dial, metrics in points.items():
            told = [cell(key, metrics[key]) if key in metrics else "–" for key in SHOWN]
            print(f"| {name} | {dial or '–'} | {' | '.join(told)} |")


def draw(runs: Runs) -> Any:
    """Every two axes against each other; the positions of a dial are joined."""
    front = unbeaten(
        {
            f"{name} {dial}": [values[key] for key in AXES]
            for name, points in runs.items()
            for dial, values in points.items()
        }
    )
    pairs = list(combinations(AXES, 2))
    figure, axes = canvas(len(pairs), across=3, height=4.2)
    for axis, (x, y) in zip(axes, pairs, strict=True):
        for number, (name, points) in enumerate(runs.items()):
            colour = COLOURS[number % len(COLOURS)]
            across, up = ([metric(key).scale * one[key] for one in points.values()] for key in (x, y))
            axis.plot(across, up, color=colour, lw=1, alpha=0.6, zorder=1)
            for dial, left, high in zip(points, across, up, strict=True):
                fill = colour if f"{name} {dial}" in front else CARD
                axis.plot(left, high, "o", ms=6, mfc=fill, mec=colour, mew=1.4, zorder=2)
            axis.annotate(name, (across[-1], up[-1]), (4, 3), textcoords="offset points", fontsize=8)
        axis.set(xlabel=f"{metric(x).header} →", ylabel=f"{metric(y).header} →")
        axis.margins(0.12)
    return figure


def _named(folder: Path) -> tuple[str, str]:
    """The run, and the position of its dial if it was turned."""
    kind, _, position = folder.name.partition("-")
    return (folder.parent.name, position) if kind == "dial" else (folder.name, "")


if __name__ == "__main__":
    main(Path(sys.argv[1]), [Path(argument) for argument in sys.argv[2:]])
