"""All examples of a comparison to search, filter and page through, in one file."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from importlib.resources import files

from unirex.report.island import island, known_labels
from unirex.report.markup import Html, element, joined
from unirex.report.page import key
from unirex.report.shown import Answer, Shown
from unirex.report.static import card

PAGES = (25, 50)  # cards at once

Options = Sequence[tuple[str, str]]  # value, text


def controls(examples: Sequence[Shown], methods: Sequence[str]) -> Html:
    """Everything a view can be narrowed down by; what the examples do not have is not asked."""
    rows = [_order(examples, methods), _filters(examples, methods), _switches(examples, methods)]
    says = {"role": "search", "aria_label": "Find texts", "autocomplete": "off"}
    return element("form", *rows, class_="controls", hidden="", **says)


def _order(examples: Sequence[Shown], methods: Sequence[str]) -> Html:
    hints = {"placeholder": "words or an id", "autocomplete": "off", "spellcheck": "false"}
    sizes = [(str(size), str(size)) for size in PAGES]
    fields = [
        _field("Search", _input(type="search", name="q", **hints), class_="wide-field"),
        _select("Sort", "sort", _sorts(examples, several=len(methods) > 1)),
        _select("On a page", "size", sizes, class_="small-field"),
    ]
    return element("div", *fields, class_="fields")


def _filters(examples: Sequence[Shown], methods: Sequence[str]) -> Html:
    labels = [(str(number), label) for number, label in enumerate(known_labels(examples))]
    numbers = [(str(number), name) for number, name in enumerate(methods)]
    fields = []
    if any(one.label is not None for one in examples):
        fields.append(_select("Gold label", "gold", [("", "any"), *labels]))
        fields.append(_select("Outcome", "outcome", _outcomes(numbers)))
    if labels and methods:
        fields.append(_prediction(numbers, labels))
    if len(methods) > 1:
        fields.append(_overlap())
    return element("div", *fields, class_="fields") if fields else Html("")


def _switches(examples: Sequence[Shown], methods: Sequence[str]) -> Html:
    boxes = [_check("without", name, name, checked=True) for name in methods]
    parts = [element("fieldset", element("legend", "Shown and compared"), *boxes)]
    if len(methods) > 1:
        parts.append(_check("differ", "yes", "methods predict differently"))
    if any(one.gold for one in examples):
        parts.append(_check("marked", "yes", "with gold marks"))
    return element("div", *parts, element("button", "Reset", type="reset"), class_="toggles")


def _outcomes(methods: Options) -> Options:
    of_all = [("", "any"), ("some", "some method wrong"), ("wrong", "all wrong"), ("right", "all right")]
    of_one = [(f"{how}:{at}", f"{name} {how}") for at, name in methods for how in ("wrong", "right")]
    return of_all + of_one if len(methods) > 1 else [("", "any"), ("wrong", "wrong"), ("right", "right")]


def _sorts(examples: Sequence[Shown], *, several: bool) -> Options:
    sure = any(answer.confidence is not None for one in examples for answer in one.answers.values())
    return [
        ("", "as in the data"),
        *([("disagreement", "most disagreement")] if several else []),
        *([("unsure", "least confident"), ("sure", "most confident")] if sure else []),
        ("short", "shortest"),
        ("long", "longest"),
    ]


def _prediction(methods: Options, labels: Options) -> Html:
    """Two choices that belong together: whose prediction, and which."""
    by = element("select", *map(_option, methods), name="by", aria_label="Method whose prediction counts")
    says = element("select", *map(_option, [("", "any"), *labels]), name="says", aria_label="Its prediction")
    pair = element("span", by, says, class_="pair")
    title = element("span", "Predicted by", aria_hidden="true")  # the lists have names of their own
    return element("div", title, pair, class_="field pair-field", role="group", aria_label="Prediction")


def _overlap() -> Html:
    slider = _input(type="range", name="overlap", min=0, max=100, step=5, value=100)
    words = joined(["Rationales overlap ", element("b", "any", class_="limit")])
    return _field(words, slider)


def bar() -> Html:
    """How many there are, and the way to the others."""
    number = _input(type="number", name="page", min=1, value=1, aria_label="Page")
    word, pages = element("span", "Page ", class_="word"), element("span", "1", class_="pages")
    parts = [
        element("button", "←", type="button", class_="previous", aria_label="Previous page"),
        element("label", word, number, " of ", pages),
        element("button", "→", type="button", class_="next", aria_label="Next page"),
    ]
    pager = element("nav", *parts, class_="pager", aria_label="Pages")
    count = element("p", class_="count", role="status", aria_live="polite")
    return element("div", count, pager, class_="bar", hidden="")


def _select(label: str, name: str, options: Options, *, class_: str = "") -> Html:
    return _field(label, element("select", *map(_option, options), name=name), class_=class_)


def _option(option: tuple[str, str]) -> Html:
    return element("option", option[1], value=option[0])


def _check(name: str, value: str, label: str, *, checked: bool = False) -> Html:
    box = _input(type="checkbox", name=name, value=value, checked="" if checked else None)
    return element("label", box, element("span", label, dir="auto"), class_="check")


def _field(label: str, control: Html, *, class_: str = "") -> Html:
    return element("label", element("span", label), control, class_=f"field {class_}".strip())


def _input(**attributes: object) -> Html:
    return Html(element("input", **attributes).removesuffix("</input>"))


__all__ = ["Answer", "Shown", "browser", "browser_script", "browser_style"]

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
