"""Where the words of ERASER's documents stand in the segments of an example, and what is said of them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from unirex.data.eraser.documents import Document
from unirex.data.example import CharSpan
from unirex.data.rationales import words
from unirex.eraser.gold import Gold
from unirex.errors import UserError

Word = Literal["max", "mean", "first"]
Numbers = NDArray[np.int64]
Locate = Callable[[str, Sequence[str]], "list[Words]"]  # from an example's id and segments


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


@dataclass(frozen=True, slots=True)
class EraserWords:
    """Finds the documents of ERASER data in examples that were read from it."""

    gold: Gold

    def __call__(self, name: str, segments: Sequence[str]) -> list[Words]:
        """The documents of an annotation, by their texts; a segment that is none (a query) is passed over."""
        if name not in self.gold.annotations:
            raise UserError(f"the ERASER data has no annotation '{name}'; name the right folder and split")
        documents = {
            docid: one for docid in self._docids(name) if (one := self.gold.document(docid)) is not None
        }
        found = list(_alone(documents, segments)) or list(_together(documents, segments))
        if not found:
            raise UserError(
                f"no text of example '{name}' is a document of its annotation ({', '.join(documents)}); "
                "give the folder it was read from"
            )
        return found

    def _docids(self, name: str) -> dict[str, None]:
        # The annotations of e-SNLI name only those of the two that have evidence.
        pair = [docid for docid in (f"{name}_premise", f"{name}_hypothesis") if self.gold.document(docid)]
        return dict.fromkeys((*pair, *self.gold.annotations[name].docids))


def _alone(documents: dict[str, Document], segments: Sequence[str]) -> Iterator[Words]:
    """Documents that are a segment of their own; of documents with the same text, each once."""
    left = dict(documents)
    for number, text in enumerate(segments):
        docid = next((docid for docid, document in left.items() if document.text == text), None)
        if docid is not None:
            yield document_words(docid, number, left.pop(docid), 0)


def _together(documents: dict[str, Document], segments: Sequence[str]) -> Iterator[Words]:
    """Documents that make up the first segment, one after another."""
    if not segments or segments[0] != "\n".join(one.text for one in documents.values()):
        return
    before = 0
    for docid, document in documents.items():
        yield document_words(docid, 0, document, before)
        before += len(document.text) + 1


def document_words(docid: str, segment: int, document: Document, before: int = 0) -> Words:
    """The words of a document that begins so many characters into a segment."""
    starts = np.frombuffer(document.starts, dtype=np.dtype("L")).astype(np.int64)
    return Words(docid, segment, starts[:-1] + before, starts[1:] - 1 + before)


def _words(docid: str, segment: int, spans: Sequence[CharSpan]) -> Words:
    places = _pairs(spans)
    return Words(docid, segment, places[:, 0], places[:, 1])


def _pairs(spans: Iterable[CharSpan]) -> Numbers:
    return np.array(list(spans), dtype=np.int64).reshape(-1, 2)


def word_scores(
    one: Words, tokens: Sequence[tuple[int, int, int]], scores: Sequence[float], *, word: Word, unread: float
) -> NDArray[np.float64]:
    """One score a word, from the tokens it is made of: the highest, the mean, or the first.

    `unread` is for words that no token is part of, as those beyond what the encoder could take.
    """
    places = np.array(tokens, dtype=np.int64).reshape(-1, 3)
    here = places[:, 0] == one.segment
    numbers, own = one.touched(places[here, 1:])
    values = np.asarray(scores, dtype=np.float64)[here][numbers]
    read = np.zeros(len(one), dtype=bool)
    read[own] = True
    return np.where(read, JOIN[word](values, own, len(one)), unread)


def _highest(values: NDArray[np.float64], own: Numbers, count: int) -> NDArray[np.float64]:
    found = np.full(count, -np.inf)
    np.maximum.at(found, own, values)
    return found


def _mean(values: NDArray[np.float64], own: Numbers, count: int) -> NDArray[np.float64]:
    parts = np.maximum(np.bincount(own, minlength=count), 1)
    return np.asarray(np.bincount(own, weights=values, minlength=count) / parts)


def _first(values: NDArray[np.float64], own: Numbers, count: int) -> NDArray[np.float64]:
    found = np.zeros(count)
    found[own[::-1]] = values[::-1]  # of several assignments the last one stays
    return found


JOIN = {"max": _highest, "mean": _mean, "first": _first}
