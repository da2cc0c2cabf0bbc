"""The runs behind the main table of a comparison: every seed of every method by itself."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from unirex.comparison.cautions import mark, short_notes, warnings
from unirex.comparison.loading import Evaluation
from unirex.comparison.scores import bounded, group
from unirex.report.cautions import COLLAPSES
from unirex.report.grid import MISSING, Cell, Grid, Head
from unirex.report.table import header

if TYPE_CHECKING:
    from unirex.comparison.comparison import Comparison

NAN = float("nan")


def every_run(found: Comparison) -> Grid:
    """Each seed of each method by itself, with its interval over texts."""
    head = [
        Head("", "method"),
        Head("Run", "run"),
        Head("Seed", "seed"),
        *(Head(header(key), key, group(key)) for key in found.columns),
    ]
    body = [
        [
            Cell(method.name, under="95 %", mark=COLLAPSES if run.collapse else ""),
            Cell(str(number), numbers={"": number}),
            Cell(MISSING if run.place.seed is None else str(run.place.seed)),
            *(_of_run(run, key) for key in found.columns),
        ]
        for method in found.methods
        for number, run in enumerate(method.runs, start=1)
    ]
    caption = f"{found.texts} texts. Ranges are 95 % intervals over texts (bootstrap)."
    methods = found.methods
    return Grid(head, body, caption, short_notes(methods, found.columns), warnings(methods))


def _of_run(run: Evaluation, key: str) -> Cell:
    bounds = run.intervals.get(key, (NAN, NAN))
    return replace(bounded(key, run.metrics.get(key, NAN), NAN, bounds), mark=mark(run, key))
