"""The examples of a comparison: from records to what stands in the page."""

import json
import re
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sample_records import EMOJI, NASTY, record

from unirex.comparison.examples import compared_example
from unirex.data.rationales import words
from unirex.errors import UserError
from unirex.evaluation.records import Scored
from unirex.report.browser_data import PLAIN, SELECTED, ComparedExample, MethodAnswer, browser_json
from unirex.report.compare_page import browser
from unirex.report.page import policy, resource


def one_shown(*args, **more):
    return compared_example({"ours": record("1", *args, **more)}, budget=20)


def said(shown, method="ours"):
    """The words of an answer that have a look: their text, shade and whether they are selected."""
    answer = shown.answers[method]
    choice = shown.choice(answer)
    texts = shown.segments if choice is None else (*shown.segments, shown.choices[choice])
    return [(texts[at][a:b], shade, chosen) for at, a, b, shade, chosen in answer.words if shade or chosen]


def unpacked(html):
    """The data of a section as a browser reads them."""
    return json.loads(re.search(r'<script type="application/json">(.*?)</script>', html, re.S)[1])


def sliced(text, start, end):
    """A part of a text by the units browsers count in."""
    return text.encode("utf-16-le", "surrogatepass")[2 * start : 2 * end].decode("utf-16-le", "surrogatepass")


# ---- From records to what is shown ------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("other", "part"),
    [(record("1", "other text"), "segments"), (record("1", "text", label="neg"), "label")],
)
def test_methods_on_different_data_are_not_compared(other, part):
    with pytest.raises(UserError, match=f"example 1: 'ours' and 'theirs' have different {part}"):
        compared_example({"ours": record("1", "text"), "theirs": other}, budget=20)


def test_words_are_as_important_as_their_most_important_token():
    pieces = Scored(
        tokens=((0, 0, 2), (0, 2, 5), (0, 5, 9), (0, 9, 10)),
        scores=(0.2, 0.4, 0.8, -1.0),
        gold=(False, True, True, False),
        selected=((1,),),
    )
    found = compared_example({"ours": record("1", "witty film.", sequences=(pieces,))}, budget=20)
    assert said(found) == [("witty", 4, True), ("film.", 8, False)]
    assert found.gold == ((0, 2, 9),)  # gold is by the character


def test_a_rationale_without_that_budget_is_what_its_tool_chose_or_the_highest_scored():
    base = record("1", "a b c d e f g h i j", scores=[0.1, 0.9, 0.5], budgets=())
    (bare,) = base.sequences
    chosen = replace(base, sequences=(replace(bare, chosen=(0, 3)),))
    unscored = replace(base, sequences=(replace(bare, scores=(), chosen=(2,)),))
    found = {
        name: [text for text, _, selected in said(compared_example({"ours": made}, budget=20)) if selected]
        for name, made in {"top": base, "chosen": chosen, "unscored": unscored}.items()
    }
    assert found == {"top": ["b", "c"], "chosen": ["a", "d"], "unscored": ["c"]}


def test_of_choices_the_predicted_sequence_is_shown():
    question, choices = "Where is it ?", ("in town", "at home")
    sequences = tuple(
        record("1", question, scores=[0.0, 0.0, 0.0, 0.0, first], ending=(text,)).sequences[0]
        for text, first in zip(choices, (0.1, 0.9), strict=True)
    )
    asked = record("1", question, sequences=sequences, choices=choices, label="A", predicted="B")
    found = compared_example({"ours": asked, "none": replace(asked, predicted=None)}, budget=20)
    assert said(found) == [("at", 8, True)]
    assert said(found, "none") == [("in", 8, True)]  # the right one, for want of a prediction
    assert unpacked(browser([found], ["ours", "none"]))["rows"][0][-1] == [0]  # words of different choices


def test_what_is_not_known_is_not_made_up():
    found = one_shown("a text", label=None, predicted=None, probabilities=(), sequences=())
    assert found.label is None and found.gold is None and found.answers["ours"].confidence is None
    assert said(found) == []
    assert one_shown("a text", gold=[]).gold == ()


# ---- Into the page ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("text", [NASTY, EMOJI, "lone \ud83d surrogate", "\ud83d\ude00 two halves", ""])
def test_no_text_breaks_out_of_the_data(text):
    written = browser_json([one_shown(text, label=text, predicted=text)], [text or "ours"])
    assert not re.search("[<>&\u2028\u2029\ud800-\udfff]", written)
    read = json.loads(written.encode("utf-8"))
    meant = text.replace("\ud83d\ude00", "😀")
    assert read["rows"][0][2] == [meant] and read["methods"] == [meant or "ours"]


@given(text=st.text("ab \u00a0🎬👍🏽ש\u2028\n", max_size=30), data=st.data())
def test_browsers_find_the_same_words(text, data):
    scores = [data.draw(st.floats(0.0, 1.0)) for _ in words(text)]
    shown = one_shown(text, scores=scores, gold=[text[a:b] for a, b in words(text)[::2]])
    ((_, _, _, _, (cuts,), gold, (answer,), _),) = json.loads(browser_json([shown], ["ours"]))["rows"]
    found, at = [], 0
    for gap, length, look in zip(cuts[::2], cuts[1::2], answer[2], strict=True):
        part = sliced(text, at + gap, at + gap + length)
        found.append((part, (SELECTED if look in SELECTED else PLAIN).index(look), look in SELECTED))
        at += gap + length
    assert [word for word in found if word[1] or word[2]] == said(shown)
    assert [part for part, *_ in found] == text.split()
    starts = [text[a:b] for _, a, b in shown.gold]
    assert [sliced(text, a, b) for a, b in zip(gold[1::3], gold[2::3], strict=True)] == starts


def test_methods_may_mean_different_words():
    text = "wonderful!"
    answers = {
        "a": MethodAnswer("pos", None, ((0, 0, 9, 8, True), (0, 9, 10, 1, False))),
        "b": MethodAnswer("pos", None, ((0, 0, 10, 4, False),)),
        "c": MethodAnswer("pos", None, ()),
    }
    shown = ComparedExample("1", (text,), None, "pos", None, answers)
    row = json.loads(browser_json([shown], [*answers, "absent"]))["rows"][0]
    assert row[4] == [[0, 9, 0, 1]]
    assert [answer and answer[2] for answer in row[6]] == ["i1", "44", "00", 0]
    assert row[7] == [0, 0, -1, -1, -1, -1]  # the others select none; an absent method is no zero


def test_only_what_the_examples_have_is_asked():
    full = browser([one_shown("a b", gold=["a"])], ["ours", "theirs"])
    bare = browser([one_shown("a b", label=None, predicted=None, probabilities=())], ["ours"])
    asked = re.compile(r'<(?:input|select)[^>]* name="(\w+)"')
    assert {*asked.findall(full)} == {
        *("q", "sort", "size", "gold", "outcome", "by", "says", "overlap"),
        *("without", "differ", "marked", "page"),
    }
    assert {*asked.findall(bare)} == {"q", "sort", "size", "without", "page"}
    assert "confident" not in bare and "disagreement" not in bare
    assert unpacked(browser([], []))["rows"] == []  # nothing to browse is no mistake


def test_the_script_and_the_style_fetch_nothing_and_write_no_html():
    script = resource("browser.js")
    assert not re.search("innerHTML|outerHTML|insertAdjacent|fetch|XMLHttp|https?:", script)
    assert not re.search(r"document\.write|eval\(|Function\(|import\b", script)
    assert not re.search("</|<!--|\r", script)  # what would end it, or change its hash
    assert not re.search(r"url\(|@import|</", resource("browser.css"))
    assert re.search(r"script-src 'sha256-[A-Za-z0-9+/]{43}='$", policy(script))
