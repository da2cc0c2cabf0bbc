"""Further tables of a comparison: differences, removals, classes, lengths, outcomes, probes, the paper."""

from __future__ import annotations

from collections.abc import Sequence
from math import isnan, nan
from typing import TYPE_CHECKING

from unirex.comparison.main_table import (
    count_cell,
    floor_cell,
    gain_cell,
    metric_cell,
    metric_head,
    paper_cell,
    value_cell,
)
from unirex.comparison.method import (
    Method,
    mean_over,
    removals,
    report_by_class,
    split_by_length,
    split_by_outcome,
    under_removal,
)
from unirex.comparison.notes import footnotes, head_name, mark, name_cell
from unirex.comparison.significance import Difference, draws_of
from unirex.evaluation.summary import FLOOR
from unirex.metrics.paired import FEWEST
from unirex.metrics.registry import PROBED, metric
from unirex.paper.published import results
from unirex.report.grid import MISSING, Cell, Grid, Head
from unirex.report.table import between, cell, header

if TYPE_CHECKING:
    from unirex.comparison.comparison import Comparison

SMALLEST_P = 1e-4  # smaller p-values are shown as "< 0.0001"


def differences_table(comparison: Comparison) -> Grid:
    """Every two methods on every metric: how far apart, and how likely chance alone gives as much."""
    head = [
        Head("Metric", "metric"),
        Head("Better", "better"),
        Head("Worse", "worse"),
        Head("Difference", "difference", title="with its 95 % interval over texts"),
        Head("p", "p", title="of the paired test, two-sided"),
        Head("p corrected", "p_corrected", title="by Holm, for the pairs of methods on this metric"),
        Head("Texts", "texts", title="that both have a value for"),
    ]
    names = {method.name: name_cell(method) for method in comparison.methods}
    body = [_difference_row(test, names) for test in comparison.tests()]
    return Grid(head, body, _differences_caption(comparison), footnotes(comparison.methods))


def _difference_row(test: Difference, names: dict[str, Cell]) -> list[Cell]:
    """The better method first, so that the difference is better less worse."""
    better, worse, apart, low, high = test.first, test.second, test.difference, test.low, test.high
    if (apart < 0) != (metric(test.metric).direction == "lower"):
        better, worse, apart, low, high = worse, better, -apart, -high, -low
    return [
        Cell(header(test.metric)),
        names[better],
        names[worse],
        Cell(
            cell(test.metric, apart),
            test.significant,
            under=between(test.metric, (low, high)),
            numbers={"": apart, "low": low, "high": high},
        ),
        _p_cell(test.p_value),
        _p_cell(test.corrected, strong=test.significant),
        count_cell(test.pairs),
    ]


def _p_cell(value: float, *, strong: bool = False) -> Cell:
    if isnan(value):
        return Cell(MISSING)
    shown = f"{value:.4f}" if value >= SMALLEST_P else f"< {SMALLEST_P:g}"
    return Cell(shown, strong, numbers={"": value})


def _differences_caption(comparison: Comparison) -> str:
    few = f" (none from fewer than {FEWEST} texts)" if comparison.test == "bootstrap" else ""
    untested = [
        method.name for method in comparison.methods if not all(map(method.ranked, comparison.columns))
    ]
    left_out = (
        " Not tested is what is so by construction in systems that predict from their rationale: "
        f"{', '.join(untested)}."
    )
    return (
        f"Paired {comparison.test} test over the texts both have a value for{few}, two-sided, "
        f"{_draws(comparison)}; several seeds of a method are averaged text by text. Holm's correction is "
        "for all pairs of methods on one metric; marked where it stays below 5 %. Differences are better "
        f"less worse, with 95 % intervals.{left_out if untested else ''}"
    )


def _draws(comparison: Comparison) -> str:
    """The number of draws, by metric if slow metrics have fewer."""
    headers: dict[int, list[str]] = {}
    for key in comparison.columns:
        draws = draws_of(key, comparison.draws, len(comparison.methods))
        headers.setdefault(draws, []).append(metric(key).header)
    if len(headers) == 1:
        return f"{next(iter(headers))} draws"
    return ", ".join(f"{draws} draws for {', '.join(names)}" for draws, names in headers.items())


def removals_table(comparison: Comparison) -> Grid:
    """Faithfulness under every removal, so that the one used in training does not mislead."""
    ways = removals(comparison.methods)
    keys = [
        key
        for key in ("comprehensiveness", "sufficiency", "csd")
        if any(key in method.metrics for method in comparison.methods)
    ]
    trained = any(method.trained_removals for method in comparison.methods)
    head = [Head("", "method"), *([Head("Trained with", "trained_with")] if trained else [])]
    head += [Head(way, f"{key}/{way}", header(key)) for key in keys for way in ways]
    body = [
        [
            name_cell(method),
            *([Cell(", ".join(method.trained_removals) or MISSING)] if trained else []),
            *(_marked_cell(method, key, under_removal(method, key, way)) for key in keys for way in ways),
        ]
        for method in comparison.methods
    ]
    caption = (
        "A method can learn to look faithful for the one way of removing tokens it was trained with; numbers "
        "that hold for a way training never used tell more."
    )
    return Grid(head, body, caption, footnotes(comparison.methods, keys))


def classes_table(comparison: Comparison) -> Grid:
    """F1 of every label, method by method."""
    reports = [report_by_class(method) for method in comparison.methods]
    body = []
    for label in dict.fromkeys(label for report in reports for label in report):
        texts = next(report[label].support for report in reports if label in report)
        f1 = [report[label].f1 if label in report else nan for report in reports]
        body.append([Cell(str(label)), count_cell(texts), *(value_cell("macro_f1", value) for value in f1)])
    heads = [Head(head_name(method), f"{method.name}_f1", "F1 ↑") for method in comparison.methods]
    head = [Head("Label", "label"), Head("Texts", "texts"), *heads]
    return Grid(head, body, notes=footnotes(comparison.methods))


def lengths_table(comparison: Comparison, keys: Sequence[str]) -> Grid:
    """The given metrics by length of the text."""
    pairs = [(key, method) for key in keys for method in comparison.methods]
    body = [
        [
            Cell(subset.name),
            count_cell(subset.texts),
            *(_marked_cell(method, key, mean_over(method, key, subset)) for key, method in pairs),
        ]
        for subset in split_by_length(comparison.methods[0].lengths)
    ]
    heads = [Head(head_name(method), f"{method.name}_{key}", header(key)) for key, method in pairs]
    head = [Head("Tokens", "tokens"), Head("Texts", "texts"), *heads]
    return Grid(head, body, notes=footnotes(comparison.methods, keys))


def outcomes_table(comparison: Comparison, keys: Sequence[str]) -> Grid:
    """The given metrics on right and on wrong predictions, which each method has of its own."""
    head = [Head("", "method")]
    head += [Head(name, f"texts_{name}", "Texts") for name in ("right", "wrong")]
    head += [Head(name, f"{key}_{name}", header(key)) for key in keys for name in ("right", "wrong")]
    body = []
    for method in comparison.methods:
        subsets = split_by_outcome(method)
        means = [(key, mean_over(method, key, subset)) for key in keys for subset in subsets]
        counts = [count_cell(subset.texts) for subset in subsets]
        body.append([name_cell(method), *counts, *(_marked_cell(method, *mean) for mean in means)])
    return Grid(head, body, notes=footnotes(comparison.methods, keys))


def _marked_cell(method: Method, key: str, value: float) -> Cell:
    return value_cell(key, value, mark=mark(method, key))


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
            *(gain_cell(row.gains.get(name, nan)) for name in gains),
        ]
        for row in rows
    ]
    return Grid([Head("", "method"), *heads], body, "As published: mean ± standard deviation over 3 seeds.")
