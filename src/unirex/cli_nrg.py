"""`unirex nrg`: how the methods of a table stand to each other, on all three desiderata at once."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, get_args

from jsonargparse import ArgumentParser, Namespace

from unirex.errors import UserError
from unirex.metrics.registry import METRICS
from unirex.metrics.relative_gain import (
    FAITHFULNESS,
    GUARDED,
    PLAUSIBILITY,
    Gains,
    Missing,
    relative_gain,
    shows_guarded,
    warnings_of,
)
from unirex.paper import published
from unirex.paper.method_tables import read_tables
from unirex.report.table import table

GAINS = ("fnrg", "pnrg", "tnrg", "cnrg")


@dataclass(frozen=True, slots=True)
class Report:
    """One table's gains and what to know about them."""

    dataset: str
    gains: Mapping[str, Gains]
    notes: Sequence[str]
    disagreements: Sequence[published.Disagreement] = ()
    caveats: Sequence[str] = ()


def nrg_options(parser: ArgumentParser, arguments: Sequence[str] = ()) -> None:
    """Options of `nrg`."""
    parser.add_argument(
        "table", type=str, nargs="?", help="methods and their metrics: CSV, TSV, JSONL, Parquet or JSON"
    )
    parser.add_argument("--paper", type=str, help=f"the printed table of {', '.join(published.PERFORMANCE)}")
    parser.add_argument(
        "--faithfulness", type=str, nargs="+", default=list(FAITHFULNESS), help="metrics of FNRG"
    )
    parser.add_argument(
        "--plausibility", type=str, nargs="+", default=list(PLAUSIBILITY), help="metrics of PNRG"
    )
    parser.add_argument(
        "--performance", type=str, nargs="+", help="metrics of TNRG (default: what the table has)"
    )
    parser.add_argument(
        "--weights", type=float, nargs="+", default=[1.0, 1.0, 1.0], help="of FNRG, PNRG and TNRG in CNRG"
    )
    parser.add_argument(
        "--gate", type=float, help="methods below this share of the best performance get no gain, as 0.9"
    )
    parser.add_argument(
        "--chance",
        type=float,
        help="performance of one answer to all, on the scale of the table; methods near it are warned of",
    )
    parser.add_argument(
        "--missing",
        choices=get_args(Missing),
        default="nan",
        help="a missing metric: no gain, or the mean of the rest",
    )
    parser.add_argument("--json", action="store_true", help="print JSON")


def nrg(options: Namespace) -> int:
    """`unirex nrg TABLE`, or `unirex nrg --paper DATASET`."""
    if (options.table is None) == (options.paper is None):
        raise UserError("nrg needs a table of methods or --paper DATASET, one of the two.")
    reports = _of_paper(options) if options.paper else _of_file(options)
    if options.json:
        print(json.dumps([_plain(one) for one in reports], indent=2, ensure_ascii=False, allow_nan=False))
    else:
        print("\n\n".join(shown(one) for one in reports))
    return 0


def shown(report: Report) -> str:
    """The gains as a table, then a line for each note."""
    heads = {name: name.upper() for name in GAINS}
    heads |= {"guarded": GUARDED} if shows_guarded(report.gains) else {}
    rows = {
        method: {head: getattr(one, name) for name, head in heads.items()}
        for method, one in report.gains.items()
    }
    parts = [report.dataset] if report.dataset else []
    parts.append(table(rows, list(heads.values())))
    parts += [f"note: {one}" for one in report.notes]
    parts += [f"printed otherwise: {_told(one)}" for one in report.disagreements]
    parts += [f"when comparing: {one}" for one in report.caveats]
    return "\n".join(parts)


def _of_paper(options: Namespace) -> list[Report]:
    name = options.paper
    rows = published.values(name)
    chance = options.chance if options.chance is not None else published.CHANCE.get(name)
    gains = _gains(rows, options, options.performance or [published.PERFORMANCE[name]], chance)
    notes = warnings_of(gains, missing=options.missing)
    return [Report(name, gains, notes, published.disagreements(name), published.caveats(name))]


def _of_file(options: Namespace) -> list[Report]:
    reports = []
    for dataset, rows in read_tables(Path(options.table)).items():
        gains = _gains(
            rows, options, options.performance or [_performance(rows, options.table)], options.chance
        )
        reports.append(Report(dataset, gains, warnings_of(gains, missing=options.missing)))
    return reports


def _gains(
    rows: Mapping[str, Mapping[str, float]],
    options: Namespace,
    performance: Sequence[str],
    chance: float | None,
) -> dict[str, Gains]:
    return relative_gain(
        rows,
        faithfulness=options.faithfulness,
        plausibility=options.plausibility,
        performance=performance,
        weights=options.weights,
        gate=options.gate,
        chance=chance,
        missing=options.missing,
    )


def _performance(rows: Mapping[str, Mapping[str, float]], place: str) -> str:
    """The performance metric of a table: accuracy if it is there, else the only one."""
    known = [
        name
        for name, one in METRICS.items()
        if one.desideratum == "performance" and one.direction == "higher"
    ]
    there = [name for name in known if any(name in row for row in rows.values())]
    if "accuracy" in there or len(there) == 1:
        return "accuracy" if "accuracy" in there else there[0]
    found = f"has {', '.join(there)}" if there else f"has none of {', '.join(known)}"
    raise UserError(f"{place}: {found}; say which one is task performance: --performance …")


def _told(one: published.Disagreement) -> str:
    return f"{one.method} {one.gain.upper()} {one.printed:.3f}, not {one.recomputed:.3f}: {one.diagnosis}."


def _plain(report: Report) -> dict[str, Any]:
    """The report as plain JSON; what is no number is null."""
    found = asdict(report)
    for gains in found["gains"].values():
        gains["parts"] = {name: _or_null(value) for name, value in gains["parts"].items()}
        gains |= {name: _or_null(gains[name]) for name in (*GAINS, "guarded")}
    return found


def _or_null(value: float | None) -> float | None:
    return None if value is None or math.isnan(value) else value
