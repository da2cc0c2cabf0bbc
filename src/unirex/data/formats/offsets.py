"""Where an annotation tool says that marks stand, as characters of Python's strings.

Python counts characters (Unicode code points). A tool that runs in a browser may count UTF-16 code units, as
JavaScript does; then each character above U+FFFF (most emoji, for one) counts twice, and every mark behind it
is off by one. The two differ in no other text.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Literal, get_args

from unirex.data.example import CharSpan
from unirex.data.rationales import parse_rationale, words
from unirex.errors import UserError, unknown

Unit = Literal["characters", "utf-16"]
Offsets = Literal["auto", "characters", "utf-16"]
Pair = Sequence[object]  # start and end as the tool wrote them


def check_offsets(offsets: str) -> None:
    """There is such a way to count."""
    if offsets not in get_args(Offsets):
        raise unknown("way to count offsets", offsets, get_args(Offsets))


def differs(text: str) -> bool:
    """Whether it matters for a text how its offsets were counted.

    >>> differs("déjà vu"), differs("fine 😀")
    (False, True)
    """
    return not text.isascii() and max(text) > "\uffff"


def char_spans(pairs: Sequence[Pair], text: str, *, unit: Unit) -> tuple[CharSpan, ...]:
    """The marks as character spans, in order, with overlapping or touching ones merged.

    >>> char_spans([[3, 7]], "😀 good", unit="utf-16")
    ((2, 6),)
    """
    return parse_rationale(in_characters(pairs, text, unit=unit), text, format="characters") or ()


def in_characters(pairs: Sequence[Pair], text: str, *, unit: Unit) -> list[list[object]]:
    """The same pairs counted in characters; what is no number is left for the parser to tell."""
    if unit == "characters" or not differs(text):
        return [list(pair) for pair in pairs]
    places = _places(text)
    return [[_place(bound, places) for bound in pair] for pair in pairs]


def find_unit(marked: Iterable[tuple[Sequence[Pair], str]], *, otherwise: Unit) -> Unit:
    """How a file counts, if nothing in it says so: the way in which more marks begin and end with a word.

    Only texts for which it matters are asked; `otherwise` answers where they speak for neither.
    """
    fits: dict[Unit, int] = {"characters": 0, "utf-16": 0}
    for pairs, text in marked:
        if differs(text):
            for unit in fits:
                fits[unit] += _fit(pairs, text, unit)
    return otherwise if len(set(fits.values())) == 1 else max(fits, key=lambda unit: fits[unit])


def _fit(pairs: Sequence[Pair], text: str, unit: Unit) -> int:
    """How many marks begin where a word does, and end where one does; one that cannot be counts against."""
    starts, ends = ({span[side] for span in words(text)} for side in (0, 1))
    fit = 0
    for pair in pairs:
        try:
            spans = char_spans([pair], text, unit=unit)
        except UserError:
            fit -= 2
        else:
            fit += sum((start in starts) + (end in ends) for start, end in spans)
    return fit


def _places(text: str) -> list[int | None]:
    """For each UTF-16 offset the character that begins there; None in the middle of one."""
    places: list[int | None] = []
    for number, character in enumerate(text):
        places += [number, None] if character > "\uffff" else [number]
    return [*places, len(text)]


def _place(bound: object, places: Sequence[int | None]) -> object:
    if type(bound) is not int:
        return bound
    if not 0 <= bound < len(places):
        raise UserError(f"offset {bound} is outside its text of {len(places) - 1} UTF-16 code units")
    if places[bound] is None:
        raise UserError(
            f"offset {bound} is in the middle of a character of two UTF-16 code units; "
            "if offsets are counted in characters, say offsets='characters'"
        )
    return places[bound]
