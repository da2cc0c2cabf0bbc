"""What a dataset is made of: examples, their splits, and what is known about them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

Label = str | int | float | bool
CharSpan = tuple[int, int]  # character offsets, end-exclusive
Rationale = tuple[tuple[CharSpan, ...], ...]  # the marked spans of each segment
TaskKind = Literal["text", "segments", "choice"]
TaskMetric = Literal["accuracy", "macro_f1", "binary_f1"]

SPLIT_NAMES = ("train", "dev", "test")


@dataclass(frozen=True, slots=True)
class Example:
    """One text to classify, with the reasons a person marked in it, if anybody did.

    `rationale` holds one tuple of character spans per segment; `None` means that nobody marked any,
    which is not the same as "nothing in this text matters" (an empty tuple for every segment).

    With `choices` the question is which of them goes with the segments: the label is the letter of the right
    one (`choice_label`), and every choice is read after the segments in a sequence of its own.
    """

    id: str
    segments: tuple[str, ...]
    label: Label | None = None
    rationale: Rationale | None = None
    choices: tuple[str, ...] | None = None
    groups: tuple[Rationale, ...] = ()  # what `rationale` merges: evidence groups, or one per annotator

    @property
    def text(self) -> str:
        """The only segment, or all of them on lines of their own."""
        return "\n".join(self.segments)


def choice_label(number: int) -> str:
    """The letter of a choice, counted from 0.

    >>> choice_label(0), choice_label(4), choice_label(26)
    ('A', 'E', 'AA')
    """
    letters = ""
    number += 1
    while number:
        number, letter = divmod(number - 1, 26)
        letters = chr(ord("A") + letter) + letters
    return letters


@dataclass(frozen=True, slots=True)
class DatasetInfo:
    """What holds for a whole dataset, whatever the split.

    `rationale_segments` are the numbers of the segments that can carry a rationale (None: all); only their
    words are ever selected or removed. `markers` are words put before each segment, the choice last.
    """

    name: str
    labels: tuple[Label, ...]
    task: TaskKind = "text"
    metric: TaskMetric = "accuracy"
    rationale_segments: tuple[int, ...] | None = None
    markers: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Splits(Mapping[str, Sequence[Example]]):
    """The examples of a dataset by split: `data["train"]`, `data["dev"]`, `data["test"]`.

    `digest` is their `fingerprint` where the cache knows it already. It is believed, so a copy with anything
    changed must not keep it: `replace(data, parts=..., digest=None)`. `origin` tells how they were read.
    """

    info: DatasetInfo
    parts: Mapping[str, Sequence[Example]]
    digest: str | None = field(default=None, compare=False, repr=False)
    origin: Mapping[str, Any] = field(default_factory=dict, compare=False, repr=False)

    def __getitem__(self, split: str) -> Sequence[Example]:
        return self.parts[split]

    def __iter__(self) -> Iterator[str]:
        return iter(self.parts)

    def __len__(self) -> int:
        return len(self.parts)
