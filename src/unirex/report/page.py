"""Self-contained HTML pages: the frame of a page and the parts that all pages share."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Iterable, Sequence
from hashlib import sha256
from importlib.resources import files

from unirex.report.marked_text import LEVELS, shade_css
from unirex.report.markup import Html, element, joined

# Texts of the data are on the page: if escaping ever failed, they still could neither load nor run anything.
POLICY = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'"
FOOTER = "Made with unirex. This page is one file and needs no network."
LIVE_FOOTER = "Made with unirex. This page asks only the server it comes from."
GOLD_KEY = (element("span", "dots above", class_="gold-mark"), "what the data mark as the reasons (gold)")


def page(title: str, body: Sequence[str], *, style: str = "", script: str = "", live: bool = False) -> str:
    """The whole file; its policy allows its own style and its one script, if any, and nothing else.

    Args:
        title: of the window.
        body: its parts.
        style: rules of its own, after those of all pages.
        script: the one script that may run.
        live: the script asks the server that the page comes from.
    """
    head = [
        element("meta", charset="utf-8"),
        element("meta", http_equiv="Content-Security-Policy", content=policy(script, live=live)),
        element("meta", name="viewport", content="width=device-width, initial-scale=1"),
        element("meta", name="color-scheme", content="light dark"),
        element("title", title),
        element("style", Html(shade_css() + resource("style.css") + style)),
    ]
    run = [element("script", Html(script))] if script else []
    footer = element("footer", element("p", LIVE_FOOTER if live else FOOTER))
    content = element("body", element("main", joined(body, "\n")), footer, *run)
    whole = element("html", element("head", joined(head, "\n")), content, lang="en")
    return f"<!doctype html>\n{whole}\n"


def policy(script: str = "", *, live: bool = False) -> str:
    """The content security policy of a page; it names the script by its hash, so that no other runs."""
    if not script:
        return POLICY
    digest = b64encode(sha256(script.encode("utf-8")).digest()).decode("ascii")
    asking = "; connect-src 'self'" if live else ""
    return f"{POLICY}; script-src 'sha256-{digest}'{asking}"


def resource(name: str) -> str:
    """A style sheet or script of this package."""
    return files("unirex.report").joinpath(name).read_text("utf-8")


def header(kind: str, title: str, lead: str) -> Html:
    """The top of a page: its kind, its title, and how much is on it."""
    eyebrow = element("p", f"unirex · {kind}", class_="eyebrow")
    return element("header", eyebrow, element("h1", title), element("p", f"{lead}.", class_="lead"))


def count(number: int, thing: str) -> str:
    """A number with its noun.

    >>> count(1, "text"), count(2, "text")
    ('1 text', '2 texts')
    """
    return f"{number} {thing}" if number == 1 else f"{number} {thing}s"


def percent(share: float) -> str:
    """A share in per cent.

    >>> percent(0.9312)
    '93.1 %'
    """
    return f"{share:.1%}".replace("%", " %")


def key(items: Iterable[tuple[Html, str]]) -> Html:
    """What the marks on a page mean, in words."""
    return element("ul", *(element("li", sign, " ", meaning) for sign, meaning in items), class_="key")


def rationale_key(subject: str, *, gold: bool = True, more: Iterable[tuple[Html, str]] = ()) -> Html:
    """The key of shades, rationales, `gold` marks and `more`; `subject` is a system or a method."""
    shades = joined(element("span", " ", class_=f"s{level}") for level in range(1, LEVELS + 1))
    ramp = element("span", shades, class_="ramp")
    items = [
        (ramp, f"tint: the stronger, the more a word mattered to the {subject}"),
        (element("mark", "underline"), "its rationale: the words it would show as its reasons"),
    ]
    return key([*items, *([GOLD_KEY] if gold else []), *more])


def gold_label(label: str) -> list[Html]:
    """The label that the data give a text, for a line of verdicts."""
    chip = element("span", label, class_="chip gold-chip", dir="auto")
    return [chip, element("span", "gold label", class_="muted")]
