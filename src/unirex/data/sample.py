"""A few rows out of very many, without holding the rest in memory."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from heapq import heappush, heapreplace
from itertools import islice
from typing import Literal, TypeVar

from unirex.data.example import Label
from unirex.errors import UserError, unknown

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
