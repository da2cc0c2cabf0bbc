"""Self-contained HTML pages, and explanations on them."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Iterable, Sequence
from hashlib import sha256
from importlib.resources import files

from unirex.explanation import Explanation
from unirex.report import marked_text as shades
from unirex.report.marked_text import LEVELS, Piece, gold_pieces, rationale_pieces
from unirex.report.markup import Html, element, joined
from unirex.report.notes import budget, completeness, named, percent, ranked, truncation

LONG = 3000  # characters of HTML; a longer text scrolls in its own box


def answer(explanation: Explanation) -> Html:
    """What the system says and why: label, shaded text, probabilities, budget."""
    measures = element("div", bars(explanation), fine(explanation), class_="measures")
    return joined([verdict(explanation), passage(rationale_pieces(explanation)), measures])


def verdict(explanation: Explanation) -> Html:
    """The predicted label, and whether it is right where that is known."""
    chip = element("span", named(explanation, explanation.label), class_="chip", dir="auto")
    if explanation.gold_label is None:
        return element("p", chip, class_="verdict")
    if explanation.label == explanation.gold_label:
        return element("p", chip, element("span", "✓ correct", class_="right"), class_="verdict")
    return element("p", chip, element("span", "✗ wrong", class_="wrong"), class_="verdict")


def passage(segments: Iterable[Sequence[Piece]]) -> Html:
    """The text, untouched but for its marks, one paragraph per segment."""
    return boxed(element("p", *map(_marked, pieces), class_="text", dir="auto") for pieces in segments)


def boxed(paragraphs: Iterable[Html]) -> Html:
    """The paragraphs of a text; a long one scrolls by itself, so that a question stays in sight."""
    parts = [one if len(one) < LONG else _scrolling(one) for one in paragraphs]
    return element("div", *parts, class_="passage")


def _scrolling(paragraph: Html) -> Html:
    return element("div", paragraph, class_="long", tabindex="0", role="region", aria_label="Text")


def bars(explanation: Explanation) -> Html:
    """How sure the model is of each label."""
    rows = [
        _bar(named(explanation, name), p, label=name == explanation.label) for name, p in ranked(explanation)
    ]
    left = len(explanation.probabilities) - len(rows)
    if left:
        rows.append(element("div", element("dt", f"{left} more", class_="muted"), element("dd")))
    return element("dl", *rows, class_="bars")


def fine(explanation: Explanation) -> Html:
    """The budget, and a warning where the model did not read the whole text."""
    lines = [element("p", f"Rationale: {budget(explanation)}", class_="fine")]
    if explanation.truncated > 0:
        lines.append(element("p", truncation(explanation), class_="fine warning"))
    if explanation.completeness_error is not None:
        lines.append(element("p", completeness(explanation), class_="fine"))
    return joined(lines)


def gold(explanation: Explanation, *, heading: str) -> Html:
    """What a person says: the gold label and the words they marked; nothing where neither is known."""
    if explanation.gold_label is None and explanation.gold_spans is None:
        return Html("")
    parts = [element(heading, "Gold rationale")]
    if explanation.gold_label is not None:
        chip = element(
            "span", named(explanation, explanation.gold_label), class_="chip gold-chip", dir="auto"
        )
        parts.append(element("p", chip, element("span", "gold label", class_="muted"), class_="verdict"))
    return element("section", *parts, _gold_words(explanation), class_="gold")


def _gold_words(explanation: Explanation) -> Html:
    """The text with its gold marks; not the same when nobody looked as when there was nothing to mark."""
    if explanation.gold_spans is None:
        return element("p", "Nobody marked words in this text.", class_="fine")
    text = passage(gold_pieces(explanation))
    if explanation.gold_spans:
        return text
    return joined([text, element("p", "No word of this text was marked.", class_="fine")])


def _marked(piece: Piece) -> Html:
    """A piece of text with its look; what lies between words never gets one."""
    if piece.gold:
        return element("span", piece.text, class_="gold-mark")
    if not piece.selected and not piece.level:
        return joined([piece.text])
    shade = f"s{piece.level}" if piece.level else None
    tag = "mark" if piece.selected else "span"
    return element(tag, piece.text, class_=shade, title=f"score {piece.score:.3g}")


def _bar(name: str, probability: float, *, label: bool) -> Html:
    fill = element("span", class_="fill", style=f"width:{100 * probability:.1f}%")
    value = element("span", percent(probability), class_="value")
    track = element("span", fill, class_="track", aria_hidden="true")
    row = (element("dt", name, dir="auto"), element("dd", track, value))
    return element("div", *row, class_="predicted" if label else None)


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
