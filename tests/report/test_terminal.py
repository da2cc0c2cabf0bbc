"""The terminal: the rationale is seen, and the text cannot steer the screen."""

import io
from dataclasses import replace

import pytest
from rich.console import Console
from sample_explanations import explanation

from unirex.report import print_explanation


def shown(one, **settings):
    out = io.StringIO()
    print_explanation(one, Console(file=out, width=100, **settings))
    return out.getvalue()


REVIEW = explanation(
    "a witty , gorgeous film", scores=[-0.4, 0.6, 0.0, 0.9, 0.4], gold=["gorgeous"], id="r-1"
)


def test_markup_in_the_text_is_literal_in_every_place():
    evil = "[bold]x[/bold] [link=file:///]y :smile:"
    one = explanation(evil, label=evil, probabilities={evil: 1.0}, gold=["[bold]x"], gold_label=evil, id=evil)
    assert shown(one).count("[bold]x[/bold] [link=file:///]y :smile:") >= 4


def test_escape_sequences_become_pictures():
    evil = "\x1b[2Jgone\x07\x9b31m\u202eabc\rX"
    one = explanation(evil, scores=[1.0], label=evil, probabilities={evil: 1.0}, gold=[evil], id=evil)
    out = shown(replace(one, gold_label=evil))
    assert not set("\x1b\x07\x9b\u202e\r") & set(out)
    assert "␛[2Jgone␇" in out


def test_selected_words_are_bold_and_underlined_on_a_graded_background():
    out = shown(REVIEW, force_terminal=True, color_system="truecolor", legacy_windows=False)
    assert "\x1b[1;4;38;2;28;27;26;48;2;245;176;39mgorgeous\x1b[0m" in out
    assert "48;2;245;176;39mfilm" not in out and "mfilm\x1b[0m" in out
    assert "a \x1b" in out  # no look for words that speak against the label


def test_without_colour_the_rationale_is_still_named():
    out = shown(REVIEW)
    assert "rationale, 20 % of the tokens: witty · gorgeous" in out
    assert "gold rationale: gorgeous" in out
    assert "93.1 %" in out and "\x1b" not in out


@pytest.mark.parametrize(
    ("gold_label", "words"), [("pos", "✓ correct"), ("neg", "✗ wrong, gold neg"), (None, None)]
)
def test_right_and_wrong_are_said_only_when_known(gold_label, words):
    out = shown(replace(REVIEW, gold_label=gold_label))
    assert words in out if words else "✓" not in out and "✗" not in out


def test_gold_that_nobody_gave_is_not_shown():
    assert "gold rationale" not in shown(replace(REVIEW, gold_spans=None))
    assert "gold rationale: nothing" in shown(replace(REVIEW, gold_spans=()))


def test_truncation_is_told():
    assert "1 token was not read" in shown(replace(REVIEW, truncated=1))
    assert "7 tokens were not read" in shown(replace(REVIEW, truncated=7))


def test_labels_may_be_booleans_and_texts_empty():
    out = shown(explanation("", label=True, probabilities={False: 0.0, True: 1.0}))
    assert "True" in out and "100.0 %" in out and "rationale, 20 % of the tokens: nothing" in out
