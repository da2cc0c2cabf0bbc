"""What an annotation of an ERASER file becomes: an example with its evidence as spans of characters."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from reprlib import repr as short

from unirex.data.eraser.annotations import Annotation, Evidence
from unirex.data.eraser.documents import Document, Documents
from unirex.data.example import CharSpan, Example, Rationale
from unirex.data.rationales import merge
from unirex.data.validate import remark
from unirex.errors import UserError


@dataclass(frozen=True, slots=True)
class Parts:
    """What an annotation becomes: the segments made of documents, the segments after them, the choices."""

    documents: tuple[tuple[str, ...], ...]  # the ids of the documents in each segment: nearly always one
    texts: tuple[str, ...] = ()
    choices: tuple[str, ...] | None = None


Locate = Callable[[Document, int, int], CharSpan]  # the characters that evidence from token to token marks


def make_example(annotation: Annotation, parts: Parts, documents: Documents, locate: Locate) -> Example:
    """The example of an annotation; its segments and the evidence in them come from the documents."""
    texts = [[documents.text(docid) for docid in docids] for docids in parts.documents]
    segments = (*("\n".join(some) for some in texts), *parts.texts)
    marker = _Marker(annotation.place, documents, locate, _places(parts.documents, texts), len(segments))
    groups = tuple(filter(any, map(marker.mark, annotation.groups)))
    if not groups:
        remark(annotation.place, f"no evidence in '{annotation.id}'; read as an example without gold")
    return Example(annotation.id, segments, annotation.label, _union(groups), parts.choices, groups)


def _places(
    documents: Sequence[Sequence[str]], texts: Sequence[Sequence[str]]
) -> Mapping[str, tuple[int, int]]:
    """The segment each document is in, and the character it begins at there."""
    places: dict[str, tuple[int, int]] = {}
    for segment, (docids, some) in enumerate(zip(documents, texts, strict=True)):
        before = 0
        for docid, text in zip(docids, some, strict=True):
            places[docid] = segment, before
            before += len(text) + 1
    return places


def _union(groups: tuple[Rationale, ...]) -> Rationale | None:
    if len(groups) < 2:
        return groups[0] if groups else None  # the very object, as a million may be in memory
    return tuple(merge(chain(*spans)) for spans in zip(*groups, strict=True))


@dataclass(frozen=True, slots=True)
class _Marker:
    """Turns the evidence of one annotation into spans of its segments."""

    place: str
    documents: Documents
    locate: Locate
    places: Mapping[str, tuple[int, int]]
    segments: int

    def mark(self, group: Sequence[Evidence]) -> Rationale:
        """The spans of a group in each segment."""
        spans: list[list[CharSpan]] = [[] for _ in range(self.segments)]
        for evidence in group:
            if evidence.docid not in self.places:
                raise UserError(f"evidence in document {short(evidence.docid)}, which is not among its own")
            segment, before = self.places[evidence.docid]
            start, end = self._span(evidence)
            if start < end:
                spans[segment].append((before + start, before + end))
        return tuple(merge(some) for some in spans)

    def _span(self, evidence: Evidence) -> CharSpan:
        docid, first, last, quoted = evidence
        document = self.documents[docid]
        if last > len(document):
            raise UserError(
                f"evidence to token {last}, but document {short(docid)} has {len(document)} tokens"
            )
        start, end = document.span(first, last)
        stands = document.text[start:end].replace("\n", " ")
        if not stands:  # ERASER's own test file of Movies has twenty such
            remark(self.place, f"evidence at token {first} of {short(docid)} is empty; it marks nothing")
            return start, start
        if quoted not in (None, stands):
            remark(self.place, f"evidence text {short(quoted)} is {short(stands)} at its tokens, which count")
        return self.locate(document, first, last)
