"""A table before it is typeset: cells with emphasis, written as text, Markdown, LaTeX, CSV or HTML."""

from __future__ import annotations

import csv
import io
import textwrap
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby

from rich.cells import cell_len

from unirex.errors import unknown
from unirex.report.markup import (
    Html,
    element,
    joined,
    latex_numbers,
    latex_safe,
    markdown_safe,
    printable,
)

MISSING = "–"
SIGNS = "*†‡"  # after a number: emphasis and footnotes
WIDTH = 100  # of a caption in a terminal
LONG = 24  # characters; longer texts may wrap on a page, numbers never do
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
            *(_pipes(map(_markdown_cell, row)) for row in self.body),
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
            *(" & ".join(map(_latex_cell, row)) + r" \\" for row in self.body),
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
        columns = [(head, _parts(row[at] for row in self.body)) for at, head in enumerate(self.head)]
        marked = any(cell.mark for row in self.body for cell in row)
        out = io.StringIO()
        writer = csv.writer(out, lineterminator="\n")
        names = [_csv_name(head, part) for head, parts in columns for part in parts]
        writer.writerow([*names, "note"] if marked else names)
        for row in self.body:
            cells = zip(row, columns, strict=True)
            raw = [_raw(cell, part) for cell, (_, parts) in cells for part in parts]
            writer.writerow([*raw, self._footnotes(row)] if marked else raw)
        return out.getvalue()

    def _footnotes(self, row: Sequence[Cell]) -> str:
        signs = {cell.mark for cell in row if cell.mark}
        return " ".join(
            note.removeprefix(sign).strip() for note in self.notes for sign in signs if note.startswith(sign)
        )

    def html(self) -> Html:
        """For a page; the style is that of `scores` in `style.css`."""
        groups = [element("tr", *(_html_group(*group) for group in self.groups))] if self.groups else []
        heads = (element("th", head.text, scope="col", title=head.title or None) for head in self.head)
        head = element("thead", *groups, element("tr", *heads))
        table = element("table", head, element("tbody", *map(_html_row, self.body)), class_="scores")
        region = element("div", table, class_="wide", tabindex="0", role="region", aria_label="Table")
        above = [
            element("p", f"Warning: {warning}", class_="warning", role="note") for warning in self.warnings
        ]
        remarks = filter(None, (self.caption, *self.notes))
        below = [element("p", remark, class_="fine caption") for remark in remarks]
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


def _markdown_cell(cell: Cell) -> str:
    sign = "**" if cell.strong else "*" if cell.quiet and cell.text else ""
    under = f" ({cell.under})" if cell.under and cell.numbers else ""
    return f"{sign}{markdown_safe(cell.text)}{sign}{cell.mark}{under}"


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


def _latex_cell(cell: Cell) -> str:
    text = latex_numbers(cell.text) if cell.numbers else latex_safe(cell.text)
    text += latex_safe(cell.mark)
    if cell.strong:
        text = rf"\textbf{{{text}}}"
    if cell.under and cell.numbers:
        text += rf" {{\scriptsize ({latex_numbers(cell.under)})}}"
    return rf"\textcolor{{gray}}{{{text}}}" if cell.quiet and text else text


def _parts(cells: Iterable[Cell]) -> list[str]:
    """The CSV columns of a table column: the value, then the other numbers that any cell has."""
    known = {part for cell in cells for part in cell.numbers}
    return ["", *(part for part in NUMBERS if part in known)]


def _csv_name(head: Head, part: str) -> str:
    name = head.key or head.text
    return f"{name}_{part}" if part else name


def _raw(cell: Cell, part: str) -> str:
    if not cell.numbers:
        return "" if part or cell.text == MISSING else cell.text
    value = cell.numbers.get(part)
    if value is None or value != value:  # not a number
        return ""
    return repr(value if isinstance(value, int) else float(value))  # float: NumPy's repr names its type


def _html_group(name: str, width: int) -> Html:
    if not name:
        return element("td", colspan=width)
    return element("th", name, scope="colgroup", colspan=width, class_="group")


def _html_row(cells: Sequence[Cell]) -> Html:
    name, *rest = cells
    head = element("th", name.text, *_beside(name), scope="row")
    return element("tr", head, *map(_html_cell, rest), class_="floor" if name.quiet else None)


def _html_cell(cell: Cell) -> Html:
    text = element("strong", cell.text) if cell.strong else cell.text
    classes = ["quiet"] * cell.quiet + ["words"] * (len(cell.text) > LONG and not cell.numbers)
    return element("td", text, *_beside(cell), class_=" ".join(classes) or None)


def _beside(cell: Cell) -> list[Html]:
    """What follows the text of a cell: the mark of a footnote, smaller print."""
    mark = [element("sup", cell.mark)] if cell.mark else []
    under = [element("small", cell.under)] if cell.under else []
    return mark + under
