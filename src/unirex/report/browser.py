"""The examples of a comparison to search, filter and page through, as one section of a page."""

from __future__ import annotations

from collections.abc import Sequence

from unirex.report.browser_data import ComparedExample, browser_json, known_labels
from unirex.report.markup import Html, element, joined
from unirex.report.page import count, rationale_key, resource

PAGE_SIZES = (25, 50)  # cards at once
NO_SCRIPT = "To browse the texts, let this page run its script."

SelectOptions = Sequence[tuple[str, str]]  # value, text


def browser(examples: Sequence[ComparedExample], methods: Sequence[str]) -> Html:
    """A section to browse the examples in; the page needs `browser_style` and `browser_script` too."""
    texts = f"{len(examples):,} text{'' if len(examples) == 1 else 's'}"
    parts = [
        element("h2", "The same texts, seen by each", id="examples-title"),
        element("p", f"{texts}, {count(len(methods), 'method')}.", class_="lead"),
        rationale_key("method"),
        element("noscript", element("p", NO_SCRIPT, class_="lead")),
        _controls(examples, methods),
        _bar(),
        element("div", class_="results"),
        element("script", browser_json(examples, methods), type="application/json"),
    ]
    return element(
        "section", joined(parts, "\n"), class_="browser", id="examples", aria_labelledby="examples-title"
    )


def browser_style() -> str:
    """The style of the section, beside that of all pages."""
    return resource("browser.css")


def browser_script() -> str:
    """The script of the section; goes unchanged into one `<script>` anywhere in the page."""
    return resource("browser.js")


def _controls(examples: Sequence[ComparedExample], methods: Sequence[str]) -> Html:
    """The form that narrows the view; fields that the examples have no data for are left out."""
    rows = [_order(examples, methods), _filters(examples, methods), _switches(examples, methods)]
    names = {"role": "search", "aria_label": "Find texts", "autocomplete": "off"}
    return element("form", *rows, class_="controls", hidden="", **names)


def _order(examples: Sequence[ComparedExample], methods: Sequence[str]) -> Html:
    hints = {"placeholder": "words or an id", "autocomplete": "off", "spellcheck": "false"}
    sizes = [(str(size), str(size)) for size in PAGE_SIZES]
    fields = [
        _field("Search", element("input", type="search", name="q", **hints), class_="wide-field"),
        _select("Sort", "sort", _sorts(examples, several=len(methods) > 1)),
        _select("On a page", "size", sizes, class_="small-field"),
    ]
    return element("div", *fields, class_="fields")


def _sorts(examples: Sequence[ComparedExample], *, several: bool) -> SelectOptions:
    options = [("", "as in the data")]
    if several:
        options.append(("disagreement", "most disagreement"))
    if any(answer.confidence is not None for example in examples for answer in example.answers.values()):
        options += [("unsure", "least confident"), ("sure", "most confident")]
    return [*options, ("short", "shortest"), ("long", "longest")]


def _filters(examples: Sequence[ComparedExample], methods: Sequence[str]) -> Html:
    labels = [(str(number), label) for number, label in enumerate(known_labels(examples))]
    numbers = [(str(number), name) for number, name in enumerate(methods)]
    fields = []
    if any(example.label is not None for example in examples):
        fields.append(_select("Gold label", "gold", [("", "any"), *labels]))
        fields.append(_select("Outcome", "outcome", _outcomes(numbers)))
    if labels and methods:
        fields.append(_prediction(numbers, labels))
    if len(methods) > 1:
        slider = element("input", type="range", name="overlap", min=0, max=100, step=5, value=100)
        title = joined(["Rationales overlap ", element("b", "any", class_="limit")])
        fields.append(_field(title, slider))
    return element("div", *fields, class_="fields") if fields else Html("")


def _outcomes(methods: SelectOptions) -> SelectOptions:
    if len(methods) < 2:
        return [("", "any"), ("wrong", "wrong"), ("right", "right")]
    of_all = [("", "any"), ("some", "some method wrong"), ("wrong", "all wrong"), ("right", "all right")]
    of_one = [(f"{how}:{at}", f"{name} {how}") for at, name in methods for how in ("wrong", "right")]
    return of_all + of_one


def _prediction(methods: SelectOptions, labels: SelectOptions) -> Html:
    """Two lists that belong together: whose prediction, and which."""
    by = element("select", *map(_option, methods), name="by", aria_label="Method whose prediction counts")
    says = element("select", *map(_option, [("", "any"), *labels]), name="says", aria_label="Its prediction")
    pair = element("span", by, says, class_="pair")
    title = element("span", "Predicted by", aria_hidden="true")  # the lists have names of their own
    return element("div", title, pair, class_="field pair-field", role="group", aria_label="Prediction")


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


def _select(label: str, name: str, options: SelectOptions, *, class_: str = "") -> Html:
    return _field(label, element("select", *map(_option, options), name=name), class_=class_)


def _option(option: tuple[str, str]) -> Html:
    value, text = option
    return element("option", text, value=value)


def _check(name: str, value: str, label: str, *, checked: bool = False) -> Html:
    box = element("input", type="checkbox", name=name, value=value, checked="" if checked else None)
    return element("label", box, element("span", label, dir="auto"), class_="check")


def _field(label: str, control: Html, *, class_: str = "") -> Html:
    return element("label", element("span", label), control, class_=f"field {class_}".strip())
