"""The figures over a range, drawn: what a step and an explanation cost by length, and how a file grows."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from unirex.bench.harness import Measured, Row
from unirex.files import replace_file

Panel = tuple[list[Row], str, str, str]  # figures, title, what goes across, what goes up
LABELS = {
    "slm-fp": "SLM-FP, all five budgets",
    "slm-fp sampled": "SLM-FP, one sampled budget",
    "naive": "naive: 11 masked passes",
    "explain": "explain",
    "seconds": "time per 1000 texts",
    "memory": "peak memory",
}
LOOKS = {
    "slm-fp": ("#0b6e99", "o", "-"),
    "slm-fp sampled": ("#d9822b", "s", "--"),
    "naive": ("#7a7a7a", "^", ":"),
}


def save_plots(measured: Measured, folder: Path, name: str) -> list[Path]:
    """Write `NAME.svg` and `NAME.png`; nothing if no group over a range was measured."""
    panels = _panels(measured)
    if not panels:
        return []
    import matplotlib

    fixed: dict[Any, Any] = {"svg.hashsalt": name, "svg.fonttype": "none"}  # same figures, same file
    paths = [folder / f"{name}.svg", folder / f"{name}.png"]
    with matplotlib.rc_context(fixed):
        drawn = _figure(panels)
        for path in paths:
            replace_file(path, lambda draft: drawn.savefig(draft, dpi=150, metadata=METADATA[draft.suffix]))
    return paths


METADATA: dict[str, dict[str, Any]] = {".svg": {"Date": None}, ".png": {}}


def _figure(panels: Sequence[Panel]) -> Any:
    from matplotlib.figure import Figure

    down = -(-len(panels) // 2)
    figure = Figure(figsize=(9.6, 3.6 * down), layout="constrained")
    axes = figure.subplots(down, 2, squeeze=False).flat
    for axis, panel in zip(axes, panels, strict=False):
        _draw(axis, *panel)
    for axis in axes[len(panels) :]:
        axis.set_axis_off()
    return figure


def _panels(measured: Measured) -> list[Panel]:
    """The panels there are figures for."""
    lengths, growth = measured.rows("lengths"), measured.rows("growth")
    wanted = [
        (
            _of(lengths, ("naive", "slm-fp", "slm-fp sampled")),
            "Training step by length",
            "tokens",
            "÷ plain step",
        ),
        (_of(lengths, ("explain",)), "Explain by length", "tokens", "÷ tokenise + plain forward"),
        (_of(growth, ("seconds",)), "Explain a growing file: time", "texts", "seconds per 1000 texts"),
        (_of(growth, ("memory",)), "Explain a growing file: memory", "texts", "peak memory, MB"),
    ]
    return [one for one in wanted if one[0]]


def _of(rows: Iterable[Row], cases: Sequence[str]) -> list[Row]:
    return [row for case in cases for row in rows if row.case == case and row.value is not None]


def _draw(axis: Any, rows: list[Row], title: str, across: str, up: str) -> None:
    cases = list(dict.fromkeys(row.case for row in rows))
    for case in cases:
        some = [row for row in rows if row.case == case]
        _line(axis, case, some)
    places = sorted({row.at for row in rows if row.at is not None})
    axis.set_xscale("log", base=2 if across == "tokens" else 10)
    axis.set_xticks(places, [f"{place:,.0f}" for place in places])
    axis.minorticks_off()
    axis.set_ylim(0, 1.1 * max(row.value.high for row in rows if row.value))
    axis.set(title=title, xlabel=across, ylabel=up)
    axis.grid(alpha=0.3)
    if up.startswith("÷"):
        axis.axhline(1, color="black", linewidth=0.8)  # as fast as what it is compared with
    if len(cases) > 1:
        axis.legend(frameon=False, fontsize=9)


def _line(axis: Any, case: str, rows: list[Row]) -> None:
    """The medians, and the quartiles around them as a band."""
    colour, marker, dash = LOOKS.get(case, ("#0b6e99", "o", "-"))
    spreads = [row.value for row in rows if row.value is not None]
    x = [row.at for row in rows]
    axis.plot(x, [one.median for one in spreads], color=colour, marker=marker, ls=dash, label=LABELS[case])
    axis.fill_between(x, [s.low for s in spreads], [s.high for s in spreads], color=colour, alpha=0.15, lw=0)
