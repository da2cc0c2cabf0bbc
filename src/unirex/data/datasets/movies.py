"""ERASER Movies: reviews of films, negative or positive, with the phrases that show it.

The query ("What is the sentiment of this review?") is always the same and is left out. One annotation of
train (posR_161.txt) has no evidence: it is kept, without gold, so that there are 1600 and not 1599 as in the
paper. Test has 199 annotations in the current release; the paper used an older one with 200
(spec/data.md#datasets).
"""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from unirex.data.example import CharSpan, DatasetInfo, Splits
from unirex.data.formats.eraser import Parts, only_document, read_eraser
from unirex.data.formats.eraser_files import Document
from unirex.errors import unknown

INFO = DatasetInfo(name="movies", labels=("NEG", "POS"), metric="macro_f1", groups="evidence")
FOLDERS = ("movies", "eraser/movies")


def load(folder: Path, *, seed: int = 0, offsets: Literal["document", "sentence"] = "document") -> Splits:
    """The published splits.

    Args:
        folder: the ERASER folder of the dataset.
        seed: not used, as the splits are published.
        offsets: where the tokens of evidence are counted from. "document" is right; "sentence" repeats a
            mistake of the released research code, for comparison with its tables (see `in_sentence`).
    """
    if offsets not in OFFSETS:
        raise unknown("offsets", offsets, OFFSETS)
    locate = OFFSETS[offsets]
    return read_eraser(folder, INFO, lambda annotation: Parts(only_document(annotation)), locate=locate)


def in_sentence(document: Document, start: int, end: int) -> CharSpan:
    """The span of evidence in the released research code: at its position in its own sentence.

    The code counted positions from the start of each sentence, then used them in the whole document
    (spec/known-errors.md#d-1), so that all gold is near the beginning. Evidence over several sentences marks
    nothing if it ends earlier in the last than it begins in the first. Words are counted here, word pieces
    there.

    >>> document = Document.of("a film\\nit is just so good")
    >>> document.text[slice(*in_sentence(document, 4, 6))]  # "just so" are words 2 and 3 of their sentence
    'it is'
    """
    first, last = _index_in_sentence(document, start), _index_in_sentence(document, end - 1) + 1
    return document.span(first, max(first, last))


def _index_in_sentence(document: Document, token: int) -> int:
    start = document.starts[token]
    return document.text.count(" ", document.text.rfind("\n", 0, start) + 1, start)


OFFSETS = {"document": Document.span, "sentence": in_sentence}
