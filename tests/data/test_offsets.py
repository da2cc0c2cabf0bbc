"""Marks are found again whichever way a tool counts."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from unirex.data.formats.offsets import char_spans, check_offsets, guess_unit, unit_matters
from unirex.errors import UserError

TEXT = "so 😀 good"  # characters: 😀 at 3, "good" 5 to 9; UTF-16: 😀 at 3 to 5, "good" 6 to 10


def units(text):
    return len(text.encode("utf-16-le")) // 2


def test_by_hand():
    assert char_spans([[5, 9]], TEXT, unit="characters") == ((5, 9),)
    assert char_spans([[6, 10]], TEXT, unit="utf-16") == ((5, 9),)
    assert char_spans([[3, 5]], TEXT, unit="utf-16") == ((3, 4),)


@given(st.text(st.characters(codec="utf-8"), min_size=1), st.data())
def test_any_span_survives(text, data):
    start = data.draw(st.integers(0, len(text) - 1))
    end = data.draw(st.integers(start + 1, len(text)))
    pair = [units(text[:start]), units(text[:end])]
    assert char_spans([pair], text, unit="utf-16") == ((start, end),)
    assert unit_matters(text) == (units(text) != len(text))


@pytest.mark.parametrize(
    ("pair", "message"),
    [
        ([4, 6], "offset 4 is in the middle of a character"),
        ([0, 11], "offset 11 is outside its text of 10 UTF-16 code units"),
        ([-1, 3], "offset -1 is outside"),
        ([3, 3], "is empty"),
        (["0", 3], "two whole numbers"),
        ([True, 3], "two whole numbers"),
        ([None, None], "two whole numbers"),
        ([0.0, 3], "two whole numbers"),
    ],
)
def test_what_is_no_place(pair, message):
    with pytest.raises(UserError, match=message):
        char_spans([pair], TEXT, unit="utf-16")


def test_the_unit_in_which_marks_keep_to_words():
    assert guess_unit([([[6, 10]], TEXT)], otherwise="characters") == "utf-16"
    assert guess_unit([([[5, 9]], TEXT)], otherwise="utf-16") == "characters"
    assert (
        guess_unit([([[6, 10], [0, 2]], TEXT), ([[5, 8]], "it is bad")], otherwise="characters") == "utf-16"
    )
    for otherwise in ("characters", "utf-16"):
        assert guess_unit([([[0, 2]], TEXT), ([[1, 2]], "plain")], otherwise=otherwise) == otherwise


def test_an_impossible_reading_loses():
    assert guess_unit([([[4, 8]], TEXT)], otherwise="utf-16") == "characters"  # 4 is half a surrogate pair
    assert guess_unit([([[7, 10]], TEXT)], otherwise="characters") == "utf-16"  # 10 is beyond the characters


def test_unknown_ways():
    with pytest.raises(UserError, match=r"unknown way to count offsets 'utf16'; did you mean 'utf-16'"):
        check_offsets("utf16")
