"""Which numbers of a comparison do not mean what they seem to: their marks, footnotes and warnings."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from unirex.comparison.evaluations import Evaluation, against_empty, by_construction
from unirex.comparison.method import Method
from unirex.report.grid import Cell
from unirex.report.notes import COLLAPSED, COLLAPSES, EMPTY, SELECTS, answer, collapse_warning

if TYPE_CHECKING:
    from unirex.comparison.comparison import Comparison


SHORT = (
    f"{SELECTS} Predicts from its rationale alone: Suff is 0 by construction, Comp is against the empty text."
)


def mark(one: Method | Evaluation, key: str) -> str:
    """The mark of a number that is what it is by construction, or held against the empty text."""
    return SELECTS if one.select_predict and (by_construction(key) or against_empty(key)) else ""


def named(method: Method, *, under: str = "") -> Cell:
    """The name of a method, marked if it has collapsed."""
    return Cell(method.name, under=under, mark=COLLAPSES if method.collapsed else "")


def head(method: Method) -> str:
    """The same above a column."""
    return method.name + (COLLAPSES if method.collapsed else "")


def warnings(methods: Sequence[Method]) -> list[str]:
    """A sentence for each collapsed predictor; of several seeds, those that did."""
    return [said for method in methods for said in _collapses(method)]


def _collapses(method: Method) -> Iterator[str]:
    groups: dict[str, list[tuple[int, Evaluation]]] = {}
    for number, run in enumerate(method.runs, start=1):
        if run.collapse is not None:
            groups.setdefault(answer(run.collapse), []).append((number, run))
    for runs in groups.values():
        found = runs[0][1].collapse
        if found is not None:
            yield collapse_warning(_who(method, runs), found)


def _who(method: Method, runs: Sequence[tuple[int, Evaluation]]) -> str:
    """The method, with the seeds that are meant if there are several."""
    if method.seeds == 1:
        return method.name
    seeds = [f"run {n}" if run.place.seed is None else f"seed {run.place.seed}" for n, run in runs]
    return f"{method.name} ({', '.join(seeds)})"


def notes(found: Comparison, sign: str) -> list[str]:
    """What the marks of the main table mean, with the raw numbers behind them."""
    selecting = [one for one in found.methods if one.select_predict]
    marked = any(mark(one, key) for one in selecting for key in found.columns)
    told = [_select_predict(found, selecting, sign)] if selecting and (marked or found.gains) else []
    return told + _collapsed(found.methods)


def short_notes(methods: Sequence[Method], keys: Iterable[str] = ()) -> list[str]:
    """What the marks of a further table mean."""
    marked = any(mark(one, key) for key in keys for one in methods)
    return [*([SHORT] if marked else []), *_collapsed(methods)]


def in_figures(methods: Sequence[Method]) -> str:
    """The same for what has no marks: a figure."""
    selecting = [one.name for one in methods if one.select_predict]
    collapsed = [one.name for one in methods if one.collapsed]
    told = f" Predicting from the rationale alone, with Suff 0 by construction: {_list(selecting)}."
    return (told if selecting else "") + (f" Collapsed: {_list(collapsed)}." if collapsed else "")


def _collapsed(methods: Sequence[Method]) -> list[str]:
    return [COLLAPSED] if any(one.collapsed for one in methods) else []


def _select_predict(found: Comparison, selecting: Sequence[Method], sign: str) -> str:
    others = [one.name for one in selecting if not one.ranked("comprehensiveness")]
    parts = [
        f"{SELECTS} Predicts from its rationale alone: Suff is 0 by construction, so that Suff and CSD are "
        f"neither tested nor {sign}. Comp is against {EMPTY}.",
        _raw(selecting),
        f"{_list(others)}: at budgets or by a removal of its own, so Comp is not tested either."
        if others
        else "",
        "FNRG counts this Suff of 0 as the paper does." if found.gains else "",
    ]
    return " ".join(one for one in parts if one)


def _raw(selecting: Sequence[Method]) -> str:
    """The comprehensiveness that AOPC divides (SPEC A11, D-5)."""
    known = [one for one in selecting if "comprehensiveness_mean" in one.metrics]
    each = [f"{one.value('comprehensiveness_mean'):.3f} for {one.name} (K = {_sizes(one)})" for one in known]
    return (
        f"The table has its AOPC, K / (K + 1) of it as in the paper; raw it is {_list(each)}." if each else ""
    )


def _sizes(method: Method) -> str:
    budgets = method.runs[0].budgets
    return f"{len(budgets)}: {', '.join(f'{one:g}' for one in budgets)} %"


def _list(names: Sequence[str]) -> str:
    return ", ".join(names)
