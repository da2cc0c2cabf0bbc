"""Views for notebooks: HTML without scripts or style sheets, for light and dark themes.

Every style is an attribute of its element, so that no output can change the look of another and a notebook
that is not trusted keeps it. Text has the colour of the theme; all other colours are translucent or readable
on both black and white.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import chain

from unirex.report.grid import LONG, Cell, Grid
from unirex.report.marked_text import LEVELS, TextPiece
from unirex.report.markup import Html, element, joined

STRONGEST = 0.5  # opacity of the strongest shade; more would be hard to read on black
AMBER, ORANGE, BLUE, RED = "rgba(245,176,39,{})", "#c77700", "#3b8ed0", "#d9534f"
LINE, TRACK = "rgba(128,128,128,0.35)", "rgba(128,128,128,0.25)"
FRAME = "padding:0.3em 0;line-height:1.5;text-align:left"
PARAGRAPH = "max-width:60em;margin:0.4em 0;line-height:1.8;white-space:pre-wrap;overflow-wrap:anywhere"
SCROLLING = "max-height:24em;overflow:auto"
SENTENCE = "max-width:60em;margin:0.3em 0"
REMARK = "max-width:70em;margin:0.3em 0;font-size:0.85em;opacity:0.75"
WARNING = f"margin:0.3em 0;font-weight:600;color:{RED}"
CELL = "padding:0.25em 0.7em;border:0;text-align:{};vertical-align:baseline;white-space:{}"
SMALL = "display:block;font-size:0.8em;font-weight:400;opacity:0.75"


def frame(*parts: str) -> Html:
    """The parts of a view as one output."""
    return element("div", *parts, style=FRAME)


def sentence(text: str) -> Html:
    """A line of text."""
    return element("p", text, style=SENTENCE)


def remark(text: str) -> Html:
    """A line in smaller print."""
    return element("p", text, style=REMARK)


def warning(text: str) -> Html:
    """A line that should not be missed."""
    return element("p", text, style=WARNING)


def passage(segments: Iterable[Iterable[TextPiece]]) -> Html:
    """A marked text, one paragraph per segment; a long one scrolls."""
    paragraphs = (element("p", *map(_marked, pieces), style=PARAGRAPH, dir="auto") for pieces in segments)
    return element("div", *paragraphs, style=SCROLLING)


def _marked(piece: TextPiece) -> Html:
    """A piece with its look: shaded by importance, underlined if selected, with dots above if gold."""
    styles = []
    if piece.level:
        styles.append("background:" + AMBER.format(round(STRONGEST * piece.level / LEVELS, 3)))
    if piece.selected:
        styles.append(f"font-weight:600;text-decoration:underline 2px {ORANGE};text-underline-offset:0.2em")
    if piece.gold:
        styles.append(f"border-top:2px dotted {BLUE}")
    if not styles:
        return joined([piece.text])
    title = None if piece.score is None else f"score {piece.score:.3g}"
    return element("span", piece.text, style=";".join(styles), title=title)


def bars(shares: Iterable[tuple[str, float, bool]]) -> Html:
    """Names with bars as long as their shares; the last of each says whether the bar stands out."""
    rows = []
    for name, share, strong in shares:
        fill = f"height:100%;width:{100 * share:.1f}%;background:{ORANGE if strong else LINE}"
        track = f"width:12em;height:0.6em;border-radius:0.3em;overflow:hidden;background:{TRACK}"
        cells = (
            element("td", name, style=_cell(left=True, wraps=True), dir="auto"),
            element("td", element("div", element("div", style=fill), style=track), style=_cell()),
            element("td", f"{100 * share:.1f} %", style=_cell()),
        )
        rows.append(_line(cells, "font-weight:600" if strong else ""))
    return _table(rows)


def tables(grids: Iterable[Grid], remarks: Iterable[str] = ()) -> Html:
    """Tables under each other, with remarks of their own and on all of them."""
    return frame(*chain.from_iterable(map(_grid, grids)), *map(remark, remarks))


def facts(title: str, values: Mapping[str, str]) -> Html:
    """What there is to know about one thing, a line each."""
    rows = []
    for name, value in values.items():
        head = element("th", name, scope="row", style=_cell(left=True) + ";font-weight:400;opacity:0.75")
        rows.append(_line([head, element("td", value, style=_cell(left=True, wraps=True))]))
    return frame(element("strong", title), _table(rows))


def _grid(grid: Grid) -> Iterable[Html]:
    heads = [
        element("th", head.text, scope="col", title=head.title or None, style=_cell(left=not number))
        for number, head in enumerate(grid.head)
    ]
    rows = [_line(heads, "opacity:0.75"), *map(_row, grid.body)]
    yield from (warning(f"Warning: {text}") for text in grid.warnings)
    yield element("div", _table(rows), style="overflow-x:auto")
    yield from map(remark, filter(None, (grid.caption, *grid.notes)))


def _row(cells: Sequence[Cell]) -> Html:
    first, *others = cells
    line = f";border-top:1px solid {LINE}" * (not first.quiet)
    wraps = len(first.text) > LONG
    shown = [element("th", *_content(first), scope="row", style=_cell(left=True, wraps=wraps) + line)]
    shown += [element("td", *_content(cell), style=_cell() + line) for cell in others]
    return _line(shown, "opacity:0.75;font-style:italic" if first.quiet else "")


def _content(cell: Cell) -> Iterable[Html]:
    """The text of a cell, with its mark beside it and smaller print under it."""
    yield element("strong", cell.text, style=f"color:{ORANGE}") if cell.strong else joined([cell.text])
    if cell.mark:
        yield element("sup", cell.mark)
    if cell.under:
        yield element("span", cell.under, style=SMALL)


def _table(rows: Sequence[Html]) -> Html:
    return element("table", *rows, style="border-collapse:collapse;border:0;margin:0.4em 0;font-size:0.95em")


def _line(cells: Iterable[Html], look: str = "") -> Html:
    """A row of a table without the stripes of the notebook's theme, which look like an emphasis."""
    return element("tr", *cells, style=";".join(filter(None, ("background:none", look))))


def _cell(*, left: bool = False, wraps: bool = False) -> str:
    return CELL.format("left" if left else "right", "normal" if wraps else "nowrap")
