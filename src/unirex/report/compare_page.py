"""A comparison as a page that stands alone: the numbers, the figures, and all texts to browse.

The page runs one script, that of the browser of examples, and its policy names that script by its hash.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from importlib.resources import files

from unirex.report.browser import browser, browser_script, browser_style
from unirex.report.figures import Figure
from unirex.report.grid import Grid
from unirex.report.markup import Html, element
from unirex.report.page import count, header, page
from unirex.report.shown import Shown


@dataclass(frozen=True, slots=True)
class Section:
    """A part of the page: what it says, its tables and figures, and tables to be seen on request."""

    name: str  # where the contents lead to
    title: str
    lead: str = ""
    notes: Sequence[str] = ()
    grids: Sequence[Grid] = ()
    figures: Sequence[Figure] = ()
    more: Mapping[str, Sequence[Grid]] = field(default_factory=dict)  # by what to click on to see them


def compare_page(
    title: str,
    sections: Sequence[Section],
    examples: Sequence[Shown],
    methods: Sequence[str],
    *,
    texts: int,
) -> str:
    """The whole file: summary first, then the details, then every text with the highlights of all methods."""
    shown = [browser(examples, methods)] if examples else []
    lead = f"{count(len(methods), 'method')} on the same {count(texts, 'text')}"
    links = [(one.name, one.title) for one in sections] + ([("examples", "Texts")] if shown else [])
    body = [header("Comparison", title, lead), _contents(links), *map(_section, sections), *shown]
    own = files("unirex.report").joinpath("compare.css").read_text("utf-8")
    if not shown:
        return page(title, body, style=own)
    return page(title, body, style=own + browser_style(), script=browser_script())


def _contents(links: Sequence[tuple[str, str]]) -> Html:
    items = [element("li", element("a", title, href=f"#{name}")) for name, title in links]
    return element("nav", element("ul", *items, class_="contents"), aria_label="On this page")


def _section(one: Section) -> Html:
    parts: list[str] = [element("h2", one.title)]
    if one.lead:
        parts.append(element("p", one.lead, class_="lead"))
    parts += [grid.html() for grid in one.grids]
    if one.notes:
        parts.append(element("ul", *(element("li", note) for note in one.notes), class_="notes"))
    if one.figures:
        parts.append(element("div", *map(_figure, one.figures), class_="plots"))
    folded = [
        element("details", element("summary", name), *(grid.html() for grid in grids))
        for name, grids in one.more.items()
    ]
    return element("section", *parts, *folded, id=one.name)


def _figure(one: Figure) -> Html:
    drawing = element(
        "div", one.inline(), class_="drawing", tabindex="0", role="region", aria_label=one.title
    )
    return element("figure", element("h3", one.title), element("p", one.caption, class_="fine"), drawing)
