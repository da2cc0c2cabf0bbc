"""The annotations of an ERASER file: a question about documents, its answer, and the evidence for it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from reprlib import repr as short
from sys import intern
from typing import Any, NamedTuple, TypeVar

from unirex.data.rows import rows
from unirex.data.validate import remark, row_at, stands_at
from unirex.errors import UserError

Field = TypeVar("Field", str, list, int)

ANNOTATION_KEYS = {"annotation_id", "query", "query_type", "classification", "docids", "evidences"}
EVIDENCE_KEYS = {"docid", "text", "start_token", "end_token", "start_sentence", "end_sentence"}
_KINDS: dict[type, str] = {str: "text", list: "a list", int: "a whole number"}


class Evidence(NamedTuple):
    """Tokens of a document, end-exclusive, and what the annotation says they are."""

    docid: str
    start: int
    end: int
    text: str | None


@dataclass(frozen=True, slots=True)
class Annotation:
    """One question about documents; each group of evidence would do to answer it.

    `docids` are the documents it names, in its own list, then in its evidence; one that names none is about
    the document of its own id.
    """

    place: str
    id: str
    query: str
    label: str
    docids: tuple[str, ...]
    groups: tuple[tuple[Evidence, ...], ...]


def read_annotations(path: Path, seen: dict[str, str]) -> Iterator[Annotation]:
    """The annotations of a file; `seen` holds the places of the ids met so far, in this file and others."""
    for place, row in rows(path):
        with row_at(place):
            one = _annotation(place, row)
            if one.id in seen:
                raise UserError(
                    f"duplicate annotation_id '{one.id}', first at {seen[one.id]}; make ids unique"
                )
            seen[one.id] = place
            stands_at(place, one.id)
            yield one


def _annotation(place: str, row: dict[str, Any]) -> Annotation:
    _remark_unknown(place, row, ANNOTATION_KEYS, "an annotation")
    name = _field(row, "annotation_id", str)
    groups = tuple(_group(place, group) for group in _field(row, "evidences", list))
    docids = dict.fromkeys([*_docids(row), *(evidence.docid for group in groups for evidence in group)])
    query, label = _field(row, "query", str, blank=True), _field(row, "classification", str)
    return Annotation(place, name, query, intern(label), tuple(docids) or (name,), groups)


def _docids(row: dict[str, Any]) -> list[str]:
    if row.get("docids") is None:
        return []
    docids = _field(row, "docids", list)
    if not all(isinstance(docid, str) for docid in docids):
        raise UserError(f"'docids' must be a list of texts, not {short(docids)}")
    return docids


def _group(place: str, group: object) -> tuple[Evidence, ...]:
    if not isinstance(group, list) or not all(isinstance(one, dict) for one in group):
        raise UserError(f"'evidences' must be a list of groups, lists of objects; one is {short(group)}")
    return tuple(_evidence(place, one) for one in group)


def _evidence(place: str, row: dict[str, Any]) -> Evidence:
    _remark_unknown(place, row, EVIDENCE_KEYS, "evidence")
    start, end = _field(row, "start_token", int), _field(row, "end_token", int)
    if not 0 <= start <= end:
        raise UserError(f"evidence from token {start} to {end}; start must be 0 or more and at most end")
    text = None if row.get("text") is None else _field(row, "text", str, blank=True)
    return Evidence(_field(row, "docid", str), start, end, text)


def _field(row: dict[str, Any], name: str, kind: type[Field], *, blank: bool = False) -> Field:
    if name not in row:
        raise UserError(f"'{name}' is missing; it must be {_KINDS[kind]}")
    value = row[name]
    if type(value) is not kind:
        raise UserError(f"'{name}' must be {_KINDS[kind]}, not {short(value)}")
    if value == "" and not blank:
        raise UserError(f"'{name}' is empty")
    return value


def _remark_unknown(place: str, row: dict[str, Any], known: set[str], whose: str) -> None:
    for key in row.keys() - known:
        remark(place, f"{short(key)} is no field of {whose} in ERASER's format; left unread")
