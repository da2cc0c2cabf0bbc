"""Results and rationales, shown to people: tables, terminal and HTML."""

from unirex.report.page import explanation_page
from unirex.report.table import markdown, table
from unirex.report.terminal import print_explanation, render

__all__ = ["explanation_page", "markdown", "print_explanation", "render", "table"]
