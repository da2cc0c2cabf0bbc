"""A text cut where its look changes, and the shades its pieces get."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import TypeVar

from unirex.explanation import Explanation, Span, Word

Colour = tuple[int, int, int]
LEVELS = 8  # shades a reader can tell apart


def ramp(first: Colour, last: Colour) -> tuple[str, ...]:
    """The shades of levels 1 to LEVELS, in even steps.

    >>> ramp((0, 0, 0), (7, 70, 14))[:2]
    ('#000000', '#010a02')
    """
    steps = [step / (LEVELS - 1) for step in range(LEVELS)]
    return tuple(_hex([a + (b - a) * at for a, b in zip(first, last, strict=True)]) for at in steps)


def contrast(one: str, other: str) -> float:
    """How well two colours are told apart, 1 to 21; text needs 4.5 (WCAG 2, level AA).

    >>> contrast("#ffffff", "#000000")
    21.0
    """
    dark, light = sorted((_luminance(one), _luminance(other)))
    return (light + 0.05) / (dark + 0.05)


def _hex(channels: list[float]) -> str:
    return "#" + "".join(f"{round(channel):02x}" for channel in channels)


def _luminance(colour: str) -> float:
    channels = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


LIGHT_INK, DARK_INK = "#1c1b1a", "#f4efe6"
LIGHT = ramp((255, 245, 219), (245, 176, 39))  # amber, safe for every common colour blindness
DARK = ramp((44, 38, 28), (138, 88, 0))
TERMINAL = ramp((168, 158, 142), (245, 176, 39))  # from grey to amber: its paper may be light or dark


def css() -> str:
    """The shades as style rules `.s1` to `.s8`, which follow the reader's light or dark setting."""
    light, dark = (
        "".join(f"--s{at}:{colour};" for at, colour in enumerate(shades, start=1)) for shades in (LIGHT, DARK)
    )
    rules = "".join(f".s{at}{{background:var(--s{at})}}" for at in range(1, LEVELS + 1))
    return f":root{{{light}}}\n@media (prefers-color-scheme: dark){{:root{{{dark}}}}}\n{rules}\n"


Part = TypeVar("Part", Word, Span)


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
