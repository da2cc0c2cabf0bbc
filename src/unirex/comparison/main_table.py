"""The main table of a comparison: every method with intervals, its random floor, and the paper's numbers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from math import isnan, nan
from typing import TYPE_CHECKING

from unirex.comparison.method import Method
from unirex.comparison.notes import collapse_warnings, footnotes, main_footnotes, mark, name_cell
from unirex.evaluation.summary import FLOOR
from unirex.metrics.registry import metric
from unirex.metrics.relative_gain import GUARDED, shows_guarded
from unirex.paper.published import Published, published_row, results
from unirex.report.grid import MISSING, Cell, Grid, Head
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
    paper = comparison.paper
    paper_rows = {method.name: _paper_row(method, paper) for method in comparison.methods} if paper else {}
    shown = [row for row in paper_rows.values() if row]
    names = {row.method for row in shown}
    unshown = [row for row in results(paper).values() if row.method not in names] if paper and others else []
    printed = {key for row in [*shown, *unshown] for key in row.metrics}
    columns = _columns(comparison, paper_rows, printed, in_rows=paper_in_rows)
    body = []
    for method in comparison.methods:
        body.append([name_cell(method, under="95 %"), *(column.of_method(method) for column in columns)])
        if method.floor:
            name = Cell(f"  {FLOOR}" if short else f"{method.name}: {FLOOR}", quiet=True)
            body.append([name, *(column.of_floor(method) for column in columns)])
        row = paper_rows.get(method.name)
        if row and paper_in_rows:
            body.append(_paper_line(row, columns))
    body += [_paper_line(row, columns) for row in unshown]
    return Grid(
        [Head("", "method"), *(column.head for column in columns)],
        body,
        _caption(comparison, "A star" if paper_in_rows else "Bold"),
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


def _paper_line(row: Published, columns: Sequence[TableColumn]) -> list[Cell]:
    return [Cell(f"paper: {row.method}", quiet=True), *(column.of_paper(row) for column in columns)]


def _caption(comparison: Comparison, emphasis: str) -> str:
    """What the signs of the table mean; `emphasis` is "Bold" or "A star"."""
    parts = [f"{comparison.texts} texts.", INTERVALS]
    if max(method.seeds for method in comparison.methods) > 1:
        parts.append("± is the standard deviation over seeds, and a range is that of their mean.")
    if len(comparison.methods) > 1:
        parts.append(
            f"{emphasis}: the best of a column and all not told apart from it, where at least one is "
            f"significantly worse (paired {comparison.test} test over texts, 5 %, Holm-corrected for the "
            "pairs of a column)."
        )
    if any(method.floor for method in comparison.methods):
        parts.append("Random scores: the floor, the same classifier with rationales drawn at random.")
    return " ".join(parts)


def _blank(_: object) -> Cell:
    return Cell("")


@dataclass(frozen=True, slots=True)
class TableColumn:
    """A column: its cell for a method, for the random floor of a method, and for a row of the paper.

    Seeds and gains belong to methods alone, so the other two are blank by default.
    """

    head: Head
    of_method: Callable[[Method], Cell]
    of_floor: Callable[[Method], Cell] = _blank
    of_paper: Callable[[Published], Cell] = _blank


def _columns(
    comparison: Comparison, paper_rows: dict[str, Published | None], printed: set[str], *, in_rows: bool
) -> list[TableColumn]:
    """All columns; each metric that the paper prints is followed by the paper's, unless that is in rows."""
    columns = []
    if any(method.seeds > 1 for method in comparison.methods):
        columns.append(TableColumn(Head("Seeds", "seeds"), lambda method: count_cell(method.seeds)))
    for key in comparison.columns:
        columns.append(_metric_column(comparison, key, with_paper=in_rows))
        if key in printed and not in_rows:
            columns.append(_paper_column(key, paper_rows))
    if comparison.gains:
        guarded = shows_guarded(comparison.gains)
        columns += [_gain_column(comparison, name) for name in GAINS if guarded or name != "guarded"]
    return columns


def _metric_column(comparison: Comparison, key: str, *, with_paper: bool) -> TableColumn:
    about, best = metric(key), comparison.best(key)
    has_floor = about.desideratum in ("faithfulness", "plausibility")
    return TableColumn(
        metric_head(key, title=about.description),
        lambda method: metric_cell(method, key, strong=method.name in best),
        (lambda method: floor_cell(method, key)) if has_floor else _blank,
        (lambda row: paper_cell(row, key)) if with_paper else _blank,
    )


def _paper_column(key: str, paper_rows: dict[str, Published | None]) -> TableColumn:
    title = "as published: mean ± standard deviation over 3 seeds"
    return TableColumn(
        Head("paper", f"{key}_paper", desideratum(key), title),
        lambda method: paper_cell(paper_rows[method.name], key),
        of_paper=lambda row: paper_cell(row, key),
    )


def _gain_column(comparison: Comparison, name: str) -> TableColumn:
    text = f"{GUARDED if name == 'guarded' else name.upper()} ↑"
    head = Head(text, name, "Relative gain", f"normalised relative gain {GAINS[name]}")
    return TableColumn(head, lambda method: gain_cell(getattr(comparison.gains[method.name], name)))


def table_of_runs(comparison: Comparison) -> Grid:
    """Each seed of each method in its own row, with its interval over texts."""
    body = []
    for method in comparison.methods:
        for number, run in enumerate(method.runs, start=1):
            row = [
                Cell(method.name, under="95 %", mark=COLLAPSES if run.collapse else ""),
                count_cell(number),
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


def metric_head(key: str, *, title: str = "") -> Head:
    """The head of a metric's column, under its desideratum."""
    return Head(header(key), key, desideratum(key), title)


def desideratum(key: str) -> str:
    """The desideratum of a metric, as a heading above columns."""
    return metric(key).desideratum.capitalize()


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


def gain_cell(value: float) -> Cell:
    """A relative gain, from 0 to 1."""
    return Cell(MISSING) if isnan(value) else Cell(f"{value:.3f}", numbers={"": value})


def count_cell(number: int) -> Cell:
    """A number of texts or seeds."""
    return Cell(str(number), numbers={"": number})
