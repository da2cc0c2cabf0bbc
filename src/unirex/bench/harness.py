"""Side-by-side timing: interleaved cases, rows with goals, and the JSON and Markdown they are saved as."""

from __future__ import annotations

import gc
import json
import random
import statistics
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Literal

from unirex.files import write_file

Case = Callable[[], Any]  # one call is one repetition
Timings = dict[str, tuple[float, ...]]  # seconds of each case, one number per repetition

COLUMNS = ("what", "ratio (median)", "quartiles", "to reach", "reached?")
SWEEPS = {"lengths": "tokens", "growth": "texts"}  # groups over a range, and the range
_REACHED = {True: "yes", False: "no", None: "–"}


@dataclass(frozen=True, slots=True)
class Spread:
    """The median of several measurements and the quartiles around it."""

    low: float
    median: float
    high: float

    @classmethod
    def of(cls, values: Sequence[float]) -> Spread:
        """Median and quartiles; a single value is all three.

        >>> Spread.of([4.0, 1.0, 2.0, 3.0, 5.0])
        Spread(low=2.0, median=3.0, high=4.0)
        """
        if len(values) < 2:
            return cls(values[0], values[0], values[0])
        low, median, high = statistics.quantiles(values, n=4, method="inclusive")
        return cls(low, median, high)


def interleaved(cases: Mapping[str, Case], repetitions: int, *, warmup: int = 1) -> Timings:
    """Seconds of every case. Each repetition runs all of them once, in a new random order.

    So other load on the machine hits all cases alike, and no case always runs after the same other one. The
    first `warmup` rounds are not counted. A case that iterates over inputs stays in step with the others, as
    all are called equally often.
    """
    order, shuffler = list(cases), random.Random(0)
    seconds: dict[str, list[float]] = {name: [] for name in cases}
    for repetition in range(-warmup, repetitions):
        shuffler.shuffle(order)
        gc.collect()  # garbage of one round must not slow down the next
        for name in order:
            elapsed = timed(cases[name])
            if repetition >= 0:
                seconds[name].append(elapsed)
    return {name: tuple(values) for name, values in seconds.items()}


def timed(case: Case) -> float:
    """Seconds of one call."""
    begin = time.perf_counter()
    case()
    return time.perf_counter() - begin


@dataclass(frozen=True, slots=True)
class Goal:
    """The bound a figure should reach."""

    sign: Literal["≤", "≥"]
    value: float

    def __str__(self) -> str:
        return f"{self.sign} {self.value:g}"

    def reached(self, value: float) -> bool:
        """Whether a figure is good enough.

        >>> Goal("≤", 5).reached(4.2), Goal("≥", 6).reached(4.2)
        (True, False)
        """
        return value <= self.value if self.sign == "≤" else value >= self.value


@dataclass(frozen=True)
class Row:
    """One figure with its spread; without one, the note says why it was not measured."""

    key: str  # stable: the name of the row in the JSON
    what: str
    value: Spread | None = None
    unit: str = "×"
    goal: Goal | None = None
    note: str = ""
    case: str = ""  # of a sweep: the line this point is on
    at: float | None = None  # of a sweep: the length or size measured at
    seconds: dict[str, tuple[float, ...]] = field(default_factory=dict)

    @property
    def reached(self) -> bool | None:
        """Whether the goal is reached; None without a goal or a value."""
        return None if self.goal is None or self.value is None else self.goal.reached(self.value.median)

    def cells(self) -> list[str]:
        """The row of the table, as in `COLUMNS`."""
        goal = str(self.goal or "measured")
        if self.value is None:
            return [self.what, self.note, "–", goal, "–"]
        median = figure(self.value.median) + ("" if self.unit == "×" else f" {self.unit}")
        quartiles = f"{figure(self.value.low)} – {figure(self.value.high)}"
        return [self.what, median, quartiles, goal, _REACHED[self.reached]]

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON types; empty fields are left out."""
        plain = asdict(self) | {"goal": str(self.goal) if self.goal else None, "reached": self.reached}
        plain.pop("key")
        return {name: value for name, value in plain.items() if value not in (None, "", {})}


def ratio(key: str, what: str, timings: Timings, pair: tuple[str, str], **more: Any) -> Row:
    """The row of a ratio: seconds of the first case of the pair ÷ the second. `more` are fields of `Row`.

    The ratio is taken within each repetition, as both cases met the same noise there.

    >>> ratio("", "", {"ours": (2.0, 8.0, 3.0), "theirs": (1.0, 2.0, 1.0)}, ("ours", "theirs")).value.median
    3.0
    """
    seconds = {name: timings[name] for name in pair}
    ratios = [ours / theirs for ours, theirs in zip(*seconds.values(), strict=True)]
    return Row(key, what, Spread.of(ratios), seconds=seconds, **more)


def not_measured(key: str, what: str, reason: str, goal: Goal | None = None) -> Row:
    """The row of a case that could not run here, with the reason."""
    return Row(key, what, goal=goal, note=f"not measured: {reason}")


@dataclass
class Measurements:
    """All rows of one run of the benchmark, and its circumstances."""

    about: dict[str, Any]  # command, date, settings, versions, machine
    groups: dict[str, list[Row]] = field(default_factory=dict)
    complete: bool = False

    def rows(self, group: str) -> list[Row]:
        """The rows of a group; none if it was not run."""
        return self.groups.get(group, [])

    def table(self) -> list[str]:
        """The Markdown table of all rows that are not a point of a sweep."""
        rows = [row for rows in self.groups.values() for row in rows if row.at is None]
        return markdown_table(COLUMNS, [row.cells() for row in rows])

    def save(self, folder: Path, name: str) -> list[Path]:
        """Write `NAME.json` and `NAME.md`; returns their paths."""
        paths = [folder / f"{name}.json", folder / f"{name}.md"]
        write_file(paths[0], json.dumps(self.to_dict(), indent=1, ensure_ascii=False) + "\n")
        write_file(paths[1], self.markdown(name))
        return paths

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON types: groups by name, rows by key."""
        groups = {name: {row.key: row.to_dict() for row in rows} for name, rows in self.groups.items()}
        return {**self.about, "complete": self.complete, "groups": groups}

    def markdown(self, name: str) -> str:
        """All tables, with what is needed to judge them."""
        lines = [f"# {name}", "", f"`{self.about['command']}`, {self.about['date']}", ""]
        for title, key in (("Measured on", "settings"), ("Machine", "machine"), ("Versions", "versions")):
            known = [(fact, value) for fact, value in self.about[key].items() if value is not None]
            listed = ", ".join(f"{fact.replace('_', ' ')} {value}" for fact, value in known)
            lines.append(f"- {title}: {listed}")
        if not self.complete:
            lines += ["", "Stopped before the end: not all groups are here."]
        if self.about["settings"]["quick"]:
            lines += ["", "A quick run, on too little to judge by."]
        lines += ["", *self.table()]
        for group, title in SWEEPS.items():
            points = [row for row in self.rows(group) if row.at is not None]
            lines += ["", *sweep_table(title, points)] if points else []
        rows = [(group, row) for group, rows in self.groups.items() for row in rows]
        notes = {(group, row.note) for group, row in rows if row.value and row.note}  # once per group
        lines += [""] if notes else []
        lines += [f"- {group}: {note}." for group, note in sorted(notes)]
        return "\n".join(lines) + "\n"


def sweep_table(title: str, rows: Sequence[Row]) -> list[str]:
    """The points of a sweep as a table: a line per length or size, a column per case."""
    cases = {row.case: f"{row.what.rpartition(', ')[0]} ({row.unit})" for row in rows}
    medians = {(row.case, row.at): figure(row.value.median) for row in rows if row.value}
    points = sorted({row.at for row in rows if row.at is not None})
    body = [[f"{at:g}", *(medians.get((case, at), "–") for case in cases)] for at in points]
    return markdown_table([title, *cases.values()], body)


def markdown_table(head: Sequence[str], body: Iterable[Sequence[str]]) -> list[str]:
    """The lines of a Markdown table."""
    lines = [head, ["--"] * len(head), *body]
    return ["| " + " | ".join(cell.replace("|", "\\|") for cell in line) + " |" for line in lines]


def figure(value: float) -> str:
    """A number with three significant digits.

    >>> figure(0.8671), figure(4.966), figure(41.44), figure(1523.2)
    ('0.87', '4.97', '41.4', '1523')
    """
    return f"{value:.2f}" if abs(value) < 10 else f"{value:.1f}" if abs(value) < 100 else f"{value:.0f}"
