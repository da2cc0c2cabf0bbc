"""Evaluations read into columns, aligned on the examples they share, and checked to be measured alike."""

from __future__ import annotations

from array import array
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import pairwise
from math import isclose, isnan, nan
from zlib import crc32

import numpy as np

from unirex.comparison.sources import EvaluationSource
from unirex.errors import UserError
from unirex.evaluation.predictions import REMOVAL as UNKNOWN_REMOVAL
from unirex.evaluation.records import Record
from unirex.evaluation.summary import SEEN, Summary
from unirex.evaluation.tally import MetricColumns
from unirex.evaluation.value_table import ValueTable, id_digest
from unirex.metrics.arrays import Floats, Ints
from unirex.metrics.performance import Collapse
from unirex.metrics.registry import metric

FIRST_TOKENS = 12  # show how a text is tokenised; what follows may be truncated in one system only
TOLERANCE = 0.01  # share of texts or tokens: fewer differences are accidents


@dataclass
class Evaluation:
    """One evaluation: the values of every example, and the positions of those that all evaluations share."""

    source: EvaluationSource
    summary: Summary
    text_checksums: array[int]
    units: TokenUnits
    draws: int = 0  # random rationales per record
    complete: bool = True  # False if examples were left out
    own_budgets: bool = False  # not the budgets of the others: metrics over all budgets are left out
    order: Ints = field(init=False)  # positions of the shared examples, set by `align`

    @property
    def columns(self) -> MetricColumns:
        """The values of every example."""
        return self.summary.columns

    @property
    def budgets(self) -> tuple[float, ...]:
        """The sizes of the rationales, in per cent; empty if unknown."""
        budgets = self.summary.seen.get("budgets")
        return tuple(map(float, budgets)) if isinstance(budgets, list) else ()

    @property
    def removal(self) -> str | None:
        """How tokens are removed for the main metrics; None if none were."""
        removals = self.summary.seen.get("removals")
        return str(removals[0]) if isinstance(removals, list) and removals else None

    @property
    def trained_removal(self) -> str | None:
        """How training removed tokens; None if it did not."""
        removal = self.summary.seen.get("trained_removal")
        return None if removal is None else str(removal)

    @property
    def select_predict(self) -> bool:
        """Whether the system predicts from its rationale alone."""
        return self.summary.select_predict

    @property
    def collapse(self) -> Collapse | None:
        """The one answer given to (nearly) all texts, if there is one."""
        return self.summary.collapse

    @cached_property
    def metrics(self) -> dict[str, float]:
        """Every reported metric by name."""
        return {name: value for name, value in self._measured.items() if self.reported(name)}

    @property
    def _measured(self) -> dict[str, float]:
        """Every metric; a table without texts has the values of some only, and the means of all."""
        if self.source.values is not None and self.complete:
            return {name: _or_nan(value) for name, value in self.source.saved["metrics"].items()}
        return self.summary.metrics

    def reported(self, key: str) -> bool:
        """Whether a metric is shown: over budgets of its own it does not mean what it means for the others.

        In systems that predict from their rationale it is shown with a mark, but not `ranked`.
        """
        return self.select_predict or not (self.own_budgets and averages_budgets(key))

    def ranked(self, key: str) -> bool:
        """Whether a metric can be tested against that of others and be the best."""
        own = metric(key).alone == "constant" or (self.own_budgets and averages_budgets(key))
        empty = self.collapse is not None and metric(key).alone is not None
        return not (self.select_predict and own) and not empty

    def column(self, key: str) -> Floats:
        """One value per shared example, NaN where there is none."""
        values = self.columns.column(key)[self.order]
        return values if self.reported(key) else np.full(len(values), nan)

    @cached_property
    def intervals(self) -> dict[str, tuple[float, float]]:
        """The 95 % interval of each metric over texts."""
        if self._saved_is_current:
            return {name: (low, high) for name, (low, high) in self.source.saved["intervals"].items()}
        return self.summary.intervals

    @cached_property
    def floor(self) -> dict[str, float]:
        """Every metric of random scores under the same classifier; empty if none were drawn."""
        if self._saved_is_current:
            return {name: _or_nan(entry["mean"]) for name, entry in self.source.saved["floor"].items()}
        if not self.draws or self.source.values is not None:
            return {}
        summary, ids = Summary(self.summary.name, self.summary.labels), set(self.columns.ids)
        for record in self.source.read():
            if record.id in ids:
                summary.add(record)
        return {name: mean for name, (mean, _) in summary.floor_metrics.items()}

    @cached_property
    def _saved_is_current(self) -> bool:
        """Whether metrics.json still agrees with the records, so that its slow numbers can be used."""
        saved, metrics = self.source.saved, self.summary.metrics
        if not self.complete or not {"intervals", "floor", "metrics"} <= saved.keys():
            return False
        if self.source.values is not None:
            return True  # they were packed together
        if saved["metrics"].keys() != metrics.keys() or saved.get("texts") != len(self.columns):
            return False
        pairs = [(_or_nan(saved["metrics"][name]), value) for name, value in metrics.items()]
        return all(isclose(old, new) or (isnan(old) and isnan(new)) for old, new in pairs)


def _or_nan(saved: float | None) -> float:
    return nan if saved is None else saved  # JSON has no NaN


@dataclass
class TokenUnits:
    """How texts are cut into tokens, by the first tokens of each text."""

    checksums: array[int] = field(default_factory=lambda: array("L"))  # one per text
    tokens: int = 0
    continuations: int = 0  # tokens that continue the word of the token before

    @property
    def subwords(self) -> bool:
        """Whether tokens are parts of words."""
        return self.tokens > 0 and self.continuations / self.tokens > TOLERANCE

    def add(self, record: Record) -> None:
        """Take in the tokens of one more text."""
        tokens = record.sequences[0].tokens[:FIRST_TOKENS] if record.sequences else ()
        texts = (*record.segments, *(record.choices or ()))
        self.checksums.append(crc32(repr(tokens).encode()))
        self.tokens += len(tokens)
        for (segment, _, end), (next_segment, next_start, _) in pairwise(tokens):
            if (segment, end) == (next_segment, next_start):
                cut = texts[segment][end - 1 : end + 1]  # the characters on both sides
                self.continuations += len(cut) == 2 and cut.isalnum()


def read_evaluation(
    source: EvaluationSource,
    *,
    only: Collection[str] | None = None,
    advance: Callable[[int], object] | None = None,
) -> Evaluation:
    """Read an evaluation record by record; only values are kept, no texts or tokens.

    With `only`, the examples of other ids are left out; `advance` is called with the number of records read.
    """
    summary = Summary(source.name or source.origin, source.saved.get("labels"))
    evaluation = Evaluation(source, summary, array("L"), TokenUnits(), complete=only is None)
    if source.values is not None:
        _add_rows(evaluation, source.values, only)
        return evaluation
    for record in source.read():
        if advance is not None:
            advance(1)
        if only is not None and record.id not in only:
            continue
        if not summary.count:
            evaluation.draws = len(record.draws)
        # Each random draw takes as long as the rest, and metrics.json often has their values: see `floor`.
        summary.add(replace(record, draws=()))
        evaluation.units.add(record)
        text = "\0".join(record.segments)
        evaluation.text_checksums.append(crc32(text.encode("utf-8", "surrogatepass")))
    if not summary.count:
        raise UserError(f"{source.origin}: there are no records in it.")
    return evaluation


def _add_rows(evaluation: Evaluation, table: ValueTable, only: Collection[str] | None) -> None:
    """Take in the examples of a table without texts."""
    saved = evaluation.source.protocol
    evaluation.summary.seen = {name: saved[name] for name in SEEN if name in saved}
    evaluation.draws = int(saved.get("draws") or 0)
    evaluation.units.tokens, evaluation.units.continuations = table.tokens, table.continuations
    for row, name in enumerate(table.ids):
        if only is None or name in only:
            evaluation.columns.add_row(table, row)
            evaluation.text_checksums.append(int(table.texts[row]))
            evaluation.units.checksums.append(int(table.units[row]))


def value_table(evaluation: Evaluation, keys: Collection[str]) -> ValueTable:
    """An evaluation without its texts: the values of some metrics, examples by the digests of their ids."""
    columns = evaluation.columns
    return ValueTable(
        [id_digest(name) for name in columns.ids],
        np.array(evaluation.text_checksums, dtype=np.uint32),
        np.array(evaluation.units.checksums, dtype=np.uint32),
        columns.lengths,
        columns.gold,
        columns.predicted,
        {name: columns.column(name) for name in columns.names if name in keys},
        evaluation.units.tokens,
        evaluation.units.continuations,
    )


def align(
    evaluations: Sequence[Evaluation],
    *,
    same_texts: bool = True,
    advance: Callable[[int], object] | None = None,
) -> tuple[list[Evaluation], list[str]]:
    """The evaluations on the examples that all of them have, and notes on what is not the same.

    Those with more examples are read again; `advance` is the progress callback. Without `same_texts`, the
    text of an id may differ: it was read in different ways.
    """
    for evaluation in evaluations:
        _check_ids(evaluation)
    _check_protocol(evaluations)
    first, *others = evaluations
    shared = set(first.columns.ids).intersection(*(other.columns.ids for other in others))
    if not shared:
        raise UserError(
            f"{first.source.origin} and the others have no example in common; "
            "compare evaluations of the same data."
        )
    aligned = [
        evaluation
        if len(evaluation.columns) == len(shared)
        else read_evaluation(evaluation.source, only=shared, advance=advance)
        for evaluation in evaluations
    ]
    for evaluation in aligned:
        positions = {name: number for number, name in enumerate(evaluation.columns.ids)}
        order = [positions[name] for name in aligned[0].columns.ids]
        evaluation.order = np.array(order, dtype=np.int64)
    differing = max(_check_same_examples(aligned[0], other, texts=same_texts) for other in aligned)
    _mark_own_budgets(aligned)
    most, notes = max(len(evaluation.columns) for evaluation in evaluations), []
    if most > len(shared):
        notes.append(f"Only the {len(shared)} texts that all have count; the largest evaluation has {most}.")
    if differing:
        notes.append(f"{differing} of {len(shared)} texts are read differently in some rows.")
    return aligned, notes


def _check_ids(evaluation: Evaluation) -> None:
    seen: set[str] = set()
    for name in evaluation.columns.ids:
        if name in seen:
            origin = evaluation.source.origin
            raise UserError(
                f"{origin}: the id '{name}' comes twice; examples are distinguished by their ids."
            )
        seen.add(name)


def _check_protocol(evaluations: Sequence[Evaluation]) -> None:
    """Refuse faithfulness that was measured in different ways.

    How a third-party tool removed tokens is unknown, so its removal and budgets are not checked (see
    `_mark_own_budgets`). A system that predicts from its rationale may have a budget and a removal of its
    own, for which it was trained.
    """
    measured = [evaluation for evaluation in evaluations if evaluation.removal is not None]
    checked = [evaluation for evaluation in _own_protocol(measured) if not evaluation.select_predict]
    _check_equal("budgets", checked, lambda run: ", ".join(f"{size:g}" for size in run.budgets))
    _check_equal("removal", checked, lambda run: str(run.removal))
    _check_equal("target", measured, lambda run: str(run.summary.seen["target"]))


def _own_protocol(measured: Sequence[Evaluation]) -> list[Evaluation]:
    """The evaluations made by `unirex evaluate`, not by a third-party tool."""
    return [evaluation for evaluation in measured if evaluation.removal != UNKNOWN_REMOVAL]


def _check_equal(name: str, evaluations: Sequence[Evaluation], shown: Callable[[Evaluation], str]) -> None:
    for other in evaluations[1:]:
        first = evaluations[0]
        if shown(first) != shown(other):
            raise UserError(
                f"{first.source.origin} was measured with {name} {shown(first)}, {other.source.origin} with "
                f"{shown(other)}; evaluate them alike (`unirex evaluate --budgets … --removal … --target …`)."
            )


def _check_same_examples(first: Evaluation, other: Evaluation, *, texts: bool) -> int:
    """Refuse an id that stands for another label or, if asked, another text; the number of other texts."""
    others = np.array(first.text_checksums) != np.array(other.text_checksums)[other.order]
    labels = [other.columns.gold[number] for number in other.order]
    pairs = zip(first.columns.gold, labels, strict=True)
    differing = [None not in (a, b) and str(a) != str(b) for a, b in pairs]  # other tools may write 1 as "1"
    wrong = np.flatnonzero(others & texts | np.array(differing))
    if wrong.size:
        what = "label" if differing[wrong[0]] else "text"
        raise UserError(
            f"example '{first.columns.ids[wrong[0]]}' has another {what} in {other.source.origin} than in "
            f"{first.source.origin}; compare evaluations of the same data."
        )
    return int(others.sum())


def _mark_own_budgets(evaluations: Sequence[Evaluation]) -> None:
    """Mark evaluations at other budgets than ours: tools, and systems that predict from their rationale."""
    measured = [evaluation for evaluation in evaluations if evaluation.removal is not None]
    ours = _own_protocol(measured)
    references = [evaluation for evaluation in ours if not evaluation.select_predict] or ours or measured
    for evaluation in measured:
        reference = references[0]
        other_removal = evaluation.select_predict and evaluation.removal != reference.removal
        evaluation.own_budgets = other_removal or evaluation.budgets != reference.budgets


def averages_budgets(key: str) -> bool:
    """Whether a number is an average over all budgets.

    >>> [averages_budgets(key) for key in ("csd", "sufficiency/delete", "csd_mean", "csd@20", "auprc")]
    [True, True, True, False, False]
    """
    return metric(key).over_budgets and "@" not in key
