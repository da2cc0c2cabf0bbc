"""The page of a comparison: the numbers, the figures, and all texts to browse, in one file.

The page runs one script, that of the browser of examples; its policy names that script by its hash.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from unirex.report.browser import browser, browser_script, browser_style
from unirex.report.browser_data import ComparedExample
from unirex.report.figures import Figure
from unirex.report.grid import Grid
from unirex.report.markup import Html, element
from unirex.report.page import count, header, page, resource


@dataclass(frozen=True, slots=True)
class Section:
    """A part of the page: text, tables and figures, and further tables that fold out."""

    name: str  # its anchor
    title: str
    lead: str = ""
    notes: Sequence[str] = ()
    grids: Sequence[Grid] = ()
    figures: Sequence[Figure] = ()
    more: Mapping[str, Sequence[Grid]] = field(default_factory=dict)  # folded tables, by their summary


def compare_page(
    title: str,
    sections: Sequence[Section],
    examples: Sequence[ComparedExample],
    methods: Sequence[str],
    *,
    texts: int,
) -> str:
    """The whole file: summary first, then the details, then every text with the highlights of all methods."""
    lead = f"{count(len(methods), 'method')} on the same {count(texts, 'text')}"
    links = [(section.name, section.title) for section in sections]
    if examples:
        links.append(("examples", "Texts"))
    body = [header("Comparison", title, lead), _contents(links), *map(_section, sections)]
    style = resource("compare.css")
    if not examples:
        return page(title, body, style=style)
    body.append(browser(examples, methods))
    return page(title, body, style=style + browser_style(), script=browser_script())


def _contents(links: Sequence[tuple[str, str]]) -> Html:
    items = [element("li", element("a", title, href=f"#{name}")) for name, title in links]
    return element("nav", element("ul", *items, class_="contents"), aria_label="On this page")


def _section(section: Section) -> Html:
    parts = [element("h2", section.title)]
    if section.lead:
        parts.append(element("p", section.lead, class_="lead"))
    parts += [grid.html() for grid in section.grids]
    if section.notes:
        parts.append(element("ul", *(element("li", note) for note in section.notes), class_="notes"))
    if section.figures:
        parts.append(element("div", *map(_figure, section.figures), class_="plots"))
    for summary, grids in section.more.items():
        parts.append(element("details", element("summary", summary), *(grid.html() for grid in grids)))
    return element("section", *parts, id=section.name)


def _figure(figure: Figure) -> Html:
    region = {"class_": "drawing", "tabindex": "0", "role": "region", "aria_label": figure.title}
    drawing = element("div", figure.inline(), **region)
    caption = element("p", figure.caption, class_="fine")
    return element("figure", element("h3", figure.title), caption, drawing)
