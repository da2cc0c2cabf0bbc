"""A prediction with its reasons in the characters of the original text, and how token scores become one."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from unirex.data.example import (
    Answer,
    AnswerNumbers,
    CharSpan,
    Example,
    Label,
    answer_labels,
    choice_label,
    numbered_answer,
)
from unirex.data.rationales import text_spans, words
from unirex.data.rows import json_rows, nonempty
from unirex.errors import UserError, one_line

if TYPE_CHECKING:
    from torch import Tensor

    from unirex.encoding.batch import Encoded, Tokens
    from unirex.step import Step


@dataclass(frozen=True, slots=True)
class Span:
    """Some characters of one segment, end-exclusive."""

    start: int
    end: int
    text: str
    segment: int = 0

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON types."""
        return {"start": self.start, "end": self.end, "text": self.text, "segment": self.segment}


@dataclass(frozen=True, slots=True)
class Word:
    """One word (or one sub-word token) with its importance and whether the budget kept it."""

    start: int
    end: int
    text: str
    score: float
    selected: bool
    segment: int = 0

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON types."""
        return {
            "start": self.start,
            "end": self.end,
            "text": self.text,
            "score": self.score,
            "selected": self.selected,
            "segment": self.segment,
        }


@dataclass(frozen=True, slots=True)
class Explanation:
    """What a system predicts for one text and the words it names as its reasons.

    `tokens` are what the system really scored and selected; `words` are the blank-separated words they
    belong to (score: the highest of its tokens; selected: any of its tokens); `spans` are the runs of
    selected words. Where the answer is one of several `choices`, it is a letter, and the segments are those
    of the sequence that won: the last is the chosen text. Where a text gets a set of labels, `label` is a
    tuple of all that are predicted, and `target` the one that the reasons are for.
    """

    segments: tuple[str, ...]
    label: Answer
    probabilities: dict[Label, float]  # of a set of labels they do not add up to 1
    budget: float  # per cent of the tokens
    spans: tuple[Span, ...]
    words: tuple[Word, ...]
    tokens: tuple[Word, ...]
    truncated: int = 0  # tokens of the text that did not fit the encoder
    id: str | None = None
    gold_label: Answer | None = None
    gold_spans: tuple[Span, ...] | None = None
    choices: tuple[str, ...] | None = None  # in the order of their letters
    completeness_error: float | None = None  # of attributions that should add up: by how much they do not
    target: Label | None = None  # the label that the reasons are for, where one was asked for

    @property
    def explained(self) -> Label:
        """The label that the reasons are for."""
        return answer_labels(self.label)[0] if self.target is None else self.target

    @property
    def text(self) -> str:
        """The original text, untouched."""
        return "\n".join(self.segments)

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON types; probabilities as a list, so that labels keep their type."""
        # By hand, as `asdict` copies every string and number: ten times slower.
        plain = {field.name: getattr(self, field.name) for field in fields(self)}
        plain["probabilities"] = [
            {"label": label, "probability": p} for label, p in self.probabilities.items()
        ]
        for name in ("spans", "words", "tokens", "gold_spans"):
            plain[name] = None if plain[name] is None else tuple(part.to_dict() for part in plain[name])
        return plain

    @classmethod
    def from_dict(cls, plain: Mapping[str, Any]) -> Explanation:
        """The explanation that `to_dict` wrote, also once it went through JSON."""
        values = dict(plain)
        values["probabilities"] = {entry["label"]: entry["probability"] for entry in plain["probabilities"]}
        for name, kind in {"spans": Span, "words": Word, "tokens": Word, "gold_spans": Span}.items():
            if values.get(name) is not None:
                values[name] = tuple(kind(**part) for part in values[name])
        for name in ("segments", "choices", "label", "gold_label"):
            if isinstance(values.get(name), list):
                values[name] = tuple(values[name])
        return cls(**values)


def read_explanations(path: Path) -> Iterator[Explanation]:
    """The explanations that `unirex explain --out` wrote to a file, one by one."""
    for place, row in nonempty(json_rows(path), path, unit="explanation"):
        try:
            explanation = Explanation.from_dict(row)
            _check_places(explanation)
        except (KeyError, TypeError, AttributeError, ValueError, IndexError) as error:
            raise UserError(
                f"{place}: not an explanation as `unirex explain --out` writes it ({one_line(error)})."
            ) from error
        yield explanation


def _check_places(explanation: Explanation) -> None:
    """Raise a `ValueError` if a word or span is not the text where it says it stands."""
    parts: list[Span | Word] = [*explanation.words, *explanation.spans, *(explanation.gold_spans or ())]
    for part in parts:
        if explanation.segments[part.segment][part.start : part.end] != part.text:
            raise ValueError(
                f"there is no {part.text!r} at {part.start}:{part.end} of segment {part.segment}"
            )


def explanations(
    step: Step,
    selected: Tensor,
    examples: Sequence[Example],
    encoded: Sequence[Encoded],
    *,
    label_names: Callable[[int], Sequence[Label]],
    budget: float,
) -> Iterator[Explanation]:
    """An explanation for every example of a batch.

    Args:
        step: the batch seen by the system.
        selected: [D, T] bool, the tokens the budget keeps.
        examples: those of the batch.
        encoded: their tokens.
        label_names: names of that many logits (choices differ in number).
        budget: per cent of the tokens.
    """
    label_names, probabilities = cache(label_names), step.labelling.probabilities(step.logits).tolist()
    predicted, targets = step.labelling.predicted(step.logits), step.target.tolist()
    scores, chosen = step.scores.tolist(), selected.tolist()
    # One more pass, so only for extractors whose scores may be far from adding up; evaluation has all.
    errors = step.completeness_errors if getattr(step.extractor, "approximate", False) else None
    sets = any(
        isinstance(numbers, tuple) for numbers in predicted
    )  # then the explained label is always named
    first = 0  # row of the example's first sequence
    for number, (example, item) in enumerate(zip(examples, encoded, strict=True)):
        labels = label_names(len(item.sequences))
        if targets[number] >= len(labels):
            raise UserError(f"{example.id}: there is no choice {choice_label(targets[number])}.")
        shown = first + (targets[number] if item.choice else 0)  # row of the sequence that is explained
        yield explanation(
            example,
            item,
            predicted=predicted[number],
            target=targets[number] if step.given_target is not None or sets else None,
            labels=labels,
            probabilities=probabilities[number][: len(labels)],
            scores=scores[shown],
            selected=chosen[shown],
            budget=budget,
            completeness_error=None if errors is None else float(errors[number]),
        )
        first += len(item.sequences)


def explanation(
    example: Example,
    encoded: Encoded,
    *,
    predicted: AnswerNumbers,
    labels: Sequence[Label],
    probabilities: Sequence[float],
    scores: Sequence[float],
    selected: Sequence[bool],
    budget: float,
    target: int | None = None,
    completeness_error: float | None = None,
) -> Explanation:
    """The explanation of one example.

    `predicted` and `target` are the numbers of the label (or labels), or of the choice, that is predicted and
    that is explained (None: the predicted one). `scores` and `selected` are per token of the sequence behind
    it: the only one, or that of the choice.
    """
    explained = predicted if target is None else target
    shown = explained if encoded.choice and isinstance(explained, int) else 0
    segments = (*example.segments, *(example.choices or ())[shown : shown + 1])
    tokens = scored_tokens(segments, encoded.sequences[shown], scores, selected)
    whole = scored_words(segments, tokens)
    return Explanation(
        id=example.id,
        segments=segments,
        label=numbered_answer(predicted, labels),
        probabilities=dict(zip(labels, probabilities, strict=True)),
        budget=budget,
        spans=selected_spans(segments, whole),
        words=whole,
        tokens=tokens,
        truncated=encoded.truncated,
        gold_label=example.label,
        gold_spans=None if example.rationale is None else _spans(example.segments, example.rationale),
        choices=example.choices,
        completeness_error=completeness_error,
        target=None if target is None else labels[target],
    )


def scored_tokens(
    segments: Sequence[str], sequence: Tokens, scores: Sequence[float], selected: Sequence[bool]
) -> tuple[Word, ...]:
    """The tokens that stand for characters, without blanks at their ends; score 0 if not selectable."""
    tokens = []
    rows = zip(sequence.spans.tolist(), sequence.selectable.tolist(), scores, selected, strict=False)
    for (segment, start, end), selectable, score, chosen in rows:
        text = segments[segment]
        while start < end and text[start].isspace():
            start += 1
        while start < end and text[end - 1].isspace():
            end -= 1
        if start < end:
            tokens.append(Word(start, end, text[start:end], score if selectable else 0.0, chosen, segment))
    return tuple(tokens)


def scored_words(segments: Sequence[str], tokens: Sequence[Word]) -> tuple[Word, ...]:
    """Blank-separated words: as important as their most important token, selected if any of them is."""
    return tuple(
        word
        for segment, text in enumerate(segments)
        for word in _segment_words(text, [token for token in tokens if token.segment == segment], segment)
    )


def _segment_words(text: str, tokens: Sequence[Word], segment: int) -> Iterator[Word]:
    """The words of one segment. Its tokens stand in the order of the text, so one sweep is enough."""
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


def selected_spans(segments: Sequence[str], scored: Sequence[Word]) -> tuple[Span, ...]:
    """The runs of selected words."""
    chosen: list[list[CharSpan]] = [[] for _ in segments]
    for word in scored:
        if word.selected:
            chosen[word.segment].append((word.start, word.end))
    return _spans(segments, chosen)


def _spans(segments: Sequence[str], per_segment: Sequence[Sequence[CharSpan]]) -> tuple[Span, ...]:
    return tuple(
        Span(start, end, text[start:end], number)
        for number, (text, spans) in enumerate(zip(segments, per_segment, strict=True))
        for start, end in text_spans(text, spans)
    )
