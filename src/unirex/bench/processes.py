"""Costs that need a process of their own: start-up, and how time and memory grow with a file.

Run as a module, this is the observer between the benchmark and the measured command. On Linux the peak memory
reported for a child is at least that of the process it was forked from, so the observer must stay small:
nothing heavy is imported here.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from itertools import cycle, islice
from pathlib import Path
from typing import TYPE_CHECKING

from unirex.bench.harness import Goal, Row, Spread, not_measured

if TYPE_CHECKING:
    from unirex.bench.workload import Workload

CLI = ("-m", "unirex.cli")
LOAD = "import sys, unirex.cli.explain, unirex; unirex.load(sys.argv[1])"
WORDS = 8  # of a text, at most: many texts in little time


@dataclass(frozen=True, slots=True)
class Usage:
    """What a process used, and how it ended."""

    seconds: float = 0.0
    cpu: float = 0.0  # seconds of processor time
    peak_mb: float = 0.0
    code: int = 0
    output: str = ""  # the end of what it printed


def measure_start(work: Workload) -> Iterator[Row]:
    """Import, help, and one explained sentence."""
    times = range(work.pace.slow)
    imports = [run_python("-c", "import unirex") for _ in times]
    yield _seconds("import", "import unirex, with Python itself", imports, goal=Goal("≤", 0.3))
    yield _seconds("help", "unirex --help", [run_python(*CLI, "--help") for _ in times])
    loads, explains = [], []
    with tempfile.TemporaryDirectory(prefix="unirex-bench-") as folder:
        saved = Path(folder, "system")
        work.system.save_pretrained(saved)
        text = work.texts(1)[0]
        for _ in times:
            loads.append(run_python("-c", LOAD, str(saved)))
            explains.append(run_python(*CLI, "explain", str(saved), text, "--json"))
    yield _seconds("explain one", "unirex explain on one sentence", explains)
    yield _seconds("load", "of that, importing the libraries and loading the model", loads)
    shares = [load.cpu / explain.cpu for load, explain in zip(loads, explains, strict=True)]
    what = "importing and loading ÷ unirex explain on one sentence (processor time)"
    yield Row("load share", what, Spread.of(shares), goal=Goal("≥", 0.5))


def _seconds(key: str, what: str, usages: Sequence[Usage], goal: Goal | None = None) -> Row:
    cpu = tuple(usage.cpu for usage in usages)
    wall = tuple(usage.seconds for usage in usages)
    what = f"{what} (processor time)"
    return Row(key, what, Spread.of(cpu), unit="s", goal=goal, seconds={"cpu": cpu, "wall": wall})


def measure_growth(work: Workload) -> Iterator[Row]:
    """Seconds per 1000 texts and peak memory for files of every size, and how both grow."""
    usages: dict[int, Usage] = {}
    with tempfile.TemporaryDirectory(prefix="unirex-bench-") as folder:
        work.system.save_pretrained(Path(folder, "system"))
        explain_file(work, Path(folder), 1)  # brings the libraries into the disk cache
        usages[1] = explain_file(work, Path(folder), 1)
        for size in work.pace.growth:
            usages[size] = explain_file(work, Path(folder), size)
            seconds, peak = Spread.of([_per_thousand(size, usages)]), Spread.of([usages[size].peak_mb])
            what = f"explain, time per 1000 texts, {size} texts"
            yield Row(f"seconds at {size}", what, seconds, "s", case="seconds", at=size)
            what = f"explain, peak memory, {size} texts"
            yield Row(f"memory at {size}", what, peak, "MB", case="memory", at=size)
    yield from _growth_rows(usages)


def explain_file(work: Workload, folder: Path, size: int) -> Usage:
    """What `unirex explain` uses for a file of `size` texts."""
    source, target = folder / "texts.jsonl", folder / "explained.jsonl"
    texts = islice(cycle(short_texts(work)), size)
    with source.open("w", encoding="utf-8") as file:
        file.writelines(json.dumps({"text": text}) + "\n" for text in texts)
    target.unlink(missing_ok=True)
    return run_python(*CLI, "explain", str(folder / "system"), "--file", str(source), "--out", str(target))


def short_texts(work: Workload) -> list[str]:
    """The training texts cut into pieces of a few words: enough of them that repetitions are far apart."""
    pieces = []
    for example in work.data["train"]:
        words = example.segments[0].split()
        pieces += [" ".join(words[start : start + WORDS]) for start in range(0, len(words), WORDS)]
    return pieces


def _growth_rows(usages: dict[int, Usage]) -> Iterator[Row]:
    """Linear time: a text costs as much among many. Flat memory: many texts take no more than few."""
    least, *_, most = (size for size in usages if size > 1)
    fewer = [size for size in usages if size < most][-1]
    what, goal = f"explain, time per text: {most} texts ÷ {fewer}", Goal("≤", 1.15)
    base = _per_thousand(fewer, usages)
    if base > 0:
        yield Row("time", what, Spread.of([_per_thousand(most, usages) / base]), goal=goal)
    else:
        yield not_measured("time", what, f"{fewer} texts took no longer than one", goal)
    what = f"explain, peak memory: {most} texts ÷ {least}"
    share = usages[most].peak_mb / usages[least].peak_mb
    yield Row("memory", what, Spread.of([share]), goal=Goal("≤", 1.1))


def _per_thousand(size: int, usages: dict[int, Usage]) -> float:
    """Seconds for 1000 texts, without those of the start."""
    return max(usages[size].seconds - usages[1].seconds, 0.0) / (size - 1) * 1000


def run_python(*arguments: str) -> Usage:
    """Run `python ARGUMENTS…` and return its usage; a failure is an error that quotes its last line."""
    command = [sys.executable, "-m", "unirex.bench.processes", sys.executable, *arguments]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as observer:
        try:
            out = observer.communicate()[0]
        except BaseException:  # Ctrl-C: the observer takes the command with it
            observer.terminate()
            raise
    usage = Usage(**json.loads(out or '{"code": -1, "output": "no measurement"}'))
    if usage.code:
        last = (usage.output.strip().splitlines() or ["no output"])[-1]
        raise RuntimeError(f"python {arguments[0]} … ended with code {usage.code}: {last}")
    return usage


def observe(command: Sequence[str]) -> Usage:
    """The usage of a command that runs as a child of this process."""
    begin = time.perf_counter()
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as child:
        try:
            output = "" if child.stdout is None else child.stdout.read()[-2000:]
            _, status, used = os.wait4(child.pid, 0)
        except BaseException:
            child.kill()
            raise
        seconds = time.perf_counter() - begin
        child.returncode = os.waitstatus_to_exitcode(status)
    unit = 1 if sys.platform == "darwin" else 1024  # ru_maxrss: bytes there, kilobytes elsewhere
    cpu = used.ru_utime + used.ru_stime
    return Usage(seconds, cpu, used.ru_maxrss * unit / 1e6, child.returncode, output)


def main() -> int:
    """Observe the command on the command line and print its usage as JSON."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    try:
        print(json.dumps(asdict(observe(sys.argv[1:]))))
    except KeyboardInterrupt:
        return 130
    return 0


if __name__ == "__main__":
    sys.exit(main())
