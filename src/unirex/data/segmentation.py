"""Words and sentences as people mean them, in any script: what explanations name and pages show.

Gold marks and ERASER count other words, those of `unirex.data.rationales.words`, because their formats do.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

import regex

from unirex.data.example import CharSpan
from unirex.data.rationales import text_spans, words

BOUNDARY = regex.compile(r"(?w)\b", regex.V1)  # word boundaries of Unicode, UAX 29
LINE = regex.compile(r"[^\r\n\u0085\u2028\u2029]+")
# A terminal of any script with the quotes and brackets it closes. `!`, `?` and full stops need a blank after
# them, as they also stand inside addresses and numbers; the terminals of other scripts do not.
END = regex.compile(
    r"(?:[\p{SB=STerm}--[!?]]|[!?\p{SB=ATerm}](?=[!?\p{SB=ATerm}\p{SB=Close}]{,20}(?:\s|$)))"
    r"[\p{SB=STerm}\p{SB=ATerm}]*\p{SB=Close}*",
    regex.V1,
)
FULL_STOP = regex.compile(r"\p{SB=ATerm}+")
LOWER_NEXT = regex.compile(r"\P{Alphabetic}*\p{Lower}")
ABBREVIATION = regex.compile(
    r"(?:^|[\s\p{SB=Close}])(?:\p{Lu}|(?i:mr|mrs|ms|dr|prof|st|jr|sr|vs|no|fig|e\.g|i\.e|cf|approx))$"
)


def text_words(text: str) -> list[CharSpan]:
    """The span of each word, and of each punctuation mark, by the rules of Unicode (UAX 29).

    Han, Hiragana, Thai, Lao, Khmer and Burmese do not separate words: there every character is one.

    >>> [text[start:end] for text in ["It's dull.", "你是白痴"] for start, end in text_words(text)]
    ["It's", 'dull', '.', '你', '是', '白', '痴']
    """
    return [part for word in words(text) for part in _word_parts(text, *word)]


def _word_parts(text: str, start: int, end: int) -> list[CharSpan]:
    """The words in a run without blanks."""
    run = text[start:end]
    if run.isascii() and run.isalnum():  # the usual case, several times faster
        return [(start, end)]
    inside = (edge for match in BOUNDARY.finditer(run) if 0 < (edge := match.start()) < len(run))
    return [(start + first, start + last) for first, last in pairwise((0, *inside, len(run)))]


def sentences(text: str) -> list[CharSpan]:
    """The span of each sentence, by rules close to those of Unicode (UAX 29).

    A line ends one; so does a terminal (`.`, `!`, `?`, `。`, `।`, …), unless it is a full stop before a
    word in lower case, or behind an initial or one of a few English abbreviations.

    >>> text = "Dr. Wu laughed. 'Why?' It cost 3.5 m. at most"
    >>> [text[start:end] for start, end in sentences(text)]
    ['Dr. Wu laughed.', "'Why?'", 'It cost 3.5 m. at most']
    """
    return [
        span
        for line in LINE.finditer(text)
        for part in pairwise((line.start(), *_ends(text, *line.span()), line.end()))
        for span in text_spans(text, [part])
    ]


def _ends(text: str, start: int, end: int) -> Iterator[int]:
    """Where sentences end inside a line."""
    for match in END.finditer(text, start, end):
        if not (FULL_STOP.match(match.group()) and _goes_on(text, start, match.span(), end)):
            yield match.end()


def _goes_on(text: str, start: int, stop: CharSpan, end: int) -> bool:
    """Whether a sentence goes on after its full stop; never where a blank stands before (tokenised text)."""
    if stop[0] > start and text[stop[0] - 1].isspace():
        return False
    return bool(LOWER_NEXT.match(text, stop[1], end) or ABBREVIATION.search(text, start, stop[0]))
