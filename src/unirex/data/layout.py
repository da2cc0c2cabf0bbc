"""What an example consists of: how many texts, whether there are choices, and where reasons can stand."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from unirex.data.example import Example, Splits
from unirex.errors import UserError


@dataclass(frozen=True, slots=True)
class Layout:
    """How the examples of a dataset are laid out for an encoder.

    Args:
        segments: texts an example has, without its choices; None: any number.
        choice: whether the answer is one of several choices, each read in a sequence of its own.
        rationale_segments: numbers of the segments that can carry a rationale; None: all.
        markers: words put before each segment, the choice last; never part of a rationale.
    """

    segments: int | None = None
    choice: bool = False
    rationale_segments: tuple[int, ...] | None = None
    markers: tuple[str, ...] = ()

    @classmethod
    def of(cls, data: Splits) -> Layout:
        """The layout of a dataset."""
        first = next(example for part in data.values() for example in part)
        return cls(
            segments=len(first.segments),
            choice=data.info.task == "choice",
            rationale_segments=data.info.rationale_segments,
            markers=data.info.markers,
        )

    @classmethod
    def from_dict(cls, plain: Mapping[str, Any] | None) -> Layout:
        """The layout from its JSON form, where tuples are lists."""
        values: dict[str, Any] = {
            name: tuple(value) if isinstance(value, list) else value for name, value in (plain or {}).items()
        }
        return cls(**values)

    def check(self, example: Example) -> None:
        """The example is laid out like this."""
        if self.choice != (example.choices is not None):
            wants = "needs choices" if self.choice else "has choices, which this system does not read"
            raise UserError(f"example {example.id} {wants}; give what the system was trained on.")
        if self.segments is not None and len(example.segments) != self.segments:
            raise UserError(
                f"example {example.id} has {_texts(len(example.segments))}; "
                f"this system reads {_texts(self.segments)} at a time."
            )

    def check_segments(self) -> None:
        """The segments that can carry a rationale are there, and there is one."""
        last = None if self.segments is None else self.segments + self.choice
        for number in self.rationale_segments or ():
            if number < 0 or (last is not None and number >= last):
                raise UserError(f"rationale_segments: there is no segment {number}; they count from 0.")
        if self.rationale_segments == ():
            raise UserError("rationale_segments: name at least one segment.")

    def carries(self, segment: int) -> bool:
        """Whether a segment can carry a rationale."""
        return self.rationale_segments is None or segment in self.rationale_segments


def _texts(count: int) -> str:
    return "one text" if count == 1 else f"{count} texts"
