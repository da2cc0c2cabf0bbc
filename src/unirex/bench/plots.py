"""Plots of the sweeps: the cost of a step and of an explanation by text length, and growth with a file."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from unirex.bench.harness import Measurements, Row
from unirex.files import replace_file

LABELS = {
    "slm-fp": "SLM-FP, all five budgets",
    "slm-fp sampled": "SLM-FP, one sampled budget",
    "naive": "naive: 11 masked passes",
    "explain": "explain",
    "seconds": "time per 1000 texts",
    "memory": "peak memory",
}
STYLES = {  # colour, marker, dashes
    "slm-fp": ("#0b6e99", "o", "-"),
    "slm-fp sampled": ("#d9822b", "s", "--"),
    "naive": ("#7a7a7a", "^", ":"),
}
METADATA: dict[str, dict[str, Any]] = {".svg": {"Date": None}, ".png": {}}


@dataclass(frozen=True, slots=True)
class SweepPlot:
    """One panel: which rows it shows, and its labels."""

    group: str
    cases: Sequence[str]
    title: str
    x_label: str
    y_label: str

    def rows(self, measurements: Measurements) -> list[Row]:
        """The rows to draw, case by case."""
        rows = measurements.rows(self.group)
        return [row for case in self.cases for row in rows if row.case == case and row.value is not None]


PLOTS = (
    SweepPlot(
        "lengths",
        ("naive", "slm-fp", "slm-fp sampled"),
        "Training step by length",
        "tokens",
        "÷ plain step",
    ),
    SweepPlot("lengths", ("explain",), "Explain by length", "tokens", "÷ tokenise + plain forward"),
    SweepPlot("growth", ("seconds",), "Explain a growing file: time", "texts", "seconds per 1000 texts"),
    SweepPlot("growth", ("memory",), "Explain a growing file: memory", "texts", "peak memory, MB"),
)


def save_plots(measurements: Measurements, folder: Path, name: str) -> list[Path]:
    """Write `NAME.svg` and `NAME.png`; nothing if no sweep was measured."""
    plots = [plot for plot in PLOTS if plot.rows(measurements)]
    if not plots:
        return []
    import matplotlib

    fixed: dict[Any, Any] = {"svg.hashsalt": name, "svg.fonttype": "none"}  # same numbers, same file
    paths = [folder / f"{name}.svg", folder / f"{name}.png"]
    with matplotlib.rc_context(fixed):
        drawn = _figure(plots, measurements)
        for path in paths:
            replace_file(path, lambda draft: drawn.savefig(draft, dpi=150, metadata=METADATA[draft.suffix]))
    return paths


def _figure(plots: Sequence[SweepPlot], measurements: Measurements) -> Any:
    from matplotlib.figure import Figure

    down = -(-len(plots) // 2)
    figure = Figure(figsize=(9.6, 3.6 * down), layout="constrained")
    axes = figure.subplots(down, 2, squeeze=False).flat
    for axis, plot in zip(axes, plots, strict=False):
        _draw(axis, plot, plot.rows(measurements))
    for axis in axes[len(plots) :]:
        axis.set_axis_off()
    return figure


def _draw(axis: Any, plot: SweepPlot, rows: Sequence[Row]) -> None:
    cases = list(dict.fromkeys(row.case for row in rows))
    for case in cases:
        _draw_line(axis, case, [row for row in rows if row.case == case])
    ticks = sorted({row.at for row in rows if row.at is not None})
    axis.set_xscale("log", base=2 if plot.x_label == "tokens" else 10)
    axis.set_xticks(ticks, [f"{tick:,.0f}" for tick in ticks])
    axis.minorticks_off()
    axis.set_ylim(0, 1.1 * max(row.value.high for row in rows if row.value))
    axis.set(title=plot.title, xlabel=plot.x_label, ylabel=plot.y_label)
    axis.grid(alpha=0.3)
    if plot.y_label.startswith("÷"):
        axis.axhline(1, color="black", linewidth=0.8)  # as fast as what it is compared with
    if len(cases) > 1:
        axis.legend(frameon=False, fontsize=9)


def _draw_line(axis: Any, case: str, rows: Sequence[Row]) -> None:
    """The medians, and the quartiles around them as a band."""
    colour, marker, dashes = STYLES.get(case, ("#0b6e99", "o", "-"))
    spreads = [row.value for row in rows if row.value is not None]
    x = [row.at for row in rows]
    medians = [spread.median for spread in spreads]
    low, high = [spread.low for spread in spreads], [spread.high for spread in spreads]
    axis.plot(x, medians, color=colour, marker=marker, ls=dashes, label=LABELS[case])
    axis.fill_between(x, low, high, color=colour, alpha=0.15, lw=0)
