"""Every fault of a submission, with its line."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from reprlib import repr as short
from typing import Any

from unirex.data.formats.eraser_files import Document
from unirex.data.rows import lines
from unirex.eraser.gold import Gold
from unirex.eraser.submission import (
    COMPREHENSIVENESS,
    SUFFICIENCY,
    Classes,
    DocumentRationale,
    Instance,
    Parser,
    Span,
    Thresholded,
    row_of,
)
from unirex.errors import one_line
from unirex.evaluation.predictions import TOLERANCE


@dataclass(frozen=True, slots=True)
class Fault:
    """What is wrong, where, and how to mend it."""

    place: str  # file:line, or the file
    id: str | None  # of the annotation, if it is about one
    text: str
    docid: str | None = None

    def __str__(self) -> str:
        about = [f"annotation '{self.id}'"] if self.id else []
        about += [f"document '{self.docid}'"] if self.docid else []
        return f"{self.place}: {', '.join(about)}{': ' if about else ''}{self.text}"


@dataclass(frozen=True, slots=True)
class Line:
    """A line as JSON reads it; `fault` says why it cannot be read, where it cannot."""

    place: str
    value: Any = None
    fault: str | None = None

    @property
    def id(self) -> str | None:
        """The annotation's id, if the line has a sensible one."""
        found = self.value.get("annotation_id") if isinstance(self.value, dict) else None
        return found if isinstance(found, str) else None


def submitted(submission: str | Path | Iterable[Instance]) -> Iterator[Line]:
    """The lines of a file, whatever is in them, or those that instances would be written as."""
    if isinstance(submission, str | Path):
        path = Path(submission)
        return (_read(f"{path}:{number}", line) for number, line in enumerate(lines(path), 1))
    return (Line(one.place or f"instance {number}", row_of(one)) for number, one in enumerate(submission, 1))


def _read(place: str, line: str) -> Line:
    if not line.strip():
        return Line(place, fault="the line is blank; remove it, for the official reader stops here")
    try:
        return Line(place, json.loads(line))
    except (ValueError, RecursionError) as error:
        return Line(place, fault=f"not valid JSON ({one_line(error)}); write one object a line")


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


EVERYWHERE: dict[str, Callable[[Instance], bool]] = {  # what all lines must have, or none
    "hard_rationale_predictions": lambda one: any(entry.hard is not None for entry in one.rationales),
    "soft_rationale_predictions": lambda one: any(entry.soft is not None for entry in one.rationales),
    "soft_sentence_predictions": lambda one: any(entry.sentences is not None for entry in one.rationales),
    "classification": lambda one: one.classification is not None,
    COMPREHENSIVENESS: lambda one: one.comprehensiveness is not None,
    SUFFICIENCY: lambda one: one.sufficiency is not None,
    "tokens_to_flip": lambda one: one.tokens_to_flip is not None,
    "thresholded_scores": lambda one: one.thresholded is not None,
}


def validate(
    submission: str | Path | Iterable[Instance],
    gold: Gold,
    *,
    mirror: bool = False,
    labels: Collection[str] | None = None,
) -> list[Fault]:
    """Every fault of a submission, one message each; none if it is sound.

    Args:
        submission: a file, or what would be written to one.
        gold: the annotations and documents it is about.
        mirror: tell only why the official validator would refuse the file; it lets much pass that fails later
            or is scored as something else than was meant.
        labels: the classes there are, if not those of the annotations.
    """
    place = str(submission) if isinstance(submission, str | Path) else "the submission"
    if mirror:
        from unirex.eraser.mirror import Mirror

        return list(Mirror(gold, place).faults(submitted(submission)))
    known = gold.labels if labels is None else labels
    return list(_Whole(Strict(gold, known), place).faults(submitted(submission)))


@dataclass
class _Whole:
    """The strict checks over the lines as they come, and over all of them."""

    strict: Strict
    place: str
    lines: int = 0
    seen: dict[str, str] = field(default_factory=dict)  # the places of the ids
    thresholds: list[float] | None = None
    counts: dict[str, int] = field(default_factory=lambda: dict.fromkeys(EVERYWHERE, 0))
    without: dict[str, str] = field(default_factory=dict)  # the first place that lacks something

    def faults(self, lines: Iterable[Line]) -> Iterator[Fault]:
        """All faults, in the order of the lines, then those of the whole."""
        for line in lines:
            self.lines += 1
            if line.fault is None and not isinstance(line.value, dict):
                line = Line(line.place, fault="a line must be a JSON object")
            if line.fault is not None:
                yield Fault(line.place, None, line.fault)
                continue
            yield from self.line(line)
        yield from self.whole()

    def line(self, line: Line) -> Iterator[Fault]:
        """What is wrong with one line."""
        found: list[Fault] = []

        def tell(text: str, *, docid: str | None = None, harmless: bool = False) -> None:
            found.append(Fault(line.place, line.id, text, docid))

        one = Parser(tell).instance(line.value, line.place)
        if one.annotation_id in self.seen:
            tell(f"the annotation is there twice, first at {self.seen[one.annotation_id]}; keep one")
        if one.annotation_id:
            self.seen.setdefault(one.annotation_id, line.place)
        if self.thresholds is None and one.thresholded is not None:
            self.thresholds = [entry.threshold for entry in one.thresholded]
        for text, docid in self.strict.faults(one, self.thresholds):
            tell(text, docid=docid)
        self.count(one)
        yield from found

    def count(self, one: Instance) -> None:
        """Remembers what the line has."""
        for name, has in EVERYWHERE.items():
            if has(one):
                self.counts[name] += 1
            else:
                self.without.setdefault(name, one.place)

    def whole(self) -> Iterator[Fault]:
        """What is wrong with all lines together."""
        if not self.lines:
            yield Fault(self.place, None, "there are no lines; give one for each annotation")
        for name, count in self.counts.items():
            if count and name in self.without:
                text = f"{name} is on {count} of {self.lines} lines and not here, for the first time"
                yield Fault(self.without[name], None, f"{text}; give it on all lines or on none")
        for name, truth in self.strict.gold.annotations.items():
            if name not in self.seen:
                yield Fault(self.place, name, f"no line for this annotation of {truth.place}; add one")
