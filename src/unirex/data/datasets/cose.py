"""ERASER CoS-E: questions of common sense with five answers to choose from, and the words that point to one.

The document is the question; the query holds the answers, separated by ` [sep] `. Evidence is only in the
question.
"""

from __future__ import annotations

from pathlib import Path

from unirex.data.example import DatasetInfo, Splits, choice_labels
from unirex.data.formats.eraser import Parts, only_document, read_eraser
from unirex.data.formats.eraser_files import Annotation
from unirex.data.validate import check_text
from unirex.errors import UserError

CHOICES = 5
BETWEEN = " [sep] "

INFO = DatasetInfo(
    name="cose",
    labels=choice_labels(CHOICES),
    task="choice",
    metric="accuracy",
    rationale_segments=(0,),
    groups="evidence",
    markers=("Q:", "A:"),  # spec/data.md#eraser-sets
)
FOLDERS = ("cose", "eraser/cose")


def load(folder: Path, *, seed: int = 0) -> Splits:
    """The published splits; `seed` is not used."""
    return read_eraser(folder, INFO, _compose)


def _compose(annotation: Annotation) -> Parts:
    choices = annotation.query.split(BETWEEN)
    if len(choices) != CHOICES:
        raise UserError(f"'query' has {len(choices)} answers; put '{BETWEEN}' between the {CHOICES} of them")
    return Parts(
        only_document(annotation),
        choices=tuple(check_text(choice, column="an answer in query") for choice in choices),
    )
