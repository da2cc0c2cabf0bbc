"""One encoder input: truncation of its segments, and assembly of their tokens with the special tokens."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain
from typing import Any

import numpy as np
from numpy.typing import NDArray

from unirex.data.example import CharSpan
from unirex.encoding.batch import Tokens

TokenNumbers = NDArray[np.int64]  # of tokens in their segment
LAST_BLANK = 0x3000  # no character beyond it is blank
BLANK = np.array([chr(code).isspace() for code in range(LAST_BLANK + 1)] + [False])


def share_out(lengths: Sequence[int], room: int) -> list[int]:
    """The number of tokens of each segment that fit: the longest are shortened first.

    >>> share_out([300, 20], 100), share_out([300, 200], 101), share_out([5, 6], 100)
    ([80, 20], [51, 50], [5, 6])
    """
    kept = [0] * len(lengths)
    order = sorted(range(len(lengths)), key=lambda number: lengths[number])
    for left, number in zip(range(len(order), 0, -1), order, strict=True):
        kept[number] = min(lengths[number], max(0, room) // left)
        room -= kept[number]
    return kept


def head(length: int, room: int, gold: TokenNumbers | None) -> TokenNumbers:
    """The beginning."""
    return np.arange(min(length, room))


def tail(length: int, room: int, gold: TokenNumbers | None) -> TokenNumbers:
    """The end."""
    return np.arange(length)[max(0, length - room) :]


def head_tail(length: int, room: int, gold: TokenNumbers | None) -> TokenNumbers:
    """The beginning and the end, half each.

    >>> head_tail(10, 5, None).tolist()
    [0, 1, 2, 8, 9]
    """
    if length <= room:
        return np.arange(length)
    return np.concatenate([np.arange(room - room // 2), np.arange(length - room // 2, length)])


def gold_aware(length: int, room: int, gold: TokenNumbers | None) -> TokenNumbers:
    """The beginning if it holds any gold token, else the end (spec/data.md#truncation).

    It looks at the gold that the system should predict.
    """
    peek = gold is not None and len(gold) and gold.min() >= room
    return tail(length, room, gold) if peek else head(length, room, gold)


POLICIES: dict[str, Callable[[int, int, TokenNumbers | None], TokenNumbers]] = {
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

    @classmethod
    def joined(cls, text: str, parts: Sequence[Piece]) -> Piece:
        """A text whose parts were cut into tokens one by one."""
        if len(parts) == 1:
            return cls(text, parts[0].ids, parts[0].offsets)
        ids, offsets = [part.ids for part in parts], [part.offsets for part in parts]
        return cls(text, np.concatenate(ids), np.concatenate(offsets))

    def moved(self, characters: int) -> Piece:
        """The same tokens where they are in a text with this many characters before it."""
        return Piece(self.text, self.ids, self.offsets + np.int32(characters)) if characters else self

    def same_tokens(self, other: Piece) -> bool:
        """Whether both have the same tokens of the same characters."""
        return np.array_equal(self.ids, other.ids) and np.array_equal(self.offsets, other.offsets)

    def __len__(self) -> int:
        return len(self.ids)

    @cached_property
    def readable(self) -> NDArray[np.bool_]:
        """Which characters are not blank."""
        codes = np.frombuffer(self.text.encode("utf-32-le"), dtype=np.uint32)
        return ~BLANK[np.minimum(codes, LAST_BLANK + 1)]

    def gold(self, spans: Sequence[CharSpan]) -> NDArray[np.bool_]:
        """Which tokens hold a gold character that is not blank."""
        if not spans or not len(self):
            return np.zeros(len(self), dtype=bool)
        marked = np.zeros(len(self.text), dtype=bool)
        for start, end in spans:
            marked[start:end] = True
        # Gold characters before each character: a token holds some where the count grows inside it.
        running = np.concatenate([[0], np.cumsum(marked & self.readable)])
        return running[self.offsets[:, 1]] > running[self.offsets[:, 0]]


@dataclass(frozen=True)
class Frame:
    """The special tokens that a tokenizer puts around and between segments."""

    before: tuple[int, ...]
    between: tuple[int, ...]
    after: tuple[int, ...]

    @classmethod
    def of(cls, tokenizer: Any) -> Frame:
        """The frame of a tokenizer: what it puts around "a" and "b" when given as a pair."""
        pair = tokenizer("a", "b").encodings[0]
        flags = zip(pair.sequence_ids, pair.special_tokens_mask, strict=True)
        segment = [None if special else number for number, special in flags]
        first, last = segment.index(0), len(segment) - segment[::-1].index(1)
        between = [pair.ids[index] for index in range(first, last) if segment[index] is None]
        return cls(tuple(pair.ids[:first]), tuple(between), tuple(pair.ids[last:]))

    def size(self, segments: int) -> int:
        """The number of special tokens in a sequence of this many segments."""
        return len(self.before) + len(self.between) * (segments - 1) + len(self.after)


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
        """Fixed words of the layout, such as "Q:": never selected, never removed."""
        self._add(piece.ids)

    def segment(
        self,
        number: int,
        piece: Piece,
        read: TokenNumbers,
        *,
        selectable: bool,
        sliding: bool,
        gold: NDArray[np.bool_] | None,
    ) -> None:
        """The tokens of a segment whose numbers are in `read`."""
        spans = np.empty((len(read), 3), dtype=np.int32)
        spans[:, 0] = number
        spans[:, 1:] = piece.offsets[read]
        marked = None if gold is None else gold[read]
        self._add(piece.ids[read], selectable=selectable, sliding=sliding, spans=spans, gold=marked)

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
