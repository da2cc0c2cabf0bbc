"""Marked text: cut where its marks change, shaded by importance, and shown as HTML or in a terminal."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import chain, groupby, pairwise

from rich.text import Text

from unirex.data.example import CharSpan
from unirex.data.rationales import merge
from unirex.printable import printable, printable_lines
from unirex.report.markup import Html, element, joined

Colour = tuple[int, int, int]
LEVELS = 8  # shades a reader can tell apart
INK = "#1c1b1a"  # text on a shade of a light page or of a terminal
LONG = 3000  # characters of HTML; a longer paragraph scrolls in its own box
FAINTEST = 3  # shades below it would make a terminal restless
GROUP_COLOURS = ("cyan", "yellow", "magenta", "green", "blue")  # in a terminal; a page has --c0 to --c4
RAISED = str.maketrans("0123456789,", "⁰¹²³⁴⁵⁶⁷⁸⁹˒")
NOT_ANNOTATED, NONE_MARKED = "This text is not annotated.", "No word of this text was marked."


@dataclass(frozen=True, slots=True)
class TextPiece:
    """A run of text with one look; the pieces of a segment, joined, are that segment exactly."""

    text: str
    level: int = 0  # its shade; 0: none, LEVELS: as important as the most important word of the text
    selected: bool = False  # in the rationale
    score: float | None = None  # None between words
    gold: bool = False  # marked by a person
    groups: tuple[int, ...] = ()  # evidence groups or annotators that mark it, counted from 1


def cut(text: str, layers: Iterable[Iterable[CharSpan]]) -> list[tuple[CharSpan, tuple[int, ...]]]:
    """The text cut where its marks change: each piece with the numbers of the layers that cover it.

    A layer is a set of spans with one meaning. Layers, and spans of the same layer, may overlap; what lies
    outside the text is ignored.

    >>> cut("a superb film", [[(2, 8)], [(5, 8), (8, 13)]])
    [((0, 2), ()), ((2, 5), (0,)), ((5, 8), (0, 1)), ((8, 13), (1,))]
    """
    edges: dict[int, set[int]] = defaultdict(set)  # position → layers that begin or end there
    for number, spans in enumerate(layers):
        inside = ((max(start, 0), min(end, len(text))) for start, end in spans)
        # Merged spans of a layer share no edge, so that every edge toggles the layer.
        for edge in chain.from_iterable(merge((start, end) for start, end in inside if start < end)):
            edges[edge].add(number)
    covering: set[int] = set()
    pieces = []
    for start, end in pairwise(sorted({0, len(text), *edges})):
        covering ^= edges[start]
        pieces.append(((start, end), tuple(sorted(covering))))
    return pieces


def gold_pieces(
    text: str, spans: Sequence[CharSpan], groups: Sequence[Sequence[CharSpan]] = ()
) -> list[TextPiece]:
    """A segment as people marked it; `groups` are the spans of each evidence group or annotator, if several.

    >>> [(piece.text, piece.groups) for piece in gold_pieces("so good", [(3, 7)], [[(3, 7)], [(5, 7)]])]
    [('so ', ()), ('go', (1,)), ('od', (1, 2))]
    """
    layers = [[*spans, *chain.from_iterable(groups)], *groups]
    return [
        TextPiece(text[start:end], gold=bool(covering), groups=covering[1:])  # layer 0 covers all groups
        for (start, end), covering in cut(text, layers)
    ]


def level(score: float, top: float) -> int:
    """The shade of a score in a text whose highest score is `top`; scores of zero or less get none.

    >>> [level(score, 0.8) for score in (-1.0, 0.0, 0.01, 0.4, 0.8)]
    [0, 0, 1, 4, 8]
    """
    if math.isnan(score) or score <= 0:
        return 0
    return LEVELS if score >= top else max(1, round(LEVELS * (score / top)))


def ramp(first: Colour, last: Colour) -> tuple[str, ...]:
    """The shades of levels 1 to LEVELS, in even steps.

    >>> ramp((0, 0, 0), (7, 70, 14))[:2]
    ('#000000', '#010a02')
    """
    shades = []
    for step in range(LEVELS):
        share = step / (LEVELS - 1)
        channels = [round(low + (high - low) * share) for low, high in zip(first, last, strict=True)]
        shades.append("#" + bytes(channels).hex())
    return tuple(shades)


LIGHT = ramp((255, 245, 219), (245, 176, 39))  # amber, safe for every common colour blindness
DARK = ramp((44, 38, 28), (138, 88, 0))
TERMINAL = ramp((168, 158, 142), (245, 176, 39))  # grey to amber: the background may be light or dark


def shade_css() -> str:
    """The shades as style rules `.s1` to `.s8`, which follow the reader's light or dark setting."""
    light, dark = (
        "".join(f"--s{at}:{colour};" for at, colour in enumerate(shades, start=1)) for shades in (LIGHT, DARK)
    )
    rules = "".join(f".s{at}{{background:var(--s{at})}}" for at in range(1, LEVELS + 1))
    return f":root{{{light}}}\n@media (prefers-color-scheme: dark){{:root{{{dark}}}}}\n{rules}\n"


def passage(segments: Iterable[Iterable[TextPiece]]) -> Html:
    """A marked text on a page, one paragraph per segment; a long one scrolls in a box of its own."""
    paragraphs = []
    for pieces in segments:
        runs = groupby(pieces, key=lambda piece: (piece.gold, piece.groups))  # one line of dots over each
        shown = [_run([*run], gold, groups) for (gold, groups), run in runs]
        paragraph = element("p", *shown, class_="text", dir="auto")
        if len(paragraph) >= LONG:
            region = {"tabindex": "0", "role": "region", "aria_label": "Text"}
            paragraph = element("div", paragraph, class_="long", **region)
        paragraphs.append(paragraph)
    return element("div", *paragraphs, class_="passage")


def _run(pieces: Sequence[TextPiece], gold: bool, groups: Sequence[int]) -> Html:
    """Neighbours that the same people marked, if any: the dots of gold are above them."""
    shown = joined(map(_html, pieces))
    if not gold:
        return shown
    if not groups:
        return element("span", shown, class_="gold-mark")
    numbers = ",".join(map(str, groups))
    title = f"group {numbers.replace(',', ', ')}"
    colour = f"border-color:var(--c{(groups[0] - 1) % len(GROUP_COLOURS)})"
    mark = element("span", shown, class_="gold-mark", style=colour, title=title)
    return joined([mark, element("sup", numbers, class_="fine", aria_label=title)])


def _html(piece: TextPiece) -> Html:
    """A piece with the look a system gave it; text between words has none."""
    if piece.selected or piece.level:
        shade = f"s{piece.level}" if piece.level else None
        tag = "mark" if piece.selected else "span"
        return element(tag, piece.text, class_=shade, title=f"score {piece.score:.3g}")
    return joined([piece.text])


def terminal_text(segments: Iterable[Iterable[TextPiece]]) -> Text:
    """A marked text in a terminal; styles stand beside the data, which is never parsed as rich markup."""
    lines = []
    for pieces in segments:
        line = Text()
        for piece in pieces:
            line.append(printable_lines(piece.text), _style(piece))
            line.append(",".join(map(str, piece.groups)).translate(RAISED), "dim")
        lines.append(line)
    return Text("\n\n").join(lines)


def _style(piece: TextPiece) -> str:
    """A graded background, bold underline if selected, italics if gold; unshaded gold in a colour."""
    parts = ["bold underline"] if piece.selected else []
    if piece.gold:
        parts.append("italic")
    if piece.level >= FAINTEST:
        parts.append(f"{INK} on {TERMINAL[piece.level - 1]}")
    elif piece.gold:
        group = piece.groups[0] if piece.groups else 1
        parts.append(GROUP_COLOURS[(group - 1) % len(GROUP_COLOURS)])
    return " ".join(parts)


def word_list(title: str, words: Iterable[str]) -> Text:
    """Marked words in plain words, for terminals and readers without colour."""
    return Text.assemble((f"{title}: ", "dim"), " · ".join(map(printable, words)) or "nothing")
