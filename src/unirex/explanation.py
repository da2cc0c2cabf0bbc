"""A prediction with its reasons in the characters of the original text, and how token scores become one."""

from __future__ import annotations

from bisect import bisect_right
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
from unirex.data.rationales import text_spans
from unirex.data.rows import json_rows, nonempty
from unirex.data.segmentation import sentences, text_words
from unirex.errors import UserError, one_line, unknown
from unirex.registry import late

SHOWN_SPANS = 5  # in a `repr`

if TYPE_CHECKING:
    from torch import Tensor

    from unirex.encoding.batch import Encoded, Tokens
    from unirex.step import Step

UNITS = ("word", "token", "sentence")
SELECTIONS = ("top-k", "best-span", "threshold")  # what they do: `select.SELECTORS`
AGAINST = 3  # units that speak against the label are named, at most
TELLING = 5  # the score of a sentence is the mean of the highest fifth of its tokens


def check_names(unit: str | None, selector: str | None) -> None:
    """Refuse a unit or a selector that does not exist."""
    if unit is not None and unit not in UNITS:
        raise unknown("unit", unit, UNITS)
    if selector is not None and selector not in SELECTIONS:
        raise unknown("selector", selector, SELECTIONS)


@dataclass(frozen=True, slots=True)
class RationaleRule:
    """Which part of a text is its rationale, and how much of it is named."""

    budget: float  # per cent of the tokens
    selector: str = "top-k"
    unit: str = "word"  # one of `UNITS`
    floor: bool = False  # a token with a score of 0 or less does not speak for the label: it is left out
    signed: bool = False  # and one below 0 speaks against it
    words: Callable[[str], list[CharSpan]] = text_words


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
    """One word (or one token, or one sentence) with its importance and whether the budget kept it."""

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

    `tokens` are what the system really scored and selected; `words` are those they belong to, by the rules
    of Unicode (score: the highest of its tokens; selected: any of its tokens; of a text that was cut, none
    beyond the tokens); `spans` are the runs of selected words, or of the other `unit` that was asked for.
    Where the answer is one of several `choices`, it is a letter, and the segments are those of the sequence
    that won: the last is the chosen text. Where a text gets a set of labels, `label` is a tuple of all that
    are predicted, and `target` the one that the reasons are for.
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
    contrast: Label | None = None  # the reasons are for the target rather than for this label
    unit: str = "word"  # what `spans` are runs of
    sentences: tuple[Word, ...] | None = None  # where they are the unit
    unfilled: int = 0  # tokens of the budget that were left, as no other token spoke for the label
    signed: bool = False  # scores below 0 speak against the label

    @property
    def explained(self) -> Label:
        """The label that the reasons are for."""
        return answer_labels(self.label)[0] if self.target is None else self.target

    def __repr__(self) -> str:
        share = f"{self.probabilities[self.explained]:.1%}".replace("%", " %")
        words = ", ".join(shortened(span.text) for span in self.spans[:SHOWN_SPANS]) or "nothing"
        more = ", …" * (len(self.spans) > SHOWN_SPANS)
        return f"<Explanation {self.explained!r} ({share}) by {words}{more} in {shortened(self.text, 60)}>"

    def _repr_html_(self) -> str:
        return late("unirex.report.explanations:notebook_view")(self)

    def plot(self) -> Any:
        """The scores of its words as a matplotlib figure; the rationale is filled."""
        return late("unirex.report.explanations:explanation_figure")(self).drawn()

    @property
    def text(self) -> str:
        """The original text, untouched."""
        return "\n".join(self.segments)

    @property
    def units(self) -> tuple[Word, ...]:
        """What the rationale is made of: words, tokens or sentences."""
        return _units(self.unit, self.words, self.tokens, self.sentences)

    @property
    def against(self) -> tuple[Word, ...]:
        """The few units that speak most against the label; none where scores have no sign."""
        below = [unit for unit in self.units if unit.score < 0 and not unit.selected] if self.signed else []
        return tuple(sorted(below, key=lambda unit: unit.score)[:AGAINST])

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON types; probabilities as a list, so that labels keep their type."""
        # By hand, as `asdict` copies every string and number: ten times slower.
        plain = {field.name: getattr(self, field.name) for field in fields(self)}
        plain["probabilities"] = [
            {"label": label, "probability": p} for label, p in self.probabilities.items()
        ]
        for name in ("spans", "words", "tokens", "sentences", "gold_spans"):
            plain[name] = None if plain[name] is None else tuple(part.to_dict() for part in plain[name])
        return plain

    @classmethod
    def from_dict(cls, plain: Mapping[str, Any]) -> Explanation:
        """The explanation that `to_dict` wrote, also once it went through JSON."""
        values = dict(plain)
        values["probabilities"] = {entry["label"]: entry["probability"] for entry in plain["probabilities"]}
        kinds = {"spans": Span, "words": Word, "tokens": Word, "sentences": Word, "gold_spans": Span}
        for name, kind in kinds.items():
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


def shortened(text: str, length: int = 30) -> str:
    """A text in quotes, cut to a length.

    >>> shortened("a gorgeous film", 10)
    "'a gorgeous…'"
    """
    return repr(text if len(text) <= length else f"{text[:length].rstrip()}…")


def explanations(
    step: Step,
    selected: Tensor,
    allowed: Tensor,
    examples: Sequence[Example],
    encoded: Sequence[Encoded],
    *,
    label_names: Callable[[int], Sequence[Label]],
    rule: RationaleRule,
) -> Iterator[Explanation]:
    """An explanation for every example of a batch.

    Args:
        step: the batch seen by the system.
        selected: [D, T] bool, the tokens that the selector keeps.
        allowed: [D], the number of tokens that the budget allows.
        examples: those of the batch.
        encoded: their tokens.
        label_names: names of that many logits (choices differ in number).
        rule: how the rationale is chosen.
    """
    label_names, probabilities = cache(label_names), step.labelling.probabilities(step.logits).tolist()
    predicted = step.predicted
    targets = step.target.view(len(step.target), -1).tolist()
    scores, chosen, numbers = step.scores.tolist(), selected.tolist(), allowed.tolist()
    errors = step.completeness_errors if _adds_up(step.extractor) else None
    # Of a set of labels the explained one is always named.
    named = step.given_target is not None or any(isinstance(answer, tuple) for answer in predicted)
    first = 0  # row of the example's first sequence
    for number, (example, item) in enumerate(zip(examples, encoded, strict=True)):
        labels = label_names(len(item.sequences))
        target, *contrast = targets[number]
        if target >= len(labels):
            raise UserError(f"{example.id}: there is no choice {choice_label(target)}.")
        shown = first + (target if item.choice else 0)  # row of the sequence that is explained
        yield explanation(
            example,
            item,
            predicted=predicted[number],
            target=target if named else None,
            labels=labels,
            probabilities=probabilities[number][: len(labels)],
            scores=scores[shown],
            selected=chosen[shown],
            allowed=numbers[shown],
            rule=rule,
            contrast=contrast[0] if contrast else None,
            completeness_error=None if errors is None else float(errors[number]),
        )
        first += len(item.sequences)


def _adds_up(extractor: Any) -> bool:
    """Whether scores are sums that should add up; what an MLP makes of attributions does not."""
    return getattr(extractor, "pooling", None) is None


def explanation(
    example: Example,
    encoded: Encoded,
    *,
    predicted: AnswerNumbers,
    labels: Sequence[Label],
    probabilities: Sequence[float],
    scores: Sequence[float],
    selected: Sequence[bool],
    allowed: int,
    rule: RationaleRule,
    target: int | None = None,
    contrast: int | None = None,
    completeness_error: float | None = None,
) -> Explanation:
    """The explanation of one example.

    `predicted` are the numbers of the label (or labels) or of the choice that is predicted; `target` is that
    of the explained one (None: the predicted one), `contrast` that of the one it is contrasted with. `scores`
    and `selected` are per token of the sequence behind it: the only one, or that of the choice; `allowed` is
    the number of its tokens that the budget allows.
    """
    explained = predicted if target is None else target
    shown = explained if encoded.choice and isinstance(explained, int) else 0
    segments = (*example.segments, *(example.choices or ())[shown : shown + 1])
    sequence, whole = encoded.sequences[shown], None
    if rule.unit == "sentence":
        whole, selected = scored_sentences(segments, sequence, scores, allowed=allowed, floor=rule.floor)
    tokens = scored_tokens(segments, sequence, scores, selected)
    words = scored_words(segments, tokens, rule.words, cut=encoded.truncated > 0)
    units = _units(rule.unit, words, tokens, whole)
    return Explanation(
        id=example.id,
        segments=segments,
        label=numbered_answer(predicted, labels),
        probabilities=dict(zip(labels, probabilities, strict=True)),
        budget=rule.budget,
        spans=selected_spans(segments, units),
        words=words,
        tokens=tokens,
        truncated=encoded.truncated,
        gold_label=example.label,
        gold_spans=None if example.rationale is None else _spans(example.segments, example.rationale),
        choices=example.choices,
        completeness_error=completeness_error,
        target=None if target is None else labels[target],
        contrast=None if contrast is None else labels[contrast],
        unit=rule.unit,
        sentences=whole,
        unfilled=_unfilled(units, allowed - sum(selected)) if rule.floor else 0,
        signed=rule.signed,
    )


def _units(
    unit: str, words: tuple[Word, ...], tokens: tuple[Word, ...], whole: tuple[Word, ...] | None
) -> tuple[Word, ...]:
    """Those that the rationale is made of."""
    return {"word": words, "token": tokens, "sentence": whole or ()}[unit]


def _unfilled(units: Sequence[Word], left: int) -> int:
    """The number of tokens that are left of the budget, if no other unit spoke for the label."""
    spoke = any(unit.score > 0 and not unit.selected for unit in units)
    return 0 if spoke else max(left, 0)


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


def scored_words(
    segments: Sequence[str],
    tokens: Sequence[Word],
    words: Callable[[str], list[CharSpan]] = text_words,
    *,
    cut: bool = False,
) -> tuple[Word, ...]:
    """The words of the texts: as important as their most important token, selected if any of them is.

    Of texts that are `cut`, only the words from the first to the last token: the others may be millions.
    """
    found: list[Word] = []
    for segment, text in enumerate(segments):
        own = [token for token in tokens if token.segment == segment]
        start, end = _read_part(text, own) if cut else (0, len(text))
        spans = [(start + first, start + last) for first, last in words(text[start:end])]
        found += _segment_words(text, spans, own, segment)
    return tuple(found)


def _read_part(text: str, tokens: Sequence[Word]) -> CharSpan:
    """The part of a text from its first to its last token, extended to blanks on both sides."""
    if not tokens:
        return 0, 0
    start, end = tokens[0].start, tokens[-1].end
    while start > 0 and not text[start - 1].isspace():
        start -= 1
    while end < len(text) and not text[end].isspace():
        end += 1
    return start, end


def _segment_words(
    text: str, words: Sequence[CharSpan], tokens: Sequence[Word], segment: int
) -> Iterator[Word]:
    """The words of one segment. Its tokens stand in the order of the text, so one sweep is enough."""
    first, count = 0, len(tokens)
    for start, end in words:
        while first < count and tokens[first].end <= start:
            first += 1
        last, score, chosen = first, None, False  # from the first again, as a token may reach into two words
        while last < count and (token := tokens[last]).start < end:
            if score is None or token.score > score:
                score = token.score
            chosen = chosen or token.selected
            last += 1
        yield Word(start, end, text[start:end], 0.0 if score is None else score, chosen, segment)


def scored_sentences(
    segments: Sequence[str], sequence: Tokens, scores: Sequence[float], *, allowed: int, floor: bool
) -> tuple[tuple[Word, ...], list[bool]]:
    """The sentences of the texts, those of the rationale selected, and whether each token is in one of them.

    The highest-scored sentences are taken as long as they fit into the number of `allowed` tokens; the first
    one always. With a `floor`, none that scores 0 or less.
    """
    spans = [(number, *span) for number, text in enumerate(segments) for span in sentences(text)]
    owners = _sentence_of_tokens(spans, sequence)
    members: list[list[float]] = [[] for _ in spans]
    for owner, score in zip(owners, scores, strict=False):
        if owner is not None:
            members[owner].append(score)
    values = [_sentence_score(inside) for inside in members]
    chosen, left = set[int](), allowed
    read = [number for number, inside in enumerate(members) if inside]
    for number in sorted(read, key=lambda number: -values[number]):
        size = len(members[number])
        if (chosen and size > left) or (floor and values[number] <= 0):
            break
        chosen.add(number)
        left -= size
    found = (
        Word(start, end, segments[segment][start:end], values[number], number in chosen, segment)
        for number, (segment, start, end) in enumerate(spans)
    )
    return tuple(found), [owner in chosen for owner in owners]


def _sentence_of_tokens(spans: Sequence[tuple[int, int, int]], sequence: Tokens) -> list[int | None]:
    """The number of the sentence that each token ends in; None if the token cannot be selected."""
    starts = [(segment, start) for segment, start, _ in spans]
    rows = zip(sequence.spans.tolist(), sequence.selectable.tolist(), strict=True)
    return [
        max(bisect_right(starts, (segment, end - 1)) - 1, 0) if selectable else None
        for (segment, _, end), selectable in rows
    ]


def _sentence_score(scores: Sequence[float]) -> float:
    """The mean of the highest fifth of the scores, at least one; 0 without any.

    >>> _sentence_score([0.5, -3.0, 0.25, 1.0, -1.0, 0.0])
    0.75
    """
    highest = sorted(scores, reverse=True)[: -(-len(scores) // TELLING)]
    return sum(highest) / len(highest) if highest else 0.0


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
