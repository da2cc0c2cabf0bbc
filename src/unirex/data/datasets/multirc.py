"""ERASER MultiRC: whether an answer to a question about a document is right, with the sentences that tell.

The query holds both, `question || answer`. Evidence is whole sentences of the document.
"""

from __future__ import annotations

from pathlib import Path

from unirex.data.example import DatasetInfo, Splits
from unirex.data.formats.eraser import Parts, only_document, read_eraser
from unirex.data.validate import check_text

INFO = DatasetInfo(
    name="multirc",
    labels=("False", "True"),
    task="segments",
    metric="macro_f1",
    rationale_segments=(0,),
    groups="evidence",
)
FOLDERS = ("multirc", "eraser/multirc")


def load(folder: Path, *, seed: int = 0) -> Splits:
    """The published splits; `seed` is not used."""
    return read_eraser(
        folder,
        INFO,
        lambda annotation: Parts(only_document(annotation), (check_text(annotation.query, column="query"),)),
    )
