"""What a search has found: trials, the front, relative gains, the chosen run with why and its commands."""

from __future__ import annotations

import json
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from math import isnan, nan
from typing import Any, Literal

from unirex.comparison.figures import unbeaten
from unirex.config import DEFAULT_PRESET, flat, merge
from unirex.experiments.cells import Data
from unirex.experiments.definition import nested, part_of
from unirex.experiments.search import Search
from unirex.metrics.registry import metric
from unirex.metrics.relative_gain import Gains, relative_gain
from unirex.report.table import cell

READING = ("root", "format", "columns", "rationale_format", "annotators", "on_error")  # options of `train`
State = Literal["done", "pruned", "failed", "begun"]


@dataclass(frozen=True)
class Trial:
    """One point of the space and what came of it.

    Args:
        number: from 0 on.
        point: the settings it has of the space.
        state: how far it came.
        metrics: on dev, if it is done.
        collapsed: why its classifier is called constant, or "".
        note: why it was pruned or failed.
    """

    number: int
    point: Mapping[str, Any]
    state: State
    metrics: Mapping[str, float] = field(default_factory=dict)
    collapsed: str = ""
    note: str = ""

    @property
    def name(self) -> str:
        """In sentences and tables."""
        return f"trial {self.number}"


@dataclass
class Tuning:
    """What a search has found.

    Args:
        search: what was searched.
        trials: all of them, by number.
        importances: of every objective: how much each setting matters to be among the best; empty for few
            trials.
        made: versions and revisions that the trials were made with.
    """

    search: Search
    trials: Sequence[Trial]
    importances: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    made: Sequence[Mapping[str, Any]] = ()

    @property
    def done(self) -> list[Trial]:
        """The trials that were measured."""
        return [trial for trial in self.trials if trial.state == "done"]

    @cached_property
    def front(self) -> list[Trial]:
        """The trials that no other beats: at least as good in every objective and better in one."""
        keys = self.search.objectives
        best = unbeaten({trial.name: [trial.metrics[key] for key in keys] for trial in self.done})
        return [trial for trial in self.done if trial.name in best]

    @cached_property
    def gains(self) -> dict[int, Gains]:
        """Normalised relative gain of every measured trial among these, by number."""
        if not self.done:
            return {}
        weights = (1, int("auprc" in self.search.objectives), 1)
        gains = relative_gain(
            {trial.name: trial.metrics for trial in self.done},
            performance=(self.search.performance,),
            weights=weights,
            collapsed={trial.name: trial.collapsed for trial in self.done},
        )
        return {trial.number: gains[trial.name] for trial in self.done}

    def cnrg(self, trial: Trial) -> float:
        """CNRG of a trial; if some classifiers are constant, the one that is not taken in by them."""
        gain = self.gains.get(trial.number)
        if gain is None:
            return nan
        return gain.cnrg if gain.guarded is None else gain.guarded

    @property
    def candidates(self) -> list[Trial]:
        """The trials that one is chosen from, best first; of equals the earliest."""
        from_these = self.front if self.search.objective == "pareto" else self.done
        known = [trial for trial in from_these if not isnan(self.cnrg(trial))]
        return sorted(known, key=lambda trial: (-self.cnrg(trial), trial.number))

    @property
    def chosen(self) -> Trial | None:
        """The run to take: of the front, or of all trials, that with the highest CNRG."""
        return next(iter(self.candidates), None)

    @property
    def why(self) -> list[str]:
        """Why it was chosen, in sentences."""
        chosen = self.chosen
        if chosen is None:
            return ["No trial is finished, so none is chosen."]
        among = "on the Pareto front" if self.search.objective == "pareto" else "that are finished"
        number, value = len(self.candidates), f"{self.cnrg(chosen):.3f}"
        said = f"Trial {chosen.number} is the only one {among}"
        if number > 1:
            second = self.candidates[1]
            said = f"Trial {chosen.number} has the highest CNRG, {value}, of the {number} trials {among}"
            said += f"; next is {second.name} with {self.cnrg(second):.3f}"
        found = [
            f"{said}.",
            f"It has {', '.join(self._rank(chosen, key) for key in self.search.objectives)}.",
        ]
        if chosen not in self.front:
            found.append("It is not on the front of the metrics shown, as CNRG is a mean of more of them.")
        collapsed = [trial.name for trial in self.done if trial.collapsed]
        if collapsed:
            found.append(f"Off the scale of CNRG, as their answer hardly changes: {', '.join(collapsed)}.")
        return found

    def _rank(self, chosen: Trial, key: str) -> str:
        best = max(self.done, key=lambda trial: trial.metrics[key])
        value = f"{metric(key).header} {cell(key, chosen.metrics[key])}"
        if best.metrics[key] == chosen.metrics[key]:
            return f"{value} (the best)"
        return f"{value} (best: {cell(key, best.metrics[key])}, {best.name})"

    def commands(self, trial: Trial) -> list[str]:
        """What to type to train a trial again, and to measure it on test as it was measured here."""
        search, run = self.search, f"runs/{self.search.method}-tuned"
        settings = merge(search.definition.settings, nested(part_of(trial.point, measure=False)))
        data = ["--data", search.data.source, *_typed(_reading(search.data))]
        preset = [] if search.preset == DEFAULT_PRESET else ["--preset", search.preset]
        train = ["unirex", "train", "--method", search.method, *preset, *data]
        train += [*_typed(flat(settings)), *_typed({"seed": search.seed}), "--out", run]
        measured = _typed(part_of(trial.point, measure=True))
        return [shlex.join(train), shlex.join(["unirex", "evaluate", run, *preset, *data, *measured])]


def _reading(data: Data) -> dict[str, Any]:
    """The options of `train` that say how data is read."""
    table = {}
    for name, value in dict(data.options).items():
        table["data_seed" if name == "seed" else name if name in READING else f"data_options.{name}"] = value
    return flat(table)


def _typed(options: Mapping[str, Any]) -> list[str]:
    """Options as words of a command line.

    >>> _typed({"encoder": "minilm", "training.clip": 0.5, "max_length": None, "budgets": [1, 5]})
    ['--encoder=minilm', '--training.clip=0.5', '--max_length=null', '--budgets=[1, 5]']
    """
    return [
        f"--{name}={value if isinstance(value, str) else json.dumps(value)}"
        for name, value in options.items()
    ]
