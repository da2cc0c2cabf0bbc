"""`compare`: find, group, read and check evaluations, and put them side by side."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any

from unirex.comparison import scores as printed
from unirex.comparison import significance
from unirex.comparison.comparison import BUDGET, EXAMPLES, Comparison
from unirex.comparison.evaluations import OWN_WAY, likeness_notes, read, together
from unirex.comparison.method import Method, removals
from unirex.comparison.significance import Kind
from unirex.comparison.sources import Given, find_places, named
from unirex.errors import UserError, unknown
from unirex.evaluation.summary import COLUMNS, PROBED
from unirex.metrics.registry import metric
from unirex.metrics.relative_gain import FAITHFULNESS

NEEDS = {
    "normalised_comprehensiveness": "empty",
    "normalised_sufficiency": "empty",
    "loo_correlation": "leave-one-out",
    "naopc": "naopc",
    "soft_sufficiency": "soft",
    "soft_comprehensiveness": "soft",
}  # by what `evaluate --probes` calls it; the other probed metrics are of curves
BESIDE = (*FAITHFULNESS, "csd", "log_odds")


def not_measured(key: str, methods: Sequence[Method], measured: Collection[str]) -> UserError:
    """The error for a column that nobody has, with the way to it."""
    whole, slash, part = key.partition("/")
    name, at, _ = whole.partition("@")
    hint = f"there is: {', '.join(measured)}."
    if name in PROBED:
        hint = f"evaluate with --probes {NEEDS.get(name, 'curves')}."
    elif at and not slash:
        hint = _budgets(name, measured)
    elif slash and name in BESIDE and not at:
        known = ", ".join(removals(methods)) or "none"
        hint = f"evaluate with --beside {part}; measured removals: {known}."
    return UserError(f"--columns {key}: no evaluation has it; {hint}")


def _budgets(name: str, measured: Collection[str]) -> str:
    """Which sizes a metric was measured at."""
    known = [key.partition("@")[2] for key in measured if key.startswith(f"{name}@") and "/" not in key]
    if not known:
        return f"{name} was measured at no budget; evaluate with --budgets."
    return f"budgets are {', '.join(known)}; others: evaluate with --budgets."


def compare(
    places: Sequence[Given] | Mapping[str, Any],
    *,
    evaluation: str | None = None,
    columns: Sequence[str] | None = None,
    paper: str | None = None,
    budget: float | None = None,
    test: Kind = "randomisation",
    draws: int = significance.DRAWS,
    examples: int = EXAMPLES,
    gate: float | None = None,
    advance: Callable[[int], object] | None = None,
) -> Comparison:
    """Read evaluations of the same examples and put them side by side.

    Args:
        places: folders of runs or of evaluations, files of records, `NAME=place`, or results of
            `unirex.evaluate`; or a table of names with one of these, or several seeds, under each.
        evaluation: which of a run's evaluations, if it has several.
        columns: metrics of the table; by default the three desiderata.
        paper: a dataset of the UNIREX paper, to have its numbers beside these.
        budget: of the rationales whose words are compared and shown, in per cent.
        test: `randomisation` or `bootstrap`.
        draws: of each test.
        examples: most of a page.
        gate: methods below this share of the best performance (gate · best) get no relative gain.
        advance: called with the number of records read.
    """
    _check(test, draws, examples)
    groups = named(find_places(places, evaluation=evaluation))
    if not groups:
        raise UserError("there is nothing to compare; give runs, evaluations or files of records.")
    read_all = [read(place, advance=advance) for group in groups.values() for place in group]
    found, notes = together(read_all, advance=advance)
    remaining = iter(found)
    methods = [Method(name, [next(remaining) for _ in group]) for name, group in groups.items()]
    return Comparison(
        methods,
        checked_columns(methods, columns, paper),
        [*notes, *own_ways(methods), *own_budgets(methods), *likeness_notes(methods)],
        paper,
        chosen_budget(methods, budget),
        test,
        draws,
        examples,
        gate,
    )


def checked_columns(methods: Sequence[Method], asked: Sequence[str] | None, dataset: str | None) -> list[str]:
    """The metrics of the table: those asked for, or the usual ones that anybody has."""
    measured = dict.fromkeys(key for one in methods for key in one.metrics)
    if asked is None:
        performance = printed.performance_of(dataset) if dataset else COLUMNS[0]
        usual = [performance, *(key for key in COLUMNS if key != "accuracy")]
        return [key for key in usual if key in measured]
    for key in asked:
        metric(key)
        if key not in measured:
            raise not_measured(key, methods, measured)
    return list(dict.fromkeys(asked))


def chosen_budget(methods: Sequence[Method], asked: float | None) -> float:
    """The size of the rationales that are looked at: one that was measured."""
    sizes = [run.budgets for one in methods for run in one.runs if run.budgets]
    first = sizes[0] if sizes else ()
    known = tuple(one for one in first if all(one in other for other in sizes)) or first  # best, all have it
    if asked is not None and known and asked not in known:
        raise UserError(f"--budget {asked:g}: measured are {', '.join(f'{one:g}' for one in known)} %.")
    if asked is not None:
        return asked
    return min(known, key=lambda one: abs(one - BUDGET)) if known else BUDGET


def own_ways(methods: Sequence[Method]) -> list[str]:
    """Whose faithfulness is not of the same removal, so that it is read with care."""
    known = [removals([one]) for one in methods]
    others = sorted({way for ways in known for way in ways[:1] if way != OWN_WAY})
    beside = f"; the others by '{others[0]}'" if others else ""
    return [
        f"{one.name} removed tokens in its own way{beside}: its Comp, Suff and CSD may not be comparable."
        for one, ways in zip(methods, known, strict=True)
        if ways[:1] == [OWN_WAY] and len(methods) > 1
    ]


def own_budgets(methods: Sequence[Method]) -> list[str]:
    """Whose faithfulness is over other budgets, and therefore not shown."""
    return [
        f"{one.name} was measured at {', '.join(f'{size:g}' for size in run.budgets)} %, not at the budgets "
        "of the others: its Comp, Suff and CSD over all budgets are left out."
        for one in methods
        for run in one.runs[:1]
        if run.own_budgets and not run.select_predict
    ]


def _check(test: str, draws: int, examples: int) -> None:
    if test not in ("randomisation", "bootstrap"):
        raise unknown("test", test, ("randomisation", "bootstrap"))
    if draws < 1:
        raise UserError(f"--draws {draws}: must be at least 1; 1000 or more make sense.")
    if examples < 0:
        raise UserError(f"--examples {examples}: must be 0 or more.")
