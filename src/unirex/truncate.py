"""What of a text is read when not all of it fits."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

Places = NDArray[np.int64]


def share_out(lengths: Sequence[int], room: int) -> list[int]:
    """How many tokens of each segment fit: the longest give way first.

    >>> share_out([300, 20], 100), share_out([300, 200], 101), share_out([5, 6], 100)
    ([80, 20], [51, 50], [5, 6])
    """
    kept = [0] * len(lengths)
    order = sorted(range(len(lengths)), key=lambda number: lengths[number])
    for left, number in zip(range(len(order), 0, -1), order, strict=True):
        kept[number] = min(lengths[number], max(0, room) // left)
        room -= kept[number]
    return kept


def head(length: int, room: int, gold: Places | None) -> Places:
    """The beginning."""
    return np.arange(min(length, room))


def tail(length: int, room: int, gold: Places | None) -> Places:
    """The end."""
    return np.arange(length)[max(0, length - room) :]


def head_tail(length: int, room: int, gold: Places | None) -> Places:
    """The beginning and the end, half each.

    >>> head_tail(10, 5, None).tolist()
    [0, 1, 2, 8, 9]
    """
    if length <= room:
        return np.arange(length)
    return np.concatenate([np.arange(room - room // 2), np.arange(length - room // 2, length)])


def gold_aware(length: int, room: int, gold: Places | None) -> Places:
    """The beginning if any gold token is in it, else the end: looks at what is to be found (SPEC A2.6)."""
    peek = gold is not None and len(gold) and gold.min() >= room
    return tail(length, room, gold) if peek else head(length, room, gold)


POLICIES: dict[str, Callable[[int, int, Places | None], Places]] = {
    "head": head,
    "tail": tail,
    "head_tail": head_tail,
    "gold_aware": gold_aware,
}
TRUNCATIONS = {
    "head": "read the beginning of a long text",
    "tail": "read the end",
    "head_tail": "read the beginning and the end, half each",
    "windows": "read all of it, in overlapping windows",
    "gold_aware": "the beginning, or the end if only that has gold; peeks: for comparison with the paper",
}
