"""A study: an experiment at a scale on some data, as cells that are run in any order their results allow."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import cached_property
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Any

from unirex.config import BUDGETS, DEFAULT_PRESET, Config, flat, merge
from unirex.data.example import answer_labels
from unirex.errors import UserError, one_line, unknown
from unirex.experiments.cells import TAUGHT_BY_CLASSIFIER, Cell, Data, measure_cell, train_cell
from unirex.experiments.definition import SEED, Definition, Settings, Variant
from unirex.experiments.definition_file import read_definition
from unirex.files import write_file
from unirex.methods.presets import each_choice, is_choice
from unirex.training.run_folder import made_with

if TYPE_CHECKING:
    from unirex.experiments.engine import Failure

FILE = "study.json"
SEARCH_FILE = "tune.json"  # of a search, which has a folder of its own
STORE = "cells"  # folder beside those of studies, which share what is in it


@dataclass(frozen=True)
class Measured:
    """A measurement of the table: a row with a seed, trained on one dataset and measured on one."""

    variant: Variant
    seed: int
    trained_on: str
    measured_on: str
    trained: tuple[Cell, ...]  # the last one is measured; before it, what that begins with
    cell: Cell


@dataclass
class Study:
    """An experiment at a scale, on data, with seeds.

    Args:
        definition: at its scale.
        data: what every row is trained on, each in turn.
        on: what it is measured on; empty: what it was trained on.
        split: measured.
        facts: how it was asked for.
        made: versions of packages and the revision of the code; of a study in a folder, of its last run.
    """

    definition: Definition
    data: Sequence[Data]
    on: Sequence[Data] = ()
    split: str = "test"
    facts: Mapping[str, Any] = field(default_factory=dict)
    made: Mapping[str, Any] = field(default_factory=made_with)

    @cached_property
    def measured(self) -> list[Measured]:
        """Every measurement of the table, in the order of its rows."""
        self._check_readings()
        self._check_labels()
        found = [
            self._measured(variant, replace(config, seed=seed), trained_on, measured_on)
            for variant, trained_on, config in self._configs()
            for seed in self.definition.seeds
            for measured_on in [read_by(variant.preset, data) for data in self.on] or [trained_on]
        ]
        self._check_texts(found)
        return self._that_choose(found)

    def _that_choose(self, found: Sequence[Measured]) -> list[Measured]:
        """Without rows under one choice of a preset that is none for them: they would be run as usual."""
        if not any(is_choice(name) for name in self.definition.presets):
            return list(found)
        definition = replace(self.definition, presets=(DEFAULT_PRESET,))
        usual = {measurement.cell.key for measurement in replace(self, definition=definition).measured}
        kept = [
            measurement
            for measurement in found
            if not is_choice(measurement.variant.preset) or measurement.cell.key not in usual
        ]
        if not kept:
            raise UserError(f"--preset {' '.join(self.definition.presets)}: changes nothing in these rows.")
        return kept

    def _check_readings(self) -> None:
        """Refuse presets that read other examples of a dataset: their rows could not be compared."""
        first, *others = self.definition.presets
        for data in self.on or self.data:
            for other in others:
                one, two = (read_by(name, data).load().get(self.split, ()) for name in (first, other))
                if {example.id for example in one} != {example.id for example in two}:
                    raise UserError(
                        f"--preset {first} {other}: they take other examples of {data.name} to measure on, "
                        "so rows could not be compared; run one at a time."
                    )

    def _check_texts(self, found: Sequence[Measured]) -> None:
        """Refuse ids of examples to show that no dataset has, or that a row does not measure."""
        datasets = {data.name: data for data in (self.on or self.data if self.definition.texts else ())}
        ids = {name: {one.id for one in data.load().get(self.split, ())} for name, data in datasets.items()}
        numbers = {(one.measured_on, one.cell.content["options"].get("number")): one for one in found}
        for text in map(str, self.definition.texts):
            if not any(text in known for known in ids.values()):
                raise UserError(f"texts: no example of {', '.join(ids)} ({self.split}) has the id '{text}'.")
            for (name, number), one in numbers.items():
                seen = {example.id for example in datasets[name].examples(self.split, number)}
                if text in ids[name] - seen:
                    row = f"row {one.variant.name}: texts"
                    raise UserError(
                        f"{row}: '{text}' is not among the {number} of measure.number; leave that out."
                    )

    def _check_labels(self) -> None:
        """Refuse datasets whose labels mean nothing to what is trained."""
        for data, on in product(self.data, self.on):
            known = data.load().info.labels
            answers = [example.label for example in on.examples(self.split) if example.label is not None]
            for label in (label for answer in answers if known for label in answer_labels(answer)):
                if not any(label == other and type(label) is type(other) for other in known):
                    raise UserError(
                        f"measured_on.{on.name}: {data.name} has no label {label!r}; say which of "
                        f"{', '.join(map(repr, known))} it stands for, as in "
                        f"labels: {{{label}: {known[0]}}}."
                    )

    def _configs(self) -> Iterator[tuple[Variant, Data, Config]]:
        """Every variant on all data with its settings, which are checked once for all seeds."""
        for variant in self.definition.variants():
            for data in self.data:
                config = config_of(self.definition, variant, data.source)
                yield variant, read_by(variant.preset, data), config

    def _measured(self, variant: Variant, config: Config, trained_on: Data, measured_on: Data) -> Measured:
        method, name = variant.row.method, f"{variant.name}, seed {config.seed}, {trained_on.name}"
        trained = [train_cell(method, config, trained_on, name=name)]
        if method in TAUGHT_BY_CLASSIFIER:
            first = f"classifier, seed {config.seed}, {trained_on.name}"
            trained.insert(0, train_cell("vanilla", config, trained_on, name=first))
        on = "" if measured_on.source == trained_on.source else f" on {measured_on.name}"
        options = measuring_options(self.definition, variant, config)
        try:
            cell = measure_cell(trained[-1], measured_on, options, split=self.split, name=name + on)
        except UserError as error:
            raise _of_row(self.definition, variant, error) from error
        return Measured(variant, config.seed, trained_on.name, measured_on.name, tuple(trained), cell)

    @cached_property
    def cells(self) -> list[Cell]:
        """All cells, each once, after those whose results it uses."""
        found: dict[str, Cell] = {}
        for measurement in self.measured:
            for cell in (*measurement.trained, measurement.cell):
                found.setdefault(cell.key, cell)
        return list(found.values())

    def states(self, store: Path) -> Counter[str]:
        """How many cells are done, running, failed and waiting."""
        return Counter(cell.state(store) for cell in self.cells)

    def run(
        self, folder: Path, *, workers: int = 1, threads: int | None = None, **options: Any
    ) -> list[Failure]:
        """Run the cells that are not done; the failures. Options are those of `run_cells`."""
        from unirex.experiments.engine import run_cells
        from unirex.experiments.needs import with_needs
        from unirex.experiments.passes import paces, work_of
        from unirex.experiments.workers import check_processes
        from unirex.scale.cores import threads_each

        check_processes(workers, threads)
        self.check_folder(folder)
        threads = threads or threads_each(workers)
        cells, store = self.cells, store_of(folder)  # a wrong definition is found here
        self.made = made_with()
        self.save(folder)
        work = work_of(cells)
        return run_cells(
            with_needs(cells, work) if options.get("pool") is not None else cells,
            store,
            workers=workers,
            threads=threads,
            work={key: item.passes for key, item in work.items()},
            paces=paces(cells, store, work, threads=threads),
            **options,
        )

    def check_folder(self, folder: Path) -> None:
        """Refuse a folder that holds something else."""
        if (folder / SEARCH_FILE).exists():
            raise UserError(f"{folder}: holds a search; choose another --out.")
        if folder.resolve().name == STORE:
            raise UserError(f"{folder}: a folder of this name is for cells; choose another --out.")
        try:
            there = str(json.loads((folder / FILE).read_text("utf-8"))["definition"]["name"])
        except (OSError, ValueError, KeyError, TypeError):  # none, or damaged: it is written anew
            return
        if there != self.definition.name:
            raise UserError(f"{folder}: holds a study of {there}; choose another --out.")

    def save(self, folder: Path) -> None:
        """Keep in the study's folder what it is; its cells are in the folder `cells` beside."""
        content = {
            "definition": asdict(self.definition),
            "data": [asdict(data) for data in self.data],
            "on": [asdict(data) for data in self.on],
            "split": self.split,
            "facts": dict(self.facts),
            "place": str(Path.cwd()),
            **self.made,
        }
        self.check_folder(folder)
        folder.mkdir(parents=True, exist_ok=True)
        write_file(folder / FILE, json.dumps(content, indent=1) + "\n")


def config_of(definition: Definition, variant: Variant, source: str) -> Config:
    """The settings that a variant is trained with on this data, but for the seed."""
    from unirex.methods.resolving import resolve

    settings = merge(definition.settings, variant.settings)
    try:
        return resolve(variant.row.method, None, settings, preset=variant.preset, dataset=source)
    except UserError as error:
        raise _of_row(definition, variant, error) from error


def _of_row(definition: Definition, variant: Variant, error: UserError) -> UserError:
    return UserError(f"experiment {definition.name}, row {variant.name}: {one_line(error)}")


def measuring_options(definition: Definition, variant: Variant, config: Config) -> dict[str, Any]:
    """How a variant with these settings is measured."""
    options = merge(definition.measure, variant.measure)
    if variant.row.method == "vanilla":  # a plain classifier does not know how it will be measured
        if config.budgets != BUDGETS:
            options.setdefault("budgets", list(config.budgets))
        if config.eval_removal != Config().eval_removal:
            options.setdefault("removal", config.eval_removal)
        options.setdefault("extractor", config.extractor)
        if options["extractor"] == config.extractor:
            own = {key: value for key, value in config.extractor_options.items() if key != "create_graph"}
            options["extractor_options"] = own | options.get("extractor_options", {})
    return options


def read_by(preset_name: str, data: Data) -> Data:
    """The data as a preset reads it; what the user says of reading goes first."""
    from unirex.methods import preset

    options = preset(preset_name).data_options(data.source) | dict(data.options)
    return replace(data, options=tuple(options.items()))


def store_of(folder: Path) -> Path:
    """Where the cells of a study in this folder are kept, beside it: studies of one parent share them."""
    return folder.resolve().parent / STORE


def make_study(
    experiment: str,
    *,
    scale: str = "small",
    data: Sequence[str] | None = None,
    options: Mapping[str, Any] | None = None,
    settings: Mapping[str, Any] | None = None,
    measure: Mapping[str, Any] | None = None,
    seeds: Sequence[int] | None = None,
    rows: Sequence[str] | None = None,
    presets: Sequence[str] | None = None,
    split: str = "test",
) -> Study:
    """A study of an experiment.

    Args:
        experiment: a name from `experiment_names()`, or a YAML file.
        scale: `paper`, `small`, `tiny`, or one of the file's own.
        data: names, files or folders, instead of the experiment's datasets.
        options: how data is read: keyword arguments of `load_dataset`, such as `root`.
        settings: of every training, over those of the scale; not what a row sets itself.
        measure: of every measurement, likewise: options of `evaluate`, such as `number`.
        seeds: instead of the experiment's.
        rows: names of the rows to run; all if not given.
        presets: of settings, each of which every row is run under: `["default", "parity"]` shows what the
            choices of the released research code do together, `["default", "parity:each"]` one by one.
        split: to measure on.
    """
    definition = read_definition(experiment).at_scale(scale)
    if rows:
        known = {row.name: row for row in definition.rows}
        for name in rows:
            if name not in known:
                raise unknown("row", name, known)
        definition = replace(definition, rows=[known[name] for name in dict.fromkeys(rows)])
    for kind, given in (("settings", settings), ("measure", measure)):
        _check_free(definition, kind, given or {})
    for seed in seeds or ():
        if seed < 0:
            raise UserError(f"--seeds {seed}: seeds are whole numbers from 0 on.")
    definition = replace(
        definition,
        settings=merge(definition.settings, settings or {}),
        measure=merge(definition.measure, measure or {}),
        seeds=tuple(dict.fromkeys(definition.seeds if seeds is None else seeds)),
        data=tuple(dict.fromkeys(definition.data if data is None else data)),
    )
    sources = [*definition.data, *definition.measured_on]
    names = each_choice(definition.presets if presets is None else presets, sources)
    definition = replace(definition, presets=names)
    reading = tuple((options or {}).items())
    trained_on = [Data(source, reading) for source in definition.data]
    on = [Data(source, reading, _labels(table)) for source, table in definition.measured_on.items()]
    for datasets in (trained_on, on):
        _check_names(datasets)
    return Study(definition, trained_on, on, split, {"experiment": experiment, "scale": scale})


def _labels(about: Settings | None) -> tuple[tuple[str, Any], ...]:
    """What the labels of a dataset stand for that is only measured on."""
    return tuple((str(label), meant) for label, meant in ((about or {}).get("labels") or {}).items())


def _check_free(definition: Definition, kind: str, given: Settings) -> None:
    """Refuse settings that rows set themselves, or that vary: they would do nothing there."""
    if SEED in given:
        raise UserError(f"--{kind}.{SEED} {given[SEED]}: seeds of trainings are --seeds.")
    for variant in definition.variants():
        own = flat(variant.settings if kind == "settings" else variant.measure)
        taken = [name for name in flat(given) if name in own]
        if taken:
            raise UserError(
                f"--{kind}.{taken[0]}: the row {variant.name} has its own, {own[taken[0]]}; "
                "take other rows with --rows, or write an experiment of your own."
            )


def _check_names(datasets: Sequence[Data]) -> None:
    """Refuse datasets of one name, which tables could not tell apart."""
    for name, times in Counter(data.name for data in datasets).items():
        if times > 1:
            raise UserError(f"--data: {times} datasets are called '{name}'; rename all but one.")
