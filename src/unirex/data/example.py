"""The data model: `Example`, `Splits` of them, their `DatasetInfo` and their `Layout` for an encoder."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from unirex.errors import UserError
from unirex.registry import late

Label = str | int | float | bool
Answer = Label | tuple[Label, ...]  # one label; where texts have sets of labels: all of them, see `label_set`
AnswerNumbers = int | tuple[int, ...]  # the same by the numbers of the labels
CharSpan = tuple[int, int]  # character offsets, end-exclusive
Rationale = tuple[tuple[CharSpan, ...], ...]  # the marked spans of each segment
TaskKind = Literal["text", "segments", "choice"]
TaskMetric = Literal["accuracy", "macro_f1", "binary_f1"]
GroupKind = Literal["annotators", "evidence"]

SPLIT_NAMES = ("train", "dev", "test")
IMBALANCED = 3.0  # times as many texts as the rarest label has: then macro F1 says more than accuracy
SHOWN_LABELS = 10  # in a `repr`


@dataclass(frozen=True, slots=True)
class Example:
    """One text to classify, with the reasons a person marked in it, if any.

    `rationale` holds one tuple of character spans per segment; `None` means that the text was not annotated,
    which is not the same as "nothing in this text matters" (an empty tuple for every segment).

    With `choices` the task is to pick the one that goes with the segments: the label is its letter
    (`choice_label`), and each choice is read after the segments in a sequence of its own.

    In a multi-label dataset `label` is a tuple of all labels of the text, in order; an empty one says that it
    has none, which is not the same as `None`, unknown.
    """

    id: str
    segments: tuple[str, ...]
    label: Answer | None = None
    rationale: Rationale | None = None
    choices: tuple[str, ...] | None = None
    groups: tuple[Rationale, ...] = ()  # what `rationale` merges: evidence groups, or one per annotator
    votes: tuple[Answer, ...] = ()  # the labels of several annotators; `label` is the most frequent

    @property
    def text(self) -> str:
        """The segments, one per line."""
        return "\n".join(self.segments)


def label_set(labels: Iterable[Label]) -> tuple[Label, ...]:
    """The labels of a text in a multi-label dataset: each once, in order.

    >>> label_set(["toxic", "insult", "toxic"])
    ('insult', 'toxic')
    """
    # Text and numbers are both there only while the problems of data are collected.
    return tuple(sorted(set(labels), key=lambda label: (isinstance(label, str), label)))


def numbered_answer(numbers: AnswerNumbers, labels: Sequence[Label]) -> Answer:
    """The label, or the set of labels, with these numbers.

    >>> numbered_answer(1, ["neg", "pos"]), numbered_answer((1, 0), ["toxic", "insult"])
    ('pos', ('insult', 'toxic'))
    """
    if isinstance(numbers, tuple):
        return label_set(labels[number] for number in numbers)
    return labels[numbers]


def answer_labels(answer: Answer) -> tuple[Label, ...]:
    """The labels in an answer: all of a set, or the only one.

    >>> answer_labels("pos"), answer_labels(("insult", "toxic")), answer_labels(())
    (('pos',), ('insult', 'toxic'), ())
    """
    return answer if isinstance(answer, tuple) else (answer,)


def answer_name(answer: Answer) -> str:
    """An answer as people read it.

    >>> answer_name("pos"), answer_name(("insult", "toxic")), answer_name(())
    ('pos', 'insult, toxic', 'no label')
    """
    labels = answer_labels(answer)
    return ", ".join(map(str, labels)) if labels else "no label"


def leading_metric(counts: Mapping[Any, int]) -> TaskMetric:
    """The metric that says most about texts with so many of each answer: accuracy or macro F1.

    Macro F1 where texts have sets of labels, or where the most frequent label has more than `IMBALANCED`
    times as many texts as the rarest: there one answer to all texts would look good on accuracy.

    >>> leading_metric({"neg": 60, "pos": 40}), leading_metric({"neg": 80, "pos": 20})
    ('accuracy', 'macro_f1')
    >>> leading_metric({("insult", "toxic"): 50, (): 50})
    'macro_f1'
    """
    sizes = [count for count in counts.values() if count]
    sets = any(isinstance(answer, tuple) for answer in counts)
    return "macro_f1" if sets or max(sizes, default=0) > IMBALANCED * min(sizes, default=0) else "accuracy"


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


def choice_labels(count: int) -> tuple[str, ...]:
    """The letters of this many choices: the labels of a multiple-choice example.

    >>> choice_labels(3)
    ('A', 'B', 'C')
    """
    return tuple(map(choice_label, range(count)))


@dataclass(frozen=True, slots=True)
class DatasetInfo:
    """Properties of a dataset that all its splits share.

    `rationale_segments` are the indices of the segments that can carry a rationale (None: all); only their
    words are ever selected or removed. `markers` are words put before each segment, the choice last. `groups`
    says what those of an example are: one per annotator, or pieces of evidence that one person found. In a
    `multi_label` dataset a text has any number of the labels.
    """

    name: str
    labels: tuple[Label, ...]
    task: TaskKind = "text"
    metric: TaskMetric = "accuracy"
    rationale_segments: tuple[int, ...] | None = None
    markers: tuple[str, ...] = ()
    groups: GroupKind = "annotators"
    multi_label: bool = False


@dataclass(frozen=True, slots=True)
class Splits(Mapping[str, Sequence[Example]]):
    """The examples of a dataset by split: `data["train"]`, `data["dev"]`, `data["test"]`.

    `digest` is their `fingerprint` if the cache has it. It is not verified, so a changed copy must reset it:
    `replace(data, parts=..., digest=None)`. `origin` records the arguments they were loaded with,
    `skipped` what was wrong with the rows that were left out (`on_error="skip"`).
    """

    info: DatasetInfo
    parts: Mapping[str, Sequence[Example]]
    digest: str | None = field(default=None, compare=False, repr=False)
    origin: Mapping[str, Any] = field(default_factory=dict, compare=False, repr=False)
    skipped: tuple[str, ...] = field(default=(), compare=False, repr=False)

    def __repr__(self) -> str:
        sizes = ", ".join(f"{split} {len(part)}" for split, part in self.parts.items())
        labels = ", ".join(map(repr, self.info.labels[:SHOWN_LABELS]))
        more = ", …" * (len(self.info.labels) > SHOWN_LABELS)
        return f"<Splits of {self.info.name}: {sizes}; labels {labels}{more}>"

    def _repr_html_(self) -> str:
        return late("unirex.report.dataset:notebook_view")(self)

    def __getitem__(self, split: str) -> Sequence[Example]:
        return self.parts[split]

    def __iter__(self) -> Iterator[str]:
        return iter(self.parts)

    def __len__(self) -> int:
        return len(self.parts)


@dataclass(frozen=True, slots=True)
class Layout:
    """How the examples of a dataset are laid out for an encoder.

    Args:
        segments: number of texts in an example, not counting its choices; None: any number.
        choice: whether the answer is one of several choices, each read in a sequence of its own.
        rationale_segments: indices of the segments that can carry a rationale; None: all.
        markers: words put before each segment, the choice last; never part of a rationale.
    """

    segments: int | None = None
    choice: bool = False
    rationale_segments: tuple[int, ...] | None = None
    markers: tuple[str, ...] = ()

    @classmethod
    def of(cls, data: Splits) -> Layout:
        """The layout of a dataset, taken from its info and its first example."""
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
        """Raise a `UserError` if the example does not have this layout."""
        if self.choice != (example.choices is not None):
            wants = "needs choices" if self.choice else "has choices, which this system does not read"
            raise UserError(f"example {example.id} {wants}; give what the system was trained on.")
        if self.segments is not None and len(example.segments) != self.segments:
            raise UserError(
                f"example {example.id} has {_texts(len(example.segments))}; "
                f"this system reads {_texts(self.segments)} at a time."
            )

    def check_segments(self) -> None:
        """Raise a `UserError` if `rationale_segments` is empty or names a segment that does not exist."""
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
