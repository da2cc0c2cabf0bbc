"""What a line of another tool's outputs says of the words of its example."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise
from reprlib import repr as short
from typing import Any

import numpy as np

from unirex.data.example import CharSpan, Example, Rationale
from unirex.data.rationales import parse_segments, words
from unirex.eraser.outside import Token
from unirex.eraser.parsing import is_number
from unirex.eraser.words import own_words
from unirex.errors import UserError
from unirex.records import Floats

SPAN_KEYS = ("segment", "start", "end", "score")


@dataclass(frozen=True, slots=True)
class PredictionWords:
    """What a line says of the words of its example."""

    row: Mapping[str, Any]
    example: Example

    def tokens(self) -> tuple[tuple[Token, ...] | None, Floats, tuple[int, ...] | None]:
        """The tokens, their scores, and the numbers of those selected."""
        scored, spans = self._scores(), self._selection()
        if scored is None and spans is None:
            return None, (), None
        unread = min([0.0, *(score for _, score in scored or ())])
        told = [token for token, _ in scored or ()]
        every = sorted([*(scored or ()), *((word, unread) for word in self._unsaid(told, spans))])
        tokens = tuple(token for token, _ in every)
        chosen = None if spans is None else tuple(self._touched(tokens, spans))
        return tokens, () if scored is None else tuple(score for _, score in every), chosen

    def _scores(self) -> list[tuple[Token, float]] | None:
        values = self.row.get("scores")
        if values is None:
            return None
        if not isinstance(values, list):
            raise UserError(f"'scores' must be a list, not {short(values)}")
        if all(map(is_number, values)):
            return self._word_scores([float(value) for value in values])
        strange = next(value for value in values if not is_number(value))
        if not isinstance(strange, list | dict):
            raise UserError(f"'scores' must be finite numbers, one for each word; {short(strange)} is not")
        return self._span_scores(values)

    def _word_scores(self, values: list[float]) -> list[tuple[Token, float]]:
        """One score a word, of all segments or of the first ones."""
        each = [words(text) for text in self.example.segments]
        counts = list(accumulate(map(len, each)))
        if len(values) not in counts:
            known = " or ".join(map(str, dict.fromkeys(reversed(counts))))
            raise UserError(f"{len(values)} scores for {known} blank-separated words; give one for each")
        tokens = [(number, start, end) for number, some in enumerate(each) for start, end in some]
        return list(zip(tokens, values, strict=False))

    def _span_scores(self, values: list[Any]) -> list[tuple[Token, float]]:
        """Scores of stretches of characters, in the order of the text."""
        found = sorted(self._span(value) for value in values)
        for (one, _), (other, _) in pairwise(found):
            if one[0] == other[0] and other[1] < one[2]:
                raise UserError(f"'scores' of overlapping characters: {one[1:]} and {other[1:]}; keep one")
        return found

    def _span(self, value: Any) -> tuple[Token, float]:
        if isinstance(value, dict) and value.keys() <= set(SPAN_KEYS):
            value = [value.get("segment", 0), *(value.get(name) for name in SPAN_KEYS[1:])]
        parts = [0, *value] if isinstance(value, list) and len(value) == 3 else value
        whole = isinstance(parts, list) and len(parts) == 4 and all(type(one) is int for one in parts[:3])
        if not whole or not is_number(parts[3]):
            raise UserError(
                f"'scores' has {short(value)}; give a number for each word, or [start, end, score] for "
                "each stretch of characters"
            )
        segment, start, end, score = parts
        texts = self.example.segments
        if not 0 <= segment < len(texts) or not 0 <= start < end <= len(texts[segment]):
            raise UserError(
                f"'scores' of characters {start} to {end} of segment {segment}, which are not there"
            )
        return (segment, start, end), float(score)

    def _selection(self) -> Rationale | None:
        texts = {str(number): text for number, text in enumerate(self.example.segments)}
        return parse_segments(self.row.get("rationale"), texts)

    def _unsaid(self, told: Sequence[Token], spans: Sequence[Sequence[CharSpan]] | None) -> Iterator[Token]:
        """The words nobody scored, of segments that are spoken of or marked: they count as not important."""
        spoken = {token[0] for token in told}
        for marks in (self.example.rationale or (), spans or ()):
            spoken |= {number for number, some in enumerate(marks) if some}
        for one in own_words(self.example.id, self.example.segments):
            if one.segment in spoken or not spoken:
                said = one.marked((start, end) for segment, start, end in told if segment == one.segment)
                for number in np.flatnonzero(~said).tolist():
                    yield one.segment, int(one.starts[number]), int(one.ends[number])

    def _touched(self, tokens: Sequence[Token], spans: Sequence[Sequence[CharSpan]]) -> Iterator[int]:
        for number, (segment, start, end) in enumerate(tokens):
            if any(low < end and start < high for low, high in spans[segment]):
                yield number
