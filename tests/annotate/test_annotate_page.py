"""A person annotates in a real browser: by mouse, by keyboard, by touch; nothing in a text can run."""

import json

import pytest
from annotating import TEXTS, drag, examples, listening, marked, middle, press, project, word

from commands import succeeds
from planted import planted
from report.axe import is_accessible, needs_axe
from report.browser_driver import Browser, needs_chromium
from unirex.annotate.answers import read_answers
from unirex.annotate.app import create_app
from unirex.annotate.create import Suggested
from unirex.data.example import Example

pytestmark = needs_chromium
HOSTILE = '😀 <img src=x onerror="document.title=1"> </script> فيلم جيد 電影 good'


@pytest.fixture(scope="module")
def chromium(tmp_path_factory):
    with Browser(tmp_path_factory.mktemp("profile")) as running:
        yield running


@pytest.fixture
def window(chromium):
    """The browser without cookies; the page leaves it no complaint about a script or a policy."""
    chromium.size(1000, 1000)
    chromium.media()
    chromium.ask("Network.clearBrowserCookies")
    chromium.complaints.clear()
    yield chromium
    wrong = [one for one in chromium.complaints if "401" not in str(one)]  # no session yet
    assert wrong == []


@pytest.fixture
def serving():
    """`serving(made)` is the address of an annotation until the test ends."""
    from contextlib import ExitStack

    with ExitStack() as stack:
        yield lambda made: stack.enter_context(listening(create_app(made)))


def come(browser, address, made, number=0):
    browser.open(f"{address}/#{made.codes()[number]}")
    browser.until("document.querySelector('.word') !== null")


def save(browser, then):
    browser.click("#save")
    browser.until(then)


def shows(text):
    return f"document.querySelector('.words')?.textContent === {text!r}"


def answers(made):
    return {
        text.example.id: (
            text.answers[0].label,
            [text.example.segments[0][a:b] for a, b in text.answers[0].marking[0]],
        )
        for text in read_answers(made)
    }


def test_words_are_marked_by_mouse_and_keyboard_undone_and_saved(window, serving, tmp_path):
    made = project(tmp_path / "gold.sqlite", guidelines="Mark <b>only</b> what decides.")
    come(window, serving(made), made)
    assert window.texts(".guidelines") == ["Mark <b>only</b> what decides."]
    window.click(word(1))
    drag(window, word(3), word(4))
    assert marked(window) == ["gorgeous", "witty", "film"]
    window.click(word(4))  # a click on what is marked unmarks it
    assert marked(window) == ["gorgeous", "witty"]
    press(window, "z", control=True)
    assert marked(window) == ["gorgeous", "witty", "film"]
    press(window, "y", control=True)
    assert marked(window) == ["gorgeous", "witty"]
    window.click("#save")
    assert window.texts("#alert") == ["Choose a label first."]
    window.click('input[name="label"][value="1"]')
    save(window, shows(TEXTS[1]))
    assert answers(made) == {"t0": ("pos", ["gorgeous", "witty"])}

    press(window, "Home")
    press(window, "ArrowRight")
    press(window, "ArrowRight", shift=True)
    press(window, "ArrowRight", shift=True)
    press(window, " ")
    assert marked(window) == ["dull", "and", "long"]
    press(window, "ArrowLeft")
    press(window, "Backspace")
    assert marked(window) == ["dull", "long"]
    press(window, "1")  # the first label
    press(window, "Enter", control=True)
    window.until(shows(TEXTS[2]))
    assert answers(made)["t1"] == ("neg", ["dull", "long"])


def test_a_closed_page_goes_on_where_it_was_and_earlier_texts_are_corrected(window, serving, tmp_path):
    made = project(tmp_path / "gold.sqlite")
    address = serving(made)
    come(window, address, made)
    window.click(word(1))
    window.open(address)  # closed and opened, without the code
    window.until(shows(TEXTS[0]))
    assert marked(window) == ["gorgeous"]
    press(window, "2")
    save(window, shows(TEXTS[1]))
    window.run("[...document.querySelectorAll('button')].find(b => b.textContent === 'Earlier text').click()")
    window.until(shows(TEXTS[0]))
    window.click(word(3))
    save(window, shows(TEXTS[1]))
    assert answers(made) == {"t0": ("pos", ["gorgeous", "witty"])}
    window.run("document.querySelector('details:has([name=reason])').open = true")
    window.click("[name=reason]")
    window.type("not a review")
    window.run("[...document.querySelectorAll('button')].find(b => b.textContent === 'Skip').click()")
    window.until(shows(TEXTS[2]))
    (row,) = made.store.rows("SELECT reason FROM annotations WHERE skipped")
    assert row["reason"] == "not a review"


def test_what_one_person_did_not_save_is_not_shown_to_another(window, serving, tmp_path):
    made = project(tmp_path / "gold.sqlite", per_text=2)
    address = serving(made)
    come(window, address, made)
    window.click(word(1))
    come(window, address, made, number=1)
    assert window.run(shows(TEXTS[0])) and marked(window) == []
    come(window, address, made)
    assert marked(window) == ["gorgeous"]


def test_hostile_text_is_only_text_and_marked_where_it_stands(window, serving, tmp_path):
    made = project(tmp_path / "gold.sqlite", [Example("x", (HOSTILE,))], guidelines="<script>1</script>")
    come(window, serving(made), made)
    assert window.texts(".words") == [HOSTILE]
    assert window.run("document.querySelectorAll('#annotate img').length") == 0
    last = window.run("document.querySelectorAll('.word').length") - 1
    window.click(word(last))
    window.click(word(0))
    press(window, "2")
    save(window, "document.querySelector('.words') === null")
    assert answers(made) == {"x": ("pos", ["😀", "good"])}
    assert window.run("document.title") == "Reviews"


def test_a_suggestion_is_shown_corrected_and_recorded(window, serving, tmp_path):
    from unirex.annotate.definition import Source

    suggestion = {"label": "pos", "probability": 0.9, "marks": [[[2, 10], [19, 23]]]}
    source = Source("runs/slm", "slm-fp", "shared-lm", 20.0)
    made = project(
        tmp_path / "gold.sqlite",
        examples()[:1],
        start="suggestion",
        systems=(source,),
        suggested=[Suggested(suggestion)],
    )
    come(window, serving(made), made)
    assert marked(window) == ["gorgeous", "film"]
    assert "suggested by slm-fp, 20 % of the tokens" in window.texts(".says")[0]
    window.click(word(4))
    save(window, "document.querySelector('.words') === null")
    (text,) = read_answers(made)
    (how,) = text.provenance
    assert (how.start, how.shown["place"], how.shown["budget"]) == ("suggestion", "runs/slm", 20.0)
    assert how.shown["marks"] == [[[2, 10], [19, 23]]] and text.answers[0].marking == (((2, 10),),)


def test_what_fingers_and_mouse_mark_is_exported_and_trained_on(window, serving, tmp_path, learner, capsys):
    given = planted((12, 1, 1), seed=2)["train"]
    made = project(tmp_path / "gold.sqlite", [Example(one.id, one.segments) for one in given])
    come(window, serving(made), made)
    swipe(window, word(0), word(1), word(2))
    swipe(window, word(3))
    swipe(window, word(3))  # a second tap unmarks
    assert marked(window) == given[0].text.split()[:3]
    for number, example in enumerate(given):
        window.until(shows(example.text))
        ((start, end),) = example.rationale[0]
        if number > 0:
            window.click(word(example.text[:start].count(" ")))
            assert marked(window) == [example.text[start:end]]
        press(window, "2" if example.label == "pos" else "1")
        window.click("#save")
    window.until("document.querySelector('.words') === null")
    target, run = tmp_path / "gold.jsonl", tmp_path / "run"
    succeeds(capsys, "annotate", "export", made.store.path, target)
    rows = [json.loads(line) for line in target.read_text("utf-8").splitlines()]
    swiped = len(" ".join(given[0].text.split()[:3]))
    gold = [[[0, swiped]], *([list(span) for span in one.rationale[0]] for one in given[1:])]
    assert [(row["label"], row["rationale"]) for row in rows] == [
        (one.label, spans) for one, spans in zip(given, gold, strict=True)
    ]
    options = ("--encoder", learner, "--pooling", "mean", "--training.epochs", 1, "--summary", 0)
    succeeds(capsys, "train", "--method", "slm-p", "--data", target, "--out", run, *options)
    assert (run / "model.safetensors").is_file()


def swipe(browser, *selectors):
    """Move a finger from one element over others; on one alone it is a tap."""
    places = [dict(zip("xy", middle(browser, selector), strict=True)) for selector in selectors]
    browser.ask("Emulation.setTouchEmulationEnabled", enabled=True)
    browser.ask("Input.dispatchTouchEvent", type="touchStart", touchPoints=places[:1])
    for place in places[1:]:
        browser.ask("Input.dispatchTouchEvent", type="touchMove", touchPoints=[place])
    browser.ask("Input.dispatchTouchEvent", type="touchEnd", touchPoints=[])
    browser.ask("Emulation.setTouchEmulationEnabled", enabled=False)


@needs_axe
def test_every_page_is_accessible(window, serving, tmp_path):
    pairs = [Example("p", ("a man sleeps", "a man is awake"), choices=("yes", "no"))]
    made = project(tmp_path / "gold.sqlite", pairs, guidelines="How to.", names=("a", "b"), labels=("A", "B"))
    address = serving(made)
    window.open(address)
    window.until("document.querySelector('.join') !== null")
    is_accessible(window)
    come(window, address, made)
    window.click(word(2, 1))
    is_accessible(window)
    window.size(390, 800)
    assert window.run("document.documentElement.scrollWidth <= innerWidth")
    window.click('input[name="label"]')
    save(window, "document.querySelector('.words') === null")
    is_accessible(window)
