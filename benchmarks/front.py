"""Every run a point: accuracy, CSD and AUPRC against each other, as a figure and a Markdown table.

    python benchmarks/front.py docs/results runs/ordering/dev/*

reads the evaluations in these folders (`unirex evaluate … --out FOLDER`); a run's folder that holds several
positions of the dial is several points. Filled points are the Pareto front.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from unirex.comparison.figures import unbeaten
from unirex.metrics.registry import metric
from unirex.report.figures import Figure
from unirex.report.plots import Point, trade_off
from unirex.report.table import cell, header

AXES = ("accuracy", "csd", "auprc")
SHOWN = ("accuracy", "csd", "csd/mask_token", "auprc", "auprc_all_tokens")


def main(out: Path, folders: Sequence[Path]) -> None:
    """Draw the figure, print the table."""
    paths = sorted(path for folder in folders for path in folder.rglob("metrics.json"))
    runs = {_name(path.parent): json.loads(path.read_text("utf-8")) for path in paths}
    rows = {name: [run["metrics"][key] for key in AXES] for name, run in runs.items()}
    front = unbeaten(rows)
    points = [
        Point(name, [_estimate(run, key) for key in AXES], order, name in front)
        for order, (name, run) in enumerate(runs.items())
    ]
    headers = [metric(key).header for key in AXES]
    Figure("front", "Front", "", lambda: trade_off(points, headers)).save(out)
    print(f"| run | {' | '.join(map(header, SHOWN))} |\n|:--|{'--:|' * len(SHOWN)}")
    for name, run in runs.items():
        told = [cell(key, run["metrics"][key]) if key in run["metrics"] else "–" for key in SHOWN]
        print(f"| {name} | {' | '.join(told)} |")


def _name(folder: Path) -> str:
    """`RUN` or `RUN, dial 0.2`."""
    kind, _, position = folder.name.partition("-")
    return f"{folder.parent.name}, dial {position}" if kind == "dial" else folder.name


def _estimate(run: dict[str, Any], key: str) -> tuple[float, float, float]:
    low, high = run["intervals"].get(key, (float("nan"), float("nan")))
    scale = metric(key).scale
    return scale * run["metrics"][key], scale * low, scale * high


if __name__ == "__main__":
    main(Path(sys.argv[1]), [Path(argument) for argument in sys.argv[2:]])
