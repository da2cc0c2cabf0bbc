"""From token scores to an explanation in the words of the original text."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Sequence

from unirex.data.example import CharSpan, Example, Label
from unirex.data.rationales import words
from unirex.encode import Encoded, text_spans
from unirex.explanation import Explanation, Span, Word


def explanation(
    example: Example,
    encoded: Encoded,
    *,
    labels: Sequence[Label],
    probabilities: Sequence[float],
    scores: Sequence[float],
    selected: Sequence[bool],
    budget: float,
) -> Explanation:
    """The prediction and its reasons for one text; `scores` and `selected` are per token of `encoded`."""
    tokens = scored_tokens(example, encoded, scores, selected)
    whole = scored_words(example, tokens)
    best = max(range(len(labels)), key=lambda index: probabilities[index])
    return Explanation(
        id=example.id,
        segments=example.segments,
        label=labels[best],
        probabilities=dict(zip(labels, probabilities, strict=True)),
        budget=budget,
        spans=selected_spans(example, whole),
        words=whole,
        tokens=tokens,
        truncated=encoded.truncated,
        gold_label=example.label,
        gold_spans=gold_spans(example),
    )


def scored_tokens(
    example: Example, encoded: Encoded, scores: Sequence[float], selected: Sequence[bool]
) -> tuple[Word, ...]:
    """Every token that stands for characters, with its score."""
    found = []
    for (segment, start, end), score, chosen in zip(encoded.spans, scores, selected, strict=False):
        text = example.segments[segment]
        for left, right in text_spans(text, [(start, end)]):
            found.append(Word(left, right, text[left:right], score, bool(chosen), segment))
    return tuple(found)


def scored_words(example: Example, tokens: Sequence[Word]) -> tuple[Word, ...]:
    """Blank-separated words: as important as their most important token, selected if any of them is."""
    found = []
    for segment, text in enumerate(example.segments):
        parts = [token for token in tokens if token.segment == segment]  # in the order of the text
        starts, ends = [token.start for token in parts], [token.end for token in parts]
        for start, end in words(text):
            inside = parts[bisect_right(ends, start) : bisect_left(starts, end)]
            score = max((token.score for token in inside), default=0.0)
            chosen = any(token.selected for token in inside)
            found.append(Word(start, end, text[start:end], score, chosen, segment))
    return tuple(found)


def selected_spans(example: Example, scored: Sequence[Word]) -> tuple[Span, ...]:
    """The runs of selected words."""
    chosen = [[(w.start, w.end) for w in scored if w.selected and w.segment == s] for s in _numbers(example)]
    return _spans(example, chosen)


def gold_spans(example: Example) -> tuple[Span, ...] | None:
    """What a person marked; None if nobody did."""
    return None if example.rationale is None else _spans(example, example.rationale)


def _spans(example: Example, per_segment: Sequence[Sequence[CharSpan]]) -> tuple[Span, ...]:
    return tuple(
        Span(start, end, example.segments[segment][start:end], segment)
        for segment in _numbers(example)
        for start, end in text_spans(example.segments[segment], per_segment[segment])
    )


def _numbers(example: Example) -> range:
    return range(len(example.segments))
