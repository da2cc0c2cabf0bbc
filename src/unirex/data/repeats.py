"""The same text met again: within a split it counts twice, across splits it gives the answer away."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from hashlib import blake2b

from unirex.data.example import Example


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
