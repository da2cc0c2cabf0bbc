"""The words of a text as arrays of character offsets, for outputs that speak of words instead of tokens."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from unirex.data.example import CharSpan
from unirex.data.rationales import words

Numbers = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Words:
    """The words of one document inside a segment, as character offsets."""

    docid: str
    segment: int
    starts: Numbers  # [n]
    ends: Numbers

    def __len__(self) -> int:
        return len(self.starts)

    def touched(self, spans: Numbers) -> tuple[Numbers, Numbers]:
        """Which stretches of characters [m, 2] have a part in which words: pairs of their numbers."""
        first = np.searchsorted(self.ends, spans[:, 0], side="right")
        counts = np.maximum(np.searchsorted(self.starts, spans[:, 1], side="left") - first, 0)
        before = np.cumsum(counts) - counts
        return (
            np.repeat(np.arange(len(spans)), counts),
            np.arange(counts.sum()) + np.repeat(first - before, counts),
        )

    def marked(self, spans: Iterable[CharSpan]) -> NDArray[np.bool_]:
        """Which words have a part in any of the spans."""
        found = np.zeros(len(self), dtype=bool)
        found[self.touched(_pairs(spans))[1]] = True
        return found

    def sentences(self, text: str) -> Numbers:
        """The number of the line that each word stands on, counted without blank lines."""
        ends = np.array([number for number, char in enumerate(text) if char == "\n"], dtype=np.int64)
        return np.unique(np.searchsorted(ends, self.starts), return_inverse=True)[1].astype(np.int64)


def own_words(name: str, segments: Sequence[str]) -> list[Words]:
    """Every segment as a document of blank-separated words; its id is `ID_0`, `ID_1`, … for the example `ID`.

    It is just `ID` where there is one segment only. Segments without a word are no documents.
    """
    ids = [name] if len(segments) == 1 else [f"{name}_{number}" for number in range(len(segments))]
    found = [_words(ids[number], number, words(text)) for number, text in enumerate(segments)]
    return [one for one in found if len(one)]


def _words(docid: str, segment: int, spans: Sequence[CharSpan]) -> Words:
    places = _pairs(spans)
    return Words(docid, segment, places[:, 0], places[:, 1])


def _pairs(spans: Iterable[CharSpan]) -> Numbers:
    return np.array(list(spans), dtype=np.int64).reshape(-1, 2)
