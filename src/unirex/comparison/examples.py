"""The texts of a comparison with the answers of all methods, and how far the methods agree."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from math import isfinite, isnan

from unirex.comparison.method import Method
from unirex.errors import UserError
from unirex.evaluation.records import Record, Scored, top_k
from unirex.explanation import Word, scored_words
from unirex.report.island import overlap
from unirex.report.marked_text import level
from unirex.report.shown import Answer, Key, Mark, Place, Shown, shown_choice

Table = list[list[float]]  # every two methods, in their order
NAN = float("nan")


def prediction_agreement(methods: Sequence[Method]) -> Table:
    """The share of texts that two methods give the same label, of those both give one; first seeds."""
    answers = [method.predicted() for method in methods]

    def share(one: int, other: int) -> float:
        pairs = [pair for pair in zip(answers[one], answers[other], strict=True) if None not in pair]
        return sum(str(a) == str(b) for a, b in pairs) / len(pairs) if pairs else NAN

    return _table(len(methods), share)


@dataclass
class Gathered:
    """What a walk through the records of all methods brings: texts to show, and how far rationales agree."""

    methods: Sequence[str]
    shown: list[Shown] = field(default_factory=list)
    sums: dict[tuple[int, int], tuple[float, int]] = field(default_factory=dict)

    def add(self, example: Shown, *, keep: bool) -> None:
        """One more text."""
        if keep:
            self.shown.append(example)
        words = [_selected_words(example, example.answers.get(name)) for name in self.methods]
        for one, other in combinations(range(len(words)), 2):
            both = overlap(words[one], words[other])
            if both is not None:
                total, count = self.sums.get((one, other), (0.0, 0))
                self.sums[one, other] = total + both, count + 1

    def rationale_agreement(self) -> Table:
        """Mean F1 of the words that two methods select, over the texts where either selects any."""

        def mean(one: int, other: int) -> float:
            total, count = self.sums.get((one, other), (0.0, 0))
            return total / count if count else NAN

        return _table(len(self.methods), mean)


def gather(methods: Sequence[Method], *, budget: float, limit: int) -> Gathered:
    """All shared examples side by side, by the first seed of each method; at most `limit` to be shown."""
    found, number = Gathered([one.name for one in methods]), len(methods[0].gold)
    kept = min(limit, number)
    wanted = {at * number // kept for at in range(kept)}  # spread evenly
    for at, records in enumerate(side_by_side(methods)):
        (example,) = shown_from({name: [one] for name, one in records.items()}, budget=budget)
        found.add(example, keep=at in wanted)
    return found


def side_by_side(methods: Sequence[Method]) -> Iterator[dict[str, Record]]:
    """The records of each shared example; files in the same order need one record a method in memory."""
    shared = set(methods[0].runs[0].columns.ids)
    waiting: dict[str, dict[str, Record]] = {}
    readers = {one.name: one.runs[0].place.read() for one in methods}
    while readers:
        for name in list(readers):
            record = next((one for one in readers[name] if one.id in shared), None)
            if record is None:
                del readers[name]
                continue
            waiting.setdefault(record.id, {})[name] = record
            if len(waiting[record.id]) == len(methods):
                found = waiting.pop(record.id)
                yield {one.name: found[one.name] for one in methods}


def anything(table: Table) -> bool:
    """Whether any two different methods can be compared."""
    return any(not isnan(one) for at, row in enumerate(table) for one in row[:at])


def _selected_words(example: Shown, answer: Answer | None) -> set[object] | None:
    """The selected words by their places; those of different choices are never the same."""
    if answer is None:
        return None
    choice, own = example.choice(answer) or 0, len(example.segments)
    return {(at + choice * (at >= own), start, end) for at, start, end, _, taken in answer.words if taken}


def _table(size: int, of: Callable[[int, int], float]) -> Table:
    table = [[1.0] * size for _ in range(size)]
    for one, other in combinations(range(size), 2):
        table[one][other] = table[other][one] = of(one, other)
    return table


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


def _answer(record: Record, choices: Sequence[str] | None, label: str | None, budget: float) -> Answer:
    predicted = None if record.predicted is None else str(record.predicted)
    number, segments = shown_choice(choices, predicted, label), record.segments
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
