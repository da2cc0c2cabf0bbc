"""Records as a submission, and as the ERASER data files behind it."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from functools import partial
from math import isnan
from pathlib import Path
from typing import IO, Any

from unirex.data.datasets.cose import BETWEEN
from unirex.data.split import split_name
from unirex.eraser.gold import GoldData, mean_percent
from unirex.eraser.submission import (
    ClassScores,
    DocumentRationale,
    Instance,
    Thresholded,
    TokenSpan,
    write_submission,
)
from unirex.eraser.words import POOLINGS, DocumentWords, WordPooling, eraser_words, segment_words, word_scores
from unirex.errors import UserError, unknown
from unirex.evaluation.records import FloatTuple, Record, Scored
from unirex.files import replace_file
from unirex.metrics.plausibility import runs


@dataclass(frozen=True, slots=True)
class Exported:
    """What was written, and what was left out."""

    files: tuple[Path, ...]
    instances: int
    budget: float | None  # of comprehensiveness and sufficiency outside of `thresholded_scores`
    truncated: int  # texts with words the system did not read
    left_out: int  # scored tokens that are in no document, such as those of a query


def export(
    records: Iterable[Record],
    path: str | Path,
    *,
    gold: GoldData | None = None,
    word: WordPooling = "max",
    hard: float | None = None,
    budget: float | None = None,
    removal: str | None = None,
    within_sentences: bool = False,
    with_data: bool = False,
    split: str = "test",
) -> Exported:
    """Write records as a submission to ERASER.

    Documents, their ids and tokens are those of `gold`, if the examples were read from ERASER data. Otherwise
    each segment is a document of blank-separated words: see `segment_words`.

    Args:
        records: of one system; read twice, so not an iterator, unless `budget` is given.
        path: of the submission.
        gold: the annotations and documents that the examples were read from.
        word: what a word takes from its tokens: the highest score, the mean, or the first.
        hard: budget in per cent whose words are the hard rationale; None: the words above 0, or those that a
            tool chose itself.
        budget: the size of rationale, in per cent, for comprehensiveness and sufficiency beside those at all
            budgets; None: the one nearest to what people mark on average.
        removal: how tokens are removed, among the removals of the records; None: the first.
        within_sentences: end the spans of the hard rationale with their sentences. Right for evidence that is
            whole sentences, each a span of its own, as in MultiRC.
        with_data: write the documents and annotations beside the submission, so that it can be validated and
            scored. Only without `gold`.
        split: the name of that file of annotations.
    """
    if word not in POOLINGS:
        raise unknown("way to score words", word, POOLINGS)
    if with_data and gold is not None:
        raise UserError("with_data is for records of other data; these are held against ERASER data already.")
    split_name(split)  # refuses a name under which the data would not be found again
    target = Path(path)
    used = nearest_budget(records, gold) if budget is None else float(budget)
    maker = InstanceMaker(gold, word, hard, used, removal, within_sentences)
    data = DataFiles(target.parent, split) if with_data else None
    if data and target in data.files:
        raise UserError(f"{target}: its data is written under that name; call the submission otherwise.")

    def instances() -> Iterator[Instance]:
        seen: set[str] = set()
        for record in records:
            if record.id in seen:
                raise UserError(f"two records have the id '{record.id}'; a submission has one line for each")
            seen.add(record.id)
            instance = maker(record)
            if data is not None:
                data.add(record)
            yield instance

    write = partial(write_submission, target, instances())
    count = data.write_with(write) if data else write()
    if not count:
        raise UserError(f"{target}: there are no records to export.")
    files = (target, *(data.files if data else ()))
    return Exported(files, count, used, maker.truncated, maker.left_out)


def nearest_budget(records: Iterable[Record], gold: GoldData | None = None) -> float | None:
    """The budget of the records nearest to the mean share people mark; None if no budget was tried."""
    if isinstance(records, Iterator):
        raise UserError("records come from an iterator, which can be read only once; give a budget.")
    first = next(iter(records), None)
    if first is None or not first.views:
        return None
    if gold is not None:
        share = gold.mean_share()
    else:
        marks = (record.sequences[0].gold for record in records if record.sequences)
        shares = [sum(flags) / len(flags) for flags in marks if flags and any(flags)]
        share = mean_percent(shares)
    if isnan(share):
        raise UserError("no rationale is marked, so no budget is nearest to what people mark; give one.")
    return min(first.budgets, key=lambda budget: abs(budget - share))


@dataclass
class InstanceMaker:
    """Makes instances of records, and counts what they cannot hold."""

    gold: GoldData | None
    word: WordPooling
    hard: float | None
    budget: float | None
    removal: str | None
    within_sentences: bool = False
    truncated: int = 0
    left_out: int = 0

    def __call__(self, record: Record) -> Instance:
        """The line of one record."""
        if record.multi_label:
            raise UserError(f"record '{record.id}' has a set of labels; a line of ERASER has one.")
        self.truncated += record.truncated > 0
        full = record.probabilities
        instance = Instance(
            annotation_id=record.id,
            rationales=self._rationales(record),
            classification=str(record.predicted) if full else None,
            classification_scores=_class_scores(record, full) if full else None,
        )
        if not record.views or not full:
            return instance
        by_name = {views.removal: views for views in record.views}
        if self.removal is not None and self.removal not in by_name:
            raise unknown("removal", self.removal, by_name)
        if self.budget is None:
            return instance
        views = record.views[0] if self.removal is None else by_name[self.removal]
        thresholded = tuple(
            Thresholded(budget / 100, _class_scores(record, removed), _class_scores(record, kept))
            for budget, removed, kept in zip(record.budgets, views.removed, views.kept, strict=True)
        )
        own = thresholded[_budget_number(record, self.budget)]
        return replace(
            instance,
            comprehensiveness=own.comprehensiveness,
            sufficiency=own.sufficiency,
            thresholded=thresholded,
        )

    def _rationales(self, record: Record) -> tuple[DocumentRationale, ...]:
        find = segment_words if self.gold is None else partial(eraser_words, self.gold)
        scored, documents = shown_sequence(record), find(record.id, record.segments)
        if scored is None:
            return tuple(DocumentRationale(document.docid) for document in documents)
        segments = {document.segment for document in documents}
        self.left_out += sum(segment not in segments for segment, _, _ in scored.tokens)
        if self.gold is None:  # a segment that cannot carry a rationale, such as a query, gets no entry
            read = {segment for segment, _, _ in scored.tokens}
            documents = [document for document in documents if document.segment in read] or documents
        return tuple(self._rationale(document, record, scored) for document in documents)

    def _rationale(self, document: DocumentWords, record: Record, scored: Scored) -> DocumentRationale:
        soft = hard = spans = None
        if scored.scores:
            unread = min(0.0, *scored.scores)
            soft = word_scores(document, scored.tokens, scored.scores, pooling=self.word, unread=unread)
            hard = soft > 0
        tokens = scored.chosen if self.hard is None else scored.selected[_budget_number(record, self.hard)]
        if tokens is not None:
            hard = document.in_tokens(scored.tokens[number] for number in tokens)
        if hard is not None:
            parts = document.sentences(record.segments[document.segment]) if self.within_sentences else None
            spans = tuple(TokenSpan(*run) for run in runs(hard, parts).tolist())
        return DocumentRationale(document.docid, spans, None if soft is None else tuple(soft.tolist()))


def shown_sequence(record: Record) -> Scored | None:
    """The sequence a record is about: the only one, or that of the chosen answer."""
    if len(record.sequences) < 2:
        return record.sequences[0] if record.sequences else None
    chosen = record.predicted if record.predicted is not None else record.target
    return record.sequences[record.labels.index(chosen) if chosen in record.labels else 0]


def _budget_number(record: Record, budget: float) -> int:
    if budget not in record.budgets:
        listed = ", ".join(f"{known:g}" for known in record.budgets) or "none"
        raise UserError(f"record '{record.id}' has no budget of {budget:g} %; it has: {listed}.")
    return record.budgets.index(budget)


def _class_scores(record: Record, probabilities: FloatTuple) -> ClassScores:
    return {str(label): value for label, value in zip(record.labels, probabilities, strict=True)}


@dataclass
class DataFiles:
    """`docs.jsonl` and the annotations, written along with the submission and put in place after it."""

    folder: Path
    split: str = "test"
    _open: list[IO[str]] = field(default_factory=list)

    @property
    def files(self) -> tuple[Path, Path]:
        """The documents, the annotations."""
        return self.folder / "docs.jsonl", self.folder / f"{self.split}.jsonl"

    def write_with(self, write: Callable[[], int]) -> int:
        """Call `write`, which adds records on its way, with the files open; all appear once complete."""
        count = 0

        def fill(*drafts: Path) -> None:
            nonlocal count
            with ExitStack() as stack:
                for draft in drafts:
                    self._open.append(stack.enter_context(draft.open("w", encoding="utf-8", newline="\n")))
                count = write()

        # Nested, so that neither file appears before all are complete.
        documents, annotations = self.files
        replace_file(documents, lambda draft: replace_file(annotations, lambda other: fill(draft, other)))
        return count

    def add(self, record: Record) -> None:
        """Write the documents and the annotation of one more record."""
        documents, annotations = self._open
        words = segment_words(record.id, record.segments)
        for document in words:
            text = document_text(record.segments[document.segment])
            row = {"docid": document.docid, "document": text}
            print(json.dumps(row, ensure_ascii=False), file=documents)
        print(json.dumps(annotation(record, words), ensure_ascii=False), file=annotations)


def document_text(text: str) -> str:
    """The words with one space between, the lines of the text as sentences; blank lines are dropped.

    >>> document_text("so  good \\n\\n see it")
    'so good\\nsee it'
    """
    lines = (" ".join(line.split()) for line in text.split("\n"))
    return "\n".join(filter(None, lines))


def annotation(record: Record, documents: Sequence[DocumentWords]) -> dict[str, Any]:
    """The annotation of a record: its gold label, and the words with a marked token as one group."""
    if record.label is None:
        raise UserError(f"record '{record.id}' has no label, which ERASER's annotations need.")
    evidence = [row for document in documents for row in _evidence(record, document)]
    return {
        "annotation_id": record.id,
        "query": BETWEEN.join(record.choices or ()),
        "evidences": [evidence] if evidence else [],
        "classification": str(record.label),
        "query_type": None,
        "docids": [document.docid for document in documents],
    }


def _evidence(record: Record, document: DocumentWords) -> Iterator[dict[str, Any]]:
    scored = record.sequences[0] if record.sequences else None
    if scored is None or scored.gold is None:
        return
    marked = [token for token, mark in zip(scored.tokens, scored.gold, strict=True) if mark]
    text = record.segments[document.segment]
    words, sentences = document.tokens(), document.sentences(text)
    for start, end in runs(document.in_tokens(marked)).tolist():
        yield {
            "text": " ".join(text[low:high] for _, low, high in words[start:end]),
            "docid": document.docid,
            "start_token": start,
            "end_token": end,
            "start_sentence": int(sentences[start]),
            "end_sentence": int(sentences[end - 1]) + 1,
        }
