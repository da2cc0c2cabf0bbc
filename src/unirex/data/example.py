"""What a dataset is made of: examples, their splits, and what is known about them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

Label = str | int | float | bool
CharSpan = tuple[int, int]  # character offsets, end-exclusive
TaskKind = Literal["text", "segments", "choice"]
TaskMetric = Literal["accuracy", "macro_f1", "binary_f1"]

SPLIT_NAMES = ("train", "dev", "test")


@dataclass(frozen=True, slots=True)
class Example:
    """One text to classify, with the reasons a person marked in it, if anybody did.

    `rationale` holds one tuple of character spans per segment; `None` means that nobody marked any,
    which is not the same as "nothing in this text matters" (an empty tuple for every segment).
    """

    id: str
    segments: tuple[str, ...]
    label: Label | None = None
    rationale: tuple[tuple[CharSpan, ...], ...] | None = None
    choices: tuple[str, ...] | None = None

    @property
    def text(self) -> str:
        """The only segment, or all of them on lines of their own."""
        return "\n".join(self.segments)


@dataclass(frozen=True, slots=True)
class DatasetInfo:
    """What holds for a whole dataset, whatever the split."""

    name: str
    labels: tuple[Label, ...]
    task: TaskKind = "text"
    metric: TaskMetric = "accuracy"


@dataclass(frozen=True, slots=True)
class Splits(Mapping[str, Sequence[Example]]):
    """The examples of a dataset by split: `data["train"]`, `data["dev"]`, `data["test"]`."""

    info: DatasetInfo
    parts: Mapping[str, Sequence[Example]]

    def __getitem__(self, split: str) -> Sequence[Example]:
        return self.parts[split]

    def __iter__(self) -> Iterator[str]:
        return iter(self.parts)

    def __len__(self) -> int:
        return len(self.parts)
