"""Where the words of ERASER documents stand in the segments of an example, and the scores they get."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np
from numpy.typing import NDArray

from unirex.data.example import CharSpan
from unirex.data.formats.eraser_files import Document
from unirex.data.rationales import words
from unirex.eraser.gold import GoldData
from unirex.errors import UserError

Numbers = NDArray[np.int64]
WordPooling = Literal["max", "mean", "first"]
POOLINGS: tuple[WordPooling, ...] = get_args(WordPooling)


@dataclass(frozen=True, slots=True)
class DocumentWords:
    """The words of one document, as character offsets in the segment that holds it."""

    docid: str
    segment: int
    starts: Numbers  # [n]
    ends: Numbers

    def __len__(self) -> int:
        return len(self.starts)

    def tokens(self) -> list[tuple[int, int, int]]:
        """Segment, start and end of each word."""
        offsets = zip(self.starts.tolist(), self.ends.tolist(), strict=True)
        return [(self.segment, start, end) for start, end in offsets]

    def overlaps(self, spans: Numbers) -> tuple[Numbers, Numbers]:
        """Numbers of the character spans [m, 2] and of the words that overlap, pair by pair."""
        # Words are in order and apart, so a span overlaps a run of them: `counts` words from `first` on.
        first = np.searchsorted(self.ends, spans[:, 0], side="right")
        counts = np.maximum(np.searchsorted(self.starts, spans[:, 1], side="left") - first, 0)
        before = np.cumsum(counts) - counts
        return (
            np.repeat(np.arange(len(spans)), counts),
            np.arange(counts.sum()) + np.repeat(first - before, counts),
        )

    def in_spans(self, spans: Iterable[CharSpan]) -> NDArray[np.bool_]:
        """Which words overlap any of the spans of their segment."""
        found = np.zeros(len(self), dtype=bool)
        found[self.overlaps(_pairs(spans))[1]] = True
        return found

    def in_tokens(self, tokens: Iterable[tuple[int, int, int]]) -> NDArray[np.bool_]:
        """Which words overlap any of the tokens (segment, start, end)."""
        return self.in_spans((start, end) for segment, start, end in tokens if segment == self.segment)

    def sentences(self, text: str) -> Numbers:
        """The number of the line that each word stands on, blank lines not counted."""
        ends = np.array([number for number, char in enumerate(text) if char == "\n"], dtype=np.int64)
        return np.unique(np.searchsorted(ends, self.starts), return_inverse=True)[1].astype(np.int64)


def segment_words(name: str, segments: Sequence[str]) -> list[DocumentWords]:
    """Each segment of the example `name` as a document of blank-separated words.

    The docids are `ID_0`, `ID_1`, … for the example `ID`, or just `ID` if it has one segment. Segments
    without a word are no documents.
    """
    ids = [name] if len(segments) == 1 else [f"{name}_{number}" for number in range(len(segments))]
    documents = []
    for number, (docid, text) in enumerate(zip(ids, segments, strict=True)):
        offsets = _pairs(words(text))
        if len(offsets):
            documents.append(DocumentWords(docid, number, offsets[:, 0], offsets[:, 1]))
    return documents


def _pairs(spans: Iterable[CharSpan]) -> Numbers:
    return np.array(list(spans), dtype=np.int64).reshape(-1, 2)


def eraser_words(gold: GoldData, name: str, segments: Sequence[str]) -> list[DocumentWords]:
    """The documents of annotation `name`, found by their texts in the segments of the example read from it.

    A segment that is no document, such as a query, is skipped.
    """
    if name not in gold.annotations:
        raise UserError(f"the ERASER data has no annotation '{name}'; name the right folder and split")
    # An annotation of e-SNLI names only those of its two documents that have evidence.
    docids = (f"{name}_premise", f"{name}_hypothesis", *gold.annotations[name].docids)
    known = {docid: gold.document(docid) for docid in docids}
    documents = {docid: document for docid, document in known.items() if document is not None}
    placed = list(_separate(documents, segments)) or list(_joined(documents, segments))
    if not placed:
        raise UserError(
            f"no text of example '{name}' is a document of its annotation ({', '.join(documents)}); "
            "give the folder it was read from"
        )
    return placed


def _separate(documents: dict[str, Document], segments: Sequence[str]) -> Iterator[DocumentWords]:
    """Documents that are a segment each; of documents with the same text, each is used once."""
    left = dict(documents)
    for number, text in enumerate(segments):
        docid = next((docid for docid, document in left.items() if document.text == text), None)
        if docid is not None:
            yield document_words(docid, number, left.pop(docid))


def _joined(documents: dict[str, Document], segments: Sequence[str]) -> Iterator[DocumentWords]:
    """Documents that make up the first segment, one after another."""
    if not segments or segments[0] != "\n".join(document.text for document in documents.values()):
        return
    offset = 0
    for docid, document in documents.items():
        yield document_words(docid, 0, document, offset)
        offset += len(document.text) + 1


def document_words(docid: str, segment: int, document: Document, offset: int = 0) -> DocumentWords:
    """The words of a document that begins `offset` characters into its segment."""
    # Tokens are one character apart; `starts` has one more entry, for where the next token would begin.
    starts = np.frombuffer(document.starts, dtype=np.dtype("L")).astype(np.int64)
    return DocumentWords(docid, segment, starts[:-1] + offset, starts[1:] - 1 + offset)


def word_scores(
    document: DocumentWords,
    tokens: Sequence[tuple[int, int, int]],
    scores: Sequence[float],
    *,
    pooling: WordPooling,
    unread: float,
) -> NDArray[np.float64]:
    """One score per word from the tokens it overlaps: the highest, the mean, or the first.

    `unread` is for words without a token, such as those beyond the encoder's length.
    """
    offsets = np.array(tokens, dtype=np.int64).reshape(-1, 3)
    here, count = offsets[:, 0] == document.segment, len(document)
    token_numbers, word_numbers = document.overlaps(offsets[here, 1:])
    values = np.asarray(scores, dtype=np.float64)[here][token_numbers]
    tokens_per_word = np.bincount(word_numbers, minlength=count)
    pooled = np.full(count, -np.inf)
    if pooling == "max":
        np.maximum.at(pooled, word_numbers, values)
    elif pooling == "mean":
        sums = np.bincount(word_numbers, weights=values, minlength=count)
        pooled = sums / np.maximum(tokens_per_word, 1)
    else:
        pooled[word_numbers[::-1]] = values[::-1]  # of several assignments to a word the last one stays
    return np.where(tokens_per_word > 0, pooled, unread)
