"""`unirex compare`: several evaluations side by side."""

from __future__ import annotations

import sys
import textwrap
from collections.abc import Sequence
from pathlib import Path

from jsonargparse import ArgumentParser, Namespace

from unirex.config import PAGE_EXAMPLES, TEST_DRAWS
from unirex.errors import UserError
from unirex.files import Progress, write_file

FORMATS = {".txt": "text", ".md": "markdown", ".tex": "latex", ".csv": "csv"}  # by the ending of a file


def options(parser: ArgumentParser, arguments: Sequence[str]) -> None:
    """What to compare, how to test it and what to write."""
    add = parser.add_argument
    add(
        "runs",
        type=str,
        nargs="+",
        help="folders of runs or evaluations, or files of records; NAME=PLACE names one",
    )
    add("--evaluation", type=str, help="which evaluation of the runs, as sst-test")
    add("--columns", type=str, nargs="+", help="metrics of the table, as accuracy csd auprc")
    add("--paper", type=str, help="put the paper's numbers for a dataset beside, as sst")
    add("--format", type=str, help=f"of the table: {', '.join(FORMATS.values())}")
    add("--out", type=str, help="write the table to a file instead of printing it")
    add("--html", type=str, help="write the whole report: a page with figures and all texts")
    add("--plots", type=str, help="write the figures to a folder, as SVG and PNG")
    add("--title", type=str, help="of the report")
    add("--budget", type=float, help="size of the rationales that are shown, in per cent")
    add("--test", type=str, default="randomisation", help="randomisation or bootstrap")
    add("--draws", type=int, default=TEST_DRAWS, help="of each test; more if there are many methods")
    add("--examples", type=int, default=PAGE_EXAMPLES, help="most texts on the page; 0 for none")
    add("--gate", type=float, help="methods below this share of the best performance get no gain, as 0.9")
    add("--every_run", action="store_true", help="one row a run instead of one a method")


def run(options: Namespace) -> int:
    """Print the verdict, print or write the table, and whatever else was named."""
    format_name = _table_format(options)
    _check_targets(options)
    from unirex.comparison import compare
    from unirex.report.grid import WIDTH
    from unirex.report.markup import printable

    with Progress("reading", unit="records") as progress:
        comparison = compare(
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
    # Words must not end up in a Markdown, LaTeX or CSV table that is piped on.
    words_to = sys.stdout if format_name == "text" and not options.out else sys.stderr
    for sentence in comparison.verdict:
        print(textwrap.fill(printable(sentence), WIDTH), file=words_to)
    print(file=words_to)
    table = comparison.table(format_name, runs=options.every_run).rstrip("\n") + "\n"
    if options.out:
        write_file(Path(options.out), table)
        print(f"table in {options.out}")
    else:
        print(table, end="")
    for warning in comparison.warnings:
        print(f"note: {warning}", file=words_to)
    if options.plots:
        paths = comparison.save_plots(options.plots)
        print(f"{len(paths)} files of figures in {options.plots}")
    if options.html:
        write_file(Path(options.html), comparison.page(options.title))
        print(f"report in {options.html}")
    return 0


def _table_format(options: Namespace) -> str:
    """The format of the table: as named, else as the ending of `--out` says."""
    by_ending = FORMATS.get(Path(options.out).suffix) if options.out else None
    name = options.format or by_ending or "text"
    if name not in FORMATS.values():
        raise UserError(f"--format {name}: choose one of {', '.join(FORMATS.values())}.")
    return name


def _check_targets(options: Namespace) -> None:
    """Folders and files are not mistaken for each other; checked before a long read."""
    for name in ("out", "html"):
        target = options[name]
        if target and Path(target).is_dir():
            raise UserError(f"--{name} {target}: is a folder; give a file.")
    if options.plots and Path(options.plots).is_file():
        raise UserError(f"--plots {options.plots}: is a file; give a folder.")
