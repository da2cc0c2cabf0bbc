"""Whether a submission to ERASER is sound: every fault in it, or only those the official validator sees."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from unirex.eraser.faults import Fault, Line, submitted
from unirex.eraser.gold import Gold
from unirex.eraser.instances import COMPREHENSIVENESS, SUFFICIENCY, Instance
from unirex.eraser.mirror import Mirror
from unirex.eraser.parsing import Parser
from unirex.eraser.strict import Strict

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
