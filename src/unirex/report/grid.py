"""A table before it is typeset: cells with emphasis, written as text, Markdown, LaTeX, CSV or HTML."""

from __future__ import annotations

import csv
import io
import math
import textwrap
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby

from rich.cells import cell_len

from unirex.errors import unknown
from unirex.printable import printable
from unirex.report.markup import (
    Html,
    csv_safe,
    element,
    joined,
    latex_numbers,
    latex_safe,
    markdown_safe,
)

MISSING = "–"
SIGNS = "*†‡"  # after a number: emphasis and footnotes
WIDTH = 100  # of a caption in a terminal
LONG = 24  # characters; longer texts may wrap on a page, numbers never do
NARROW = 3  # columns; more do not fit into the window of a phone
NUMBERS = ("std", "low", "high")  # beside a value, in CSV


def number(value: float | None) -> str:
    """A number that belongs to no metric, with three decimals; a dash if it is unknown.

    >>> number(0.51249), number(None), number(math.nan)
    ('0.512', '–', '–')
    """
    return MISSING if value is None or math.isnan(value) else f"{value:.3f}"


@dataclass(frozen=True, slots=True)
class Cell:
    """One entry as it is read, and the raw numbers behind it."""

    text: str
    strong: bool = False
    quiet: bool = False  # stands beside the subject: a floor, a published number
    under: str = ""  # in smaller print: an interval
    mark: str = ""  # leads to a footnote
    numbers: Mapping[str, float] = field(default_factory=dict)  # "" for the value, "std", "low", "high"

    def markdown(self) -> str:
        """Bold if strong, in italics if quiet."""
        sign = "**" if self.strong else "*" if self.quiet and self.text else ""
        under = f" ({self.under})" if self.under and self.numbers else ""
        return f"{sign}{markdown_safe(self.text)}{sign}{self.mark}{under}"

    def latex(self) -> str:
        """Bold if strong, grey if quiet; minus signs only before numbers."""
        text = latex_numbers(self.text) if self.numbers else latex_safe(self.text)
        text += latex_safe(self.mark)
        if self.strong:
            text = rf"\textbf{{{text}}}"
        if self.under and self.numbers:
            text += rf" {{\scriptsize ({latex_numbers(self.under)})}}"
        return rf"\textcolor{{gray}}{{{text}}}" if self.quiet and text else text

    def csv(self, part: str) -> str:
        """One of its raw numbers, the text of a cell without numbers, or nothing."""
        if not self.numbers:
            return "" if part or self.text == MISSING else csv_safe(self.text)
        value = self.numbers.get(part)
        if value is None or value != value:  # not a number
            return ""
        return repr(value if isinstance(value, int) else float(value))  # float: NumPy's repr names its type

    def html(self, *, head: bool = False) -> Html:
        """A cell of a table; with `head`, the one that names a row."""
        beside = [element("sup", self.mark)] if self.mark else []
        if self.under:
            beside.append(element("small", self.under))
        if head:
            return element("th", self.text, *beside, scope="row")
        text = element("strong", self.text) if self.strong else self.text
        classes = ["quiet"] * self.quiet + ["words"] * (len(self.text) > LONG and not self.numbers)
        return element("td", text, *beside, class_=" ".join(classes) or None)


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
    notes: Sequence[str] = ()  # footnotes of the marks, and remarks on the numbers
    warnings: Sequence[str] = ()  # without which the numbers mislead

    def written(self, format: str) -> str:  # noqa: A002  (as the command line calls it)
        """The table in one of the formats `text`, `markdown`, `latex` and `csv`."""
        writers = {"text": self.text, "markdown": self.markdown, "latex": self.latex, "csv": self.csv}
        if format not in writers:
            raise unknown("format", format, writers)
        return writers[format]()

    def text(self) -> str:
        """For a terminal: aligned, strong cells with a star, smaller print on a line of its own.

        >>> row = [Cell("a", under="95 %"), Cell("93.5", strong=True, under="92.1–94.6")]
        >>> print(Grid([Head(""), Head("Acc")], [row]).text())
                      Acc
        a            93.5*
          95 %  92.1–94.6
        """
        lines = [[head.text for head in self.head]]
        for row in self.body:
            lines.append([cell.text + cell.mark + "*" * cell.strong for cell in row])
            if any(cell.under for cell in row):
                lines.append([f"  {row[0].under}".rstrip(), *(cell.under for cell in row[1:])])
        table = _aligned([list(map(printable, line)) for line in lines])
        remarks = [self.caption, *self.notes, *(f"warning: {warning}" for warning in self.warnings)]
        below = "\n".join(textwrap.fill(printable(remark), WIDTH) for remark in remarks if remark)
        return f"{table}\n\n{below}" if below else table

    def markdown(self) -> str:
        """For a README: strong cells in bold, quiet ones in italics."""
        lines = [
            _pipes(head.text for head in self.head),
            "|:--|" + "--:|" * (len(self.head) - 1),
            *(_pipes(cell.markdown() for cell in row) for row in self.body),
        ]
        remarks = [printable(self.caption), *map(markdown_safe, self.notes)]
        remarks += [f"**Warning:** {markdown_safe(warning)}" for warning in self.warnings]
        for remark in filter(None, remarks):
            lines += ["", remark]
        return "\n".join(lines)

    def latex(self) -> str:
        """For a paper: booktabs; every character stands for itself."""
        remarks = [*self.notes, *(f"Warning: {warning}" for warning in self.warnings)]
        lines = [
            r"% \usepackage{booktabs,xcolor}",
            r"\begin{table}",
            r"\centering",
            *([rf"\caption{{{latex_safe(self.caption)}}}"] if self.caption else []),
            rf"\begin{{tabular}}{{l{'r' * (len(self.head) - 1)}}}",
            r"\toprule",
            *_latex_groups(self.groups),
            " & ".join(latex_safe(head.text) for head in self.head) + r" \\",
            r"\midrule",
            *(" & ".join(cell.latex() for cell in row) + r" \\" for row in self.body),
            r"\bottomrule",
            r"\end{tabular}",
            *(
                rf"\par\smallskip\parbox{{\linewidth}}{{\footnotesize {latex_safe(remark)}}}"
                for remark in remarks
            ),
            r"\end{table}",
        ]
        return "\n".join(lines) + "\n"

    def csv(self) -> str:
        """For a program: the raw numbers, nothing rounded, deviations and bounds in columns of their own.

        Rows with marks have their footnotes in a last column `note`.
        """
        names, columns = [], []  # of a column: the number in the row, and the part of its cells
        for number, head in enumerate(self.head):
            name = head.key or head.text
            known = {part for row in self.body for part in row[number].numbers}
            for part in ("", *(part for part in NUMBERS if part in known)):
                names.append(csv_safe(f"{name}_{part}" if part else name))
                columns.append((number, part))
        marked = any(cell.mark for row in self.body for cell in row)
        out = io.StringIO()
        writer = csv.writer(out, lineterminator="\n")
        writer.writerow([*names, "note"] if marked else names)
        for row in self.body:
            raw = [row[number].csv(part) for number, part in columns]
            signs = {cell.mark for cell in row if cell.mark}
            found = [(note, sign) for note in self.notes for sign in signs if note.startswith(sign)]
            footnotes = " ".join(note.removeprefix(sign).strip() for note, sign in found)
            writer.writerow([*raw, csv_safe(footnotes)] if marked else raw)
        return out.getvalue()

    def html(self) -> Html:
        """For a page; the style is that of `scores` in `style.css`."""
        groups = []
        for name, width in self.groups:
            group = element("th", name, scope="colgroup", colspan=width, class_="group")
            groups.append(group if name else element("td", colspan=width))
        heads = [element("th", head.text, scope="col", title=head.title or None) for head in self.head]
        top = [element("tr", *groups)] if groups else []
        top.append(element("tr", *heads))
        rows = []
        for first, *rest in self.body:
            cells = [first.html(head=True), *(cell.html() for cell in rest)]
            rows.append(element("tr", *cells, class_="floor" if first.quiet else None))
        table = element("table", element("thead", *top), element("tbody", *rows), class_="scores")
        region = element("div", table, class_="wide", tabindex="0", role="region", aria_label="Table")
        above = [
            element("p", f"Warning: {warning}", class_="warning", role="note") for warning in self.warnings
        ]
        remarks = filter(None, (self.caption, *self.notes))
        below = [element("p", remark, class_="fine caption") for remark in remarks]
        if len(self.head) > NARROW:  # shown on a phone only
            below.insert(0, element("p", "Scroll sideways for all columns →", class_="fine sideways"))
        return joined([*above, region, *below])

    @property
    def groups(self) -> list[tuple[str, int]]:
        """The line above the heads: names and the number of columns each spans; empty without groups."""
        runs = [(name, len(list(run))) for name, run in groupby(head.group for head in self.head)]
        return runs if any(name for name, _ in runs) else []


def _aligned(lines: Sequence[Sequence[str]]) -> str:
    """Lines of cells as columns by their width in a terminal: the first to the left, the others to the right.

    Signs after a number hang over the edge, so that the digits stay under each other.
    """
    columns = []
    for number, column in enumerate(zip(*lines, strict=True)):
        hang = max(map(_hanging, column))
        hung = [cell + " " * (hang - _hanging(cell)) for cell in column]
        width = max(map(cell_len, hung))
        gaps = [" " * (width - cell_len(cell)) for cell in hung]
        pairs = zip(gaps, hung, strict=True)
        columns.append([f"  {gap}{cell}" if number else cell + gap for gap, cell in pairs])
    return "\n".join("".join(line).rstrip() for line in zip(*columns, strict=True))


def _hanging(text: str) -> int:
    """Number of signs at its end."""
    return len(text) - len(text.rstrip(SIGNS))


def _pipes(cells: Iterable[str]) -> str:
    return "| " + " | ".join(cells) + " |"


def _latex_groups(groups: Sequence[tuple[str, int]]) -> list[str]:
    """The line above the heads, and a rule under each of its names."""
    if not groups:
        return []
    rules, first = [], 1
    for name, width in groups:
        if name:
            rules.append(rf"\cmidrule(lr){{{first}-{first + width - 1}}}")
        first += width
    names = [rf"\multicolumn{{{width}}}{{c}}{{{latex_safe(name)}}}" for name, width in groups]
    return [" & ".join(names) + r" \\", " ".join(rules)]
