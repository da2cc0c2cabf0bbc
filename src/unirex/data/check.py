"""What can be wrong with a dataset although each of its rows reads well: repeats, leaks, odd marks."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from hashlib import blake2b
from itertools import combinations
from reprlib import repr as short

from unirex.data.example import DatasetInfo, Example, Rationale, Splits, choice_label


@dataclass(frozen=True, slots=True)
class Repeats:
    """How many examples were met before, by what the earlier ones are labelled."""

    same: int = 0  # all of them as this one
    conflicting: int = 0  # at least one of them otherwise


@dataclass(frozen=True, slots=True)
class Repeat:
    """An example, and the first earlier one that says the same (of another label, if any is)."""

    example: Example
    before: Example

    @property
    def conflicting(self) -> bool:
        """Whether the two are labelled differently, so that one of them must be wrong."""
        return self.example.label != self.before.label


def repeats(examples: Sequence[Example], *, after: Sequence[Example] | None = None) -> Iterator[Repeat]:
    """The examples that repeat one of `after`; without it, an earlier one among themselves.

    Two examples are the same if their segments and choices are, whatever their case and blanks.
    """
    seen: dict[bytes, list[Example]] = {}  # one example of each label
    for example in after or ():
        _note(seen, example)
    for example in examples:
        known = seen.get(content(example), [])
        if known:
            yield Repeat(example, next((one for one in known if one.label != example.label), known[0]))
        if after is None:
            _note(seen, example)


def count(found: Iterable[Repeat]) -> Repeats:
    """Repeats as numbers."""
    flags = [one.conflicting for one in found]
    return Repeats(same=flags.count(False), conflicting=flags.count(True))


def content(example: Example) -> bytes:
    """What an example says, in sixteen bytes: equal for examples that differ in case and blanks only."""
    digest = blake2b(digest_size=16)  # a text may be a book, and there may be a million of them
    for texts in (example.segments, example.choices or ()):
        for text in texts:
            digest.update(_normalised(text))
        digest.update(b"\1")
    return digest.digest()


def _note(seen: dict[bytes, list[Example]], example: Example) -> None:
    known = seen.setdefault(content(example), [])
    if all(one.label != example.label for one in known):
        known.append(example)


@lru_cache(maxsize=64)  # one document often serves many questions in a row
def _normalised(text: str) -> bytes:
    return " ".join(text.casefold().split()).encode("utf-8", "surrogatepass") + b"\0"


def faults(data: Splits, places: Mapping[str, str] | None = None) -> Iterator[str]:
    """Every fault in what was read, each with the place, the split and the id of the example it is in."""
    where = {name: f"{place}: " for name, place in (places or {}).items()}
    known = {example.label for example in data.get("train", ())}
    if "train" not in data:
        yield "there is no train split"
    for split, examples in data.items():
        if not examples:
            yield f"{split} is empty"
        yield from _twice(split, examples)
        for example in examples:
            for fault in _of_example(example, data.info):
                yield f"{where.get(example.id, '')}{split}, example '{example.id}': {fault}"
            # A letter that train never shows is no fault: every choice is read in the same way.
            if known and example.choices is None and example.label not in known:
                told = f"label {example.label!r} is not in train"
                yield f"{where.get(example.id, '')}{split}, example '{example.id}': {told}"
    yield from _conflicts(data, where)


def _twice(split: str, examples: Sequence[Example]) -> Iterator[str]:
    seen: set[str] = set()
    for example in examples:
        if example.id in seen:
            yield f"{split}: duplicate id '{example.id}'"
        seen.add(example.id)


def _conflicts(data: Splits, where: Mapping[str, str]) -> Iterator[str]:
    """A text that is labelled one way in one split and another way in another: one of them is wrong."""
    for first, later in combinations(data, 2):
        for one in repeats(data[later], after=data[first]):
            if one.conflicting:
                yield (
                    f"{where.get(one.example.id, '')}{later}, example '{one.example.id}': "
                    f"labelled {one.example.label!r}, but the same text is {one.before.label!r} in {first} "
                    f"(example '{one.before.id}')"
                )


def _of_example(example: Example, info: DatasetInfo) -> Iterator[str]:
    if not any(text.strip() for text in example.segments):
        yield "there is no text in it"
    labels = info.labels if example.choices is None else tuple(map(choice_label, range(len(example.choices))))
    if example.label is not None and example.label not in labels:
        yield f"label {example.label!r} is none of {', '.join(map(repr, labels))}"
    if example.rationale is not None:
        yield from _of_rationale(example, example.rationale, info, "rationale")
    for number, group in enumerate(example.groups, 1):
        yield from _of_rationale(example, group, info, f"group {number}")


def _of_rationale(example: Example, rationale: Rationale, info: DatasetInfo, name: str) -> Iterator[str]:
    if len(rationale) != len(example.segments):
        yield f"{name} is of {len(rationale)} segments, but the example has {len(example.segments)}"
        return
    for number, (text, spans) in enumerate(zip(example.segments, rationale, strict=True)):
        if spans and info.rationale_segments is not None and number not in info.rationale_segments:
            yield f"{name} marks segment {number + 1}, which cannot carry one"
        for start, end in spans:
            fault = _of_span(text, start, end)
            if fault:
                yield f"{name} span [{start}, {end}] of segment {number + 1} {fault}"


def _of_span(text: str, start: int, end: int) -> str | None:
    if start >= end:
        return "is empty"
    if start < 0 or end > len(text):
        return f"is outside its text of {len(text)} characters"
    if not text[start:end].strip():
        return f"marks nothing but blanks in {short(text)}"
    return None
