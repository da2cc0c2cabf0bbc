"""Tables for papers: LaTeX with booktabs."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from unirex.report.grid import Cell, Grid

SIGNS = {
    "\\": r"\textbackslash{}",
    "{": r"\{",
    "}": r"\}",
    "&": r"\&",
    "%": r"\%",
    "$": r"\$",
    "#": r"\#",
    "_": r"\_",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
    "↑": r"$\uparrow$",
    "↓": r"$\downarrow$",
    "±": r"$\pm$",
    "×": r"$\times$",
    "†": r"$^{\dagger}$",
    "‡": r"$^{\ddagger}$",
    "−": r"$-$",
    "–": "--",
    "…": r"\ldots{}",
    "\N{NO-BREAK SPACE}": "~",
}
MINUS = re.compile(r"(?<![\w.–-])-(?=[\d.])")  # before a number; between two numbers a dash is "to"


def escaped(text: str) -> str:
    r"""The text so that LaTeX prints it as it is.

    >>> print(escaped("95 % of a_b: Comp ↑ 0.302 ± 0.039"))
    95 \% of a\_b: Comp $\uparrow$ 0.302 $\pm$ 0.039
    """
    return "".join(SIGNS.get(one, " " if ord(one) < 32 else one) for one in text)


def numerals(text: str) -> str:
    r"""Numbers so that LaTeX sets a minus as such and a range with a dash.

    >>> print(numerals("-0.030 to -0.010"), numerals("0.286–0.292"), numerals("1e-05"))
    $-$0.030 to $-$0.010 0.286--0.292 1e-05
    """
    return escaped(MINUS.sub("−", text))


def latex_table(grid: Grid) -> str:
    """The whole table, ready to be put into a paper."""
    heads = [" & ".join(escaped(one.text) for one in grid.head) + r" \\"]
    caption = [rf"\caption{{{escaped(grid.caption)}}}"] if grid.caption else []
    lines = [
        r"% \usepackage{booktabs,xcolor}",
        r"\begin{table}",
        r"\centering",
        *caption,
        rf"\begin{{tabular}}{{l{'r' * (len(grid.head) - 1)}}}",
        r"\toprule",
        *_groups(grid.groups),
        *heads,
        r"\midrule",
        *(_line(row) for row in grid.body),
        r"\bottomrule",
        r"\end{tabular}",
        *map(_below, (*grid.notes, *(f"Warning: {one}" for one in grid.warnings))),
        r"\end{table}",
    ]
    return "\n".join(lines) + "\n"


def _below(note: str) -> str:
    """A footnote of the table, as wide as the page."""
    return rf"\par\smallskip\parbox{{\linewidth}}{{\footnotesize {escaped(note)}}}"


def _groups(groups: Sequence[tuple[str, int]]) -> list[str]:
    """The line above the heads, and a rule under each of its names."""
    if not groups:
        return []
    names = [rf"\multicolumn{{{width}}}{{c}}{{{escaped(name)}}}" for name, width in groups]
    return [" & ".join(names) + r" \\", " ".join(_rules(groups))]


def _rules(groups: Iterable[tuple[str, int]]) -> Iterable[str]:
    first = 1
    for name, width in groups:
        if name:
            yield rf"\cmidrule(lr){{{first}-{first + width - 1}}}"
        first += width


def _line(cells: Sequence[Cell]) -> str:
    return " & ".join(map(_cell, cells)) + r" \\"


def _cell(cell: Cell) -> str:
    text = numerals(cell.text) if cell.numbers else escaped(cell.text)
    text += escaped(cell.mark)
    if cell.strong:
        text = rf"\textbf{{{text}}}"
    if cell.under and cell.numbers:
        text += rf" {{\scriptsize ({numerals(cell.under)})}}"
    return rf"\textcolor{{gray}}{{{text}}}" if cell.quiet and text else text
