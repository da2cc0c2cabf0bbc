"""Results as a table, in plain text or Markdown: one row per system, one column per metric."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from unirex.errors import UserError
from unirex.metrics.registry import METRICS, Metric, metric
from unirex.report.grid import MISSING, Cell, Grid, Head

SystemMetrics = Mapping[str, Mapping[str, float]]  # system → metric → value
Intervals = Mapping[str, Mapping[str, tuple[float, float]]]  # system → metric → low, high


def table(
    rows: SystemMetrics,
    columns: Sequence[str] | None = None,
    intervals: Intervals | None = None,
    *,
    notes: Sequence[str] = (),
    warnings: Sequence[str] = (),
) -> str:
    """Results for a terminal, aligned, with an arrow for the good direction of each metric.

    A system that has `intervals` gets a second line with the 95 % interval of each number. Notes and warnings
    follow below; those of an evaluation are `Summary.notes` and `Summary.warnings`.

    >>> print(table({"slm-fp": {"accuracy": 0.935, "sufficiency": 0.0213}, "random": {"accuracy": 0.5}}))
            Acc ↑  Suff ↓
    slm-fp   93.5   0.021
    random   50.0       –
    >>> print(table({"slm-fp": {"accuracy": 0.935}}, intervals={"slm-fp": {"accuracy": (0.912, 0.951)}}))
                Acc ↑
    slm-fp       93.5
      95 %  91.2–95.1
    """
    return results_grid(rows, columns, intervals, notes=notes, warnings=warnings).text()


def markdown(
    rows: SystemMetrics,
    columns: Sequence[str] | None = None,
    *,
    notes: Sequence[str] = (),
    warnings: Sequence[str] = (),
) -> str:
    """The same results as a Markdown table.

    >>> print(markdown({"slm-fp": {"accuracy": 0.935}}))
    |  | Acc ↑ |
    |:--|--:|
    | slm-fp | 93.5 |
    """
    return results_grid(rows, columns, notes=notes, warnings=warnings).markdown()


def columns_of(rows: SystemMetrics) -> list[str]:
    """The default columns: known metrics first, then the rest; without those of one budget or one part.

    >>> columns_of({"slm-fp": {"auprc": 0.5, "auprc/correct": 0.6, "accuracy": 0.9, "csd@5": 0.1}})
    ['accuracy', 'auprc']
    """
    occurring = dict.fromkeys(key for row in rows.values() for key in row if not {"@", "/"} & set(key))
    known = [key for key in METRICS if key in occurring]
    return known + [key for key in occurring if key not in METRICS]


def header(key: str) -> str:
    """The head of a column: short name and an arrow in the good direction."""
    known = _known_metric(key)
    return f"{known.header} {known.arrow}" if known else key


def cell(key: str, value: float | None) -> str:
    """A value as a table shows it: percentages with one decimal, differences of probabilities with three.

    >>> cell("accuracy", 0.9349), cell("csd", -0.25), cell("csd", float("nan"))
    ('93.5', '-0.250', '–')
    """
    if value is None or math.isnan(value):
        return MISSING
    known = _known_metric(key)
    shown = f"{value * known.scale:.{known.decimals}f}" if known else f"{value:.3f}"
    return shown.removeprefix("-") if float(shown) == 0 else shown  # never "-0.000"


def between(key: str, bounds: tuple[float, float] | None) -> str:
    """An interval in the units of its metric; empty if unknown.

    >>> between("accuracy", (0.864, 0.899)), between("csd", (-0.02, 0.1)), between("csd", None)
    ('86.4–89.9', '-0.020 to 0.100', '')
    """
    if bounds is None or any(map(math.isnan, bounds)):
        return ""
    low, high = (cell(key, bound) for bound in bounds)
    return f"{low} to {high}" if "-" in low + high else f"{low}–{high}"  # a dash next to a minus misleads


def results_grid(
    rows: SystemMetrics,
    columns: Sequence[str] | None = None,
    intervals: Intervals | None = None,
    *,
    notes: Sequence[str] = (),
    warnings: Sequence[str] = (),
) -> Grid:
    """The same results before they are typeset."""
    keys = columns_of(rows) if columns is None else list(columns)
    body = []
    for name, values in rows.items():
        bounds = (intervals or {}).get(name, {})
        cells = [Cell(cell(key, values.get(key)), under=between(key, bounds.get(key))) for key in keys]
        body.append([Cell(name, under="95 %" if any(entry.under for entry in cells) else ""), *cells])
    heads = [Head(""), *(Head(header(key), key) for key in keys)]
    return Grid(heads, body, notes=notes, warnings=warnings)


def _known_metric(key: str) -> Metric | None:
    """The metric of a column, or None for a column of the user's own, such as seconds."""
    try:
        return metric(key)
    except UserError:
        return None
