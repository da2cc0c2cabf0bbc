"""Examples of a dataset with their gold marks (`unirex data show`): in a terminal, or as a page."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rich.console import Group, RenderableType
from rich.panel import Panel
from rich.text import Text

from unirex.data.example import Example, choice_label
from unirex.report.marked_text import (
    NONE_MARKED,
    NOT_ANNOTATED,
    TextPiece,
    gold_pieces,
    passage,
    terminal_text,
    word_list,
)
from unirex.report.markup import Html, element, printable, printable_lines
from unirex.report.page import GOLD_KEY, count, gold_label, header, key, page


def example_page(examples: Sequence[Example], *, title: str) -> str:
    """A page of examples: each text with its label and the words that people marked in it."""
    cards = [_card(number, example) for number, example in enumerate(examples, start=1)]
    return page(title, [header("Data", title, count(len(cards), "example")), _key(examples), *cards])


def render_example(example: Example) -> RenderableType:
    """An example as a panel: gold underlined in colour, and again in plain words for those without colour."""
    title = Text.assemble(
        (printable("no label" if example.label is None else str(example.label)), "bold"),
        (f" · {printable(example.id)}", "dim"),
    )
    parts: list[RenderableType] = [terminal_text(example_pieces(example))]
    if example.choices is not None:
        parts += [Text(), *_terminal_choices(example)]
    parts += [Text(), *_marked_words(example)]
    return Panel(Group(*parts), title=title, title_align="left", padding=(1, 2))


def example_pieces(example: Example) -> list[list[TextPiece]]:
    """The text cut where its marks change, one list per segment; a single group is not told apart."""
    groups = example.groups if len(example.groups) > 1 else ()
    rationale = example.rationale or ((),) * len(example.segments)
    return [
        gold_pieces(text, rationale[number], [group[number] for group in groups])
        for number, text in enumerate(example.segments)
    ]


def _card(number: int, example: Example) -> Html:
    name = element("span", example.id, class_="id")
    parts = [element("h2", f"Example {number}", name, class_="card-title")]
    if example.label is not None and example.choices is None:
        parts.append(gold_label(str(example.label)))
    parts.append(passage(example_pieces(example)))
    if example.choices is not None:
        parts.append(_choices(example))
    remark = _no_marks(example)
    if remark is not None:
        parts.append(element("p", remark, class_="fine"))
    return element("article", *parts, class_="card", style="display:grid;gap:0.5rem")


def _choices(example: Example) -> Html:
    items = []
    for letter, choice, right in _labelled_choices(example):
        sign = element("span", f"{letter}  ", class_="muted")
        text = element("span", choice, class_="right" if right else None, dir="auto")
        tick = [element("span", "  ✓ right", class_="fine right")] if right else []
        items.append(element("li", sign, text, *tick))
    return element("ul", *items, class_="text", style="list-style:none;padding:0")


def _key(examples: Sequence[Example]) -> Html:
    items = [GOLD_KEY]
    if any(len(example.groups) > 1 for example in examples):
        sign = element("span", GOLD_KEY[0], element("sup", "2", class_="fine"))
        items.append((sign, "the group of evidence, or the annotator, that marks it"))
    return key(items)


def _terminal_choices(example: Example) -> Iterator[Text]:
    for letter, choice, right in _labelled_choices(example):
        style = "bold green" if right else ""
        line = Text.assemble((f"{letter}  ", "dim"), (printable_lines(choice), style))
        yield line.append("  ✓", "green") if right else line


def _marked_words(example: Example) -> Iterator[Text]:
    """The marked words, one line per group."""
    remark = _no_marks(example)
    if remark is not None:
        yield Text(remark, "dim")
        return
    rationales = example.groups if len(example.groups) > 1 else (example.rationale or (),)
    for number, rationale in enumerate(rationales, start=1):
        words = [
            text[start:end]
            for text, spans in zip(example.segments, rationale, strict=True)
            for start, end in spans
        ]
        yield word_list(f"group {number}" if len(rationales) > 1 else "gold", words)


def _labelled_choices(example: Example) -> Iterator[tuple[str, str, bool]]:
    """The letter and the text of each choice, and whether it is the right one."""
    for number, choice in enumerate(example.choices or ()):
        yield choice_label(number), choice, choice_label(number) == example.label


def _no_marks(example: Example) -> str | None:
    """Why a text has no marks: no one looked, or there was nothing to mark; None if it has some."""
    if example.rationale is None:
        return NOT_ANNOTATED
    return None if any(example.rationale) else NONE_MARKED
