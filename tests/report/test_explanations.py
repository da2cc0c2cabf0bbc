"""Explanations on a page and in a terminal: every character of the text arrives, and none is ever obeyed."""

import io
import re
from dataclasses import replace
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st
from page_reader import Page
from rich.console import Console
from sample_explanations import explanation

from unirex.explanation import Word
from unirex.report import explanation_page, print_explanation

EVIL = """<script>alert("x")</script> '"><img onerror=x> &amp; </p></body>"""
REVIEW = explanation(
    "a  witty ,\tgorgeous film",
    scores=[-0.4, 0.6, 0.0, 0.9, 0.4],
    gold=["gorgeous"],
    gold_label="pos",
    id="r-1",
)


def read(*explanations, title="t"):
    return Page(explanation_page(explanations, title=title))


def printed(one, **settings):
    out = io.StringIO()
    print_explanation(one, Console(file=out, width=100, **settings))
    return out.getvalue()


# ---- In both ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("gold_label", "on_page", "in_terminal"),
    [("pos", "✓ correct", "✓ correct"), ("neg", "✗ wrong", "✗ wrong, gold neg"), (None, None, None)],
)
def test_right_and_wrong_are_said_only_when_known(gold_label, on_page, in_terminal):
    one = replace(REVIEW, gold_label=gold_label)
    page, out = explanation_page([one], title="t"), printed(one)
    assert [word for word in ("✓ correct", "✗ wrong") if word in page] == ([on_page] if on_page else [])
    assert in_terminal in out if in_terminal else "✓" not in out and "✗" not in out


def test_truncation_and_budget_are_told():
    for show in (printed, lambda one: explanation_page([one], title="t")):
        assert "1 token was not read" in show(replace(REVIEW, truncated=1))
        assert "7 tokens were not read" in show(replace(REVIEW, truncated=7))
        assert "not read" not in show(REVIEW) and "20 % of the tokens" in show(REVIEW)


def test_reasons_for_several_labels_are_of_one_text():
    reasons = [replace(REVIEW, target=label) for label in ("pos", "neg")]
    page = read(*reasons, REVIEW)
    titles = ["".join(texts).strip() for tag, _, texts in page.elements if tag == "h2"]
    assert titles == ["Text 1: reasons for posr-1", "Text 1: reasons for negr-1", "Text 2r-1"]
    assert "2 texts, 3 explanations" in "".join(page.elements[0][2])


def test_gold_is_shown_when_known_and_silence_is_not_nothing():
    assert read(REVIEW).texts("span", "gold-mark")[-1] == "gorgeous"
    unknown, nothing = replace(REVIEW, gold_spans=None), replace(REVIEW, gold_spans=())
    assert "This text is not annotated." in explanation_page([unknown], title="t")
    assert "This text is not annotated." not in explanation_page([nothing], title="t")
    assert "No word of this text was marked" in explanation_page([nothing], title="t")
    assert "gold" not in "".join(read(explanation("x")).texts("main"))
    assert "gold rationale" not in printed(unknown) and "gold rationale: nothing" in printed(nothing)


@pytest.mark.parametrize("labels", [(False, True), (0, 1)])
def test_labels_may_be_of_any_type(labels):
    chances = dict(zip(labels, (0.25, 0.75), strict=True))
    one = explanation("", label=labels[1], probabilities=chances, gold_label=labels[1])
    page, out = read(one), printed(one)
    assert page.texts("dt") == [str(label) for label in labels]
    assert page.texts("span", "value") == ["25.0 %", "75.0 %"]
    assert page.texts("span", "chip")[0] == str(labels[1])
    assert str(labels[1]) in out and "75.0 %" in out and "rationale, 20 % of the tokens: nothing" in out


# ---- On a page --------------------------------------------------------------------------------------------


@st.composite
def wild(draw):
    """A text of any characters, with words of any scores anywhere in it, overlapping or out of bounds."""
    segments = tuple(draw(st.lists(st.text(max_size=30), min_size=1, max_size=3)))
    place = st.integers(0, 35)
    made = st.builds(Word, place, place, st.just("?"), st.floats(), st.booleans(), st.integers(0, 3))
    return replace(explanation(*segments), words=tuple(draw(st.lists(made, max_size=8))), gold_spans=None)


@given(wild())
def test_the_text_on_the_page_is_the_text_exactly(one):
    assert read(one).texts("p", "text") == list(one.segments)


@given(st.text())
def test_data_is_text_wherever_it_enters(text):
    one = explanation("a film", label=text, probabilities={text: 1.0}, id=text, gold_label=text)
    page = read(one, title=text)
    assert page.texts("h1") == [text] and page.texts("dt") == [text]


def test_markup_in_the_data_is_shown_and_not_obeyed():
    one = explanation(EVIL, scores=[1.0], label=EVIL, probabilities={EVIL: 1.0}, gold=["<script>"], id=EVIL)
    page = read(one, title=EVIL)
    assert page.texts("p", "text") == [EVIL] and page.harmless


def test_a_lone_surrogate_does_not_stop_the_page_from_being_written():
    page = explanation_page([explanation("a\ud800b")], title="t")
    assert "a\N{REPLACEMENT CHARACTER}b" in page.encode().decode()


def test_marks_are_on_words_only():
    page = read(REVIEW)
    marked = ["".join(text) for tag, a, text in page.elements if tag in ("mark", "span") and "title" in a]
    assert marked == ["witty", "gorgeous", "film"]
    assert page.texts("mark")[-2:] == ["witty", "gorgeous"]
    assert page.texts("mark", "s8") == ["gorgeous"] and page.texts("mark", "s5") == ["witty"]


def test_a_selected_word_without_a_positive_score_is_underlined_and_not_shaded():
    one = replace(REVIEW, words=(Word(0, 1, "a", -0.5, True),))
    assert '<mark title="score -0.5">a</mark>' in explanation_page([one], title="t")


def test_segments_are_paragraphs_of_their_own_and_find_their_direction():
    page = read(explanation("premise", "השערה", scores=[0.0, 1.0]))
    assert page.texts("p", "text") == ["premise", "השערה"] and page.texts("mark")[-1] == "השערה"
    assert all(a["dir"] == "auto" for tag, a, _ in page.elements if a.get("class") == "text")


def test_of_many_labels_the_likeliest_are_shown():
    one = explanation("x", label=9, probabilities={label: label / 45 for label in range(10)})
    assert read(one).texts("dt") == ["9", "8", "7", "6", "5", "5 more"]


def test_empty_pages_are_still_pages():
    assert read().texts("h1") == ["t"]


def test_a_page_stands_alone_and_forbids_everything_but_its_style():
    page = explanation_page([REVIEW] * 2, title="t")
    assert not re.search(r"https?://|\bsrc=|\bhref=|@import|url\(|<script", page)
    assert "default-src &#x27;none&#x27;; style-src &#x27;unsafe-inline&#x27;" in page
    assert '<html lang="en">' in page


def test_headings_never_skip_a_level():
    tags = [tag for tag, _, _ in read(REVIEW, REVIEW).elements]
    levels = [int(tag[1]) for tag in tags if re.fullmatch(r"h[1-6]", tag)]
    assert levels[0] == 1 and levels.count(1) == 1
    assert all(after <= before + 1 for before, after in pairwise(levels))


# ---- In a terminal ----------------------------------------------------------------------------------------


def test_markup_in_the_text_is_literal_in_every_place():
    evil = "[bold]x[/bold] [link=file:///]y :smile:"
    one = explanation(evil, label=evil, probabilities={evil: 1.0}, gold=["[bold]x"], gold_label=evil, id=evil)
    assert printed(one).count(evil) >= 4


def test_escape_sequences_become_pictures():
    evil = "\x1b[2Jgone\x07\x9b31m\u202eabc\rX"
    one = explanation(evil, scores=[1.0], label=evil, probabilities={evil: 1.0}, gold=[evil], id=evil)
    out = printed(replace(one, gold_label=evil))
    assert not set("\x1b\x07\x9b\u202e\r") & set(out)
    assert "␛[2Jgone␇" in out


def test_selected_words_are_bold_and_underlined_on_a_graded_background():
    out = printed(REVIEW, force_terminal=True, color_system="truecolor", legacy_windows=False)
    assert "\x1b[1;3;4;38;2;28;27;26;48;2;245;176;39mgorgeous\x1b[0m" in out
    assert "48;2;245;176;39mfilm" not in out and "mfilm\x1b[0m" in out
    assert "a  \x1b" in out  # no look for words that speak against the label


def test_without_colour_the_rationale_is_still_named():
    out = printed(REVIEW)
    assert "rationale, 20 % of the tokens: witty · gorgeous" in out
    assert "gold rationale: gorgeous" in out
    assert "93.1 %" in out and "\x1b" not in out
