"""A matplotlib figure that notebooks show; imported only where one is drawn, as matplotlib is heavy."""

from __future__ import annotations

from matplotlib.figure import Figure

from unirex.report.figures import saved


class NotebookFigure(Figure):
    """A figure without pyplot, which would keep every figure alive and show it twice."""

    def _repr_png_(self) -> bytes:
        return saved(self, "png")
