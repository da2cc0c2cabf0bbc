"""From token scores to an explanation in the words of the original text."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Sequence

from unirex.batch import Encoded, Tokens
from unirex.data.example import CharSpan, Example, Label
from unirex.data.rationales import words
from unirex.encode import text_spans
from unirex.explanation import Explanation, Span, Word


def explanation(
    example: Example,
    encoded: Encoded,
    *,
    predicted: int,
    labels: Sequence[Label],
    probabilities: Sequence[float],
    scores: Sequence[float],
    selected: Sequence[bool],
    budget: float,
) -> Explanation:
    """The prediction and its reasons for one example.

    `predicted` is the number of the label, or of the choice; `scores` and `selected` are per token of the
    sequence behind it: the only one, or the chosen one.
    """
    shown = predicted if encoded.choice else 0
    segments = (*example.segments, *(example.choices or ())[shown : shown + 1])
    tokens = scored_tokens(segments, encoded.sequences[shown], scores, selected)
    whole = scored_words(segments, tokens)
    return Explanation(
        id=example.id,
        segments=segments,
        label=labels[predicted],
        probabilities=dict(zip(labels, probabilities, strict=True)),
        budget=budget,
        spans=selected_spans(segments, whole),
        words=whole,
        tokens=tokens,
        truncated=encoded.truncated,
        gold_label=example.label,
        gold_spans=gold_spans(example),
        choices=example.choices,
    )


def scored_tokens(
    segments: Sequence[str], sequence: Tokens, scores: Sequence[float], selected: Sequence[bool]
) -> tuple[Word, ...]:
    """Every token that stands for characters, with its score: 0 where nothing can be selected."""
    found = []
    rows = zip(sequence.spans.tolist(), sequence.selectable.tolist(), scores, selected, strict=False)
    for (segment, start, end), selectable, score, chosen in rows:
        text = segments[segment]
        for left, right in text_spans(text, [(start, end)]):
            shown = score if selectable else 0.0
            found.append(Word(left, right, text[left:right], shown, bool(chosen), segment))
    return tuple(found)


def scored_words(segments: Sequence[str], tokens: Sequence[Word]) -> tuple[Word, ...]:
    """Blank-separated words: as important as their most important token, selected if any of them is."""
    found = []
    for segment, text in enumerate(segments):
        parts = [token for token in tokens if token.segment == segment]  # in the order of the text
        starts, ends = [token.start for token in parts], [token.end for token in parts]
        for start, end in words(text):
            inside = parts[bisect_right(ends, start) : bisect_left(starts, end)]
            score = max((token.score for token in inside), default=0.0)
            chosen = any(token.selected for token in inside)
            found.append(Word(start, end, text[start:end], score, chosen, segment))
    return tuple(found)


def selected_spans(segments: Sequence[str], scored: Sequence[Word]) -> tuple[Span, ...]:
    """The runs of selected words."""
    chosen = [
        [(word.start, word.end) for word in scored if word.selected and word.segment == segment]
        for segment in range(len(segments))
    ]
    return _spans(segments, chosen)


def gold_spans(example: Example) -> tuple[Span, ...] | None:
    """What a person marked; None if nobody did."""
    return None if example.rationale is None else _spans(example.segments, example.rationale)


def _spans(segments: Sequence[str], per_segment: Sequence[Sequence[CharSpan]]) -> tuple[Span, ...]:
    return tuple(
        Span(start, end, text[start:end], number)
        for number, (text, spans) in enumerate(zip(segments, per_segment, strict=True))
        for start, end in text_spans(text, spans)
    )
