"""Results as a table, in plain text or Markdown: one row per system, one column per metric."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence

from rich.cells import cell_len

from unirex.errors import UserError
from unirex.metrics import METRICS, Metric, metric
from unirex.report.plain import printable

MISSING = "–"

Rows = Mapping[str, Mapping[str, float]]


def table(rows: Rows, columns: Sequence[str] | None = None) -> str:
    """Results for a terminal, aligned, with an arrow for the good direction of each metric.

    >>> print(table({"slm-fp": {"accuracy": 0.935, "sufficiency": 0.0213}, "random": {"accuracy": 0.5}}))
            Acc ↑  Suff ↓
    slm-fp   93.5   0.021
    random   50.0       –
    """
    head, *body = _lines(rows, columns)
    widths = [max(map(cell_len, column)) for column in zip(head, *body, strict=True)]
    lines = [_left(line[0], widths[0]) + _right_all(line[1:], widths[1:]) for line in (head, *body)]
    return "\n".join(line.rstrip() for line in lines)


def markdown(rows: Rows, columns: Sequence[str] | None = None) -> str:
    """The same results as a Markdown table.

    >>> print(markdown({"slm-fp": {"accuracy": 0.935}}))
    |  | Acc ↑ |
    |:--|--:|
    | slm-fp | 93.5 |
    """
    head, *body = _lines(rows, columns)
    rule = "|:--|" + "--:|" * (len(head) - 1)
    return "\n".join([_pipes(head), rule, *map(_pipes, body)])


def columns_of(rows: Rows) -> list[str]:
    """The metrics worth a column: the known ones that occur, then the rest; single budgets on request."""
    occurring = dict.fromkeys(key for row in rows.values() for key in row if "@" not in key)
    known = [key for key in METRICS if key in occurring]
    return known + [key for key in occurring if key not in METRICS]


def describe(key: str) -> Metric | None:
    """The metric behind a column, or None for a column of the user's own, such as seconds."""
    try:
        return metric(key)
    except UserError:
        return None


def header(key: str) -> str:
    """The head of a column: short name and good direction."""
    known = describe(key)
    return f"{known.header} {known.arrow}" if known else key


def cell(key: str, value: float | None) -> str:
    """A number as it is read: percentages with one decimal, differences of probabilities with three.

    >>> cell("accuracy", 0.9349), cell("csd", -0.25), cell("csd", float("nan"))
    ('93.5', '-0.250', '–')
    """
    if value is None or math.isnan(value):
        return MISSING
    known = describe(key)
    shown = f"{value * known.scale:.{known.decimals}f}" if known else f"{value:.3f}"
    return shown.removeprefix("-") if float(shown) == 0 else shown  # never "-0.000"


def _lines(rows: Rows, columns: Sequence[str] | None) -> list[list[str]]:
    """The table as cells: the head, then a line per system."""
    keys = columns_of(rows) if columns is None else list(columns)
    body = [[printable(name), *(cell(key, row.get(key)) for key in keys)] for name, row in rows.items()]
    return [["", *(printable(header(key)) for key in keys)], *body]


def _left(text: str, width: int) -> str:
    return text + " " * (width - cell_len(text))


def _right_all(cells: Iterable[str], widths: Iterable[int]) -> str:
    padded = zip(cells, widths, strict=True)
    return "".join("  " + " " * (width - cell_len(text)) + text for text, width in padded)


def _pipes(cells: Iterable[str]) -> str:
    return "| " + " | ".join(one.replace("\\", "\\\\").replace("|", "\\|") for one in cells) + " |"
