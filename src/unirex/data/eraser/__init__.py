"""Any dataset in the format of the ERASER benchmark (DeYoung et al. 2020), and what its named sets share.

A folder holds `train.jsonl`, `val.jsonl` (or `dev.jsonl`) and `test.jsonl`, one annotation a line, and the
documents: either `docs/`, a file for each, or `docs.jsonl`. A document is sentences, one a line, of tokens
with spaces between. Evidence names tokens of a document, counted from its beginning; where the `text` it
quotes differs from them, the tokens count.

The rationale of an example is the union of its groups of evidence; each group stays in `Example.groups`.
Without evidence the rationale is None, as there is no gold. `unirex data check` tells of both.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from reprlib import repr as short

from unirex.data.eraser.annotations import Annotation, read_annotations
from unirex.data.eraser.documents import Document, Documents
from unirex.data.eraser.examples import Locate, Parts, make_example
from unirex.data.example import SPLIT_NAMES, DatasetInfo, Example, Splits, TaskKind
from unirex.data.split import ALIASES, carve_dev
from unirex.data.validate import at, check_splits, check_text, exists, label_order, remark, row_at
from unirex.errors import UserError, unknown

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
