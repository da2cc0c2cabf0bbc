"""From token scores to an explanation in the words of the original text."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import cache

from torch import Tensor

from unirex.batch import Encoded, Tokens
from unirex.data.example import CharSpan, Example, Label
from unirex.encode import text_spans
from unirex.explanation import Explanation, Span, Word
from unirex.step import Step
from unirex.words import scored_words


def explanations(
    step: Step,
    selected: Tensor,
    examples: Sequence[Example],
    encoded: Sequence[Encoded],
    *,
    answers: Callable[[int], Sequence[Label]],
    budget: float,
) -> Iterator[Explanation]:
    """The prediction and its reasons for every example of a batch.

    `selected` [D, T] are the tokens the budget keeps; `answers` says what so many logits stand for.
    """
    answers, probabilities = cache(answers), step.logits.float().softmax(-1).tolist()
    targets, scores, chosen = step.target.tolist(), step.scores.tolist(), selected.tolist()
    # One more pass, so only where scores may be far from adding up; evaluation tells it of all that should.
    errors = step.completeness_errors if getattr(step.extractor, "approximate", False) else None
    first = 0  # row of the example's first sequence
    for row, (example, one) in enumerate(zip(examples, encoded, strict=True)):
        shown = first + (targets[row] if one.choice else 0)  # row of the sequence that was chosen
        labels = answers(len(one.sequences))
        yield explanation(
            example,
            one,
            predicted=targets[row],
            labels=labels,
            probabilities=probabilities[row][: len(labels)],
            scores=scores[shown],
            selected=chosen[shown],
            budget=budget,
            completeness_error=None if errors is None else float(errors[row]),
        )
        first += len(one.sequences)


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
    completeness_error: float | None = None,
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
        completeness_error=completeness_error,
    )


def scored_tokens(
    segments: Sequence[str], sequence: Tokens, scores: Sequence[float], selected: Sequence[bool]
) -> tuple[Word, ...]:
    """Every token that stands for characters, with its score: 0 where nothing can be selected."""
    found = []
    rows = zip(sequence.spans.tolist(), sequence.selectable.tolist(), scores, selected, strict=False)
    for (segment, start, end), selectable, score, chosen in rows:
        text = segments[segment]
        while start < end and text[start].isspace():
            start += 1
        while start < end and text[end - 1].isspace():
            end -= 1
        if start < end:
            found.append(Word(start, end, text[start:end], score if selectable else 0.0, chosen, segment))
    return tuple(found)


def selected_spans(segments: Sequence[str], scored: Sequence[Word]) -> tuple[Span, ...]:
    """The runs of selected words."""
    chosen: list[list[CharSpan]] = [[] for _ in segments]
    for word in scored:
        if word.selected:
            chosen[word.segment].append((word.start, word.end))
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
