"""The metrics that ask for further edits of the text, side by side, for the evaluations that tried them."""

from __future__ import annotations

from math import isnan
from typing import TYPE_CHECKING

from unirex.comparison.cautions import mark, named, short_notes
from unirex.comparison.scores import number
from unirex.report.grid import MISSING, Cell, Grid, Head
from unirex.report.table import cell, describe, header
from unirex.summary import FLOOR, PROBED

if TYPE_CHECKING:
    from unirex.comparison.comparison import Comparison
    from unirex.comparison.method import Method

CAPTION = (
    "What other edits of the texts show, beyond rationales of fixed sizes; ranges are 95 % intervals over "
    "texts, and nothing is tested here."
)


def probed(found: Comparison) -> Grid | None:
    """Every such metric that anybody has, with that of random scores below; None if nobody has one."""
    keys = [
        key
        for key in PROBED
        if key not in found.columns and any(not isnan(one.value(key)) for one in found.methods)
    ]
    if not keys:
        return None
    body = [row for method in found.methods for row in _rows(method, keys)]
    return Grid([Head("", "method"), *map(_head, keys)], body, CAPTION, short_notes(found.methods, keys))


def _head(key: str) -> Head:
    about = describe(key)
    return Head(header(key), key, title=about.description if about else "")


def _rows(method: Method, keys: list[str]) -> list[list[Cell]]:
    own = [named(method, under="95 %"), *(number(method, key) for key in keys)]
    if not any(key in method.floor for key in keys):
        return [own]
    return [own, [Cell(f"  {FLOOR}", quiet=True), *(_floor(method, key) for key in keys)]]


def _floor(method: Method, key: str) -> Cell:
    value = method.floor.get(key, float("nan"))
    shown = cell(key, value)
    sign = "" if shown == MISSING else mark(method, key)
    return Cell(shown, quiet=True, mark=sign, numbers={} if shown == MISSING else {"": value})
