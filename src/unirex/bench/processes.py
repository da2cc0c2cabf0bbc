"""Costs measured in processes of their own: start-up time, and growth of time and memory with a file."""

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

from unirex.bench.harness import Goal, Row, Spread, not_measured
from unirex.bench.workload import Workload


@dataclass(frozen=True, slots=True)
class Usage:
    """What a process took."""

    seconds: float = 0.0
    cpu: float = 0.0
    peak_mb: float = 0.0
    code: int = 0
    said: str = ""  # the end of what it printed


def run(*arguments: str) -> Usage:
    """Run `python ARGUMENTS…` and tell what it took; a failure is an error that quotes its last line."""
    command = [sys.executable, __file__, sys.executable, *arguments]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as observer:
        try:
            out = observer.communicate()[0]
        except BaseException:  # Ctrl-C: the observer takes the command with it
            observer.terminate()
            raise
    usage = Usage(**json.loads(out or '{"code": -1, "said": "no measurement"}'))
    if usage.code:
        last = (usage.said.strip().splitlines() or ["no output"])[-1]
        raise RuntimeError(f"python {arguments[0]} … ended with code {usage.code}: {last}")
    return usage


def observe(command: Sequence[str]) -> Usage:
    """The usage of a command that runs as a child of this process."""
    begin = time.perf_counter()
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as child:
        try:
            said = "" if child.stdout is None else child.stdout.read()[-2000:]
            _, status, used = os.wait4(child.pid, 0)
        except BaseException:
            child.kill()
            raise
        seconds = time.perf_counter() - begin
        child.returncode = os.waitstatus_to_exitcode(status)
    unit = 1 if sys.platform == "darwin" else 1024  # bytes there, kilobytes elsewhere
    cpu = used.ru_utime + used.ru_stime
    return Usage(seconds, cpu, used.ru_maxrss * unit / 1e6, child.returncode, said)


def main() -> int:
    """Observe the command on the command line and print what it took."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    try:
        print(json.dumps(asdict(observe(sys.argv[1:]))))
    except KeyboardInterrupt:
        return 130
    return 0


if __name__ == "__main__":
    sys.exit(main())


WORDS = 8  # of a text, at most: many texts in little time


def measure_growth(work: Workload) -> Iterator[Row]:
    """Seconds per 1000 texts and peak memory for every size, and how both grow."""
    usages: dict[int, Usage] = {}
    with tempfile.TemporaryDirectory(prefix="unirex-bench-") as folder:
        work.system.save_pretrained(Path(folder, "system"))
        explain_file(work, Path(folder), 1)  # brings the libraries into memory
        for size in (1, *work.pace.growth):
            usages[size] = explain_file(work, Path(folder), size)
            if size > 1:
                yield from _rows(size, usages)
    yield from _growth(usages)


def explain_file(work: Workload, folder: Path, size: int) -> Usage:
    """What the command took for a file of so many texts."""
    source, target = folder / "texts.jsonl", folder / "explained.jsonl"
    pieces = short_texts(work)
    with source.open("w", encoding="utf-8") as file:
        file.writelines(json.dumps({"text": text}) + "\n" for text in islice(cycle(pieces), size))
    target.unlink(missing_ok=True)
    return run(
        "-m", "unirex.cli", "explain", str(folder / "system"), "--file", str(source), "--out", str(target)
    )


def short_texts(work: Workload) -> list[str]:
    """The training texts cut into pieces of a few words: enough of them that repetitions are far apart."""
    found = []
    for example in work.data["train"]:
        words = example.segments[0].split()
        found += [" ".join(words[start : start + WORDS]) for start in range(0, len(words), WORDS)]
    return found


def _rows(size: int, usages: dict[int, Usage]) -> Iterator[Row]:
    found = {
        "seconds": ("explain, time per 1000 texts", per_thousand(size, usages), "s"),
        "memory": ("explain, peak memory", usages[size].peak_mb, "MB"),
    }
    for case, (what, value, unit) in found.items():
        yield Row(f"{case} at {size}", f"{what}, {size} texts", _one(value), unit, case=case, at=size)


def per_thousand(size: int, usages: dict[int, Usage]) -> float:
    """Seconds for 1000 texts, without those of the start."""
    return max(usages[size].seconds - usages[1].seconds, 0.0) / (size - 1) * 1000


def _growth(usages: dict[int, Usage]) -> Iterator[Row]:
    """Linear time: a text costs as much among many. Flat memory: many take no more than few."""
    least, *_, most = (size for size in usages if size > 1)
    some = [size for size in usages if size < most][-1]
    what, goal = f"explain, time per text: {most} texts ÷ {some}", Goal("≤", 1.15)
    base = per_thousand(some, usages)
    if base > 0:
        yield Row("time", what, _one(per_thousand(most, usages) / base), goal=goal)
    else:
        yield not_measured("time", what, f"{some} texts took no longer than one", goal)
    memory = usages[most].peak_mb / usages[least].peak_mb
    yield Row("memory", f"explain, peak memory: {most} texts ÷ {least}", _one(memory), goal=Goal("≤", 1.1))


def _one(value: float) -> Spread:
    return Spread(value, value, value)


CLI = ("-m", "unirex.cli")
LOAD = "import sys, unirex.cli_commands, unirex; unirex.load(sys.argv[1])"


def measure_start(work: Workload) -> Iterator[Row]:
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
