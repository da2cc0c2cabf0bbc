"""`unirex experiment …`: whole studies, planned, run, looked at and reported."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from jsonargparse import ArgumentParser, Namespace

from unirex.cli import experiment_tune, inputs
from unirex.cli.command import Command, sub_commands
from unirex.errors import UserError
from unirex.files import duration, write_file

if TYPE_CHECKING:
    from unirex.experiments.plan import CellPlan
    from unirex.experiments.study import Study

STATES = ("done", "running", "failed", "waiting")


def _no_options(parser: ArgumentParser, arguments: Sequence[str]) -> None:
    """Nothing to choose."""


def _list(options: Namespace) -> int:
    from unirex.experiments.definition import experiment_names, read_definition

    for name in experiment_names():
        definition = read_definition(name)
        scales = ", ".join(definition.scales)
        print(f"{name}: {definition.about}\n    {len(definition.rows)} rows; scales: {scales}")
    return 0


def _study_options(parser: ArgumentParser, arguments: Sequence[str]) -> None:
    """What is studied."""
    add = parser.add_argument
    add("experiment", type=str, help="a name from `unirex experiment list`, a YAML file, or a study's folder")
    _choosing_options(parser)


def _choosing_options(parser: ArgumentParser) -> None:
    """What is chosen of an experiment; a study in a folder has chosen already."""
    add = parser.add_argument
    add("--scale", type=str, default="small", help="paper, small, tiny, or one of the file's own")
    add("--data", type=str, nargs="+", help="names, files or folders instead of the experiment's datasets")
    add("--seeds", type=int, nargs="+", help="instead of the experiment's")
    add("--rows", type=str, nargs="+", help="names of the rows to run (default: all)")
    add("--preset", type=str, nargs="+", help="run every row under these: default, parity")
    add("--split", type=str, default="test", help="to measure on")
    add("--settings", type=dict[str, Any], default={}, help="of every training, as --settings.encoder bert")
    inputs.reading_options(parser)


def _study(options: Namespace) -> Study:
    """The study that is described, or the one in a folder."""
    from unirex.experiments.definition import nested
    from unirex.experiments.study import FILE, load_study, make_study

    if (Path(options.experiment) / FILE).is_file():
        for name in inputs.given_options(options, _choosing_options):
            said = "the study there is as it was begun; give the name of the experiment to change it."
            raise UserError(f"--{name}: {options.experiment}: {said}")
        return load_study(Path(options.experiment))
    return make_study(
        options.experiment,
        scale=options.scale,
        data=options.data,
        options=inputs.load_options(options),
        settings=nested(options.settings),
        seeds=options.seeds,
        rows=options.rows,
        presets=options.preset,
        split=options.split,
    )


def _folder(options: Namespace, *, usual: str | None = None) -> Path:
    """The folder of the study; `usual` if none is named."""
    from unirex.experiments.study import FILE

    if options.out is None and (Path(options.experiment) / FILE).is_file():
        return Path(options.experiment)
    if options.out is None and usual is None:
        raise UserError("experiment needs a folder for the study: --out studies/NAME")
    return Path(options.out or str(usual))


def _plan_options(parser: ArgumentParser, arguments: Sequence[str]) -> None:
    _study_options(parser, arguments)
    parser.add_argument("--out", type=str, help="the study's folder, to see what is done")
    parser.add_argument("--workers", type=int, default=1, help="processes the time is estimated for")
    parser.add_argument("--no_timing", action="store_true", help="count only; do not time a pass here")


def _plan(options: Namespace) -> int:
    """Print what would be run and what it takes."""
    from unirex.experiments.plan import checked, plan
    from unirex.experiments.study import store_of

    study = _study(options)
    planned = plan(study, store_of(_folder(options, usual="studies/study")), timed=not options.no_timing)
    problems = checked(study)
    print(_planned(study, planned, options.workers))
    for problem in problems:
        print(f"would fail: {problem}")
    return int(bool(problems))


def _planned(study: Study, planned: Sequence[CellPlan], workers: int) -> str:
    """How many cells, which are shared, and how long they take."""
    uses = Counter(key for number in study.measured for key in number.cell.after)
    lines = [f"{study.definition.name}, scale {study.facts['scale']}: {len(study.measured)} measurements"]
    for work, said in (("train", "trainings"), ("measure", "measurements")):
        part = [item for item in planned if item.cell.work == work]
        done = [item for item in part if item.state == "done"]
        shared = sum(count > 1 for key, count in uses.items() if work == "train")
        also = f", {shared} shared by several rows" if shared else ""
        passes = sum(item.passes for item in part if item.state != "done")
        lines.append(
            f"  {len(part)} {said}{also}; {len(done)} done; {passes:,.0f} passes over texts to go, "
            f"{_time(item.seconds for item in part if item.state != 'done')}"
        )
    left = [item.seconds for item in planned if item.state != "done"]
    lines.append(f"  about {_time(left, workers)} with {workers} worker{'s' if workers > 1 else ''} here")
    peaks = [item.peak for item in planned if item.peak is not None and item.state != "done"]
    if peaks:
        lines.append(f"  the largest training holds about {max(peaks) / 1e9:.1f} GB of memory")
    longest = sorted(planned, key=lambda item: -(item.seconds or 0))[:3]
    lines += [f"  longest: {item.cell.name}, {_time([item.seconds])}" for item in longest if item.seconds]
    return "\n".join(lines)


def _time(seconds: Iterable[float | None], workers: int = 1) -> str:
    known = list(seconds)
    if any(value is None for value in known):
        return "time not known here"
    return duration(sum(value for value in known if value is not None) / workers)


def _run_options(parser: ArgumentParser, arguments: Sequence[str]) -> None:
    _study_options(parser, arguments)
    add = parser.add_argument
    add("--out", type=str, help="folder of the study; cells are kept in `cells` beside it")
    add("--workers", type=int, default=1, help="processes")
    add("--threads", type=int, help="CPU threads of each (default: the cores divided among them)")
    add("--retry_failed", action="store_true", help="also run what failed before")


def _run(options: Namespace) -> int:
    """Run what is not done, then report."""
    study, folder = _study(options), _folder(options)
    try:
        failures = study.run(
            folder, workers=options.workers, threads=options.threads, retry_failed=options.retry_failed
        )
    except KeyboardInterrupt:
        print("\nunirex: stopped; the same command goes on.", file=sys.stderr)
        return 130
    _write_report(study, folder, None)
    for failure in failures:
        print(f"failed: {failure.cell.name}: {failure.error}")
    if failures:
        logs = folder.parent / "cells" / "*" / "log.txt"
        print(f"{len(failures)} cells failed; --retry-failed runs them again. Logs: {logs}")
    return int(bool(failures))


def _folder_options(parser: ArgumentParser, arguments: Sequence[str]) -> None:
    parser.add_argument("folder", type=str, help="of the study")


def _report_options(parser: ArgumentParser, arguments: Sequence[str]) -> None:
    _folder_options(parser, arguments)
    parser.add_argument("--html", type=str, help="write a page")


def _status(options: Namespace) -> int:
    """Print how far every row is."""
    from unirex.experiments.study import load_study, store_of
    from unirex.report.grid import Cell, Grid, Head

    folder = Path(options.folder)
    if _is_search(folder):
        return experiment_tune.status(folder)
    study, store = load_study(folder), store_of(folder)
    rows: dict[str, Counter[str]] = {}
    for number in study.measured:
        rows.setdefault(number.variant.name, Counter())[number.cell.state(store)] += 1
    body = [
        [Cell(name), *(Cell(str(states[state] or "")) for state in STATES)] for name, states in rows.items()
    ]
    print(Grid([Head(""), *map(Head, STATES)], body).text())
    for cell in study.cells:
        if cell.state(store) in ("failed", "running"):
            said = f": {cell.failure(store)}" if cell.state(store) == "failed" else ""
            print(f"{cell.state(store)}: {cell.work} {cell.name}{said}")
    states = study.states(store)
    print(f"{states['done']} of {len(study.cells)} cells are done.")
    return int(states["failed"] > 0)


def _report(options: Namespace) -> int:
    """Write and print the report of what is finished."""
    from unirex.experiments.study import load_study

    folder = Path(options.folder)
    if _is_search(folder):
        return experiment_tune.report(folder, options.html)
    return _write_report(load_study(folder), folder, options.html)


def _is_search(folder: Path) -> bool:
    from unirex.experiments.search import FILE

    return (folder / FILE).is_file()


def _write_report(study: Study, folder: Path, html: str | None) -> int:
    from unirex.experiments.report import report, report_page, state_notes
    from unirex.experiments.results import StudyResults

    results = StudyResults(study, folder)
    notes = state_notes(results)
    if not results.finished:
        print("\n".join(notes))
        return 0
    paths, sections = results.save(), report(results)
    for section in sections:
        paths += section.save(folder / "report")
        for table in section.tables:
            print(f"{section.title}\n\n{table.text()}\n")
    page = Path(html) if html else folder / "report.html"
    write_file(page, report_page(results, sections, notes=notes))
    print("\n".join(notes))
    print(f"{len(paths)} files in {folder}; page in {page}")
    return 0


options, run = sub_commands(
    "experiment",
    {
        "list": Command("The experiments of the paper.", _no_options, _list),
        "plan": Command("What a study would run, and how long it takes here.", _plan_options, _plan),
        "run": Command("Run a study, or go on with it.", _run_options, _run),
        "status": Command("How far a study is.", _folder_options, _status),
        "tune": Command(
            "Search the settings of a method on dev.", experiment_tune.options, experiment_tune.run
        ),
        "report": Command("Tables and figures of what is finished.", _report_options, _report),
    },
)
