"""Relative gains of a study: tables and bars by dataset and of their mean, the paper's beside them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from math import isnan, nan
from typing import TYPE_CHECKING, Any

import numpy as np

from unirex.comparison import Comparison
from unirex.comparison.comparison import GAIN_METHODS
from unirex.comparison.tables import (
    BEHIND,
    CNRG_INTERVALS,
    GAINS,
    INTERVALS,
    gain_cell,
    gain_cells,
)
from unirex.metrics.relative_gain import GUARDED, Gains, shows_guarded
from unirex.paper import published
from unirex.report.figures import COLOURS, MUTED, Figure, canvas, short_names
from unirex.report.grid import Cell, Grid, Head
from unirex.report.sections import Section

if TYPE_CHECKING:
    from unirex.experiments.cells import Cell as StudyCell
    from unirex.experiments.results import Results

KINDS = ("fnrg", "pnrg", "tnrg", "cnrg")
DESIDERATA = {"faithfulness": "fnrg", "plausibility": "pnrg", "performance": "tnrg"}
PUBLISHED = "The paper's are recomputed from its printed metrics, among its own 16 rows."
SCALE = "each between the worst and the best row"
ByRow = Mapping[str, Mapping[str, float]]  # the gains of every row, by kind


def table(results: Results, comparison: Comparison, measured_on: str) -> Grid:
    """Normalised relative gain of every row among these, the paper's recomputed beside it."""
    theirs = published_gains(results, measured_on)
    names = [name for name in GAINS if name != "guarded" or shows_guarded(comparison.gains)]
    heads = [Head("", "method")]
    for name in names:
        title = GUARDED if name == "guarded" else name.upper()
        heads.append(Head(f"{title} ↑", name, "Relative gain", GAINS[name]))
        if theirs and name != "guarded":
            heads.append(Head("paper", f"{name}_paper", "Relative gain"))
    heads.append(BEHIND)
    body = []
    for method in comparison.gains:
        line = {"method": Cell(method), **gain_cells(comparison, method)}
        line |= {f"{name}_paper": _quiet(theirs.get(method, {}).get(name, nan)) for name in KINDS}
        body.append([line[head.key] for head in heads])
    caption = (
        "Each metric between the worst and the best row of this table, 0 to 1: FNRG, PNRG, TNRG; CNRG is "
        f"their mean. {CNRG_INTERVALS} {INTERVALS}"
    )
    notes = [note for note in comparison.warnings if note not in comparison.notes]
    return Grid(heads, body, f"{caption} {PUBLISHED}" if theirs else caption, notes)


def mean_table(results: Results, gains: Mapping[str, ByRow]) -> Grid:
    """The mean of every row's gains over the datasets, the CNRG on each, and the mean of the paper's.

    Args:
        results: of the study.
        gains: by dataset, of the same rows.
    """
    theirs = mean_published(results, list(gains))
    heads = [Head("", "method")]
    for name in KINDS:
        heads.append(Head(f"{name.upper()} ↑", name, "Mean"))
        if theirs:
            heads.append(Head("paper", f"{name}_paper", "Mean"))
    heads += [Head(dataset, dataset, "CNRG ↑") for dataset in gains]
    body = []
    for method, mean in mean_gains(gains).items():
        line = {"method": Cell(method), **{name: gain_cell(mean[name]) for name in KINDS}}
        line |= {f"{name}_paper": _quiet(theirs.get(method, {}).get(name, nan)) for name in KINDS}
        line |= {dataset: gain_cell(rows[method]["cnrg"]) for dataset, rows in gains.items()}
        body.append([line[head.key] for head in heads])
    caption = (
        f"The {len(body)} rows that are measured on all of {', '.join(gains)}, placed among these alone, and "
        "the mean of their places."
    )
    return Grid(heads, body, f"{caption} {PUBLISHED}" if theirs else caption)


def composite(results: Results, gains: ByRow, theirs: ByRow) -> Figure | None:
    """CNRG of rows that learn without people's marks, and of those that learn from them."""
    return _figure(
        "composite",
        "Composite relative gain",
        f"CNRG, the mean of faithfulness, plausibility and performance, {SCALE} (higher is better).",
        _by_teaching(results, gains),
        theirs,
        {"CNRG": "cnrg"},
    )


def desiderata(results: Results, gains: ByRow, theirs: ByRow) -> Figure | None:
    """FNRG, PNRG and TNRG of the same rows."""
    return _figure(
        "desiderata",
        "Relative gain by desideratum",
        f"Faithfulness, plausibility and task performance, {SCALE}.",
        _by_teaching(results, gains),
        theirs,
        DESIDERATA,
    )


def by_row(gains: Mapping[str, Gains]) -> dict[str, dict[str, float]]:
    """The gains of a table."""
    return {name: {kind: getattr(gain, kind) for kind in KINDS} for name, gain in gains.items()}


def mean_gains(gains: Mapping[str, ByRow]) -> dict[str, dict[str, float]]:
    """The mean over datasets, of the rows that all of them have."""
    return {
        row: {kind: float(np.mean([rows[row][kind] for rows in gains.values()])) for kind in KINDS}
        for row in _shared(gains.values())
    }


def _shared(tables: Iterable[Mapping[str, Any]]) -> list[str]:
    first, *others = tables
    return [row for row in first if all(row in rows for rows in others)]


def published_gains(results: Results, measured_on: str) -> dict[str, dict[str, float]]:
    """The paper's on a dataset of its main tables, by the names that our rows have."""
    if measured_on not in {row.dataset for row in published.main_results()}:
        return {}
    theirs = by_row(published.recomputed(measured_on))
    return {name: theirs[plain] for name, plain in results.without_preset.items() if plain in theirs}


def mean_published(results: Results, datasets: Sequence[str]) -> dict[str, dict[str, float]]:
    """The mean of the paper's over these datasets, if it has all of them."""
    theirs = {dataset: published_gains(results, dataset) for dataset in datasets}
    return mean_gains(theirs) if all(theirs.values()) else {}


def _quiet(value: float) -> Cell:
    return replace(gain_cell(value), quiet=True)


def _by_teaching(results: Results, gains: ByRow) -> dict[str, ByRow]:
    """The rows in two panels: those that learn without gold rationales, and those that learn from them."""
    taught = {
        measurement.variant.name for measurement in results.finished if _learns_marks(measurement.trained[-1])
    }
    panels = {
        "without gold rationales": {name: rows for name, rows in gains.items() if name not in taught},
        "with gold rationales": {name: rows for name, rows in gains.items() if name in taught},
    }
    return {title: rows for title, rows in panels.items() if rows}


def _learns_marks(trained: StudyCell) -> bool:
    """Whether a training learns from gold rationales."""
    return bool(trained.content["config"]["objectives"]["plausibility"]["weight"])


def _figure(
    name: str,
    title: str,
    caption: str,
    panels: Mapping[str, ByRow],
    theirs: ByRow,
    series: Mapping[str, str],
) -> Figure | None:
    if not panels:
        return None
    marked = any(row in theirs for rows in panels.values() for row in rows)
    said = f"{caption} Hollow: the paper's. {PUBLISHED}" if marked else caption
    return Figure(name, title, said, lambda: _bars(panels, theirs, series))


def _bars(panels: Mapping[str, ByRow], theirs: ByRow, series: Mapping[str, str]) -> Any:
    """Horizontal bars, one group for every row, a hollow mark where the paper has it."""
    most = max(map(len, panels.values()))
    height = 0.9 + 0.3 * most * max(1.0, 0.55 * len(series))
    figure, axes = canvas(len(panels), across=2, height=height)
    thick = 0.8 / len(series)
    for axis, (title, rows) in zip(axes, panels.items(), strict=True):
        for number, (name, kind) in enumerate(series.items()):
            places = [row + (number - (len(series) - 1) / 2) * thick for row in range(len(rows))]
            values = [row[kind] for row in rows.values()]
            axis.barh(places, values, thick * 0.9, color=COLOURS[number % len(COLOURS)], label=name)
            for row, place, value in zip(rows, places, values, strict=True):
                printed = theirs.get(row, {}).get(kind, nan)
                axis.plot(printed, place, "D", mfc="white", mec=MUTED, ms=4, zorder=3, clip_on=False)
                if not isnan(value):  # at the end of the line: a mark may be anywhere on it
                    axis.text(1.03, place, f"{value:.2f}", va="center", fontsize=7, color=MUTED)
        axis.set_yticks(range(len(rows)), short_names(list(rows)))
        axis.set_ylim(most - 0.4, -0.6)  # bars of all panels are equally thick
        axis.set(title=title, xlim=(0, 1.11), xlabel="relative gain →")
        axis.grid(False, axis="y")
    if len(series) > 1:
        handles = axes[0].get_legend_handles_labels()
        figure.legend(*handles, loc="outside lower center", ncols=len(series))
    return figure


def mean_sections(results: Results, comparisons: Mapping[str, Comparison]) -> Iterator[Section]:
    """The means over several datasets, as far as the experiment asks for them.

    Gains are places among rows, so that only those count which all datasets have.
    """
    known = {dataset: found for dataset, found in comparisons.items() if found.gains}
    shared = _shared([found.gains for found in known.values()]) if len(known) > 1 else []
    if len(shared) < GAIN_METHODS:
        return
    gains = {dataset: by_row(found.gains_among(shared)) for dataset, found in known.items()}
    mean, theirs = mean_gains(gains), mean_published(results, list(gains))
    parts, over = results.definition.report, f"mean of {', '.join(gains)}"
    if "gains" in parts:
        yield Section("gains-mean", f"Normalised relative gain: {over}", [mean_table(results, gains)])
    for figure in (composite(results, mean, theirs), desiderata(results, mean, theirs)):
        if figure is not None and figure.name in parts:
            named = replace(figure, name=f"{figure.name}-mean")
            yield Section(named.name, f"{figure.title}: {over}", figures=[named])
