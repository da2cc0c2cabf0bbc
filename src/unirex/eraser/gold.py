"""The gold data behind a submission: the annotations of one ERASER split, and its documents."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

from unirex.data.formats.eraser_files import Document, Documents, read_annotations
from unirex.data.rows import read_rows
from unirex.data.split import SPLIT_ALIASES, split_name
from unirex.data.validate import exists
from unirex.errors import UserError


class DocumentSpan(NamedTuple):
    """Tokens, or sentences, of a document, end-exclusive."""

    docid: str
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Truth:
    """The gold class and the evidence of one annotation, all groups of evidence together."""

    id: str
    label: str
    docids: tuple[str, ...]
    tokens: tuple[DocumentSpan, ...] = ()
    sentences: tuple[DocumentSpan, ...] = ()  # those the file has; it writes -1 to -1 where it has none
    place: str = ""  # file:line
    query: str = ""


@dataclass(frozen=True)
class GoldData:
    """The annotations by id, in the order of their file, and the documents they are about."""

    annotations: Mapping[str, Truth]
    documents: Documents

    @cached_property
    def labels(self) -> frozenset[str]:
        """The classes that occur."""
        return frozenset(truth.label for truth in self.annotations.values())

    def document(self, docid: str) -> Document | None:
        """The document of this id, or None if there is none."""
        try:
            return self.documents[docid]
        except (KeyError, UserError):
            return None

    def mean_share(self) -> float:
        """Mean share of tokens that annotations mark in their documents, in per cent; NaN if none marks any.

        ERASER's size of a rationale for comprehensiveness and sufficiency. Annotations without evidence do
        not count.
        """
        shares = []
        for truth in self.annotations.values():
            marked = {(docid, token) for docid, start, end in truth.tokens for token in range(start, end)}
            total = sum(len(self.documents[docid]) for docid in truth.docids)
            if marked and total:
                shares.append(len(marked) / total)
        return mean_percent(shares)


def mean_percent(shares: Sequence[float]) -> float:
    """The mean of shares in per cent; NaN if there are none."""
    return 100 * sum(shares) / len(shares) if shares else float("nan")


def sentence_count(document: Document) -> int:
    """Number of sentences of a document: one per line."""
    return document.text.count("\n") + 1


def read_gold(folder: str | Path, split: str = "test") -> GoldData:
    """Read one split of a folder of ERASER data; the files of other splits need not exist."""
    path, truths = annotation_file(Path(folder), split), {}
    # The dataset reader drops sentence numbers, so they are taken from the rows themselves.
    for annotation, (_, row) in zip(read_annotations(path, {}), read_rows(path), strict=True):
        evidence = (item for group in annotation.groups for item in group)
        tokens = dict.fromkeys(DocumentSpan(item.docid, item.start, item.end) for item in evidence)
        truths[annotation.id] = Truth(
            annotation.id,
            annotation.label,
            annotation.docids,
            tokens=tuple(tokens),
            sentences=_sentences(row),
            place=annotation.place,
            query=annotation.query,
        )
    return GoldData(truths, Documents(Path(folder)))


def annotation_file(folder: Path, split: str) -> Path:
    """The annotation file of a split under any of its names: `val.jsonl` and `dev.jsonl` are the same."""
    name = split_name(split)
    if not exists(folder) or not folder.is_dir():
        raise UserError(f"{folder}: no such folder; give one of ERASER's format")
    files = [
        path for path in sorted(folder.glob("*.jsonl")) if SPLIT_ALIASES.get(path.stem.casefold()) == name
    ]
    if len(files) != 1:
        problem = f"{files[0].name} and {files[1].name} are both {name}" if files else f"no {name}.jsonl"
        raise UserError(f"{folder}: {problem}; keep one file for each split")
    return files[0]


def _sentences(row: Mapping[str, Any]) -> tuple[DocumentSpan, ...]:
    spans: dict[DocumentSpan, None] = {}
    for evidence in (item for group in row["evidences"] for item in group):
        start, end = evidence.get("start_sentence", -1), evidence.get("end_sentence", -1)
        if type(start) is int and type(end) is int and 0 <= start < end:
            spans[DocumentSpan(evidence["docid"], start, end)] = None
    return tuple(spans)
