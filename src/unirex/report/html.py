"""Explanations as pages that stand alone: one file, no scripts, nothing fetched."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib.resources import files
from itertools import zip_longest

from unirex.explanation import Explanation
from unirex.metrics import METRICS
from unirex.report import shades
from unirex.report.cards import answer, gold
from unirex.report.chart import Series, chart, legend, series_of
from unirex.report.markup import Html, element, joined
from unirex.report.pieces import LEVELS
from unirex.report.scoreboard import scoreboard
from unirex.report.table import Rows

POLICY = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'"
CURVES = {
    "comprehensiveness": "How far the prediction falls when the rationale is taken away.",
    "sufficiency": "How far the prediction falls when only the rationale is left.",
}


def explanation_page(explanations: Sequence[Explanation], *, title: str) -> str:
    """A page of explanations for somebody who was not there: each text with its label and its reasons."""
    cards = [_single(at, one) for at, one in enumerate(explanations, start=1)]
    body = [header("Explanations", title, count(len(cards), "text")), _key(), *cards]
    return page(title, body if cards else [*body[:1], element("p", "There is nothing to show yet.")])


def comparison_page(
    *,
    title: str,
    systems: Mapping[str, Sequence[Explanation]],
    rows: Rows,
    notes: Sequence[str] = (),
) -> str:
    """A page that answers which system to trust: the numbers first, then the same texts seen by each."""
    examples = list(zip_longest(*systems.values()))
    lead = f"{count(len(systems), 'system')}, side by side on {count(len(examples), 'text')}"
    cards = [
        _compared(at, dict(zip(systems, each, strict=True))) for at, each in enumerate(examples, start=1)
    ]
    shown = [element("h2", "The same texts, seen by each"), _key(), *cards] if cards else []
    return page(
        title,
        [header("Comparison", title, lead), _numbers(rows, systems, notes), _curves(rows, systems), *shown],
    )


def _numbers(rows: Rows, systems: Mapping[str, object], notes: Sequence[str]) -> Html:
    """The three desiderata in numbers, with what the reader must know about them."""
    if not rows:
        return Html("")
    lead = element(
        "p",
        "A good explanation costs no accuracy (performance), names the words the model really used "
        "(faithfulness), and names the words a person would (plausibility). Arrows point to the good side; "
        "the best system of each column is in bold.",
        class_="lead",
    )
    remarks = [element("ul", *(element("li", note) for note in notes), class_="notes")] if notes else []
    return element(
        "section", element("h2", "How they compare"), lead, scoreboard(rows, systems=systems), *remarks
    )


def _curves(rows: Rows, systems: Mapping[str, object]) -> Html:
    """What removing and keeping the rationale does to the prediction, by the length of the rationale."""
    found = {name: series_of(name, rows, systems=systems) for name in CURVES}
    drawn = {name: series for name, series in found.items() if series}
    if not drawn:
        return Html("")
    figures = [_figure(name, series) for name, series in drawn.items()]
    longest = max(drawn.values(), key=len)
    parts = (element("div", *figures, class_="figures"), legend(longest))
    return element("section", element("h2", "Faithfulness at every length"), *parts)


def _figure(name: str, series: Sequence[Series]) -> Html:
    metric = METRICS[name]
    words = f"{CURVES[name]} {metric.direction.capitalize()} is better."
    title = f"{name.capitalize()} by length of the rationale"
    head = element("h3", f"{name.capitalize()} {metric.arrow}")
    return element("figure", head, element("p", words, class_="fine"), chart(title, series))


def _single(at: int, explanation: Explanation) -> Html:
    seen = element("div", answer(explanation), class_="single")
    parts = (_title("h2", at, explanation), seen, gold(explanation, heading="h3"))
    return element("article", *parts, class_="card")


def _compared(at: int, answers: Mapping[str, Explanation | None]) -> Html:
    """One text: what a person marked, then what each system says."""
    given = {name: one for name, one in answers.items() if one is not None}
    told = max(given.values(), key=lambda one: (one.gold_spans is not None, one.gold_label is not None))
    views = [
        element("section", element("h4", name), answer(one), class_="view") for name, one in given.items()
    ]
    grid = element("div", *views, class_="grid")
    return element("article", _title("h3", at, told), gold(told, heading="h4"), grid, class_="card")


def _title(heading: str, at: int, explanation: Explanation) -> Html:
    name = [element("span", explanation.id, class_="id")] if explanation.id is not None else []
    return element(heading, f"Text {at}", *name, class_="card-title")


def _key() -> Html:
    """What the marks mean, in plain words."""
    ramp = joined(element("span", " ", class_=f"s{at}") for at in range(1, LEVELS + 1))
    items = [
        (
            element("span", ramp, class_="ramp"),
            "the stronger the colour, the more a word mattered to the system",
        ),
        (element("mark", "underlined", class_="s6"), "its rationale: the words it would show as its reasons"),
        (element("span", "dotted", class_="gold-mark"), "what the data mark as the reasons (gold)"),
    ]
    return element("ul", *(element("li", sign, " ", says) for sign, says in items), class_="key")


def header(kind: str, title: str, lead: str) -> Html:
    """What the page is, its title, and how much is on it."""
    eyebrow = element("p", f"unirex · {kind}", class_="eyebrow")
    return element("header", eyebrow, element("h1", title), element("p", f"{lead}.", class_="lead"))


def count(number: int, thing: str) -> str:
    """So many of something.

    >>> count(1, "text"), count(2, "text")
    ('1 text', '2 texts')
    """
    return f"{number} {thing}" if number == 1 else f"{number} {thing}s"


def page(title: str, body: Sequence[str]) -> str:
    """The whole file; its policy forbids everything but its own style."""
    style = Html(shades.css() + files("unirex.report").joinpath("style.css").read_text("utf-8"))
    head = [
        element("meta", charset="utf-8"),
        element("meta", http_equiv="Content-Security-Policy", content=POLICY),
        element("meta", name="viewport", content="width=device-width, initial-scale=1"),
        element("meta", name="color-scheme", content="light dark"),
        element("title", title),
        element("style", style),
    ]
    footer = element(
        "footer", element("p", "Made with unirex. This page is one file and asks nothing of the network.")
    )
    content = element("body", element("main", joined(body, "\n")), footer)
    page = element("html", element("head", joined(head, "\n")), content, lang="en")
    return f"<!doctype html>\n{page}\n"
