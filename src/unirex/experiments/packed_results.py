"""The results in packs: those of several seeds, rows or machines put together, and reported like a study."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from unirex.comparison.sources import SEEDS, EvaluationSource
from unirex.config import flat, plain
from unirex.errors import UserError
from unirex.experiments.cells import trained_config
from unirex.experiments.definition import Definition, Variant
from unirex.experiments.definition_file import experiment_names, read_definition
from unirex.experiments.pack import Pack, Packed, slot, without_folders
from unirex.experiments.results import Results, distinct, with_interval, with_positive_last
from unirex.experiments.study import Measured, config_of, measuring_options
from unirex.removals import REMOVALS

TABLES = ("metrics", "intervals", "floor", "counts")  # of a metrics.json, by metric


class PackedResults(Results):
    """The measurements of one pack, or of several.

    The first says which experiment it is. Of packs of another experiment those measurements are taken that
    the first one's plan has too: the same training, measured in the same way.
    """

    has_texts = False

    def __init__(self, packs: Sequence[Pack]) -> None:
        first = packs[0]
        for pack in packs[1:]:
            if pack.scale != first.scale:
                said = f"is of scale {pack.scale}, {first.place} of {first.scale}"
                raise UserError(f"{pack.place}: {said}; report them one by one.")
        own = [pack for pack in packs if pack.definition.name == first.definition.name]
        others = [pack for pack in packs if pack.definition.name != first.definition.name]
        for pack in others:
            own.append(_borrowed(pack, own))
        packs = own
        self.packs = packs
        self.definition, self.scale = _merged(packs), first.scale
        self._found = _by_slot(packs)

    @property
    def finished(self) -> list[Measured]:
        """The measurements, in the order of rows and seeds."""
        rows = [row.name for row in self.definition.rows]
        found = [packed.measured for packed in self._found.values()]
        return sorted(
            found, key=lambda measurement: (rows.index(measurement.variant.row.name), measurement.seed)
        )

    @property
    def made(self) -> list[Mapping[str, Any]]:
        """The versions and revisions of all packs."""
        return distinct([part for pack in self.packs for part in pack.made])

    @property
    def planned(self) -> list[str]:
        """The names of all measurements: what any pack plans, with the seeds of all."""
        order = {variant.name: number for number, variant in enumerate(self.definition.variants())}
        return sorted(
            (name for name, *_ in _planned(self.packs)), key=lambda name: order.get(name, len(order))
        )

    @property
    def other_settings(self) -> list[str]:
        """The rows that were trained or measured with other settings than most of their dataset."""
        said = []
        for on in self.datasets():
            here = [found for found in self.finished if (found.trained_on, found.measured_on) == on]
            chosen = [self._chosen(measurement) for measurement in here]
            names = dict.fromkeys(name for own in chosen for name in own)
            values = {name: Counter(json.dumps(own[name]) for own in chosen if name in own) for name in names}
            usual = {name: json.loads(found.most_common(1)[0][0]) for name, found in values.items()}
            rows: dict[str, dict[str, None]] = {}
            for measurement, own in zip(here, chosen, strict=True):
                other = [
                    f"{name} {value} ({usual[name]})" for name, value in own.items() if value != usual[name]
                ]
                if other:
                    rows.setdefault(", ".join(other), {})[measurement.variant.name] = None
            where = f" on {on[1]}" if len(self.datasets()) > 1 else ""
            said += [f"{', '.join(found)}{where}: {other}." for other, found in rows.items()]
        return said

    def _chosen(self, measurement: Measured) -> dict[str, Any]:
        """The settings of a measurement that any pack chooses for all its rows, but for what its row sets."""
        place, variant = slot(measurement), measurement.variant
        definitions = [pack.definition for pack in self.packs]
        chosen = next(
            flat(without_folders(pack.definition.settings))
            for pack in self.packs
            if any(slot(packed.measured) == place for packed in pack.measurements)
        )
        trained = flat(measurement.trained[-1].content["config"])
        used = {name for name in trained if chosen.get(name) in (None, trained[name])}  # not by every method
        settings = {name for part in definitions for name in flat(part.settings)} & used
        measured = flat(measurement.cell.content["options"])
        options = {name for part in definitions for name in flat(part.measure)}
        return {name: trained[name] for name in sorted(settings - {*flat(variant.settings)})} | {
            f"measure.{name}": measured.get(name) for name in sorted(options - {*flat(variant.measure)})
        }

    def evaluation(self, measurement: Measured) -> EvaluationSource:
        """A measurement, to be compared."""
        return with_positive_last(self._found[slot(measurement)].source, self.saved(measurement))

    def saved(self, measurement: Measured) -> dict[str, Any]:
        """Its `metrics.json`."""
        return with_interval(dict(self._found[slot(measurement)].saved))


def _planned(packs: Sequence[Pack]) -> list[tuple[str, int, str, str]]:
    """What these packs plan, each with the seeds of all."""
    seeds = sorted({seed for pack in packs for seed in pack.definition.seeds})
    places = dict.fromkeys(
        (name, trained, measured) for pack in packs for name, _, trained, measured in pack.planned
    )
    return [(name, seed, trained, measured) for name, trained, measured in places for seed in seeds]


def _borrowed(pack: Pack, own: Sequence[Pack]) -> Pack:
    """What a pack of another experiment has that this one plans and lacks, under the names it has here."""
    planned = set(_planned(own)) - {slot(packed.measured) for part in own for packed in part.measurements}
    variants = {
        variant.name: (variant, part.definition) for part in own for variant in part.definition.variants()
    }
    splits = [packed.measured.cell.content["split"] for part in own for packed in part.measurements]
    asked = [
        (packed, variant, definition)
        for packed in pack.measurements
        for variant, definition in variants.values()
        if slot(replace(packed.measured, variant=variant)) in planned
        and packed.measured.cell.content["split"] in splits
        and _same_reading(packed.measured, pack.definition, variant, definition)
    ]
    found = [
        (packed, definition)
        for part, variant, definition in asked
        if (packed := _as_variant(part, variant, definition)) is not None
    ]
    if not found:
        raise UserError(
            f"{pack.place}: is of experiment {pack.definition.name} and has nothing that is missing in "
            f"{own[0].place}, of {own[0].definition.name}; report them one by one."
        )
    return replace(pack, definition=found[0][1], planned=[], measurements=[packed for packed, _ in found])


def _same_reading(measurement: Measured, theirs: Definition, variant: Variant, ours: Definition) -> bool:
    """Whether two experiments read a dataset alike: by one preset, its labels standing for the same."""

    def labels(definition: Definition) -> Any:
        tables = {Path(source).stem: table for source, table in definition.measured_on.items()}
        return (tables.get(measurement.measured_on) or {}).get("labels")

    return measurement.variant.preset == variant.preset and labels(theirs) == labels(ours)


def _as_variant(packed: Packed, variant: Variant, definition: Definition) -> Packed | None:
    """A measurement of another experiment as that of a variant of this one, if it is the same.

    It may have been measured under more ways of removing tokens, which are left out then.
    """
    measurement, cell, method = packed.measured, packed.measured.cell, variant.row.method
    if measurement.trained[-1].content["method"] != method:
        return None
    config = replace(config_of(definition, variant, measurement.trained_on), seed=measurement.seed)
    options = measuring_options(definition, variant, config)
    beside = options.get("beside")
    if beside is not None and set(beside) <= _removals(packed):
        cell = replace(
            cell, content={**cell.content, "options": {**cell.content["options"], "beside": beside}}
        )
        packed = _without_removals(packed, _removals(packed) - set(beside))
    settings = without_folders(plain(trained_config(method, config)))
    trained = replace(measurement.trained[-1], content={"method": method, "config": settings})
    wanted = replace(cell, content={**cell.content, "options": options})
    measured = replace(measurement, variant=variant, cell=cell)
    different = _differing(measured, replace(measured, trained=(trained,), cell=wanted))
    return None if different else replace(packed, measured=measured)


def _removals(packed: Packed) -> set[str]:
    """The ways of removing tokens that were measured beside the main one."""
    return {key.partition("/")[2] for key in packed.saved["metrics"]} & set(REMOVALS)


def _without_removals(packed: Packed, names: Collection[str]) -> Packed:
    """The measurement without these ways of removing tokens."""

    def kept(values: Mapping[str, Any]) -> dict[str, Any]:
        return {key: value for key, value in values.items() if key.partition("/")[2] not in names}

    saved = {key: kept(value) if key in TABLES else value for key, value in packed.saved.items()}
    return replace(packed, saved=saved, values=replace(packed.values, columns=kept(packed.values.columns)))


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
        flat(measurement.trained[-1].content["config"])
        | flat({"measure": measurement.cell.content["options"], "split": measurement.cell.content["split"]})
        for measurement in (first, other)
    )
    names = dict.fromkeys([*ours, *theirs])
    return next((name for name in names if name not in SEEDS and ours.get(name) != theirs.get(name)), None)
