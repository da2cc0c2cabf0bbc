"""`unirex bench`: run the groups of measurements and save the results."""

from __future__ import annotations

import gc
import tempfile
import time
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from jsonargparse import Namespace

from unirex.bench import GROUPS
from unirex.bench.harness import Measurements, Row, not_measured
from unirex.bench.plots import save_plots
from unirex.bench.workload import QUICK, Pace, Workload, choose_data, machine, versions
from unirex.errors import UserError, one_line, unknown
from unirex.files import say

BATCH_SIZE, QUICK_BATCH_SIZE = 32, 8
PATH_OPTIONS = ("root", "run")  # name places on this machine, which are not published


def bench(options: Namespace) -> int:
    """Run `unirex bench`; returns the exit code."""
    names = chosen_groups(options.only)
    work = build_workload(options)
    check_writable(Path(options.out))
    measurements = Measurements(about(options, work))
    try:
        for name in names:
            run_group(name, work, measurements)
        measurements.complete = True
    except KeyboardInterrupt:
        say("stopped; what is measured is kept.")
    save_results(measurements, Path(options.out), title(options, work))
    return 0 if measurements.complete else 130


def chosen_groups(only: Sequence[str] | None) -> list[str]:
    """The groups to run, in their usual order."""
    for name in only or ():
        if name not in GROUPS:
            raise unknown("group", name, GROUPS)
    return [name for name in GROUPS if not only or name in only]


def build_workload(options: Namespace) -> Workload:
    """The workload that the options describe."""
    pace = QUICK if options.quick else Pace()
    if options.repetitions is not None:
        _check_positive("repetitions", options.repetitions)
        times = options.repetitions
        pace = replace(pace, repetitions=times, steps=times, slow=max(1, times // 2))
    default = QUICK_BATCH_SIZE if options.quick else BATCH_SIZE
    size = default if options.batch_size is None else options.batch_size
    _check_positive("batch_size", size)
    data = choose_data(options.data, options.root)
    work = Workload(data, encoder=options.encoder, batch_size=size, pace=pace, run=options.run)
    # The system is built here, so that a wrong encoder or run is reported at once.
    if work.system.model.config.extractor != "shared-lm":
        raise UserError(
            f"--run {options.run}: bench compares Shared-LM systems; this one has another extractor."
        )
    return work


def _check_positive(name: str, value: int) -> None:
    if value < 1:
        raise UserError(f"--{name} {value}: must be at least 1.")


def check_writable(folder: Path) -> None:
    """Make the folder for the results now: nothing is measured that could not be saved."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            pass
    except OSError as error:
        raise UserError(f"--out {folder}: cannot be written to ({error.strerror}).") from error


def run_group(name: str, work: Workload, measurements: Measurements) -> None:
    """Run a group and add its rows; a failure becomes a row, and the next group goes on."""
    say(f"{name} …")
    begin, rows = time.perf_counter(), measurements.groups.setdefault(name, [])
    try:
        for row in GROUPS[name](work):
            rows.append(row)
            say(f"  {row_line(row)}")
    except Exception as error:  # one group must not cost the others
        rows.append(not_measured(name, f"{name} (the rest of the group)", one_line(error)))
        say(f"  {rows[-1].note}")
    gc.collect()
    say(f"{name}: {time.perf_counter() - begin:.0f} s")


def row_line(row: Row) -> str:
    """A row as one line of text."""
    what, median, quartiles, goal, reached = row.cells()
    aim = "" if row.goal is None else f", to reach {goal}: {reached}"
    return f"{what}: {median}" + ("" if row.value is None else f" ({quartiles}){aim}")


def about(options: Namespace, work: Workload) -> dict[str, Any]:
    """The circumstances of a run."""
    return {
        "command": as_typed(options),
        "date": datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC"),
        "settings": settings(work) | {"quick": bool(options.quick)},
        "machine": machine(),
        "versions": versions(),
    }


def settings(work: Workload) -> dict[str, Any]:
    """What is measured, and how often."""
    pace = work.pace
    return {
        "data": work.data.info.name,
        "encoder": Path(work.encoder).name,
        "system": "trained" if work.run else "untrained",
        "batch_size": work.batch_size,
        "longest_training_text": work.width,
        "repetitions": pace.repetitions,
        "training_batches": pace.steps,
        "repetitions_of_slow_cases": pace.slow,
    }


def as_typed(options: Namespace) -> str:
    """The command, with file names instead of paths."""
    words = ["unirex bench"]
    if options.only:
        words.append(f"--only {' '.join(options.only)}")
    for name in ("data", "encoder", "batch_size", "repetitions", "threads"):
        value = options.get(name)
        if value is not None:
            path = Path(str(value))
            words.append(f"--{name} {path.name if path.exists() else value}")
    words += [f"--{name} {name.upper()}" for name in PATH_OPTIONS if options.get(name)]
    return " ".join([*words, "--quick"] if options.quick else words)


def title(options: Namespace, work: Workload) -> str:
    """The name of the files: it says what was measured, not where."""
    parts = ["bench", work.data.info.name, Path(work.encoder).name, *(options.only or ())]
    return "-".join([*parts, "quick"] if options.quick else parts)


def save_results(measurements: Measurements, folder: Path, name: str) -> None:
    """Write all files and print the table."""
    paths = measurements.save(folder, name)
    try:
        paths += save_plots(measurements, folder, name)
    except ImportError as error:
        say(f"no plots: {one_line(error)}; pip install 'unirex[bench]'")
    print("\n".join(measurements.table()))
    print("\n".join(f"→ {path}" for path in paths))
