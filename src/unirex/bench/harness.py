"""Side-by-side timing: interleaved cases, rows with goals, and the JSON and Markdown they are kept in."""

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


@dataclass(frozen=True, slots=True)
class Spread:
    """The middle of some measurements and the quartiles around it."""

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


@dataclass(frozen=True, slots=True)
class Timing:
    """Seconds of one case, one for each repetition."""

    seconds: tuple[float, ...]

    @property
    def spread(self) -> Spread:
        """Median and quartiles of the seconds."""
        return Spread.of(self.seconds)

    def over(self, base: Timing) -> Spread:
        """How often the base fits into this: ratios of the same repetition, as both met the same noise.

        >>> Timing((2.0, 8.0, 3.0)).over(Timing((1.0, 2.0, 1.0))).median
        3.0
        """
        return Spread.of([one / other for one, other in zip(self.seconds, base.seconds, strict=True)])

    def per(self, number: int) -> Timing:
        """The seconds for one of so many things."""
        return Timing(tuple(seconds / number for seconds in self.seconds))


def interleaved(
    cases: Mapping[str, Callable[[], Any]], repetitions: int, *, warmup: int = 1, seed: int = 0
) -> dict[str, Timing]:
    """Seconds of every case. All are run once a repetition, in an order drawn anew each time.

    So whatever else the machine does hits all cases alike, and none always runs after the same other. The
    first rounds only warm up. A case that goes through inputs must do so in step with the others: it is
    called equally often.
    """
    order, chance = list(cases), random.Random(seed)
    found: dict[str, list[float]] = {name: [] for name in cases}
    for repetition in range(-warmup, repetitions):
        chance.shuffle(order)
        gc.collect()  # what one round left behind is no burden for the next
        for name in order:
            seconds = timed(cases[name])
            if repetition >= 0:
                found[name].append(seconds)
    return {name: Timing(tuple(seconds)) for name, seconds in found.items()}


def timed(case: Callable[[], Any]) -> float:
    """Seconds of one call."""
    begin = time.perf_counter()
    case()
    return time.perf_counter() - begin


@dataclass(frozen=True, slots=True)
class Goal:
    """What a figure is to reach."""

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
    """One figure with its spread; without one, the note says why it could not be measured."""

    key: str  # stable: the name of the row in the JSON
    what: str
    value: Spread | None = None
    unit: str = "×"
    goal: Goal | None = None
    note: str = ""
    case: str = ""  # for figures over a range: whose line it is on,
    at: float | None = None  # and where
    seconds: dict[str, tuple[float, ...]] = field(default_factory=dict)

    @property
    def reached(self) -> bool | None:
        """Whether the goal is reached; None where there is nothing to say."""
        return None if self.goal is None or self.value is None else self.goal.reached(self.value.median)

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON types; what is empty is left out."""
        plain = asdict(self) | {"goal": str(self.goal) if self.goal else None, "reached": self.reached}
        plain.pop("key")
        return {name: value for name, value in plain.items() if value not in (None, "", {})}


def ratio(
    key: str,
    what: str,
    timings: Mapping[str, Timing],
    pair: tuple[str, str],
    *,
    goal: Goal | None = None,
    note: str = "",
    case: str = "",
    at: float | None = None,
) -> Row:
    """The row that says how often the second of two cases fits into the first."""
    ours, base = (timings[name] for name in pair)
    seconds = {name: timings[name].seconds for name in pair}
    return Row(key, what, ours.over(base), goal=goal, note=note, case=case, at=at, seconds=seconds)


def not_measured(key: str, what: str, reason: str, goal: Goal | None = None) -> Row:
    """The row of something that could not be run here, and why."""
    return Row(key, what, goal=goal, note=f"not measured: {reason}")


HEAD = ("what", "ratio (median)", "quartiles", "to reach", "reached?")
REACHED = {True: "yes", False: "no", None: "–"}


@dataclass
class Measured:
    """Everything one run of the benchmark found."""

    about: dict[str, Any]  # command, date, settings, versions, machine
    groups: dict[str, list[Row]] = field(default_factory=dict)
    complete: bool = False

    def rows(self, group: str) -> list[Row]:
        """The rows of a group; none if it was not run."""
        return self.groups.get(group, [])

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON types: groups by name, rows by key."""
        groups = {name: {row.key: row.to_dict() for row in rows} for name, rows in self.groups.items()}
        return {**self.about, "complete": self.complete, "groups": groups}

    def save(self, folder: Path, name: str) -> list[Path]:
        """Write JSON and Markdown; gives their paths."""
        paths = [folder / f"{name}.json", folder / f"{name}.md"]
        write_file(paths[0], json.dumps(self.to_dict(), indent=1, ensure_ascii=False) + "\n")
        write_file(paths[1], self.markdown(name))
        return paths

    def markdown(self, name: str) -> str:
        """The table with all that is needed to judge it."""
        lines = [f"# {name}", "", f"`{self.about['command']}`, {self.about['date']}", ""]
        lines += [*self._circumstances(), *self._warnings()]
        lines += ["", *table(HEAD, [cells(row) for row in self.single()])]
        for group, title in (("lengths", "tokens"), ("growth", "texts")):
            found = [row for row in self.rows(group) if row.at is not None]
            lines += ["", *over_range(title, found)] if found else []
        return "\n".join([*lines, *self._notes()]) + "\n"

    def single(self) -> list[Row]:
        """The rows of the table: those that are no point of a line."""
        return [row for rows in self.groups.values() for row in rows if row.at is None]

    def _warnings(self) -> list[str]:
        told = {
            "Stopped before the end: not all groups are here.": not self.complete,
            "A quick run, on too little to judge by.": self.about["settings"]["quick"],
        }
        return [line for text, true in told.items() if true for line in ("", text)]

    def _notes(self) -> list[str]:
        """What else must be known of the rows, once for each group."""
        told = {(group, row.note) for group, rows in self.groups.items() for row in rows if row.value}
        lines = [f"- {group}: {note}." for group, note in sorted(told) if note]
        return ["", *lines] if lines else []

    def _circumstances(self) -> list[str]:
        told = (("Measured on", "settings"), ("Machine", "machine"), ("Versions", "versions"))
        return [f"- {title}: {listed(self.about[key])}" for title, key in told]


def cells(row: Row) -> list[str]:
    """One row of the table."""
    if row.value is None:
        return [row.what, row.note, "–", str(row.goal or "measured"), "–"]
    between = f"{figure(row.value.low)} – {figure(row.value.high)}"
    median = figure(row.value.median) + ("" if row.unit == "×" else f" {row.unit}")
    return [row.what, median, between, str(row.goal or "measured"), REACHED[row.reached]]


def over_range(title: str, rows: Sequence[Row]) -> list[str]:
    """Figures over a range as a table: a line for each place, a column for each case."""
    cases = {row.case: f"{row.what.rpartition(', ')[0]} ({row.unit})" for row in rows}
    found = {(row.case, row.at): figure(row.value.median) for row in rows if row.value}
    places = sorted({row.at for row in rows if row.at is not None})
    body = [[f"{place:g}", *(found.get((case, place), "–") for case in cases)] for place in places]
    return table([title, *cases.values()], body)


def table(head: Sequence[str], body: Iterable[Sequence[str]]) -> list[str]:
    """A Markdown table."""
    lines = [head, ["--"] * len(head), *body]
    return ["| " + " | ".join(one.replace("|", "\\|") for one in line) + " |" for line in lines]


def figure(value: float) -> str:
    """A number as it is read: three digits that count.

    >>> figure(0.8671), figure(4.966), figure(41.44), figure(1523.2)
    ('0.87', '4.97', '41.4', '1523')
    """
    return f"{value:.2f}" if abs(value) < 10 else f"{value:.1f}" if abs(value) < 100 else f"{value:.0f}"


def listed(values: Mapping[str, Any]) -> str:
    """Names and values in one line; what is not known is left out."""
    return ", ".join(
        f"{name.replace('_', ' ')} {value}" for name, value in values.items() if value is not None
    )
