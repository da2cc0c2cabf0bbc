r"""The examples of a comparison with the answers of all methods, and their JSON for the page's script.

    {"labels": […], "methods": […], "rows": [row, …]}
    row       [id, label, segments, choices, cuts, gold, answers, overlaps]
    label     number of the label, -1 if unknown
    choices   their texts, or 0
    cuts      of each segment, then of each choice: gap, length, gap, length … of its words
    gold      segment, start, end, segment, start, end …, or 0 if no one marked the text
    answers   one per method: [label, confidence or -1, signs, number of the shown choice or -1], or 0 if none
    signs     one per word, of the segments, then of the shown choice: shade 0 to 8, selected as a to i
    overlaps  of each pair of methods: F1 of their selected words in per cent, -1 if undefined

All positions count UTF-16 units, as browsers do, so that an emoji counts as two.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from itertools import accumulate, combinations, pairwise
from typing import Any, Literal

from unirex.data.example import CharSpan, choice_labels
from unirex.metrics.performance import f1_from_counts
from unirex.report.marked_text import cut
from unirex.report.markup import Html

PLAIN, SELECTED = "012345678", "abcdefghi"  # the sign of a word, by its shade
UNSAFE = re.compile("[<>&\u2028\u2029\ud800-\udfff]")  # ends a script or one of its lines, or has no UTF-8

ShadedWord = tuple[int, int, int, int, bool]  # segment, start, end, shade 0 … LEVELS, selected
GoldSpan = tuple[int, int, int]  # segment, start, end
WordSigns = dict[CharSpan, str]  # of the words of one text


@dataclass(frozen=True, slots=True)
class MethodAnswer:
    """The prediction of one method for a text, and the words that explain it."""

    predicted: str | None
    confidence: float | None  # the probability of the prediction
    words: tuple[ShadedWord, ...]  # those of the shown choice have the segment after the last


@dataclass(frozen=True, slots=True)
class ComparedExample:
    """One text with the answers of all methods that have one, by their names."""

    id: str
    segments: tuple[str, ...]
    choices: tuple[str, ...] | None
    label: str | None
    gold: tuple[GoldSpan, ...] | None  # what a person marked; None if no one looked
    answers: Mapping[str, MethodAnswer]

    def choice(self, answer: MethodAnswer) -> int | None:
        """Number of the choice whose words the answer shows; None where there is nothing to choose."""
        return shown_choice(self.choices, answer.predicted, self.label)

    def text_number(self, segment: int, answer: MethodAnswer) -> int:
        """Number of the text that a word of the answer stands in, counting the segments, then all choices."""
        return segment if segment < len(self.segments) else segment + (self.choice(answer) or 0)

    def selected_words(self, method: str) -> set[tuple[int, int, int]] | None:
        """The words a method selects, as (text, start, end); None if it has no answer.

        Words of different choices are never the same.
        """
        answer = self.answers.get(method)
        if answer is None:
            return None
        return {
            (self.text_number(segment, answer), start, end)
            for segment, start, end, _, selected in answer.words
            if selected
        }


def shown_choice(choices: Sequence[str] | None, predicted: str | None, label: str | None) -> int | None:
    """Number of the choice a reader looks at: the predicted one, else the gold one, else the first."""
    letters = choice_labels(len(choices or ()))
    known = [letters.index(letter) for letter in (predicted, label) if letter in letters]
    return (known or [0])[0] if letters else None


def overlap(first: AbstractSet[object] | None, second: AbstractSet[object] | None) -> float | None:
    """F1 of two selections, symmetric; None if one is unknown or both are empty.

    >>> overlap({1, 2}, {2, 3, 4}), overlap({1}, set()), overlap(set(), set())
    (0.4, 0.0, None)
    """
    if first is None or second is None or not (first or second):
        return None
    return f1_from_counts(len(first & second), len(first), len(second))


def known_labels(examples: Iterable[ComparedExample]) -> list[str]:
    """Every label of the data or of a method, in order; numbers by their size.

    >>> known_labels([ComparedExample("1", (), None, label, None, {}) for label in ("10", "b", "9", "b")])
    ['9', '10', 'b']
    """
    labels = set()
    for example in examples:
        labels |= {example.label, *(answer.predicted for answer in example.answers.values())}
    return sorted(
        (label for label in labels if label is not None),
        key=lambda label: (not label.isdecimal(), label.isdecimal() and len(label), label),
    )


def browser_json(examples: Sequence[ComparedExample], methods: Sequence[str]) -> Html:
    """All examples as JSON inside a page; see the module for its format."""
    labels = known_labels(examples)
    numbers = {label: number for number, label in enumerate(labels)}
    rows = [_row(example, methods, numbers) for example in examples]
    return safe_json({"labels": labels, "methods": list(methods), "rows": rows})


def safe_json(value: object) -> Html:
    r"""JSON that can stand in a `<script>`: no text in it can end the element.

    >>> safe_json(["</script>", "\ud800"])
    '["\\u003c/script\\u003e","\\ud800"]'
    """
    text = json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    return Html(UNSAFE.sub(lambda match: f"\\u{ord(match[0]):04x}", text))


def _row(example: ComparedExample, methods: Sequence[str], labels: Mapping[str, int]) -> list[Any]:
    texts = (*example.segments, *(example.choices or ()))
    offsets = [_utf16_offsets(text) for text in texts]
    answers = [example.answers.get(name) for name in methods]
    signs = [_signs(example, answer) for answer in answers]
    words = [_common_words(text, [by_text.get(at, {}) for by_text in signs]) for at, text in enumerate(texts)]
    cuts = []
    for spans, units in zip(words, offsets, strict=True):
        edges = [0, *(units[edge] for span in spans for edge in span)]
        cuts.append([after - before for before, after in pairwise(edges)])
    gold: list[int] = []
    for at, start, end in example.gold or ():
        gold += [at, offsets[at][start], offsets[at][end]]
    selected = [example.selected_words(name) for name in methods]
    shares = [overlap(first, second) for first, second in combinations(selected, 2)]
    return [
        example.id,
        -1 if example.label is None else labels[example.label],
        example.segments,
        example.choices or 0,
        cuts,
        0 if example.gold is None else gold,
        [_answer(example, *both, words, labels) for both in zip(answers, signs, strict=True)],
        [-1 if share is None else round(100 * share) for share in shares],
    ]


def _utf16_offsets(text: str) -> Sequence[int]:
    """Position of each character in UTF-16 units."""
    if text.isascii() or max(text) <= "\uffff":
        return range(len(text) + 1)
    return list(accumulate((1 + (character > "\uffff") for character in text), initial=0))


def _signs(example: ComparedExample, answer: MethodAnswer | None) -> dict[int, WordSigns]:
    """The sign of every word of an answer, by the number of its text."""
    signs: dict[int, WordSigns] = {}
    if answer is not None:
        for segment, start, end, shade, selected in answer.words:
            of_text = signs.setdefault(example.text_number(segment, answer), {})
            of_text[start, end] = (SELECTED if selected else PLAIN)[shade]
    return signs


def _common_words(text: str, signs: Iterable[WordSigns]) -> list[CharSpan]:
    """The words of a text; where methods have different words, the pieces that all of them are made of."""
    words = sorted({span for of_method in signs for span in of_method})
    if all(word[1] <= following[0] for word, following in pairwise(words)):
        return words  # the usual case, several times faster
    return [span for span, covering in cut(text, [[word] for word in words]) if covering]


def _answer(
    example: ComparedExample,
    answer: MethodAnswer | None,
    signs: Mapping[int, WordSigns],
    words: Sequence[Sequence[CharSpan]],
    labels: Mapping[str, int],
) -> list[Any] | Literal[0]:
    if answer is None:
        return 0
    choice, texts = example.choice(answer), [*range(len(example.segments))]
    if choice is not None:
        texts.append(len(example.segments) + choice)
    shown = "".join(_sign(signs.get(at, {}), word) for at in texts for word in words[at])
    predicted = -1 if answer.predicted is None else labels[answer.predicted]
    confidence = -1 if answer.confidence is None else round(answer.confidence, 4)
    return [predicted, confidence, shown, -1 if choice is None else choice]


def _sign(signs: WordSigns, piece: CharSpan) -> str:
    """The sign of a word, or of the method's own word that a piece is part of."""
    if piece in signs:
        return signs[piece]
    for (start, end), sign in signs.items():
        if start <= piece[0] and piece[1] <= end:
            return sign
    return PLAIN[0]
