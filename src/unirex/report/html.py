"""Pages that stand alone, one file with nothing fetched; and explanations on them."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Sequence
from hashlib import sha256
from importlib.resources import files

from unirex.explanation import Explanation
from unirex.report import shades
from unirex.report.cards import answer, gold
from unirex.report.markup import Html, element, joined
from unirex.report.pieces import LEVELS

POLICY = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'"


def explanation_page(explanations: Sequence[Explanation], *, title: str) -> str:
    """A page of explanations for somebody who was not there: each text with its label and its reasons."""
    cards = [_single(at, one) for at, one in enumerate(explanations, start=1)]
    body = [header("Explanations", title, count(len(cards), "text")), key("system"), *cards]
    return page(title, body if cards else [*body[:1], element("p", "There is nothing to show yet.")])


def _single(at: int, explanation: Explanation) -> Html:
    seen = element("div", answer(explanation), class_="single")
    parts = (_title("h2", at, explanation), seen, gold(explanation, heading="h3"))
    return element("article", *parts, class_="card")


def _title(heading: str, at: int, explanation: Explanation) -> Html:
    name = [element("span", explanation.id, class_="id")] if explanation.id is not None else []
    return element(heading, f"Text {at}", *name, class_="card-title")


def key(who: str) -> Html:
    """What the marks mean, in plain words; `who` says so by them."""
    ramp = joined(element("span", " ", class_=f"s{at}") for at in range(1, LEVELS + 1))
    items = [
        (
            element("span", ramp, class_="ramp"),
            f"the stronger the colour, the more a word mattered to the {who}",
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


def page(title: str, body: Sequence[str], *, style: str = "", script: str = "") -> str:
    """The whole file; its policy forbids everything but its own style, and its one script if it has one."""
    sheet = shades.css() + files("unirex.report").joinpath("style.css").read_text("utf-8") + style
    head = [
        element("meta", charset="utf-8"),
        element("meta", http_equiv="Content-Security-Policy", content=policy(script)),
        element("meta", name="viewport", content="width=device-width, initial-scale=1"),
        element("meta", name="color-scheme", content="light dark"),
        element("title", title),
        element("style", Html(sheet)),
    ]
    footer = element(
        "footer", element("p", "Made with unirex. This page is one file and asks nothing of the network.")
    )
    run = [element("script", Html(script))] if script else []
    content = element("body", element("main", joined(body, "\n")), footer, *run)
    whole = element("html", element("head", joined(head, "\n")), content, lang="en")
    return f"<!doctype html>\n{whole}\n"


def policy(script: str = "") -> str:
    """What a page may do: a script is named by its hash, so no other ever runs."""
    if not script:
        return POLICY
    digest = b64encode(sha256(script.encode("utf-8")).digest()).decode("ascii")
    return f"{POLICY}; script-src 'sha256-{digest}'"
