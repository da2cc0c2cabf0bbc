"""The files of an ERASER folder: annotations with their evidence, and tokenised documents."""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from itertools import accumulate
from pathlib import Path
from reprlib import repr as short
from sys import intern
from typing import Any, NamedTuple, TypeVar

from unirex.data.example import CharSpan
from unirex.data.rows import read_rows
from unirex.data.validate import check_text, exists, note_place, remark, row_at
from unirex.errors import UserError

Field = TypeVar("Field", str, list, int)

ANNOTATION_KEYS = {"annotation_id", "query", "query_type", "classification", "docids", "evidences"}
EVIDENCE_KEYS = {"docid", "text", "start_token", "end_token", "start_sentence", "end_sentence"}
CACHED_DOCUMENTS = 1024  # annotations of one document are mostly consecutive
_KINDS: dict[type, str] = {str: "text", list: "a list", int: "a whole number"}


class Evidence(NamedTuple):
    """A range of tokens of a document, end-exclusive, and their text according to the annotation."""

    docid: str
    start: int
    end: int
    text: str | None


@dataclass(frozen=True, slots=True)
class Annotation:
    """One question about documents; each group of evidence is enough to answer it.

    `docids` are the documents named in its own list, then in its evidence; an annotation that names none is
    about the document with its own id.
    """

    place: str
    id: str
    query: str
    label: str
    docids: tuple[str, ...]
    groups: tuple[tuple[Evidence, ...], ...]


def read_annotations(path: Path, seen: dict[str, str]) -> Iterator[Annotation]:
    """The annotations of a file; `seen` maps the ids read so far, from all files, to their places."""
    for place, row in read_rows(path):
        with row_at(place):
            _remark_unknown(place, row, ANNOTATION_KEYS, "an annotation")
            name = _field(row, "annotation_id", str)
            groups = tuple(_group(place, group) for group in _field(row, "evidences", list))
            docids: list[str] = [] if row.get("docids") is None else _field(row, "docids", list)
            if not all(isinstance(docid, str) for docid in docids):
                raise UserError(f"'docids' must be a list of texts, not {short(docids)}")
            docids = [*docids, *(evidence.docid for group in groups for evidence in group)]
            about = tuple(dict.fromkeys(docids)) or (name,)
            query, label = _field(row, "query", str, blank=True), _field(row, "classification", str)
            if name in seen:
                raise UserError(f"duplicate annotation_id '{name}', first at {seen[name]}; make ids unique")
            seen[name] = place
            note_place(place, name)
            yield Annotation(place, name, query, intern(label), about, groups)


def _group(place: str, group: object) -> tuple[Evidence, ...]:
    if not isinstance(group, list) or not all(isinstance(row, dict) for row in group):
        raise UserError(f"'evidences' must be a list of groups, lists of objects; one is {short(group)}")
    evidences: list[Evidence] = []
    for row in group:
        _remark_unknown(place, row, EVIDENCE_KEYS, "evidence")
        start, end = _field(row, "start_token", int), _field(row, "end_token", int)
        if not 0 <= start <= end:
            raise UserError(f"evidence from token {start} to {end}; start must be 0 or more and at most end")
        text = None if row.get("text") is None else _field(row, "text", str, blank=True)
        evidences.append(Evidence(_field(row, "docid", str), start, end, text))
    return tuple(evidences)


def _field(row: dict[str, Any], name: str, kind: type[Field], *, blank: bool = False) -> Field:
    if name not in row:
        raise UserError(f"'{name}' is missing; it must be {_KINDS[kind]}")
    value = row[name]
    if type(value) is not kind:
        raise UserError(f"'{name}' must be {_KINDS[kind]}, not {short(value)}")
    if value == "" and not blank:
        raise UserError(f"'{name}' is empty")
    return value


def _remark_unknown(place: str, row: dict[str, Any], known: set[str], owner: str) -> None:
    for key in row.keys() - known:
        remark(place, f"{short(key)} is no field of {owner} in ERASER's format; left unread")


@dataclass(frozen=True, slots=True)
class Document:
    """A text with one sentence per line and one space between tokens; tokens are numbered throughout.

    >>> document = Document.of("so good\\nsee it")
    >>> len(document), document.span(1, 3)
    (4, (3, 11))
    """

    text: str
    starts: array[int]  # the offset of each token, and of the one after the last

    @classmethod
    def of(cls, text: str) -> Document:
        """The document with the offsets of its tokens."""
        tokens = text.replace("\n", " ").split(" ")
        return cls(text, array("L", accumulate((len(token) + 1 for token in tokens), initial=0)))

    def __len__(self) -> int:
        return len(self.starts) - 1

    def span(self, start: int, end: int) -> CharSpan:
        """The characters of the tokens from `start` to `end`, end-exclusive."""
        return self.starts[start], max(self.starts[start], self.starts[end] - 1)


class Documents:
    """The documents of a folder by id; each text is read once and shared by all its annotations."""

    def __init__(self, folder: Path) -> None:
        each, together = folder / "docs", folder / "docs.jsonl"
        if exists(each) and exists(together):
            raise UserError(
                f"{folder}: has both docs and docs.jsonl; keep one, as they count tokens differently"
            )
        if not exists(each) and not exists(together):
            raise UserError(f"{folder}: neither docs (a folder with a file per document) nor docs.jsonl")
        self.place = each if exists(each) else together
        self._texts: dict[str, str] = {} if exists(each) else _read_all(together)
        self._tokenised: Callable[[str], Document] = lru_cache(CACHED_DOCUMENTS)(
            lambda docid: Document.of(self.text(docid))
        )

    def __getitem__(self, docid: str) -> Document:
        return self._tokenised(docid)

    def text(self, docid: str) -> str:
        """The text of a document, always the same string."""
        if docid not in self._texts:
            path = self.place / docid
            # Never outside of the folder: an id with a slash is not a file of it, even if the path exists.
            if self.place.suffix or Path(docid).name != docid or not (exists(path) and path.is_file()):
                raise UserError(
                    f"document {short(docid)} is not in {self.place}; add it or correct the docid"
                )
            self._texts[docid] = sentences_of_file(_read_utf8(path))
        text = self._texts[docid]
        if not text or text.isspace():
            raise UserError(f"document {short(docid)} in {self.place} is empty; give it some text")
        return text


def sentences_of_file(text: str) -> str:
    """The sentences of a file in `docs`: blank lines and repeated spaces are dropped.

    >>> sentences_of_file(" so  good \\n\\nsee it\\n")
    'so good\\nsee it'
    """
    lines = (" ".join(filter(None, line.strip().split(" "))) for line in text.split("\n"))
    return "\n".join(filter(None, lines))


def sentences_of_record(text: str) -> str:
    """The sentences of a record in `docs.jsonl`: a blank line or a repeated space holds an empty token.

    >>> sentences_of_record(" so  good \\n\\nsee it\\n")
    'so  good\\n\\nsee it\\n'
    """
    return "\n".join(line.strip() for line in text.split("\n"))


def _read_all(path: Path) -> dict[str, str]:
    texts: dict[str, str] = {}
    for place, row in read_rows(path):
        with row_at(place):
            docid = row.get("docid")
            if not isinstance(docid, str) or not docid:
                raise UserError(f"'docid' must be the name of the document, not {short(docid)}")
            if docid in texts:
                raise UserError(f"document '{docid}' is there twice; keep one")
            document = row.get("document")
            # An empty document is a mistake only if an annotation needs it.
            blank = document == ""
            texts[docid] = sentences_of_record(check_text(document, column="document", blank=blank))
    return texts


def _read_utf8(path: Path) -> str:
    try:
        return path.read_text("utf-8").removeprefix("\ufeff")
    except UnicodeDecodeError as error:
        raise UserError(f"{path}: not UTF-8 at byte {error.start}; save the file as UTF-8") from None
    except OSError as error:
        raise UserError(f"{path}: cannot be read: {error.strerror or error}") from None
