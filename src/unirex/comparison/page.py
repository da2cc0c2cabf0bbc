"""The report of a comparison: its sections, and the tables that are only there."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import combinations
from math import isnan
from typing import TYPE_CHECKING

from unirex.comparison.examples import prediction_agreement
from unirex.comparison.figures import SUBSET_METRICS, figures
from unirex.comparison.method import (
    Method,
    f1_by_class,
    mean_over,
    removals,
    split_by_length,
    split_by_outcome,
    under_removal,
)
from unirex.comparison.notes import footnotes, head_name, mark, name_cell
from unirex.comparison.significance import Difference, draws_of
from unirex.comparison.tables import (
    count_cell,
    main_table,
    paper_table,
    probes_table,
    table_of_runs,
    value_cell,
)
from unirex.evaluation.summary import SHOWN_CLASSES
from unirex.metrics.paired import FEWEST
from unirex.metrics.performance import confusion_matrix_of
from unirex.metrics.registry import metric
from unirex.report.compare_page import Section, compare_page
from unirex.report.figures import Figure
from unirex.report.grid import MISSING, Cell, Grid, Head
from unirex.report.plots import Estimate
from unirex.report.table import between, cell, header

if TYPE_CHECKING:
    from unirex.comparison.comparison import Comparison

LEAD = (
    "A good explanation costs no accuracy (performance), names the words the model really used "
    "(faithfulness), and names the words a person would (plausibility). Arrows point to the good side."
)
SMALLEST_P = 1e-4  # smaller p-values are shown as "< 0.0001"


def comparison_page(comparison: Comparison, title: str | None = None, remarks: Sequence[str] = ()) -> str:
    """The report as one HTML file: the verdict, the table, every text, then where the numbers come from."""
    names = [method.name for method in comparison.methods]
    examples = comparison.gathered.shown if comparison.examples else []
    whole = title or " · ".join(names[:4]) + (" …" if len(names) > 4 else "")
    sections = list(_sections(comparison, remarks))
    return compare_page(whole, sections, examples, names, texts=comparison.texts, verdict=comparison.verdict)


def _sections(comparison: Comparison, remarks: Sequence[str]) -> Iterator[Section]:
    drawn = {figure.name: figure for figure in figures(comparison)}
    folded = {}  # tables to unfold below the main one
    if max(method.seeds for method in comparison.methods) > 1:
        folded["Every run"] = [table_of_runs(comparison)]
    if comparison.paper:
        folded["All that the paper prints"] = [paper_table(comparison.paper)]
    yield Section(
        "scores",
        "How they compare" if len(comparison.methods) > 1 else "The numbers",
        LEAD,
        [*_notes(comparison), *remarks],
        [main_table(comparison, others=False, short=True)],
        more=folded,
        early=True,
    )
    if "trade-off" in drawn:
        yield Section("trade-off", "What is traded for what?", figures=_select(drawn, "trade-off"))
    yield from _faithfulness(comparison, _select(drawn, "curves"))
    probes = probes_table(comparison)
    if probes is not None:
        lead = "Each of these edits the texts in another way; hold a number against that of random scores."
        yield Section("probes", "What other edits show", lead, grids=[probes])
    if "calibration" in drawn:
        yield Section("calibration", "Do they know how sure to be?", figures=_select(drawn, "calibration"))
    yield from _subsets(comparison, _select(drawn, "classes", "lengths"))
    agreement = agreement_table(comparison)
    if agreement.body:
        yield Section("agreement", "Do they say the same?", grids=[agreement])
    differences = differences_table(comparison)
    if len(comparison.methods) > 1 and differences.body:
        yield Section(
            "differences",
            "Which differences are real?",
            "If two methods were equally good, how often would chance alone set them so far apart?",
            more={f"All {len(differences.body)} comparisons": [differences]},
        )


def _select(drawn: dict[str, Figure], *names: str) -> list[Figure]:
    return [drawn[name] for name in names if name in drawn]


def _notes(comparison: Comparison) -> list[str]:
    """How faithfulness was measured, how many texts are shown, and all warnings."""
    notes = []
    runs = [run for method in comparison.methods for run in method.runs]
    measured = [run for run in runs if run.removal and "csd" in run.metrics]
    if measured:
        # Systems that predict from their rationale may have a protocol of their own.
        run = min(measured, key=lambda run: run.select_predict)
        sizes = ", ".join(f"{size:g}" for size in run.budgets)
        notes.append(
            f"Comp, Suff and CSD: over rationales of {sizes} % of the tokens, the sum over the K budgets "
            "divided by K + 1, as in the paper. "
            f"Removal '{run.removal}', probability of the {run.summary.seen['target']} label."
        )
    shown, texts = comparison.examples, comparison.texts
    if 0 < shown < texts:
        notes.append(f"{shown} of the {texts} texts are on this page, spread evenly; all count.")
    return [*notes, *comparison.warnings]


def _faithfulness(comparison: Comparison, figures: list[Figure]) -> Iterator[Section]:
    grid = removals_table(comparison)
    measured = grid.head[-1].key.startswith("csd/")
    if measured or figures:
        yield Section(
            "faithfulness",
            "Is it faithfulness?",
            "Tokens can be taken out of a text in several ways; trust numbers that hold for more than one.",
            grids=[grid] if measured else [],
            figures=figures,
        )


def removals_table(comparison: Comparison) -> Grid:
    """Faithfulness under every removal, so that the one used in training does not mislead."""
    ways = removals(comparison.methods)
    keys = comparison.measured(("comprehensiveness", "sufficiency", "csd"))
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


def _subsets(comparison: Comparison, figures: list[Figure]) -> Iterator[Section]:
    keys = comparison.measured(SUBSET_METRICS)
    scored = [key for key in keys if key != "accuracy"]
    tables = [classes_table(comparison), *confusion_tables(comparison)]
    if keys:
        tables.append(lengths_table(comparison, keys))
    if scored and "accuracy" in keys:
        tables.append(outcomes_table(comparison, scored))
    grids = [grid for grid in tables if grid.body]
    if grids or figures:
        yield Section(
            "parts",
            "What do averages hide?",
            "The same metrics by label, by length of the text, and by whether the prediction is right.",
            figures=figures,
            more={"The same as tables" if figures else "As tables": grids} if grids else {},
        )


def classes_table(comparison: Comparison) -> Grid:
    """F1 of every label, method by method."""
    body = [
        [Cell(str(label)), count_cell(texts), *(value_cell("macro_f1", value) for value in f1)]
        for label, (texts, f1) in f1_by_class(comparison.methods).items()
    ]
    heads = [Head(head_name(method), f"{method.name}_f1", "F1 ↑") for method in comparison.methods]
    head = [Head("Label", "label"), Head("Texts", "texts"), *heads]
    return Grid(head, body, notes=footnotes(comparison.methods))


def confusion_tables(comparison: Comparison) -> Iterator[Grid]:
    """How often each label was predicted for each, by method; nothing for many labels or sets of them."""
    for method in comparison.methods:
        labels = method.labels or ()
        if len(labels) > SHOWN_CLASSES or any(isinstance(gold, tuple) for _, gold in method.confusion):
            continue
        head = [Head("Gold label", "label")]
        head += [Head(str(label), f"predicted_{label}", f"Predicted by {method.name}") for label in labels]
        counts = confusion_matrix_of(method.confusion, labels)
        body = [[Cell(str(label)), *map(count_cell, row)] for label, row in zip(labels, counts, strict=True)]
        caption = "Texts of all seeds together." if method.seeds > 1 else ""
        yield Grid(head, body if method.confusion else [], caption)


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


def agreement_table(comparison: Comparison) -> Grid:
    """How often every two methods give the same label, and how far they select the same words."""
    if len(comparison.methods) < 2:
        return Grid([], [])
    labels, words = prediction_agreement(comparison.methods), comparison.gathered.rationale_agreement()
    head = [
        Head("", "method"),
        Head("and", "other"),
        Head("Same label, %", "same_label"),
        Head("Same words, F1", "same_words"),
    ]
    body = [
        [Cell(first.name), Cell(second.name), _agreement_cell(same_label), _agreement_cell(same_words)]
        for (first, second), same_label, same_words in zip(
            combinations(comparison.methods, 2), labels, words, strict=True
        )
        if not (isnan(same_label[0]) and isnan(same_words[0]))
    ]
    caption = (
        "Same label: the share of texts that two methods give the same one. Same words: the mean F1 of the "
        f"words they select for {comparison.budget:g} % of the tokens. First seed of each; ranges are 95 % "
        "intervals over texts."
    )
    return Grid(head, body, caption)


def _agreement_cell(estimate: Estimate) -> Cell:
    """A share in per cent with its interval."""
    mean, low, high = estimate
    if isnan(mean):
        return Cell(MISSING)
    under = "" if isnan(low) else f"{100 * low:.1f}–{100 * high:.1f}"
    return Cell(f"{100 * mean:.1f}", under=under, numbers={"": mean, "low": low, "high": high})


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
    draws = draws_of(comparison.draws, len(comparison.methods))
    return (
        f"Paired {comparison.test} test over the texts both have a value for{few}, two-sided, "
        f"{draws} draws; several seeds of a method are averaged text by text. Holm's correction is "
        "for all pairs of methods on one metric; marked where it stays below 5 %. Differences are better "
        f"less worse, with 95 % intervals.{left_out if untested else ''}"
    )
