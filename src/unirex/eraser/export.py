"""From records to a submission: what a system thinks of tokens, said of ERASER's words."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from unirex.data.split import split_name
from unirex.eraser.budgets import nearest_budget
from unirex.eraser.data_files import DataFiles
from unirex.eraser.gold import Gold
from unirex.eraser.instances import Classes, DocumentRationale, Instance, Span, Thresholded
from unirex.eraser.submission import write_submission
from unirex.eraser.words import JOIN, EraserWords, Locate, Word, Words, own_words, word_scores
from unirex.errors import UserError, unknown
from unirex.metrics.plausibility import runs
from unirex.records import Floats, Record, Scored, Views


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
