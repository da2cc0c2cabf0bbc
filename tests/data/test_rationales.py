"""A rationale means the same characters, however it was written."""

import json
import sys
from itertools import pairwise
from typing import get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from unirex.data.rationales import (
    Marks,
    RationaleFormat,
    decide_marks,
    merge,
    parse_columns,
    parse_rationale,
    parse_segments,
    read_tags,
    words,
)
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
        (["bad"], "phrase 'bad' is not in its text"),
        (["good", 1], "must be a whole number"),
        ([{"start": 0}], "two whole numbers"),
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


@given(JSONISH, st.text(max_size=20), st.sampled_from(get_args(RationaleFormat)))
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


MARKED = {  # "very" and "good" of TEXT, written in every way
    "characters": [[3, 7], [13, 17]],
    "offsets": [3, 4, 5, 6, 13, 14, 15, 16],
    "words": [1, 3],
    "flags": [0, 1, 0, 1],
    "phrases": ["good"],
}


@pytest.mark.parametrize("form", MARKED)
@pytest.mark.parametrize("several", [False, True])
def test_the_format_is_decided_from_all_values(form, several):
    """One value alone may be read in several ways, and some mark nothing."""
    values = [MARKED[form], [], None, ["so"] if form == "phrases" else MARKED[form]]
    if several:
        values = [[value, value, []] for value in values if value]
        values += [[[0, 1, 3], [2]]] if form == "words" else []  # lists of two alone are character spans
    assert decide_marks((value, TEXT) for value in values) == Marks(form, several)
    assert decide_marks((json.dumps(value), TEXT) for value in values) == Marks(form, several)


def test_a_list_of_zero_and_one_is_what_the_rest_of_the_file_is():
    lone = ([0, 1], "so good")
    assert decide_marks([lone]).format == "flags"
    assert decide_marks([lone, ([2, 0], TEXT), ([3], TEXT)]).format == "words"
    assert decide_marks([lone, ([0, 1, 1, 0], TEXT)]).format == "flags"


def test_a_single_wrong_value_does_not_change_how_a_file_is_read():
    assert decide_marks([*[([1, 3], TEXT)] * 3, ([1, 9], TEXT)]).format == "words"
    assert decide_marks([*[([[0, 2]], TEXT)] * 3, ([[0, 99]], TEXT)]).format == "characters"
    assert decide_marks([([0, 1], "so good"), ([], TEXT)], format="words") == Marks("words")
    assert decide_marks([]) == decide_marks([(None, TEXT), ("7", TEXT)]) == Marks()


@pytest.mark.parametrize(
    ("text", "clean", "spans"),
    [
        ("a <em>b</em> c", "a b c", ((2, 3),)),
        ("<b class='x'>a</b><mark>b</mark>", "ab", ((0, 2),)),
        ("**a b** ** c", "a b ** c", ((0, 3),)),
        ("<em>a <b>b</b></em> c", "a b c", ((0, 3),)),
        ("2 < 3 and 4 > 1, <br> <em>", "2 < 3 and 4 > 1, <br> <em>", ()),
        ("<em> </em>x", " x", ()),
    ],
)
def test_tags_in_the_text(text, clean, spans):
    assert read_tags(text) == (clean, spans)


@given(st.text(alphabet="ab *<>/em", max_size=30))
def test_any_tagged_text_gives_spans_in_it(text):
    clean, spans = read_tags(text)
    assert all(0 <= start < end <= len(clean) for start, end in spans)


def test_phrases_are_found_as_whole_words_in_any_case():
    text = "Not bad, not a bad film: badly bad."
    assert parse_rationale(["bad"], text) == ((4, 7), (15, 18), (31, 34))
    assert parse_rationale(["NOT  a"], text) == ((9, 14),)
    assert parse_rationale("not bad", text, format="phrases") == ((0, 7),)
    assert parse_rationale(["adl"], text) == ((26, 29),)
