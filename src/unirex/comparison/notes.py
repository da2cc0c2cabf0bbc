"""What a reader of a comparison must know: notes on comparability, marks on numbers, and their footnotes."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from unirex.comparison.evaluations import UNKNOWN_REMOVAL, Evaluation
from unirex.comparison.method import Method, removals
from unirex.evaluation.records import BUDGETS
from unirex.metrics.performance import Collapse
from unirex.metrics.registry import metric
from unirex.paper.published import caveats
from unirex.report.grid import Cell
from unirex.report.notes import COLLAPSED, COLLAPSES, EMPTY, SELECTS, collapse_warning, constant_answer

if TYPE_CHECKING:
    from unirex.comparison.comparison import Comparison

PAPER_REMOVAL = "delete"
SELECTS_NOTE = (
    f"{SELECTS} Predicts from its rationale alone: Suff is 0 by construction, Comp is against the empty text."
)


def comparability_notes(methods: Sequence[Method]) -> list[str]:
    """Which methods have a removal, budgets or tokens of their own, so that numbers are read with care."""
    notes = []
    main = [removals([method])[:1] for method in methods]  # that of the main metrics, if anything was removed
    others = sorted({removal for first in main for removal in first if removal != UNKNOWN_REMOVAL})
    beside = f"; the others by '{others[0]}'" if others else ""
    for method, first in zip(methods, main, strict=True):
        if first == [UNKNOWN_REMOVAL] and len(methods) > 1:
            notes.append(
                f"{method.name} removed tokens in its own way{beside}: "
                "its Comp, Suff and CSD may not be comparable."
            )
    for method in methods:
        run = method.runs[0]
        if run.own_budgets and not run.select_predict:
            notes.append(
                f"{method.name} was measured at {_sizes(run)}, not at the budgets of the others: "
                "its Comp, Suff and CSD over all budgets are left out."
            )
    for other in methods[1:]:
        if not methods[0].tokenised_like(other):
            difference = _token_difference(methods[0], other)
            notes.append(f"{difference}: AUPRC, TF1 and token F1 are not of the same units.")
    return notes


def _token_difference(first: Method, other: Method) -> str:
    words = [method.name for method in (first, other) if not method.runs[0].units.subwords]
    parts = [method.name for method in (first, other) if method.runs[0].units.subwords]
    if len(words) == len(parts):
        return f"{words[0]} marks words, {parts[0]} parts of words"
    return f"{first.name} and {other.name} cut the texts into other tokens"


def paper_notes(method: Method, dataset: str) -> list[str]:
    """Why numbers of a method cannot be compared with the paper's, and the caveats of the paper's own."""
    run, notes = method.runs[0], []
    if run.source.dataset is not None and _letters(run.source.dataset) != _letters(dataset):
        notes.append(
            f"These texts are of '{run.source.dataset}', not {dataset.upper()}: the paper's are others."
        )
    # The paper, too, measures systems that predict from their rationale at one budget.
    if run.budgets not in ((), BUDGETS) and not run.select_predict:
        *sizes, largest = (f"{size:g}" for size in BUDGETS)
        notes.append(
            f"These budgets are not the paper's ({', '.join(sizes)} and {largest} %): "
            "do not compare Comp and Suff."
        )
    if run.removal not in (None, PAPER_REMOVAL):
        notes.append(
            f"Tokens were removed by {run.removal}, not deleted as in the paper: "
            "do not compare Comp and Suff."
        )
    return notes + [f"Paper: {caveat}" for caveat in caveats(dataset)]


def _letters(name: str) -> str:
    """A dataset's name as lower-case letters and digits.

    >>> _letters("e-SNLI")
    'esnli'
    """
    return "".join(filter(str.isalnum, name.lower()))


def _sizes(run: Evaluation) -> str:
    return f"{', '.join(f'{size:g}' for size in run.budgets)} %"


def mark(method: Method | Evaluation, key: str) -> str:
    """The mark of a number that is so by construction, or compared with the empty text."""
    return SELECTS if method.select_predict and metric(key).alone else ""


def name_cell(method: Method, *, under: str = "") -> Cell:
    """The name of a method, marked if it has collapsed."""
    return Cell(method.name, under=under, mark=COLLAPSES if method.collapsed else "")


def head_name(method: Method) -> str:
    """The name of a method for the head of a column, marked if it has collapsed."""
    return method.name + (COLLAPSES if method.collapsed else "")


def main_footnotes(comparison: Comparison, emphasis: str) -> list[str]:
    """What the marks of the main table mean; `emphasis` is how it shows the best: "bold" or "starred"."""
    selecting = [method for method in comparison.methods if method.select_predict]
    marked = any(mark(method, key) for method in selecting for key in comparison.columns)
    if not selecting or not (marked or comparison.gains):
        return _collapsed_note(comparison.methods)
    own = ", ".join(method.name for method in selecting if not method.ranked("comprehensiveness"))
    raw = ", ".join(  # the plain mean behind the AOPC, which divides by K + 1 (spec/known-errors.md#d-5)
        f"{method.value('comprehensiveness_mean'):.3f} for {method.name} "
        f"(K = {len(method.runs[0].budgets)}: {_sizes(method.runs[0])})"
        for method in selecting
        if "comprehensiveness_mean" in method.metrics
    )
    parts = [
        f"{SELECTS} Predicts from its rationale alone: Suff is 0 by construction, so that Suff and CSD are "
        f"neither tested nor {emphasis}. Comp is against {EMPTY}.",
        f"The table has its AOPC, K / (K + 1) of it as in the paper; raw it is {raw}." if raw else "",
        f"{own}: at budgets or by a removal of its own, so Comp is not tested either." if own else "",
        "FNRG counts this Suff of 0 as the paper does." if comparison.gains else "",
    ]
    return [" ".join(part for part in parts if part), *_collapsed_note(comparison.methods)]


def footnotes(methods: Sequence[Method], keys: Iterable[str] = ()) -> list[str]:
    """What the marks of a further table mean."""
    marked = any(mark(method, key) for key in keys for method in methods)
    return [*([SELECTS_NOTE] if marked else []), *_collapsed_note(methods)]


def figure_note(methods: Sequence[Method]) -> str:
    """The same as a sentence for a figure, which has no marks."""
    selecting = ", ".join(method.name for method in methods if method.select_predict)
    collapsed = ", ".join(method.name for method in methods if method.collapsed)
    note = f" Predicting from the rationale alone, with Suff 0 by construction: {selecting}."
    return (note if selecting else "") + (f" Collapsed: {collapsed}." if collapsed else "")


def _collapsed_note(methods: Sequence[Method]) -> list[str]:
    return [COLLAPSED] if any(method.collapsed for method in methods) else []


def collapse_warnings(methods: Sequence[Method]) -> list[str]:
    """A sentence for each collapsed predictor; of several seeds, those that did."""
    warnings = []
    for method in methods:
        groups: dict[str, list[tuple[str, Collapse]]] = {}  # the seeds that give each answer
        for number, run in enumerate(method.runs, start=1):
            if run.collapse is not None:
                seed = f"run {number}" if run.source.seed is None else f"seed {run.source.seed}"
                groups.setdefault(constant_answer(run.collapse), []).append((seed, run.collapse))
        for group in groups.values():
            seeds = ", ".join(seed for seed, _ in group)
            name = method.name if method.seeds == 1 else f"{method.name} ({seeds})"
            warnings.append(collapse_warning(name, group[0][1]))
    return warnings
