"""Every run a point: accuracy, CSD and AUPRC against each other, as a figure and a Markdown table.

    python benchmarks/front.py docs/results runs/ordering/dev/*

reads the evaluations in these folders (`unirex evaluate … --out FOLDER`); a run's folder that holds several
positions of the dial is a line of points. Filled points are the Pareto front.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from unirex.comparison.figures import unbeaten
from unirex.metrics.registry import metric
from unirex.report.figures import Figure
from unirex.report.search_plots import Spot, front
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
    values = {
        f"{name} {dial}": [metrics[key] for key in AXES]
        for name, points in runs.items()
        for dial, metrics in points.items()
    }
    best, lines = unbeaten(values), []
    for name, points in runs.items():
        last = [*points][-1]
        spots = []
        for dial in points:
            named = f"{name} {dial}"
            shown = [metric(key).scale * value for key, value in zip(AXES, values[named], strict=True)]
            spots.append(Spot(named, shown, named in best, name if dial == last else ""))
        lines.append(spots)
    return front(lines, [metric(key).header for key in AXES])


def _named(folder: Path) -> tuple[str, str]:
    """The run, and the position of its dial if it was turned."""
    kind, _, position = folder.name.partition("-")
    return (folder.parent.name, position) if kind == "dial" else (folder.name, "")


if __name__ == "__main__":
    main(Path(sys.argv[1]), [Path(argument) for argument in sys.argv[2:]])
