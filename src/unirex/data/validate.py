"""What must hold before anything is trained, told to the person who can mend the data."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from difflib import get_close_matches
from functools import cached_property
from pathlib import Path
from reprlib import repr as short

from unirex.data.example import Example, Label
from unirex.errors import UserError


@contextmanager
def at(place: object) -> Iterator[None]:
    """Says where in the user's data a mistake stands."""
    try:
        yield
    except UserError as error:
        raise UserError(f"{place}: {error}") from None


class Problems(list[str]):
    """Every problem that readers met, and where the examples stand that they read."""

    def __init__(self) -> None:
        super().__init__()
        self.places: dict[str, str] = {}  # by id

    def append(self, problem: str) -> None:
        """Once is enough, however many checks find it."""
        if problem not in self._told:
            self._told.add(problem)
            super().append(problem)

    @cached_property
    def _told(self) -> set[str]:
        return set()


_PROBLEMS: ContextVar[Problems | None] = ContextVar("problems", default=None)


@contextmanager
def collecting() -> Iterator[Problems]:
    """Inside, readers go on after a bad row; the list fills with every problem they meet."""
    problems = Problems()
    token = _PROBLEMS.set(problems)
    try:
        yield problems
    finally:
        _PROBLEMS.reset(token)


class row_at:  # noqa: N801  it reads like the function `at`, and is a class for speed: one a row
    """One row among many: a mistake in it ends the reading, or only the row where problems are collected.

    All that is done with the row must stand inside.
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
        return True


def is_collecting() -> bool:
    """Whether bad rows are passed over, so that what is read may lack some."""
    return _PROBLEMS.get() is not None


def stands_at(place: str, name: str) -> None:
    """Where the example of this id stands: remembered only where problems are collected."""
    problems = _PROBLEMS.get()
    if problems is not None:
        problems.places.setdefault(name, place)


def remark(place: object, fault: str) -> None:
    """A fault the reader can live with: heard only where problems are collected."""
    problems = _PROBLEMS.get()
    if problems is not None:
        problems.append(f"{place}: {fault}")


def check_file(path: Path, *, suffixes: Collection[str]) -> None:
    """There is a file, of a kind that can be read."""
    if exists(path) and path.is_dir():
        raise UserError(f"{path}: is a folder; give a file in it ({', '.join(suffixes)})")
    if not exists(path):
        raise UserError(f"{path}: no such file;{_nearest(path)}")
    if path.suffix.lower() not in suffixes:
        raise UserError(f"{path}: unsupported suffix '{path.suffix}'; supported: {', '.join(suffixes)}")


def _nearest(path: Path) -> str:
    if not (exists(path.parent) and path.parent.is_dir()):
        return f" nor is there a folder '{path.parent}'"
    near = get_close_matches(path.name, sorted(one.name for one in path.parent.iterdir()), n=1)
    return f" did you mean '{path.parent / near[0]}'?" if near else f" nothing like it in '{path.parent}'"


def exists(path: Path) -> bool:
    """Whether something is there; a name the system refuses (too long, forbidden) is not."""
    try:
        return path.exists()
    except (OSError, ValueError):
        return False


def is_missing(value: object) -> bool:
    """Whether a cell says nothing: null, NaN (what pandas writes for null) or blank.

    >>> [is_missing(value) for value in (None, float("nan"), "  ", 0, False, "no")]
    [True, True, True, False, False, False]
    """
    if isinstance(value, str):
        return not value.strip()
    return value is None or (isinstance(value, float) and value != value)


def check_text(value: object, *, column: str = "text", blank: bool = False) -> str:
    """A text that has something to read in it, unless it may be `blank`."""
    if not isinstance(value, str):
        raise UserError(f"'{column}' must be a string, not {short(value)}")
    if not blank and not value.strip():
        raise UserError(f"'{column}' is empty; give it some text or remove the row")
    try:
        value.encode()
    except UnicodeEncodeError as error:  # JSON can spell these; no tokenizer can read them
        raise UserError(f"'{column}' holds half a surrogate pair at character {error.start}") from None
    return value


def check_label(value: object, *, column: str = "label") -> Label:
    """A label somebody gave, of a type that can name a class."""
    if is_missing(value):
        raise UserError(f"'{column}' is missing; give the row a label or remove it")
    if not isinstance(value, str | int | float):
        raise UserError(f"'{column}' must be text, a number or true/false, not {short(value)}")
    return value


def label_kind(label: Label) -> str:
    """The sort of thing a label is; the labels of one dataset are all of one sort."""
    if isinstance(label, bool):
        return "true/false"
    return "text" if isinstance(label, str) else "a number"


def check_labels(placed: Iterable[tuple[str, Label | None]]) -> None:
    """No two labels are different to a reader and equal to Python (1, 1.0 and True), or of two sorts."""
    first: tuple[str, Label] | None = None
    seen: dict[Label, tuple[str, Label]] = {}
    for place, label in placed:
        if label is None:
            continue
        first = first or (place, label)
        before = seen.setdefault(label, (place, label))
        other = first if label_kind(label) != label_kind(first[1]) else before
        if type(other[1]) is not type(label):
            with row_at(place):
                raise UserError(_clash(label, *other))


def _clash(label: Label, first_place: str, first: Label) -> str:
    return (
        f"label {label!r} ({type(label).__name__}) does not go with {first!r} "
        f"({type(first).__name__}) at {first_place}; write all labels as one type"
    )


def check_ids(placed: Iterable[tuple[str, str]]) -> None:
    """No id names two examples."""
    first: dict[str, str] = {}
    for place, name in placed:
        before = first.setdefault(name, place)
        stands_at(place, name)
        if before != place:
            with row_at(place):
                raise UserError(f"duplicate id '{name}', first at {before}; make ids unique")


def label_order(labels: Iterable[Label]) -> tuple[Label, ...]:
    """The classes in an order that any run finds again: False, True; numbers up; text by code point.

    Text, numbers and true/false do not mix: a dataset that has two of them has a mistake in it.

    >>> label_order(["pos", "neg", "pos"]), label_order([True, False]), label_order([10, 9.5])
    (('neg', 'pos'), (False, True), (9.5, 10))
    """
    found = list(labels)
    check_labels((f"label {number}", label) for number, label in enumerate(found, 1))
    return tuple(sorted(set(found)))  # of one sort, so comparable


def check_splits(parts: Mapping[str, Sequence[Example]]) -> None:
    """There is something to learn from, and nothing is asked that training never showed."""
    if not parts.get("train"):
        raise UserError("no training examples; mark some rows as split 'train' or give a train file")
    known = {example.label for example in parts["train"]}
    if len(known) < 2:
        only = next(iter(known))
        raise UserError(f"fewer than two classes in train: every label is {only!r}; give at least two")
    for split, examples in parts.items():
        for example in examples:
            if example.label not in known:
                raise UserError(
                    f"label {example.label!r} of {split} (first in example '{example.id}') is not in train; "
                    "add training examples of it or correct it"
                )
