"""What the official validator accepts, for whoever wants to know whether a file will get through.

It runs on plain dictionaries and asks for less than ERASER's format says: `strict` tells what it lets pass.
Some mistakes make it stop with a Python exception instead of a message; a file that does that is not accepted
either, and is told of here as a fault like the others. Values are therefore used here just as they come.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import combinations
from reprlib import repr as short
from typing import Any

from unirex.eraser.gold import Gold
from unirex.eraser.submission import COMPREHENSIVENESS, SUFFICIENCY
from unirex.eraser.validate import Fault, Line
from unirex.errors import UserError

STOPS = (KeyError, TypeError, AttributeError, IndexError, ValueError)  # what a wrong value makes it raise
SOFT = {"soft tokens": "soft_rationale_predictions", "soft sentences": "soft_sentence_predictions"}
SCORES = ("classification_scores", COMPREHENSIVENESS, SUFFICIENCY)
FOUR = ("classification", *SCORES)
EVERYWHERE = ("classification", COMPREHENSIVENESS, SUFFICIENCY)

Told = tuple[str, str | None]  # what is wrong, and in which document


class Mirror:
    """The checks of the official validator over the lines as they come."""

    def __init__(self, gold: Gold, place: str) -> None:
        self.gold, self.place = gold, place
        self.thresholds: Any = None  # of the first line
        self.lines = self.counted = 0  # all, and those that it gets through
        self.seen: dict[str, tuple[int, str]] = {}  # by id: number and place of the line
        self.counts = dict.fromkeys((*EVERYWHERE, *SOFT, "thresholded_scores"), 0)

    def faults(self, lines: Iterable[Line]) -> Iterator[Fault]:
        """Every reason for which a file with these lines is refused."""
        for line in lines:
            self.lines += 1
            if line.fault:
                yield Fault(line.place, None, line.fault)
                continue
            try:
                for text, docid in self.instance(line):
                    yield Fault(line.place, line.id, text, docid)
                self.counted += 1
            except STOPS as error:
                yield Fault(line.place, line.id, f"the official validator stops here with {_said(error)}")
        for name, count in self.counts.items():
            if count not in (0, self.counted):
                text = f"{name} on {count} of {self.counted} lines; give it on all or on none"
                yield Fault(self.place, None, text)
        if not self.lines:
            yield Fault(self.place, None, "there are no lines; the official validator needs one")

    def instance(self, line: Line) -> Iterator[Told]:
        """What it says of one line."""
        row = line.value
        if self.lines == 1 and "thresholded_scores" in row:
            self.thresholds = {one["threshold"] for one in row["thresholded_scores"]}
        number, before = self.seen.setdefault(row["annotation_id"], (self.lines, line.place))
        if number != self.lines:
            yield f"the annotation is there twice, first at {before}; keep one", None
        for entry in row["rationales"]:
            for text in self.document(entry):
                yield text, entry["docid"]
        for text in (*classes(row), *self.sizes(row), *self.present(row)):
            yield text, None

    def document(self, entry: Any) -> Iterator[str]:
        """What it says of the spans and scores of one document."""
        length = len(self._document(entry["docid"]))
        spans = entry.get("hard_rationale_predictions", [])
        for one, other in combinations(spans, 2):
            if one != other and _overlap(one, other):
                yield f"the spans {short(one)} and {short(other)} overlap"
        for span in spans:
            for name in ("start_token", "end_token"):
                if span[name] > length:
                    yield f"{name} {span[name]} is beyond the document's {length} tokens"
        scores = entry.get("soft_rationale_predictions", [])
        if len(scores) > 0 and len(scores) != length:
            yield f"{len(scores)} soft_rationale_predictions for {length} tokens"

    def sizes(self, row: Any) -> Iterator[str]:
        """What it says of `thresholded_scores`."""
        if "thresholded_scores" not in row:
            return
        entries = row["thresholded_scores"]
        if {one["threshold"] for one in entries} != self.thresholds:
            yield "thresholded_scores has other thresholds than the first line"
        if any(name not in row for name in FOUR):
            yield f"thresholded_scores needs {', '.join(FOUR)} beside it"
        for name in (SUFFICIENCY, COMPREHENSIVENESS):
            if not all(name in one for one in entries):
                yield f"thresholded_scores needs {name} at every threshold"

    def present(self, row: Any) -> Iterator[str]:
        """Counts what the line has, for all lines must have the same; so must the documents of a line."""
        for name in EVERYWHERE:
            self.counts[name] += row.get(name) is not None
        self.counts["thresholded_scores"] += "thresholded_scores" in row
        for name, field in SOFT.items():
            having = sum(entry.get(field) is not None for entry in row["rationales"])
            self.counts[name] += having > 0
            if 0 < having < len(row["rationales"]):
                yield f"{field} for some documents but not all (the official validator stops with a KeyError)"

    def _document(self, docid: Any) -> Any:
        if not isinstance(docid, str):
            raise KeyError(docid)
        try:
            return self.gold.documents[docid]
        except (KeyError, UserError):
            raise KeyError(f"{docid}: no such document") from None


def classes(row: Any) -> Iterator[str]:
    """What it says of the class and the probabilities of a line."""
    if not isinstance(row.get("classification", ""), str):
        yield "classification is not text"
    for name in SCORES:
        if not isinstance(row.get(name, {}), dict):
            yield f"{name} is not an object"
    if ("classification" in row) != ("classification_scores" in row):
        yield "classification and classification_scores come together or not at all"
    if COMPREHENSIVENESS in row and "classification" not in row:
        yield f"{COMPREHENSIVENESS} without classification"
    if SUFFICIENCY in row and "classification_scores" not in row:
        yield f"{SUFFICIENCY} without classification_scores"


def _overlap(one: Any, other: Any) -> bool:
    first = range(one["start_token"], one["end_token"])  # refuses what is no whole number
    second = range(other["start_token"], other["end_token"])
    return max(first.start, second.start) < min(first.stop, second.stop)


def _said(error: Exception) -> str:
    return f"{type(error).__name__}: {short(str(error))}"
