"""The explorer in a real browser: what a person types, clicks and sees."""

import json
from urllib.parse import urlencode

import pytest

import tiny
from report.axe import is_accessible, needs_axe
from report.browser_driver import Browser, needs_chromium
from unirex.serve.settings import Settings

pytestmark = needs_chromium
FILM = "a gorgeous , witty film , not dull ."
HOSTILE = "🎬 <img src=x onerror=alert(1)> </script><script>alert(2)</script> good فيلم جيد 电影 film"
KEY = "a-key-of-some-length"
CHANGED = "document.querySelector('.without .up, .without .down') !== null"
DONE = "document.querySelectorAll('#views .passage').length === {} && !document.querySelector('.busy')"


@pytest.fixture(scope="module")
def browser(tmp_path_factory):
    with Browser(tmp_path_factory.mktemp("profile")) as running:
        yield running


@pytest.fixture(scope="module")
def address(served_systems, listening):
    from unirex.serve.examples import Examples

    shown = ("two-scores", "vanilla", "choices", "rationale", "sets")
    systems = {name: served_systems[name] for name in shown}
    with listening(systems, dataset=Examples("tiny, test", tiny.examples())) as (found, _, _):
        yield found


def visit(browser, address, columns=0, **state):
    """Open the page in a state, and wait for its columns."""
    views = [json.dumps([name, extractor, None]) for name, extractor in state.pop("views", [])]
    pairs = [*state.items(), *(("view", view) for view in views)]
    browser.complaints.clear()
    browser.open(f"{address}/#{urlencode(pairs, doseq=True)}" if pairs else f"{address}/")
    browser.until("document.querySelectorAll('#views .view').length > 0")
    if columns:
        browser.until(DONE.format(columns))


def enter(browser, text, ask="#ask button[type=submit]"):
    """Replace the text by typing, and ask by a button."""
    write(browser, text)
    browser.click(ask)


def write(browser, text):
    browser.click("textarea")
    browser.run("document.querySelector('textarea').select()")
    browser.type(text)


def pick(browser, selector, value):
    """Choose from a list without a name."""
    browser.run(
        f"(() => {{ const list = document.querySelector({json.dumps(selector)}); list.value = '{value}';"
        "list.dispatchEvent(new Event('change')); })()"
    )


def shows(browser, text, columns):
    """Wait until the form and all columns have the text."""
    browser.until(DONE.format(columns))
    wanted = json.dumps(text)
    browser.until(f"[...document.querySelectorAll('.passage')].every(e => e.textContent === {wanted})")
    assert browser.run("document.querySelector('textarea').value") == text


def words(browser, selector="mark"):
    return browser.texts(f"#views .view:first-child .passage {selector}")


def figures(browser):
    return browser.texts("#views .view:first-child .comp, #views .view:first-child .suff")


def explained(served_systems, text, budget=20):
    return served_systems["two-scores"].explain(text, budget=budget)


def test_a_typed_text_gets_its_label_and_marks(browser, address, served_systems):
    visit(browser, address)
    enter(browser, FILM)
    browser.until(DONE.format(2))
    expected = explained(served_systems, FILM)
    assert browser.texts("#views .view:first-child .chip") == [expected.label]
    assert words(browser) == [word.text for word in expected.words if word.selected]
    assert "".join(browser.texts("#views .view:first-child .passage")) == FILM
    assert browser.texts("#views .view:first-child .value")[:2] == [
        f"{100 * share:.1f} %" for share in expected.probabilities.values()
    ]
    assert "two-scores: " in browser.texts("#status")[0]
    assert not browser.complaints


def test_the_slider_moves_rationale_and_figures_at_once(browser, address, served_systems):
    visit(browser, address, 1, text=FILM, views=[("two-scores", "")])
    browser.run(
        "window.asked = 0; const real = fetch; window.fetch = (...a) => { asked++; return real(...a); }"
    )
    small = figures(browser)
    browser.slide("budget", 4)
    assert words(browser) == [w.text for w in explained(served_systems, FILM, 50).words if w.selected]
    assert figures(browser) != small and browser.texts("#size") == ["50 % of the tokens"]
    assert "random" in browser.texts(".figures")[0] and browser.run("asked") == 0
    browser.until("location.hash.includes('budget=50')")


def test_words_are_dropped_by_mouse_and_keyboard(browser, address, served_systems):
    visit(browser, address, 1, text=FILM, views=[("two-scores", "")])
    browser.click("[data-word='0:2:10']")
    browser.until(CHANGED)
    left = served_systems["two-scores"].predict_proba("a , witty film , not dull .")
    assert f"→ {100 * left[0]:.1f} %" in browser.texts(".without ul")[0]
    assert browser.texts(".dropped[data-word]") == ["gorgeous"]
    browser.press("Tab")  # from the word that was clicked the focus goes on
    browser.run("document.querySelector('.passage [tabindex=\"0\"]').focus()")
    browser.press("ArrowRight")
    browser.press("Enter")
    browser.until("!document.querySelector('.without')")
    assert browser.run("document.activeElement.getAttribute('aria-pressed')") == "false"
    assert browser.texts("#status") == ["All words are back."]


def test_an_edit_is_compared_with_the_text_before(browser, address):
    visit(browser, address, 1, text=FILM, views=[("two-scores", "")])
    enter(browser, FILM.replace("gorgeous", "bad"))
    browser.until("document.querySelector('.changed') !== null")
    assert "→" in browser.texts(".changed ul")[0]
    assert browser.texts(".changed p")[1].startswith("Newly in the rationale")


def test_a_typed_text_outlives_changes_of_the_columns(browser, address):
    visit(browser, address, 2, text=FILM, views=[("two-scores", ""), ("vanilla", "")])
    write(browser, "dull film .")
    pick(browser, ".view:nth-child(2) .field:nth-child(2) select", "occlusion")
    shows(browser, "dull film .", 2)
    assert not browser.texts(".view:nth-child(2) .changed")  # the answer before was another extractor's
    write(browser, "good film .")
    pick(browser, ".view:nth-child(2) .field:nth-child(1) select", "two-scores")
    shows(browser, "good film .", 2)
    enter(browser, "a bad film .", ".view:nth-child(2) .head button")
    shows(browser, "a bad film .", 1)
    visit(browser, address, 1, text="a ?", choice=["bad plot", "good film"], views=[("choices", "")])
    for model in ("two-scores", "choices"):
        pick(browser, ".view .field:nth-child(1) select", model)
        browser.until(f"document.querySelector('.view h3').textContent.startsWith('{model}')")
    assert browser.run("document.querySelector('[name=choices]').value") == "bad plot\ngood film"


def test_a_system_added_after_an_edit_is_compared_on_the_same_text(browser, address):
    text = tiny.SENTENCES[0]
    visit(browser, address, 1, text=text, views=[("two-scores", "")], example=0, drop="0:2:10")
    browser.until(CHANGED)
    assert browser.texts(".gold-chip")
    enter(browser, FILM, "#add-view")
    shows(browser, FILM, 2)
    assert not browser.texts(":is(.gold-chip, .gold-mark, .dropped, .without):is(#views *)")
    browser.until("!location.hash.includes('drop') && !location.hash.includes('example')")


def test_systems_side_by_side_with_other_extractors_labels_and_dials(browser, address, served_systems):
    views = [("two-scores", ""), ("vanilla", ""), ("vanilla", "occlusion")]
    visit(browser, address, 3, text=FILM, views=views, target="neg")
    other = served_systems["vanilla"].with_extractor("occlusion").explain(FILM, target="neg")
    marks = browser.texts("#views .view:nth-child(3) .passage mark")
    assert marks == [word.text for word in other.words if word.selected]
    assert browser.texts("#views .view:nth-child(2) .against-word") or browser.texts(".view .fine")
    browser.run(
        "(() => { const dial = document.querySelector('[name=dial]'); dial.value = 1;"
        "dial.dispatchEvent(new Event('change')); })()"
    )
    turned = served_systems["two-scores"].explain(FILM, dial=1.0, target="neg")
    browser.until(
        f"JSON.stringify([...document.querySelectorAll('.view:first-child mark')].map(e => e.textContent))"
        f" === {json.dumps(json.dumps([w.text for w in turned.words if w.selected], separators=(',', ':')))}"
    )
    browser.choose("unit", "tokens")
    browser.until("document.querySelectorAll('.view:first-child [data-word]').length > 12")


def test_a_link_restores_what_was_seen(browser, address):
    visit(browser, address, 1, text=FILM, views=[("vanilla", "")], budget=50, drop="0:2:10")
    browser.until(CHANGED)
    browser.until("location.hash.includes('drop')")
    link, seen = browser.run("location.href"), browser.run("document.querySelector('#views').textContent")
    browser.open(link)
    browser.until(CHANGED)
    assert browser.run("document.querySelector('#views').textContent") == seen


def test_hostile_texts_are_inert_and_marked_at_the_right_place(browser, address, served_systems):
    visit(browser, address, 1, text=HOSTILE, views=[("two-scores", "")], budget=50)
    expected = explained(served_systems, HOSTILE, 50)
    assert words(browser) == [word.text for word in expected.words if word.selected]
    assert "".join(browser.texts(".passage")) == HOSTILE
    assert browser.run("document.querySelectorAll('img, main script').length") == 0
    pieces = {word.text: f"0:{word.start}:{word.end}" for word in expected.words}
    assert browser.texts(f"[data-word='{pieces['film']}']") == ["film"]
    for copy in ("html", "json"):
        made = browser.run(
            f"(async () => {{ let got; explorerCopy.text = t => got = t; await 0;"
            f"document.querySelector('[data-copy={copy}]').click(); return got; }})()"
        )
        assert "<img" not in made if copy == "html" else json.loads(made)[0]["result"]["label"]
    assert browser.run("explorerCopy.image(document.querySelector('#views')).width") > 500
    assert not browser.complaints


def test_choices_and_a_system_that_reads_its_rationale(browser, address, served_systems):
    choices = ["bad plot", "good film"]
    visit(browser, address, 1, text="a good film ?", choice=choices, views=[("choices", "")])
    assert browser.run("document.querySelector('[name=choices]').value") == "bad plot\ngood film"
    label = served_systems["choices"].predict({"text": "a good film ?", "choices": choices})
    assert browser.texts(".chip")[0].startswith(f"{label} · ")
    visit(browser, address, 1, text=FILM, views=[("rationale", "")])
    assert "no text" in browser.texts(".part dt") and browser.run(
        "document.querySelector('[name=budget]').disabled"
    )


def test_a_pair_a_contrast_sentences_and_a_text_that_is_cut(browser, address, served_systems):
    visit(browser, address, 1, text=FILM, views=[("two-scores", "")])
    browser.click("#add-text")
    browser.type("dull .")  # the second text has the focus
    browser.click("#ask button[type=submit]")
    browser.until("document.querySelectorAll('.passage p').length === 2")
    pair = served_systems["two-scores"].explain((FILM, "dull ."))
    assert browser.texts(".passage p") == [FILM, "dull ."]
    assert words(browser) == [word.text for word in pair.words if word.selected]
    browser.choose("contrast", next(name for name in ("neg", "pos") if name != pair.label))
    browser.until("document.querySelector('.view').textContent.includes(' rather than for ')")
    cut = {"text": "good . " * 80, "unit": "sentence"}
    visit(browser, address, 1, views=[("two-scores", "")], **cut)
    read = served_systems["two-scores"].explain(cut["text"], unit="sentence")
    assert browser.texts(".view .warning")[0].startswith(f"Cut: {read.truncated} tokens were not read")
    assert words(browser)[0] == next(piece.text for piece in read.sentences if piece.selected)
    assert not browser.complaints


def test_a_contrast_of_label_sets_prefers_the_most_probable_label(browser, address, served_systems):
    shares = served_systems["sets"].explain(FILM).probabilities
    first, other = max(shares, key=shares.get), min(shares, key=shares.get)
    visit(browser, address, 1, text=FILM, views=[("sets", "integrated-gradients")], contrast=other)
    assert f"Reasons for {first} rather than for {other}." in browser.texts(".view .fine")


def test_a_long_text_is_said_to_be_read_in_windows(browser, served_systems, encoders, listening):
    from unirex.system import System

    model = tiny.build_model(encoders("bert"), extractor="shared-lm", max_length=40, truncation="windows")
    system, text = System(model, served_systems["slm"].tokenizer), " ".join(["good film"] * 40)
    with listening({"windows": system}) as (found, _, _):
        visit(browser, found, 1, text=text)
        note = "Texts longer than 40 tokens are read in overlapping windows."
        assert note in browser.texts(".view .fine") and not browser.texts(".view .warning")
        assert browser.texts(".passage") == [text]
        visit(browser, found, 1, text=[text, "dull ."])
        assert note in browser.texts(".view .fine")


def test_examples_are_filtered_and_shown_with_their_gold(browser, address, served_systems):
    visit(browser, address, views=[("two-scores", ""), ("vanilla", "")])
    browser.click("summary")
    assert len(browser.texts("#list li")) == len(tiny.SENTENCES)
    examples, systems = tiny.examples(), [served_systems[name] for name in ("two-scores", "vanilla")]
    found = [system.predict([example.text for example in examples]) for system in systems]
    for name, option, expected in (
        (
            "filter",
            "where a system is wrong",
            [e.label not in {a, b} or a != b for e, a, b in zip(examples, *found, strict=True)],
        ),
        ("filter", "where systems disagree", [a != b for a, b in zip(*found, strict=True)]),
    ):
        browser.choose(name, option)
        browser.until(f"document.querySelector('#found').textContent === '{sum(expected)} found'")
    browser.choose("filter", "all")
    browser.click("#list li:first-child button")
    browser.until(DONE.format(2))
    start, end = examples[0].rationale[0][0]
    assert browser.texts(".view:first-child .gold-mark") == [examples[0].text[start:end]]
    assert browser.texts(".view:first-child .gold-chip") == [examples[0].label]


def test_a_key_is_asked_for_and_kept_in_the_tab(browser, served_systems, listening):
    with listening({"slm": served_systems["slm"]}, Settings(api_key=KEY)) as (found, _, _):
        browser.open(f"{found}/")
        browser.until("!document.querySelector('#key-form').hidden")
        browser.click("[name=key]")
        browser.type(KEY)
        browser.press("Enter")
        browser.until("document.querySelectorAll('.view').length === 1")
        assert browser.run("sessionStorage.getItem('unirex-key')") == KEY and KEY not in browser.run(
            "location.href"
        )
        visit(browser, found, 1, text=FILM)


def test_errors_are_shown_in_words_and_a_busy_server_is_asked_again(browser, address):
    visit(browser, address, text=FILM, views=[("two-scores", "attention")], target="neg")
    browser.until("document.querySelector('.view .warning') !== null")
    assert "same for every label" in browser.texts(".view .warning")[0]
    visit(browser, address, 1, text=FILM, views=[("two-scores", "")])
    browser.run(
        "(() => { const real = fetch, busy = { status: 429, headers: { 'Retry-After': '1' } }; let left = 1;"
        "window.fetch = (...a) => a[0] === 'explain' && left-- > 0"
        "? Promise.resolve(new Response('{}', busy)) : real(...a); })()"
    )
    enter(browser, "dull .")
    browser.until("document.querySelector('#status').textContent.includes('asking again in 1 s')")
    browser.until("document.querySelector('.passage').textContent === 'dull .'")


@needs_axe
def test_the_page_is_accessible_and_fits_a_phone(browser, address):
    visit(browser, address, 2, text=FILM, drop="0:2:10", views=[("two-scores", ""), ("vanilla", "")])
    browser.run("document.querySelector('#examples').open = true")
    is_accessible(browser)
    browser.size(390, 800)
    assert browser.run("document.documentElement.scrollWidth") <= 390
    browser.size(1100, 1400)
