"""`unirex compare`: several evaluations side by side."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

from jsonargparse import ArgumentParser, Namespace

from unirex.errors import UserError

FORMATS = ("text", "markdown", "latex", "csv")
ENDINGS = {".txt": "text", ".md": "markdown", ".tex": "latex", ".csv": "csv"}


def compare_options(parser: ArgumentParser, arguments: Sequence[str] = ()) -> None:
    """Options of `compare`."""
    parser.add_argument(
        "runs",
        type=str,
        nargs="+",
        help="folders of runs or evaluations, or files of records; NAME=PLACE names one",
    )
    parser.add_argument("--evaluation", type=str, help="which evaluation of the runs, as sst-test")
    parser.add_argument("--columns", type=str, nargs="+", help="metrics of the table, as accuracy csd auprc")
    parser.add_argument("--paper", type=str, help="put the paper's numbers for a dataset beside, as sst")
    parser.add_argument("--format", type=str, default=None, help=f"of the table: {', '.join(FORMATS)}")
    parser.add_argument("--out", type=str, help="write the table to a file instead of printing it")
    parser.add_argument("--html", type=str, help="write the whole report: a page with figures and all texts")
    parser.add_argument("--plots", type=str, help="write the figures to a folder, as SVG and PNG")
    parser.add_argument("--title", type=str, help="of the report")
    parser.add_argument("--budget", type=float, help="size of the rationales that are shown, in per cent")
    parser.add_argument("--test", type=str, default="randomisation", help="randomisation or bootstrap")
    parser.add_argument("--draws", type=int, default=5000, help="of each test")
    parser.add_argument("--examples", type=int, default=10_000, help="most texts on the page; 0 for none")
    parser.add_argument(
        "--gate", type=float, help="methods below this share of the best performance get no gain, as 0.9"
    )
    parser.add_argument("--every-run", action="store_true", help="one row a run instead of one a method")


def compare(options: Namespace) -> int:
    """`unirex compare`."""
    from unirex.comparison import compare as compared
    from unirex.files import Progress

    written = table_format(options)
    check_targets(options)
    with Progress("reading", unit="records") as progress:
        found = compared(
            options.runs,
            evaluation=options.evaluation,
            columns=options.columns,
            paper=options.paper,
            budget=options.budget,
            test=options.test,
            draws=options.draws,
            examples=options.examples,
            gate=options.gate,
            advance=progress.advance,
        )
    from unirex.files import write_file

    table = found.table(written, runs=options.every_run).rstrip("\n") + "\n"
    if options.out:
        write_file(Path(options.out), table)
        print(f"table in {options.out}")
    else:
        print(table, end="")
    for warning in found.warnings:
        print(f"note: {warning}", file=sys.stdout if written == "text" and not options.out else sys.stderr)
    if options.plots:
        paths = found.save_plots(options.plots)
        print(f"{len(paths)} files of figures in {options.plots}")
    if options.html:
        write_file(Path(options.html), found.page(options.title))
        print(f"report in {options.html}")
    return 0


def table_format(options: Namespace) -> str:
    """How the table is written: as asked, or as the ending of `--out` says."""
    ending = ENDINGS.get(Path(options.out).suffix) if options.out else None
    chosen = options.format or ending or "text"
    if chosen not in FORMATS:
        raise UserError(f"--format {chosen}: choose one of {', '.join(FORMATS)}.")
    return chosen


def check_targets(options: Namespace) -> None:
    """Nothing is overwritten that is no report of this kind, and no folder is taken for a file."""
    for name in ("out", "html"):
        target = options[name]
        if target and Path(target).is_dir():
            raise UserError(f"--{name} {target}: is a folder; give a file.")
    if options.plots and Path(options.plots).is_file():
        raise UserError(f"--plots {options.plots}: is a file; give a folder.")
