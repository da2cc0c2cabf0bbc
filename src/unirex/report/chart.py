"""Faithfulness by budget as an inline SVG: one line per system, told apart by colour, dash and marker."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from unirex.report.axis import Axis, apart, ticks
from unirex.report.markup import Html, element, joined
from unirex.report.table import Rows

WIDTH, HEIGHT = 520, 300
LEFT, RIGHT, TOP, BOTTOM = 44, 400, 14, 252  # the plot; the rest is for labels
DASHES = ("", "8 5", "2 5", "10 5 2 5")
COLOURS = 5  # .c0 to .c4 in style.css
MARKERS = (
    "M-4 0a4 4 0 1 0 8 0a4 4 0 1 0-8 0",
    "M-4-4h8v8h-8z",
    "M0-5l5 9h-10z",
    "M0-5.5l5.5 5.5l-5.5 5.5l-5.5-5.5z",
)
NAME_LENGTH = 17


@dataclass(frozen=True, slots=True)
class Series:
    """One system's values by budget, with its look."""

    name: str
    values: dict[float, float]
    order: int
    floor: bool

    @property
    def look(self) -> dict[str, str]:
        """Colour class and dash of its line; floors are plain grey dots."""
        if self.floor:
            return {"class_": "line floor-line", "stroke_dasharray": "1 6"}
        dash = DASHES[self.order % len(DASHES)]
        return {"class_": f"line c{self.order % COLOURS}", **({"stroke_dasharray": dash} if dash else {})}

    @property
    def marker(self) -> str:
        """The shape that stands for it on the line and in the legend."""
        return MARKERS[self.order % len(MARKERS)]


def series_of(metric: str, rows: Rows, *, systems: Collection[str]) -> list[Series]:
    """The rows that have this metric at two budgets or more; rows that are no system are floors."""
    found: list[Series] = []
    for order, (name, row) in enumerate(rows.items()):
        values = {_budget(key): value for key, value in row.items() if key.startswith(f"{metric}@")}
        kept = {at: value for at, value in sorted(values.items()) if value == value}  # without NaN
        if len(kept) > 1:
            found.append(Series(name, kept, order, name not in systems))
    return found


def chart(title: str, series: Sequence[Series]) -> Html:
    """The lines of one metric over its budgets, each labelled where it ends."""
    budgets = sorted({at for one in series for at in one.values})
    x = {at: LEFT + (RIGHT - LEFT) * i / (len(budgets) - 1) for i, at in enumerate(budgets)}
    y = Axis.over([v for one in series for v in one.values.values()], low=BOTTOM, high=TOP)
    lines = [_line(one, x, y) for one in series]
    parts = [element("title", title), *_grid(y), *_budgets(x), *lines, *_names(series, y)]
    return element("svg", *parts, viewBox=f"0 0 {WIDTH} {HEIGHT}", role="img", aria_label=title)


def legend(series: Sequence[Series]) -> Html:
    """Which look belongs to which system, with its full name."""
    items = [element("li", _sample(one), element("span", one.name)) for one in series]
    return element("ul", *items, class_="chart-legend")


def _line(one: Series, x: dict[float, float], y: Axis) -> Html:
    points = [(x[at], y(value)) for at, value in one.values.items()]
    path = "M" + "L".join(f"{px:.1f} {py:.1f}" for px, py in points)
    marks = [] if one.floor else [_mark(one, px, py) for px, py in points]
    return joined([element("path", d=path, **one.look), *marks])


def _mark(one: Series, x: float, y: float) -> Html:
    return element("path", d=one.marker, transform=f"translate({x:.1f} {y:.1f})", class_=f"mark {_tone(one)}")


def _tone(one: Series) -> str:
    return "floor-tone" if one.floor else f"t{one.order % COLOURS}"


def _grid(y: Axis) -> list[Html]:
    """Quiet level lines with their values; zero, where nothing changes, is drawn stronger."""
    lines = []
    for value, label in ticks(y):
        at = f"{y(value):.1f}"
        rule = element("path", d=f"M{LEFT} {at}H{RIGHT}", class_="zero" if value == 0 else "rule")
        lines += [rule, element("text", label, x=LEFT - 8, y=at, dy="0.32em", class_="tick end")]
    return lines


def _budgets(x: dict[float, float]) -> list[Html]:
    marks = [
        element("text", f"{at:g} %", x=f"{px:.1f}", y=BOTTOM + 20, class_="tick middle")
        for at, px in x.items()
    ]
    middle = (LEFT + RIGHT) / 2
    return [
        *marks,
        element("text", "share of the tokens in the rationale", x=middle, y=HEIGHT - 6, class_="tick middle"),
    ]


def _names(series: Sequence[Series], y: Axis) -> list[Html]:
    """Each name beside the end of its line, pushed apart where lines end together."""
    ends = [y(list(one.values.values())[-1]) for one in series]
    places = apart(ends, gap=15, low=TOP, high=BOTTOM)
    return [
        element(
            "text", _short(one.name), x=RIGHT + 12, y=f"{at:.1f}", dy="0.32em", class_=f"name {_tone(one)}"
        )
        for one, at in zip(series, places, strict=True)
    ]


def _short(name: str) -> str:
    return name if len(name) <= NAME_LENGTH else name[: NAME_LENGTH - 1] + "…"


def _sample(one: Series) -> Html:
    line = element("path", d="M1 8H35", **one.look)
    marks = [] if one.floor else [_mark(one, 18, 8)]
    return element("svg", line, *marks, viewBox="0 0 36 16", class_="sample", aria_hidden="true")


def _budget(key: str) -> float:
    return float(key.partition("@")[2])
