"""What a system does overall: planted words come out on top, and every number can be counted by hand."""

import json
from dataclasses import replace

import pytest
from page_reader import Page
from sample_explanations import explanation

import unirex
from commands import fails, succeeds, write_rows
from unirex.explanation import Explanation
from unirex.overview import tally
from unirex.overview.words import occurrences

EVIL = '<script>alert("x")</script>'


def said(text, *chosen, label="pos", **more):
    """An explanation whose rationale is these words of the text."""
    scores = [1.0 if word in chosen else 0.1 for word in text.split()]
    return explanation(text, scores=scores, label=label, **more)


def corpus():
    """'superb' carries pos and is right; 'Spielberg' carries pos and is mostly wrong; 'the' is everywhere."""
    right = {"gold_label": "pos", "gold": ["superb"]}
    yield from (said(f"the superb film {n}", "superb", **right) for n in range(8))
    yield from (
        said(f"the dull film {n}", "dull", label="neg", gold_label="neg", gold=["dull", "film"])
        for n in range(8)
    )
    yield from (said(f"the Spielberg film, {n}", "Spielberg", gold_label="neg") for n in range(5))
    yield said("the last Spielberg film", "Spielberg", "the", gold_label="pos", gold=["last"])
    yield said("a superb Spielberg", "Spielberg", label="neg", gold_label="neg")


def by_label(overview):
    return {label.label: label for label in overview.labels}


def test_words_are_ranked_by_how_consistently_they_carry_a_label():
    overview = unirex.summarise(corpus())
    labels = by_label(overview)
    assert [word.text for word in labels["pos"].words] == ["superb", "spielberg"]
    superb, spielberg = labels["pos"].words
    assert (superb.carried, superb.texts, superb.wrong, superb.known) == (8, 9, 0, 8)
    assert (superb.marked, superb.annotated, superb.importance) == (8, 8, 1.0)
    assert (spielberg.carried, spielberg.texts, spielberg.wrong) == (6, 7, 5)
    assert labels["neg"].words[0].text == "dull" and labels["neg"].hidden == 1  # Spielberg, once
    assert (overview.texts, overview.wrong, labels["pos"].predictions) == (23, 5, 14)
    assert labels["pos"].coverage == 1.0 and labels["neg"].coverage == 8 / 9
    assert "too few" in labels["pos"].notes[0]
    shown = superb.examples[0]
    assert shown.text[shown.start : shown.end] == "superb"


def test_words_behind_wrong_predictions_and_those_people_mark_otherwise():
    overview = unirex.summarise(corpus())
    (wrong,) = overview.wrong_reasons
    assert (wrong.text, wrong.label, wrong.wrong, wrong.carried) == ("spielberg", "pos", 5, 6)
    # Of 14 predictions 5 are wrong, all among the 6: C(9, 1) / C(14, 6) ways.
    assert wrong.p_value == pytest.approx(9 / 3003) and overview.tested == 2
    assert [word.text for word in by_label(overview)["neg"].only_people] == ["film"]
    assert not by_label(overview)["neg"].only_model


def test_phrases_are_runs_of_selected_words_and_only_the_longest():
    texts = [said(f"it is Far from dull, {n} far", "Far", "from", "dull,") for n in range(4)]
    texts += [said("far from here", "far"), said("from dull", "from", "dull")]
    words, phrases = (getattr(unirex.summarise(texts).labels[1], name) for name in ("words", "phrases"))
    assert [(phrase.text, phrase.carried) for phrase in phrases] == [("from dull", 5), ("far from dull", 4)]
    assert {word.text: word.texts for word in words} == {"far": 5, "from": 6, "dull": 5}
    assert not unirex.summarise(texts, phrase_length=1).labels[1].phrases


def test_a_text_counts_once_and_what_was_not_read_does_not_count():
    whole = said("good good film", "good")
    assert {key: word.selected for key, word in occurrences(whole, 1).items()} == {
        "good": True,
        "film": False,
    }
    cut = replace(whole, tokens=whole.tokens[:2], truncated=1)
    assert list(occurrences(cut, 2)) == ["good", "good good"]


def test_reasons_for_labels_that_were_not_predicted_are_left_out():
    asked = [said("so good", "good", target=target) for target in ("pos", "neg")]
    overview = unirex.summarise(asked, min_count=1)
    assert overview.texts == 1 and "1 explanations are for labels" in overview.notes[0]
    assert by_label(overview)["neg"].notes == ("No text was given this label.",)


def test_letters_of_choices_are_no_labels():
    chosen = [
        said(f"sea {n}", "sea", label=letter, probabilities={"A": 0.5, "B": 0.5}, choices=("x", "y"))
        for n, letter in enumerate("ABAB")
    ]
    (label,) = unirex.summarise(chosen).labels
    assert label.label == "the chosen answer" and label.words[0].carried == 4


def test_memory_is_bounded_and_what_is_forgotten_is_said(monkeypatch):
    monkeypatch.setattr(tally, "MOST_COUNTS", 40)
    monkeypatch.setattr(tally, "SAMPLE", 10)
    counted = tally.Tally(1)
    for number in range(100):
        counted.add(said(f"good rare{number}", "good"))
    label = counted.labels["pos"]
    assert len(label.words) <= 40 and len(label.rationales) == 10
    assert label.words["good"].carried == 100 and counted.forgotten_up_to >= 1
    assert len(label.words["good"].quotations["carried"]) == 3


def test_the_page_shows_all_and_obeys_nothing():
    texts = [said(f"{EVIL} {n}", EVIL, id=EVIL, label=EVIL, probabilities={EVIL: 1.0}) for n in range(3)]
    page = Page(unirex.summarise(texts).page(EVIL))
    assert page.harmless and page.texts("h1") == [EVIL] and page.texts("span", "chip") == [EVIL]
    assert page.texts("mark") == [EVIL] * 3 and page.texts("p", "text")[0] == f"{EVIL} 0"
    wrong = Page(unirex.summarise(corpus()).page())
    assert "Behind wrong predictions" in wrong.texts("h2") and "✗ wrong, gold neg" in wrong.texts("span")


def test_an_explanation_comes_back_from_json():
    given = replace(
        said("a fine film", "fine", gold=["fine"], gold_label="pos", id="1"), choices=("x", "y"), target="pos"
    )
    assert Explanation.from_dict(json.loads(json.dumps(given.to_dict()))) == given


def test_the_command_reads_saved_explanations(tmp_path, capsys):
    path = write_rows(tmp_path / "explained.jsonl", (one.to_dict() for one in corpus()))
    shown = succeeds(capsys, "global", path, "--top", 1)
    assert "superb" in shown and "8 of 9" in shown and "finding" in shown
    assert [label["label"] for label in json.loads(succeeds(capsys, "global", path, "--json"))["labels"]]
    html = tmp_path / "page.html"
    assert str(html) in succeeds(capsys, "global", path, "--html", html)
    assert "exists already" in fails(capsys, "global", path, "--html", html)
    for option, value in (("--budget", 10), ("--device", "cpu")):
        assert f"{option} is for a system" in fails(capsys, "global", path, option, value)
    assert "--data" in fails(capsys, "global", tmp_path)
    assert "no such file" in fails(capsys, "global", tmp_path / "typo.jsonl")
    other = write_rows(tmp_path / "texts.jsonl", [{"text": "so good", "label": "pos"}])
    assert "texts.jsonl:1: not an explanation" in fails(capsys, "global", other)


def test_what_cannot_be_counted_is_refused():
    from planted import planted

    with pytest.raises(unirex.UserError, match="give one split"):
        unirex.summarise([], planted((1, 1, 1)))
    with pytest.raises(unirex.UserError, match="at least one"):
        unirex.summarise([])
    with pytest.raises(unirex.UserError, match="top 0"):
        unirex.summarise(corpus(), top=0)
