"""The report of a study: its tables and figures from what is finished, in files and on a page."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from unirex.comparison import Comparison
from unirex.comparison.notes import collapse_warnings, footnotes, name_cell
from unirex.comparison.tables import (
    count_cell,
    metric_cell,
    metric_head,
    paper_cell,
    table_caption,
)
from unirex.experiments import examples, figures, gains
from unirex.experiments.results import Results, StudyResults
from unirex.files import write_file
from unirex.methods.presets import preset, whole_preset
from unirex.metrics.registry import HEADLINE, PERFORMANCE_SCORES
from unirex.paper import published
from unirex.report.figures import Figure
from unirex.report.grid import Cell, Grid, Head
from unirex.report.markup import element
from unirex.report.page import count, header, page, resource
from unirex.report.sections import CITATION, Section

PAGE = "report.html"
LIST = ".files"  # in the folder of tables and figures: what the last report wrote there
HELD_OUT = "csd/mask_token"
COST = ("convergence_delta", "seconds")  # columns of an experiment on cost
SHORT, WHOLE = 7, 40  # digits of a git revision
SHOWN_VERSIONS = ("unirex", "torch", "transformers", "python")


def report(results: Results) -> list[Section]:
    """The parts that the experiment asks for, of every dataset of which something is finished."""
    parts, comparisons = list[Section](), {on: results.comparison(*on) for on in results.datasets()}
    for on, comparison in comparisons.items():
        for name in results.definition.report:
            if results.has_texts or name != "examples":
                parts += DRAWN[name](results, comparison, *on)
    trained_there = {on: found for (by, on), found in comparisons.items() if by == on}
    return [*parts, *gains.mean_sections(results, trained_there)]


def write_report(
    results: Results,
    folder: Path | None,
    *,
    html: str | Path | None = None,
    sections: Sequence[Section] | None = None,
) -> tuple[list[Path], Path]:
    """Write the tidy results, every table and figure into a folder, and the page; their paths.

    Args:
        results: `StudyResults(study, folder)` of a study, or `PackedResults([read_pack(file), …])`.
        folder: None: only the page.
        html: another place for the page than `report.html` in the folder.
        sections: what `report` gives, if it is at hand.
    """
    sections, paths = report(results) if sections is None else sections, list[Path]()
    if folder is not None:
        paths += results.save(folder)
        paths += [path for section in sections for path in section.save(folder / "report")]
        _remove_old(folder / "report", [path.name for path in paths if path.parent.name == "report"])
    page_path = Path(html) if html else (folder or Path()) / PAGE
    write_file(page_path, report_page(results, sections, notes=state_notes(results)))
    return paths, page_path


def _remove_old(folder: Path, written: Sequence[str]) -> None:
    """Remove what an earlier report wrote and this one did not: of other rows, datasets or parts."""
    before = (folder / LIST).read_text("utf-8").split("\n") if (folder / LIST).is_file() else []
    for name in {Path(name).name for name in before} - {*written, ""}:
        (folder / name).unlink(missing_ok=True)
    write_file(folder / LIST, "\n".join(written))


def report_page(results: Results, sections: Sequence[Section], *, notes: Sequence[str]) -> str:
    """The report as one self-contained page."""
    definition = results.definition
    remarks = element("ul", *(element("li", note) for note in notes), class_="notes")
    body = [
        header("Study", definition.name, definition.about.rstrip(".")),
        element("section", element("h2", "State"), remarks),
        *(section.html() for section in sections),
        element("section", element("h2", "To cite"), element("p", CITATION, class_="fine")),
    ]
    return page(definition.name, body, style=resource("compare.css"))


def state_notes(results: Results) -> list[str]:
    """What is finished, what is missing, and what the numbers come from."""
    notes = [f"{len(results.finished)} of {count(len(results.planned), 'measurement')} finished."]
    notes += [f"Failed: {failure}" for failure in results.failures]
    if results.missing:
        notes.append(f"Not yet, or not with all seeds and datasets: {', '.join(results.missing)}.")
    notes += [
        f"Run with other settings than the rest (in brackets): {said}" for said in results.other_settings
    ]
    if "examples" in results.definition.report and not results.has_texts:
        notes.append("The part `examples` is left out: there are no texts here.")
    seeds = results.definition.seeds
    said = f"{'seeds' if len(seeds) > 1 else 'seed'} {', '.join(map(str, seeds))}"
    notes.append(f"Scale {results.scale}, {said}.")
    return [*notes, *made_notes(results.made)]


def made_notes(made: Sequence[Mapping[str, Any]]) -> list[str]:
    """The versions that numbers were made with, each once with all revisions of the code."""
    found: dict[str, list[str]] = {}
    for part in made:
        shown = [f"{name} {version}" for name, version in part["versions"].items() if name in SHOWN_VERSIONS]
        found.setdefault(", ".join(shown), []).extend([part["git"]] if part["git"] else [])
    return [f"Made with {versions}{_revisions(list(dict.fromkeys(found[versions])))}." for versions in found]


def _revisions(names: Sequence[str]) -> str:
    kind = "revision" if len(names) == 1 else "revisions"
    short = [name[:SHORT] + name[WHOLE:] for name in names]  # with "-dirty" behind it, if it was changed
    return f" ({kind} {', '.join(short)})" if names else ""


def table(results: Results, comparison: Comparison, trained_on: str, measured_on: str) -> Iterator[Section]:
    """Every row on every headline metric, the paper's beside it."""
    paper = results.paper(trained_on, measured_on)
    keys = _columns(results, comparison, measured_on)
    printed = {key for row in paper.values() for key in row.metrics}
    groups = {measurement.variant.name: measurement.variant.row.group for measurement in results.finished}
    heads = [Head("", "method")]
    heads += [Head("Part", "group")] if any(groups.values()) else []
    heads += [Head("Seeds", "seeds")] if any(method.seeds > 1 for method in comparison.methods) else []
    for key in keys:
        own = metric_head(key)
        heads += [own, Head("paper", f"{key}_paper", own.group)] if key in printed else [own]
    body = []
    for method in comparison.methods:
        line = {"method": name_cell(method, under="95 %"), "group": Cell(groups[method.name])}
        line["seeds"] = count_cell(method.seeds)
        line |= {key: metric_cell(method, key, strong=method.name in comparison.best(key)) for key in keys}
        line |= {f"{key}_paper": paper_cell(paper.get(method.name), key) for key in keys}
        body.append([line[head.key] for head in heads])
    caption = table_caption(comparison, "Bold, or with a star", shows_floor=False, shows_gains=False)
    if printed:
        caption += " Beside ours, as published: mean ± standard deviation over 3 seeds."
    notes = [*comparison.notes, *footnotes(comparison.methods, keys)]
    alone = "NRG is left out: it compares rows, and there is one."
    no_gains = comparison.no_gains if len(comparison.methods) > 1 else alone
    if no_gains and "gains" in results.definition.report:
        notes.append(no_gains)
    yield Section(
        f"table-{_place(trained_on, measured_on)}",
        _title("Results", trained_on, measured_on),
        [Grid(heads, body, caption, notes, collapse_warnings(comparison.methods))],
    )


def _columns(results: Results, comparison: Comparison, measured_on: str) -> list[str]:
    """Performance as the dataset has it, faithfulness also under the removal that training never saw."""
    own = published.performance_metric(measured_on) if measured_on in published.DATASETS else None
    leading = own or comparison.performance
    usual = [leading, *(key for key in HEADLINE if key not in PERFORMANCE_SCORES)]
    usual.insert(usual.index("csd") + 1, HELD_OUT)
    for name in results.definition.presets:  # what it counts otherwise
        usual += [key for key in preset(whole_preset(name)).columns if key not in usual]
    if "cost" in results.definition.report:
        usual += COST
    return [key for key in usual if comparison.measured([key])]


def gain_table(
    results: Results, comparison: Comparison, trained_on: str, measured_on: str
) -> Iterator[Section]:
    """Normalised relative gain of every row among these."""
    if comparison.gains:
        title = _title("Normalised relative gain", trained_on, measured_on)
        grid = gains.table(results, comparison, measured_on)
        yield Section(f"gains-{_place(trained_on, measured_on)}", title, [grid])


def _drawn(
    draw: Callable[[Results, Comparison, str, str], Figure | None],
) -> Callable[[Results, Comparison, str, str], Iterator[Section]]:
    """A part that is one figure."""

    def part(
        results: Results, comparison: Comparison, trained_on: str, measured_on: str
    ) -> Iterator[Section]:
        figure = draw(results, comparison, trained_on, measured_on)
        if figure is not None:
            figure = replace(figure, name=f"{figure.name}-{_place(trained_on, measured_on)}")
            yield Section(figure.name, _title(figure.title, trained_on, measured_on), figures=[figure])

    return part


def _bars(
    draw: Callable[[Results, gains.ByRow, gains.ByRow], Figure | None],
) -> Callable[[Results, Comparison, str, str], Figure | None]:
    """Bars of the relative gains on one dataset."""

    def figure(results: Results, comparison: Comparison, trained_on: str, measured_on: str) -> Figure | None:
        return draw(results, gains.by_row(comparison.gains), gains.published_gains(results, measured_on))

    return figure


def chosen_examples(
    results: Results, comparison: Comparison, trained_on: str, measured_on: str
) -> Iterator[Section]:
    """What each row marks in some texts."""
    assert isinstance(results, StudyResults)
    shown = examples.marked_examples(results, trained_on, measured_on)
    name = f"examples-{_place(trained_on, measured_on)}"
    yield Section(
        name,
        _title("Examples", trained_on, measured_on),
        content=[examples.html(shown)],
        files={f"{name}.tex": examples.latex(shown), f"{name}.md": examples.markdown(shown)},
    )


def _title(what: str, trained_on: str, measured_on: str) -> str:
    if trained_on == measured_on:
        return f"{what}: {measured_on}"
    return f"{what}: trained on {trained_on}, measured on {measured_on}"


def _place(trained_on: str, measured_on: str) -> str:
    return measured_on if trained_on == measured_on else f"{trained_on}-{measured_on}"


DRAWN: dict[str, Callable[[Results, Comparison, str, str], Iterator[Section]]] = {
    "table": table,
    "gains": gain_table,
    "composite": _drawn(_bars(gains.composite)),
    "desiderata": _drawn(_bars(gains.desiderata)),
    "auprc-lines": _drawn(figures.auprc_lines),
    "cost": _drawn(figures.cost),
    "intervals": _drawn(figures.intervals),
    "examples": chosen_examples,
}
