"""ERASER e-SNLI: whether a premise entails a hypothesis, contradicts it or neither, with the words that tell.

Premise and hypothesis of the annotation `<id>` are the documents `<id>_premise` and `<id>_hypothesis`; its
query is left out. If only one of the two has evidence, the other has no marked words.
"""

from __future__ import annotations

from pathlib import Path

from unirex.data.example import DatasetInfo, Splits
from unirex.data.formats.eraser import Parts, read_eraser

INFO = DatasetInfo(
    name="esnli",
    labels=("entailment", "neutral", "contradiction"),
    task="segments",
    metric="macro_f1",
    groups="evidence",
)
FOLDERS = ("esnli", "e-snli", "eraser/esnli")


def load(folder: Path, *, seed: int = 0) -> Splits:
    """The published splits; `seed` is not used."""
    return read_eraser(
        folder,
        INFO,
        lambda annotation: Parts(((f"{annotation.id}_premise",), (f"{annotation.id}_hypothesis",))),
    )
