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
from unirex.comparison.places import Place
from unirex.eraser.outside import REMOVAL as OWN_WAY
from unirex.errors import UserError
from unirex.summary import Summary

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
        if saved["metrics"].keys() != self.metrics.keys() or saved.get("texts") != len(self.columns):
            return False
        return all(_same(_number(saved["metrics"][name]), value) for name, value in self.metrics.items())


def read(place: Place, *, only: Collection[str] | None = None, advance: Advance | None = None) -> Evaluation:
    """The evaluation, record by record; nothing of a record stays but its values."""
    summary, texts, seen, draws = Summary(place.name or place.said), array("L"), 0, 0
    for record in place.read():
        if advance is not None:
            advance(1)
        if only is not None and record.id not in only:
            continue
        if not seen:
            summary, draws = Summary(summary.name, place.saved.get("labels")), len(record.draws)
        seen += 1
        summary.add(replace(record, draws=()))  # random scores cost as much again, five times
        texts.append(crc32("\0".join(record.segments).encode("utf-8", "surrogatepass")))
    if not seen:
        raise UserError(f"{place.said}: there are no records in it.")
    summary.seen["draws"] = draws
    return Evaluation(place, summary, texts, whole=only is None)


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
    note = f"Only the {len(shared)} texts that all have count; the largest evaluation has {most}."
    return kept, [note] if most > len(shared) else []


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

    What another tool did to them, nobody can check: its way of removing tokens counts as unknown.
    """
    measured = [one for one in found if one.removal is not None]
    ours = [one for one in measured if one.removal != OWN_WAY]
    _check_equal("budgets", [(one, ", ".join(f"{size:g}" for size in one.budgets)) for one in measured])
    _check_equal("removal", [(one, str(one.removal)) for one in ours])
    _check_equal("target", [(one, str(one.summary.seen["target"])) for one in measured])


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


def _number(saved: float | None) -> float:
    """A number as JSON keeps it, which has no NaN."""
    return nan if saved is None else saved


def _same(one: float, other: float) -> bool:
    return isclose(one, other) or (one != one and other != other)
