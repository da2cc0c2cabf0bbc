r"""Examples as one small block of JSON inside a page: what the page's script browses.

    {"labels": […], "methods": […], "rows": [row, …]}
    row       [id, label, segments, choices, cuts, gold, answers, overlaps]
    label     number of the label, -1 if unknown
    choices   their texts, or 0
    cuts      of each segment, then of each choice: gap, length, gap, length … of its words
    gold      segment, start, end, segment, start, end …, or 0 if nobody marked any
    answers   one a method: [label, confidence or -1, looks, number of the shown choice or -1], or 0 if none
    looks     a sign a word, of the segments, then of the shown choice: shade 0 to 8, selected as a to i
    overlaps  of each two methods: F1 of their selected words in per cent, -1 if there is nothing to compare

Browsers count characters in UTF-16 units, so that an emoji is two; all numbers here do too.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from itertools import accumulate, chain, combinations, pairwise
from typing import Any, Literal

from unirex.data.example import CharSpan
from unirex.report.markup import Html
from unirex.report.shown import Answer, Shown

PLAIN, SELECTED = "012345678", "abcdefghi"
UNSAFE = re.compile("[<>&\u2028\u2029\ud800-\udfff]")  # ends a script, a line of one, or is in no file

Looks = dict[CharSpan, str]  # of the words of one text
Words = AbstractSet[object]


def island(examples: Sequence[Shown], methods: Sequence[str]) -> Html:
    """All examples as JSON that no text can break out of."""
    labels = known_labels(examples)
    numbers = {label: number for number, label in enumerate(labels)}
    rows = [_row(one, methods, numbers) for one in examples]
    return escaped({"labels": labels, "methods": list(methods), "rows": rows})


def escaped(value: object) -> Html:
    r"""JSON to stand in a page; it means the same, but ends no element.

    >>> escaped(["</script>", "\ud800"])
    '["\\u003c/script\\u003e","\\ud800"]'
    """
    text = json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    return Html(UNSAFE.sub(lambda found: f"\\u{ord(found[0]):04x}", text))


def known_labels(examples: Iterable[Shown]) -> list[str]:
    """Every label of the data or of a method, numbers by their size.

    >>> known_labels([Shown("1", (), None, label, None, {}) for label in ("10", "b", "9", "b")])
    ['9', '10', 'b']
    """
    given = chain.from_iterable(
        (one.label, *(answer.predicted for answer in one.answers.values())) for one in examples
    )
    found = {label for label in given if label is not None}
    return sorted(found, key=lambda one: (not one.isdecimal(), one.isdecimal() and len(one), one))


def overlap(one: Words | None, other: Words | None) -> float | None:
    """F1 of two selections, the same from both sides; None if one is unknown or both are empty.

    >>> overlap({1, 2}, {2, 3, 4}), overlap({1}, set()), overlap(set(), set())
    (0.4, 0.0, None)
    """
    if one is None or other is None or not (one or other):
        return None
    return 2 * len(one & other) / (len(one) + len(other))


def _row(example: Shown, methods: Sequence[str], labels: Mapping[str, int]) -> list[Any]:
    texts = (*example.segments, *(example.choices or ()))
    offsets = [_offsets(text) for text in texts]
    given = [example.answers.get(name) for name in methods]
    looks = [_by_text(example, one) for one in given]
    cuts = [_cuts([some[at] for some in looks if at in some]) for at in range(len(texts))]
    return [
        example.id,
        -1 if example.label is None else labels[example.label],
        example.segments,
        example.choices or 0,
        [_gaps(some, at) for some, at in zip(cuts, offsets, strict=True)],
        _gold(example, offsets),
        [_answer(example, *both, cuts, labels) for both in zip(given, looks, strict=True)],
        _overlaps(given, looks),
    ]


def _offsets(text: str) -> Sequence[int]:
    """Where the n-th character stands for a browser."""
    if text.isascii() or max(text) <= "\uffff":
        return range(len(text) + 1)
    return list(accumulate((1 + (character > "\uffff") for character in text), initial=0))


def _by_text(example: Shown, answer: Answer | None) -> dict[int, Looks]:
    """The look of every word, by the number of its text: segments first, then all choices."""
    found: dict[int, Looks] = {}
    if answer is None:
        return found
    choice = example.choice(answer) or 0
    for segment, start, end, level, selected in answer.words:
        text = segment + choice if segment >= len(example.segments) else segment
        found.setdefault(text, {})[start, end] = (SELECTED if selected else PLAIN)[level]
    return found


def _cuts(looks: Sequence[Looks]) -> list[CharSpan]:
    """The words of a text; where methods do not mean the same ones, the pieces that all are made of."""
    spans = sorted({span for some in looks for span in some})
    if all(one[1] <= other[0] for one, other in pairwise(spans)):
        return spans
    edges = sorted({edge for span in spans for edge in span})
    return [piece for piece in pairwise(edges) if any(_within(piece, span) for span in spans)]


def _within(piece: CharSpan, span: CharSpan) -> bool:
    return span[0] <= piece[0] and piece[1] <= span[1]


def _gaps(cuts: Sequence[CharSpan], offsets: Sequence[int]) -> list[int]:
    edges = [0, *(offsets[edge] for cut in cuts for edge in cut)]
    return [after - before for before, after in pairwise(edges)]


def _gold(example: Shown, offsets: Sequence[Sequence[int]]) -> list[int] | Literal[0]:
    if example.gold is None:
        return 0
    return [n for at, start, end in example.gold for n in (at, offsets[at][start], offsets[at][end])]


def _answer(
    example: Shown,
    answer: Answer | None,
    looks: Mapping[int, Looks],
    cuts: Sequence[Sequence[CharSpan]],
    labels: Mapping[str, int],
) -> list[Any] | Literal[0]:
    if answer is None:
        return 0
    choice, texts = example.choice(answer), [*range(len(example.segments))]
    texts += [] if choice is None else [len(example.segments) + choice]
    signs = "".join(_look(looks.get(at, {}), cut) for at in texts for cut in cuts[at])
    predicted = -1 if answer.predicted is None else labels[answer.predicted]
    confidence = -1 if answer.confidence is None else round(answer.confidence, 4)
    return [predicted, confidence, signs, -1 if choice is None else choice]


def _look(looks: Looks, cut: CharSpan) -> str:
    return looks.get(cut) or next((look for span, look in looks.items() if _within(cut, span)), PLAIN[0])


def _overlaps(given: Sequence[Answer | None], looks: Sequence[Mapping[int, Looks]]) -> list[int]:
    """How far each two methods select the same words; words of different choices are never the same."""
    selected = [
        {(at, span) for at, some in one.items() for span, look in some.items() if look in SELECTED}
        for one in looks
    ]
    told = [None if one is None else words for one, words in zip(given, selected, strict=True)]
    found = [overlap(a, b) for a, b in combinations(told, 2)]
    return [-1 if one is None else round(100 * one) for one in found]
