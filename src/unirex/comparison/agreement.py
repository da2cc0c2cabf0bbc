"""Where methods say the same: of the label, and of the words that decide it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from math import isnan

from unirex.comparison.method import Method
from unirex.records import Record
from unirex.report.island import overlap
from unirex.report.shown import Answer, Shown, shown_from

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
        words = [_selected(example, example.answers.get(name)) for name in self.methods]
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


def _selected(example: Shown, answer: Answer | None) -> set[object] | None:
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
