"""Figures for papers and pages: drawn with matplotlib, saved as SVG and PNG or set into a page; heat maps."""

from __future__ import annotations

import io
import math
import re
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

from unirex.files import write_file
from unirex.report.markup import Html, element, printable

INK, MUTED, RULE, CARD = "#1c1b1a", "#5e5a55", "#e6e1d9", "#ffffff"  # of the light page in style.css
COLOURS = ("#0b5c9e", "#a8430c", "#00705a", "#8a3b75", "#6a5600")  # apart for the colour-blind, too
# Five, seven and four have no common divisor, so that no two of the first 20 systems look alike.
MARKERS = ("o", "s", "^", "D", "v", "P", "X")
DASHES: tuple[Any, ...] = ("-", (0, (5, 2)), (0, (1, 1.2)), (0, (5, 1.5, 1, 1.5)))
VARIABLES = {
    INK: "currentColor",
    MUTED: "var(--muted)",
    RULE: "var(--line)",
    CARD: "var(--card)",
    **{colour: f"var(--c{number})" for number, colour in enumerate(COLOURS)},
}
NAME_LENGTH = 30
WIDTH = 10.2  # inches
DPI = 150
FORMATS = ("svg", "png")
SVG, LINK = "{http://www.w3.org/2000/svg}", "{http://www.w3.org/1999/xlink}href"
LEFT_OUT = {f"{SVG}metadata", f"{SVG}style"}


@dataclass(frozen=True, slots=True)
class Look:
    """How a system is told apart in every figure: by colour, shape and dash."""

    order: int

    @property
    def colour(self) -> str:
        """Its colour on white."""
        return COLOURS[self.order % len(COLOURS)]

    @property
    def marker(self) -> str:
        """Its shape."""
        return MARKERS[self.order % len(MARKERS)]

    @property
    def dash(self) -> Any:
        """Its line."""
        return DASHES[self.order % len(DASHES)]


@dataclass(frozen=True, slots=True)
class Figure:
    """A drawing with its name, and what it shows in words."""

    name: str  # of its files
    title: str
    caption: str
    draw: Callable[[], Any]  # a matplotlib figure

    def inline(self) -> Html:
        """The drawing as a part of a page."""
        with drawing(self.name):
            svg = _saved(self.draw(), "svg", transparent=True)
        return _element(ElementTree.fromstring(svg), self, top=True)

    def save(self, folder: Path) -> list[Path]:
        """Write `NAME.svg` and `NAME.png`, each whole or not at all."""
        paths = [folder / f"{self.name}.{ending}" for ending in FORMATS]
        with drawing(self.name):
            drawn = self.draw()
            for path in paths:
                write_file(path, _saved(drawn, path.suffix[1:]))
        return paths


def short(name: str, length: int = NAME_LENGTH) -> str:
    """A name that fits into a figure.

    >>> short("a"), len(short("a" * 99))
    ('a', 30)
    """
    shown = printable(name)
    return shown if len(shown) <= length else shown[: length - 1] + "…"


@contextmanager
def drawing(name: str) -> Iterator[None]:
    """The look of all figures; the same drawing gives the same file, and no text is taken for a formula."""
    import matplotlib

    settings: dict[Any, Any] = {
        "svg.hashsalt": name,
        "svg.fonttype": "none",
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
        warnings.filterwarnings("ignore", message="Glyph .* missing")  # a browser has more signs
        warnings.filterwarnings("ignore", message="constrained_layout not applied")  # tight, but drawn
        yield


def canvas(panels: int, *, across: int, height: float) -> tuple[Any, list[Any]]:
    """A figure of equal panels, so many in a row, each so many inches high."""
    from matplotlib.figure import Figure as Drawn

    across = min(across, panels)
    down = -(-panels // across)
    drawn = Drawn(figsize=(WIDTH, height * down), layout="constrained")
    axes = list(drawn.subplots(down, across, squeeze=False).flat)
    for unused in axes[panels:]:
        unused.set_axis_off()
    return drawn, axes[:panels]


def _saved(drawn: Any, format_: str, *, transparent: bool = False) -> bytes:
    content = io.BytesIO()
    extra: dict[str, Any] = {"metadata": {"Date": None}} if format_ == "svg" else {}
    drawn.savefig(content, format=format_, dpi=DPI, transparent=transparent, **extra)
    return content.getvalue()


def _element(node: Any, figure: Figure, *, top: bool = False) -> Html:
    """A part of the drawing, made anew; ids carry the figure's name, as a page has several figures."""
    tag, given = node.tag.removeprefix(SVG), node.attrib
    if top:
        given = {"viewBox": given["viewBox"], "role": "img", "aria-label": figure.title, "class": "plot"}
    elif tag == "g":
        given = {key: value for key, value in given.items() if key != "id"}  # nobody refers to these
    children = [_element(one, figure) for one in node if one.tag not in LEFT_OUT]
    text = [node.text] if node.text and node.text.strip() else []
    return element(
        tag, *text, *children, **dict(_attribute(key, value, figure.name) for key, value in given.items())
    )


def _attribute(name: str, value: str, figure: str) -> tuple[str, str]:
    if name == "id":
        return name, f"{figure}-{value}"
    if name == LINK:
        return "href", f"#{figure}-{value.removeprefix('#')}"
    if name == "clip-path":
        return name, value.replace("url(#", f"url(#{figure}-")
    return name, _themed(value) if name in ("style", "fill", "stroke") else value


def _themed(style: str) -> str:
    """Colours as variables of the page, and its own type."""
    style = re.sub(
        r"font: (\S+ )*?([\d.]+px) [^;]*", r"font-size: \2", style
    )  # as older matplotlibs write it
    style = re.sub(r"font-family: [^;]*(; )?", "", style)
    return re.sub(r"#[0-9a-f]{6}", lambda found: VARIABLES.get(found[0], found[0]), style)


def names(systems: Sequence[str], length: int = NAME_LENGTH) -> list[str]:
    """Short names that are still apart.

    >>> names(["a" * 40 + "1", "a" * 40 + "2", "b"])[1:]
    ['aaaaaaaaaaaaaaaaaaaaaaaaaaaaa… (2)', 'b']
    """
    found = [short(one, length) for one in systems]
    before = [found[:at].count(name) for at, name in enumerate(found)]
    return [f"{name} ({count + 1})" if count else name for name, count in zip(found, before, strict=True)]


TALLEST = 3.2  # inches; tiles are as high as they are wide, and a row has two maps
LONGEST = 22  # signs of a name at the side of a map
LIGHT, DARK, STEEL = "#fdfdfd", "#101010", "#0a3d62"  # of heat maps, the same on every page


def heat(panels: Sequence[tuple[str, Sequence[Sequence[float]]]], systems: Sequence[str]) -> Any:
    """Every two systems by how far they agree, in per cent; darker is more."""
    labels, size = names(systems, LONGEST), len(systems)
    under = 0.04 * max(map(len, labels))  # inches that slanted names take
    figure, axes = canvas(len(panels), across=2, height=1.1 + under + min(0.5 * size, TALLEST))
    for axis, (title, table) in zip(axes, panels, strict=True):
        for y, row in enumerate(table):
            for x, share in enumerate(row):
                _tile(axis, x, y, share)
        axis.set(title=title, xlim=(-0.5, size - 0.5), ylim=(size - 0.5, -0.5), aspect="equal")
        axis.set_xticks(range(size), labels, rotation=30, ha="right")
        axis.set_yticks(range(size), labels)
        axis.tick_params(length=0)
        axis.grid(visible=False)
        axis.spines[:].set_visible(False)
    return figure


def _tile(axis: Any, x: int, y: int, share: float) -> None:
    from matplotlib.colors import to_hex, to_rgb
    from matplotlib.patches import Rectangle

    if math.isnan(share):
        axis.text(x, y, "–", ha="center", va="center", color=MUTED)
        return
    light, dark = to_rgb("#eef2f6"), to_rgb(STEEL)
    red, green, blue = (a + (b - a) * share for a, b in zip(light, dark, strict=True))
    axis.add_patch(Rectangle((x - 0.48, y - 0.48), 0.96, 0.96, facecolor=to_hex((red, green, blue)), lw=0))
    axis.text(x, y, f"{100 * share:.0f}", ha="center", va="center", color=LIGHT if share > 0.5 else DARK)
