"""One encoder input: truncation of its segments, and their tokens put together with the special tokens."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain
from typing import Any

import numpy as np
from numpy.typing import NDArray

from unirex.data.example import CharSpan
from unirex.encoding.batch import Tokens

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


LAST_BLANK = 0x3000  # no character beyond it is blank
BLANK = np.array([chr(code).isspace() for code in range(LAST_BLANK + 1)] + [False])


@dataclass(frozen=True)
class Piece:
    """A segment cut into tokens."""

    text: str
    ids: NDArray[np.int32]  # [n]
    offsets: NDArray[np.int32]  # [n, 2]  in characters of the text

    @classmethod
    def of(cls, text: str, encoding: Any) -> Piece:
        """The text as a fast tokenizer reads it."""
        ids = np.array(encoding.ids, dtype=np.int32)
        offsets = np.fromiter(chain.from_iterable(encoding.offsets), dtype=np.int32, count=2 * len(ids))
        return cls(text, ids, offsets.reshape(-1, 2))

    def __len__(self) -> int:
        return len(self.ids)

    @cached_property
    def readable(self) -> NDArray[np.bool_]:
        """Which characters are not blank."""
        codes = np.frombuffer(self.text.encode("utf-32-le"), dtype=np.uint32)
        return ~BLANK[np.minimum(codes, LAST_BLANK + 1)]

    def gold(self, spans: Sequence[CharSpan]) -> NDArray[np.bool_]:
        """Which tokens hold a gold character. Blanks are nobody's: they never make a token gold."""
        if not spans or not len(self):
            return np.zeros(len(self), dtype=bool)
        marked = np.zeros(len(self.text), dtype=bool)
        for start, end in spans:
            marked[start:end] = True
        running = np.concatenate([[0], np.cumsum(marked & self.readable)])
        return running[self.offsets[:, 1]] > running[self.offsets[:, 0]]


@dataclass(frozen=True)
class Frame:
    """The special tokens a tokenizer puts around and between segments, found by asking it."""

    before: tuple[int, ...]
    between: tuple[int, ...]
    after: tuple[int, ...]

    @classmethod
    def of(cls, tokenizer: Any) -> Frame:
        """What stands around "a" and "b" when they are read as a pair."""
        pair = tokenizer("a", "b").encodings[0]
        owner = [None if special else number for number, special in _owners(pair)]
        first, last = owner.index(0), len(owner) - owner[::-1].index(1)
        middle = [place for place in range(first, last) if owner[place] is None]
        return cls(
            tuple(pair.ids[:first]), tuple(pair.ids[place] for place in middle), tuple(pair.ids[last:])
        )

    def size(self, segments: int) -> int:
        """Special tokens in a sequence of so many segments."""
        return len(self.before) + len(self.between) * (segments - 1) + len(self.after)


def _owners(encoding: Any) -> Iterator[tuple[int | None, int]]:
    return zip(encoding.sequence_ids, encoding.special_tokens_mask, strict=True)


class Assembly:
    """A sequence being put together from left to right."""

    def __init__(self) -> None:
        self.ids: list[NDArray[np.int32]] = []
        self.runs: list[tuple[bool, bool, bool]] = []  # special, selectable, sliding: one a part
        self.spans: list[NDArray[np.int32]] = []
        self.gold: list[NDArray[np.bool_]] = []

    def specials(self, ids: Sequence[int], *, selectable: int | None = None) -> None:
        """Special tokens; one of them may be selectable."""
        for token in ids:
            self._add(np.array([token], dtype=np.int32), special=True, selectable=token == selectable)

    def marker(self, piece: Piece) -> None:
        """Words that are not the user's: never selected, never removed."""
        self._add(piece.ids)

    def segment(
        self,
        number: int,
        piece: Piece,
        places: NDArray[np.int64],
        *,
        selectable: bool,
        sliding: bool,
        gold: NDArray[np.bool_] | None,
    ) -> None:
        """The tokens of a segment that stand at `places`."""
        spans = np.empty((len(places), 3), dtype=np.int32)
        spans[:, 0] = number
        spans[:, 1:] = piece.offsets[places]
        marked = None if gold is None else gold[places]
        self._add(piece.ids[places], selectable=selectable, sliding=sliding, spans=spans, gold=marked)

    def _add(
        self,
        ids: NDArray[np.int32],
        *,
        special: bool = False,
        selectable: bool = False,
        sliding: bool = False,
        spans: NDArray[np.int32] | None = None,
        gold: NDArray[np.bool_] | None = None,
    ) -> None:
        self.ids.append(ids)
        self.runs.append((special, selectable, sliding))
        self.spans.append(np.zeros((len(ids), 3), dtype=np.int32) if spans is None else spans)
        self.gold.append(np.zeros(len(ids), dtype=bool) if gold is None else gold)

    def tokens(self, *, has_gold: bool) -> Tokens:
        """The finished sequence."""
        flags = np.repeat(np.array(self.runs), [len(ids) for ids in self.ids], axis=0)
        return Tokens(
            input_ids=np.concatenate(self.ids),
            special=flags[:, 0],
            selectable=flags[:, 1],
            sliding=flags[:, 2],
            spans=np.concatenate(self.spans),
            rationale=np.concatenate(self.gold) if has_gold else None,
        )
