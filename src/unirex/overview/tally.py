"""What is counted while explanations pass by: bounded memory, however many there are."""

from __future__ import annotations

from bisect import insort
from collections.abc import Mapping
from dataclasses import dataclass, field
from random import Random
from typing import Literal

from unirex.data.example import Answer, CharSpan, Label, answer_labels
from unirex.explanation import Explanation
from unirex.overview.words import Occurrence, occurrences

QUOTED = 3  # texts kept for a word, of each kind
MARGIN = 120  # characters of a text around the word
MOST_COUNTS = 500_000  # words and phrases of all labels; beyond, rare ones are forgotten: some 200 MB
SAMPLE = 20_000  # predictions of a label that coverage is computed on
CHOSEN = "the chosen answer"  # stands for the label where answers are choices: their letters mean nothing

Quoted = Literal["carried", "wrong", "only_model", "only_people"]  # why a text is quoted for a word


@dataclass(frozen=True, slots=True)
class Quotation:
    """A text, or what stands around a word in a long one; the word is at `start` to `end`."""

    text: str
    start: int
    end: int
    importance: float  # of the word in this text
    id: str | None
    gold_label: Answer | None
    right: bool | None  # whether the prediction was; None where the gold label is unknown


@dataclass(slots=True)
class WordCount:
    """What is known of a word or phrase in the texts that were given one label."""

    size: int  # number of words
    present: int = 0  # texts that hold it
    carried: int = 0  # texts where it is in the rationale
    known: int = 0  # of `carried`: those whose gold label is known
    wrong: int = 0  # of `carried`: wrong predictions
    annotated: int = 0  # texts that hold it, are predicted right, and were marked by people
    both: int = 0  # of `annotated`: in the rationale and marked
    only_model: int = 0  # of `annotated`: in the rationale, not marked
    only_people: int = 0  # of `annotated`: marked, not in the rationale
    importance: float = 0.0  # sum over `present`
    importance_squared: float = 0.0
    # The shortest texts, in order, each with its length.
    quotations: dict[Quoted, list[tuple[int, Quotation]]] = field(default_factory=dict)


@dataclass(slots=True)
class LabelCount:
    """What is known of the texts that were given one label."""

    predictions: int = 0
    known: int = 0  # those whose gold label is known
    wrong: int = 0
    annotated: int = 0  # predicted right and marked by people
    words: dict[str, WordCount] = field(default_factory=dict)  # and phrases
    rationales: list[frozenset[str]] = field(default_factory=list)  # words of a sample of the rationales


class Tally:
    """Counts of words and phrases by predicted label.

    Args:
        phrase_length: words in the longest phrase; 1 for no phrases.
    """

    def __init__(self, phrase_length: int) -> None:
        self.phrase_length = phrase_length
        self.labels: dict[Label, LabelCount] = {}
        self.texts = 0
        self.sets = False  # whether a text may have several labels
        self.left_out = 0  # explanations for a label that was not predicted
        self.forgotten_up_to = 0  # counts may be too low by this much
        self._counts = 0
        self._chance = Random(0)

    def add(self, explanation: Explanation) -> None:
        """Count one explanation; reasons for a label that was not predicted say nothing of what was done."""
        labels = (CHOSEN,) if explanation.choices is not None else explanation.probabilities
        for name in labels:
            self.labels.setdefault(name, LabelCount())
        explained = explanation.explained
        self.sets |= isinstance(explanation.label, tuple)
        if explained not in answer_labels(explanation.label):
            self.left_out += 1
            return
        self.texts += 1
        label = self.labels[CHOSEN if explanation.choices is not None else explained]
        gold = explanation.gold_label
        right = None if gold is None else explained in answer_labels(gold)
        compared = explanation.gold_spans is not None and right is not False
        label.predictions += 1
        label.known += right is not None
        label.wrong += right is False
        label.annotated += compared
        found = occurrences(explanation, self.phrase_length)
        for text, occurrence in found.items():
            if text not in label.words:
                label.words[text] = WordCount(occurrence.size)
                self._counts += 1
            word = label.words[text]
            _count(word, occurrence, right=right, compared=compared)
            for kind in _kinds(occurrence, right=right, compared=compared):
                _quote(word.quotations.setdefault(kind, []), explanation, occurrence, right)
        self._sample(label, found)
        if self._counts > MOST_COUNTS:
            self._forget()

    def _sample(self, label: LabelCount, found: Mapping[str, Occurrence]) -> None:
        """Keep the words of the rationale, of so many predictions at most: each is as likely to be kept."""
        place = len(label.rationales)
        if place == SAMPLE:
            place = self._chance.randrange(label.predictions)
            if place >= SAMPLE:
                return
        words = frozenset(text for text, word in found.items() if word.selected and word.size == 1)
        label.rationales[place : place + 1] = [words]

    def _forget(self) -> None:
        """Drop the rarest words and phrases until half of the room is free."""
        rare = 0
        while self._counts > MOST_COUNTS // 2:
            rare += 1
            for label in self.labels.values():
                label.words = {text: word for text, word in label.words.items() if word.present > rare}
            self._counts = sum(len(label.words) for label in self.labels.values())
        self.forgotten_up_to += rare


def window(text: str, place: CharSpan, margin: int = MARGIN) -> tuple[str, CharSpan]:
    """What stands around a place of a text, cut at blanks, and where the place is in it.

    >>> window("so good", (3, 7))
    ('so good', (3, 7))
    >>> window("a film that is so good that it hurts", (18, 22), margin=6)
    ('… is so good that …', (8, 12))
    """
    start, end = place
    first, last = max(0, start - margin), min(len(text), end + margin)
    while 0 < first < start and not text[first - 1].isspace():
        first += 1
    while end < last < len(text) and not text[last].isspace():
        last -= 1
    before, after = "… " if first else "", " …" if last < len(text) else ""
    shift = len(before) - first
    return f"{before}{text[first:last]}{after}", (start + shift, end + shift)


def _quote(
    kept: list[tuple[int, Quotation]], explanation: Explanation, occurrence: Occurrence, right: bool | None
) -> None:
    """Keep the text if it is among the shortest; the same words are not quoted twice."""
    text = explanation.segments[occurrence.segment]
    if len(kept) == QUOTED and len(text) >= kept[-1][0]:
        return
    quoted, (start, end) = window(text, occurrence.place)
    if any(quotation.text == quoted for _, quotation in kept):
        return
    quotation = Quotation(
        quoted, start, end, occurrence.importance, explanation.id, explanation.gold_label, right
    )
    insort(kept, (len(text), quotation), key=lambda pair: pair[0])
    del kept[QUOTED:]


def _count(word: WordCount, occurrence: Occurrence, *, right: bool | None, compared: bool) -> None:
    """Add one text; `right` is None where the gold label is unknown."""
    word.present += 1
    word.importance += occurrence.importance
    word.importance_squared += occurrence.importance**2
    if occurrence.selected:
        word.carried += 1
        word.known += right is not None
        word.wrong += right is False
    if compared:
        word.annotated += 1
        word.both += occurrence.selected and occurrence.marked
        word.only_model += occurrence.selected and not occurrence.marked
        word.only_people += occurrence.marked and not occurrence.selected


def _kinds(occurrence: Occurrence, *, right: bool | None, compared: bool) -> list[Quoted]:
    """What a text is an example of, for one of its words."""
    kinds: list[Quoted] = ["carried"] if occurrence.selected else []
    if occurrence.selected and right is False:
        kinds.append("wrong")
    if compared and occurrence.selected != occurrence.marked:
        kinds.append("only_model" if occurrence.selected else "only_people")
    return kinds
