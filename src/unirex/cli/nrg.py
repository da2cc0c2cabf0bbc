"""`unirex nrg`: normalised relative gain of the methods of a table, on all three desiderata at once."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import get_args

from jsonargparse import ArgumentParser, Namespace

from unirex.cli.inputs import as_json
from unirex.errors import UserError
from unirex.metrics.registry import PERFORMANCE_SCORES
from unirex.metrics.relative_gain import (
    FAITHFULNESS,
    GUARDED,
    PLAUSIBILITY,
    Gains,
    MissingMetrics,
    relative_gain,
    shows_guarded,
    warnings_of,
)
from unirex.paper import published
from unirex.paper.method_tables import read_tables


@dataclass(frozen=True, slots=True)
class GainReport:
    """The gains of one table's methods and what to know about them."""

    dataset: str
    gains: Mapping[str, Gains]
    notes: Sequence[str]
    disagreements: Sequence[published.Disagreement] = ()
    caveats: Sequence[str] = ()


def options(parser: ArgumentParser, arguments: Sequence[str]) -> None:
    """Which table, and how gains are computed from it."""
    add = parser.add_argument
    add("table", type=str, nargs="?", help="methods and their metrics: CSV, TSV, JSONL, Parquet or JSON")
    add("--paper", type=str, help=f"the printed table of {', '.join(published.DATASETS)}")
    add("--faithfulness", type=str, nargs="+", default=list(FAITHFULNESS), help="metrics of FNRG")
    add("--plausibility", type=str, nargs="+", default=list(PLAUSIBILITY), help="metrics of PNRG")
    add("--performance", type=str, nargs="+", help="metrics of TNRG (default: what the table has)")
    add("--weights", type=float, nargs="+", default=[1.0, 1.0, 1.0], help="of FNRG, PNRG and TNRG in CNRG")
    add("--gate", type=float, help="methods below this share of the best performance get no gain, as 0.9")
    add(
        "--chance",
        type=float,
        help="performance of one answer to all, on the scale of the table; methods near it are warned of",
    )
    add(
        "--missing",
        choices=get_args(MissingMetrics),
        default="nan",
        help="a missing metric: no gain, or the mean of the rest",
    )
    add("--json", action="store_true", help="print JSON")


def run(options: Namespace) -> int:
    """Print the gains of a table of methods, or of one of the paper's tables."""
    if (options.table is None) == (options.paper is None):
        raise UserError("nrg needs a table of methods or --paper DATASET, one of the two.")
    reports = list(_reports(options))
    if options.json:
        print(as_json([asdict(report) for report in reports]))
    else:
        print("\n\n".join(map(_text, reports)))
    return 0


def _reports(options: Namespace) -> Iterator[GainReport]:
    """The report of the paper's table, or of each dataset in a file."""
    gains_of = partial(
        relative_gain,
        faithfulness=options.faithfulness,
        plausibility=options.plausibility,
        weights=options.weights,
        gate=options.gate,
        missing=options.missing,
    )
    name = options.paper
    if name:
        rows = published.values(name)
        chance = options.chance if options.chance is not None else published.CHANCE.get(name)
        gains = gains_of(
            rows, performance=options.performance or [published.performance_metric(name)], chance=chance
        )
        notes = warnings_of(gains, missing=options.missing)
        yield GainReport(name, gains, notes, published.disagreements(name), published.caveats(name))
        return
    for dataset, rows in read_tables(Path(options.table)).items():
        performance = options.performance or [_performance(rows, options.table)]
        gains = gains_of(rows, performance=performance, chance=options.chance)
        yield GainReport(dataset, gains, warnings_of(gains, missing=options.missing))


def _performance(rows: Mapping[str, Mapping[str, float]], source: str) -> str:
    """The performance metric of a table: accuracy if it is there, else the only one."""
    present = [name for name in PERFORMANCE_SCORES if any(name in row for row in rows.values())]
    if "accuracy" in present or len(present) == 1:
        return "accuracy" if "accuracy" in present else present[0]
    found = f"has {', '.join(present)}" if present else f"has none of {', '.join(PERFORMANCE_SCORES)}"
    raise UserError(f"{source}: {found}; say which one is task performance: --performance …")


def _text(report: GainReport) -> str:
    """The gains as a table, then a line for each note."""
    from unirex.report.table import table

    heads = {name: name.upper() for name in published.GAINS}
    if shows_guarded(report.gains):
        heads["guarded"] = GUARDED
    rows = {
        method: {head: getattr(gains, name) for name, head in heads.items()}
        for method, gains in report.gains.items()
    }
    lines = [report.dataset] if report.dataset else []
    lines.append(table(rows, list(heads.values())))
    lines += [f"note: {note}" for note in report.notes]
    lines += [
        f"printed otherwise: {gain.method} {gain.gain.upper()} {gain.printed:.3f}, "
        f"not {gain.recomputed:.3f}: {gain.diagnosis}."
        for gain in report.disagreements
    ]
    lines += [f"when comparing: {caveat}" for caveat in report.caveats]
    return "\n".join(lines)
