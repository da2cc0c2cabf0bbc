"""The items of a study: texts, and the rationale of every method cut to the size of gold."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from unirex.comparison.examples import check_same_data
from unirex.data import rationales
from unirex.data.example import Rationale, answer_name
from unirex.errors import UserError
from unirex.evaluation.records import Record, Scored
from unirex.explanation import Word, scored_words
from unirex.user_study.definition import GOLD, NO_RATIONALE, Item, Role, Showing

BALANCED_FROM = 500  # texts among which a balanced choice is made


@dataclass(frozen=True, slots=True)
class Reading:
    """What a study needs of one text as one method read it."""

    id: str
    segments: tuple[str, ...]
    choices: tuple[str, ...] | None
    label: str
    predicted: str
    labels: tuple[str, ...]
    words: tuple[Word, ...]  # those the method read, with their scores; selected: a person marked it
    truncated: int

    @property
    def gold(self) -> list[Word]:
        """The words that people marked."""
        return [word for word in self.words if word.selected]

    @property
    def outcome(self) -> tuple[str, bool]:
        """The gold label, and whether the method found it."""
        return self.label, self.label == self.predicted


def read_method(records: Iterable[Record], name: str) -> dict[str, Reading]:
    """The texts of a method that a study can ask about, by id: labelled, predicted, with marked words."""
    found, texts = {}, 0
    for record in records:
        texts += 1
        if record.multi_label:
            raise UserError(
                f"'{name}': example {record.id} has a set of labels; a study asks for one label of each text."
            )
        if record.label is None or record.predicted is None or not record.sequences:
            continue
        reading = _reading(record, answer_name(record.label), answer_name(record.predicted))
        if reading.gold:
            found[record.id] = reading
    if not found:
        raise UserError(
            f"'{name}': none of its {texts} texts has a label, a prediction and a marked rationale; a study "
            "needs them, as rationales are cut to the size of what people marked."
        )
    return found


def _reading(record: Record, label: str, predicted: str) -> Reading:
    return Reading(
        record.id,
        record.segments,
        record.choices,
        label,
        predicted,
        tuple(map(str, record.labels)),
        _words(record.segments, record.answered),
        record.truncated,
    )


def _words(segments: Sequence[str], sequence: Scored) -> tuple[Word, ...]:
    """The words that were read: as important as their most important token, gold if any token is."""
    chosen = set(sequence.chosen or ())
    scores = sequence.scores or tuple(float(at in chosen) for at in range(len(sequence.tokens)))
    gold = sequence.gold or (False,) * len(sequence.tokens)
    rows = [
        (Word(start, end, "", score, True, segment), marked)
        for (segment, start, end), score, marked in zip(sequence.tokens, scores, gold, strict=True)
    ]
    rows.sort(key=lambda row: (row[0].segment, row[0].start))
    read = scored_words(segments, [token for token, _ in rows], rationales.words)
    marked_tokens = [token for token, marked in rows if marked]
    marked = scored_words(segments, marked_tokens, rationales.words)
    return tuple(
        Word(word.start, word.end, word.text, word.score, by_people.selected, word.segment)
        for word, by_people in zip(read, marked, strict=True)
        if word.selected  # covered by a token
    )


def make_item(readings: Mapping[str, Reading], role: Role) -> Item:
    """One text with every method's rationale, of as many words as people marked, and with the oracles."""
    check_same_data(readings)
    first = min(readings.values(), key=lambda reading: reading.truncated)
    size = len(first.gold)
    # Paper: as many tokens. Words are what people see, and methods may cut them into tokens differently.
    showings = {
        name: Showing(reading.predicted, _marks(reading, top_words(reading.words, size)))
        for name, reading in readings.items()
    }
    showings[GOLD] = Showing(first.label, _marks(first, first.gold))
    showings[NO_RATIONALE] = Showing(first.label, tuple(() for _ in first.segments))
    return Item(first.id, first.segments, showings, role, first.choices)


def top_words(words: Sequence[Word], size: int) -> list[Word]:
    """The highest-scored words; of equals the first.

    >>> words = [Word(0, 1, "a", 0.5, False), Word(2, 3, "b", 0.9, False), Word(4, 5, "c", 0.5, False)]
    >>> [word.text for word in top_words(words, 2)]
    ['b', 'a']
    """
    return sorted(words, key=lambda word: -word.score)[:size]


def _marks(reading: Reading, words: Sequence[Word]) -> Rationale:
    """The spans of words in each segment; neighbours become one."""
    return tuple(
        rationales.text_spans(text, [(word.start, word.end) for word in words if word.segment == number])
        for number, text in enumerate(reading.segments)
    )


def pick_items(
    methods: Mapping[str, Mapping[str, Reading]], sizes: Mapping[Role, int], *, balanced: bool, seed: int
) -> list[Item]:
    """Texts that all methods read, drawn at random, as many of each role; no text has two roles."""
    first, *others = methods.values()
    shared = [name for name in first if all(name in other for other in others)]
    needed = sum(sizes.values())
    if len(shared) < needed:
        raise UserError(
            f"{needed} texts are needed ({', '.join(f'{n} {role}' for role, n in sizes.items() if n)}), but "
            f"the runs share {len(shared)} with a label, a prediction and a marked rationale; ask for fewer."
        )
    order = [shared[number] for number in np.random.default_rng(seed).permutation(len(shared))]
    if balanced:
        order = _balanced(order[: max(BALANCED_FROM, needed)], methods, needed)
    names, items = iter(order), []
    for role, size in sizes.items():
        chosen = [next(names) for _ in range(size)]
        items += [
            make_item({method: readings[name] for method, readings in methods.items()}, role)
            for name in chosen
        ]
    return items


def _balanced(order: Sequence[str], methods: Mapping[str, Mapping[str, Reading]], needed: int) -> list[str]:
    """The first texts in which right and wrong answers to each label are as even as they can be.

    Otherwise a person who always names the right label would simulate a good classifier well
    (Hase & Bansal 2020). One text after the other is taken that adds to the rarest outcomes.
    """
    counts: Counter[tuple[str, tuple[str, bool]]] = Counter()
    left, chosen = dict.fromkeys(order), []

    def frequency(name: str) -> int:
        return sum(counts[method, readings[name].outcome] for method, readings in methods.items())

    for _ in range(needed):
        name = min(left, key=frequency)  # of equals the first in the random order
        del left[name]
        chosen.append(name)
        counts.update((method, readings[name].outcome) for method, readings in methods.items())
    return chosen
