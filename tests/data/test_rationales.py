"""A rationale means the same characters, however it was written."""

import json
import sys
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from unirex.data.rationales import merge, parse_columns, parse_rationale, parse_segments, words
from unirex.errors import UserError

TEXT = "so very very good"  # words at 0-2, 3-7, 8-12, 13-17


@given(st.text())
def test_words_are_those_of_split(text):
    assert [text[start:end] for start, end in words(text)] == text.split()


def test_every_whitespace_character_is_one_for_words_too():
    odd = [chr(code) for code in range(sys.maxunicode + 1) if chr(code).isspace()]
    assert words("a" + "".join(odd) + "b") == [(0, 1), (1 + len(odd), 2 + len(odd))]


@pytest.mark.parametrize("value", [None, "", "  ", "null", float("nan")])
def test_missing_means_nobody_marked(value):
    assert parse_rationale(value, TEXT) is None


@pytest.mark.parametrize("value", [[], "[]", ()])
@pytest.mark.parametrize("form", ["auto", "characters", "words", "flags"])
def test_empty_list_means_nothing_marked(value, form):
    assert parse_rationale(value, TEXT, format=form) == ()


@pytest.mark.parametrize(
    "value", [[[3, 7], [13, 17]], [1, 3], [3, 1], [0, 1, 0, 1], [False, True, False, True]]
)
def test_three_ways_of_marking_the_same(value):
    assert parse_rationale(value, TEXT) == ((3, 7), (13, 17))
    assert parse_rationale(json.dumps(value), TEXT) == ((3, 7), (13, 17))


def test_spans_are_sorted_and_merged_but_neighbouring_words_stay_two():
    assert parse_rationale([[8, 12], [0, 2], [2, 4], [9, 10], [3, 5]], TEXT) == ((0, 5), (8, 12))
    assert parse_rationale([1, 2], TEXT) == ((3, 7), (8, 12))


@pytest.mark.parametrize(
    ("value", "text", "spans"),
    [
        ([0, 1], "a b", ((2, 3),)),  # as long as the text: flags
        ([0, 1], "a b c", ((0, 1), (2, 3))),  # not: indices
        ([1], "a", ((0, 1),)),
        ([0], "a", ()),
        ([1, 1], "a b", ((0, 1), (2, 3))),
    ],
)
def test_which_lists_are_flags(value, text, spans):
    assert parse_rationale(value, text) == spans


def test_format_decides_where_it_is_given():
    assert parse_rationale([0, 1], "a b", format="words") == ((0, 1), (2, 3))
    assert parse_rationale([1, 0], "a b", format="flags") == ((0, 1),)
    with pytest.raises(UserError, match=r"must be \[start, end\]"):
        parse_rationale([0, 1], "a b", format="characters")
    with pytest.raises(UserError, match="unknown rationale format 'word'; did you mean 'words'"):
        parse_rationale([0, 1], "a b", format="word")


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ([[0, 18]], "outside its text of 17 characters"),
        ([[-1, 2]], "outside its text"),
        ([[3, 3]], "start must be less than end"),
        ([[5, 3]], "start must be less than end"),
        ([[0, 2.0]], "two whole numbers"),
        ([[0, True]], "two whole numbers"),
        ([[0, 1, 2]], "two whole numbers"),
        ([[0, 2], 3], "two whole numbers"),
        ([4], "word index 4 is out of range: the text has 4 words"),
        ([-1], "out of range"),
        ([2, 2], "twice"),
        ([0.5], "must be a whole number"),
        (["good"], "must be a whole number"),
        ([{"start": 0}], "must be a whole number"),
        ([None], "must be a whole number"),
        ([0, 1, 1], "3 flags, but the text has 4 words"),
        ([True, False], "2 flags, but the text has 4 words"),
        ([True, 2, 0, 0], "flag 2 must be 0 or 1"),
        ("good", "is not JSON"),
        ("[" * 100_000, "is not JSON"),
        ("3", "rationale must be character spans"),
        ({"a": 1}, "rationale must be character spans"),
        (7, "rationale must be character spans"),
    ],
)
def test_mistakes_are_named(value, message):
    with pytest.raises(UserError, match=message):
        parse_rationale(value, TEXT)


JSONISH = st.recursive(
    st.none() | st.booleans() | st.integers(-3, 30) | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=5) | st.dictionaries(st.text(max_size=2), inner, max_size=2),
)


@given(JSONISH, st.text(max_size=20), st.sampled_from(["auto", "characters", "words", "flags"]))
def test_anything_gives_spans_in_the_text_or_a_user_error(value, text, form):
    try:
        spans = parse_rationale(value, text, format=form)
    except UserError:
        return
    assert spans is None or all(0 <= start < end <= len(text) for start, end in spans)


@given(st.lists(st.tuples(st.integers(0, 30), st.integers(1, 9)).map(lambda one: (one[0], sum(one)))))
def test_merging_keeps_every_character_and_leaves_gaps(spans):
    merged = merge(spans)
    covered = {place for start, end in spans for place in range(start, end)}
    assert {place for start, end in merged for place in range(start, end)} == covered
    assert all(left[1] < right[0] for left, right in pairwise(merged))


@given(st.text(min_size=1), st.data())
def test_flags_and_indices_agree(text, data):
    flags = data.draw(st.lists(st.booleans(), min_size=len(words(text)), max_size=len(words(text))))
    indices = [index for index, flag in enumerate(flags) if flag]
    assert parse_rationale(flags, text, format="flags") == parse_rationale(indices, text, format="words")


PAIR = {"premise": "so very good", "hypothesis": "not bad"}


@pytest.mark.parametrize(
    ("value", "spans"),
    [
        (None, None),
        ("", None),
        ({"premise": [2], "hypothesis": [0, 1]}, (((8, 12),), ((4, 7),))),  # two words: flags
        ({"hypothesis": [[0, 3]]}, ((), ((0, 3),))),
        ({"premise": None, "hypothesis": []}, ((), ())),
        ({}, ((), ())),
        ([[2], None], (((8, 12),), ())),
        ([[[0, 2]], [True, False]], (((0, 2),), ((0, 3),))),
        ([None, None], ((), ())),
    ],
)
def test_several_texts_by_name_or_in_order(value, spans):
    assert parse_segments(value, PAIR) == spans
    if isinstance(value, list | dict):
        assert parse_segments(json.dumps(value), PAIR) == spans


def test_one_text_is_marked_as_ever():
    assert parse_segments([1], {"text": TEXT}) == (((3, 7),),)
    assert parse_segments(None, {"text": TEXT}) is None
    with pytest.raises(UserError, match="rationale must be character spans"):
        parse_segments({"text": [1]}, {"text": TEXT})


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ({"premiss": [0]}, "rationale: unknown text 'premiss'; did you mean 'premise'"),
        ([[0], [1], [2]], 'of 2 texts must be an object like .*"premise".* or a list of 2'),
        (3, "of 2 texts must be an object"),
        ([0, 1], "'premise': rationale must be"),
        ({"hypothesis": [[0, 99]]}, r"'hypothesis': rationale span \[0, 99\] is outside its text of 7"),
        ("{", "is not JSON"),
    ],
)
def test_mistakes_in_several_texts(value, message):
    with pytest.raises(UserError, match=message):
        parse_segments(value, PAIR)


def test_a_cell_for_each_text():
    assert parse_columns(["[2]", "[[0, 3]]"], PAIR) == (((8, 12),), ((0, 3),))
    assert parse_columns([None, [1]], PAIR, format="words") == ((), ((4, 7),))
    assert parse_columns(["", float("nan")], PAIR) is None
    with pytest.raises(UserError, match="'hypothesis': rationale word index 9"):
        parse_columns([None, [9]], PAIR)
