"""Checks on the user's data, whose errors say where the mistake is and how to fix it.

A reader wraps each row in `row_at`. By default the first mistake ends the reading; inside `collecting` the
bad row is skipped and its problem recorded, so that `unirex data check` can list all of them.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from difflib import get_close_matches
from inspect import Parameter, signature
from pathlib import Path
from reprlib import repr as short
from sys import float_info
from typing import Any, Literal, get_args

from unirex.data.example import Answer, Example, Label, answer_labels, label_set
from unirex.errors import UserError, unknown

LARGEST = 2**63 - 1  # integer in most formats and libraries


@contextmanager
def at(place: object) -> Iterator[None]:
    """Prefix the message of a `UserError` raised inside with where in the user's data it is."""
    try:
        yield
    except UserError as error:
        raise UserError(f"{place}: {error}") from None


class Problems(list[str]):
    """The problems found while reading, and the places of the examples that were read."""

    def __init__(self) -> None:
        super().__init__()
        self.places: dict[str, str] = {}  # by example id
        self.skipped: list[str] = []  # the problems of rows that were left out
        self.clipped = 0  # marks that were cut to their text, or left out for being outside
        self._seen: set[str] = set()

    def append(self, problem: str) -> None:
        """Add a problem unless it is already listed: several checks may find the same one."""
        if problem not in self._seen:
            self._seen.add(problem)
            super().append(problem)


_PROBLEMS: ContextVar[Problems | None] = ContextVar("problems", default=None)


@contextmanager
def collecting() -> Iterator[Problems]:
    """Inside, readers skip bad rows and record their problems in the list yielded here."""
    problems = Problems()
    token = _PROBLEMS.set(problems)
    try:
        yield problems
    finally:
        _PROBLEMS.reset(token)


OnError = Literal["stop", "skip", "clip"]
_CLIPPING: ContextVar[Problems | None] = ContextVar("clipping", default=None)


@contextmanager
def tolerating(on_error: str) -> Iterator[Problems]:
    """What happens to a bad row inside: it ends the reading, or is left out, or its marks are cut to fit.

    Only marks that lie outside their text can be cut; with `clip` any other mistake ends the reading.
    """
    if on_error not in get_args(OnError):
        raise unknown("way to handle bad rows", on_error, get_args(OnError))
    if on_error == "skip":
        with collecting() as problems:
            yield problems
        return
    problems = Problems()
    if on_error == "stop":
        yield problems
        return
    token = _CLIPPING.set(problems)
    try:
        yield problems
    finally:
        _CLIPPING.reset(token)


def count_clipped() -> bool:
    """Whether a mark outside its text is to be cut; if so, it is counted."""
    problems = _CLIPPING.get()
    if problems is None or is_collecting():
        return False
    problems.clipped += 1
    return True


def is_tolerant() -> bool:
    """Whether bad rows are skipped or their marks are cut, so that the data may differ from the file."""
    return is_collecting() or _CLIPPING.get() is not None


class row_at:  # noqa: N801  used like the function `at`; a class for speed, as it is entered for each row
    """Adds the row's place to a `UserError`; while problems are collected, records it and skips the row.

    Everything done with the row must be inside the block.
    """

    __slots__ = ("place",)

    def __init__(self, place: object) -> None:
        self.place = place

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> bool:
        if not isinstance(error, UserError):
            return False
        problems, message = _PROBLEMS.get(), f"{self.place}: {error}"
        if problems is None:
            raise UserError(message) from None
        problems.append(message)
        problems.skipped.append(message)
        return True


def is_collecting() -> bool:
    """Whether bad rows are being skipped, so that the data may be incomplete."""
    return _PROBLEMS.get() is not None


def note_place(place: str, name: str) -> None:
    """Remember where the example with this id is, if problems are being collected."""
    problems = _PROBLEMS.get()
    if problems is not None:
        problems.places.setdefault(name, place)


def remark(place: object, fault: str) -> None:
    """Record a fault that does not prevent reading the row, if problems are being collected."""
    problems = _PROBLEMS.get()
    if problems is not None:
        problems.append(f"{place}: {fault}")


def file_kind(path: Path) -> str:
    """The suffix that says what is in a file: `.csv` of `Reviews.CSV.gz`.

    >>> file_kind(Path("Reviews.CSV.gz")), file_kind(Path("a.b.txt")), file_kind(Path("x.gz"))
    ('.csv', '.txt', '.gz')
    """
    inner = Path(path.stem).suffix if path.suffix.lower() == ".gz" else ""
    return (inner or path.suffix).lower()


def check_file(path: Path, *, suffixes: Collection[str]) -> None:
    """Raise a `UserError` unless the path is a file with one of the suffixes."""
    if not exists(path):
        folder = path.parent
        if not (exists(folder) and folder.is_dir()):
            raise UserError(f"{path}: no such file; nor is there a folder '{folder}'")
        near = get_close_matches(path.name, sorted(file.name for file in folder.iterdir()), n=1)
        hint = f"did you mean '{folder / near[0]}'?" if near else f"nothing like it in '{folder}'"
        raise UserError(f"{path}: no such file; {hint}")
    if path.is_dir():
        raise UserError(f"{path}: is a folder; give a file in it ({', '.join(suffixes)})")
    check_regular(path)
    if file_kind(path) not in suffixes:
        raise UserError(f"{path}: unsupported suffix '{path.suffix}'; supported: {', '.join(suffixes)}")


def check_regular(path: Path) -> None:
    """Raise a `UserError` for a pipe or a device: it may never end, and a file is read more than once."""
    if exists(path) and not path.is_file():
        raise UserError(f"{path}: is a pipe or a device, which can be read only once; write a file first")


def exists(path: Path) -> bool:
    """Whether the path exists; False too for a name the system refuses (too long, forbidden)."""
    try:
        return path.exists()
    except (OSError, ValueError):
        return False


def is_missing(value: object) -> bool:
    """Whether a value is null, NaN (what pandas writes for null) or a blank string.

    >>> [is_missing(value) for value in (None, float("nan"), "  ", 0, False, "no")]
    [True, True, True, False, False, False]
    """
    if isinstance(value, str):
        return not value.strip()
    return value is None or (isinstance(value, float) and value != value)


def is_number(value: object) -> bool:
    """Whether a value is a finite number; True and False are not.

    >>> [is_number(value) for value in (1, 0.5, True, "1", float("nan"), 10**400)]
    [True, True, False, False, False, False]
    """
    # Not `isfinite`, which raises for an integer that no float can hold; JSON may have one.
    return isinstance(value, int | float) and not isinstance(value, bool) and abs(value) <= float_info.max


def check_text(value: object, *, column: str = "text", blank: bool = False) -> str:
    """The value as a text; it must be a valid string and, unless `blank` is allowed, not blank."""
    if not isinstance(value, str):
        raise UserError(f"'{column}' must be a string, not {short(value)}")
    if not blank and not value.strip():
        raise UserError(f"'{column}' is empty; give it some text or remove the row")
    return check_unicode(value, column=column)


def check_unicode(value: str, *, column: str) -> str:
    """The value itself, if it can be written: JSON may hold half a surrogate pair, which no file can."""
    try:
        value.encode()
    except UnicodeEncodeError as error:
        raise UserError(f"'{column}' holds half a surrogate pair at character {error.start}") from None
    return value


def check_label(value: object, *, column: str = "label") -> Label:
    """The value as a label; it must not be missing and must be text, a number or true/false."""
    if is_missing(value):
        raise UserError(f"'{column}' is missing; give the row a label or remove it")
    if not isinstance(value, str | int | float):
        raise UserError(f"'{column}' must be text, a number or true/false, not {short(value)}")
    if isinstance(value, str):
        return check_unicode(value, column=column)
    if abs(value) > LARGEST:
        raise UserError(
            f"'{column}' is the number {short(value)}, too large for most formats; write it as text"
        )
    return value


def check_answer(value: object, *, column: str = "label") -> Answer:
    """The value as a label, or as a set of labels: a list of them, in a text as JSON; it may be empty.

    >>> check_answer("toxic"), check_answer(["toxic", "insult"]), check_answer('["toxic"]'), check_answer([])
    ('toxic', ('insult', 'toxic'), ('toxic',), ())
    """
    given = _listed(value) if isinstance(value, str) else value
    if not isinstance(given, list | tuple | set | frozenset):
        return check_label(value, column=column)
    labels = [check_label(label, column=column) for label in given]
    check_labels((f"'{column}'", label) for label in labels)
    if len(set(labels)) < len(labels):
        raise UserError(
            f"'{column}' has a label twice: {short(given)}; a list is a set of labels; the votes of several "
            "people are a column each: --columns.label ann,bob,eve"
        )
    return label_set(labels)


def _listed(text: str) -> object:
    """The JSON list that a text holds; any other text as it is."""
    if not text.lstrip().startswith("["):
        return text
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        return text
    return found if isinstance(found, list) else text


def label_kind(label: Label) -> str:
    """The type of a label as users know it; the labels of a dataset must all have the same."""
    if isinstance(label, bool):
        return "true/false"
    return "text" if isinstance(label, str) else "a number"


def check_labels(placed: Iterable[tuple[str, Answer | None]]) -> None:
    """Labels must be of one kind, and none equal to another in Python but not to a reader (1, 1.0, True).

    All rows have a set of labels, or none does.
    """
    first: tuple[str, Label] | None = None
    seen: dict[Label, tuple[str, Label]] = {}
    for place, label in _each_label(placed):
        first = first or (place, label)
        before = seen.setdefault(label, (place, label))
        other_place, other = first if label_kind(label) != label_kind(first[1]) else before
        if type(other) is not type(label):
            with row_at(place):
                raise UserError(
                    f"label {label!r} ({type(label).__name__}) does not go with {other!r} "
                    f"({type(other).__name__}) at {other_place}; write all labels as one type"
                )


def _each_label(placed: Iterable[tuple[str, Answer | None]]) -> Iterator[tuple[str, Label]]:
    """The labels of all answers with their places."""
    first: tuple[str, bool] | None = None
    for place, answer in placed:
        if answer is None:
            continue
        several = isinstance(answer, tuple)
        first = first or (place, several)
        if first[1] != several:
            listed, single = (place, first[0]) if several else (first[0], place)
            with row_at(place):
                raise UserError(f"one label at {single}, but a list at {listed}; write lists in all rows")
            continue
        yield from ((place, label) for label in answer_labels(answer))


def check_ids(placed: Iterable[tuple[str, str]]) -> None:
    """Ids must be unique."""
    first: dict[str, str] = {}
    for place, name in placed:
        before = first.setdefault(name, place)
        note_place(place, name)
        if before != place:
            with row_at(place):
                raise UserError(f"duplicate id '{name}', first at {before}; make ids unique")


def label_order(answers: Iterable[Answer]) -> tuple[Label, ...]:
    """The classes in a fixed order: False, True; numbers ascending; text by code point.

    Text, numbers and true/false must not be mixed.

    >>> label_order(["pos", "neg", "pos"]), label_order([True, False]), label_order([10, 9.5])
    (('neg', 'pos'), (False, True), (9.5, 10))
    >>> label_order([("toxic",), (), ("insult", "toxic")])
    ('insult', 'toxic')
    """
    answers = list(answers)
    check_labels((f"label {number}", answer) for number, answer in enumerate(answers, 1))
    return label_set(label for answer in answers for label in answer_labels(answer))


def check_splits(parts: Mapping[str, Sequence[Example]]) -> None:
    """Train must exist and have at least two classes, and no split may have a label that train lacks."""
    check_train(parts)
    known = {label for example in parts["train"] for label in labels_of(example)}
    if len(known) < 2:
        only = f"every label is {next(iter(known))!r}" if known else "no text has a label"
        raise UserError(f"fewer than two classes in train: {only}; give at least two")
    for split, examples in parts.items():
        for example in examples:
            for label in labels_of(example):
                if label not in known:
                    raise UserError(
                        f"label {label!r} of {split} (first in example '{example.id}') is not in train; "
                        "add training examples of it or correct it"
                    )


def labels_of(example: Example) -> tuple[Label, ...]:
    """All labels of an example: none if it is not labelled."""
    return () if example.label is None else answer_labels(example.label)


def with_known_labels(
    examples: Iterable[Example], known: Sequence[Label], source: str | None
) -> Iterable[Example]:
    """The examples, once their labels are known to be those of a third-party classifier.

    It has its own names for the classes, and the data must use the same. A list is checked as a whole.
    """
    typed = {(type(label), label) for label in known}  # 1 and True are different labels

    def checked(part: Sequence[Example]) -> Sequence[Example]:
        labels = distinct_labels(part)
        if any((type(label), label) not in typed for label in labels):
            given, needed = (", ".join(map(repr, names)) for names in (labels, known))
            raise UserError(
                f"{source}: has labels {given}, but those of the model are {needed}; name the model's "
                """classes in their order as the data does: --labels '["first", "second"]'"""
            )
        return part

    if isinstance(examples, Sequence):
        return checked(examples)
    return (checked([example])[0] for example in examples)


def distinct_labels(examples: Iterable[Example]) -> list[Label]:
    """The labels that occur: numbers by size, then all else by name."""
    labels = {label for example in examples for label in labels_of(example)}
    return sorted(
        labels, key=lambda label: (0, label, "") if isinstance(label, int | float) else (1, 0, label)
    )


def check_train(parts: Mapping[str, Sequence[Example]]) -> None:
    """Train must exist and hold an example."""
    if not parts.get("train"):
        raise UserError("no training examples; mark some rows as split 'train' or give a train file")


def option_names(function: Callable[..., object]) -> list[str]:
    """The options of a dataset's `load` or a format's `read`: its keyword-only arguments except the seed."""
    parameters = signature(function).parameters.values()
    return [
        parameter.name
        for parameter in parameters
        if parameter.kind is Parameter.KEYWORD_ONLY and parameter.name != "seed"
    ]


def check_options(reader: str, given: Mapping[str, Any], known: Sequence[str]) -> None:
    """Raise a `UserError` for an option that a reader does not have."""
    for name in given:
        if name not in known:
            raise UserError(f"{reader}: {unknown('option', name, known)}")
