"""A report in sections: tables and figures that are saved as files and set on a page."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from unirex.files import write_file
from unirex.report.figures import Figure
from unirex.report.grid import Grid
from unirex.report.markup import Html, element

ENDINGS = {"markdown": "md", "latex": "tex", "csv": "csv"}
CITATION = (
    "Chan, Sanjabi, Mathias, Tan, Nie, Peng, Ren, Firooz: UNIREX: A Unified Learning Framework for Language "
    "Model Rationale Extraction. ICML 2022."
)


@dataclass
class Section:
    """One part of a report."""

    name: str  # of its files
    title: str
    tables: Sequence[Grid] = ()
    figures: Sequence[Figure] = ()
    content: Sequence[Html] = ()
    files: Mapping[str, str] = field(default_factory=dict)  # further ones, by name

    def html(self) -> Html:
        """The part on a page."""
        tables = [table.html() for table in self.tables]
        drawn = [_drawing(figure) for figure in self.figures]
        return element("section", element("h2", self.title), *tables, *drawn, *self.content)

    def save(self, folder: Path) -> list[Path]:
        """Every table as Markdown, LaTeX and CSV, every figure as SVG and PNG."""
        paths = [path for figure in self.figures for path in figure.save(folder)]
        for number, table in enumerate(self.tables, start=1):
            name = self.name if len(self.tables) == 1 else f"{self.name}-{number}"
            for format_, ending in ENDINGS.items():
                paths.append(folder / f"{name}.{ending}")
                write_file(paths[-1], table.written(format_) + ("" if format_ == "csv" else "\n"))
        for name, text in self.files.items():
            paths.append(folder / name)
            write_file(paths[-1], text)
        return paths


def _drawing(figure: Figure) -> Html:
    """A figure on a page, which shows one of its two forms; what a point is, `said.js` writes below."""
    forms = element("div", figure.inline(), figure.inline(narrow=True), class_="drawing")
    below = [element("output", "Point at a mark to see what it is.", class_="fine")] if figure.said else []
    return element("figure", forms, *below, element("figcaption", figure.caption))
