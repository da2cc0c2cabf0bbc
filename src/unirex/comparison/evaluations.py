"""Evaluations read into columns, and checks that they are of the same examples, measured in the same way."""

from __future__ import annotations

from array import array
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from hashlib import blake2b
from itertools import combinations, pairwise
from math import isclose, nan
from typing import TYPE_CHECKING
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

from unirex.comparison.sources import Place
from unirex.errors import UserError
from unirex.evaluation.predictions import REMOVAL as OWN_WAY
from unirex.evaluation.records import Record
from unirex.evaluation.summary import Summary
from unirex.evaluation.tally import Columns
from unirex.metrics.performance import Collapse
from unirex.metrics.registry import metric

if TYPE_CHECKING:
    from unirex.comparison.method import Method


BEGINNING = 12  # tokens that tell how a text is cut; longer texts may be truncated elsewhere
SOME = 0.01  # of the texts or tokens: fewer are accidents
BITS = 64


@dataclass
class Traits:
    """What stays of the records besides values: enough to tell whether two are the same, or cut alike."""

    print: int = 0  # of predictions, probabilities and scores, whatever the order
    cuts: array[int] = field(default_factory=lambda: array("L"))  # a checksum of each text's first tokens
    tokens: int = 0
    pieces: int = 0  # tokens that begin within a word

    def add(self, record: Record) -> None:
        """One more record."""
        scores = [one.scores for one in record.sequences]
        said = repr((record.id, record.predicted, record.probabilities, scores))
        digest = blake2b(said.encode("utf-8", "surrogatepass"), digest_size=BITS // 8).digest()
        self.print = (self.print + int.from_bytes(digest, "big")) % 2**BITS
        first = record.sequences[0].tokens[:BEGINNING] if record.sequences else ()
        self.cuts.append(crc32(repr(first).encode()))
        self.tokens += len(first)
        self.pieces += _pieces(record, first)


def _pieces(record: Record, tokens: Sequence[tuple[int, int, int]]) -> int:
    """How many of the tokens go on with the word of the one before."""
    texts = (*record.segments, *(record.choices or ()))
    return sum(
        one[0] == next_[0]
        and one[2] == next_[1]
        and texts[one[0]][one[2] - 1 : one[2]].isalnum()
        and texts[one[0]][one[2] : one[2] + 1].isalnum()
        for one, next_ in pairwise(tokens)
    )


def same_records(one: Method, other: Method) -> bool:
    """Whether two methods are the same records under two names."""
    prints = [sorted(run.traits.print for run in method.runs) for method in (one, other)]
    return prints[0] == prints[1]


def other_units(one: Method, other: Method) -> bool:
    """Whether two methods cut the same texts into other tokens."""
    first, second = (_cuts(method) for method in (one, other))
    return bool((first != second).mean() > SOME)


def mixed_units(methods: Sequence[Method]) -> bool:
    """Whether any two methods do."""
    return any(other_units(methods[0], one) for one in methods[1:])


def by_token(key: str) -> bool:
    """Whether a metric counts tokens that people marked, so that it depends on what a token is."""
    return metric(key).desideratum == "plausibility"


def likeness_notes(methods: Sequence[Method]) -> list[str]:
    """What the reader must know: who is the same, and whose tokens are others."""
    return [*_repeated(methods), *_same(methods), *_units(methods)]


def _repeated(methods: Sequence[Method]) -> Iterator[str]:
    for one in methods:
        if len({run.traits.print for run in one.runs}) < one.seeds:
            yield f"{one.name}: some of its {one.seeds} runs are the same records, not seeds of their own."


def _same(methods: Sequence[Method]) -> Iterator[str]:
    for one, other in combinations(methods, 2):
        if same_records(one, other):
            yield f"{one.name} and {other.name} are the same records."


def _units(methods: Sequence[Method]) -> Iterator[str]:
    first = methods[0]
    for other in methods[1:]:
        if other_units(first, other):
            yield f"{_told(first, other)}: AUPRC, TF1 and token F1 are not of the same units."


def _told(one: Method, other: Method) -> str:
    shares = [_share(method) for method in (one, other)]
    if (shares[0] > SOME) == (shares[1] > SOME):
        return f"{one.name} and {other.name} cut the texts into other tokens"
    whole, parts = (other, one) if shares[0] > SOME else (one, other)
    return f"{whole.name} marks words, {parts.name} parts of words"


def _share(method: Method) -> float:
    traits = method.runs[0].traits
    return traits.pieces / traits.tokens if traits.tokens else 0.0


def _cuts(method: Method) -> NDArray[np.int64]:
    run = method.runs[0]
    return np.array(run.traits.cuts, dtype=np.int64)[run.order]


def check_ids(one: Evaluation) -> None:
    """Examples are told apart by their ids."""
    ids = one.columns.ids
    if len(set(ids)) < len(ids):
        seen: set[str] = set()
        twice = next(name for name in ids if name in seen or seen.add(name))  # type: ignore[func-returns-value]
        raise UserError(
            f"{one.place.said}: the id '{twice}' comes twice; examples are told apart by their ids."
        )


def check_protocol(found: Sequence[Evaluation]) -> None:
    """Numbers are comparable only if the same was done to the texts.

    What another tool did to them, nobody can check: its way of removing tokens counts as unknown, and of
    other budgets than the rest only what is not over all of them counts (`mark_own_budgets`). A system that
    predicts from its rationale may have a budget and a removal of its own, for which it was trained.
    """
    measured = [one for one in found if one.removal is not None]
    ours = [one for one in measured if one.removal != OWN_WAY]
    free = [one for one in ours if not one.select_predict]
    _check_equal("budgets", [(one, ", ".join(f"{size:g}" for size in one.budgets)) for one in free])
    _check_equal("removal", [(one, str(one.removal)) for one in free])
    _check_equal("target", [(one, str(one.summary.seen["target"])) for one in measured])


def mark_own_budgets(found: Sequence[Evaluation]) -> None:
    """Those measured at other budgets than ours: tools, and systems that predict from their rationale.

    If there are none of ours, at other budgets than the first.
    """
    measured = [one for one in found if one.removal is not None]
    ours = [one for one in measured if one.removal != OWN_WAY]
    ours = [one for one in ours if not one.select_predict] or ours or measured[:1]
    for one in measured:
        removed = one.select_predict and one.removal != ours[0].removal
        one.own_budgets = removed or one.budgets != ours[0].budgets


def over_budgets(key: str) -> bool:
    """Whether a metric is a mean over all budgets.

    >>> [over_budgets(one) for one in ("csd", "sufficiency/delete", "csd_mean", "csd@20", "auprc")]
    [True, True, True, False, False]
    """
    whole = key.partition("/")[0].removesuffix("_mean").removeprefix("normalised_")
    return whole in ("comprehensiveness", "sufficiency", "csd", "log_odds")


def by_construction(key: str) -> bool:
    """Whether a metric is what it is whatever was selected, if a system predicts from its rationale alone.

    Sufficiency is 0, its normalised form 1; normalised comprehensiveness is the share of a fall in itself.

    >>> [by_construction(one) for one in ("sufficiency@5", "csd/delete", "comprehensiveness_mean", "auprc")]
    [True, True, False, False]
    """
    return _whole(key) in ("sufficiency", "csd", "normalised_sufficiency", "normalised_comprehensiveness")


def against_empty(key: str) -> bool:
    """Whether a metric of such a system holds its prediction against that for the empty text."""
    return _whole(key) in ("comprehensiveness", "log_odds")


def _whole(key: str) -> str:
    """The metric without its budget, removal and divisor."""
    return key.partition("/")[0].partition("@")[0].removesuffix("_mean")


def _check_equal(name: str, told: Sequence[tuple[Evaluation, str]]) -> None:
    for one, value in told[1:]:
        if value != told[0][1]:
            raise UserError(
                f"{told[0][0].place.said} was measured with {name} {told[0][1]}, {one.place.said} with "
                f"{value}; evaluate them alike (`unirex evaluate --budgets … --removal … --target …`)."
            )


def check_same(first: Evaluation, other: Evaluation) -> None:
    """The same id must mean the same text and label."""
    ours, theirs = np.array(first.texts), np.array(other.texts)[other.order]
    labels = [other.columns.gold[number] for number in other.order]
    pairs = zip(first.columns.gold, labels, strict=True)
    differing = [None not in (a, b) and str(a) != str(b) for a, b in pairs]  # other tools may write 1 as "1"
    wrong = np.flatnonzero((ours != theirs) | np.array(differing))
    if wrong.size:
        what = "label" if differing[wrong[0]] else "text"
        raise UserError(
            f"example '{first.columns.ids[wrong[0]]}' has another {what} in {other.place.said} than in "
            f"{first.place.said}; compare evaluations of the same data."
        )


Advance = Callable[[int], object]


@dataclass
class Evaluation:
    """One evaluation: the values of every example, and where the shared ones stand."""

    place: Place
    summary: Summary
    texts: array[int]  # a checksum of each text
    whole: bool = True  # all its examples are in it
    traits: Traits = field(default_factory=Traits)
    own_budgets: bool = False  # others than the rest: what is over all budgets is left out
    order: NDArray[np.int64] = field(init=False)  # where each shared example stands

    @property
    def columns(self) -> Columns:
        """The values of every example."""
        return self.summary.columns

    @property
    def budgets(self) -> tuple[float, ...]:
        """The sizes of the rationales, in per cent; none if nobody told."""
        told = self.summary.seen.get("budgets")
        return tuple(map(float, told)) if isinstance(told, list) else ()

    @property
    def removal(self) -> str | None:
        """How tokens are taken out for the main metrics; None if none were."""
        told = self.summary.seen.get("removals")
        return str(told[0]) if isinstance(told, list) and told else None

    @property
    def trained_removal(self) -> str | None:
        """What training removed tokens by, if it did."""
        told = self.summary.seen.get("trained_removal")
        return None if told is None else str(told)

    @property
    def select_predict(self) -> bool:
        """Whether the system predicts from its rationale alone."""
        return self.summary.select_predict

    @property
    def collapse(self) -> Collapse | None:
        """The one answer it gives to (nearly) all texts, if it does."""
        return self.summary.collapse

    @cached_property
    def metrics(self) -> dict[str, float]:
        """Every metric by name, but for those that cannot be held against the rest."""
        return {name: value for name, value in self.summary.metrics.items() if self.comparable(name)}

    def comparable(self, key: str) -> bool:
        """Whether a metric means the same as elsewhere: one over other budgets does not.

        Where it is marked anyway, it is shown, but not `ranked`.
        """
        return self.select_predict or not (self.own_budgets and over_budgets(key))

    def ranked(self, key: str) -> bool:
        """Whether a metric can be tested against that of others and be the best."""
        own = by_construction(key) or (self.own_budgets and over_budgets(key))
        empty = self.collapse is not None and (by_construction(key) or against_empty(key))
        return not (self.select_predict and own) and not empty

    def column(self, key: str) -> NDArray[np.float64]:
        """One value for each shared example, NaN where there is none."""
        found = self.columns.column(key)[self.order]
        return found if self.comparable(key) else np.full(len(found), nan)

    @cached_property
    def intervals(self) -> dict[str, tuple[float, float]]:
        """Where each metric would lie with other texts; as kept with the records, if still the same."""
        if self._kept:
            return {name: (low, high) for name, (low, high) in self.place.saved["intervals"].items()}
        return self.summary.intervals

    @cached_property
    def floor(self) -> dict[str, float]:
        """Every metric of random scores under the same classifier; empty if none were drawn."""
        if self._kept:
            return {name: _number(one["mean"]) for name, one in self.place.saved["floor"].items()}
        if not self.summary.seen.get("draws"):
            return {}
        again = Summary(self.summary.name, self.summary.labels)
        wanted = set(self.columns.ids)
        for record in self.place.read():
            if record.id in wanted:
                again.add(record)
        return {name: mean for name, (mean, _) in again.floor_metrics.items()}

    @cached_property
    def _kept(self) -> bool:
        """Whether what was kept beside the records is what they still come to."""
        saved = self.place.saved
        if not self.whole or not {"intervals", "floor", "metrics"} <= saved.keys():
            return False
        found = self.summary.metrics
        if saved["metrics"].keys() != found.keys() or saved.get("texts") != len(self.columns):
            return False
        return all(_equal_values(_number(saved["metrics"][name]), value) for name, value in found.items())


def read(place: Place, *, only: Collection[str] | None = None, advance: Advance | None = None) -> Evaluation:
    """The evaluation, record by record; nothing of a record stays but its values."""
    summary, texts, seen, draws = Summary(place.name or place.said), array("L"), 0, 0
    traits = Traits()
    for record in place.read():
        if advance is not None:
            advance(1)
        if only is not None and record.id not in only:
            continue
        if not seen:
            summary, draws = Summary(summary.name, place.saved.get("labels")), len(record.draws)
        seen += 1
        summary.add(replace(record, draws=()))  # random scores cost as much again, five times
        traits.add(record)
        texts.append(crc32("\0".join(record.segments).encode("utf-8", "surrogatepass")))
    if not seen:
        raise UserError(f"{place.said}: there are no records in it.")
    summary.seen["draws"] = draws
    return Evaluation(place, summary, texts, whole=only is None, traits=traits)


def together(
    found: Sequence[Evaluation], *, advance: Advance | None = None
) -> tuple[list[Evaluation], list[str]]:
    """The evaluations on the examples that all have, and what the reader must know about that."""
    for one in found:
        check_ids(one)
    check_protocol(found)
    shared = set(found[0].columns.ids).intersection(*(one.columns.ids for one in found[1:]))
    most = max(len(one.columns) for one in found)
    if not shared:
        raise UserError(
            f"{found[0].place.said} and the others have no example in common; "
            "compare evaluations of the same data."
        )
    kept = [
        one if len(one.columns) == len(shared) else read(one.place, only=shared, advance=advance)
        for one in found
    ]
    ids = kept[0].columns.ids
    for one in kept:
        places = {name: number for number, name in enumerate(one.columns.ids)}
        one.order = np.array([places[name] for name in ids], dtype=np.int64)
        check_same(kept[0], one)
    mark_own_budgets(kept)
    note = f"Only the {len(shared)} texts that all have count; the largest evaluation has {most}."
    return kept, [note] if most > len(shared) else []


def _number(saved: float | None) -> float:
    """A number as JSON keeps it, which has no NaN."""
    return nan if saved is None else saved


def _equal_values(one: float, other: float) -> bool:
    return isclose(one, other) or (one != one and other != other)
