"""From records to a submission, and to the ERASER data files behind it."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from unirex.data.datasets.cose import BETWEEN
from unirex.data.split import split_name
from unirex.eraser.gold import Gold
from unirex.eraser.submission import Classes, DocumentRationale, Instance, Span, Thresholded, write_submission
from unirex.eraser.words import JOIN, EraserWords, Locate, Word, Words, nearest_budget, own_words, word_scores
from unirex.errors import UserError, unknown
from unirex.evaluation.records import Floats, Record, Scored, Views
from unirex.files import replace_file
from unirex.metrics.plausibility import runs


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


@dataclass(frozen=True, slots=True)
class Exported:
    """What was written, and what could not be."""

    files: tuple[Path, ...]
    instances: int
    budget: float | None  # at which comprehensiveness and sufficiency are told, beside all budgets
    truncated: int  # texts with words the system did not read
    left_out: int  # scored tokens that stand in no document, as those of a query


def export(
    records: Iterable[Record],
    path: str | Path,
    *,
    gold: Gold | None = None,
    word: Word = "max",
    hard: float | None = None,
    budget: float | None = None,
    removal: str | None = None,
    within_sentences: bool = False,
    with_data: bool = False,
    split: str = "test",
) -> Exported:
    """Write records as a submission to ERASER.

    Documents, their ids and tokens are those of `gold`, if the examples were read from ERASER data. Otherwise
    each segment is a document of blank-separated words: see `own_words`.

    Args:
        records: of one system; read twice, so no iterator, where `budget` is left open.
        path: of the submission.
        gold: the annotations and documents that the examples were read from.
        word: what a word takes from its tokens: the highest score, the mean, or the first.
        hard: budget in per cent whose words are the hard rationale; None: the words above 0, or those that a
            tool chose itself.
        budget: the size of rationale, in per cent, for comprehensiveness and sufficiency beside those at all
            budgets; None: that nearest to what people mark on average.
        removal: how tokens are taken out, of the ways that the records have; None: the first.
        within_sentences: end the spans of the hard rationale with their sentences. Right for evidence that is
            whole sentences, each a span of its own, as in MultiRC.
        with_data: write the documents and annotations beside the submission, so that it can be validated and
            scored. Only where there is no `gold`.
        split: the name of that file of annotations.
    """
    if word not in JOIN:
        raise unknown("way to score words", word, JOIN)
    if with_data and gold is not None:
        raise UserError("with_data is for records of other data; these are held against ERASER data already.")
    split_name(split)  # the data must be found again under it
    target = Path(path)
    used = nearest_budget(records, gold) if budget is None else float(budget)
    maker = Maker(EraserWords(gold) if gold else own_words, word, hard, used, removal, within_sentences)
    data = DataFiles(target.parent, split) if with_data else None
    made = (_also(data, record, maker(record)) for record in unique(records))
    count = data.writing(lambda: write_submission(target, made)) if data else write_submission(target, made)
    if not count:
        raise UserError(f"{target}: there are no records to export.")
    files = (target, *(data.files if data else ()))
    return Exported(files, count, used, maker.truncated, maker.left_out)


def _also(data: DataFiles | None, record: Record, instance: Instance) -> Instance:
    if data is not None:
        data.add(record)
    return instance


def unique(records: Iterable[Record]) -> Iterator[Record]:
    """The records, as long as no two have the same id."""
    seen: set[str] = set()
    for record in records:
        if record.id in seen:
            raise UserError(f"two records have the id '{record.id}'; a submission has one line for each")
        seen.add(record.id)
        yield record


def shown(record: Record) -> Scored | None:
    """The sequence a record is about: the only one, or that of the chosen answer."""
    if len(record.sequences) < 2:
        return record.sequences[0] if record.sequences else None
    chosen = record.predicted if record.predicted is not None else record.target
    return record.sequences[record.labels.index(chosen) if chosen in record.labels else 0]


@dataclass
class Maker:
    """Makes instances of records, and counts what they cannot hold."""

    locate: Locate
    word: Word
    hard: float | None
    budget: float | None
    removal: str | None
    within_sentences: bool = False
    truncated: int = 0
    left_out: int = 0

    def __call__(self, record: Record) -> Instance:
        """The line of one record."""
        self.truncated += record.truncated > 0
        views = self._views(record)
        at = None if views is None or self.budget is None else self._number(record, self.budget)
        return Instance(
            annotation_id=record.id,
            rationales=self._documents(record),
            classification=None if not record.probabilities else str(record.predicted),
            classification_scores=_classes(record, record.probabilities) if record.probabilities else None,
            comprehensiveness=None if views is None or at is None else _classes(record, views.removed[at]),
            sufficiency=None if views is None or at is None else _classes(record, views.kept[at]),
            thresholded=None if views is None or at is None else _thresholded(record, views),
        )

    def _documents(self, record: Record) -> tuple[DocumentRationale, ...]:
        scored, documents = shown(record), self.locate(record.id, record.segments)
        if scored is None:
            return tuple(DocumentRationale(one.docid) for one in documents)
        places = {one.segment for one in documents}
        self.left_out += sum(segment not in places for segment, _, _ in scored.tokens)
        if self.locate is own_words:  # a segment that cannot carry a rationale is not asked about
            read = {segment for segment, _, _ in scored.tokens}
            documents = [one for one in documents if one.segment in read] or documents
        return tuple(self._document(one, record, scored) for one in documents)

    def _document(self, one: Words, record: Record, scored: Scored) -> DocumentRationale:
        soft = None
        if scored.scores:
            unread = min(0.0, *scored.scores)
            soft = word_scores(one, scored.tokens, scored.scores, word=self.word, unread=unread)
        chosen = self._chosen(one, record, scored, soft)
        sentences = one.sentences(record.segments[one.segment]) if self.within_sentences else None
        spans = None if chosen is None else tuple(Span(*run) for run in runs(chosen, sentences).tolist())
        return DocumentRationale(one.docid, spans, None if soft is None else tuple(soft.tolist()))

    def _chosen(
        self, one: Words, record: Record, scored: Scored, soft: NDArray[np.float64] | None
    ) -> NDArray[np.bool_] | None:
        """The words of the hard rationale; None if nobody knows."""
        if self.hard is not None:
            numbers: Sequence[int] = scored.selected[self._number(record, self.hard)]
        elif scored.chosen is not None:
            numbers = scored.chosen
        else:
            return None if soft is None else soft > 0
        places = [scored.tokens[number] for number in numbers]
        return one.marked((start, end) for segment, start, end in places if segment == one.segment)

    def _number(self, record: Record, budget: float) -> int:
        if budget not in record.budgets:
            known = ", ".join(f"{one:g}" for one in record.budgets) or "none"
            raise UserError(f"record '{record.id}' has no budget of {budget:g} %; it has: {known}.")
        return record.budgets.index(budget)

    def _views(self, record: Record) -> Views | None:
        if not record.views or not record.probabilities:
            return None
        if self.removal is None:
            return record.views[0]
        by_name = {views.removal: views for views in record.views}
        if self.removal not in by_name:
            raise unknown("removal", self.removal, by_name)
        return by_name[self.removal]


def _thresholded(record: Record, views: Views) -> tuple[Thresholded, ...]:
    by_budget = zip(record.budgets, views.removed, views.kept, strict=True)
    return tuple(
        Thresholded(budget / 100, _classes(record, removed), _classes(record, kept))
        for budget, removed, kept in by_budget
    )


def _classes(record: Record, probabilities: Floats) -> Classes:
    return {str(label): value for label, value in zip(record.labels, probabilities, strict=True)}
