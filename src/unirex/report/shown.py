"""Examples as a reader compares them: one text, and what every method says of it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import isfinite

from unirex.budgets import top_k
from unirex.data.example import choice_label
from unirex.errors import UserError
from unirex.explanation import Word
from unirex.records import Record, Scored
from unirex.report.pieces import level
from unirex.words import scored_words

Mark = tuple[int, int, int, int, bool]  # segment, start, end, shade 0 … LEVELS, selected
Place = tuple[int, int, int]  # segment, start, end
Key = tuple[str, int]  # an id, and how often it came before


@dataclass(frozen=True, slots=True)
class Answer:
    """What one method says of a text, and the words it says it by."""

    predicted: str | None
    confidence: float | None  # the probability of the prediction
    words: tuple[Mark, ...]  # of a choice, its text is the segment after the last


@dataclass(frozen=True, slots=True)
class Shown:
    """One text with the answers of all methods that have one, by their names."""

    id: str
    segments: tuple[str, ...]
    choices: tuple[str, ...] | None
    label: str | None
    gold: tuple[Place, ...] | None  # what a person marked; None if nobody did
    answers: Mapping[str, Answer]

    def choice(self, answer: Answer) -> int | None:
        """Number of the choice whose words the answer shows; None where there is nothing to choose."""
        return _choice(self.choices, answer.predicted, self.label)

    def texts(self, answer: Answer) -> tuple[str, ...]:
        """What the answer's words stand in: the segments, and the shown choice after them."""
        number = self.choice(answer)
        return self.segments if number is None else (*self.segments, (self.choices or ())[number])


def shown_from(records: Mapping[str, Sequence[Record]], *, budget: float) -> list[Shown]:
    """The records of several methods side by side, in the order of the first; what only others have follows.

    Selected are the words of the rationale for `budget` per cent; of a record without that budget the words
    its tool chose, or else the highest-scored.
    """
    found: dict[Key, dict[str, Record]] = {}
    for name, some in records.items():
        for key, record in _keyed(some):
            found.setdefault(key, {})[name] = record
    return [_shown(each, budget) for each in found.values()]


def _keyed(records: Sequence[Record]) -> Iterator[tuple[Key, Record]]:
    """Nothing is lost if an id comes twice: the second meets the second of the other methods."""
    seen: Counter[str] = Counter()
    for record in records:
        yield (record.id, seen[record.id]), record
        seen[record.id] += 1


def _shown(records: Mapping[str, Record], budget: float) -> Shown:
    first = next(iter(records.values()))
    _check(records)
    choices = next((one.choices for one in records.values() if one.choices), None)
    label = next((str(one.label) for one in records.values() if one.label is not None), None)
    return Shown(
        id=first.id,
        segments=first.segments,
        choices=choices,
        label=label,
        gold=_gold(records.values(), first.segments),
        answers={name: _answer(one, choices, label, budget) for name, one in records.items()},
    )


def _check(records: Mapping[str, Record]) -> None:
    """Methods are compared on the same data, or not at all."""
    (first, told), *others = records.items()
    for name, record in others:
        for part in ("segments", "choices", "label"):
            ours, theirs = getattr(told, part), getattr(record, part)
            if None not in (ours, theirs) and ours != theirs and str(ours) != str(theirs):
                raise UserError(
                    f"example {told.id}: '{first}' and '{name}' have different {part}; "
                    "compare methods that were evaluated on the same data."
                )


def _choice(choices: Sequence[str] | None, predicted: str | None, label: str | None) -> int | None:
    letters = [choice_label(number) for number in range(len(choices or ()))]
    known = [letters.index(one) for one in (predicted, label) if one in letters]
    return (known or [0])[0] if letters else None


def _answer(record: Record, choices: Sequence[str] | None, label: str | None, budget: float) -> Answer:
    predicted = None if record.predicted is None else str(record.predicted)
    number, segments = _choice(choices, predicted, label), record.segments
    if number is not None and choices and len(record.sequences) == len(choices):
        sequence, segments = record.sequences[number], (*segments, choices[number])
    else:
        sequence = record.sequences[0] if record.sequences else Scored((), (), None, ())
    confidence = max(record.probabilities, default=float("nan"))
    marks = _marks(segments, sequence, _selected(sequence, record.budgets, budget))
    return Answer(predicted, confidence if isfinite(confidence) else None, marks)


def _selected(sequence: Scored, budgets: Sequence[float], budget: float) -> set[int]:
    """Numbers of the tokens of the rationale."""
    by_budget = dict(zip(budgets, sequence.selected, strict=False))
    if budget in by_budget:
        return set(by_budget[budget])
    if sequence.chosen is not None:
        return set(sequence.chosen)
    return set(top_k(sequence.scores, [budget])[0])


def _marks(segments: Sequence[str], sequence: Scored, selected: set[int]) -> tuple[Mark, ...]:
    """The words of the text with their shades."""
    scores = sequence.scores or (0.0,) * len(sequence.tokens)  # a tool may name words without scoring them
    tokens = [
        Word(start, end, "", score, number in selected, segment)
        for number, ((segment, start, end), score) in enumerate(zip(sequence.tokens, scores, strict=True))
    ]
    found = scored_words(segments, sorted(tokens, key=lambda one: (one.segment, one.start)))
    top = max((one.score for one in found if isfinite(one.score)), default=0.0)
    return tuple((one.segment, one.start, one.end, level(one.score, top), one.selected) for one in found)


def _gold(records: Iterable[Record], segments: Sequence[str]) -> tuple[Place, ...] | None:
    """The stretches of gold tokens, as the method that read most of the text knows them."""
    told = [(one.truncated, s) for one in records for s in one.sequences[:1] if s.gold is not None]
    if not told:
        return None
    _, sequence = min(told, key=lambda one: one[0])
    found: list[Place] = []
    marked = (token for token, gold in zip(sequence.tokens, sequence.gold or (), strict=True) if gold)
    for segment, start, end in sorted(
        one for one in marked if one[0] < len(segments)
    ):  # nobody marks a choice
        text = segments[segment]
        start += len(text[start:end]) - len(text[start:end].lstrip())
        if found and found[-1][0] == segment and not text[found[-1][2] : start].strip():
            start = found.pop()[1]
        found.append((segment, start, start + len(text[start:end].rstrip())))
    return tuple(place for place in found if place[1] < place[2])
