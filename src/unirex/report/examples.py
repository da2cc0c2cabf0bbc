"""Examples as people marked them, in a terminal or as a page that stands alone."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby, pairwise

from rich.console import Group, RenderableType
from rich.panel import Panel
from rich.text import Text

from unirex.data.example import CharSpan, Example, choice_label
from unirex.report.markup import Html, element, joined, printable
from unirex.report.page import boxed, count, header, page

COLOURS = ("cyan", "yellow", "magenta", "green", "blue")  # of groups in a terminal; a page has --c0 to --c4
RAISED = str.maketrans("0123456789,", "⁰¹²³⁴⁵⁶⁷⁸⁹˒")
PLAIN_LIST = "list-style:none;padding:0"
NOBODY, NOTHING = "Nobody marked words in this text.", "No word of this text was marked."


@dataclass(frozen=True, slots=True)
class Stretch:
    """A part of a text that is marked all through by the same groups, or not at all."""

    text: str
    gold: bool = False
    groups: tuple[int, ...] = ()  # counted from 1; none where there is nothing to tell apart

    @property
    def note(self) -> str:
        """The groups as they are written beside the text."""
        return ",".join(map(str, self.groups))


def stretches(example: Example) -> list[list[Stretch]]:
    """The text cut where its marks change, one list per segment; joined, they are the text exactly."""
    groups = example.groups if len(example.groups) > 1 else ()
    found = []
    for number, text in enumerate(example.segments):
        whole = example.rationale[number] if example.rationale is not None else ()
        found.append(list(_cut(text, whole, [group[number] for group in groups])))
    return found


def _cut(text: str, whole: Sequence[CharSpan], groups: Sequence[Sequence[CharSpan]]) -> Iterator[Stretch]:
    bounds = {bound for spans in (whole, *groups) for span in spans for bound in span}
    places = sorted({0, len(text), *(bound for bound in bounds if 0 < bound < len(text))})

    def marks(part: CharSpan) -> tuple[bool, tuple[int, ...]]:
        numbers = tuple(number for number, spans in enumerate(groups, 1) if _inside(part, spans))
        return bool(numbers) or _inside(part, whole), numbers

    for (gold, numbers), parts in groupby(pairwise(places), key=marks):
        yield Stretch("".join(text[start:end] for start, end in parts), gold, numbers)


def _inside(part: CharSpan, spans: Sequence[CharSpan]) -> bool:
    return any(start <= part[0] and part[1] <= end for start, end in spans)


def example_page(examples: Sequence[Example], *, title: str) -> str:
    """A page of examples: each text with its label and the words that people marked in it."""
    cards = [_card(at, example) for at, example in enumerate(examples, start=1)]
    lead = count(len(cards), "example")
    return page(title, [header("Data", title, lead), _key(examples), *cards])


def _card(at: int, example: Example) -> Html:
    name = element("span", example.id, class_="id")
    parts = [element("h2", f"Example {at}", name, class_="card-title"), *_label(example), _passage(example)]
    if example.choices is not None:
        parts.append(element("ul", *map(_choice_line, _choices(example)), class_="text", style=PLAIN_LIST))
    return element("article", *parts, *_remark(example), class_="card", style="display:grid;gap:0.5rem")


def _label(example: Example) -> list[Html]:
    if example.label is None or example.choices is not None:
        return []
    chip = element("span", str(example.label), class_="chip gold-chip", dir="auto")
    return [element("p", chip, element("span", "gold label", class_="muted"), class_="verdict")]


def _passage(example: Example) -> Html:
    """The text, untouched but for its marks, one paragraph per segment."""
    return boxed(element("p", *map(_marked, one), class_="text", dir="auto") for one in stretches(example))


def _marked(stretch: Stretch) -> Html:
    if not stretch.gold:
        return joined([stretch.text])
    if not stretch.groups:
        return element("span", stretch.text, class_="gold-mark")
    title = f"group {stretch.note.replace(',', ', ')}"
    colour = f"outline-color:var(--c{(stretch.groups[0] - 1) % len(COLOURS)})"
    mark = element("span", stretch.text, class_="gold-mark", style=colour, title=title)
    return joined([mark, element("sup", stretch.note, class_="fine", aria_label=title)])


def _choices(example: Example) -> Iterator[tuple[str, str, bool]]:
    for number, choice in enumerate(example.choices or ()):
        yield choice_label(number), choice, choice_label(number) == example.label


def _choice_line(line: tuple[str, str, bool]) -> Html:
    letter, choice, right = line
    sign = element("span", f"{letter}  ", class_="muted")
    tick = [element("span", "  ✓ right", class_="fine right")] if right else []
    return element("li", sign, element("span", choice, class_="right" if right else None, dir="auto"), *tick)


def _remark(example: Example) -> list[Html]:
    said = _unmarked(example)
    return [element("p", said, class_="fine")] if said else []


def _unmarked(example: Example) -> str | None:
    """Not the same when nobody looked as when there was nothing to mark."""
    if example.rationale is None:
        return NOBODY
    return None if any(example.rationale) else NOTHING


def _key(examples: Sequence[Example]) -> Html:
    """What the marks mean, in plain words."""
    items = [(element("span", "dotted", class_="gold-mark"), "what the data mark as the reasons (gold)")]
    if any(len(example.groups) > 1 for example in examples):
        sign = joined([element("span", "dotted", class_="gold-mark"), element("sup", "2", class_="fine")])
        items.append((element("span", sign), "the group of evidence, or the annotator, that marks it"))
    return element("ul", *(element("li", sign, " ", says) for sign, says in items), class_="key")


def render_example(example: Example) -> RenderableType:
    """An example as a panel: gold underlined in colour, and again in plain words for those without colour."""
    parts: list[RenderableType] = [Text("\n\n").join(map(_line, stretches(example)))]
    if example.choices is not None:
        parts += [Text(), *map(_terminal_choice, _choices(example))]
    return Panel(
        Group(*parts, Text(), *_named(example)), title=_title(example), title_align="left", padding=(1, 2)
    )


def _title(example: Example) -> Text:
    label = "no label" if example.label is None else str(example.label)
    return Text.assemble((printable(label), "bold"), (f" · {printable(example.id)}", "dim"))


def _line(parts: Sequence[Stretch]) -> Text:
    """A segment; data never meets rich's markup, for styles are given beside it."""
    line = Text()
    for part in parts:
        colour = COLOURS[(part.groups[0] - 1) % len(COLOURS)] if part.groups else COLOURS[0]
        line.append(_kept(part.text), f"{colour} underline" if part.gold else "")
        line.append(part.note.translate(RAISED), "dim")
    return line


def _terminal_choice(line: tuple[str, str, bool]) -> Text:
    letter, choice, right = line
    text = Text.assemble((f"{letter}  ", "dim"), (_kept(choice), "bold green" if right else ""))
    return text.append("  ✓", "green") if right else text


def _named(example: Example) -> Iterator[Text]:
    """The marked words in plain words."""
    said = _unmarked(example)
    if said:
        yield Text(said, "dim")
        return
    rationales = example.groups if len(example.groups) > 1 else (example.rationale or (),)
    for number, rationale in enumerate(rationales, 1):
        marked = [
            printable(text[start:end])
            for text, spans in zip(example.segments, rationale, strict=True)
            for start, end in spans
        ]
        title = f"group {number}: " if len(rationales) > 1 else "gold: "
        yield Text.assemble((title, "dim"), " · ".join(marked) or "nothing")


def _kept(text: str) -> str:
    """Harmless text that keeps its lines."""
    return printable(text.replace("\r\n", "\n"), keep="\n\t")
