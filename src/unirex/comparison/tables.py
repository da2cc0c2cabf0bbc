"""Further tables of a comparison: differences, the paper, removals, classes, lengths, outcomes, probes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from math import isnan
from typing import TYPE_CHECKING

from unirex.comparison import method as breakdown
from unirex.comparison import notes as cautions
from unirex.comparison.method import Method, Part, mean_over
from unirex.comparison.notes import mark, named, short_notes
from unirex.comparison.scores import group, number, other_rows, printed_cell, share
from unirex.comparison.significance import Difference, draws_of
from unirex.evaluation.summary import FLOOR, PROBED
from unirex.metrics.paired import FEWEST
from unirex.report.grid import MISSING, Cell, Grid, Head
from unirex.report.table import between, cell, describe, header

if TYPE_CHECKING:
    from unirex.comparison.comparison import Comparison
    from unirex.comparison.method import Method


LEAST = 1e-4  # smaller p-values are only said to be so


def differences(found: Comparison) -> Grid:
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
    names = {one.name: cautions.named(one) for one in found.methods}
    body = [_difference(one, names) for one in found.tests()]
    return Grid(head, body, _test_caption(found), cautions.short_notes(found.methods))


def _difference(one: Difference, names: Mapping[str, Cell]) -> list[Cell]:
    about = describe(one.metric)
    turned = (one.difference < 0) != (about is not None and about.direction == "lower")
    first, second = (one.second, one.first) if turned else (one.first, one.second)
    apart, low, high = (
        (-one.difference, -one.high, -one.low) if turned else (one.difference, one.low, one.high)
    )
    numbers = {"": apart, "low": low, "high": high}
    return [
        Cell(header(one.metric)),
        names[first],
        names[second],
        Cell(
            cell(one.metric, apart), one.significant, under=between(one.metric, (low, high)), numbers=numbers
        ),
        _p(one.p_value),
        _p(one.corrected, strong=one.significant),
        Cell(str(one.pairs), numbers={"": one.pairs}),
    ]


def _p(value: float, *, strong: bool = False) -> Cell:
    if isnan(value):
        return Cell(MISSING)
    return Cell(f"{value:.4f}" if value >= LEAST else f"< {LEAST:g}", strong, numbers={"": value})


def _test_caption(found: Comparison) -> str:
    few = f" (none from fewer than {FEWEST} texts)" if found.test == "bootstrap" else ""
    return (
        f"Paired {found.test} test over the texts both have a value for{few}, two-sided, {_draws(found)}; "
        "several seeds of a method are averaged text by text. Holm's correction is for all pairs of methods "
        "on one metric; marked where it stays below 5 %. Differences are better less worse, with 95 % "
        f"intervals.{_left_out(found)}"
    )


def _left_out(found: Comparison) -> str:
    """Whose numbers are not tested, as they are what they are by construction."""
    names = [one.name for one in found.methods if not all(one.ranked(key) for key in found.columns)]
    if not names:
        return ""
    said = "Not tested is what is so by construction in systems that predict from their rationale"
    return f" {said}: {', '.join(names)}."


def _draws(found: Comparison) -> str:
    """How often was drawn, which is less often for numbers that are slow to take."""
    by_number: dict[int, list[str]] = {}
    for key in found.columns:
        about = describe(key)
        number = draws_of(key, found.draws, len(found.methods))
        by_number.setdefault(number, []).append(about.header if about else key)
    if len(by_number) == 1:
        return f"{next(iter(by_number))} draws"
    return ", ".join(f"{number} draws for {', '.join(keys)}" for number, keys in by_number.items())


def printed(dataset: str) -> Grid:
    """Every row the paper prints for a dataset, with the relative gains it prints."""
    rows = other_rows(dataset, set())
    keys = dict.fromkeys(key for row in rows for key in row.metrics)
    gains = dict.fromkeys(name for row in rows for name in row.gains)
    heads = [Head(header(key), key, group(key)) for key in keys]
    heads += [Head(name.upper(), name, "Relative gain") for name in gains]
    body = [
        [
            Cell(row.method),
            *(printed_cell(row, key, quiet=False) for key in keys),
            *(share(row.gains.get(name, float("nan"))) for name in gains),
        ]
        for row in rows
    ]
    return Grid([Head("", "method"), *heads], body, "As published: mean ± standard deviation over 3 seeds.")


def removals(found: Comparison) -> Grid:
    """Faithfulness under every way of removing tokens, so that one that was trained for does not mislead."""
    ways = breakdown.removals(found.methods)
    keys = [
        key
        for key in ("comprehensiveness", "sufficiency", "csd")
        if any(key in one.metrics for one in found.methods)
    ]
    trained = any(one.trained_removals for one in found.methods)
    head = [Head("", "method"), *([Head("Trained with", "trained_with")] if trained else [])]
    head += [Head(way, f"{key}/{way}", header(key)) for key in keys for way in ways]
    body = [
        [
            cautions.named(method),
            *([Cell(", ".join(method.trained_removals) or MISSING)] if trained else []),
            *(_of(method, key, breakdown.under_removal(method, key, way)) for key in keys for way in ways),
        ]
        for method in found.methods
    ]
    says = (
        "A method can learn to look faithful for the one way of removing tokens it was trained with; numbers "
        "that hold for a way training never used tell more."
    )
    return Grid(head, body, says, cautions.short_notes(found.methods, keys))


def classes(found: Comparison) -> Grid:
    """F1 of every label, method by method."""
    reports = [breakdown.by_class(one) for one in found.methods]
    labels = list(dict.fromkeys(label for report in reports for label in report))
    heads = [Head(cautions.head(one), f"{one.name}_f1", "F1 ↑") for one in found.methods]
    body = []
    for label in labels:
        rows = [report.get(label) for report in reports]
        texts = next((row.support for row in rows if row), 0)
        of_label = (_number("macro_f1", row.f1 if row else float("nan")) for row in rows)
        body.append([Cell(str(label)), Cell(str(texts), numbers={"": texts}), *of_label])
    head = [Head("Label", "label"), Head("Texts", "texts"), *heads]
    return Grid(head, body, notes=cautions.short_notes(found.methods))


def lengths(found: Comparison, keys: Sequence[str]) -> Grid:
    """The desiderata by length of the text."""
    parts = breakdown.by_length(found.methods[0].lengths)
    heads = [
        Head(cautions.head(one), f"{one.name}_{key}", header(key)) for key in keys for one in found.methods
    ]
    body = [
        [
            Cell(part.name),
            Cell(str(part.texts), numbers={"": part.texts}),
            *(_of(one, key, mean_over(one, key, part)) for key in keys for one in found.methods),
        ]
        for part in parts
    ]
    head = [Head("Tokens", "tokens"), Head("Texts", "texts"), *heads]
    return Grid(head, body, notes=cautions.short_notes(found.methods, keys))


def outcomes(found: Comparison, keys: Sequence[str]) -> Grid:
    """Rationales of right predictions beside those of wrong ones; each method has its own."""
    head = [Head("", "method")]
    head += [Head(name, f"texts_{name}", "Texts") for name in ("right", "wrong")]
    head += [Head(name, f"{key}_{name}", header(key)) for key in keys for name in ("right", "wrong")]
    body = [_outcome(method, breakdown.by_outcome(method), keys) for method in found.methods]
    return Grid(head, body, notes=cautions.short_notes(found.methods, keys))


def _outcome(method: Method, parts: Sequence[Part], keys: Sequence[str]) -> list[Cell]:
    counts = [Cell(str(part.texts), numbers={"": part.texts}) for part in parts]
    return [
        cautions.named(method),
        *counts,
        *(_of(method, key, mean_over(method, key, part)) for key in keys for part in parts),
    ]


def _of(method: Method, key: str, value: float) -> Cell:
    """A number of a method, marked if it does not mean what it seems to."""
    found = _number(key, value)
    return replace(found, mark=cautions.mark(method, key)) if found.numbers else found


def _number(key: str, value: float) -> Cell:
    shown = cell(key, value)
    return Cell(shown, numbers={} if shown == MISSING else {"": value})


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
