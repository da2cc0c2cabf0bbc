"""A table before it is typeset: cells with emphasis, written as text, Markdown, LaTeX, CSV or HTML."""

from __future__ import annotations

import csv
import io
import re
import textwrap
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby

from rich.cells import cell_len

from unirex.errors import unknown
from unirex.report.latex import latex_table
from unirex.report.markup import Html, element, joined, printable

SIGNS = "*†‡"  # after a number: what is strong, and footnotes


def aligned(lines: Sequence[Sequence[str]]) -> str:
    """Lines of cells as columns: the first to the left, the others to the right, by what a terminal shows.

    Signs after a number hang over the edge, so that the digits stay under each other.
    """
    most = [max(map(_hanging, column)) for column in zip(*lines, strict=True)]
    hung = [
        [one + " " * (hang - _hanging(one)) for one, hang in zip(line, most, strict=True)] for line in lines
    ]
    widths = [max(map(cell_len, column)) for column in zip(*hung, strict=True)]
    return "\n".join(_line(line, widths).rstrip() for line in hung)


def _hanging(text: str) -> int:
    """How many signs there are at its end."""
    return len(text) - len(text.rstrip(SIGNS))


def _line(cells: Sequence[str], widths: Sequence[int]) -> str:
    gaps = [" " * (width - cell_len(one)) for one, width in zip(cells, widths, strict=True)]
    rest = zip(gaps[1:], cells[1:], strict=True)
    return cells[0] + gaps[0] + "".join(f"  {gap}{one}" for gap, one in rest) if cells else ""


MISSING = "–"
WIDTH = 100  # of a caption in a terminal
LONG = 24  # words of more signs may be wrapped on a page; numbers never are
NUMBERS = ("std", "low", "high")  # beside a value, in CSV


@dataclass(frozen=True, slots=True)
class Cell:
    """One entry as it is read, and the raw numbers behind it."""

    text: str
    strong: bool = False
    quiet: bool = False  # stands beside the subject: a floor, a published number
    under: str = ""  # in smaller print: an interval
    mark: str = ""  # leads to a footnote
    numbers: Mapping[str, float] = field(default_factory=dict)  # "" for the value, "std", "low", "high"


@dataclass(frozen=True, slots=True)
class Head:
    """The head of a column."""

    text: str
    key: str = ""  # its name in CSV, if not the text
    group: str = ""  # stands above neighbours of the same group
    title: str = ""  # in more words


@dataclass(frozen=True, slots=True)
class Grid:
    """Rows of cells under heads; the first column names the rows."""

    head: Sequence[Head]
    body: Sequence[Sequence[Cell]]
    caption: str = ""
    notes: Sequence[str] = ()  # what the marks mean, and what else must be known
    warnings: Sequence[str] = ()  # without which the numbers mislead

    def written(self, format: str) -> str:  # noqa: A002  (as the command line calls it)
        """The table in one of the formats `text`, `markdown`, `latex` and `csv`."""
        ways = {"text": self.text, "markdown": self.markdown, "latex": self.latex, "csv": self.csv}
        if format not in ways:
            raise unknown("format", format, ways)
        return ways[format]()

    def text(self) -> str:
        """For a terminal: aligned, what is strong with a star, smaller print on a line of its own.

        >>> row = [Cell("a", under="95 %"), Cell("93.5", strong=True, under="92.1–94.6")]
        >>> print(Grid([Head(""), Head("Acc")], [row]).text())
                      Acc
        a            93.5*
          95 %  92.1–94.6
        """
        lines = [[one.text for one in self.head]]
        for row in self.body:
            lines.append([one.text + one.mark + "*" * one.strong for one in row])
            if any(one.under for one in row):
                lines.append([f"  {row[0].under}".rstrip(), *(one.under for one in row[1:])])
        shown = aligned([list(map(printable, line)) for line in lines])
        said = [self.caption, *self.notes, *(f"warning: {one}" for one in self.warnings)]
        below = "\n".join(textwrap.fill(printable(one), WIDTH) for one in said if one)
        return f"{shown}\n\n{below}" if below else shown

    def markdown(self) -> str:
        """For a README: what is strong in bold, what is quiet in italics."""
        rule = "|:--|" + "--:|" * (len(self.head) - 1)
        lines = [
            _pipes(one.text for one in self.head),
            rule,
            *(_pipes(map(_marked, row)) for row in self.body),
        ]
        said = [printable(self.caption), *map(_plain_markdown, self.notes)]
        said += [f"**Warning:** {_plain_markdown(one)}" for one in self.warnings]
        return "\n".join([*lines, *(line for one in said if one for line in ("", one))])

    def latex(self) -> str:
        """For a paper: booktabs; every character stands for itself."""
        return latex_table(self)

    def csv(self) -> str:
        """For a program: the raw numbers, nothing rounded, deviations and bounds in columns of their own.

        Rows with marks have their footnotes in a last column `note`.
        """
        columns = [(one, _parts(row[at] for row in self.body)) for at, one in enumerate(self.head)]
        out = io.StringIO()
        writer = csv.writer(out, lineterminator="\n")
        marked = ["note"] if any(one.mark for row in self.body for one in row) else []
        writer.writerow([_column(one, part) for one, parts in columns for part in parts] + marked)
        for row in self.body:
            cells = zip(row, columns, strict=True)
            raw = [_raw(cell, part) for cell, (_, parts) in cells for part in parts]
            writer.writerow(raw + [self._footnotes(row) for _ in marked])
        return out.getvalue()

    def _footnotes(self, row: Sequence[Cell]) -> str:
        signs = {one.mark for one in row if one.mark}
        return " ".join(
            note.removeprefix(sign).strip() for note in self.notes for sign in signs if note.startswith(sign)
        )

    def html(self) -> Html:
        """For a page; the style is that of `scores` in `style.css`."""
        groups = [element("tr", *(_group(*one) for one in self.groups))] if self.groups else []
        head = element("thead", *groups, _head_line(self.head))
        body = element("tbody", *map(_row, self.body))
        table = element("table", head, body, class_="scores")
        region = element("div", table, class_="wide", tabindex="0", role="region", aria_label="Table")
        above = [element("p", f"Warning: {one}", class_="warning", role="note") for one in self.warnings]
        below = [element("p", one, class_="fine caption") for one in (self.caption, *self.notes) if one]
        return joined([*above, region, *below])

    @property
    def groups(self) -> list[tuple[str, int]]:
        """What stands above the heads: a name, and how many columns it spans; none if there are no groups."""
        runs = [(name, len(list(run))) for name, run in groupby(one.group for one in self.head)]
        return runs if any(name for name, _ in runs) else []


def _pipes(cells: Iterable[str]) -> str:
    return "| " + " | ".join(cells) + " |"


def _plain_markdown(text: str) -> str:
    """The text so that Markdown shows it as it is."""
    return re.sub(r"([\\|<*`])", r"\\\1", printable(text))


def _marked(cell: Cell) -> str:
    sign = "**" if cell.strong else "*" if cell.quiet and cell.text else ""
    under = f" ({cell.under})" if cell.under and cell.numbers else ""
    return f"{sign}{_plain_markdown(cell.text)}{sign}{cell.mark}{under}"


def _parts(cells: Iterable[Cell]) -> list[str]:
    known = {part for one in cells for part in one.numbers}
    return ["", *(part for part in NUMBERS if part in known)]


def _column(head: Head, part: str) -> str:
    name = head.key or head.text
    return f"{name}_{part}" if part else name


def _raw(cell: Cell, part: str) -> str:
    if not cell.numbers:
        return "" if part or cell.text == MISSING else cell.text
    value = cell.numbers.get(part)
    return "" if value is None or value != value else repr(value if isinstance(value, int) else float(value))


def _group(name: str, width: int) -> Html:
    if not name:
        return element("td", colspan=width)
    return element("th", name, scope="colgroup", colspan=width, class_="group")


def _head_line(head: Sequence[Head]) -> Html:
    return element("tr", *(element("th", one.text, scope="col", title=one.title or None) for one in head))


def _row(cells: Sequence[Cell]) -> Html:
    name, *rest = cells
    line = (element("th", name.text, *_beside(name), scope="row"), *map(_data, rest))
    return element("tr", *line, class_="floor" if name.quiet else None)


def _data(cell: Cell) -> Html:
    text = element("strong", cell.text) if cell.strong else cell.text
    kinds = ["quiet"] * cell.quiet + ["words"] * (len(cell.text) > LONG and not cell.numbers)
    return element("td", text, *_beside(cell), class_=" ".join(kinds) or None)


def _beside(cell: Cell) -> list[Html]:
    """What follows the text of a cell: the mark of a footnote, smaller print."""
    mark = [element("sup", cell.mark)] if cell.mark else []
    return [*mark, *([element("small", cell.under)] if cell.under else [])]
