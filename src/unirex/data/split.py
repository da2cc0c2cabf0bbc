"""Seeded stratified splits, and samples drawn from streams too long for memory."""

from __future__ import annotations

import math
import random
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from heapq import heappush, heapreplace
from itertools import islice
from typing import Literal, TypeVar

from unirex.data.example import SPLIT_NAMES, Example, Label
from unirex.errors import UserError, unknown

ALIASES = {
    **dict.fromkeys(("train", "training"), "train"),
    **dict.fromkeys(("dev", "val", "valid", "validation", "development"), "dev"),
    **dict.fromkeys(("test", "testing", "heldout"), "test"),
}
EVERYWHERE_FROM = 3  # a label with this many examples is seen in every split


def split_name(value: object) -> str:
    """The split a person means, whatever they call it.

    >>> split_name("Validation")
    'dev'
    """
    name = ALIASES.get(str(value).strip().casefold())
    if name is None:
        raise unknown("split", value, ALIASES)
    return name


def stratified_split(
    examples: Sequence[Example], *, dev: float = 0.1, test: float = 0.1, seed: int = 0
) -> dict[str, list[Example]]:
    """Train, dev and test with the same mix of labels; a split of fraction 0 is left out.

    Every label is shared out by itself: its counts differ from its exact shares by less than one,
    save that a label of three examples or more is in every split, and any label is in train.
    The examples keep their order; one seed always gives the same split.
    """
    shares = _shares(dev, test)
    where: list[str] = [""] * len(examples)
    for label, members in _by_label(examples).items():
        # A string seed is hashed with SHA-512, so it does not depend on PYTHONHASHSEED; a generator
        # for each label keeps its draw when examples of another label are added.
        random.Random(f"{seed} {label!r}").shuffle(members)
        names = [name for name, count in _counts(len(members), shares).items() for _ in range(count)]
        for member, name in zip(members, names, strict=True):
            where[member] = name
    parts: dict[str, list[Example]] = {name: [] for name in shares}
    for example, name in zip(examples, where, strict=True):
        parts[name].append(example)
    return _none_empty(parts)


def carve_dev(
    parts: Mapping[str, Sequence[Example]], *, dev: float = 0.1, seed: int = 0
) -> dict[str, Sequence[Example]]:
    """The same splits, with a dev taken out of train where there is none; test is left as it is."""
    if "dev" in parts or not parts.get("train"):
        return dict(parts)
    carved = {**parts, **stratified_split(parts["train"], dev=dev, test=0, seed=seed)}
    return {name: carved[name] for name in SPLIT_NAMES if name in carved}


def _shares(dev: float, test: float) -> dict[str, float]:
    if not (dev >= 0 and test >= 0 and dev + test < 1):  # written so that NaN fails too
        raise UserError(f"split fractions dev={dev} and test={test} must be 0 or more and sum to less than 1")
    shares = {"train": 1 - dev - test, "dev": dev, "test": test}
    return {name: share for name, share in shares.items() if share > 0}


def _by_label(examples: Sequence[Example]) -> dict[Label | None, list[int]]:
    groups: dict[Label | None, list[int]] = {}
    for index, example in enumerate(examples):
        groups.setdefault(example.label, []).append(index)
    return groups


def _counts(total: int, shares: Mapping[str, float]) -> dict[str, int]:
    """How many of a label go where: largest remainders, then the promised minimum."""
    exact = {name: round(total * share, 9) for name, share in shares.items()}  # 0.1 * 30 is 3, not 3.0…04
    counts = {name: math.floor(quota) for name, quota in exact.items()}
    by_remainder = sorted(shares, key=lambda name: counts[name] - exact[name])
    for name in by_remainder[: total - sum(counts.values())]:
        counts[name] += 1
    for name in shares if total >= EVERYWHERE_FROM else ("train",):
        if counts[name] == 0:
            counts[max(counts, key=lambda other: counts[other])] -= 1
            counts[name] = 1
    return counts


def _none_empty(parts: dict[str, list[Example]]) -> dict[str, list[Example]]:
    total = sum(len(part) for part in parts.values())
    for name, part in parts.items():
        if not part:
            raise UserError(
                f"too few examples ({total}) to share out: {name} would be empty; give at least "
                f"{EVERYWHERE_FROM} examples of a label, or say yourself which are train, dev and test"
            )
    return parts


Row = TypeVar("Row")
Sample = Literal["stratified", "first_n"]


def draw(
    rows: Iterable[tuple[Label, Row]], sizes: Sequence[int], *, sample: Sample, seed: int, place: object
) -> list[list[Row]]:
    """As many rows as each size says, none twice, every part in the order of the file."""
    if sample == "stratified":
        return stratified_sample(rows, sizes, seed=seed, place=place)
    if sample == "first_n":
        return first_rows((row for _, row in rows), sizes, place=place)
    raise unknown("sample", sample, ["stratified", "first_n"])


def first_rows(rows: Iterable[Row], sizes: Sequence[int], *, place: object = "rows") -> list[list[Row]]:
    """The first rows, then the next, and so on; nothing after them is read.

    >>> first_rows("abcdef", (2, 1))
    [['a', 'b'], ['c']]
    """
    stream = iter(rows)
    parts = [list(islice(stream, size)) for size in sizes]
    _enough(sum(map(len, parts)), sizes, place)
    return parts


def stratified_sample(
    rows: Iterable[tuple[Label, Row]], sizes: Sequence[int], *, seed: int, place: object = "rows"
) -> list[list[Row]]:
    """Rows drawn at random, with the mix of labels of all rows in every part; read in one pass.

    Every row draws a number, and of each label those with the least are kept: as many as could be needed.
    """
    wanted, seen = sum(sizes), Counter[Label]()
    kept: dict[Label, list[tuple[float, int, Row]]] = {}
    generators: dict[Label, random.Random] = {}
    for number, (label, row) in enumerate(rows):
        if label not in kept:  # text seeds do not depend on PYTHONHASHSEED
            kept[label], generators[label] = [], random.Random(f"{seed} {label!r}")
        seen[label] += 1
        drawn, heap = -generators[label].random(), kept[label]
        if len(heap) < wanted:
            heappush(heap, (drawn, number, row))
        elif drawn > heap[0][0]:
            heapreplace(heap, (drawn, number, row))
    _enough(seen.total(), sizes, place)
    return _share_out({label: sorted(heap, reverse=True) for label, heap in kept.items()}, seen, sizes)


def apportion(seats: int, counts: Mapping[Label, int]) -> dict[Label, int]:
    """Whole shares in proportion to counts, by largest remainders; none is larger than its count.

    >>> apportion(10, {"a": 50, "b": 26})
    {'a': 7, 'b': 3}
    """
    total = sum(counts.values())
    shares = {label: seats * count // total for label, count in counts.items()}
    by_remainder = sorted(counts, key=lambda label: -(seats * counts[label] % total))
    for label in by_remainder[: seats - sum(shares.values())]:
        shares[label] += 1
    return shares


def _share_out(
    ranked: Mapping[Label, list[tuple[float, int, Row]]], seen: Mapping[Label, int], sizes: Sequence[int]
) -> list[list[Row]]:
    left = apportion(sum(sizes), seen)
    parts: list[list[Row]] = []
    for size in sizes:
        shares = apportion(size, left)  # of what is left, so that no part takes more than there is
        chosen = [one for label, share in shares.items() for one in _take(ranked[label], share)]
        parts.append([row for _, _, row in sorted(chosen, key=lambda one: one[1])])
        left = {label: left[label] - shares[label] for label in left}
    return parts


def _take(ranked: list[tuple[float, int, Row]], share: int) -> list[tuple[float, int, Row]]:
    taken = ranked[:share]
    del ranked[:share]
    return taken


def _enough(there: int, sizes: Sequence[int], place: object) -> None:
    if there < sum(sizes):
        wanted = " + ".join(map(str, sizes))
        raise UserError(f"{place}: only {there} usable rows, but {wanted} are asked for; give smaller sizes")
