"""Time and memory of `unirex explain` as a file grows: the real command, in a process of its own."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterator
from itertools import cycle, islice
from pathlib import Path

from unirex.bench.child import Usage, run
from unirex.bench.measure import Spread
from unirex.bench.rows import Goal, Row, not_measured
from unirex.bench.workload import Workload

WORDS = 8  # of a text, at most: many texts in little time


def measure(work: Workload) -> Iterator[Row]:
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
