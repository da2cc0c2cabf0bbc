"""The page of a comparison: the verdict, the numbers, all texts to search and filter, and the figures.

The page runs one script, that of the browser of examples; its policy names that script by its hash.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from unirex.report.browser_data import ComparedExample, browser_json, known_labels
from unirex.report.figures import Figure
from unirex.report.grid import Grid
from unirex.report.markup import Html, element, joined
from unirex.report.page import count, header, page, rationale_key, resource

PAGE_SIZES = (5, 25, 50)  # cards at once; few at first, as the figures are below them
NO_SCRIPT = "To browse the texts, let this page run its script."

SelectOptions = Sequence[tuple[str, str]]  # value, text


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
    early: bool = False  # above the texts

    def html(self) -> Html:
        """The section as it stands in the page."""
        parts = [element("h2", self.title)]
        if self.lead:
            parts.append(element("p", self.lead, class_="lead"))
        parts += [grid.html() for grid in self.grids]
        if self.notes:
            parts.append(element("ul", *(element("li", note) for note in self.notes), class_="notes"))
        figures = []
        for figure in self.figures:
            drawings = [figure.inline(), figure.inline(narrow=True)]  # the page shows one of them
            caption = element("p", figure.caption, class_="fine")
            drawn = element("div", *drawings, class_="drawing")
            figures.append(element("figure", element("h3", figure.title), caption, drawn))
        if figures:
            parts.append(element("div", *figures, class_="plots"))
        for summary, grids in self.more.items():
            parts.append(element("details", element("summary", summary), *(grid.html() for grid in grids)))
        return element("section", *parts, id=self.name)


def compare_page(
    title: str,
    sections: Sequence[Section],
    examples: Sequence[ComparedExample],
    methods: Sequence[str],
    *,
    texts: int,
    verdict: Sequence[str] = (),
) -> str:
    """The whole file: verdict and summary, every text with the highlights of all methods, then details."""
    kind, lead = "Comparison", f"{count(len(methods), 'method')} on the same {count(texts, 'text')}"
    if len(methods) == 1:
        kind, lead = "Evaluation", count(texts, "text")
    early = [section for section in sections if section.early]
    late = [section for section in sections if not section.early]
    links = [(section.name, section.title) for section in early]
    links += [("examples", "Texts")] if examples else []
    links += [(section.name, section.title) for section in late]
    items = [element("li", element("a", text, href=f"#{name}")) for name, text in links]
    contents = element("nav", element("ul", *items, class_="contents"), aria_label="On this page")
    found = element("section", *(element("p", part) for part in verdict), class_="findings", id="verdict")
    body = [header(kind, title, lead), *([found] if verdict else []), contents]
    body += [section.html() for section in early]
    body += [browser(examples, methods)] if examples else []
    body += [section.html() for section in late]
    style = resource("compare.css")
    if not examples:
        return page(title, body, style=style)
    script = resource("dom.js") + resource("browser.js")
    return page(title, body, style=style + resource("browser.css"), script=script)


# ---- The browser of examples ------------------------------------------------------------------------------


def browser(examples: Sequence[ComparedExample], methods: Sequence[str]) -> Html:
    """The section to browse the examples in; its page has `browser.css`, `dom.js` and `browser.js`."""
    texts = f"{len(examples):,} text{'' if len(examples) == 1 else 's'}"
    # The form that narrows the view; fields that the examples have no data for are left out.
    rows = [_order(examples, methods), *_filters(examples, methods), _switches(examples, methods)]
    form = {"role": "search", "aria_label": "Find texts", "autocomplete": "off"}
    parts = [
        element("h2", "The same texts, seen by each" if len(methods) > 1 else "Texts", id="examples-title"),
        element("p", f"{texts}, {count(len(methods), 'method')}.", class_="lead"),
        rationale_key("method", gold=any(example.gold for example in examples)),
        element("noscript", element("p", NO_SCRIPT, class_="lead")),
        element("form", *rows, class_="controls", hidden="", **form),
        _bar(),
        element("div", class_="results"),
        element("script", browser_json(examples, methods), type="application/json"),
    ]
    return element(
        "section", joined(parts, "\n"), class_="browser", id="examples", aria_labelledby="examples-title"
    )


def _order(examples: Sequence[ComparedExample], methods: Sequence[str]) -> Html:
    """What to look for, in which order, and how much at once."""
    answers = [answer for example in examples for answer in example.answers.values()]
    sorts = [("", "as in the data")]
    if len(methods) > 1:
        sorts.append(("disagreement", "most disagreement"))
    if any(answer.confidence is not None for answer in answers):
        sorts += [("unsure", "least confident"), ("sure", "most confident")]
    sorts += [("short", "shortest"), ("long", "longest")]
    sizes = [(str(size), str(size)) for size in PAGE_SIZES]
    hints = {"placeholder": "words or an id", "autocomplete": "off", "spellcheck": "false"}
    fields = [
        _field("Search", element("input", type="search", name="q", **hints), class_="wide-field"),
        _field("Sort", _select(sorts, name="sort")),
        _field("On a page", _select(sizes, name="size"), class_="small-field"),
    ]
    return element("div", *fields, class_="fields")


def _filters(examples: Sequence[ComparedExample], methods: Sequence[str]) -> list[Html]:
    """Labels, outcomes, predictions and how far rationales overlap; nothing if none of them is known."""
    labels = [("", "any"), *((str(number), label) for number, label in enumerate(known_labels(examples)))]
    fields = []
    if any(example.label is not None for example in examples):
        fields.append(_field("Gold label", _select(labels, name="gold")))
        fields.append(_field("Outcome", _select(_outcomes(methods), name="outcome")))
    if len(labels) > 1 and methods:
        # Two lists that belong together: whose prediction, and which.
        numbers = [(str(number), name) for number, name in enumerate(methods)]
        by = _select(numbers, name="by", aria_label="Method whose prediction counts")
        says = _select(labels, name="says", aria_label="Its prediction")
        title = element("span", "Predicted by", aria_hidden="true")  # the lists have names of their own
        group = {"class_": "field pair-field", "role": "group", "aria_label": "Prediction"}
        fields.append(element("div", title, element("span", by, says, class_="pair"), **group))
    if len(methods) > 1:
        slider = element("input", type="range", name="overlap", min=0, max=100, step=5, value=100)
        title = joined(["Rationales overlap ", element("b", "any", class_="limit")])
        fields.append(_field(title, slider))
    return [element("div", *fields, class_="fields")] if fields else []


def _outcomes(methods: Sequence[str]) -> SelectOptions:
    if len(methods) < 2:
        return [("", "any"), ("wrong", "wrong"), ("right", "right")]
    options = [("", "any"), ("some", "some method wrong"), ("wrong", "all wrong"), ("right", "all right")]
    for number, name in enumerate(methods):
        options += [(f"{outcome}:{number}", f"{name} {outcome}") for outcome in ("wrong", "right")]
    return options


def _switches(examples: Sequence[ComparedExample], methods: Sequence[str]) -> Html:
    boxes = [_check("without", name, name, checked=True) for name in methods]
    parts = [element("fieldset", element("legend", "Shown and compared"), *boxes)]
    if len(methods) > 1:
        parts.append(_check("differ", "yes", "methods predict differently"))
    if any(example.gold for example in examples):
        parts.append(_check("marked", "yes", "with gold marks"))
    return element("div", *parts, element("button", "Reset", type="reset"), class_="toggles")


def _bar() -> Html:
    """The number of texts found, and the buttons that turn pages."""
    number = element("input", type="number", name="page", min=1, value=1, aria_label="Page")
    word, pages = element("span", "Page ", class_="word"), element("span", "1", class_="pages")
    parts = [
        element("button", "←", type="button", class_="previous", aria_label="Previous page"),
        element("label", word, number, " of ", pages),
        element("button", "→", type="button", class_="next", aria_label="Next page"),
    ]
    pager = element("nav", *parts, class_="pager", aria_label="Pages")
    status = element("p", class_="count", role="status", aria_live="polite")
    return element("div", status, pager, class_="bar", hidden="")


def _select(options: SelectOptions, **attributes: str) -> Html:
    choices = [element("option", text, value=value) for value, text in options]
    return element("select", *choices, **attributes)


def _check(name: str, value: str, label: str, *, checked: bool = False) -> Html:
    box = element("input", type="checkbox", name=name, value=value, checked="" if checked else None)
    return element("label", box, element("span", label, dir="auto"), class_="check")


def _field(label: str, control: Html, *, class_: str = "") -> Html:
    return element("label", element("span", label), control, class_=f"field {class_}".strip())
