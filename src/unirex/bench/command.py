"""`unirex bench`: run the groups of measurements, save the results, and draw those over a range."""

from __future__ import annotations

import gc
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from jsonargparse import Namespace

from unirex.bench import GROUPS
from unirex.bench.harness import Measurements, Row, not_measured
from unirex.bench.workload import QUICK, Pace, Workload, choose_data, compared_versions, machine
from unirex.errors import UserError, one_line, unknown
from unirex.files import replace_file, say
from unirex.system import BATCH_SIZE

QUICK_BATCH_SIZE = 8  # `system.BATCH_SIZE` otherwise
PATH_OPTIONS = ("root", "run")  # name places on this machine, which are not published
LINE_STYLES = {  # label, colour, marker, dashes
    "slm-fp": ("SLM-FP, all five budgets", "#0b6e99", "o", "-"),
    "slm-fp sampled": ("SLM-FP, one sampled budget", "#d9822b", "s", "--"),
    "naive": ("naive: 11 masked passes", "#7a7a7a", "^", ":"),
}
ONLY_LINE = ("", "#0b6e99", "o", "-")  # of a panel without a legend
METADATA: dict[str, dict[str, Any]] = {".svg": {"Date": None}, ".png": {}}


def bench(options: Namespace) -> int:
    """Run `unirex bench`; returns the exit code."""
    for name in options.only or ():
        if name not in GROUPS:
            raise unknown("group", name, GROUPS)
    work = build_workload(options)
    check_writable(Path(options.out))
    measurements = Measurements(about(options, work))
    try:
        for name in GROUPS:  # in their usual order
            if not options.only or name in options.only:
                run_group(name, work, measurements)
        measurements.complete = True
    except KeyboardInterrupt:
        say("stopped; what is measured is kept.")
    save_results(measurements, Path(options.out), title(options, work))
    return 0 if measurements.complete else 130


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
            what, median, quartiles, goal, reached = row.cells()
            aim = "" if row.goal is None else f", to reach {goal}: {reached}"
            say(f"  {what}: {median}" + ("" if row.value is None else f" ({quartiles}){aim}"))
    except Exception as error:  # one group must not cost the others
        rows.append(not_measured(name, f"{name} (the rest of the group)", one_line(error)))
        say(f"  {rows[-1].note}")
    gc.collect()
    say(f"{name}: {time.perf_counter() - begin:.0f} s")


def about(options: Namespace, work: Workload) -> dict[str, Any]:
    """The circumstances of a run."""
    settings = {
        "data": work.data.info.name,
        "encoder": Path(work.encoder).name,
        "system": "trained" if work.run else "untrained",
        "batch_size": work.batch_size,
        "longest_training_text": work.width,
        "repetitions": work.pace.repetitions,
        "training_batches": work.pace.steps,
        "repetitions_of_slow_cases": work.pace.slow,
        "quick": bool(options.quick),
    }
    return {
        "command": as_typed(options),
        "date": datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC"),
        "settings": settings,
        "machine": machine(),
        "versions": compared_versions(),
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


@dataclass(frozen=True, slots=True)
class SweepPlot:
    """One panel: which rows it shows, and its labels."""

    group: str
    cases: Sequence[str]
    title: str
    x_label: str
    y_label: str

    def rows(self, measurements: Measurements) -> list[Row]:
        """The rows to draw, case by case."""
        rows = measurements.rows(self.group)
        return [row for case in self.cases for row in rows if row.case == case and row.value is not None]


PLOTS = (
    SweepPlot(
        "lengths", ("naive", "slm-fp", "slm-fp sampled"), "Training step by length", "tokens", "÷ plain step"
    ),
    SweepPlot("lengths", ("explain",), "Explain by length", "tokens", "÷ tokenise + plain forward"),
    SweepPlot("growth", ("seconds",), "Explain a growing file: time", "texts", "seconds per 1000 texts"),
    SweepPlot("growth", ("memory",), "Explain a growing file: memory", "texts", "peak memory, MB"),
)


def save_plots(measurements: Measurements, folder: Path, name: str) -> list[Path]:
    """Write `NAME.svg` and `NAME.png`; nothing if no sweep was measured."""
    plots = [plot for plot in PLOTS if plot.rows(measurements)]
    if not plots:
        return []
    import matplotlib
    from matplotlib.figure import Figure

    fixed: dict[Any, Any] = {"svg.hashsalt": name, "svg.fonttype": "none"}  # same numbers, same file
    paths = [folder / f"{name}.svg", folder / f"{name}.png"]
    with matplotlib.rc_context(fixed):
        down = -(-len(plots) // 2)
        figure = Figure(figsize=(9.6, 3.6 * down), layout="constrained")
        axes = figure.subplots(down, 2, squeeze=False).flat
        for axis, plot in zip(axes, plots, strict=False):
            _draw(axis, plot, plot.rows(measurements))
        for axis in axes[len(plots) :]:
            axis.set_axis_off()
        for path in paths:
            replace_file(path, lambda draft: figure.savefig(draft, dpi=150, metadata=METADATA[draft.suffix]))
    return paths


def _draw(axis: Any, plot: SweepPlot, rows: Sequence[Row]) -> None:
    """A line per case: the medians, and the quartiles around them as a band."""
    cases = list(dict.fromkeys(row.case for row in rows))
    for case in cases:
        label, colour, marker, dashes = LINE_STYLES.get(case, ONLY_LINE)
        points = [(row.at, row.value) for row in rows if row.case == case and row.value is not None]
        x, spreads = zip(*points, strict=True)
        medians = [spread.median for spread in spreads]
        low, high = [spread.low for spread in spreads], [spread.high for spread in spreads]
        axis.plot(x, medians, color=colour, marker=marker, ls=dashes, label=label)
        axis.fill_between(x, low, high, color=colour, alpha=0.15, lw=0)
    ticks = sorted({row.at for row in rows if row.at is not None})
    axis.set_xscale("log", base=2 if plot.x_label == "tokens" else 10)
    axis.set_xticks(ticks, [f"{tick:,.0f}" for tick in ticks])
    axis.minorticks_off()
    axis.set_ylim(0, 1.1 * max(row.value.high for row in rows if row.value))
    axis.set(title=plot.title, xlabel=plot.x_label, ylabel=plot.y_label)
    axis.grid(alpha=0.3)
    if plot.y_label.startswith("÷"):
        axis.axhline(1, color="black", linewidth=0.8)  # as fast as what it is compared with
    if len(cases) > 1:
        axis.legend(frameon=False, fontsize=9)
