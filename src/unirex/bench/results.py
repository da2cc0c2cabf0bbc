"""The figures of a run, kept: JSON for machines, a table for people."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from unirex.bench.rows import Row
from unirex.files import write_file

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
