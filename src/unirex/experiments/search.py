"""What is searched: a method on data, the settings that vary, and how a point becomes cells."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields, replace
from functools import cached_property
from math import ceil
from pathlib import Path
from typing import Any, Literal

from unirex.config import DEFAULT_PRESET, Config, merge
from unirex.errors import UserError, one_line
from unirex.experiments.cells import Data, encoder_from
from unirex.experiments.definition import MEASURE, Definition, Row, nested
from unirex.experiments.definition_file import as_definition
from unirex.experiments.space import Choice, Range, Space
from unirex.experiments.study import SEARCH_FILE as FILE
from unirex.experiments.study import Study
from unirex.files import write_file
from unirex.metrics.relative_gain import FAITHFULNESS, PLAUSIBILITY
from unirex.training.run_folder import git_revision, versions

SPLIT = "dev"  # test is for what was chosen
MEASURED = {"draws": 0, "beside": []}  # no floor and no second removal: a trial is compared with trials
SHORT = 0.25  # of an epoch, before which no trial is given up
MARGIN = 0.05  # of performance, below the best short training
Sampler = Literal["nsga2", "tpe", "grid"]
Objective = Literal["pareto", "cnrg"]


@dataclass(frozen=True)
class Search:
    """What is searched: a method on data, and the settings that vary.

    Args:
        method: what every trial trains.
        data: what it is trained on; its dev split is measured.
        space: the settings that vary, by dotted name; those of the measurement begin with `measure.`.
        scale: of `library/scales.yaml`.
        settings: of every trial.
        preset: of settings.
        seed: of the sampler and of every training.
        sampler: how the settings of a trial are chosen.
        objective: how the chosen run is chosen: from the front, or from all trials.
        prune: whether trials are given up after a short training.
        margin: of performance below the best short training, from which on they are.
    """

    method: str
    data: Data
    space: Space
    scale: str = "small"
    settings: Mapping[str, Any] = field(default_factory=dict)
    preset: str = DEFAULT_PRESET
    seed: int = 0
    sampler: Sampler = "nsga2"
    objective: Objective = "pareto"
    prune: bool = False
    margin: float = MARGIN

    @cached_property
    def definition(self) -> Definition:
        """One row, at the scale."""
        content = {"rows": {self.method: {"method": self.method}}, "measure": MEASURED}
        definition = as_definition(content, "tune", place="tune").at_scale(self.scale)
        settings = merge(definition.settings, self.settings)
        return replace(definition, settings=settings, seeds=(self.seed,), presets=(self.preset,))

    def study(self, point: Mapping[str, Any], *, name: str = "") -> Study:
        """A trial: the study of one point."""
        return self._study(self.definition, point, name)

    def short(self, point: Mapping[str, Any], *, name: str = "") -> Study:
        """The short training of a point, measured for performance."""
        length = {"training.epochs": 1, "training.max_batches": self._batches(point)}
        trained = {name: value for name, value in point.items() if not name.startswith((MEASURE, *length))}
        settings = merge(self.definition.settings, nested(length))
        measure = merge(self.definition.measure, {"budgets": [20]})  # faithfulness is not asked for
        definition = replace(self.definition, settings=settings, measure=measure)
        return self._study(definition, trained, f"short {name}")

    def _study(self, definition: Definition, point: Mapping[str, Any], name: str) -> Study:
        rows, vary = [Row(name or self.method, self.method)], {key: [value] for key, value in point.items()}
        return Study(replace(definition, rows=rows, vary=vary), [self.data], split=SPLIT)

    def _batches(self, point: Mapping[str, Any]) -> int:
        training = self.config.training
        whole = ceil(len(self.data.load()["train"]) / point.get("training.batch_size", training.batch_size))
        return max(1, ceil(SHORT * min(whole, training.max_batches or whole)))

    @cached_property
    def config(self) -> Config:
        """The settings that all trials share, with the method's."""
        from unirex.methods.resolving import resolve

        settings, reading = self.definition.settings, {"preset": self.preset, "dataset": self.data.source}
        return resolve(self.method, None, settings, **reading)

    @cached_property
    def performance(self) -> str:
        """The metric that counts as performance."""
        chosen = self.config.training.metric
        return self.data.load().info.metric if chosen == "auto" else chosen

    @cached_property
    def objectives(self) -> tuple[str, ...]:
        """The metrics of the three desiderata, all of which more is better; two without gold rationales."""
        gold = any(example.rationale is not None for example in self.data.examples(SPLIT))
        return (self.performance, "csd", *(["auprc"] if gold else []))

    @property
    def kept_metrics(self) -> tuple[str, ...]:
        """What is remembered of a trial: its objectives, and what CNRG is made of."""
        gold = PLAUSIBILITY if "auprc" in self.objectives else ()
        return tuple(dict.fromkeys([*self.objectives, *FAITHFULNESS, *gold]))

    def save(self, folder: Path, **facts: Any) -> None:
        """Keep in the folder what is searched."""
        content = {
            **asdict(self),
            **facts,
            "place": str(Path.cwd()),
            "versions": versions(),
            "git": git_revision(),
        }
        write_file(folder / FILE, json.dumps(content, indent=1) + "\n")


def load_search(folder: Path) -> tuple[Search, dict[str, Any]]:
    """The search in a folder, and what else was saved with it."""
    try:
        content = json.loads((folder / FILE).read_text("utf-8"))
        place = Path(str(content.pop("place", Path.cwd())))
        data = Data.read(content.pop("data"))
        if place != Path.cwd():
            data, settings = data.seen_from(place), content["settings"]
            if "encoder" in settings:
                settings["encoder"] = encoder_from(place, settings["encoder"])
        space = {name: _part(part) for name, part in content.pop("space").items()}
        given = {
            name: content.pop(name) for name in [part.name for part in fields(Search)] if name in content
        }
        return Search(**given, data=data, space=space), content
    except FileNotFoundError as error:
        raise UserError(f"{folder}: no search there; `unirex experiment tune` makes one.") from error
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise UserError(f"{folder / FILE}: damaged ({one_line(error)}).") from error


def _part(content: Mapping[str, Any]) -> Choice | Range:
    return Choice(tuple(content["values"])) if "values" in content else Range(**content)
