"""Parse rationales (character spans, word indices or flags) into character spans, and merge spans."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from reprlib import repr as short
from typing import Any, Literal, get_args

from unirex.data.example import CharSpan, Rationale
from unirex.data.validate import at, is_missing
from unirex.errors import UserError, unknown

RationaleFormat = Literal["auto", "characters", "words", "flags"]

WORD = re.compile(r"\S+")  # \s is str.isspace, so these are the words of str.split()
WAYS = "character spans [[start, end], ...], word indices [0, 3], or one 0/1 per word"


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

    A string is read as JSON. The spans come out sorted, with overlapping or touching ones merged.
    How "auto" reads a list that is not empty:

    1. a list holding lists is character spans;
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
    """
    if format not in get_args(RationaleFormat):
        raise unknown("rationale format", format, get_args(RationaleFormat))
    marks = _from_json(value) if isinstance(value, str) else value
    if is_missing(marks):
        return None
    if not isinstance(marks, list | tuple):
        raise UserError(f"rationale must be {WAYS}, not {short(marks)}")
    word_spans = words(text)
    if format == "auto":
        format = _guess_format(marks, len(word_spans))  # noqa: A001
    if format == "characters":
        return merge(_check_span(mark, text) for mark in marks)
    if format == "words":
        return merge(_indexed_words(marks, word_spans))
    return merge(_flagged_words(marks, word_spans))


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
    if any(isinstance(mark, list | tuple) for mark in marks):
        return "characters"
    if any(isinstance(mark, bool) for mark in marks):
        return "flags"
    zero_one = all(type(mark) is int and mark in (0, 1) for mark in marks)
    repeats = zero_one and len(set(marks)) < len(marks)
    return "flags" if zero_one and (len(marks) == word_count or repeats) else "words"


def _check_span(mark: Any, text: str) -> CharSpan:
    is_pair = isinstance(mark, list | tuple) and len(mark) == 2
    if not is_pair or any(type(bound) is not int for bound in mark):  # a bool is an int, but no offset
        raise UserError(f"rationale span {short(mark)} must be [start, end], two whole numbers")
    start, end = mark
    if start >= end:
        raise UserError(f"rationale span [{start}, {end}] is empty: start must be less than end")
    if start < 0 or end > len(text):
        raise UserError(f"rationale span [{start}, {end}] is outside its text of {len(text)} characters")
    return start, end


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
