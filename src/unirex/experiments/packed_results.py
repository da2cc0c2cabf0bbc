"""The results in packs: those of several seeds, rows or machines put together, and reported like a study."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from unirex.comparison.sources import SEEDS, EvaluationSource
from unirex.config import flat
from unirex.errors import UserError
from unirex.experiments.definition import Definition, experiment_names, read_definition
from unirex.experiments.pack import Pack, Packed, slot
from unirex.experiments.results import Results, distinct
from unirex.experiments.study import Measured


class PackedResults(Results):
    """The measurements of one pack, or of several of one experiment."""

    has_texts = False

    def __init__(self, packs: Sequence[Pack]) -> None:
        self.packs = packs
        first = packs[0]
        for pack in packs[1:]:
            _check_alike(first, pack)
        self.definition, self.scale = _merged(packs), first.scale
        self._found = _by_slot(packs)

    @property
    def finished(self) -> list[Measured]:
        """The measurements, in the order of rows and seeds."""
        rows = [row.name for row in self.definition.rows]
        found = [packed.measured for packed in self._found.values()]
        return sorted(found, key=lambda number: (rows.index(number.variant.row.name), number.seed))

    @property
    def made(self) -> list[Mapping[str, Any]]:
        """The versions and revisions of all packs."""
        return distinct([part for pack in self.packs for part in pack.made])

    @property
    def planned(self) -> list[str]:
        """The names of all measurements, each once."""
        return [
            name for name, *_ in dict.fromkeys(tuple(part) for pack in self.packs for part in pack.planned)
        ]

    def evaluation(self, number: Measured) -> EvaluationSource:
        """A measurement, to be compared."""
        return self._found[slot(number)].source

    def saved(self, number: Measured) -> dict[str, Any]:
        """Its `metrics.json`."""
        return dict(self._found[slot(number)].saved)


def _check_alike(first: Pack, other: Pack) -> None:
    for what, ours, theirs in (
        ("experiment", first.definition.name, other.definition.name),
        ("scale", first.scale, other.scale),
    ):
        if ours != theirs:
            raise UserError(
                f"{other.place}: is of {what} {theirs}, {first.place} of {ours}; report them one by one."
            )


def _merged(packs: Sequence[Pack]) -> Definition:
    """The definition with the rows, seeds and presets of all packs.

    Of the package's own experiments rows stand in its order, and the report has the parts it has now.
    """
    first = packs[0].definition
    own = read_definition(first.name) if first.name in experiment_names() else first
    rows = {row.name: row for pack in reversed(packs) for row in pack.definition.rows}
    order = dict.fromkeys(
        [*(row.name for row in own.rows), *(row.name for pack in packs for row in pack.definition.rows)]
    )
    seeds = sorted({seed for pack in packs for seed in pack.definition.seeds})
    merged = [rows[name] for name in order if name in rows]
    presets = tuple(dict.fromkeys(preset for pack in packs for preset in pack.definition.presets))
    return replace(first, rows=merged, seeds=seeds, report=own.report, presets=presets)


def _by_slot(packs: Sequence[Pack]) -> dict[tuple[str, int, str, str], Packed]:
    """Every measurement once; what would be mixed up is refused."""
    found: dict[tuple[str, int, str, str], Packed] = {}
    rows: dict[tuple[str, str, str], Packed] = {}
    for packed in (packed for pack in packs for packed in pack.measurements):
        place = slot(packed.measured)
        before = found.setdefault(place, packed)
        if before.measured.cell.key != packed.measured.cell.key:
            raise UserError(f"{before.place} is another measurement than {packed.place}; leave out one pack.")
        row = rows.setdefault((place[0], *place[2:]), packed)
        different = _differing(row.measured, packed.measured)
        if different:
            raise UserError(
                f"{packed.place}: has another {different} than {row.place}; seeds of one row differ in "
                "nothing else. Leave out one pack."
            )
    return found


def _differing(first: Measured, other: Measured) -> str | None:
    """The first setting that differs, but for seeds."""
    ours, theirs = (
        flat(number.trained[-1].content["config"])
        | flat({"measure": number.cell.content["options"], "split": number.cell.content["split"]})
        for number in (first, other)
    )
    names = dict.fromkeys([*ours, *theirs])
    return next((name for name in names if name not in SEEDS and ours.get(name) != theirs.get(name)), None)
