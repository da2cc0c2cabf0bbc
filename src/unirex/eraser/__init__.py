"""Submissions to the ERASER benchmark: read, write, validate and score them; convert to and from records.

The datasets of ERASER are read by `unirex.data.formats.eraser`; this package is about what systems submit on
them, with the benchmark's own metric definitions. Nothing here needs torch.
"""

from __future__ import annotations

from unirex.eraser.export import Exported, export
from unirex.eraser.gold import GoldData, Truth, read_gold
from unirex.eraser.importing import import_submission, read_predictions
from unirex.eraser.score import score
from unirex.eraser.submission import (
    DocumentRationale,
    Instance,
    Thresholded,
    TokenSpan,
    read_submission,
    write_submission,
)
from unirex.eraser.validate import Fault, validate

__all__ = [
    "DocumentRationale",
    "Exported",
    "Fault",
    "GoldData",
    "Instance",
    "Thresholded",
    "TokenSpan",
    "Truth",
    "export",
    "import_submission",
    "read_gold",
    "read_predictions",
    "read_submission",
    "score",
    "validate",
    "write_submission",
]
