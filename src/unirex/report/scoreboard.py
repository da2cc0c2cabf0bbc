"""The desiderata as an HTML table: one row per system, columns grouped by what they ask for."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from itertools import groupby

from unirex.report.markup import Html, element, joined
from unirex.report.table import MISSING, Rows, cell, columns_of, describe

GROUPS = {
    "performance": "Performance",
    "faithfulness": "Faithfulness",
    "plausibility": "Plausibility",
    "": "Other",
}


def scoreboard(rows: Rows, *, systems: Collection[str]) -> Html:
    """Who does best at what: the best system of each column in bold, other rows as a floor beside them."""
    columns = columns_of(rows)
    best = {key: _best(key, rows, systems) for key in columns}
    body = [_row(name, rows, best=best, floor=name not in systems) for name in rows]
    head = element("thead", _groups(columns), _heads(columns))
    table = element("table", head, element("tbody", *body), class_="scores")
    return element("div", table, class_="wide", tabindex="0", role="region", aria_label="Results")


def _best(key: str, rows: Rows, systems: Collection[str]) -> str | None:
    """The best number among the systems as it is shown, so that what looks equal is treated as equal."""
    known = describe(key)
    shown = [cell(key, row.get(key)) for name, row in rows.items() if name in systems]
    values = [one for one in shown if one != MISSING]
    if known is None or len(values) < 2:
        return None
    return (max if known.direction == "higher" else min)(values, key=float)


def _row(name: str, rows: Rows, *, best: dict[str, str | None], floor: bool) -> Html:
    cells = []
    for key, top in best.items():
        shown = cell(key, rows[name].get(key))
        strong = shown == top and not floor
        cells.append(element("td", element("strong", shown) if strong else shown))
    return element("tr", element("th", name, scope="row"), *cells, class_="floor" if floor else None)


def _groups(columns: Sequence[str]) -> Html:
    """The first header line: which columns answer to which desideratum."""
    runs = [(name, len(list(run))) for name, run in groupby(columns, key=_group)]
    heads = [
        element("th", GROUPS[name], scope="colgroup", colspan=width, class_="group") for name, width in runs
    ]
    return element("tr", element("td"), *heads)


def _heads(columns: Sequence[str]) -> Html:
    """The second header line: the metrics, with their good direction in an arrow and in words."""
    return element("tr", element("th", "System", scope="col"), *map(_head, columns))


def _head(key: str) -> Html:
    known = describe(key)
    if known is None:
        return element("th", key, scope="col")
    arrow = element("span", known.arrow, role="img", aria_label=f"{known.direction} is better")
    return element("th", joined([known.header, arrow], "\u00a0"), scope="col", title=known.description)


def _group(key: str) -> str:
    known = describe(key)
    return known.desideratum if known else ""
