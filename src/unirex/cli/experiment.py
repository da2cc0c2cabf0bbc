"""`unirex experiment …`: whole studies, listed, planned and run."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from jsonargparse import ArgumentParser, Namespace

from unirex.cli import experiment_results, experiment_tune, shared
from unirex.cli.command import Command, sub_commands
from unirex.errors import UserError, unknown
from unirex.files import duration

if TYPE_CHECKING:
    from unirex.experiments.engine import Failure
    from unirex.experiments.plan import CellPlan
    from unirex.experiments.study import Study


def _no_options(parser: ArgumentParser, arguments: Sequence[str]) -> None:
    """Nothing to choose."""


def _list(options: Namespace) -> int:
    from unirex.experiments.definition_file import experiment_names, read_definition

    for name in experiment_names():
        definition = read_definition(name)
        scales = ", ".join(definition.scales)
        print(f"{name}: {definition.about}\n    {len(definition.rows)} rows; scales: {scales}")
    print("and `unirex experiment tune`: search the settings of a method on dev.")
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
    add("--preset", type=str, nargs="+", help="run every row under these: default, parity, parity:each")
    add("--split", type=str, default="test", help="to measure on")
    add("--settings", type=dict[str, Any], default={}, help="of every training, as --settings.encoder bert")
    add("--measure", type=dict[str, Any], default={}, help="of every measurement, as --measure.number 500")
    shared.reading_options(parser)


def _study(options: Namespace) -> Study:
    """The study that is described, or the one in a folder."""
    from unirex.experiments.definition import nested
    from unirex.experiments.saved import load_study
    from unirex.experiments.study import make_study

    if experiment_results.is_search(Path(options.experiment)):
        place = options.experiment
        raise UserError(f"{place}: a search; `unirex experiment tune … --out {place}` goes on with it.")
    if _is_study(options.experiment):
        for name in shared.given_options(options, _choosing_options):
            said = "the study there is as it was begun; give the name of the experiment to change it."
            raise UserError(f"--{name}: {options.experiment}: {said}")
        return load_study(Path(options.experiment))
    return make_study(
        options.experiment,
        scale=options.scale,
        data=options.data,
        options=shared.load_options(options),
        settings=nested(options.settings),
        measure=nested(options.measure),
        seeds=options.seeds,
        rows=options.rows,
        presets=options.preset,
        split=options.split,
    )


def _is_study(name: str) -> bool:
    """Whether this is the folder of a study; the names of experiments go before folders of that name."""
    from unirex.experiments.definition_file import experiment_names
    from unirex.experiments.study import FILE

    return name not in experiment_names() and (Path(name) / FILE).is_file()


def _folder(options: Namespace, study: Study) -> Path:
    """The folder of the study: that of the experiment's name in `studies` if none is named."""
    name = options.experiment
    if Path(options.out or ".").is_file():
        raise UserError(f"--out {options.out}: a file; name a folder for the study.")
    if options.out is None and _is_study(name):
        return Path(name)
    return Path(options.out or f"studies/{study.definition.name}")


def _own_folder(options: Namespace, study: Study) -> Path:
    """The folder to run a study in: if none is named, it must not hold another one that would be lost."""
    from unirex.experiments.saved import would_replace

    folder, name = _folder(options, study), options.experiment
    study.check_folder(folder)
    if folder == Path(name) and _is_study(name):
        return folder
    if options.out is None and _is_study(f"./{name}"):
        raise UserError(
            f"{name}: an experiment, and also a study in ./{name}. `run ./{name}` goes on with the study, "
            f"`--out studies/{name}` begins a new one."
        )
    if would_replace(study, folder):
        holds = f"{folder}: holds this experiment with other rows, settings or data"
        if options.out is None:
            hint = f"go on with it by `unirex experiment run {folder}`, or choose --out."
            raise UserError(f"{holds}; {hint}")
        print(f"{holds}: replaced; what is measured is kept in cells.", file=sys.stderr)
    return folder


def _plan_options(parser: ArgumentParser, arguments: Sequence[str]) -> None:
    _study_options(parser, arguments)
    parser.add_argument(
        "--out", type=str, help="the study's folder, to see what is done (default: studies/NAME)"
    )
    parser.add_argument("--workers", type=int, default=1, help="processes the time is estimated for")
    parser.add_argument("--threads", type=int, help="CPU threads of each; see `run`")
    parser.add_argument("--no_timing", action="store_true", help="count only; do not time a pass here")


def _plan(options: Namespace) -> int:
    """Print what would be run and what it takes."""
    from unirex.experiments.plan import checked, plan, too_large
    from unirex.experiments.study import store_of
    from unirex.experiments.workers import check_processes
    from unirex.scale.cores import threads_each

    check_processes(options.workers, None)
    threads = shared.given_threads(options.threads) or threads_each(options.workers)
    study = _study(options)
    store = store_of(_folder(options, study))
    planned = plan(study, store, threads=None if options.no_timing else threads)
    problems = checked(study, store)
    print(_planned(study, planned, workers=options.workers, threads=None if options.no_timing else threads))
    for problem in problems:
        print(f"would fail: {problem}")
    for line in too_large(study, store, workers=options.workers):
        print(f"may not fit: {line}")
    return int(bool(problems))


def _planned(study: Study, planned: Sequence[CellPlan], *, workers: int, threads: int | None) -> str:
    """How many cells, which are shared, and how long they take."""
    from unirex.experiments.workers import processes
    from unirex.report.page import count

    uses = {(cell.key, item.variant.row.name) for item in study.measured for cell in item.trained}
    rows = Counter(key for key, _ in uses)
    lines = [f"{study.definition.name}, scale {study.facts['scale']}: {count(len(planned), 'cell')}"]
    for work, thing in (("train", "training"), ("measure", "measurement")):
        part = [item for item in planned if item.cell.work == work]
        left = [item for item in part if item.state != "done"]
        shared = sum(rows[item.cell.key] > 1 for item in part)
        also = f", {shared} shared by several rows" if shared else ""
        lines.append(
            f"  {count(len(part), thing)}{also}; {len(part) - len(left)} done; "
            f"{sum(item.passes for item in left):,.0f} passes over texts to go{_time(left, ', about ')}"
        )
        lines += [
            f"    {item.cell.name}: for {rows[item.cell.key]} rows"
            for item in part
            if rows[item.cell.key] > 1
        ]
    left = [item for item in planned if item.state != "done"]
    whole = _time(left, "  about ", workers=workers)
    if threads is not None:
        lines.append(f"{whole} here with {processes(workers, threads)}" if whole else "  time not known here")
    lines += [f"  {line}" for line in _memory(left)]
    longest = sorted(left, key=lambda item: (-(item.seconds or 0), -item.passes))[:3]
    lines += [f"  longest: {item.cell.work} {item.cell.name}{_time([item], ', ')}" for item in longest]
    return "\n".join(lines)


def _memory(planned: Sequence[CellPlan]) -> list[str]:
    """What the largest cells of each kind hold, and the GPUs that they need."""
    from unirex.experiments.cells import Needs

    lines = []
    for work, thing in (("train", "training"), ("measure", "measurement")):
        needs = [item.cell.needs for item in planned if item.cell.work == work]
        if any(need != Needs() for need in needs):
            gpus = max(need.gpus for need in needs)
            asked = f", and needs {gpus} GPU{'' if gpus == 1 else 's'}" if gpus else ""
            most = max(need.memory for need in needs)
            lines.append(f"the largest {thing} holds about {most / 1e9:.1f} GB of memory{asked}")
    return lines


def _time(planned: Sequence[CellPlan], said: str, *, workers: int = 1) -> str:
    """The time of these cells after the words `said`; nothing if it is not known."""
    seconds = [item.seconds for item in planned]
    known = [value for value in seconds if value is not None]
    if len(known) < len(seconds):
        return ""
    return f"{said}{duration(sum(known) / min(workers, max(1, len(known))))}"


def _run_options(parser: ArgumentParser, arguments: Sequence[str]) -> None:
    _study_options(parser, arguments)
    add = parser.add_argument
    add("--out", type=str, help="folder of the study (default: studies/NAME); `cells` are kept beside it")
    experiment_tune.worker_options(parser)
    add("--retry_failed", action="store_true", help="also run what failed before")


def _run(options: Namespace) -> int:
    """Run what is not done, then report."""
    from unirex.experiments.plan import checked, too_large
    from unirex.experiments.results import StudyResults
    from unirex.experiments.study import store_of

    study = _study(options)
    folder = _own_folder(options, study)
    if options.out is None:
        print(f"study in {folder}, cells in {store_of(folder)}", file=sys.stderr)
    for problem in checked(study, store_of(folder), failed=options.retry_failed):
        print(f"would fail: {problem}", file=sys.stderr)
    if options.engine == "local":  # a cluster knows what its machines hold
        workers, failed = options.workers or 1, options.retry_failed
        for line in too_large(study, store_of(folder), workers=workers, failed=failed):
            print(f"may not fit: {line}", file=sys.stderr)
    try:
        with experiment_tune.workers(options) as workers:
            failures = study.run(folder, retry_failed=options.retry_failed, **workers)
    except KeyboardInterrupt:
        print("\nunirex: stopped; the same command goes on.", file=sys.stderr)
        return 130
    experiment_results.print_report(StudyResults(study, folder), folder, None)
    _print_failures(failures, store_of(folder))
    return int(bool(failures))


def _print_failures(failures: Sequence[Failure], store: Path) -> None:
    """Which cells failed or were left out, those that stand in the report aside, and where their logs are."""
    from unirex.experiments.cells import LOG
    from unirex.report.page import count

    kept = [failure.cell for failure in failures if failure.cell.state(store) == "failed"]
    for failure in failures:
        if failure.cell not in kept:
            print(f"Not done: {failure.cell.work} {failure.cell.name}: {failure.error}")
    if kept:
        print(f"{count(len(kept), 'cell')} failed; --retry-failed runs them again. Logs:")
        print("\n".join(f"  {cell.folder(store) / LOG}" for cell in kept))


def with_action(arguments: Sequence[str]) -> list[str]:
    """`experiment NAME`, `experiment FILE.yaml` and `experiment FOLDER` are short for `experiment run …`.

    >>> with_action(["experiment", "main", "--out", "studies/main"])
    ['experiment', 'run', 'main', '--out', 'studies/main']
    """
    from unirex.experiments.definition_file import ENDINGS, experiment_names

    command, *rest = arguments
    if not rest or rest[0].startswith("-") or rest[0] in ACTIONS:
        return [command, *rest]
    if rest[0] in experiment_names() or rest[0].endswith(ENDINGS) or _is_study(rest[0]):
        return [command, "run", *rest]
    raise unknown("experiment or action", rest[0], [*experiment_names(), *ACTIONS])


ACTIONS = {
    "list": Command("The experiments of the paper.", _no_options, _list),
    "plan": Command("What a study would run, and how long it takes here.", _plan_options, _plan),
    "run": Command("Run a study, or go on with it.", _run_options, _run),
    "status": Command("How far a study is.", experiment_results.folder_options, experiment_results.status),
    "tune": Command("Search the settings of a method on dev.", experiment_tune.options, experiment_tune.run),
    "report": Command(
        "Tables and figures of what is finished.",
        experiment_results.report_options,
        experiment_results.report,
    ),
    "pack": Command(
        "The finished measurements without texts, in one file.",
        experiment_results.pack_options,
        experiment_results.pack,
    ),
}
options, run = sub_commands("experiment", ACTIONS)
