"""Everything that is wrong with one line of a submission, told to whoever can mend it."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from reprlib import repr as short

from unirex.data.eraser.documents import Document
from unirex.eraser.gold import Gold
from unirex.eraser.instances import (
    COMPREHENSIVENESS,
    SUFFICIENCY,
    Classes,
    DocumentRationale,
    Instance,
    Span,
    Thresholded,
)

TOLERANCE = 1e-3  # by which probabilities may miss a sum of 1: those of half precision do

Told = tuple[str, str | None]  # what is wrong, and in which document


@dataclass(frozen=True, slots=True)
class Strict:
    """The checks of a line against the data; `labels` are the classes there are."""

    gold: Gold
    labels: Collection[str]

    def faults(self, one: Instance, thresholds: Collection[float] | None) -> Iterator[Told]:
        """What is wrong with the line; `thresholds` are those of the first line that has any."""
        yield from self.rationales(one)
        for text in (*self.classes(one), *self.sizes(one, thresholds), *self.flips(one)):
            yield text, None

    def rationales(self, one: Instance) -> Iterator[Told]:
        """What is wrong with the documents of a line."""
        if one.annotation_id and one.annotation_id not in self.gold.annotations:
            yield "the data has no annotation of this id; correct it, or name the right split", None
        docids = [entry.docid for entry in one.rationales]
        for docid in dict.fromkeys(docids):
            if docids.count(docid) > 1:
                yield f"the document has {docids.count(docid)} entries; merge them into one", docid
        for entry in one.rationales:
            for text in self.document(entry):
                yield text, entry.docid
        for name, having in {
            "soft_rationale_predictions": [entry.soft is not None for entry in one.rationales],
            "soft_sentence_predictions": [entry.sentences is not None for entry in one.rationales],
        }.items():
            if any(having) and not all(having):
                yield f"{name} for {sum(having)} of {len(having)} documents; give all of them or none", None

    def document(self, entry: DocumentRationale) -> Iterator[str]:
        """What is wrong with what is said of one document."""
        document = self.gold.document(entry.docid)
        if document is None:
            yield "the data has no document of this id; correct it"
            return
        yield from span_faults(entry.hard or (), len(document))
        soft = entry.soft, "soft_rationale_predictions", len(document), "tokens"
        sentences = entry.sentences, "soft_sentence_predictions", sentence_count(document), "sentences"
        for values, name, count, things in (soft, sentences):
            if values is not None and len(values) != count:
                fix = f"give one for each of the document's {count} {things}"
                yield f"{name} has {len(values) or 'no'} numbers; {fix}, or leave it out"

    def classes(self, one: Instance) -> Iterator[str]:
        """What is wrong with the class of a line and with its probabilities."""
        if one.classification is not None and one.classification not in self.labels:
            yield f"classification {one.classification!r} is none of the classes: {_some(self.labels)}"
        if (one.classification is None) != (one.classification_scores is None):
            names = "classification", "classification_scores"
            there, missing = names if one.classification_scores is None else names[::-1]
            yield f"{there} without {missing}; give both or none"
        for name, scores in {
            "classification_scores": one.classification_scores,
            COMPREHENSIVENESS: one.comprehensiveness,
            SUFFICIENCY: one.sufficiency,
        }.items():
            if scores is not None and name != "classification_scores" and one.classification is None:
                yield f"{name} without classification; nobody knows whose fall to measure"
            yield from (f"{name}: {text}" for text in self.probabilities(scores, one))

    def probabilities(self, scores: Classes | None, one: Instance) -> Iterator[str]:
        """What is wrong with a distribution over the classes."""
        if scores is None:
            return
        strange, total = [label for label in scores if label not in self.labels], sum(scores.values())
        if strange:
            yield f"{strange[0]!r} is none of the classes: {_some(self.labels)}"
        if one.classification is not None and one.classification not in scores:
            yield f"the predicted class {one.classification!r} has no probability; add it"
        if one.classification_scores is not None and scores.keys() != one.classification_scores.keys():
            yield "names other classes than classification_scores; give all of them everywhere"
        if any(not 0 <= value <= 1 for value in scores.values()):
            yield f"{short(dict(scores))} are no probabilities; give numbers from 0 to 1"
        elif abs(total - 1) > TOLERANCE:
            yield f"the probabilities add up to {total:.6g}; normalise them to 1"

    def sizes(self, one: Instance, thresholds: Collection[float] | None) -> Iterator[str]:
        """What is wrong with the probabilities at several sizes of rationale."""
        if one.thresholded is None:
            return
        found = [entry.threshold for entry in one.thresholded]
        if thresholds is not None and set(found) != set(thresholds):
            first = _some(thresholds)
            yield f"thresholded_scores is at {_some(found)}, on the first line at {first}; use the same"
        for threshold in sorted({size for size in found if found.count(size) > 1}):
            yield f"thresholded_scores has {found.count(threshold)} entries at {threshold:g}; keep one"
        missing = [name for name, value in _beside(one).items() if value is None]
        if missing:
            yield f"thresholded_scores without {', '.join(missing)}; give these too"
        for entry in one.thresholded:
            yield from (f"at threshold {entry.threshold:g}: {text}" for text in self.size(entry, one))

    def size(self, entry: Thresholded, one: Instance) -> Iterator[str]:
        """What is wrong at one size of rationale."""
        if not 0 <= entry.threshold <= 1:
            yield "a threshold is a share of the tokens, from 0 to 1"
        for name, scores in {
            COMPREHENSIVENESS: entry.comprehensiveness,
            SUFFICIENCY: entry.sufficiency,
        }.items():
            if scores is None:
                yield f"{name} is missing; give both"
            yield from (f"{name}: {text}" for text in self.probabilities(scores, one))

    def flips(self, one: Instance) -> Iterator[str]:
        """What is wrong with the number of tokens that change the class."""
        if one.tokens_to_flip is None:
            return
        documents = [self.gold.document(docid) for docid in {entry.docid for entry in one.rationales}]
        tokens = sum(len(document) for document in documents if document is not None)
        if one.tokens_to_flip < 0 or (documents and one.tokens_to_flip > tokens):
            yield f"tokens_to_flip {one.tokens_to_flip} is not from 0 to the {tokens} tokens there are"


def span_faults(spans: Collection[Span], length: int) -> Iterator[str]:
    """What is wrong with the spans of a document of so many tokens."""
    fine, seen = [], set[Span]()
    for span in spans:
        start, end = span
        if start < 0 or end < 0:
            yield f"span {start} to {end} begins before the document; count tokens from 0"
        elif start >= end:
            yield f"span {start} to {end} is empty; end_token is exclusive and must be more than start_token"
        elif end > length:
            yield f"span {start} to {end} ends beyond the document's {length} tokens"
        elif span in seen:
            yield f"span {start} to {end} is there twice; keep one"
        else:
            fine.append(span)
        seen.add(span)
    yield from _overlaps(sorted(fine))


def _overlaps(spans: list[Span]) -> Iterator[str]:
    widest = None  # of the spans before, that which ends last
    for span in spans:
        if widest is not None and span.start < widest.end:
            yield f"spans {widest.start} to {widest.end} and {span.start} to {span.end} overlap; merge them"
        widest = span if widest is None or span.end > widest.end else widest


def sentence_count(document: Document) -> int:
    """How many sentences a document has: one a line."""
    return document.text.count("\n") + 1


def _beside(one: Instance) -> Mapping[str, object]:
    return {
        "classification": one.classification,
        "classification_scores": one.classification_scores,
        COMPREHENSIVENESS: one.comprehensiveness,
        SUFFICIENCY: one.sufficiency,
    }


def _some(names: Collection[object]) -> str:
    known = sorted(map(str, names))
    return ", ".join(known[:8]) + (" …" if len(known) > 8 else "")
