"""The words and phrases of one explanation as they are counted: folded, and each once a text."""

from __future__ import annotations

import math
import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import groupby

from unirex.data.example import CharSpan
from unirex.data.statistics import gold_flags
from unirex.explanation import Explanation, Word

KEPT = "#@%"  # punctuation that belongs to its word


@dataclass(slots=True)
class Occurrence:
    """A word or phrase of one text. If it is there several times, that is still one occurrence."""

    size: int  # number of words
    segment: int
    place: CharSpan  # where it was selected; else where it was marked; else where it stands first
    importance: float  # of its most important place
    selected: bool
    marked: bool  # by a person


@lru_cache(maxsize=2**16)  # the same words come again and again
def folded(word: str) -> str:
    """A word as it is counted: without case and the punctuation around it; signs alone are words.

    >>> folded("“Gorgeous,"), folded("Don’t"), folded("#1!"), folded("!!"), folded("🙂.")
    ('gorgeous', "don't", '#1', '!!', '🙂')
    """
    text = word.replace("’", "'").casefold()
    inside = [number for number, sign in enumerate(text) if sign in KEPT or not _is_punctuation(sign)]
    return text[inside[0] : inside[-1] + 1] if inside else text


def occurrences(explanation: Explanation, phrase_length: int) -> dict[str, Occurrence]:
    """The words of a text, and its runs of up to `phrase_length` words: each once.

    A phrase is selected where all its words are. Words that the model did not read are left out.
    """
    top = max((word.score for word in explanation.words if math.isfinite(word.score)), default=0.0)
    found: dict[str, Occurrence] = {}
    for segment, group in groupby(_read_words(explanation), key=lambda word: word.segment):
        words = list(group)
        keys = [folded(word.text) for word in words]
        importances = [importance(word.score, top) for word in words]
        marked = _marked(explanation, segment, words)
        for start, end in _runs(keys, phrase_length):
            occurrence = Occurrence(
                size=end - start,
                segment=segment,
                place=(words[start].start, words[end - 1].end),
                importance=sum(importances[start:end]) / (end - start),
                selected=all(word.selected for word in words[start:end]),
                marked=all(marked[start:end]),
            )
            key = " ".join(keys[start:end])
            found[key] = _together(found[key], occurrence) if key in found else occurrence
    return found


def importance(score: float, top: float) -> float:
    """A score as a share of the highest score of its text, as pages shade it; scores below zero count as 0.

    >>> importance(0.4, 0.8), importance(-1.0, 0.8), importance(-1.0, -0.5)
    (0.5, 0.0, 0.0)
    """
    if math.isnan(score) or score <= 0:
        return 0.0
    return min(1.0, score / top)


@lru_cache(maxsize=2**16)
def is_signs(word: str) -> bool:
    """Whether a word has neither letters nor digits."""
    return not any(sign.isalnum() for sign in word)


def _is_punctuation(sign: str) -> bool:
    return unicodedata.category(sign).startswith("P")


def _read_words(explanation: Explanation) -> Iterator[Word]:
    """The words that the model read: of a text that was truncated, those that hold a token."""
    if not explanation.truncated:
        yield from explanation.words
        return
    read = {(token.segment, place) for token in explanation.tokens for place in range(token.start, token.end)}
    for word in explanation.words:
        if any((word.segment, place) in read for place in range(word.start, word.end)):
            yield word


def _marked(explanation: Explanation, segment: int, words: Sequence[Word]) -> list[bool]:
    """For each word of a segment, whether a person marked it."""
    gold = [(span.start, span.end) for span in explanation.gold_spans or () if span.segment == segment]
    if not gold:
        return [False] * len(words)
    return gold_flags([(word.start, word.end) for word in words], explanation.segments[segment], gold)


def _runs(keys: Sequence[str], phrase_length: int) -> Iterator[tuple[int, int]]:
    """Every word, and every run of words that neither begins nor ends with signs alone.

    >>> list(_runs(["so", "good", "!"], 2))
    [(0, 1), (0, 2), (1, 2), (2, 3)]
    """
    for start, first in enumerate(keys):
        yield start, start + 1
        if is_signs(first):
            continue
        for end in range(start + 2, min(start + phrase_length, len(keys)) + 1):
            if not is_signs(keys[end - 1]):
                yield start, end


def _together(first: Occurrence, second: Occurrence) -> Occurrence:
    """Two places of the same word or phrase as one occurrence."""
    return replace(
        max(first, second, key=lambda occurrence: (occurrence.selected, occurrence.marked)),
        importance=max(first.importance, second.importance),
        selected=first.selected or second.selected,
        marked=first.marked or second.marked,
    )
