"""The main table of a comparison: every method, how sure its numbers are, its floor, the paper beside it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from math import isnan
from typing import TYPE_CHECKING

from unirex.comparison import notes as cautions
from unirex.comparison.evaluations import Evaluation
from unirex.comparison.method import Method
from unirex.comparison.notes import mark, short_notes, warnings
from unirex.evaluation.summary import FLOOR
from unirex.metrics.relative_gain import GUARDED, shows_guarded
from unirex.paper import published
from unirex.paper.published import Published
from unirex.report.grid import MISSING, Cell, Grid, Head
from unirex.report.notes import COLLAPSES
from unirex.report.table import between, cell, describe, header

if TYPE_CHECKING:
    from unirex.comparison.comparison import Comparison


BUDGETS, REMOVAL = (1.0, 5.0, 10.0, 20.0, 50.0), "delete"


def printed_row(method: Method, dataset: str) -> Published | None:
    """What the paper prints for this method; None if it has no such row."""
    place = method.runs[0].place
    name = str(place.settings.get("method") or method.name).lower()
    own = place.settings.get("extractor")
    used = (place.saved.get("settings") or {}).get("extractor", own)
    if used != own and name != "vanilla" and not name.startswith("aa-"):
        return None  # explained by another than its own extractor
    return published.published_row(dataset, name, used)


def other_rows(dataset: str, shown: set[str]) -> list[Published]:
    """The printed rows that no method of the comparison has beside it."""
    return [row for name, row in published.results(dataset).items() if name not in shown]


def remarks(method: Method, dataset: str) -> list[str]:
    """What must be known before a number is held against the printed one."""
    run, found = method.runs[0], []
    if run.place.data is not None and _plain(run.place.data) != _plain(dataset):
        found.append(f"These texts are of '{run.place.data}', not {dataset.upper()}: the paper's are others.")
    if run.budgets not in ((), BUDGETS) and not run.select_predict:  # of these the paper has one budget too
        found.append(
            "These budgets are not the paper's (1, 5, 10, 20 and 50 %): do not compare Comp and Suff."
        )
    if run.removal not in (None, REMOVAL):
        found.append(
            f"Tokens were removed by {run.removal}, not deleted as in the paper: "
            "do not compare Comp and Suff."
        )
    return found + [f"Paper: {caveat}" for caveat in published.caveats(dataset)]


def _plain(name: str) -> str:
    """A dataset's name without the signs that people write it with.

    >>> _plain("e-SNLI")
    'esnli'
    """
    return "".join(sign for sign in name.lower() if sign.isalnum())


def performance_of(dataset: str) -> str:
    """What the paper measures performance by."""
    published.results(dataset)  # an unknown dataset is named
    return published.PERFORMANCE[dataset]


GAINS = {
    "fnrg": "of faithfulness",
    "pnrg": "of plausibility",
    "tnrg": "of task performance",
    "cnrg": "of all three",
    "guarded": "of all three, where collapsed methods get 0 and do not stretch the scale",
}
PLAIN_GAINS = {name: says for name, says in GAINS.items() if name != "guarded"}


def blank(_: object) -> Cell:
    """Nothing to say here."""
    return Cell("")


@dataclass(frozen=True, slots=True)
class Column:
    """A column, by what it says of a method, of random scores under it, and of a published row."""

    head: Head
    of_method: Callable[[Method], Cell]
    of_floor: Callable[[Method], Cell] = blank
    of_printed: Callable[[Published], Cell] = blank


def scores(
    found: Comparison, *, published: str = "columns", others: bool = True, short: bool = False
) -> Grid:
    """All methods on all metrics; published numbers in `columns` beside ours, or in `rows` below them.

    With `others` the rows of the paper follow that none of the methods has beside it. With `short`, what
    belongs to a method does not repeat its name.
    """
    told = {one.name: printed_row(one, found.paper) for one in found.methods} if found.paper else {}
    rows = [row for row in told.values() if row]
    more = other_rows(found.paper, {row.method for row in rows}) if found.paper and others else []
    columns = _columns(found, told, [*rows, *more], beside=published == "columns")
    body = []
    for method in found.methods:
        body.append([cautions.named(method, under="95 %"), *(one.of_method(method) for one in columns)])
        if method.floor:
            name = Cell(f"  {FLOOR}" if short else f"{method.name}: {FLOOR}", quiet=True)
            body.append([name, *(one.of_floor(method) for one in columns)])
        row = told.get(method.name)
        if row and published == "rows":
            body.append(_printed_line(row, columns))
    body += [_printed_line(row, columns) for row in more]
    stars = published == "rows"
    return Grid(
        [Head("", "method"), *(one.head for one in columns)],
        body,
        caption(found, "A star" if stars else "Bold"),
        cautions.notes(found, "starred" if stars else "bold"),
        cautions.warnings(found.methods),
    )


def _columns(
    found: Comparison,
    told: dict[str, Published | None],
    rows: Sequence[Published],
    *,
    beside: bool,
) -> list[Column]:
    known = {key for row in rows for key in row.metrics}
    columns = [Column(Head("Seeds", "seeds"), _seeds)] if any(one.seeds > 1 for one in found.methods) else []
    for key in found.columns:
        columns.append(_metric(found, key, printed_too=not beside))
        if beside and key in known:
            columns.append(_beside(key, told))
    shown = GAINS if shows_guarded(found.gains) else PLAIN_GAINS
    if found.gains:
        columns += [_gain(found, name, says) for name, says in shown.items()]
    return columns


def _metric(found: Comparison, key: str, *, printed_too: bool) -> Column:
    about, strong = describe(key), found.best(key)
    head = Head(header(key), key, group(key), about.description if about else "")
    scored = about is None or about.desideratum in ("faithfulness", "plausibility")
    return Column(
        head,
        lambda method: number(method, key, strong=method.name in strong),
        (lambda method: _quiet(key, method.floor.get(key), cautions.mark(method, key))) if scored else blank,
        (lambda row: printed_cell(row, key)) if printed_too else blank,
    )


def _beside(key: str, told: dict[str, Published | None]) -> Column:
    head = Head("paper", f"{key}_paper", group(key), "as published: mean ± standard deviation over 3 seeds")
    return Column(
        head,
        lambda method: printed_cell(told[method.name], key),
        of_printed=lambda row: printed_cell(row, key),
    )


def _gain(found: Comparison, name: str, says: str) -> Column:
    head = Head(
        f"{GUARDED if name == 'guarded' else name.upper()} ↑",
        name,
        "Relative gain",
        f"normalised relative gain {says}",
    )
    return Column(head, lambda method: share(getattr(found.gains[method.name], name)))


def number(method: Method, key: str, *, strong: bool = False) -> Cell:
    """A metric of a method: mean ± standard deviation of its seeds, and its interval over texts."""
    mean, std = method.metrics.get(key, (float("nan"), float("nan")))
    found = bounded(key, mean, std, method.interval(key), strong=strong)
    return found if found.text == MISSING else replace(found, mark=cautions.mark(method, key))


def bounded(key: str, mean: float, std: float, bounds: tuple[float, float], *, strong: bool = False) -> Cell:
    """A number with what is known of its deviation over seeds and its interval over texts."""
    if isnan(mean):
        return Cell(MISSING)
    numbers = {"": mean, **({} if isnan(std) else {"std": std}), "low": bounds[0], "high": bounds[1]}
    return Cell(plus_minus(key, mean, std), strong, under=between(key, bounds), numbers=numbers)


def plus_minus(key: str, mean: float, std: float) -> str:
    """A mean with its standard deviation, in the units of the metric.

    >>> plus_minus("accuracy", 0.9368, 0.0067), plus_minus("csd", 0.25, float("nan"))
    ('93.7 ± 0.7', '0.250')
    """
    return cell(key, mean) if isnan(std) else f"{cell(key, mean)} ± {cell(key, std)}"


def printed_cell(row: Published | None, key: str, *, quiet: bool = True) -> Cell:
    """What the paper prints, quietly where it stands beside ours."""
    if row is None or key not in row.metrics:
        return Cell(MISSING, quiet=quiet)
    mean, std = row.metrics[key]
    return Cell(plus_minus(key, mean, std), quiet=quiet, numbers={"": mean, "std": std})


def share(value: float) -> Cell:
    """A number from 0 to 1 with three decimals."""
    return Cell(MISSING) if isnan(value) else Cell(f"{value:.3f}", numbers={"": value})


def group(key: str) -> str:
    """Which desideratum a column answers to."""
    about = describe(key)
    return about.desideratum.capitalize() if about else "Other"


def caption(found: Comparison, sign: str) -> str:
    """What the signs of the table mean, in plain words."""
    parts = [f"{found.texts} texts.", "Ranges are 95 % intervals over texts (bootstrap)."]
    if max(one.seeds for one in found.methods) > 1:
        parts.append("± is the standard deviation over seeds, and a range is that of their mean.")
    if len(found.methods) > 1:
        parts.append(
            f"{sign}: the best of a column and all not told apart from it, where at least one is "
            f"significantly worse (paired {found.test} test over texts, 5 %, Holm-corrected for the pairs of "
            "a column)."
        )
    if any(one.floor for one in found.methods):
        parts.append("Random scores: the floor, the same classifier with rationales drawn at random.")
    return " ".join(parts)


def _printed_line(row: Published, columns: Sequence[Column]) -> list[Cell]:
    return [Cell(f"paper: {row.method}", quiet=True), *(one.of_printed(row) for one in columns)]


def _seeds(method: Method) -> Cell:
    return Cell(str(method.seeds), numbers={"": method.seeds})


def _quiet(key: str, value: float | None, mark: str) -> Cell:
    shown = cell(key, value)
    if shown == MISSING or value is None:
        return Cell(shown, quiet=True)
    return Cell(shown, quiet=True, mark=mark, numbers={"": value})


NAN = float("nan")


def every_run(found: Comparison) -> Grid:
    """Each seed of each method by itself, with its interval over texts."""
    head = [
        Head("", "method"),
        Head("Run", "run"),
        Head("Seed", "seed"),
        *(Head(header(key), key, group(key)) for key in found.columns),
    ]
    body = [
        [
            Cell(method.name, under="95 %", mark=COLLAPSES if run.collapse else ""),
            Cell(str(number), numbers={"": number}),
            Cell(MISSING if run.place.seed is None else str(run.place.seed)),
            *(_of_run(run, key) for key in found.columns),
        ]
        for method in found.methods
        for number, run in enumerate(method.runs, start=1)
    ]
    caption = f"{found.texts} texts. Ranges are 95 % intervals over texts (bootstrap)."
    methods = found.methods
    return Grid(head, body, caption, short_notes(methods, found.columns), warnings(methods))


def _of_run(run: Evaluation, key: str) -> Cell:
    bounds = run.intervals.get(key, (NAN, NAN))
    return replace(bounded(key, run.metrics.get(key, NAN), NAN, bounds), mark=mark(run, key))
