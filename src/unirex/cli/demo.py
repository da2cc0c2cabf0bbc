"""`unirex demo`: train and compare two systems on the embedded corpus."""

from __future__ import annotations

import sys
from collections.abc import Sequence

from jsonargparse import ArgumentParser, Namespace

from unirex.cli.shared import use_threads


def options(parser: ArgumentParser, arguments: Sequence[str]) -> None:
    """Where to write."""
    parser.add_argument("--out", type=str, default="runs/demo", help="folder for the runs and the report")


def run(options: Namespace) -> int:
    """Run the demonstration and say where its report is."""
    from unirex.demo import run_demo

    use_threads(None)
    try:
        report = run_demo(options.out)
    except KeyboardInterrupt:
        print("\nunirex: stopped; the same command goes on from the last checkpoint.", file=sys.stderr)
        return 130
    print(f"\nOpen the report in a browser: {report.resolve().as_uri()}")
    return 0
