"""How far a study is: a table that fills up with every measurement, and what runs or failed."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

from unirex.comparison.tables import metric_head
from unirex.experiments.cells import LOG
from unirex.experiments.figures import mean_cell
from unirex.experiments.results import StudyResults
from unirex.experiments.study import Measured
from unirex.report.grid import Cell as TableCell
from unirex.report.grid import Grid, Head

STATES = ("done", "running", "failed", "waiting")
SHOWN = ("csd", "auprc")  # beside the performance
TAIL = 4096  # bytes of a log that are read
LINE = 100  # characters of a log that are shown


def status(results: StudyResults) -> tuple[str, bool]:
    """The table with a line for every cell that runs or failed; whether any failed."""
    study, store = results.study, results.store
    lines = [_table(results).text()]
    for cell in study.cells:
        state = cell.state(store)
        if state == "failed":
            lines.append(f"failed: {cell.work} {cell.name}: {cell.failure(store)}")
            lines.append(f"    its log: {cell.folder(store) / LOG}")
        elif state == "running":
            lines.append(f"running: {cell.work} {cell.name}{_last_line(cell.folder(store) / LOG)}")
    states = study.states(store)
    lines.append(f"{states['done']} of {len(study.cells)} cells are done.")
    return "\n".join(lines), states["failed"] > 0


def _table(results: StudyResults) -> Grid:
    """A line for every row and dataset: how many measurements are where, and the means of those done."""
    lines: dict[tuple[str, str], list[Measured]] = {}
    several = (
        len({(measurement.trained_on, measurement.measured_on) for measurement in results.study.measured}) > 1
    )
    for measurement in results.study.measured:
        lines.setdefault((measurement.variant.name, _place(measurement) if several else ""), []).append(
            measurement
        )
    saved = {measurement.cell.key: results.saved(measurement) for measurement in results.finished}
    found = [metrics["metrics"] for metrics in saved.values()]
    leading = next((str(metrics["leading"]) for metrics in saved.values() if metrics["leading"]), "accuracy")
    keys = [key for key in (leading, *SHOWN) if any(key in metrics for metrics in found)]
    body = []
    for (name, place), measurements in lines.items():
        states = Counter(_state(measurement, results.store) for measurement in measurements)
        row = [TableCell(name), *([TableCell(place)] if several else [])]
        row += [TableCell(str(states[state] or "")) for state in STATES]
        done = [
            saved[measurement.cell.key]["metrics"]
            for measurement in measurements
            if measurement.cell.key in saved
        ]
        for key in keys:
            values = [metrics[key] for metrics in done if metrics.get(key) is not None]
            row.append(mean_cell(key, values) if values else TableCell(""))
        body.append(row)
    heads = [Head(""), *([Head("Data")] if several else []), *map(Head, STATES)]
    return Grid([*heads, *(metric_head(key) for key in keys)], body)


def _state(measurement: Measured, store: Path) -> str:
    """Of a measurement; one whose training runs or failed is counted there."""
    state = measurement.cell.state(store)
    if state != "waiting":
        return state
    before = {cell.state(store) for cell in measurement.trained}
    return next((state for state in ("failed", "running") if state in before), "waiting")


def _place(measurement: Measured) -> str:
    on, of = measurement.trained_on, measurement.measured_on
    return on if on == of else f"{on} → {of}"


def _last_line(log: Path) -> str:
    """The last thing that a cell said, with what stands before it in a sentence."""
    try:
        with log.open("rb") as file:
            file.seek(max(0, log.stat().st_size - TAIL))
            lines = file.read().decode("utf-8", "replace").replace("\r", "\n").split("\n")
    except OSError:
        return ""
    said = [line.strip() for line in lines if line.strip()]
    return f": {said[-1][:LINE]}" if said else ""
