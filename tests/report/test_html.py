"""Pages: every character of the text arrives, and none of it is ever obeyed."""

import re
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from page_reader import Page
from sample_explanations import explanation

from unirex.explanation import Word
from unirex.report import explanation_page
from unirex.report import marked_text as shades

EVIL = """<script>alert("x")</script> '"><img onerror=x> &amp; </p></body>"""
REVIEW = explanation(
    "a  witty ,\tgorgeous film", scores=[-0.4, 0.6, 0.0, 0.9], gold=["gorgeous"], gold_label="pos", id="r-1"
)


@st.composite
def wild(draw):
    """A text of any characters, with words of any scores anywhere in it, overlapping or out of bounds."""
    segments = tuple(draw(st.lists(st.text(max_size=30), min_size=1, max_size=3)))
    place = st.integers(0, 35)
    made = st.builds(Word, place, place, st.just("?"), st.floats(), st.booleans(), st.integers(0, 3))
    return replace(explanation(*segments), words=tuple(draw(st.lists(made, max_size=8))), gold_spans=None)


@given(wild())
def test_the_text_on_the_page_is_the_text_exactly(one):
    assert Page(explanation_page([one], title="t")).texts("p", "text") == list(one.segments)


@given(st.text())
def test_data_is_text_wherever_it_enters(text):
    one = explanation("a film", label=text, probabilities={text: 1.0}, id=text, gold_label=text)
    page = Page(explanation_page([one], title=text))
    assert page.texts("h1") == [text] and page.texts("dt") == [text]


def test_markup_in_the_data_is_shown_and_not_obeyed():
    one = explanation(EVIL, scores=[1.0], label=EVIL, probabilities={EVIL: 1.0}, gold=["<script>"], id=EVIL)
    page = explanation_page([one], title=EVIL)
    assert Page(page).texts("p", "text") == [EVIL, EVIL]
    assert not {tag for tag, _, _ in Page(page).elements} & {"script", "img"}
    assert not any(name.startswith("on") for _, attributes, _ in Page(page).elements for name in attributes)


def test_a_lone_surrogate_does_not_stop_the_page_from_being_written():
    assert (
        "a\N{REPLACEMENT CHARACTER}b"
        in explanation_page([explanation("a\ud800b")], title="t").encode().decode()
    )


def test_marks_are_on_words_only():
    page = Page(explanation_page([REVIEW], title="t"))
    marked = ["".join(text) for tag, a, text in page.elements if tag in ("mark", "span") and "title" in a]
    assert marked == ["witty", "gorgeous"]
    assert page.texts("mark")[-2:] == ["witty", "gorgeous"]
    assert page.texts("mark", "s8") == ["gorgeous"] and page.texts("mark", "s5") == ["witty"]


def test_a_selected_word_without_a_positive_score_is_underlined_and_not_shaded():
    one = replace(REVIEW, words=(Word(0, 1, "a", -0.5, True),))
    assert '<mark title="score -0.5">a</mark>' in explanation_page([one], title="t")


def test_segments_are_paragraphs_of_their_own_and_find_their_direction():
    page = Page(explanation_page([explanation("premise", "השערה", scores=[0.0, 1.0])], title="t"))
    assert page.texts("p", "text") == ["premise", "השערה"] and page.texts("mark")[-1] == "השערה"
    assert all(a["dir"] == "auto" for tag, a, _ in page.elements if a.get("class") == "text")


def test_gold_is_shown_when_known_and_silence_is_not_nothing():
    assert Page(explanation_page([REVIEW], title="t")).texts("span", "gold-mark")[-1] == "gorgeous"
    unknown = explanation_page([replace(REVIEW, gold_spans=None)], title="t")
    nothing = explanation_page([replace(REVIEW, gold_spans=())], title="t")
    assert "Nobody marked words" in unknown and "Nobody marked words" not in nothing
    assert "No word of this text was marked" in nothing
    assert not Page(explanation_page([explanation("x")], title="t")).texts("section", "gold")


@pytest.mark.parametrize(("gold_label", "words"), [("pos", "✓ correct"), ("neg", "✗ wrong"), (None, None)])
def test_right_and_wrong_are_said_only_when_known(gold_label, words):
    page = explanation_page([replace(REVIEW, gold_label=gold_label)], title="t")
    assert [word for word in ("✓ correct", "✗ wrong") if word in page] == ([words] if words else [])


@pytest.mark.parametrize("labels", [(False, True), (0, 1)])
def test_labels_may_be_of_any_type(labels):
    one = explanation(
        "x", label=labels[1], probabilities={labels[0]: 0.25, labels[1]: 0.75}, gold_label=labels[1]
    )
    page = Page(explanation_page([one], title="t"))
    assert page.texts("dt") == [str(label) for label in labels]
    assert page.texts("span", "value") == ["25.0 %", "75.0 %"] and page.texts("span", "chip")[0] == str(
        labels[1]
    )


def test_of_many_labels_the_likeliest_are_shown():
    one = explanation("x", label=9, probabilities={label: label / 45 for label in range(10)})
    assert Page(explanation_page([one], title="t")).texts("dt") == ["9", "8", "7", "6", "5", "5 more"]


def test_truncation_and_budget_are_told():
    assert "3 tokens were not read" in explanation_page([replace(REVIEW, truncated=3)], title="t")
    page = explanation_page([REVIEW], title="t")
    assert "not read" not in page and "20 % of the tokens" in page


def test_empty_pages_are_still_pages():
    assert Page(explanation_page([], title="t")).texts("h1") == ["t"]


def test_a_page_stands_alone_and_forbids_everything_but_its_style():
    page = explanation_page([REVIEW] * 2, title="t")
    assert not re.search(r"https?://|\bsrc=|\bhref=|@import|url\(|<script", page)
    assert "default-src &#x27;none&#x27;; style-src &#x27;unsafe-inline&#x27;" in page
    assert '<html lang="en">' in page


def test_headings_never_skip_a_level():
    page = explanation_page([REVIEW] * 2, title="t")
    levels = [int(tag[1]) for tag, _, _ in Page(page).elements if re.fullmatch(r"h[1-6]", tag)]
    assert levels[0] == 1 and levels.count(1) == 1
    assert all(after <= before + 1 for before, after in pairwise(levels))


def test_the_same_input_gives_the_same_page():
    assert explanation_page([REVIEW], title="t") == explanation_page([REVIEW], title="t")


def test_ink_is_readable_on_every_shade_in_both_schemes():
    assert min(shades.contrast(shade, shades.LIGHT_INK) for shade in shades.LIGHT + shades.TERMINAL) >= 4.5
    assert min(shades.contrast(shade, shades.DARK_INK) for shade in shades.DARK) >= 4.5


def test_every_colour_of_text_is_readable_on_every_ground_in_both_schemes():
    style = Path(shades.__file__).with_name("style.css").read_text("utf-8")
    light, dark = style.split("@media (prefers-color-scheme: dark)")[:2]
    for scheme, ink in ((light, shades.LIGHT_INK), (dark, shades.DARK_INK)):
        colour = dict(re.findall(r"--([\w-]+): (#[0-9a-f]{6})", scheme))
        assert colour["ink"] == ink
        for text in ("ink", "muted", "accent", "good", "bad", "gold", "c0", "c1", "c2", "c3", "c4"):
            for ground in ("paper", "card", "soft"):
                assert shades.contrast(colour[text], colour[ground]) >= 4.5, (text, ground)
