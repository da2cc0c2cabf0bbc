"""Submissions to the ERASER benchmark: read, written, validated, scored, and made of records or into them.

The datasets of ERASER are read by `unirex.data.formats.eraser`; here is what systems hand in about them, with
the own metric definitions of the benchmark. Nothing here needs torch.
"""

from __future__ import annotations

from unirex.eraser.export import Exported, export
from unirex.eraser.gold import Gold, Truth, read_gold
from unirex.eraser.importing import import_submission
from unirex.eraser.score import score
from unirex.eraser.submission import (
    DocumentRationale,
    Instance,
    Span,
    Thresholded,
    read_submission,
    write_submission,
)
from unirex.eraser.validate import Fault, validate

__all__ = [
    "DocumentRationale",
    "Exported",
    "Fault",
    "Gold",
    "Instance",
    "Span",
    "Thresholded",
    "Truth",
    "export",
    "import_submission",
    "read_gold",
    "read_submission",
    "score",
    "validate",
    "write_submission",
]
