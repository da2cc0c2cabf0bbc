"""Evaluations read into columns, and made sure to be of the same examples, measured in the same way."""

from __future__ import annotations

from array import array
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from math import isclose, nan
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

from unirex.columns import Columns
from unirex.comparison.comparable import (
    against_empty,
    by_construction,
    check_ids,
    check_protocol,
    check_same,
    mark_own_budgets,
    over_budgets,
)
from unirex.comparison.likeness import Traits
from unirex.comparison.places import Place
from unirex.errors import UserError
from unirex.metrics.performance import Collapse
from unirex.summary import Summary

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
        return all(_same(_number(saved["metrics"][name]), value) for name, value in found.items())


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


def _same(one: float, other: float) -> bool:
    return isclose(one, other) or (one != one and other != other)
