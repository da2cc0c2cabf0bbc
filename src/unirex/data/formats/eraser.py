"""Any dataset in the format of the ERASER benchmark (DeYoung et al. 2020)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from reprlib import repr as short

from unirex.data.example import SPLIT_NAMES, CharSpan, DatasetInfo, Example, Rationale, Splits, TaskKind
from unirex.data.formats.eraser_files import Annotation, Document, Documents, Evidence, read_annotations
from unirex.data.rationales import merge
from unirex.data.split import ALIASES, carve_dev
from unirex.data.validate import at, check_splits, check_text, exists, label_order, remark, row_at
from unirex.errors import UserError, unknown


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


Compose = Callable[[Annotation], Parts]


def load(folder: Path, *, seed: int = 0, query: bool = True) -> Splits:
    """Examples of documents and, unless `query` is false, the query after them; only documents hold evidence.

    All have as many segments: where annotations differ in how many documents they are about, the documents of
    each become one segment. Without a dev file, dev is taken out of train by `seed`.
    """
    folder, seen = Path(folder), dict[str, str]()
    files, documents = split_files(folder), Documents(folder)
    found = {split: list(read_annotations(path, seen)) for split, path in files.items()}
    uniform = _Uniform.over(list(chain(*found.values())), query)
    info = uniform.info(folder.resolve().name, [one.label for one in found["train"]])
    parts = {split: list(_examples(some, documents, info, uniform)) for split, some in found.items()}
    with at(folder):
        check_splits(parts)
        return Splits(info, carve_dev(parts, seed=seed))


def read_eraser(
    folder: Path, info: DatasetInfo, compose: Compose, *, locate: Locate = Document.span
) -> Splits:
    """A set known by name: `compose` says what its annotations become, and all three splits must be there."""
    folder, seen = Path(folder), dict[str, str]()
    files, documents = split_files(folder), Documents(folder)
    for split in SPLIT_NAMES:
        if split not in files:
            raise UserError(f"{folder}: no {'val' if split == 'dev' else split}.jsonl; {info.name} needs one")
    return Splits(
        info,
        {
            split: list(_examples(read_annotations(path, seen), documents, info, compose, locate))
            for split, path in files.items()
        },
    )


def only_document(annotation: Annotation) -> tuple[tuple[str, ...], ...]:
    """The document of an annotation that is about one, as the segments of `Parts`."""
    if len(annotation.docids) > 1:
        raise UserError(f"about {len(annotation.docids)} documents ({short(annotation.docids)}); give it one")
    return (annotation.docids,)


def is_eraser(folder: Path) -> bool:
    """Whether a folder is laid out as ERASER's are, documents and all."""
    try:
        path = split_files(folder)["train"]
        with path.open("rb") as file:
            first = next((line for line in file if line.strip()), b"")
    except (UserError, OSError):
        return False
    return b'"annotation_id"' in first and any(exists(folder / name) for name in ("docs", "docs.jsonl"))


def split_files(folder: Path) -> dict[str, Path]:
    """The annotation file of each split; train must be there."""
    files: dict[str, Path] = {}
    for path in sorted(folder.glob("*.jsonl")):
        split = ALIASES.get(path.stem.casefold())
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
class _Uniform:
    """Composes the annotations of a folder nobody knows, so that all have as many segments."""

    documents: int  # segments made of documents
    query: bool

    @classmethod
    def over(cls, found: Sequence[Annotation], query: bool) -> _Uniform:
        counts = {len(one.docids) for one in found}
        return cls(counts.pop() if len(counts) == 1 else 1, query and any(one.query.strip() for one in found))

    def __call__(self, annotation: Annotation) -> Parts:
        alone = len(annotation.docids) == self.documents
        documents = tuple((docid,) for docid in annotation.docids) if alone else (annotation.docids,)
        return Parts(documents, (self._asked(annotation),) if self.query else ())

    def _asked(self, annotation: Annotation) -> str:
        if annotation.query.strip():
            return check_text(annotation.query, column="query")
        remark(annotation.place, "'query' is empty, though others have one; read as an empty segment")
        return ""

    def info(self, name: str, labels: Iterable[str]) -> DatasetInfo:
        """What is known of the dataset, given the labels of its training examples."""
        task: TaskKind = "segments" if self.documents + self.query > 1 else "text"
        marked = tuple(range(self.documents)) if self.query else None
        return DatasetInfo(name, label_order(labels), task=task, rationale_segments=marked)


def _examples(
    found: Iterable[Annotation],
    documents: Documents,
    info: DatasetInfo,
    compose: Compose,
    locate: Locate = Document.span,
) -> Iterator[Example]:
    for annotation in found:
        with row_at(annotation.place):
            if annotation.label not in info.labels:
                raise unknown("classification", annotation.label, info.labels)
            yield make_example(annotation, compose(annotation), documents, locate)
