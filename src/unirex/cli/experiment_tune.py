"""`unirex experiment tune`: search the settings of a method on dev."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from jsonargparse import ArgumentParser, Namespace

from unirex.cli import shared
from unirex.config import DEFAULT_PRESET
from unirex.errors import UserError

if TYPE_CHECKING:
    from unirex.experiments.tuning import Tuning


def options(parser: ArgumentParser, arguments: Sequence[str]) -> None:
    """What is searched, and how."""
    from unirex.experiments.search import MARGIN

    add = parser.add_argument
    add("--method", type=str, default="slm-fpo", help="what every trial trains")
    add("--data", type=str, help="a dataset name, a file or a folder; measured on its dev split")
    shared.reading_options(parser)
    add("--out", type=str, default="studies/tune", help="folder of the search; `cells` are kept beside it")
    add("--trials", type=int, default=40, help="how many there are in the end")
    add("--search", type=str, help="YAML file: settings with their choices or ranges (default: the paper's)")
    add("--sampler", type=str, default="nsga2", help="nsga2, tpe, or grid: every point once")
    add("--objective", type=str, default="pareto", help="choose from the front (pareto) or all trials (cnrg)")
    add("--prune", action="store_true", help="give up trials that perform badly after a short training")
    add("--margin", type=float, default=MARGIN, help="of --prune: performance below the best short training")
    add("--storage", type=str, help="an Optuna URL for several machines (default: a journal in --out)")
    add("--scale", type=str, default="small", help="paper, small or tiny")
    add("--preset", type=str, default=DEFAULT_PRESET, help="of settings: default or parity")
    add("--settings", type=dict[str, Any], default={}, help="of every trial, as --settings.encoder bert")
    add("--seed", type=int, default=0, help="of the sampler and of every training")
    worker_options(parser)
    add("--html", type=str, help="another place for the page than OUT/report.html")


def run(options: Namespace) -> int:
    """Search, or go on with it, then report."""
    from unirex.experiments.definition import nested
    from unirex.experiments.tune import tune

    if not options.data:
        raise UserError("tune needs --data, as in --data sst")
    shared.check_page(options.html)
    same = ("trials", "scale", "search", "preset", "sampler", "objective", "prune", "margin", "storage")
    try:
        with workers(options) as who:
            tuning = tune(
                options.method,
                options.data,
                out=options.out,
                settings=nested(options.settings),
                options=shared.load_options(options),
                **{name: options[name] for name in (*same, "seed")},
                **who,
            )
    except KeyboardInterrupt:
        print("\nunirex: stopped; the same command goes on.", file=sys.stderr)
        return 130
    return _write_report(tuning, Path(options.out), options.html)


def worker_options(parser: ArgumentParser) -> None:
    """Who runs the cells of a study or of a search."""
    add = parser.add_argument
    add("--engine", type=str, default="local", help="local (processes), or ray: tasks of a cluster")
    add("--workers", type=int, help="cells at a time (default: 1; of ray as many as have room)")
    add("--threads", type=int, help="CPU threads of each (default: UNIREX_THREADS, else the cores divided)")
    add("--address", type=str, help="of --engine ray: the cluster (default: RAY_ADDRESS, else one here)")


@contextmanager
def workers(options: Namespace) -> Iterator[dict[str, Any]]:
    """The arguments of `run_cells` that say who runs cells."""
    from unirex.scale.engines import Staff

    staff = Staff(options.engine, options.workers, shared.given_threads(options.threads), options.address)
    if staff.engine == "local":
        yield {"workers": staff.workers or 1, "threads": staff.threads}
        return
    from unirex.scale.ray_engine import cell_tasks

    with cell_tasks(staff.address, workers=staff.workers, threads=staff.threads) as (pool, number):
        yield {"workers": number, "threads": staff.threads or 1, "pool": pool}


def report(folder: Path, out: Path, html: str | None) -> int:
    """Print the report of the search in a folder, and write it, there or to another one."""
    from unirex.experiments.tune import load_tuning

    _write_report(load_tuning(folder), out, html)
    return 0


def status(folder: Path) -> int:
    """Print the trials of the search in a folder, and how far it is."""
    from unirex.experiments.tune import load_tuning
    from unirex.experiments.tune_report import state_notes, trials_table

    tuning = load_tuning(folder)
    print(f"{trials_table(tuning).text()}\n\n{state_notes(tuning)[0]}")
    return _exit_code(tuning)


def _write_report(tuning: Tuning, folder: Path, html: str | None) -> int:
    from unirex.experiments.tune_report import state_notes, trials_table, write_report

    paths, page = write_report(tuning, folder, html)
    print(f"{trials_table(tuning).text()}\n")
    print("\n".join([*state_notes(tuning), "", *tuning.why]))
    if tuning.chosen is not None:
        print("\n".join(tuning.commands(tuning.chosen)))
    print(f"{len(paths)} files in {folder / 'report'}; page in {page}")
    return _exit_code(tuning)


def _exit_code(tuning: Tuning) -> int:
    return int(any(trial.state == "failed" for trial in tuning.trials))
