"""Explanations in the units people mean, for the class they ask for."""

import json
from dataclasses import replace

import numpy as np
import pytest
import torch
from rich.console import Console
from torch import nn
from transformers import AutoTokenizer

import tiny
from unirex.data.example import Example
from unirex.encoding.batch import Encoded, Tokens
from unirex.errors import UserError
from unirex.explanation import RationaleRule, Word, explanation, scored_words
from unirex.objectives import Objectives, Plausibility
from unirex.report import explanation_page, print_explanation
from unirex.system import System

TEXT = "A dull start. The end is good, very good. Nothing more."


def test_words_of_a_cut_text_end_where_its_tokens_do():
    text = "Well, it's a good-natured film, and more."
    tokens = (Word(11, 12, "a", 0.1, False), Word(13, 17, "good", 0.5, True))
    words = scored_words((text, "unread"), tokens, cut=True)
    assert [word.text for word in words] == ["a", "good", "-", "natured"]
    assert set(words) < set(scored_words((text, "unread"), tokens))


def told(text, scores, **rule):
    """The explanation of a text whose tokens are its characters, with these scores from the first on."""
    size = len(text)
    spans = np.array([(0, at, at + 1) for at in range(size)], np.int32)
    yes, no = np.ones(size, bool), np.zeros(size, bool)
    tokens = Tokens(np.zeros(size, np.int32), no, yes, yes, spans)
    values = [*scores, *[-1.0] * (size - len(scores))]
    rule = RationaleRule(20.0, **rule)
    chosen = [score > 0 for score in values]
    example, encoded = Example("0", (text,)), Encoded((tokens,))
    allowed = round(size * rule.budget / 100)
    return explanation(
        example,
        encoded,
        predicted=0,
        labels=("a", "b"),
        probabilities=(0.9, 0.1),
        scores=values,
        selected=chosen,
        allowed=allowed,
        rule=rule,
    )


def test_a_span_covers_what_was_selected_without_blanks_between_words():
    assert [span.text for span in told("你是一个白痴", [-1, -1, -1, -1, 2, 1]).spans] == ["白痴"]
    assert [span.text for span in told("It is dull.", [-1] * 7 + [1]).spans] == ["dull"]
    assert [span.text for span in told("so very dull", [1, 0, 0, 1]).spans] == ["so very"]


def test_tokens_and_words_are_marked_by_themselves():
    assert [span.text for span in told("undone", [1, 1], unit="token").spans] == ["un"]
    assert [span.text for span in told("undone", [1, 1]).spans] == ["undone"]


def test_sentences_are_taken_whole_while_they_fit():
    scores = [0.0] * 14 + [3.0] * 27 + [1.0] * 14
    found = told(TEXT, scores, unit="sentence")
    assert [span.text for span in found.spans] == ["The end is good, very good."]  # more than 20 %, but one
    assert [sentence.score for sentence in found.sentences] == [0.0, 3.0, 1.0]
    assert all(token.selected == (14 <= token.start < 41) for token in found.tokens)
    none = told(TEXT, [], unit="sentence", floor=True, signed=True)
    assert none.spans == () and none.unfilled == 11 and len(none.against) == 3


def test_what_is_left_of_the_budget_and_what_speaks_against_it_is_said():
    text = "good but thin and worse than bad"
    found = told(text, [1, 1, 0, 0], floor=True, signed=True)
    assert found.unfilled == 4 and [word.text for word in found.against] == ["but", "thin", "and"]
    console = Console(record=True, width=100)
    print_explanation(replace(found, target="a", contrast="b"), console)
    shown = console.export_text()
    assert "2 of 6 tokens: the others did not speak for the label" in shown
    assert "against: but · thin · and" in shown and "for a rather than b" in shown
    page = explanation_page([found], title="t")
    assert "2 of 6 tokens" in page and "Against: but · thin · and" in page
    assert json.loads(json.dumps(found.to_dict()))["unfilled"] == 4
    assert told(text, [1, 1, 0, 0]).unfilled == 0


class Scored(nn.Module):
    """Scores that fall with every token: 2, 1, 0, -1 and so on."""

    signed = True

    def forward(self, full, target):
        return 3.0 - torch.arange(full.batch.input_ids.shape[1]).expand(full.batch.input_ids.shape)


@pytest.fixture(scope="module")
def build(encoders):
    folder = encoders("bert")
    tokenizer = AutoTokenizer.from_pretrained(folder)
    return lambda **settings: System(tiny.build_model(folder, **settings), tokenizer)


def test_a_rationale_stops_where_tokens_no_longer_speak_for_the_label(build):
    system = build(extractor="random").with_extractor_module(Scored(), "random", {})
    text = "good bad film plot"
    stopped = system.explain(text, budget=100)
    assert [token.selected for token in stopped.tokens] == [True, True, False, False]
    assert (stopped.unfilled, stopped.signed) == (2, True)
    assert system.explain(text, budget=50).unfilled == 0
    assert all(token.selected for token in system.explain(text, budget=100, selector="best-span").tokens)


def test_learnt_scores_have_no_floor(build):
    system = build(objectives=Objectives(plausibility=Plausibility(weight=0.5)))
    assert not system.rationale_rule().floor and not system.rationale_rule().signed
    assert all(token.selected for token in system.explain(tiny.SENTENCES[0], budget=100).tokens)


def test_a_contrast_of_learnt_scores_is_their_difference(build):
    system = build(extractor_options={"per_label": True, "order": True}, labels=("neg", "pos"))
    text = tiny.SENTENCES[0]
    first, second = (system.explain(text, target=label).tokens for label in ("pos", "neg"))
    found = system.explain(text, contrast=("pos", "neg"))
    expected = [one.score - other.score for one, other in zip(first, second, strict=True)]
    assert [token.score for token in found.tokens] == pytest.approx(expected, abs=1e-5)
    assert (found.target, found.contrast, found.signed) == ("pos", "neg", True)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"contrast": ("pos", "neg")}, "the same for every label"),
        ({"contrast": ("pos", "neg"), "target": "pos"}, "not both"),
        ({"unit": "words"}, "unknown unit 'words'; did you mean 'word'"),
        ({"unit": "sentence", "selector": "top-k"}, "leave out the selector"),
    ],
)
def test_what_cannot_be_asked_for_is_said(build, options, said):
    with pytest.raises(UserError, match=said):
        build().explain("a film", **options)


def test_two_different_labels_are_contrasted(build):
    with pytest.raises(UserError, match="the same label"):
        build().with_extractor("ixg").explain("a film", contrast=("pos", "pos"))
    found = build().with_extractor("ixg").explain(tiny.SENTENCES[1], contrast=("pos", "neg"), unit="sentence")
    assert found.unit == "sentence" and found.contrast == "neg" and found.completeness_error is None
