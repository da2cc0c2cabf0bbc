"""`unirex bench`: measure what training, evaluation and explaining cost."""

from __future__ import annotations

from collections.abc import Sequence

from jsonargparse import ArgumentParser, Namespace

from unirex.bench import GROUPS
from unirex.cli.shared import threads_option, use_threads


def options(parser: ArgumentParser, arguments: Sequence[str]) -> None:
    """What to measure, and on what."""
    add = parser.add_argument
    add("--only", type=str, nargs="+", help=f"some groups: {', '.join(GROUPS)}")
    add("--data", type=str, help="a dataset name or a file (default: sst, or else demo)")
    add("--root", type=str, help="folder of the datasets, if not what UNIREX_DATA names")
    add("--encoder", type=str, default="minilm", help="minilm, a Hub id or a folder")
    add("--run", type=str, help="a trained system to explain and evaluate with")
    add("--batch_size", type=int, help="texts at once (default: 32; 8 with --quick)")
    add("--repetitions", type=int, help="of each measurement (default: 7; 2 with --quick)")
    add("--quick", action="store_true", help="a rough look in a minute or two")
    add("--out", type=str, default="benchmarks/results", help="folder for the results")
    threads_option(parser)


def run(options: Namespace) -> int:
    """Run the groups of measurements."""
    use_threads(options.threads)
    from unirex.bench.command import bench

    return bench(options)
