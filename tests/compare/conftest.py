"""Pages of comparisons get their figures, which take seconds, only where a test is marked `drawn`."""

import pytest

from unirex.report.figures import Figure
from unirex.report.markup import Html


@pytest.fixture(autouse=True)
def placeholders(request, monkeypatch):
    if request.node.get_closest_marker("drawn") is None:
        monkeypatch.setattr(Figure, "inline", lambda figure, *, narrow=False: Html("<svg></svg>"))
