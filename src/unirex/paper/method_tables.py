"""A table of methods and their metrics out of a file, under our names: what NRG is computed from."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Iterator, Mapping
from difflib import get_close_matches
from pathlib import Path
from typing import Any

from unirex.data.rows import lines, rows
from unirex.errors import UserError
from unirex.metrics.registry import METRICS, metric

Tables = dict[str, dict[str, dict[str, float]]]  # dataset ("" if not told) → method → metric → value

KINDS = (".csv", ".tsv", ".jsonl", ".parquet", ".json")
METHOD, DATASET = ("method", "system", "name"), "dataset"
PAPER = {"comp": "comprehensiveness", "suff": "sufficiency", "tf1": "token_f1_macro2", "acc": "accuracy"}
ALIASES = {one.header.lower(): name for name, one in METRICS.items()} | PAPER | {"perf": "accuracy"}
RESULTS = ("fnrg", "pnrg", "tnrg", "cnrg")  # are computed anew


def read_tables(path: Path) -> Tables:
    """The methods of a file, by dataset if it has a column `dataset`.

    The method is in the column `method`, `system` or `name`, else in the first. Other columns are metrics, by
    our names or those of printed tables ("Comp ↑"); `…_std` and NRG columns are passed over. JSON may also be
    an object of methods with their metrics.
    """
    if path.suffix.lower() not in KINDS:
        raise UserError(f"{path}: a table of methods must be one of {', '.join(KINDS)}.")
    tables: Tables = {}
    for place, row in _json_rows(path) if path.suffix.lower() == ".json" else rows(path):
        dataset, method, values = _read(place, row)
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


def _read(place: str, row: Mapping[str, Any]) -> tuple[str, str, dict[str, float]]:
    """Dataset, method and metrics of one row."""
    named = next((one for one in row if one.lower() in METHOD), next(iter(row)))
    method = str(row[named] or "").strip()
    if not method:
        raise UserError(f"{place}: the column '{named}' names no method.")
    inner = row.get("metrics")  # as in metrics.json of an evaluation
    cells = inner if isinstance(inner, Mapping) else {key: row[key] for key in row if key != named}
    return str(row.get(DATASET) or ""), method, dict(_metrics(place, cells))


def _metrics(place: str, cells: Mapping[str, Any]) -> Iterator[tuple[str, float]]:
    for column, value in cells.items():
        name = metric_name(column)
        if name is None and not _passed_over(column):
            raise _unknown_column(place, column)
        if name is not None and value not in (None, "", "–", "-"):
            yield name, _number(place, column, value)


def _passed_over(column: str) -> bool:
    plain = column.strip().lower()
    spread = metric_name(plain.removesuffix("_std")) is not None
    return plain in (DATASET, *RESULTS) or (plain.endswith("_std") and spread)


def _unknown_column(place: str, column: str) -> UserError:
    near = get_close_matches(column, [*METRICS, *ALIASES], n=1)
    hint = f" did you mean '{near[0]}'?" if near else ""
    known = f"{', '.join(METRICS)}; the paper's {', '.join([*PAPER, 'perf'])}"
    return UserError(f"{place}: column '{column}' is no metric;{hint} Known: {known}.")


def _number(place: str, column: str, value: Any) -> float:
    try:
        found = float(value)
    except (TypeError, ValueError, OverflowError):
        raise UserError(f"{place}: column '{column}' must hold a number, not {value!r}.") from None
    if math.isinf(found):
        raise UserError(f"{place}: column '{column}' must hold a finite number, not {value!r}.")
    return found


def _json_rows(path: Path) -> Iterable[tuple[str, Mapping[str, Any]]]:
    """The rows of a JSON file: a list of objects, one object of methods, or one evaluation."""
    try:
        content = json.loads("".join(lines(path)))
    except (ValueError, RecursionError) as error:
        raise UserError(f"{path}: not JSON ({error}).") from None
    if isinstance(content, Mapping) and not any(one in content for one in METHOD):
        content = [{"method": name, "metrics": values} for name, values in content.items()]
    found = content if isinstance(content, list) else [content]
    if not all(isinstance(one, Mapping) and one and _is_flat(one) for one in found):
        raise UserError(f'{path}: write {{"method": {{"accuracy": 0.9, …}}, …}} or a list of such rows.')
    return [(f"{path}: row {number}", one) for number, one in enumerate(found, 1)]


def _is_flat(row: Mapping[str, Any]) -> bool:
    return isinstance(row["metrics"], Mapping) if "metrics" in row else True
