"""The data behind a submission as files of ERASER's format, for examples that were read from elsewhere."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any

from unirex.data.cose import BETWEEN
from unirex.eraser.words import Words, own_words
from unirex.errors import UserError
from unirex.files import replace_file
from unirex.metrics.plausibility import runs
from unirex.records import Record


@dataclass
class DataFiles:
    """`docs.jsonl` and the annotations, growing with the submission; all appear when they are complete."""

    folder: Path
    split: str = "test"
    _open: list[IO[str]] = field(default_factory=list)

    @property
    def files(self) -> tuple[Path, Path]:
        """The documents, the annotations."""
        return self.folder / "docs.jsonl", self.folder / f"{self.split}.jsonl"

    def writing(self, write: Callable[[], int]) -> int:
        """Calls `write`, which adds records on its way."""
        count = 0

        def fill(*drafts: Path) -> None:
            nonlocal count
            with ExitStack() as stack:
                for draft in drafts:
                    self._open.append(stack.enter_context(draft.open("w", encoding="utf-8", newline="\n")))
                count = write()

        documents, annotations = self.files
        replace_file(documents, lambda one: replace_file(annotations, lambda other: fill(one, other)))
        return count

    def add(self, record: Record) -> None:
        """The documents and the annotation of one more record."""
        found = own_words(record.id, record.segments)
        for one in found:
            self._write(0, {"docid": one.docid, "document": document_text(one, record.segments[one.segment])})
        self._write(1, annotation(record, found))

    def _write(self, number: int, row: dict[str, Any]) -> None:
        self._open[number].write(json.dumps(row, ensure_ascii=False) + "\n")


def document_text(one: Words, text: str) -> str:
    """The words with one space between, the lines of the text as sentences; blank lines are dropped.

    >>> document_text(own_words("a", ["so  good \\n\\n see it"])[0], "so  good \\n\\n see it")
    'so good\\nsee it'
    """
    return "".join(before + text[start:end] for before, start, end in _pieces(one, text))


def _pieces(one: Words, text: str) -> Iterator[tuple[str, int, int]]:
    last = None
    for start, end in zip(one.starts.tolist(), one.ends.tolist(), strict=True):
        before = "" if last is None else "\n" if "\n" in text[last:start] else " "
        yield before, start, end
        last = end


def annotation(record: Record, documents: Sequence[Words]) -> dict[str, Any]:
    """The annotation of a record: its right label, and the words with a marked token as one group."""
    if record.label is None:
        raise UserError(f"record '{record.id}' has no label, which ERASER's annotations need.")
    evidence = [row for one in documents for row in _evidence(record, one)]
    return {
        "annotation_id": record.id,
        "query": BETWEEN.join(record.choices or ()),
        "evidences": [evidence] if evidence else [],
        "classification": str(record.label),
        "query_type": None,
        "docids": [one.docid for one in documents],
    }


def _evidence(record: Record, one: Words) -> Iterator[dict[str, Any]]:
    text, scored = record.segments[one.segment], record.sequences[0] if record.sequences else None
    if scored is None or scored.gold is None:
        return
    places = [place for place, marked in zip(scored.tokens, scored.gold, strict=True) if marked]
    marks = one.marked((start, end) for segment, start, end in places if segment == one.segment)
    sentence = one.sentences(text)
    for start, end in runs(marks).tolist():
        yield {
            "text": " ".join(text[one.starts[word] : one.ends[word]] for word in range(start, end)),
            "docid": one.docid,
            "start_token": start,
            "end_token": end,
            "start_sentence": int(sentence[start]),
            "end_sentence": int(sentence[end - 1]) + 1,
        }
