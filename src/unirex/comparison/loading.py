"""Evaluations read into columns, and made sure to be of the same examples, measured in the same way."""

from __future__ import annotations

from array import array
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from math import isclose
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

from unirex.columns import Columns
from unirex.comparison.places import Place
from unirex.errors import UserError
from unirex.records import Record
from unirex.summary import Summary

SAME = ("budgets", "removal", "target")  # what must be equal for faithfulness to be comparable
Advance = Callable[[int], object]


@dataclass
class Evaluation:
    """One evaluation: the values of every example, and where the shared ones stand."""

    place: Place
    summary: Summary
    texts: array[int]  # a checksum of each text
    whole: bool = True  # all its examples are in it
    order: NDArray[np.int64] = field(init=False)  # where each shared example stands

    @property
    def columns(self) -> Columns:
        """The values of every example."""
        return self.summary.columns

    @cached_property
    def metrics(self) -> dict[str, float]:
        """Every metric by name."""
        return self.summary.metrics

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
            return {name: one["mean"] for name, one in self.place.saved["floor"].items()}
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
        if saved["metrics"].keys() != self.metrics.keys() or saved.get("texts") != len(self.columns):
            return False
        return all(isclose(saved["metrics"][name], value) for name, value in self.metrics.items())


def read(place: Place, *, only: Collection[str] | None = None, advance: Advance | None = None) -> Evaluation:
    """The evaluation, record by record; nothing of a record stays but its values."""
    summary, texts, seen = Summary(place.name or place.said), array("L"), 0
    for record in place.read():
        if advance is not None:
            advance(1)
        if only is not None and record.id not in only:
            continue
        if not seen:
            summary = Summary(summary.name, place.saved.get("labels") or record.labels or None)
            protocol = protocol_of(record)
        seen += 1
        summary.add(replace(record, draws=()))  # random scores cost as much again, five times
        texts.append(crc32("\0".join(record.segments).encode("utf-8", "surrogatepass")))
    if not seen:
        raise UserError(f"{place.said}: there are no records in it.")
    summary.seen = protocol
    return Evaluation(place, summary, texts, whole=only is None)


def protocol_of(record: Record) -> dict[str, object]:
    """How the records of an evaluation were measured."""
    return {
        "budgets": record.budgets or None,
        "removal": record.removal,
        "target": None if not record.views else "predicted" if record.target == record.predicted else "gold",
        "trained": record.trained_removal,
        "draws": len(record.draws),
    }


def together(found: Sequence[Evaluation], *, advance: Advance | None = None) -> tuple[list[Evaluation], str]:
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
    note = f"Only the {len(shared)} texts that all have count; the largest evaluation has {most}."
    return kept, note if most > len(shared) else ""


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
    """Numbers are comparable only if the same was done to the texts."""
    for name in SAME:
        told = [
            (one.place.said, one.summary.seen[name]) for one in found if one.summary.seen[name] is not None
        ]
        for said, value in told[1:]:
            if value != told[0][1]:
                raise UserError(
                    f"{told[0][0]} was measured with {name} {_said(told[0][1])}, {said} with {_said(value)}; "
                    "evaluate them alike (`unirex evaluate --budgets … --removal …`)."
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


def _said(value: object) -> str:
    return ", ".join(f"{one:g}" for one in value) if isinstance(value, tuple) else str(value)
