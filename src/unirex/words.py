"""From the tokens of a text to its words."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from unirex.data.rationales import words
from unirex.explanation import Word


def scored_words(segments: Sequence[str], tokens: Sequence[Word]) -> tuple[Word, ...]:
    """Blank-separated words: as important as their most important token, selected if any of them is."""
    return tuple(
        word
        for segment, text in enumerate(segments)
        for word in _words(text, [token for token in tokens if token.segment == segment], segment)
    )


def _words(text: str, tokens: Sequence[Word], segment: int) -> Iterator[Word]:
    """The words of one segment. Its tokens stand in the order of the text, so one sweep finds them."""
    first, count = 0, len(tokens)
    for start, end in words(text):
        while first < count and tokens[first].end <= start:
            first += 1
        last, score, chosen = first, None, False  # from the first again, as a token may reach into two words
        while last < count and (token := tokens[last]).start < end:
            if score is None or token.score > score:
                score = token.score
            chosen = chosen or token.selected
            last += 1
        yield Word(start, end, text[start:end], 0.0 if score is None else score, chosen, segment)
