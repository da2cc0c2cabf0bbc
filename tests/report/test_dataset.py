"""Examples as people marked them: every character arrives, none is obeyed, groups are told apart."""

from dataclasses import replace
from io import StringIO

from hypothesis import given
from hypothesis import strategies as st
from page_reader import Page
from rich.console import Console

from unirex.data.example import Example
from unirex.report.dataset import example_page, example_pieces, render_example
from unirex.report.marked_text import TextPiece

EVIL = """<script>alert("x")</script> '"><img onerror=x> &amp; [bold]x[/bold] \x1b[31m"""
FILM = Example("r-1", ("a superb film",), "pos", (((2, 8),),))
TWO = replace(FILM, rationale=(((2, 13),),), groups=((((2, 8),),), (((2, 5), (9, 13)),)))
ASKED = Example("q", ("where is it?",), "B", (((0, 5),),), choices=("sea", "sky"))


def page(*examples):
    return Page(example_page(examples, title="films, train"))


def printed(example, width=80):
    console = Console(width=width, file=StringIO())
    console.print(render_example(example))
    return console.file.getvalue()


@st.composite
def wild(draw):
    """A text of any characters, with marks anywhere in it, overlapping or out of bounds."""
    segments = tuple(draw(st.lists(st.text(max_size=20), min_size=1, max_size=3)))
    span = st.tuples(st.integers(-2, 25), st.integers(-2, 25))
    rationale = st.tuples(*(st.lists(span, max_size=4).map(tuple) for _ in segments))
    groups = st.lists(rationale, max_size=3).map(tuple)
    gold = draw(st.none() | rationale)
    return Example(draw(st.text()), segments, draw(st.text()), gold, groups=draw(groups))


@given(wild())
def test_any_example_is_shown_with_its_text_exactly(example):
    assert printed(example)
    segments = ["".join(piece.text for piece in pieces) for pieces in example_pieces(example)]
    assert segments == list(example.segments)
    alone = replace(example, groups=())  # numbers of groups stand beside the text
    assert page(alone).texts("p", "text") == segments
    assert page(alone).texts("span", "id") == [example.id]


def test_markup_in_the_data_is_shown_and_not_obeyed():
    evil = Example(EVIL, (EVIL, EVIL), "A", (((0, 8),), ()), choices=(EVIL, EVIL))
    for example in (evil, replace(evil, choices=None, label=EVIL)):
        shown = page(example)
        assert shown.texts("p", "text") == [EVIL, EVIL] and shown.harmless
        assert "\x1b" not in printed(example) and "[bold]x[/bold]" in printed(example, width=200)


def test_gold_is_marked_on_the_page_and_in_plain_words():
    assert page(FILM).texts("span", "gold-mark")[1:] == ["superb"]  # the first is in the key
    assert page(FILM).texts("span", "gold-chip") == ["pos"]
    assert "gold: superb" in printed(FILM) and "pos · r-1" in printed(FILM)


def test_groups_are_told_apart():
    assert example_pieces(TWO) == [
        [
            TextPiece("a "),
            TextPiece("sup", gold=True, groups=(1, 2)),
            TextPiece("erb", gold=True, groups=(1,)),
            TextPiece(" ", gold=True),
            TextPiece("film", gold=True, groups=(2,)),
        ]
    ]
    shown = page(TWO)
    assert shown.texts("sup")[1:] == ["1,2", "1", "2"]
    titles = [attributes.get("title") for _, attributes, _ in shown.elements]
    assert list(filter(None, titles)) == ["group 1, 2", "group 1", "group 2"]
    assert "group 1: superb" in printed(TWO) and "group 2: sup · film" in printed(TWO)


def test_one_group_is_nothing_to_tell_apart():
    alone = replace(FILM, groups=(FILM.rationale,))
    assert example_pieces(alone) == example_pieces(FILM) and not page(alone).texts("sup")


def test_the_right_choice_is_marked():
    shown = page(ASKED)
    assert shown.texts("li")[-2:] == ["A  sea", "B  sky  ✓ right"]
    assert shown.texts("span", "right") == ["sky", "  ✓ right"]
    assert "A  sea " in printed(ASKED) and "B  sky  ✓" in printed(ASKED)


def test_nobody_looked_is_not_nothing_found():
    assert "not annotated" in printed(replace(FILM, rationale=None))
    assert "No word of this text was marked" in printed(replace(FILM, rationale=((),)))
    assert page(replace(FILM, rationale=None)).texts("p", "fine") == ["This text is not annotated."]


def test_the_page_asks_nothing_of_the_network():
    html = example_page([TWO, ASKED], title="t")
    assert "http" not in html.replace("http-equiv", "") and "<script" not in html
