"""Rationales in all the ways people write them, as character spans; and how a file writes them."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from reprlib import repr as short
from typing import Any, Literal, NamedTuple, get_args

from unirex.data.example import CharSpan, Rationale
from unirex.data.validate import at, count_clipped, is_missing
from unirex.errors import UserError, unknown

RationaleFormat = Literal["auto", "characters", "offsets", "words", "flags", "phrases", "tags"]

FORMATS = {  # what people write
    "characters": 'character spans, [[2, 10], [13, 18]] or [{"start": 2, "end": 10}]',
    "offsets": "the offset of every marked character, [2, 3, 4, 5]",
    "words": "word indices, [0, 3]",
    "flags": "one 0/1 per word, [0, 1, 1]",
    "phrases": 'the marked words or phrases, ["far from dull"]',
    "tags": "marks in the text itself, <em>so</em> or **so**",
}
WORD = re.compile(r"\S+")  # \s is str.isspace, so these are the words of str.split()
WAYS = "character spans [[start, end], ...], word indices [0, 3], or one 0/1 per word"
TAGS = ("em", "mark", "b", "strong", "i", "u", "span")
TAG = re.compile(
    rf"<(?P<name>{'|'.join(TAGS)})\b[^<>]*>(?P<inside>.*?)</(?P=name)\s*>|\*\*(?P<bold>(?=\S).+?(?<=\S))\*\*",
    re.IGNORECASE | re.DOTALL,
)


class Marks(NamedTuple):
    """How a file writes its marks: the format, and whether a value holds those of several people."""

    format: RationaleFormat = "auto"
    several: bool = False

    def __str__(self) -> str:
        people = ", a list of them for each person" if self.several else ""
        return f"{FORMATS.get(self.format, 'decided for each value')}{people}"


def words(text: str) -> list[CharSpan]:
    """The span of each word: the maximal runs of non-whitespace, as in `str.split()`.

    >>> words("so  good")
    [(0, 2), (4, 8)]
    """
    return [match.span() for match in WORD.finditer(text)]


def text_spans(text: str, spans: Sequence[CharSpan]) -> tuple[CharSpan, ...]:
    """The runs of characters that token spans cover, without blanks at their ends; adjacent runs are joined.

    >>> text_spans("a fine  film", [(1, 6), (6, 12)])
    ((2, 12),)
    >>> text_spans("unbelievable", [(0, 2), (2, 9)])
    ((0, 9),)
    """
    runs: list[CharSpan] = []
    for start, end in sorted(spans):
        while start < end and text[start].isspace():
            start += 1
        while start < end and text[end - 1].isspace():
            end -= 1
        if start == end:
            continue
        if runs and not text[runs[-1][1] : start].strip():
            runs[-1] = (runs[-1][0], max(runs[-1][1], end))
        else:
            runs.append((start, end))
    return tuple(runs)


def merge(spans: Iterable[CharSpan]) -> tuple[CharSpan, ...]:
    """The spans sorted, with overlapping and touching ones merged.

    >>> merge([(5, 9), (0, 3), (3, 6)])
    ((0, 9),)
    """
    merged: list[CharSpan] = []
    for start, end in sorted(spans):
        if merged and start <= merged[-1][1]:
            merged[-1] = (merged[-1][0], max(end, merged[-1][1]))
        else:
            merged.append((start, end))
    return tuple(merged)


def parse_rationale(
    value: object,
    text: str,
    *,
    format: RationaleFormat = "auto",  # noqa: A002  the word users know for this
) -> tuple[CharSpan, ...] | None:
    """The marked spans of a text; None if the value is missing, `()` if it marks nothing.

    A string is read as JSON, or else as a phrase. The spans come out sorted, with overlapping or touching
    ones merged. How "auto" reads a list that is not empty; for a file use `decide_marks`:

    1. a list holding lists or objects is character spans, one holding texts is phrases;
    2. a list holding true/false is flags, one per word;
    3. a list of only 0s and 1s is flags if it has as many items as the text has words, or repeats
       a number (an index is never given twice): for a text of two words, `[0, 1]` marks the second;
    4. any other list is word indices.

    >>> parse_rationale([[4, 8]], "so  good")
    ((4, 8),)
    >>> parse_rationale([0, 1], "so  good")
    ((4, 8),)
    >>> parse_rationale("[0, 1]", "so  good", format="words")
    ((0, 2), (4, 8))
    >>> parse_rationale([4, 5, 6, 7], "so  good", format="offsets")
    ((4, 8),)
    """
    if format not in get_args(RationaleFormat):
        raise unknown("rationale format", format, get_args(RationaleFormat))
    if format == "phrases" and isinstance(value, str) and not value.lstrip().startswith("["):
        value = [value]  # a single phrase
    marks = _from_json(value) if isinstance(value, str) else value
    if is_missing(marks):
        return None
    if not isinstance(marks, list | tuple):
        raise UserError(f"rationale must be {WAYS}, not {short(marks)}")
    word_spans = words(text)
    if format == "auto":
        format = _guess_format(marks, len(word_spans))  # noqa: A001
    if format == "characters":
        return merge(span for mark in marks for span in _check_span(mark, text))
    if format == "offsets":
        return merge(span for mark in marks for span in _check_offset(mark, text))
    if format == "phrases":
        return merge(span for mark in marks for span in _occurrences(mark, text))
    if format == "words":
        return merge(_indexed_words(marks, word_spans))
    if format == "flags":
        return merge(_flagged_words(marks, word_spans))
    raise UserError("rationale_format tags: the marks are in the text, so there is no rationale to read")


def read_tags(text: str) -> tuple[str, tuple[CharSpan, ...]]:
    """The text without its tags, and the spans that were inside.

    >>> read_tags("It is <em>far from dull</em>, **really**.")
    ('It is far from dull, really.', ((6, 19), (21, 27)))
    """
    spans: list[CharSpan] = []
    clean, last = "", 0
    for match in TAG.finditer(text):
        clean += text[last : match.start()]
        inside, nested = read_tags(match["inside"] if match["name"] else match["bold"])
        start, clean = len(clean), clean + inside
        if clean[start:].strip():
            spans.append((start, len(clean)))
        spans += [(start + begin, start + end) for begin, end in nested]
        last = match.end()
    return clean + text[last:], merge(spans)


def parse_marks(value: object, texts: Mapping[str, str], marks: Marks) -> tuple[Rationale, ...]:
    """The marks of each person in a value, as `Marks` says it is written; none if it is missing.

    >>> parse_marks([[0, 1], [1, 1]], {"text": "so good"}, Marks("flags", several=True))
    ((((3, 7),),), (((0, 2), (3, 7)),))
    """
    if not marks.several:
        found = parse_segments(value, texts, format=marks.format)
        return () if found is None else (found,)
    people = _from_json(value) if isinstance(value, str) else value
    if is_missing(people):
        return ()
    if not isinstance(people, list | tuple):
        raise UserError(f"rationale must be a list with the marks of each person, not {short(people)}")
    read = (parse_segments(person, texts, format=marks.format) for person in people)
    return tuple(person for person in read if person is not None)


def decide_marks(
    values: Iterable[tuple[object, str]],
    *,
    format: RationaleFormat = "auto",  # noqa: A002
) -> Marks:
    """How a file writes its marks, from all its values and their texts: what fits the most values.

    With a `format` only whether a value holds the marks of several people is decided. Values that mark
    nothing say nothing. Of formats that fit equally many, flags come before words, and words
    before offsets: lists such as `[0, 1]` may be any of them.

    >>> decide_marks([([0, 1], "so good"), ([2, 3], "not so very bad")]).format
    'words'
    >>> decide_marks([([0, 1, 2], "so very good indeed"), ([8, 9, 10, 11], "so very good")]).format
    'offsets'
    >>> decide_marks([([[0, 1], [1, 1]], "so good"), ([[0, 0, 1]], "so very good")])
    Marks(format='flags', several=True)
    """
    fits: Counter[Marks] = Counter()
    for value, text in values:
        try:
            given = _from_json(value) if isinstance(value, str) else value
        except UserError:
            fits[Marks("phrases")] += value in text if isinstance(value, str) else 0
            continue
        if isinstance(given, list | tuple) and given:
            fits.update(marks for marks in _candidates(given) if _fits(given, text, marks))
    names = _ORDER if format == "auto" else (format,)
    order = [Marks(name, several) for several in (False, True) for name in names]
    return max(order, key=lambda marks: fits[marks]) if fits.total() else Marks(format)


_ORDER: tuple[RationaleFormat, ...] = ("characters", "phrases", "flags", "words", "offsets")


def _candidates(given: Sequence[object]) -> Iterator[Marks]:
    """The ways in which a list could be read, by what is in it."""
    if all(type(item) is int or isinstance(item, bool) for item in given):
        yield from (Marks("flags"), Marks("words"), Marks("offsets"))
    elif all(isinstance(item, str) for item in given):
        yield Marks("phrases")
    elif all(isinstance(item, Mapping) for item in given):
        yield Marks("characters")
    elif all(item is None or isinstance(item, list | tuple) for item in given):
        yield Marks("characters")
        ways = [set(_candidates(item)) for item in given if isinstance(item, list | tuple) and item]
        shared = set.intersection(*ways) if ways else set()
        yield from (Marks(way.format, several=True) for way in shared if not way.several)


def _fits(given: Sequence[Any], text: str, marks: Marks) -> bool:
    for value in given if marks.several else [given]:
        if marks.format == "offsets" and value and len(merge((at, at + 1) for at in value)) * 2 > len(value):
            return False  # single characters here and there are no marks of a person
        try:
            parse_rationale(value, text, format=marks.format)
        except UserError:
            return False
    return True


def parse_segments(
    value: object,
    texts: Mapping[str, str],
    *,
    format: RationaleFormat = "auto",  # noqa: A002
) -> Rationale | None:
    """The marked spans of each text; `texts` maps column names to texts.

    For one text, `value` is its marks. For several, it is an object with the marks by column name, or a list
    with the marks of each text in order; a text that is left out or null has nothing marked.

    >>> parse_segments({"b": [1]}, {"a": "so good", "b": "not bad"})
    ((), ((4, 7),))
    """
    if len(texts) == 1:
        spans = parse_rationale(value, *texts.values(), format=format)
        return None if spans is None else (spans,)
    marks: Any = _from_json(value) if isinstance(value, str) else value
    if is_missing(marks):
        return None
    names = list(texts)
    if isinstance(marks, Mapping):
        for name in marks:
            if name not in names:
                raise UserError(f"rationale: {unknown('text', name, names)}")
        marks = [marks.get(name) for name in names]
    elif not isinstance(marks, list | tuple) or len(marks) != len(names):
        raise UserError(
            f'rationale of {len(names)} texts must be an object like {{"{names[0]}": [0, 3]}} '
            f"or a list of {len(names)}, one for each text, not {short(marks)}"
        )
    return _parse_each(marks, texts, format)


def parse_columns(
    values: Sequence[object],
    texts: Mapping[str, str],
    *,
    format: RationaleFormat = "auto",  # noqa: A002
) -> Rationale | None:
    """The marked spans of several texts, each from its own column; None if all values are missing.

    >>> parse_columns(["[1]", ""], {"a": "so good", "b": "not bad"})
    (((3, 7),), ())
    """
    return None if all(map(is_missing, values)) else _parse_each(values, texts, format)


def _parse_each(values: Sequence[object], texts: Mapping[str, str], form: RationaleFormat) -> Rationale:
    rationale: list[tuple[CharSpan, ...]] = []
    for value, (name, text) in zip(values, texts.items(), strict=True):
        with at(f"'{name}'"):
            rationale.append(parse_rationale(value, text, format=form) or ())
    return tuple(rationale)


def _from_json(value: str) -> object:
    if not value.strip():
        return None
    try:
        return json.loads(value)
    except (ValueError, RecursionError):
        raise UserError(f"rationale {short(value)} is not JSON; write {WAYS}") from None


def _guess_format(marks: Sequence[object], word_count: int) -> RationaleFormat:
    if any(isinstance(mark, list | tuple | Mapping) for mark in marks):
        return "characters"
    if marks and all(isinstance(mark, str) for mark in marks):
        return "phrases"
    if any(isinstance(mark, bool) for mark in marks):
        return "flags"
    zero_one = all(type(mark) is int and mark in (0, 1) for mark in marks)
    repeats = zero_one and len(set(marks)) < len(marks)
    return "flags" if zero_one and (len(marks) == word_count or repeats) else "words"


def _check_span(mark: Any, text: str) -> tuple[CharSpan, ...]:
    """The span as a tuple of one; of none if it is outside its text and such marks are clipped."""
    if isinstance(mark, Mapping) and {"start", "end"} <= mark.keys():
        mark = [mark["start"], mark["end"]]
    is_pair = isinstance(mark, list | tuple) and len(mark) == 2
    if not is_pair or any(type(bound) is not int for bound in mark):  # a bool is an int, but no offset
        raise UserError(f"rationale span {short(mark)} must be [start, end], two whole numbers")
    start, end = mark
    if (start < 0 or end > len(text)) and count_clipped():
        start, end = max(start, 0), min(end, len(text))
        return ((start, end),) if start < end else ()
    if start >= end:
        raise UserError(f"rationale span [{start}, {end}] is empty: start must be less than end")
    if start < 0 or end > len(text):
        raise UserError(f"rationale span [{start}, {end}] is outside its text of {len(text)} characters")
    return ((start, end),)


def _check_offset(mark: Any, text: str) -> tuple[CharSpan, ...]:
    """The span of one character as a tuple of one; of none if it is outside and such marks are clipped."""
    if type(mark) is not int:
        raise UserError(f"rationale offset {short(mark)} must be a whole number")
    if not 0 <= mark < len(text):
        if count_clipped():
            return ()
        raise UserError(f"rationale offset {mark} is outside its text of {len(text)} characters")
    return ((mark, mark + 1),)


def _occurrences(mark: Any, text: str) -> list[CharSpan]:
    """Where a phrase stands in the text: as it is written, or else in any case."""
    if not isinstance(mark, str) or not mark.strip():
        raise UserError(f"rationale phrase {short(mark)} must be a text from the text")
    phrase = r"\s+".join(map(re.escape, mark.split()))
    whole = rf"(?<!\w){phrase}(?!\w)"
    for pattern in (re.compile(whole), re.compile(whole, re.IGNORECASE), re.compile(phrase, re.IGNORECASE)):
        found = [match.span() for match in pattern.finditer(text)]
        if found:
            return found
    raise UserError(f"rationale phrase {short(mark)} is not in its text")


def _indexed_words(marks: Sequence[Any], word_spans: list[CharSpan]) -> list[CharSpan]:
    for mark in marks:
        if type(mark) is not int:
            raise UserError(f"rationale word index {short(mark)} must be a whole number")
        if not 0 <= mark < len(word_spans):
            raise UserError(f"rationale word index {mark} is out of range: the text has {_count(word_spans)}")
    if len(set(marks)) < len(marks):
        raise UserError(f"rationale {short(marks)} gives a word index twice; name each word once")
    return [word_spans[mark] for mark in marks]


def _flagged_words(marks: Sequence[Any], word_spans: list[CharSpan]) -> list[CharSpan]:
    for mark in marks:
        if not isinstance(mark, int) or mark not in (0, 1):
            raise UserError(f"rationale flag {short(mark)} must be 0 or 1")
    if marks and len(marks) != len(word_spans):
        raise UserError(
            f"rationale has {len(marks)} flags, but the text has {_count(word_spans)}; give one a word"
        )
    return [span for span, mark in zip(word_spans, marks, strict=False) if mark]


def _count(word_spans: list[CharSpan]) -> str:
    return f"{len(word_spans)} word{'' if len(word_spans) == 1 else 's'}"
