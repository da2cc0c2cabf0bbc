"""Marks are found again whichever way a tool counts; several people's become one, character by character."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from unirex.data.annotators import AnnotatorAnswer, agree, combine
from unirex.data.formats.annotation import char_spans, check_offsets, guess_unit, unit_matters
from unirex.data.validate import collecting
from unirex.errors import UserError

EMOJI = "so 😀 good"  # characters: 😀 at 3, "good" 5 to 9; UTF-16: 😀 at 3 to 5, "good" 6 to 10


def units(text):
    return len(text.encode("utf-16-le")) // 2


def test_spans_by_hand():
    assert char_spans([[5, 9]], EMOJI, unit="characters") == ((5, 9),)
    assert char_spans([[6, 10]], EMOJI, unit="utf-16") == ((5, 9),)
    assert char_spans([[3, 5]], EMOJI, unit="utf-16") == ((3, 4),)


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
        char_spans([pair], EMOJI, unit="utf-16")


def test_the_unit_in_which_marks_keep_to_words():
    assert guess_unit([([[6, 10]], EMOJI)], otherwise="characters") == "utf-16"
    assert guess_unit([([[5, 9]], EMOJI)], otherwise="utf-16") == "characters"
    assert (
        guess_unit([([[6, 10], [0, 2]], EMOJI), ([[5, 8]], "it is bad")], otherwise="characters") == "utf-16"
    )
    for otherwise in ("characters", "utf-16"):
        assert guess_unit([([[0, 2]], EMOJI), ([[1, 2]], "plain")], otherwise=otherwise) == otherwise


def test_an_impossible_reading_loses():
    assert guess_unit([([[4, 8]], EMOJI)], otherwise="utf-16") == "characters"  # 4 is half a surrogate pair
    assert guess_unit([([[7, 10]], EMOJI)], otherwise="characters") == "utf-16"  # 10 is beyond the characters


def test_unknown_ways():
    with pytest.raises(UserError, match=r"unknown way to count offsets 'utf16'; did you mean 'utf-16'"):
        check_offsets("utf16")


# Several people

TEXT = "0123456789"
HOWS = ("union", "majority", "intersection")


def one(*spans):
    return (tuple(spans),)


@pytest.mark.parametrize(
    ("markings", "union", "majority", "intersection"),
    [
        ([one((2, 5))], [(2, 5)], [(2, 5)], [(2, 5)]),
        ([one((0, 4)), one((2, 6))], [(0, 6)], [(2, 4)], [(2, 4)]),  # half is not more than half
        ([one((0, 4)), one((2, 6)), one((3, 9))], [(0, 9)], [(2, 6)], [(3, 4)]),
        ([one((0, 2)), one((2, 4))], [(0, 4)], [], []),  # touching spans share no character
        ([one((0, 3), (6, 9)), one((0, 3)), one()], [(0, 3), (6, 9)], [(0, 3)], []),
        ([one(), one()], [], [], []),
        ([one((0, 5), (3, 8)), one((4, 6))], [(0, 8)], [(4, 6)], [(4, 6)]),  # nobody has two votes
        ([one((1, 2)), one((1, 2)), one((5, 6)), one((5, 6))], [(1, 2), (5, 6)], [], []),
    ],
)
def test_by_hand(markings, union, majority, intersection):
    for how, expected in zip(HOWS, (union, majority, intersection), strict=True):
        assert combine(markings, how, [TEXT]) == (tuple(expected),)


def test_segments_are_combined_each_by_itself():
    markings = [(((0, 2),), ()), (((1, 3),), ((0, 1),))]
    assert combine(markings, "union", ["abc", "d"]) == (((0, 3),), ((0, 1),))
    assert combine(markings, "intersection", ["abc", "d"]) == (((1, 2),), ())


def spans(length):
    pair = st.tuples(st.integers(0, length - 1), st.integers(1, length)).filter(
        lambda span: span[0] < span[1]
    )
    return st.lists(pair, max_size=5).map(tuple)


@given(st.lists(st.tuples(spans(12), spans(7)), min_size=1, max_size=6))
def test_character_exact(markings):
    segments = ("x" * 12, "y" * 7)
    found = {how: combine(markings, how, segments) for how in HOWS}
    for number, text in enumerate(segments):
        votes = [
            sum(any(start <= place < end for start, end in marking[number]) for marking in markings)
            for place in range(len(text))
        ]
        needed = {"union": 1, "majority": len(markings) / 2 + 0.5, "intersection": len(markings)}
        for how in HOWS:
            marked = {place for start, end in found[how][number] for place in range(start, end)}
            assert marked == {place for place, vote in enumerate(votes) if vote >= needed[how]}
            borders = [border for span in found[how][number] for border in span]
            assert borders == sorted(set(borders))  # in order, nothing empty, nothing touching
    if len(markings) == 1:
        assert len(set(found.values())) == 1


def test_what_cannot_be_combined():
    with pytest.raises(UserError, match=r"unknown way to combine annotators 'most'\. Known: union, majority"):
        combine([one()], "most", [TEXT])
    with pytest.raises(UserError, match="no annotator marked"):
        combine([], "union", [TEXT])
    with pytest.raises(UserError, match="the same 1 segments"):
        combine([((), ())], "union", [TEXT])


def agreed(*annotations, how="union"):
    return agree(annotations, how=how, segments=[TEXT], place="here")


def test_the_label_most_gave_and_their_marks():
    with collecting() as problems:
        label, rationale, groups, votes = agreed(
            AnnotatorAnswer("ann", "good", one((0, 2))),
            AnnotatorAnswer("bob", "bad", one((7, 9))),
            AnnotatorAnswer("cy", "good", one((1, 4))),
        )
    assert (label, rationale) == ("good", one((0, 4)))
    assert groups == (one((0, 2)), one((1, 4))) and votes == ("good", "bad", "good")
    assert problems == ["here: bob chose 'bad', most chose 'good': the marks are left out"]


def test_marks_of_somebody_who_gave_no_label_count():
    found = agreed(AnnotatorAnswer("ann", "good"), AnnotatorAnswer("bob", None, one((0, 2))))
    assert found == ("good", one((0, 2)), (), ())


def test_nobody_marked_is_not_nothing_marked():
    assert agreed(AnnotatorAnswer("ann", "good")).rationale is None
    assert agreed(AnnotatorAnswer("ann", "good", one())).rationale == one()
    both = agreed(
        AnnotatorAnswer("ann", "good", one()), AnnotatorAnswer("bob", "good", one((0, 1))), how="intersection"
    )
    assert both.rationale == one()


def test_a_tie_is_a_mistake_unless_decided():
    ann, bob = AnnotatorAnswer("ann", "good", one((0, 1))), AnnotatorAnswer("bob", "bad", one((1, 2)))
    with pytest.raises(UserError, match=r"do not agree on a label \(ann 'good', bob 'bad'\); settle it"):
        agreed(ann, bob)
    decided = agreed(ann, AnnotatorAnswer("bob", "bad", one((1, 2)), decisive=True))
    assert decided == ("bad", one((1, 2)), (), ("good", "bad"))
    with pytest.raises(UserError, match="do not agree"):  # 1 and True are two labels
        agreed(AnnotatorAnswer("ann", 1), AnnotatorAnswer("bob", True))
