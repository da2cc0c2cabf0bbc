"""Where the words of ERASER documents stand in the segments of an example, and the scores they get."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from math import isnan
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from unirex.data.example import Example
from unirex.data.formats.eraser_files import Document
from unirex.eraser.gold import Gold
from unirex.errors import UserError
from unirex.evaluation.records import Record
from unirex.evaluation.words import Numbers, Words, own_words

Word = Literal["max", "mean", "first"]
Locate = Callable[[str, Sequence[str]], "list[Words]"]  # from an example's id and segments


@dataclass(frozen=True, slots=True)
class EraserWords:
    """Finds the documents of ERASER data in examples that were read from it."""

    gold: Gold

    def __call__(self, name: str, segments: Sequence[str]) -> list[Words]:
        """The documents of an annotation, by their texts; a segment that is none (a query) is passed over."""
        if name not in self.gold.annotations:
            raise UserError(f"the ERASER data has no annotation '{name}'; name the right folder and split")
        documents = {
            docid: one for docid in self._docids(name) if (one := self.gold.document(docid)) is not None
        }
        found = list(_alone(documents, segments)) or list(_together(documents, segments))
        if not found:
            raise UserError(
                f"no text of example '{name}' is a document of its annotation ({', '.join(documents)}); "
                "give the folder it was read from"
            )
        return found

    def _docids(self, name: str) -> dict[str, None]:
        # The annotations of e-SNLI name only those of the two that have evidence.
        pair = [docid for docid in (f"{name}_premise", f"{name}_hypothesis") if self.gold.document(docid)]
        return dict.fromkeys((*pair, *self.gold.annotations[name].docids))


def _alone(documents: dict[str, Document], segments: Sequence[str]) -> Iterator[Words]:
    """Documents that are a segment of their own; of documents with the same text, each once."""
    left = dict(documents)
    for number, text in enumerate(segments):
        docid = next((docid for docid, document in left.items() if document.text == text), None)
        if docid is not None:
            yield document_words(docid, number, left.pop(docid), 0)


def _together(documents: dict[str, Document], segments: Sequence[str]) -> Iterator[Words]:
    """Documents that make up the first segment, one after another."""
    if not segments or segments[0] != "\n".join(one.text for one in documents.values()):
        return
    before = 0
    for docid, document in documents.items():
        yield document_words(docid, 0, document, before)
        before += len(document.text) + 1


def document_words(docid: str, segment: int, document: Document, before: int = 0) -> Words:
    """The words of a document that begins so many characters into a segment."""
    starts = np.frombuffer(document.starts, dtype=np.dtype("L")).astype(np.int64)
    return Words(docid, segment, starts[:-1] + before, starts[1:] - 1 + before)


def word_scores(
    one: Words, tokens: Sequence[tuple[int, int, int]], scores: Sequence[float], *, word: Word, unread: float
) -> NDArray[np.float64]:
    """One score a word, from the tokens it is made of: the highest, the mean, or the first.

    `unread` is for words that no token is part of, as those beyond what the encoder could take.
    """
    places = np.array(tokens, dtype=np.int64).reshape(-1, 3)
    here = places[:, 0] == one.segment
    numbers, own = one.touched(places[here, 1:])
    values = np.asarray(scores, dtype=np.float64)[here][numbers]
    read = np.zeros(len(one), dtype=bool)
    read[own] = True
    return np.where(read, JOIN[word](values, own, len(one)), unread)


def _highest(values: NDArray[np.float64], own: Numbers, count: int) -> NDArray[np.float64]:
    found = np.full(count, -np.inf)
    np.maximum.at(found, own, values)
    return found


def _mean(values: NDArray[np.float64], own: Numbers, count: int) -> NDArray[np.float64]:
    parts = np.maximum(np.bincount(own, minlength=count), 1)
    return np.asarray(np.bincount(own, weights=values, minlength=count) / parts)


def _first(values: NDArray[np.float64], own: Numbers, count: int) -> NDArray[np.float64]:
    found = np.zeros(count)
    found[own[::-1]] = values[::-1]  # of several assignments the last one stays
    return found


JOIN = {"max": _highest, "mean": _mean, "first": _first}


def nearest_budget(records: Iterable[Record], gold: Gold | None = None) -> float | None:
    """Of the records' budgets that which is nearest to the mean share people mark; None if none was tried."""
    if isinstance(records, Iterator):
        raise UserError("records come from an iterator, which can be read only once; give a budget.")
    first = next(iter(records), None)
    if first is None or not first.views:
        return None
    share = mean_share(records) if gold is None else gold.mean_share()
    if isnan(share):
        raise UserError("nobody marked a rationale, so no budget is nearest to what people mark; give one.")
    return min(first.budgets, key=lambda one: abs(one - share))


def mean_share(records: Iterable[Record]) -> float:
    """The mean share of the tokens that people mark, in per cent, over records with marks; NaN for none."""
    marked = [one.gold for record in records for one in record.sequences[:1] if one.gold and any(one.gold)]
    return 100 * sum(sum(gold) / len(gold) for gold in marked) / len(marked) if marked else float("nan")


def human_budget(examples: Iterable[Example]) -> float:
    """The mean share of their words that people mark, in whole per cent; NaN if nobody marked any."""
    shares = [share for example in examples if (share := _share(example))]
    return float(max(1, round(100 * sum(shares) / len(shares)))) if shares else float("nan")


def _share(example: Example) -> float:
    """Of the words in segments with marks."""
    spans = example.rationale or ()
    marks = [one.marked(spans[one.segment]) for one in own_words(example.id, example.segments) if spans]
    marked = [some for some in marks if some.any()]
    return float(np.concatenate(marked).mean()) if marked else 0.0
