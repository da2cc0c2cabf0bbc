"""What was measured: one row of the table, and whether it is what was to be reached."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, Literal

from unirex.bench.measure import Spread, Timing


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
