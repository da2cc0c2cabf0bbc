"""The tables of a comparison: the main one, every run, probes, the paper; and the cells of all tables."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace
from math import isnan, nan
from typing import TYPE_CHECKING

from unirex.comparison.method import Method
from unirex.comparison.notes import collapse_warnings, footnotes, main_footnotes, mark, name_cell
from unirex.evaluation.summary import FLOOR
from unirex.metrics.registry import PROBED, metric
from unirex.metrics.relative_gain import GUARDED, shows_guarded
from unirex.paper.published import Published, published_row, results
from unirex.report.grid import MISSING, Cell, Grid, Head, number
from unirex.report.notes import COLLAPSES
from unirex.report.table import between, cell, header

if TYPE_CHECKING:
    from unirex.comparison.comparison import Comparison

GAINS = {
    "fnrg": "of faithfulness",
    "pnrg": "of plausibility",
    "tnrg": "of task performance",
    "cnrg": "of all three",
    "guarded": "of all three, where collapsed methods get 0 and do not stretch the scale",
}
INTERVALS = "Ranges are 95 % intervals over texts (bootstrap)."
CNRG_INTERVALS = (
    "Behind: how far a CNRG is below the highest, with its interval, for which the texts are drawn for all "
    "methods at once; marked are the highest and all whose interval is not above 0 (not corrected), if that "
    "are not all."
)
BEHIND = Head("behind ↓", "behind", "Relative gain", "how far CNRG is below the highest")


def main_table(
    comparison: Comparison, *, paper_in_rows: bool = False, others: bool = True, short: bool = False
) -> Grid:
    """All methods on all metrics.

    Args:
        comparison: the methods and metrics.
        paper_in_rows: put the paper's numbers into rows below ours instead of columns beside them.
        others: whether rows of the paper that belong to none of the methods follow.
        short: leave out the name of the method in the row of its random floor.
    """
    paper, keys = comparison.paper, comparison.columns
    paper_rows = {method.name: _paper_row(method, paper) for method in comparison.methods} if paper else {}
    shown = [row for row in paper_rows.values() if row]
    names = {row.method for row in shown}
    unshown = [row for row in results(paper).values() if row.method not in names] if paper and others else []
    printed = {key for row in [*shown, *unshown] for key in row.metrics}
    heads = _main_heads(comparison, set() if paper_in_rows else printed)
    lines = []  # cells by the key of their head; what a line lacks is blank
    for method in comparison.methods:
        row = paper_rows.get(method.name)
        beside = {} if paper_in_rows else {f"{key}_paper": paper_cell(row, key) for key in keys}
        lines.append(_method_line(comparison, method) | beside)
        if method.floor:
            name = f"  {FLOOR}" if short else f"{method.name}: {FLOOR}"
            of_words = [key for key in keys if metric(key).desideratum in ("faithfulness", "plausibility")]
            cells = {key: floor_cell(method, key) for key in of_words}
            lines.append({"method": Cell(name, quiet=True), **cells})
        if row and paper_in_rows:
            lines.append(_paper_line(row, keys, ""))
    lines += [_paper_line(row, keys, "" if paper_in_rows else "_paper") for row in unshown]
    return Grid(
        heads,
        [[line.get(head.key, Cell("")) for head in heads] for line in lines],
        table_caption(comparison, "A star" if paper_in_rows else "Bold"),
        main_footnotes(comparison, "starred" if paper_in_rows else "bold"),
        collapse_warnings(comparison.methods),
    )


def _paper_row(method: Method, dataset: str) -> Published | None:
    """What the paper prints for this method; None if it has no such row."""
    source = method.runs[0].source
    name = str(source.settings.get("method") or method.name).lower()
    trained = source.settings.get("extractor")
    extractor = source.protocol.get("extractor", trained)
    if extractor != trained and name != "vanilla" and not name.startswith("aa-"):
        return None  # explained by another than its own extractor
    return published_row(dataset, name, extractor)


def _main_heads(comparison: Comparison, beside: Collection[str]) -> list[Head]:
    """The heads of all columns; each metric in `beside` is followed by the paper's."""
    heads = [Head("", "method")]
    if any(method.seeds > 1 for method in comparison.methods):
        heads.append(Head("Seeds", "seeds"))
    for key in comparison.columns:
        heads.append(metric_head(key, title=metric(key).description))
        if key in beside:
            title = "as published: mean ± standard deviation over 3 seeds"
            heads.append(replace(heads[-1], text="paper", key=f"{key}_paper", title=title))
    if comparison.gains:
        for name, meaning in GAINS.items():
            if name != "guarded" or shows_guarded(comparison.gains):
                text = f"{GUARDED if name == 'guarded' else name.upper()} ↑"
                heads.append(Head(text, name, "Relative gain", f"normalised relative gain {meaning}"))
        heads.append(BEHIND)
    return heads


def _method_line(comparison: Comparison, method: Method) -> dict[str, Cell]:
    line = {"method": name_cell(method, under="95 %"), "seeds": count_cell(method.seeds)}
    for key in comparison.columns:
        line[key] = metric_cell(method, key, strong=method.name in comparison.best(key))
    if comparison.gains:
        line |= gain_cells(comparison, method.name)
    return line


def _paper_line(row: Published, keys: Sequence[str], suffix: str) -> dict[str, Cell]:
    name = Cell(f"paper: {row.method}", quiet=True)
    return {"method": name, **{key + suffix: paper_cell(row, key) for key in keys}}


def table_caption(
    comparison: Comparison, emphasis: str, *, shows_floor: bool = True, shows_gains: bool = True
) -> str:
    """What the signs of the table mean; `emphasis` is "Bold" or "A star", or both."""
    parts = [f"{comparison.texts} texts.", INTERVALS]
    if max(method.seeds for method in comparison.methods) > 1:
        parts.append("± is the standard deviation over seeds, and a range is that of their mean.")
    if len(comparison.methods) > 1:
        parts.append(
            f"{emphasis}: the best of a column and all not distinguished from it, where at least one is "
            f"significantly worse (paired {comparison.test} test over texts, 5 %, Holm-corrected for the "
            "pairs of a column)."
        )
    if shows_gains and comparison.gains:
        parts.append(CNRG_INTERVALS)
    if shows_floor and any(method.floor for method in comparison.methods):
        parts.append("Random scores: the floor, the same classifier with rationales drawn at random.")
    return " ".join(parts)


def table_of_runs(comparison: Comparison) -> Grid:
    """Each seed of each method in its own row, with its interval over texts."""
    body = []
    for method in comparison.methods:
        for position, run in enumerate(method.runs, start=1):
            row = [
                Cell(method.name, under="95 %", mark=COLLAPSES if run.collapse else ""),
                count_cell(position),
                Cell(MISSING if run.source.seed is None else str(run.source.seed)),
            ]
            for key in comparison.columns:
                value, bounds = run.metrics.get(key, nan), run.intervals.get(key, (nan, nan))
                row.append(replace(_interval_cell(key, value, nan, bounds), mark=mark(run, key)))
            body.append(row)
    heads = [Head("", "method"), Head("Run", "run"), Head("Seed", "seed")]
    return Grid(
        [*heads, *(metric_head(key) for key in comparison.columns)],
        body,
        f"{comparison.texts} texts. {INTERVALS}",
        footnotes(comparison.methods, comparison.columns),
        collapse_warnings(comparison.methods),
    )


def probes_table(comparison: Comparison) -> Grid | None:
    """The metrics of `evaluate --probes`, with those of random scores below; None if no method has any."""
    keys = [
        key
        for key in PROBED
        if key not in comparison.columns
        and any(not isnan(method.value(key)) for method in comparison.methods)
    ]
    if not keys:
        return None
    body = []
    for method in comparison.methods:
        body.append([name_cell(method, under="95 %"), *(metric_cell(method, key) for key in keys)])
        if any(key in method.floor for key in keys):
            body.append([Cell(f"  {FLOOR}", quiet=True), *(floor_cell(method, key) for key in keys)])
    heads = [Head(header(key), key, title=metric(key).description) for key in keys]
    caption = (
        "What other edits of the texts show, beyond rationales of fixed sizes; ranges are 95 % intervals "
        "over texts, and nothing is tested here."
    )
    return Grid([Head("", "method"), *heads], body, caption, footnotes(comparison.methods, keys))


def paper_table(dataset: str) -> Grid:
    """Every row the paper prints for a dataset, with the relative gains it prints."""
    rows = list(results(dataset).values())
    keys = dict.fromkeys(key for row in rows for key in row.metrics)
    gains = dict.fromkeys(name for row in rows for name in row.gains)
    heads = [metric_head(key) for key in keys]
    heads += [Head(name.upper(), name, "Relative gain") for name in gains]
    body = [
        [
            Cell(row.method),
            *(paper_cell(row, key, quiet=False) for key in keys),
            *(gain_cell(row.gains.get(name)) for name in gains),
        ]
        for row in rows
    ]
    return Grid([Head("", "method"), *heads], body, "As published: mean ± standard deviation over 3 seeds.")


def metric_head(key: str, *, title: str = "") -> Head:
    """The head of a metric's column, under its desideratum."""
    return Head(header(key), key, metric(key).desideratum.capitalize(), title)


def metric_cell(method: Method, key: str, *, strong: bool = False) -> Cell:
    """A metric of a method: mean ± standard deviation over its seeds, and its interval over texts."""
    mean, std = method.metrics.get(key, (nan, nan))
    shown = _interval_cell(key, mean, std, method.interval(key), strong=strong)
    return shown if shown.text == MISSING else replace(shown, mark=mark(method, key))


def _interval_cell(
    key: str, mean: float, std: float, bounds: tuple[float, float], *, strong: bool = False
) -> Cell:
    if isnan(mean):
        return Cell(MISSING)
    # CSV has a column for the deviation only if some method has one.
    numbers = {"": mean, **({} if isnan(std) else {"std": std}), "low": bounds[0], "high": bounds[1]}
    return Cell(_plus_minus(key, mean, std), strong, under=between(key, bounds), numbers=numbers)


def _plus_minus(key: str, mean: float, std: float) -> str:
    """A mean with its standard deviation, in the units of the metric.

    >>> _plus_minus("accuracy", 0.9368, 0.0067), _plus_minus("csd", 0.25, nan)
    ('93.7 ± 0.7', '0.250')
    """
    return cell(key, mean) if isnan(std) else f"{cell(key, mean)} ± {cell(key, std)}"


def floor_cell(method: Method, key: str) -> Cell:
    """A metric of random scores under the classifier of a method."""
    return value_cell(key, method.floor.get(key), mark=mark(method, key), quiet=True)


def value_cell(key: str, value: float | None, *, mark: str = "", quiet: bool = False) -> Cell:
    """A plain number in the units of its metric."""
    if value is None or isnan(value):
        return Cell(MISSING, quiet=quiet)
    return Cell(cell(key, value), quiet=quiet, mark=mark, numbers={"": value})


def paper_cell(row: Published | None, key: str, *, quiet: bool = True) -> Cell:
    """A published number; quiet beside ours."""
    if row is None or key not in row.metrics:
        return Cell(MISSING, quiet=quiet)
    mean, std = row.metrics[key]
    return Cell(_plus_minus(key, mean, std), quiet=quiet, numbers={"": mean, "std": std})


def gain_cells(comparison: Comparison, name: str) -> dict[str, Cell]:
    """The relative gains of a method, and how far its CNRG is below the highest."""
    gains, sure = comparison.gains[name], comparison.gain_intervals
    cells = {kind: gain_cell(getattr(gains, kind)) for kind in GAINS} | {BEHIND.key: Cell(MISSING)}
    if sure is not None and not isnan(gains.cnrg):
        cells["cnrg"] = replace(cells["cnrg"], strong=name in sure.best)
        if name != sure.top:
            behind, bounds = sure.gains[sure.top].cnrg - gains.cnrg, sure.lead(sure.top, name)
            cells[BEHIND.key] = _interval_cell("cnrg", behind, nan, bounds)
    return cells


def gain_cell(value: float | None) -> Cell:
    """A relative gain, from 0 to 1."""
    return Cell(number(value), numbers={} if value is None or isnan(value) else {"": value})


def count_cell(count: int) -> Cell:
    """A number of texts or seeds."""
    return Cell(str(count), numbers={"": count})
