"""A text cut where its look changes: words with their importance, and what lies between them."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import TypeVar

from unirex.explanation import Explanation, Span, Word

Part = TypeVar("Part", Word, Span)

LEVELS = 8  # shades a reader can tell apart


@dataclass(frozen=True, slots=True)
class Piece:
    """A stretch of text that looks one way; all pieces of a segment, joined, are that segment exactly."""

    text: str
    level: int = 0  # 0: no shade, LEVELS: as important as the most important word of the text
    selected: bool = False
    gold: bool = False
    score: float | None = None  # None between words


def rationale_pieces(explanation: Explanation) -> list[list[Piece]]:
    """The text as the system sees it, one list per segment: shaded by importance, its rationale selected."""
    top = max((word.score for word in explanation.words if math.isfinite(word.score)), default=0.0)

    def piece(word: Word, text: str) -> Piece:
        return Piece(text, level(word.score, top), word.selected, score=word.score)

    return [
        _cut(segment, [(word, piece(word, segment[word.start : word.end])) for word in words])
        for segment, words in _by_segment(explanation, explanation.words)
    ]


def gold_pieces(explanation: Explanation) -> list[list[Piece]]:
    """The text as a person marked it, one list per segment; without the choice, which is the system's."""
    segments = _by_segment(explanation, explanation.gold_spans or ())
    return [
        _cut(segment, [(span, Piece(segment[span.start : span.end], gold=True)) for span in spans])
        for segment, spans in islice(segments, len(explanation.segments) - (explanation.choices is not None))
    ]


def level(score: float, top: float) -> int:
    """The shade of a score in a text whose highest score is `top`; nothing at or below zero is shaded.

    >>> [level(score, 0.8) for score in (-1.0, 0.0, 0.01, 0.4, 0.8)]
    [0, 0, 1, 4, 8]
    """
    if math.isnan(score) or score <= 0:
        return 0
    return LEVELS if score >= top else max(1, round(LEVELS * (score / top)))


def _by_segment(explanation: Explanation, parts: Sequence[Part]) -> Iterable[tuple[str, list[Part]]]:
    for index, segment in enumerate(explanation.segments):
        yield segment, sorted((p for p in parts if p.segment == index), key=lambda p: (p.start, p.end))


def _cut(segment: str, marked: Sequence[tuple[Word | Span, Piece]]) -> list[Piece]:
    """The marked stretches and the rest between them; a stretch that overlaps an earlier one is skipped."""
    pieces: list[Piece] = []
    done = 0
    for part, piece in marked:
        if done <= part.start < part.end <= len(segment):
            pieces += [Piece(segment[done : part.start]), piece]
            done = part.end
    return [piece for piece in (*pieces, Piece(segment[done:])) if piece.text]
