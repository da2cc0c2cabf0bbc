"""Datasets in the format of the ERASER benchmark (DeYoung et al. 2020).

`eraser_files` reads annotations and documents; here they become examples. `load` reads any folder in this
format, `read_eraser` the datasets of the benchmark, each with its own way to compose segments.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from reprlib import repr as short

from unirex.data.example import (
    SPLIT_NAMES,
    CharSpan,
    DatasetInfo,
    Example,
    Rationale,
    Splits,
    leading_metric,
)
from unirex.data.formats.eraser_files import Annotation, Document, Documents, Evidence, read_annotations
from unirex.data.rationales import merge
from unirex.data.split import SPLIT_ALIASES, carve_dev
from unirex.data.validate import at, check_splits, check_text, exists, label_order, remark, row_at
from unirex.errors import UserError, unknown


@dataclass(frozen=True, slots=True)
class Parts:
    """How an annotation becomes an example: segments made of documents, further segments, choices."""

    documents: tuple[tuple[str, ...], ...]  # document ids of each segment: nearly always one
    texts: tuple[str, ...] = ()
    choices: tuple[str, ...] | None = None


Compose = Callable[[Annotation], Parts]
LocateEvidence = Callable[[Document, int, int], CharSpan]  # document, start and end token -> characters


def load(folder: Path, *, seed: int = 0, query: bool = True) -> Splits:
    """Any folder in ERASER's format: segments are the documents and, unless `query` is false, the query.

    Only documents hold evidence. All examples have equally many segments: if annotations differ in their
    number of documents, those of each are joined to one segment. Without a dev file, dev is taken out of
    train by `seed`.
    """
    folder, seen = Path(folder), dict[str, str]()
    files, documents = split_files(folder), Documents(folder)
    annotations = {split: list(read_annotations(path, seen)) for split, path in files.items()}
    counts = {len(annotation.docids) for annotation in chain(*annotations.values())}
    queries = [annotation.query for annotation in chain(*annotations.values())] if query else []
    compose = _UniformComposer(counts.pop() if len(counts) == 1 else 1, any(map(str.strip, queries)))
    labels = Counter(annotation.label for annotation in annotations["train"])
    info = DatasetInfo(
        folder.resolve().name,
        label_order(labels),
        metric=leading_metric(labels),
        task="segments" if compose.documents + compose.query > 1 else "text",
        rationale_segments=tuple(range(compose.documents)) if compose.query else None,
        groups="evidence",
    )
    parts = {
        split: list(_examples(part, documents, info, compose, Document.span))
        for split, part in annotations.items()
    }
    with at(folder):
        check_splits(parts)
        return Splits(info, carve_dev(parts, seed=seed))


def read_eraser(
    folder: Path, info: DatasetInfo, compose: Compose, *, locate: LocateEvidence = Document.span
) -> Splits:
    """A dataset known by name; `compose` maps annotations to segments. All three splits must exist."""
    folder, seen = Path(folder), dict[str, str]()
    files, documents = split_files(folder), Documents(folder)
    for split in SPLIT_NAMES:
        if split not in files:
            raise UserError(f"{folder}: no {'val' if split == 'dev' else split}.jsonl; {info.name} needs one")
    parts = {
        split: list(_examples(read_annotations(path, seen), documents, info, compose, locate))
        for split, path in files.items()
    }
    return Splits(info, parts)


def only_document(annotation: Annotation) -> tuple[tuple[str, ...], ...]:
    """The document segments of an annotation that must be about a single document."""
    if len(annotation.docids) > 1:
        raise UserError(f"about {len(annotation.docids)} documents ({short(annotation.docids)}); give it one")
    return (annotation.docids,)


def is_eraser(folder: Path) -> bool:
    """Whether a folder is in ERASER's format, with annotations and documents."""
    try:
        path = split_files(folder)["train"]
        with path.open("rb") as file:
            first = next((line for line in file if line.strip()), b"")
    except (UserError, OSError):
        return False
    return b'"annotation_id"' in first and any(exists(folder / name) for name in ("docs", "docs.jsonl"))


def split_files(folder: Path) -> dict[str, Path]:
    """The annotation file of each split; train must exist."""
    files: dict[str, Path] = {}
    for path in sorted(folder.glob("*.jsonl")):
        split = SPLIT_ALIASES.get(path.stem.casefold())
        if split in files:
            raise UserError(f"{folder}: {files[split].name} and {path.name} are both {split}; keep one")
        if split is not None and path.is_file():
            files[split] = path
    if "train" not in files:
        raise UserError(
            f"{folder}: no train.jsonl; ERASER's format has train.jsonl, val.jsonl and test.jsonl"
        )
    return {split: files[split] for split in SPLIT_NAMES if split in files}


@dataclass(frozen=True, slots=True)
class _UniformComposer:
    """Composes the annotations of an arbitrary folder so that all examples have equally many segments."""

    documents: int  # segments made of documents
    query: bool

    def __call__(self, annotation: Annotation) -> Parts:
        separate = len(annotation.docids) == self.documents
        documents = tuple((docid,) for docid in annotation.docids) if separate else (annotation.docids,)
        if not self.query:
            return Parts(documents)
        query = ""
        if annotation.query.strip():
            query = check_text(annotation.query, column="query")
        else:
            remark(annotation.place, "'query' is empty, though others have one; read as an empty segment")
        return Parts(documents, (query,))


def _examples(
    annotations: Iterable[Annotation],
    documents: Documents,
    info: DatasetInfo,
    compose: Compose,
    locate: LocateEvidence,
) -> Iterator[Example]:
    for annotation in annotations:
        with row_at(annotation.place):
            if annotation.label not in info.labels:
                raise unknown("classification", annotation.label, info.labels)
            yield make_example(annotation, compose(annotation), documents, locate)


def make_example(
    annotation: Annotation, parts: Parts, documents: Documents, locate: LocateEvidence
) -> Example:
    """The example of an annotation, with segments and evidence from the documents."""
    segments: list[str] = []
    origins: dict[str, tuple[int, int]] = {}  # of each document: its segment, and where it begins in it
    for docids in parts.documents:
        texts: list[str] = []
        for docid in docids:
            origins[docid] = len(segments), sum(len(text) + 1 for text in texts)
            texts.append(documents.text(docid))
        segments.append("\n".join(texts))
    segments += parts.texts
    marker = _EvidenceMarker(annotation.place, documents, locate, origins, len(segments))
    groups = tuple(group for group in map(marker.mark, annotation.groups) if any(group))
    if not groups:
        remark(annotation.place, f"no evidence in '{annotation.id}'; read as an example without gold")
    gold = groups[0] if groups else None  # the same object: there may be a million in memory
    if len(groups) > 1:
        gold = tuple(merge(chain(*spans)) for spans in zip(*groups, strict=True))
    return Example(annotation.id, tuple(segments), annotation.label, gold, parts.choices, groups)


@dataclass(frozen=True, slots=True)
class _EvidenceMarker:
    """Converts the evidence of one annotation to spans of its segments."""

    place: str
    documents: Documents
    locate: LocateEvidence
    origins: Mapping[str, tuple[int, int]]
    segments: int

    def mark(self, group: Sequence[Evidence]) -> Rationale:
        """The spans of a group in each segment."""
        spans: list[list[CharSpan]] = [[] for _ in range(self.segments)]
        for docid, first, last, quoted in group:
            if docid not in self.origins:
                raise UserError(f"evidence in document {short(docid)}, which is not among its own")
            document = self.documents[docid]
            if last > len(document):
                raise UserError(
                    f"evidence to token {last}, but document {short(docid)} has {len(document)} tokens"
                )
            start, end = document.span(first, last)
            marked = document.text[start:end].replace("\n", " ")
            if not marked:  # the published test file of Movies has twenty of these
                remark(self.place, f"evidence at token {first} of {short(docid)} is empty; it marks nothing")
                continue
            if quoted not in (None, marked):
                remark(
                    self.place, f"evidence text {short(quoted)} is {short(marked)} at its tokens, which count"
                )
            start, end = self.locate(document, first, last)
            if start < end:
                segment, origin = self.origins[docid]
                spans[segment].append((origin + start, origin + end))
        return tuple(merge(marked) for marked in spans)
