"""The report of a comparison, section by section."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from unirex.comparison.figures import figures, subset_metrics
from unirex.comparison.main_table import main_table, table_of_runs
from unirex.comparison.tables import (
    classes_table,
    differences_table,
    lengths_table,
    outcomes_table,
    paper_table,
    probes_table,
    removals_table,
)
from unirex.report.compare_page import Section, compare_page
from unirex.report.figures import Figure
from unirex.report.grid import Grid

if TYPE_CHECKING:
    from unirex.comparison.comparison import Comparison

LEAD = (
    "A good explanation costs no accuracy (performance), names the words the model really used "
    "(faithfulness), and names the words a person would (plausibility). Arrows point to the good side."
)


def comparison_page(comparison: Comparison, title: str | None = None, remarks: Sequence[str] = ()) -> str:
    """The report as one HTML file: the numbers first, then where they come from, then every text."""
    names = [method.name for method in comparison.methods]
    examples = comparison.gathered.shown if comparison.examples else []
    whole = title or " · ".join(names[:4]) + (" …" if len(names) > 4 else "")
    return compare_page(whole, list(_sections(comparison, remarks)), examples, names, texts=comparison.texts)


def _sections(comparison: Comparison, remarks: Sequence[str]) -> Iterator[Section]:
    drawn = {figure.name: figure for figure in figures(comparison)}
    yield Section(
        "scores",
        "How they compare",
        LEAD,
        [*_notes(comparison), *remarks],
        [main_table(comparison, others=False, short=True)],
        _select(drawn, "trade-off"),
        _folded_tables(comparison),
    )
    yield from _faithfulness(comparison, _select(drawn, "curves"))
    yield from _probes(comparison)
    if "calibration" in drawn:
        yield Section("calibration", "Do they know how sure to be?", figures=_select(drawn, "calibration"))
    yield from _subsets(comparison, _select(drawn, "classes", "lengths"))
    if "agreement" in drawn:
        yield Section("agreement", "Do they say the same?", figures=_select(drawn, "agreement"))
    yield from _differences(comparison)


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


def _folded_tables(comparison: Comparison) -> dict[str, list[Grid]]:
    """Tables to unfold below the main one: every run of several, and all rows of the paper."""
    folded = {}
    if max(method.seeds for method in comparison.methods) > 1:
        folded["Every run"] = [table_of_runs(comparison)]
    if comparison.paper:
        folded["All that the paper prints"] = [paper_table(comparison.paper)]
    return folded


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


def _probes(comparison: Comparison) -> Iterator[Section]:
    grid = probes_table(comparison)
    if grid is not None:
        lead = "Each of these edits the texts in another way; hold a number against that of random scores."
        yield Section("probes", "What other edits show", lead, grids=[grid])


def _subsets(comparison: Comparison, figures: list[Figure]) -> Iterator[Section]:
    keys = subset_metrics(comparison)
    scored = [key for key in keys if key != "accuracy"]
    tables = [classes_table(comparison)]
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


def _differences(comparison: Comparison) -> Iterator[Section]:
    grid = differences_table(comparison)
    if len(comparison.methods) > 1 and grid.body:
        yield Section(
            "differences",
            "Which differences are real?",
            "If two methods were equally good, how often would chance alone set them so far apart?",
            more={f"All {len(grid.body)} comparisons": [grid]},
        )
