"""The report of a comparison, section by section."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from unirex.comparison import figures as drawing
from unirex.comparison import tables
from unirex.comparison.scores import every_run, scores
from unirex.comparison.tables import probed
from unirex.report.compare_page import Section, compare_page
from unirex.report.figures import Figure
from unirex.report.grid import Grid

if TYPE_CHECKING:
    from unirex.comparison.comparison import Comparison

LEAD = (
    "A good explanation costs no accuracy (performance), names the words the model really used "
    "(faithfulness), and names the words a person would (plausibility). Arrows point to the good side."
)


def page(found: Comparison, title: str | None = None, remarks: Sequence[str] = ()) -> str:
    """The numbers first, then where they come from, then every text."""
    names = [one.name for one in found.methods]
    shown = found.gathered.shown if found.examples else []
    whole = title or " · ".join(names[:4]) + (" …" if len(names) > 4 else "")
    return compare_page(whole, list(sections(found, remarks)), shown, names, texts=found.texts)


def sections(found: Comparison, remarks: Sequence[str] = ()) -> Iterator[Section]:
    """What there is to say, in the order of interest."""
    drawn = {one.name: one for one in drawing.figures(found)}
    yield Section(
        "scores",
        "How they compare",
        LEAD,
        [*notes(found), *remarks],
        [scores(found, others=False, short=True)],
        _some(drawn, "trade-off"),
        _further(found),
    )
    yield from _faithfulness(found, _some(drawn, "curves"))
    yield from _probed(found)
    if "calibration" in drawn:
        yield Section("calibration", "Do they know how sure to be?", figures=_some(drawn, "calibration"))
    yield from _parts(found, drawn)
    if "agreement" in drawn:
        yield Section("agreement", "Do they say the same?", figures=_some(drawn, "agreement"))
    yield from _differences(found)


def _further(found: Comparison) -> dict[str, list[Grid]]:
    """What stands behind the table: every run of several, and all of the paper's."""
    runs = {"Every run": [every_run(found)]} if max(one.seeds for one in found.methods) > 1 else {}
    return runs | ({"All that the paper prints": [tables.printed(found.paper)]} if found.paper else {})


def _faithfulness(found: Comparison, figures: list[Figure]) -> Iterator[Section]:
    grid = tables.removals(found)
    ways = grid.head[-1].key.startswith("csd/")
    if ways or figures:
        lead = "Tokens can be taken out of a text in several ways; trust numbers that hold for more than one."
        yield Section(
            "faithfulness", "Is it faithfulness?", lead, grids=[grid] if ways else [], figures=figures
        )


def _probed(found: Comparison) -> Iterator[Section]:
    grid = probed(found)
    if grid is not None:
        lead = "Each of these edits the texts in another way; hold a number against that of random scores."
        yield Section("probes", "What other edits show", lead, grids=[grid])


def _parts(found: Comparison, drawn: dict[str, Figure]) -> Iterator[Section]:
    keys = drawing.of_texts(found)
    scored = [key for key in keys if key != "accuracy"]
    grids = [tables.classes(found), *([tables.lengths(found, keys)] if keys else [])]
    grids += [tables.outcomes(found, scored)] if scored and "accuracy" in keys else []
    grids, figures = [grid for grid in grids if grid.body], _some(drawn, "classes", "lengths")
    if not grids and not figures:
        return
    yield Section(
        "parts",
        "What do averages hide?",
        "The same metrics by label, by length of the text, and by whether the prediction is right.",
        figures=figures,
        more={"The same as tables" if figures else "As tables": grids} if grids else {},
    )


def _differences(found: Comparison) -> Iterator[Section]:
    if len(found.methods) < 2:
        return
    grid = tables.differences(found)
    if not grid.body:
        return
    yield Section(
        "differences",
        "Which differences are real?",
        "If two methods were equally good, how often would chance alone set them so far apart?",
        more={f"All {len(grid.body)} comparisons": [grid]},
    )


def notes(found: Comparison) -> list[str]:
    """What the reader must know about the numbers."""
    told = []
    runs = [run for one in found.methods for run in one.runs if run.removal and "csd" in run.metrics]
    run = min(runs, key=lambda run: run.select_predict, default=None)  # as most are measured
    if run is not None:
        sizes = ", ".join(f"{one:g}" for one in run.budgets)
        told.append(
            f"Comp, Suff and CSD: over rationales of {sizes} % of the tokens, the sum over the K budgets "
            "divided by K + 1, as in the paper. "
            f"Removal '{run.removal}', probability of the {run.summary.seen['target']} label."
        )
    if found.examples and found.texts > found.examples:
        told.append(
            f"{found.examples} of the {found.texts} texts are on this page, spread evenly; all count."
        )
    return [*told, *found.warnings]


def _some(drawn: dict[str, Figure], *names: str) -> list[Figure]:
    return [drawn[name] for name in names if name in drawn]
