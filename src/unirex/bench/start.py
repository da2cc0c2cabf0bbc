"""How long one waits before anything happens, in processes of their own."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path

from unirex.bench.child import Usage, run
from unirex.bench.measure import Spread
from unirex.bench.rows import Goal, Row
from unirex.bench.workload import Workload

CLI = ("-m", "unirex.cli")
LOAD = "import sys, unirex.cli_commands, unirex; unirex.load(sys.argv[1])"


def measure(work: Workload) -> Iterator[Row]:
    """Import, help, and one explained sentence."""
    times = range(work.pace.slow)
    imported = [run("-c", "import unirex") for _ in times]
    yield _seconds("import", "import unirex, with Python itself", imported, goal=Goal("≤", 0.3))
    yield _seconds("help", "unirex --help", [run(*CLI, "--help") for _ in times])
    with tempfile.TemporaryDirectory(prefix="unirex-bench-") as folder:
        saved = Path(folder, "system")
        work.system.save_pretrained(saved)
        text = work.texts(1)[0]
        pairs = [
            (run("-c", LOAD, str(saved)), run(*CLI, "explain", str(saved), text, "--json")) for _ in times
        ]
    loads, whole = [load for load, _ in pairs], [one for _, one in pairs]
    yield _seconds("explain one", "unirex explain on one sentence", whole)
    yield _seconds("load", "of that, importing the libraries and loading the model", loads)
    shares = [load.cpu / one.cpu for load, one in pairs]
    what = "importing and loading ÷ unirex explain on one sentence (processor time)"
    yield Row("load share", what, Spread.of(shares), goal=Goal("≥", 0.5))


def _seconds(key: str, what: str, usages: list[Usage], goal: Goal | None = None) -> Row:
    cpu = tuple(one.cpu for one in usages)
    wall = tuple(one.seconds for one in usages)
    what = f"{what} (processor time)"
    return Row(key, what, Spread.of(cpu), unit="s", goal=goal, seconds={"cpu": cpu, "wall": wall})
