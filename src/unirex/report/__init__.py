"""Results and rationales, shown to people: tables, figures, terminal output and HTML pages."""

from unirex.report.explanations import explanation_page, print_explanation, render
from unirex.report.table import markdown, table

__all__ = ["explanation_page", "markdown", "print_explanation", "render", "table"]
