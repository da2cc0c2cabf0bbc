"""The report of a search: trials, front, parallel coordinates, importances, the chosen run with why."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from math import log
from pathlib import Path
from typing import Any

from unirex.comparison.tables import gain_cell, metric_head, value_cell
from unirex.experiments.definition import setting_names
from unirex.experiments.report import made_notes
from unirex.experiments.rounds import FEWEST
from unirex.experiments.search import SHORT
from unirex.experiments.space import Choice, Range
from unirex.experiments.tuning import Trial, Tuning
from unirex.files import write_file
from unirex.metrics.registry import metric
from unirex.report import search_plots
from unirex.report.figures import Figure, Said
from unirex.report.grid import Cell, Grid, Head
from unirex.report.markup import element
from unirex.report.page import count, header, page, resource
from unirex.report.search_plots import Axis, Spot, panels_of, spot_id
from unirex.report.sections import CITATION, Section
from unirex.report.table import cell

PAGE = "report.html"
SPREAD = 0.06  # of the height of a figure, among lines with the same choice


def write_report(tuning: Tuning, folder: Path, html: str | Path | None = None) -> tuple[list[Path], Path]:
    """Write every table and figure into `report/`, and the page; their paths."""
    sections = list(report(tuning))
    paths = [path for section in sections for path in section.save(folder / "report")]
    place = Path(html) if html else folder / PAGE
    write_file(place, report_page(tuning, sections))
    return paths, place


def report(tuning: Tuning) -> Iterator[Section]:
    """The parts of the report that there are numbers for."""
    yield chosen_part(tuning)
    if tuning.done:
        yield Section("front", "Front", figures=[front_figure(tuning)])
        yield Section("parallel", "Settings and what came of them", figures=[parallel_figure(tuning)])
    if tuning.importances:
        yield importance_part(tuning)
    yield Section("trials", "Trials", [trials_table(tuning)])


def report_page(tuning: Tuning, sections: Sequence[Section]) -> str:
    """The report as one self-contained page."""
    search = tuning.search
    title = f"{search.method} on {search.data.name}"
    remarks = element("ul", *(element("li", note) for note in state_notes(tuning)), class_="notes")
    body = [
        header("Search", title, f"{count(len(tuning.trials), 'trial')}, {len(tuning.done)} measured on dev"),
        *(section.html() for section in sections),
        element("section", element("h2", "How it was searched"), remarks),
        element("section", element("h2", "To cite"), element("p", CITATION, class_="fine")),
    ]
    return page(title, body, style=resource("compare.css") + resource("said.css"), script=resource("said.js"))


def state_notes(tuning: Tuning) -> list[str]:
    """What was searched, how far it is, and what to keep in mind."""
    search, states = tuning.search, [trial.state for trial in tuning.trials]
    said = [f"{states.count(state)} {state}" for state in ("done", "pruned", "failed", "begun")]
    different = len({str(trial.point) for trial in tuning.trials})
    notes = [
        f"{count(len(states), 'trial')}: {', '.join(said)}; {count(different, 'different setting')}.",
        f"Scale {search.scale}, sampler {search.sampler}, seed {search.seed} of sampler and trainings.",
        "Measured on dev. There is one seed, and the best of many trials is partly luck: measure the chosen "
        "run on test, with several seeds, before you believe its numbers.",
    ]
    if search.prune:
        notes.append(
            f"A trial is pruned if a training on {SHORT:.0%} of an epoch performs worse than the best such "
            f"one by more than {search.margin:g}."
        )
    if not tuning.importances:
        notes.append(f"Importances of settings need {FEWEST} finished trials that differ in two settings.")
    return [*notes, *made_notes(tuning.made)]


def chosen_part(tuning: Tuning) -> Section:
    """The chosen run: why, its settings, and what to type."""
    chosen, lines = tuning.chosen, tuning.why
    content = [element("p", line) for line in lines]
    text = [*lines, ""]
    if chosen is not None:
        commands = tuning.commands(chosen)
        content.append(element("pre", "\n".join(commands), class_="command"))
        text += ["```", *commands, "```", ""]
    return Section("chosen", "The chosen run", content=content, files={"chosen.md": "\n".join(text)})


def trials_table(tuning: Tuning) -> Grid:
    """Every trial: its settings, the desiderata, CNRG, and its state."""
    search = tuning.search
    names, keys = setting_names(list(search.space)), search.objectives
    heads = [Head("", "trial"), *(Head(names[name], name, "Settings") for name in search.space)]
    heads += [*(metric_head(key) for key in keys), Head("CNRG ↑", "cnrg"), Head("State", "state")]
    best = {key: max((trial.metrics[key] for trial in tuning.done), default=None) for key in keys}
    body = []
    for trial in tuning.trials:
        row = [Cell(trial.name), *(_setting_cell(trial.point[name]) for name in search.space)]
        for key in keys:
            value = trial.metrics.get(key)
            row.append(replace(value_cell(key, value), strong=value is not None and value == best[key]))
        body.append([*row, gain_cell(tuning.cnrg(trial)), Cell(_state(tuning, trial))])
    caption = (
        "On dev. Bold, or with a star: the best of a column. CNRG places every trial between the worst and "
        "the best of this table."
    )
    return Grid(heads, body, caption)


def _state(tuning: Tuning, trial: Trial) -> str:
    if trial.state != "done":
        return f"{trial.state}: {trial.note}" if trial.note else trial.state
    chosen = ", chosen" if trial == tuning.chosen else ""
    return f"{'on the front' if trial in tuning.front else 'beaten'}{chosen}"


def _setting_cell(value: Any) -> Cell:
    number = isinstance(value, int | float) and not isinstance(value, bool)
    return Cell(_short(value), numbers={"": value} if number else {})


def _short(value: Any) -> str:
    return f"{value:.3g}" if isinstance(value, float) else str(value)


def _about(tuning: Tuning, trial: Trial) -> str:
    """A trial in words: its numbers and its settings."""
    names = setting_names(list(tuning.search.space))
    numbers = [f"{metric(key).header} {cell(key, trial.metrics[key])}" for key in tuning.search.objectives]
    settings = [f"{names[name]} {_short(value)}" for name, value in trial.point.items()]
    chosen = " (chosen)" if trial == tuning.chosen else ""
    return f"{trial.name}{chosen}: {', '.join(numbers)}; {', '.join(settings)}"


def front_figure(tuning: Tuning) -> Figure:
    """The desiderata against each other, a point for every measured trial."""
    keys, front = tuning.search.objectives, tuning.front
    spots = []
    for trial in tuning.done:
        values, optimal = [metric(key).scale * trial.metrics[key] for key in keys], trial in front
        label = str(trial.number) if optimal else ""
        spots.append([Spot(trial.name, values, optimal, label, trial == tuning.chosen)])
    said = {
        spot_id(trial.name, panel): Said(_about(tuning, trial), focus=trial in front and panel == 0)
        for trial in tuning.done
        for panel in range(len(panels_of(keys)))
    }
    headers = [metric(key).header for key in keys]
    return Figure(
        "front",
        "Front of the trials",
        "Up and to the right is better. Filled: no other trial is at least as good in everything and better "
        "in something; hollow: one is. Numbers are those of trials; the ring is the chosen one. On dev, one "
        "seed.",
        lambda: search_plots.front(spots, headers, one_colour=True),
        said,
    )


def parallel_figure(tuning: Tuning) -> Figure:
    """Every measured trial as a line through its settings and what came of them."""
    done, space = tuning.done, tuning.search.space
    names = setting_names(list(space))
    axes = [
        _setting_axis(names[name], part, [trial.point[name] for trial in done])
        for name, part in space.items()
    ]
    for key in tuning.search.objectives:
        axes.append(_metric_axis(key, [trial.metrics[key] for trial in done]))
    strong = [trial in tuning.front for trial in done]
    chosen = next((place for place, trial in enumerate(done) if trial == tuning.chosen), None)
    return Figure(
        "parallel",
        "Settings and desiderata of every trial",
        "A line is a trial, from its settings on the left to its numbers on the right. Thick: the chosen "
        "one; in colour: the front; grey: beaten.",
        lambda: search_plots.parallel(axes, [trial.name for trial in done], strong, chosen),
        {spot_id(trial.name, 0): Said(_about(tuning, trial)) for trial in done},
    )


def _setting_axis(name: str, part: Choice | Range, values: Sequence[Any]) -> Axis:
    if isinstance(part, Choice):
        last = max(1, len(part.values) - 1)
        heights = {str(value): number / last for number, value in enumerate(part.values)}
        # Lines with the same choice run a little apart, else all but one are hidden.
        apart = [SPREAD * (line / max(1, len(values) - 1) - 0.5) for line in range(len(values))]
        places = [heights[str(value)] + shift for value, shift in zip(values, apart, strict=True)]
        return Axis(name, places, {height: value for value, height in heights.items()})
    scaled = log if part.log else float
    low, high = scaled(part.low), scaled(part.high)
    places = [(scaled(value) - low) / (high - low) for value in values]
    return Axis(name, places, {0.0: _short(part.low), 1.0: _short(part.high)})


def _metric_axis(key: str, values: Sequence[float]) -> Axis:
    low, high = min(values), max(values)
    width = high - low or 1.0
    ticks = {0.0: cell(key, low)} | ({1.0: cell(key, high)} if high > low else {})
    return Axis(f"{metric(key).header} →", [(value - low) / width for value in values], ticks)


def importance_part(tuning: Tuning) -> Section:
    """How much each setting matters, for every objective."""
    names = setting_names(list(tuning.search.space))
    shares: Mapping[str, Mapping[str, float]] = {
        f"for {metric(key).header}": {names[name]: share for name, share in values.items()}
        for key, values in tuning.importances.items()
    }
    caption = (
        "How much a setting decides whether a trial is among the best of one objective (PED-ANOVA of "
        f"Optuna), as shares of 1, from {count(len(tuning.done), 'trial')}. Read it as a hint."
    )
    rows = [
        [
            Cell(name),
            *(
                Cell(f"{part.get(name, 0.0):.2f}", numbers={"": part.get(name, 0.0)})
                for part in shares.values()
            ),
        ]
        for name in next(iter(shares.values()))
    ]
    table = Grid([Head("", "setting"), *(Head(title) for title in shares)], rows)
    figure = Figure("importance", "Importance of settings", caption, lambda: search_plots.importance(shares))
    return Section("importance", "Importance of settings", [table], [figure])
