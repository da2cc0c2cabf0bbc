"""Faults of a dataset whose rows are all readable: repeated texts, conflicting labels, misplaced spans."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from hashlib import blake2b
from itertools import combinations
from reprlib import repr as short

from unirex.data.example import DatasetInfo, Example, Rationale, Splits, choice_labels
from unirex.data.validate import labels_of


@dataclass(frozen=True, slots=True)
class Repeats:
    """Number of repeated examples, by the labels of the earlier ones."""

    same: int = 0  # all have the same label
    conflicting: int = 0  # at least one has another label


def repeats(
    examples: Sequence[Example], *, after: Sequence[Example] | None = None
) -> Iterator[tuple[Example, Example]]:
    """The examples that repeat one of `after`; without it, an earlier one among themselves.

    Each comes with the first one it repeats, preferably one with another label. Two examples are the same if
    their segments and choices are equal but for case and whitespace.
    """
    seen: dict[bytes, list[Example]] = {}  # one example of each label
    for example in after or ():
        _add(seen, example)
    for example in examples:
        earlier = seen.get(content_key(example), [])
        if earlier:
            others = (other for other in earlier if other.label != example.label)
            yield example, next(others, earlier[0])
        if after is None:
            _add(seen, example)


def count_repeats(repeated: Iterable[tuple[Example, Example]]) -> Repeats:
    """Number of repeats with the same and with conflicting labels."""
    flags = [example.label != before.label for example, before in repeated]
    return Repeats(same=flags.count(False), conflicting=flags.count(True))


def _add(seen: dict[bytes, list[Example]], example: Example) -> None:
    earlier = seen.setdefault(content_key(example), [])
    if all(other.label != example.label for other in earlier):
        earlier.append(example)


def content_key(example: Example) -> bytes:
    """Sixteen bytes that are equal for examples that differ only in case and whitespace."""
    digest = blake2b(digest_size=16)  # not the texts: they may be books, and there may be a million
    for texts in (example.segments, example.choices or ()):
        for text in texts:
            digest.update(_normalised(text))
        digest.update(b"\1")
    return digest.digest()


@lru_cache(maxsize=64)  # consecutive examples often share a document
def _normalised(text: str) -> bytes:
    return " ".join(text.casefold().split()).encode("utf-8", "surrogatepass") + b"\0"


def faults(data: Splits, places: Mapping[str, str] | None = None) -> Iterator[str]:
    """All faults of a dataset, each with the place, split and id of its example.

    Args:
        data: the examples that could be read.
        places: where each example is in the files, by id.
    """
    prefixes = {name: f"{place}: " for name, place in (places or {}).items()}
    train_labels = {label for example in data.get("train", ()) for label in labels_of(example)}
    if "train" not in data:
        yield "there is no train split"
    for split, examples in data.items():
        if not examples:
            yield f"{split} is empty"
        seen: set[str] = set()
        for example in examples:
            if example.id in seen:
                yield f"{split}: duplicate id '{example.id}'"
            seen.add(example.id)
        for example in examples:
            location = f"{prefixes.get(example.id, '')}{split}, example '{example.id}'"
            for fault in _example_faults(example, data.info):
                yield f"{location}: {fault}"
            # With choices a letter that is not in train is no fault: all choices are read alike.
            strange = [label for label in labels_of(example) if label not in train_labels]
            if train_labels and example.choices is None and strange:
                yield f"{location}: label {strange[0]!r} is not in train"
    yield from _conflicting_labels(data, prefixes)


def _conflicting_labels(data: Splits, prefixes: Mapping[str, str]) -> Iterator[str]:
    """Texts that have one label in one split and another label in another."""
    for first, later in combinations(data, 2):
        for example, before in repeats(data[later], after=data[first]):
            if example.label != before.label:
                yield (
                    f"{prefixes.get(example.id, '')}{later}, example '{example.id}': "
                    f"labelled {example.label!r}, but the same text is {before.label!r} in {first} "
                    f"(example '{before.id}')"
                )


def _example_faults(example: Example, info: DatasetInfo) -> Iterator[str]:
    if not any(text.strip() for text in example.segments):
        yield "there is no text in it"
    labels = info.labels if example.choices is None else choice_labels(len(example.choices))
    for label in labels_of(example):
        if label not in labels:
            yield f"label {label!r} is none of {', '.join(map(repr, labels))}"
    if example.rationale is not None:
        yield from _rationale_faults(example, example.rationale, info, "rationale")
    for number, group in enumerate(example.groups, 1):
        yield from _rationale_faults(example, group, info, f"group {number}")


def _rationale_faults(example: Example, rationale: Rationale, info: DatasetInfo, name: str) -> Iterator[str]:
    if len(rationale) != len(example.segments):
        yield f"{name} is of {len(rationale)} segments, but the example has {len(example.segments)}"
        return
    for number, (text, spans) in enumerate(zip(example.segments, rationale, strict=True)):
        if spans and info.rationale_segments is not None and number not in info.rationale_segments:
            yield f"{name} marks segment {number + 1}, which cannot carry one"
        for start, end in spans:
            span = f"{name} span [{start}, {end}] of segment {number + 1}"
            if start >= end:
                yield f"{span} is empty"
            elif start < 0 or end > len(text):
                yield f"{span} is outside its text of {len(text)} characters"
            elif not text[start:end].strip():
                yield f"{span} marks nothing but blanks in {short(text)}"
