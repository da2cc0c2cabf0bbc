"""Who did how much, and how far they agree."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from unirex.annotate.answers import agreement, read_answers
from unirex.annotate.project import Annotator, Project
from unirex.metrics.agreement import Agreement, LabelAgreement, RationaleAgreement


@dataclass(frozen=True, slots=True)
class Status:
    """How far an annotation is."""

    texts: int
    begun: int  # annotated by at least one person
    complete: int  # annotated by as many as it needs
    per_text: int
    people: tuple[Annotator, ...]
    starts: dict[str, int]  # annotations by what they started from
    kept: int  # of those that started from marks: how many were saved as they were shown
    agreement: Agreement | None  # None if no text has the answers of two people

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON types; measures that are not defined become null."""
        plain = asdict(self)
        plain["people"] = [{"name": one.name, **asdict(one)} for one in self.people]
        if self.agreement is not None:
            both = {"words": self.agreement.words, "labels": self.agreement.labels}
            plain["agreement"] = {name: _plain_agreement(found) for name, found in both.items()}
        return plain


def status_of(project: Project) -> Status:
    """How far an annotation is now."""
    answered = list(read_answers(project))
    needed = project.definition.per_text
    ((texts,),) = project.store.rows("SELECT COUNT(*) FROM texts")
    starts: dict[str, int] = {}
    kept = 0
    for text in answered:
        for answer, how in zip(text.answers, text.provenance, strict=True):
            starts[how.start] = starts.get(how.start, 0) + 1
            shown = None if how.shown is None else how.shown["marks"]
            kept += shown is not None and shown == _plain(answer.marking)
    return Status(
        texts=texts,
        begun=len(answered),
        complete=sum(len(text.answers) >= needed for text in answered),
        per_text=needed,
        people=tuple(project.annotators()),
        starts=starts,
        kept=kept,
        agreement=agreement(answered, project.definition.rationale_segments),
    )


def _plain(marks: Any) -> list[list[list[int]]]:
    return [[list(span) for span in spans] for spans in marks]


def _plain_agreement(found: RationaleAgreement | LabelAgreement | None) -> dict[str, Any] | None:
    """Plain JSON types, which have no NaN."""
    if found is None:
        return None
    return {name: None if value != value else value for name, value in asdict(found).items()}
