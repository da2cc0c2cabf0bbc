"""Tables of methods and their metrics read from a file, under our names, to compute NRG from."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping
from difflib import get_close_matches
from pathlib import Path
from typing import Any

from unirex.data.rows import read_lines, read_rows
from unirex.errors import UserError
from unirex.metrics.registry import METRICS, PAPER_COLUMNS, metric
from unirex.paper.published import GAINS

MethodTables = dict[str, dict[str, dict[str, float]]]  # dataset ("" if unknown) → method → metric → value

SUFFIXES = (".csv", ".tsv", ".jsonl", ".parquet", ".json")
METHOD_COLUMNS = ("method", "system", "name")
DATASET_COLUMN = "dataset"
PAPER_NAMES = PAPER_COLUMNS | {"perf": "accuracy"}  # the paper's → ours
ALIASES = {entry.header.lower(): name for name, entry in METRICS.items()} | PAPER_NAMES


def read_tables(path: Path) -> MethodTables:
    """The methods of a file, by dataset if it has a column `dataset`.

    The method is in the column `method`, `system` or `name`, else in the first. Other columns are metrics, by
    our names or those of printed tables ("Comp ↑"); `…_std` and NRG columns are ignored. JSON may also be an
    object of methods with their metrics.
    """
    if path.suffix.lower() not in SUFFIXES:
        raise UserError(f"{path}: a table of methods must be one of {', '.join(SUFFIXES)}.")
    tables: MethodTables = {}
    for place, row in _json_rows(path) if path.suffix.lower() == ".json" else read_rows(path):
        dataset, method, values = _parse_row(place, row)
        methods = tables.setdefault(dataset, {})
        if method in methods:
            raise UserError(f"{place}: method '{method}' is there twice; give the mean over its seeds.")
        methods[method] = values
    if not tables:
        raise UserError(f"{path}: no methods in it.")
    return tables


def metric_name(column: str) -> str | None:
    """The metric a column is named after.

    >>> metric_name("Comp ↑"), metric_name("perf"), metric_name("sufficiency@5"), metric_name("seed")
    ('comprehensiveness', 'accuracy', 'sufficiency@5', None)
    """
    plain = column.strip(" ↑↓")
    name = ALIASES.get(plain.lower(), plain)
    try:
        metric(name)
    except UserError:
        return None
    return name


def _parse_row(place: str, row: Mapping[str, Any]) -> tuple[str, str, dict[str, float]]:
    """Dataset, method and metrics of one row; `place` is its file and line, for messages."""
    column = next((name for name in row if name.lower() in METHOD_COLUMNS), next(iter(row)))
    method = str(row[column] or "").strip()
    if not method:
        raise UserError(f"{place}: the column '{column}' names no method.")
    nested = row.get("metrics")  # as in metrics.json of an evaluation
    values = nested if isinstance(nested, Mapping) else {key: row[key] for key in row if key != column}
    metrics = {}
    for name, value in values.items():
        known = metric_name(name)
        if known is None and not _is_ignored(name):
            raise _unknown_column(place, name)
        if known is not None and value not in (None, "", "–", "-"):
            metrics[known] = _number(place, name, value)
    return str(row.get(DATASET_COLUMN) or ""), method, metrics


def _is_ignored(column: str) -> bool:
    plain = column.strip().lower()
    deviation = plain.endswith("_std") and metric_name(plain.removesuffix("_std")) is not None
    return plain in (DATASET_COLUMN, *GAINS) or deviation


def _unknown_column(place: str, column: str) -> UserError:
    near = get_close_matches(column, [*METRICS, *ALIASES], n=1)
    hint = f" did you mean '{near[0]}'?" if near else ""
    aliases = [alias for alias, name in PAPER_NAMES.items() if alias != name]
    known = f"{', '.join(METRICS)}; the paper's {', '.join(aliases)}"
    return UserError(f"{place}: column '{column}' is no metric;{hint} Known: {known}.")


def _number(place: str, column: str, value: Any) -> float:
    try:
        number = float(value)
    except (TypeError, ValueError, OverflowError):
        raise UserError(f"{place}: column '{column}' must hold a number, not {value!r}.") from None
    if math.isinf(number):
        raise UserError(f"{place}: column '{column}' must hold a finite number, not {value!r}.")
    return number


def _json_rows(path: Path) -> Iterable[tuple[str, Mapping[str, Any]]]:
    """The rows of a JSON file: a list of objects, one object of methods, or one evaluation."""
    try:
        content = json.loads("".join(read_lines(path)))
    except (ValueError, RecursionError) as error:
        raise UserError(f"{path}: not JSON ({error}).") from None
    if isinstance(content, Mapping) and not any(name in content for name in METHOD_COLUMNS):
        content = [{"method": name, "metrics": values} for name, values in content.items()]
    rows = content if isinstance(content, list) else [content]
    for row in rows:
        if not isinstance(row, Mapping) or not row or not isinstance(row.get("metrics", {}), Mapping):
            raise UserError(f'{path}: write {{"method": {{"accuracy": 0.9, …}}, …}} or a list of such rows.')
    return [(f"{path}: row {number}", row) for number, row in enumerate(rows, 1)]
