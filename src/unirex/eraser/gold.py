"""What a submission is held against: the annotations of one file of ERASER data, and the documents."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple, Protocol

from unirex.data.formats.eraser_files import Annotation, Document, Documents, read_annotations
from unirex.data.rows import rows
from unirex.data.split import ALIASES, split_name
from unirex.data.validate import exists
from unirex.errors import UserError

Key = tuple[str, str]  # an annotation and one of its documents


class Place(NamedTuple):
    """Tokens, or sentences, of a document, end-exclusive."""

    docid: str
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Truth:
    """The right class and the evidence of one annotation, whatever its groups."""

    id: str
    label: str
    docids: tuple[str, ...]
    tokens: tuple[Place, ...] = ()
    sentences: tuple[Place, ...] = ()  # as the file guesses them; -1 to -1 says that it does not
    place: str = ""  # file:line
    query: str = ""


class DocumentStore(Protocol):
    """Documents by id; one that is not there is a KeyError or a UserError."""

    def __getitem__(self, docid: str, /) -> Document: ...


@dataclass(frozen=True)
class Gold:
    """The annotations by id, in the order of their file, and the documents they are about."""

    annotations: Mapping[str, Truth]
    documents: DocumentStore

    @cached_property
    def labels(self) -> frozenset[str]:
        """The classes that occur."""
        return frozenset(one.label for one in self.annotations.values())

    def document(self, docid: str) -> Document | None:
        """A document, or None if there is none of this id."""
        try:
            return self.documents[docid]
        except (KeyError, UserError):
            return None

    def mean_share(self) -> float:
        """The mean share of their documents' tokens that annotations mark, in per cent; NaN if none does.

        ERASER's size of a rationale for comprehensiveness and sufficiency. Annotations without evidence do
        not count.
        """
        shares = [share for one in self.annotations.values() if (share := self._share(one)) is not None]
        return 100 * sum(shares) / len(shares) if shares else float("nan")

    def _share(self, truth: Truth) -> float | None:
        marked = {(docid, token) for docid, start, end in truth.tokens for token in range(start, end)}
        total = sum(len(self.documents[docid]) for docid in truth.docids)
        return len(marked) / total if marked and total else None


def read_gold(folder: str | Path, split: str = "test") -> Gold:
    """One split of a folder of ERASER data; the other files need not be there."""
    path = annotation_file(Path(folder), split)
    return Gold({one.id: one for one in _truths(path)}, Documents(Path(folder)))


def annotation_file(folder: Path, split: str) -> Path:
    """The file of a split, however it is called: `val.jsonl` and `dev.jsonl` are the same."""
    wanted = split_name(split)
    if not exists(folder) or not folder.is_dir():
        raise UserError(f"{folder}: no such folder; give one of ERASER's format")
    files = [path for path in sorted(folder.glob("*.jsonl")) if ALIASES.get(path.stem.casefold()) == wanted]
    if len(files) != 1:
        found = f"{files[0].name} and {files[1].name} are both {wanted}" if files else f"no {wanted}.jsonl"
        raise UserError(f"{folder}: {found}; keep one file for each split")
    return files[0]


def _truths(path: Path) -> Iterator[Truth]:
    # The reader of datasets has no use for sentences, so they come from the rows themselves.
    for one, (_, row) in zip(read_annotations(path, {}), rows(path), strict=True):
        yield Truth(one.id, one.label, one.docids, _tokens(one), _sentences(row), one.place, one.query)


def _tokens(one: Annotation) -> tuple[Place, ...]:
    places = (
        Place(evidence.docid, evidence.start, evidence.end) for group in one.groups for evidence in group
    )
    return tuple(dict.fromkeys(places))


def _sentences(row: Mapping[str, Any]) -> tuple[Place, ...]:
    found = [
        Place(evidence["docid"], evidence.get("start_sentence", -1), evidence.get("end_sentence", -1))
        for group in row["evidences"]
        for evidence in group
    ]
    return tuple(one for one in dict.fromkeys(found) if _is_sensible(one))


def _is_sensible(place: Place) -> bool:
    return type(place.start) is int and type(place.end) is int and 0 <= place.start < place.end
