"""A matplotlib figure that notebooks show; imported only where one is drawn, as matplotlib is heavy."""

from __future__ import annotations

import io

from matplotlib.figure import Figure


class NotebookFigure(Figure):
    """A figure without pyplot, which would keep every figure alive and show it twice."""

    def _repr_png_(self) -> bytes:
        content = io.BytesIO()
        self.savefig(content, format="png")
        return content.getvalue()
