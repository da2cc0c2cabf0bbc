"""All examples of a comparison to search, filter and page through: one file, nothing fetched.

The page holds the examples as JSON and shows a few of them at a time, so ten thousand stay fluid. Its script
(`browser.js`) writes text only as text; the policy of `html.page` allows it by its hash.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from importlib.resources import files

from unirex.report.controls import bar, controls
from unirex.report.html import key
from unirex.report.island import island
from unirex.report.markup import Html, element, joined
from unirex.report.shown import Answer, Shown, shown_from
from unirex.report.static import card

__all__ = ["Answer", "Shown", "browser", "browser_script", "browser_style", "shown_from"]

STATIC = 5  # examples for a reader whose browser runs no scripts


def browser(examples: Sequence[Shown], methods: Sequence[str]) -> Html:
    """A section to browse the examples in; the page needs `browser_style` and `browser_script` too."""
    parts = [
        element("h2", "The same texts, seen by each", id="examples-title"),
        element("p", _lead(examples, methods), class_="lead"),
        key("method"),
        element("noscript", *_static(examples, methods)),
        controls(examples, methods),
        bar(),
        element("div", class_="results"),
        element("script", island(examples, methods), type="application/json"),
    ]
    return element(
        "section", joined(parts, "\n"), class_="browser", id="examples", aria_labelledby="examples-title"
    )


def browser_style() -> str:
    """What the section needs beside the style of all pages."""
    return files("unirex.report").joinpath("browser.css").read_text("utf-8")


def browser_script() -> str:
    """What makes the section work; goes into one `<script>`, anywhere in the page, to the letter."""
    return files("unirex.report").joinpath("browser.js").read_text("utf-8")


def _lead(examples: Sequence[Shown], methods: Sequence[str]) -> str:
    texts = f"{len(examples):,} text{'' if len(examples) == 1 else 's'}"
    return f"{texts}, {len(methods)} method{'' if len(methods) == 1 else 's'}."


def _static(examples: Sequence[Shown], methods: Sequence[str]) -> Iterable[Html]:
    """The first examples, for those who see no others."""
    shown = examples[:STATIC]
    if len(examples) > len(shown):
        says = f"The first {len(shown)} of {len(examples):,}; to see them all, let this page run its script."
        yield element("p", says, class_="lead")
    yield from (card(at, one, methods) for at, one in enumerate(shown, start=1))
