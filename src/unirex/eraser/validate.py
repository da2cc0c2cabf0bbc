"""Validation of a submission: every fault, with its line."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from reprlib import repr as short

from unirex.data.rows import read_lines
from unirex.eraser.gold import GoldData, sentence_count
from unirex.eraser.submission import (
    COMPREHENSIVENESS,
    SUFFICIENCY,
    ClassScores,
    DocumentRationale,
    Instance,
    InstanceParser,
    JsonObject,
    TokenSpan,
    as_json,
)
from unirex.errors import one_line
from unirex.evaluation.predictions import TOLERANCE

ALL_OR_NONE: dict[str, Callable[[Instance], bool]] = {  # fields that all lines must have, or none
    "hard_rationale_predictions": lambda line: any(entry.hard is not None for entry in line.rationales),
    "soft_rationale_predictions": lambda line: any(entry.soft is not None for entry in line.rationales),
    "soft_sentence_predictions": lambda line: any(entry.sentences is not None for entry in line.rationales),
    "classification": lambda line: line.classification is not None,
    COMPREHENSIVENESS: lambda line: line.comprehensiveness is not None,
    SUFFICIENCY: lambda line: line.sufficiency is not None,
    "tokens_to_flip": lambda line: line.tokens_to_flip is not None,
    "thresholded_scores": lambda line: line.thresholded is not None,
}


@dataclass(frozen=True, slots=True)
class Fault:
    """What is wrong, where, and how to fix it."""

    place: str  # file:line, or the file
    id: str | None  # of the annotation, if the fault is in one
    text: str
    docid: str | None = None

    def __str__(self) -> str:
        about = [f"annotation '{self.id}'"] if self.id else []
        about += [f"document '{self.docid}'"] if self.docid else []
        return f"{self.place}: {', '.join(about)}{': ' if about else ''}{self.text}"


def validate(
    submission: str | Path | Iterable[Instance], gold: GoldData, *, labels: Collection[str] | None = None
) -> list[Fault]:
    """Every fault of a submission, one message each; an empty list if it is sound.

    Stricter than the official validator, which accepts files that later fail or score differently than meant.

    Args:
        submission: a file, or the instances that would be written to one.
        gold: the annotations and documents it is about.
        labels: the known classes; None: those of the annotations.
    """
    place = str(submission) if isinstance(submission, str | Path) else "the submission"
    checks = _SubmissionChecks(gold, gold.labels if labels is None else labels)
    return [*checks.line_faults(_rows(submission)), *checks.overall_faults(place)]


def _rows(submission: str | Path | Iterable[Instance]) -> Iterator[tuple[str, JsonObject | Fault]]:
    """The place and the JSON object of each line, or the fault that keeps it from being read."""
    if isinstance(submission, str | Path):
        path = Path(submission)
        for number, line in enumerate(read_lines(path), 1):
            yield f"{path}:{number}", _read_line(f"{path}:{number}", line)
    else:
        for number, instance in enumerate(submission, 1):
            yield instance.place or f"instance {number}", as_json(instance)


def _read_line(place: str, line: str) -> JsonObject | Fault:
    if not line.strip():
        return Fault(place, None, "the line is blank; remove it, for the official reader stops here")
    try:
        row = json.loads(line)
    except (ValueError, RecursionError) as error:
        return Fault(place, None, f"not valid JSON ({one_line(error)}); write one object a line")
    return row if isinstance(row, dict) else Fault(place, None, "a line must be a JSON object")


@dataclass
class _SubmissionChecks:
    """Checks each line against the data, then what must hold over all lines."""

    gold: GoldData
    labels: Collection[str]  # the known classes
    lines: int = 0
    first_places: dict[str, str] = field(default_factory=dict)  # by annotation id
    thresholds: list[float] | None = None  # of the first line that has any
    counts: dict[str, int] = field(default_factory=lambda: dict.fromkeys(ALL_OR_NONE, 0))
    first_without: dict[str, str] = field(default_factory=dict)  # by field: the first place that lacks it

    def line_faults(self, rows: Iterable[tuple[str, JsonObject | Fault]]) -> Iterator[Fault]:
        """The faults of each line, in their order."""
        for place, row in rows:
            self.lines += 1
            if isinstance(row, Fault):
                yield row
            else:
                yield from self._line(place, row)

    def overall_faults(self, place: str) -> Iterator[Fault]:
        """The faults of the whole, once all lines are checked: fields that only some have, missing lines."""
        if not self.lines:
            yield Fault(place, None, "there are no lines; give one for each annotation")
        for name, count in self.counts.items():
            if count and name in self.first_without:
                text = f"{name} is on {count} of {self.lines} lines and not here, for the first time"
                yield Fault(self.first_without[name], None, f"{text}; give it on all lines or on none")
        for name, truth in self.gold.annotations.items():
            if name not in self.first_places:
                yield Fault(place, name, f"no line for this annotation of {truth.place}; add one")

    def _line(self, place: str, row: JsonObject) -> list[Fault]:
        name, faults = row.get("annotation_id"), list[Fault]()

        def report(text: str, docid: str | None = None) -> None:
            faults.append(Fault(place, name if isinstance(name, str) else None, text, docid))

        line = InstanceParser(report, null_is_fault=True).instance(row, place)
        if line.annotation_id in self.first_places:
            first = self.first_places[line.annotation_id]
            report(f"the annotation is there twice, first at {first}; keep one")
        if line.annotation_id:
            self.first_places.setdefault(line.annotation_id, place)
        for text, docid in self._rationales(line):
            report(text, docid)
        for text in (*self._classes(line), *self._thresholded(line), *self._flips(line)):
            report(text)
        for field_name, has in ALL_OR_NONE.items():
            if has(line):
                self.counts[field_name] += 1
            else:
                self.first_without.setdefault(field_name, line.place)
        return faults

    def _rationales(self, line: Instance) -> Iterator[tuple[str, str | None]]:
        if line.annotation_id and line.annotation_id not in self.gold.annotations:
            yield "the data has no annotation of this id; correct it, or name the right split", None
        docids = [entry.docid for entry in line.rationales]
        for docid in dict.fromkeys(docids):
            if docids.count(docid) > 1:
                yield f"the document has {docids.count(docid)} entries; merge them into one", docid
        for entry in line.rationales:
            for text in self._document(entry):
                yield text, entry.docid
        for name, given in {
            "soft_rationale_predictions": [entry.soft is not None for entry in line.rationales],
            "soft_sentence_predictions": [entry.sentences is not None for entry in line.rationales],
        }.items():
            if any(given) and not all(given):
                yield f"{name} for {sum(given)} of {len(given)} documents; give all of them or none", None

    def _document(self, entry: DocumentRationale) -> Iterator[str]:
        document = self.gold.document(entry.docid)
        if document is None:
            yield "the data has no document of this id; correct it"
            return
        yield from span_faults(entry.hard or (), len(document))
        soft = entry.soft, "soft_rationale_predictions", len(document), "tokens"
        sentences = entry.sentences, "soft_sentence_predictions", sentence_count(document), "sentences"
        for values, name, count, units in (soft, sentences):
            if values is not None and len(values) != count:
                fix = f"give one for each of the document's {count} {units}"
                yield f"{name} has {len(values) or 'no'} numbers; {fix}, or leave it out"

    def _classes(self, line: Instance) -> Iterator[str]:
        if line.classification is not None and line.classification not in self.labels:
            yield f"classification {line.classification!r} is none of the classes: {_listed(self.labels)}"
        if (line.classification is None) != (line.classification_scores is None):
            names = "classification", "classification_scores"
            given, missing = names if line.classification_scores is None else names[::-1]
            yield f"{given} without {missing}; give both or none"
        yield from self._probabilities("classification_scores", line.classification_scores, line)
        for name, scores in ((COMPREHENSIVENESS, line.comprehensiveness), (SUFFICIENCY, line.sufficiency)):
            if scores is not None and line.classification is None:
                yield f"{name} without classification; it is not known which class's fall to measure"
            yield from self._probabilities(name, scores, line)

    def _probabilities(self, name: str, scores: ClassScores | None, line: Instance) -> Iterator[str]:
        if scores is None:
            return
        strange, total = [label for label in scores if label not in self.labels], sum(scores.values())
        if strange:
            yield f"{name}: {strange[0]!r} is none of the classes: {_listed(self.labels)}"
        if line.classification is not None and line.classification not in scores:
            yield f"{name}: the predicted class {line.classification!r} has no probability; add it"
        if line.classification_scores is not None and scores.keys() != line.classification_scores.keys():
            yield f"{name}: names other classes than classification_scores; give all of them everywhere"
        if any(not 0 <= value <= 1 for value in scores.values()):
            yield f"{name}: {short(dict(scores))} are no probabilities; give numbers from 0 to 1"
        elif abs(total - 1) > TOLERANCE:
            yield f"{name}: the probabilities add up to {total:.6g}; normalise them to 1"

    def _thresholded(self, line: Instance) -> Iterator[str]:
        if line.thresholded is None:
            return
        given = [entry.threshold for entry in line.thresholded]
        if self.thresholds is None:
            self.thresholds = given
        if set(given) != set(self.thresholds):
            first = _listed(self.thresholds)
            yield f"thresholded_scores is at {_listed(given)}, on the first line at {first}; use the same"
        for threshold in sorted({threshold for threshold in given if given.count(threshold) > 1}):
            yield f"thresholded_scores has {given.count(threshold)} entries at {threshold:g}; keep one"
        needed = {
            "classification": line.classification,
            "classification_scores": line.classification_scores,
            COMPREHENSIVENESS: line.comprehensiveness,
            SUFFICIENCY: line.sufficiency,
        }
        missing = [name for name, value in needed.items() if value is None]
        if missing:
            yield f"thresholded_scores without {', '.join(missing)}; give these too"
        for entry in line.thresholded:
            at = f"at threshold {entry.threshold:g}:"
            if not 0 <= entry.threshold <= 1:
                yield f"{at} a threshold is a share of the tokens, from 0 to 1"
            sides = {COMPREHENSIVENESS: entry.comprehensiveness, SUFFICIENCY: entry.sufficiency}
            for name, scores in sides.items():
                if scores is None:
                    yield f"{at} {name} is missing; give both"
                yield from (f"{at} {text}" for text in self._probabilities(name, scores, line))

    def _flips(self, line: Instance) -> Iterator[str]:
        if line.tokens_to_flip is None:
            return
        documents = [self.gold.document(docid) for docid in {entry.docid for entry in line.rationales}]
        tokens = sum(len(document) for document in documents if document is not None)
        # A line without documents has no upper limit.
        if line.tokens_to_flip < 0 or (documents and line.tokens_to_flip > tokens):
            yield f"tokens_to_flip {line.tokens_to_flip} is not from 0 to the {tokens} tokens there are"


def span_faults(spans: Collection[TokenSpan], length: int) -> Iterator[str]:
    """The faults of the spans of a document with `length` tokens."""
    sound, seen = [], set[TokenSpan]()
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
            sound.append(span)
        seen.add(span)
    widest = TokenSpan(0, 0)  # of the spans so far, the one that ends last
    for span in sorted(sound):
        if span.start < widest.end:
            yield f"spans {widest.start} to {widest.end} and {span.start} to {span.end} overlap; merge them"
        widest = max(widest, span, key=lambda known: known.end)


def _listed(names: Collection[object]) -> str:
    """The first eight names in their order."""
    known = sorted(map(str, names))
    return ", ".join(known[:8]) + (" …" if len(known) > 8 else "")
