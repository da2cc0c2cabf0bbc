"""Stratified splits of examples, and stratified samples of streams too long for memory; both are seeded."""

from __future__ import annotations

import math
import random
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from heapq import heappush, heapreplace
from itertools import islice
from typing import Literal, TypeVar

from unirex.data.example import SPLIT_NAMES, Answer, Example, Label
from unirex.errors import UserError, unknown

SampledRow = TypeVar("SampledRow")
Sample = Literal["stratified", "first_n"]

SPLIT_ALIASES = {
    **dict.fromkeys(("train", "training"), "train"),
    **dict.fromkeys(("dev", "val", "valid", "validation", "development"), "dev"),
    **dict.fromkeys(("test", "testing", "heldout"), "test"),
}
EVERYWHERE_FROM = 3  # a label with at least this many examples is in every split


def split_name(value: object) -> str:
    """The standard name of a split: "train", "dev" or "test".

    >>> split_name("Validation")
    'dev'
    """
    name = SPLIT_ALIASES.get(str(value).strip().casefold())
    if name is None:
        raise unknown("split", value, SPLIT_ALIASES)
    return name


def stratified_split(
    examples: Sequence[Example], *, dev: float = 0.1, test: float = 0.1, seed: int = 0
) -> dict[str, list[Example]]:
    """Train, dev and test with the same label distribution; a split of fraction 0 is left out.

    Each label is divided separately: its counts differ from the exact fractions by less than one, except
    that a label with three or more examples is in every split, and every label is in train. An example with a
    set of labels counts as one of its rarest label.
    The examples keep their order; the same seed always gives the same split.
    """
    if not (dev >= 0 and test >= 0 and dev + test < 1):  # written so that NaN fails too
        raise UserError(f"split fractions dev={dev} and test={test} must be 0 or more and sum to less than 1")
    fractions = {"train": 1 - dev - test, "dev": dev, "test": test}
    shares = {name: share for name, share in fractions.items() if share > 0}
    by_label: dict[Answer | None, list[int]] = {}
    for index, label in enumerate(_strata(examples)):
        by_label.setdefault(label, []).append(index)
    assigned: list[str] = [""] * len(examples)
    for label, members in by_label.items():
        # A string seed is hashed with SHA-512, so it does not depend on PYTHONHASHSEED. Each label has its
        # own generator, so that adding examples of one label does not move those of another.
        random.Random(f"{seed} {label!r}").shuffle(members)
        names = [name for name, count in _counts(len(members), shares).items() for _ in range(count)]
        for member, name in zip(members, names, strict=True):
            assigned[member] = name
    parts: dict[str, list[Example]] = {name: [] for name in shares}
    for example, name in zip(examples, assigned, strict=True):
        parts[name].append(example)
    for name, part in parts.items():
        if not part:
            raise UserError(
                f"too few examples ({len(examples)}) to share out: {name} would be empty; give at least "
                f"{EVERYWHERE_FROM} examples of a label, or say yourself which are train, dev and test"
            )
    return parts


def _strata(examples: Sequence[Example]) -> list[Answer | None]:
    """The label that each example counts for: its own; of a set the rarest, and the empty set for itself."""
    answers = [example.label for example in examples]
    sizes = Counter(label for answer in answers if isinstance(answer, tuple) for label in answer)

    def rarest(answer: tuple[Label, ...]) -> Answer:
        return min(answer, key=lambda label: sizes[label], default=())

    return [rarest(answer) if isinstance(answer, tuple) else answer for answer in answers]


def carve_dev(parts: Mapping[str, Sequence[Example]], *, seed: int = 0) -> dict[str, Sequence[Example]]:
    """The same splits, with dev taken out of train if there is none; test is not changed."""
    if "dev" in parts or not parts.get("train"):
        return dict(parts)
    carved = {**parts, **stratified_split(parts["train"], test=0, seed=seed)}
    return {name: carved[name] for name in SPLIT_NAMES if name in carved}


def _counts(total: int, shares: Mapping[str, float]) -> dict[str, int]:
    """Examples of one label per split: largest remainders, then the guaranteed minimum."""
    exact = {name: round(total * share, 9) for name, share in shares.items()}  # 3.0000000000000004 is 3
    counts = {name: math.floor(quota) for name, quota in exact.items()}
    by_remainder = sorted(shares, key=lambda name: counts[name] - exact[name])
    for name in by_remainder[: total - sum(counts.values())]:
        counts[name] += 1
    for name in shares if total >= EVERYWHERE_FROM else ("train",):
        if counts[name] == 0:
            counts[max(counts, key=lambda other: counts[other])] -= 1
            counts[name] = 1
    return counts


def draw(
    rows: Iterable[tuple[Label, SampledRow]],
    sizes: Sequence[int],
    *,
    sample: Sample,
    seed: int,
    place: object,
) -> list[list[SampledRow]]:
    """One part per size, drawn without replacement; each part is in file order."""
    if sample == "stratified":
        return stratified_sample(rows, sizes, seed=seed, place=place)
    if sample == "first_n":
        return first_rows((row for _, row in rows), sizes, place=place)
    raise unknown("sample", sample, ["stratified", "first_n"])


def first_rows(
    rows: Iterable[SampledRow], sizes: Sequence[int], *, place: object = "rows"
) -> list[list[SampledRow]]:
    """The first rows, then the next ones, and so on; nothing after them is read.

    >>> first_rows("abcdef", (2, 1))
    [['a', 'b'], ['c']]
    """
    stream = iter(rows)
    parts = [list(islice(stream, size)) for size in sizes]
    _check_enough(sum(map(len, parts)), sizes, place)
    return parts


def stratified_sample(
    rows: Iterable[tuple[Label, SampledRow]], sizes: Sequence[int], *, seed: int, place: object = "rows"
) -> list[list[SampledRow]]:
    """Parts of the given sizes, each with the label distribution of all rows; reads the rows once.

    Every row gets a random number. Of each label only the rows with the smallest numbers are kept in memory,
    as many as all parts together could need.
    """
    total = sum(sizes)
    counts = Counter[Label]()
    kept: dict[Label, list[tuple[float, int, SampledRow]]] = {}
    generators: dict[Label, random.Random] = {}
    for number, (label, row) in enumerate(rows):
        if label not in kept:  # text seeds do not depend on PYTHONHASHSEED
            kept[label], generators[label] = [], random.Random(f"{seed} {label!r}")
        counts[label] += 1
        # Negated, as heapq has the smallest on top: there the largest random number is replaced first.
        drawn, heap = -generators[label].random(), kept[label]
        if len(heap) < total:
            heappush(heap, (drawn, number, row))
        elif drawn > heap[0][0]:
            heapreplace(heap, (drawn, number, row))
    _check_enough(counts.total(), sizes, place)
    # The rows of each label, in random order, are dealt out part by part.
    ranked = {label: iter(sorted(heap, reverse=True)) for label, heap in kept.items()}
    left = apportion(total, counts)
    parts: list[list[SampledRow]] = []
    for size in sizes:
        shares = apportion(size, left)  # of what is left, so that no part takes more than there is
        chosen = [entry for label, share in shares.items() for entry in islice(ranked[label], share)]
        parts.append([row for _, _, row in sorted(chosen, key=lambda entry: entry[1])])  # in file order
        left = {label: left[label] - shares[label] for label in left}
    return parts


def apportion(seats: int, counts: Mapping[Label, int]) -> dict[Label, int]:
    """Whole shares proportional to counts, by largest remainders; none is larger than its count.

    >>> apportion(10, {"a": 50, "b": 26})
    {'a': 7, 'b': 3}
    """
    total = sum(counts.values())
    shares = {label: seats * count // total for label, count in counts.items()}
    by_remainder = sorted(counts, key=lambda label: -(seats * counts[label] % total))
    for label in by_remainder[: seats - sum(shares.values())]:
        shares[label] += 1
    return shares


def _check_enough(usable: int, sizes: Sequence[int], place: object) -> None:
    if usable < sum(sizes):
        asked = " + ".join(map(str, sizes))
        raise UserError(f"{place}: only {usable} usable rows, but {asked} are asked for; give smaller sizes")
