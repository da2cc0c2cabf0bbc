"""Figures for papers and pages: drawn with matplotlib, saved as SVG and PNG or set into a page."""

from __future__ import annotations

import io
import re
import warnings
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

from unirex.files import write_file
from unirex.printable import printable
from unirex.report.markup import Html, element

INK, MUTED, RULE, CARD = "#1c1b1a", "#5e5a55", "#e6e1d9", "#ffffff"  # of the light page in style.css
COLOURS = ("#0b5c9e", "#a8430c", "#00705a", "#8a3b75", "#6a5600")  # distinct to the colour-blind, too
# 5 colours, 7 markers and 4 dashes have no common divisor: no two of the first 20 systems look alike.
MARKERS = ("o", "s", "^", "D", "v", "P", "X")
DASHES: tuple[Any, ...] = ("-", (0, (5, 2)), (0, (1, 1.2)), (0, (5, 1.5, 1, 1.5)))
VARIABLES = {  # of the page, which has a dark scheme
    INK: "currentColor",
    MUTED: "var(--muted)",
    RULE: "var(--line)",
    CARD: "var(--card)",
    **{colour: f"var(--c{number})" for number, colour in enumerate(COLOURS)},
}
NAME_LENGTH = 30  # characters
WIDTH, NARROW = 10.2, 3.9  # inches: of a figure, and of its form for a phone
DPI = 150
FORMATS = ("svg", "png")
SVG, LINK = "{http://www.w3.org/2000/svg}", "{http://www.w3.org/1999/xlink}href"
LEFT_OUT = {f"{SVG}metadata", f"{SVG}style"}


@dataclass(frozen=True, slots=True)
class SystemStyle:
    """How a system is distinguished in every figure: by colour, marker and dash."""

    colour: str  # on a light page
    marker: str
    dash: Any

    @classmethod
    def of(cls, order: int) -> SystemStyle:
        """The style of a system by its place in the comparison."""
        colour, marker = COLOURS[order % len(COLOURS)], MARKERS[order % len(MARKERS)]
        return cls(colour, marker, DASHES[order % len(DASHES)])


@dataclass(frozen=True, slots=True)
class Said:
    """What a part of a drawing means, in words: shown on a page where the pointer is on it."""

    text: str
    focus: bool = False  # also reached by the keyboard


@dataclass(frozen=True, slots=True)
class Figure:
    """A drawing with its title and caption."""

    name: str  # of its files, and prefix of its ids
    title: str
    caption: str
    draw: Callable[[], Any]  # a matplotlib figure
    said: Mapping[str, Said] = field(default_factory=dict)  # by the id (gid) of a part of the drawing

    def inline(self, *, narrow: bool = False) -> Html:
        """The drawing as SVG inside a page, in the colours of the page; `narrow` for a phone."""
        name, width = (f"{self.name}-narrow", NARROW) if narrow else (self.name, WIDTH)
        with drawing(name, width=width):
            svg = _saved(self.draw(), "svg", transparent=True)
        root = ElementTree.fromstring(svg)
        role = "group" if self.said else "img"  # the parts of an image have no names of their own
        named = {"role": role, "aria-label": self.title, "class": "plot narrow" if narrow else "plot"}
        root.attrib = {"viewBox": root.attrib["viewBox"], **named}
        return _element(root, name, self.said)

    def drawn(self) -> Any:
        """The drawing as a matplotlib figure, to show, change or save."""
        with drawing(self.name):
            return self.draw()

    def save(self, folder: Path) -> list[Path]:
        """Write `NAME.svg` and `NAME.png`, each atomically."""
        paths = [folder / f"{self.name}.{ending}" for ending in FORMATS]
        with drawing(self.name):
            drawn = self.draw()
            for path in paths:
                write_file(path, _saved(drawn, path.suffix[1:]))
        return paths


def short_names(systems: Sequence[str], length: int = NAME_LENGTH) -> list[str]:
    """Names that fit into a figure and still differ.

    >>> short_names(["a" * 40 + "1", "a" * 40 + "2", "b"])[1:]
    ['aaaaaaaaaaaaaaaaaaaaaaaaaaaaa… (2)', 'b']
    """
    seen: Counter[str] = Counter()
    unique = []
    for name in map(printable, systems):
        short = name if len(name) <= length else name[: length - 1] + "…"
        seen[short] += 1
        unique.append(f"{short} ({seen[short]})" if seen[short] > 1 else short)
    return unique


@contextmanager
def drawing(name: str, *, width: float = WIDTH) -> Iterator[None]:
    """The settings of all figures: their width, reproducible files, and no text is parsed as a formula."""
    import matplotlib

    settings: dict[Any, Any] = {
        "figure.figsize": (width, width),  # the height is that of the panels
        "svg.hashsalt": name,  # else ids are random
        "svg.fonttype": "none",  # text stays text
        "text.parse_math": False,
        "font.family": "sans-serif",
        "font.size": 10,
        "axes.titlesize": 10.5,
        "axes.titleweight": "bold",
        "axes.titlelocation": "left",
        "axes.spines.top": False,
        "axes.spines.right": False,
        "axes.edgecolor": MUTED,
        "axes.labelcolor": MUTED,
        "axes.titlecolor": INK,
        "text.color": INK,
        "xtick.color": MUTED,
        "ytick.color": MUTED,
        "axes.grid": True,
        "axes.axisbelow": True,
        "grid.color": RULE,
        "grid.linewidth": 0.8,
        "legend.frameon": False,
        "lines.linewidth": 1.8,
        "lines.markersize": 6.5,
    }
    with matplotlib.rc_context(settings), warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Glyph .* missing")  # a browser has more glyphs
        warnings.filterwarnings("ignore", message="constrained_layout not applied")  # crowded, but drawn
        yield


def canvas(panels: int, *, across: int, height: float) -> tuple[Any, list[Any]]:
    """A figure of equal panels, each `height` inches high: `across` fit into a row of the usual width."""
    from matplotlib import rcParams

    from unirex.report.notebook_figure import NotebookFigure

    width = rcParams["figure.figsize"][0]
    across = max(1, min(panels, int(across * width / WIDTH)))
    down = -(-panels // across)
    drawn = NotebookFigure(figsize=(width, height * down), layout="constrained")
    axes = list(drawn.subplots(down, across, squeeze=False).flat)
    for unused in axes[panels:]:
        unused.set_axis_off()
    return drawn, axes[:panels]


def _saved(drawn: Any, format_: str, *, transparent: bool = False) -> bytes:
    content = io.BytesIO()
    extra: dict[str, Any] = {"metadata": {"Date": None}} if format_ == "svg" else {}
    drawn.savefig(content, format=format_, dpi=DPI, transparent=transparent, **extra)
    return content.getvalue()


def _element(node: Any, figure: str, said: Mapping[str, Said]) -> Html:
    """A node of the drawing as escaped HTML; ids get the figure's name, as a page has several figures."""
    tag = node.tag.removeprefix(SVG)
    children = [_element(child, figure, said) for child in node if child.tag not in LEFT_OUT]
    text = [node.text] if node.text and node.text.strip() else []
    attributes = dict(_attribute(key, value, figure) for key, value in node.attrib.items())
    if tag == "g":
        attributes.pop("id", None)  # never referred to
    about = said.get(node.attrib.get("id", ""))
    if about is not None:
        children.insert(0, element("title", about.text))
        named = {"role": "img", "aria-label": about.text, "class": "said"}
        attributes |= {**named, "tabindex": "0"} if about.focus else named
    return element(tag, *text, *children, **attributes)


def _attribute(name: str, value: str, figure: str) -> tuple[str, str]:
    if name == "id":
        return name, f"{figure}-{value}"
    if name == LINK:
        return "href", f"#{figure}-{value.removeprefix('#')}"
    if name == "clip-path":
        return name, value.replace("url(#", f"url(#{figure}-")
    if name not in ("style", "fill", "stroke"):
        return name, value
    # The font of the page; older versions of matplotlib write the short form.
    value = re.sub(r"font: (\S+ )*?([\d.]+px) [^;]*", r"font-size: \2", value)
    value = re.sub(r"font-family: [^;]*(; )?", "", value)
    # Colours become variables of the page.
    return name, re.sub(r"#[0-9a-f]{6}", lambda match: VARIABLES.get(match[0], match[0]), value)
