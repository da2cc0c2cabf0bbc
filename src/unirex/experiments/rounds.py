"""The rounds of a search: trials asked of Optuna, trained and measured as cells, and told.

What is asked depends on the trials before the round, the seed and the number of the trial alone, so that
neither the number of workers nor an interruption changes it. No point of a space of choices is tried twice.
"""

from __future__ import annotations

import json
import os
import random
import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

from unirex.errors import UserError, one_line
from unirex.experiments.engine import run_cells
from unirex.experiments.needs import with_needs
from unirex.experiments.passes import work_of
from unirex.experiments.results import distinct
from unirex.experiments.search import Search
from unirex.experiments.space import distributions, points_in, points_of
from unirex.experiments.study import Measured, Study, store_of
from unirex.experiments.tuning import State, Trial, Tuning
from unirex.metrics.registry import metric
from unirex.report.table import cell

ROUND = 4  # trials asked for together
POPULATION = 8  # of NSGA-II, and random trials before TPE begins: 40 trials are five generations
FEWEST = 10  # finished trials; of fewer, importances say nothing
JOURNAL = "trials.journal"
OWNER, METRICS, COLLAPSED, NOTE, SHORT = "owner", "metrics", "collapsed", "note", "short"  # user attributes
MADE_WITH = ("versions", "git")  # kept with every cell
WAITING = "WAITING"  # Optuna's, of a point that is queued
STATES: dict[str, State] = {"COMPLETE": "done", "PRUNED": "pruned", "FAIL": "failed", "RUNNING": "begun"}


def optuna_module() -> Any:
    """Optuna, quiet; without it, how to get it."""
    try:
        optuna = import_module("optuna")
    except ImportError as error:
        raise UserError("tuning needs Optuna: pip install 'unirex[tune]'") from error
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    return optuna


@dataclass(frozen=True)
class Store:
    """Where trials are kept.

    Args:
        url: of Optuna; None: the journal in the folder.
        study: name of the study there.
        owner: whose trials are those of this folder; others may share the storage.
    """

    url: str | None
    study: str
    owner: str


class Rounds:
    """The trials of a search, asked for and told to Optuna round by round."""

    def __init__(self, search: Search, folder: Path, store: Store, *, new: bool = True) -> None:
        self.search, self.folder, self.store = search, folder, store
        self.optuna = optuna_module()
        self.distributions = distributions(search.space)
        if new and store.url is None:
            _mend(folder / JOURNAL)
        with _storage_errors(store.url or str(folder / JOURNAL)):
            where = {
                "storage": _journal(folder / JOURNAL) if store.url is None else store.url,
                "study_name": store.study,
            }
            if new:
                directions = ["maximize"] * len(search.objectives)
                self.study = self.optuna.create_study(**where, directions=directions, load_if_exists=True)
            else:  # only reads, as another process may be at work
                self.study = self.optuna.load_study(**where)

    def next(self, trials: int) -> list[Any]:
        """The trials of the next round: those a dead process left, and new ones; none if all are there."""
        whole = [trial for trial in self._trials() if self._is_whole(trial)]
        running = [trial for trial in whole if not trial.state.is_finished()]
        batch = [trial for trial in running if self._is_ours(trial)]
        begun = (len(whole) - len(batch)) % ROUND  # trials of this round that are told already
        room = max(ROUND - begun - len(batch), 0 if batch else 1)
        return batch + [self._ask() for _ in range(min(room, trials - len(whole)))]

    def left(self, trials: int) -> int:
        """How many of this number of trials are not finished."""
        return trials - sum(trial.state.is_finished() for trial in self._trials() if self._is_whole(trial))

    def _trials(self) -> list[Any]:
        return self.study.get_trials(deepcopy=False)

    def _is_whole(self, trial: Any) -> bool:
        """Whether a trial has all its settings; a process that dies while it asks leaves one that has not."""
        return self.distributions.keys() <= trial.params.keys()

    def _is_ours(self, trial: Any) -> bool:
        return self.store.url is None or trial.user_attrs.get(OWNER) == self.store.owner

    def _ask(self) -> Any:
        number = len(self._trials())
        self.study.sampler = self._sampler(number)
        waiting = any(trial.state.name == WAITING for trial in self._trials())  # since a kill: taken first
        if self.search.sampler != "grid" and points_in(self.search.space) is not None and not waiting:
            self.study.enqueue_trial(self._untried(number))
        trial = self.study.ask(self.distributions)
        if self.store.url is not None:
            trial.set_user_attr(OWNER, self.store.owner)
        return self._trials()[trial.number]

    def _untried(self, number: int) -> dict[str, Any]:
        """What the sampler would try, or any other point if that was tried: samplers repeat what was good."""
        tried = [self._point(trial) for trial in self._trials() if self._is_whole(trial)]
        aside = self.optuna.create_study(directions=self.study.directions, sampler=self._sampler(number))
        aside.add_trials([trial for trial in self._trials() if trial.state.name != WAITING])
        wanted = dict(aside.ask(self.distributions).params)
        if wanted not in tried:
            return wanted
        others = [point for point in points_of(self.search.space) if point not in tried]
        return random.Random(f"{self.search.seed} {number} another").choice(others or [wanted])

    def _sampler(self, number: int) -> Any:
        """The sampler of one trial: its seed is the search's and the trial's, and it has no other memory."""
        samplers, seed = self.optuna.samplers, random.Random(f"{self.search.seed} {number}").getrandbits(32)
        if self.search.sampler == "nsga2":
            return samplers.NSGAIISampler(population_size=POPULATION, seed=seed)
        if self.search.sampler == "tpe":
            return samplers.TPESampler(n_startup_trials=POPULATION, seed=seed)
        choices = {name: part.ends for name, part in self.search.space.items()}
        return samplers.GridSampler(choices, seed=self.search.seed)

    def run(self, batch: Sequence[Any], **options: Any) -> None:
        """Train and measure the trials of a round, then tell Optuna about all of them in their order."""
        studies = {trial.number: self.search.study(self._point(trial), name=_name(trial)) for trial in batch}
        pruned = self._pruned(batch, options) if self.search.prune else {}
        for number in pruned:
            del studies[number]
        errors = self._run_studies(studies.values(), options)
        for trial in batch:
            if trial.number in pruned:
                self._tell(trial, "pruned", note=pruned[trial.number])
            else:
                self._tell_measured(trial, studies[trial.number].measured[0], errors)
        if not any(trial.state.name in ("COMPLETE", "PRUNED") for trial in self._trials()):
            raise UserError(
                f"no trial could be done; the first one: {next(iter(errors.values()), 'no number')}"
            )

    def _run_studies(self, studies: Iterable[Study], options: Mapping[str, Any]) -> dict[str, str]:
        """Run all their cells together; what failed, by key."""
        cells = list({cell.key: cell for study in studies for cell in study.cells}.values())
        if options.get("pool") is not None:  # processes of this machine are not chosen by what cells need
            cells = with_needs(cells, work_of(cells))
        failures = run_cells(cells, store_of(self.folder), retry_failed=True, **options)
        return {failure.cell.key: failure.error for failure in failures}

    def _pruned(self, batch: Sequence[Any], options: Mapping[str, Any]) -> dict[int, str]:
        """Which trials are given up after a short training, and why; compared with all short ones so far."""
        studies = {trial.number: self.search.short(self._point(trial), name=_name(trial)) for trial in batch}
        errors = self._run_studies(studies.values(), options)
        key, found = self.search.performance, {}
        for trial in batch:
            measured = studies[trial.number].measured[0]
            if not _error(measured, errors):  # what fails is told after the long training has failed, too
                found[trial.number] = self._saved(measured)["metrics"][key]
                self._live(trial).set_user_attr(SHORT, found[trial.number])
        best = max(trial.user_attrs.get(SHORT, 0.0) for trial in self._trials())
        return {
            number: f"short training: {metric(key).header} {cell(key, score)}, best {cell(key, best)}"
            for number, score in found.items()
            if score < best - self.search.margin
        }

    def _tell_measured(self, trial: Any, measured: Measured, errors: Mapping[str, str]) -> None:
        error = _error(measured, errors)
        if error:
            self._tell(trial, "failed", note=error)
            return
        saved = self._saved(measured)
        metrics = {key: saved["metrics"].get(key) for key in self.search.kept_metrics}
        lacking = [key for key in self.search.objectives if metrics[key] is None]
        if lacking:
            self._tell(trial, "failed", note=f"has no {lacking[0]}")
            return
        live, answer = self._live(trial), saved["collapsed"]
        live.set_user_attr(METRICS, metrics)
        live.set_user_attr(COLLAPSED, "" if answer is None else f"it answers '{answer}' to nearly every text")
        self._tell(trial, "done", [metrics[key] for key in self.search.objectives])

    def _saved(self, measured: Measured) -> dict[str, Any]:
        store = store_of(self.folder)
        place = store / measured.cell.result(store)["place"]
        return json.loads((place / "metrics.json").read_text("utf-8"))

    def _live(self, trial: Any) -> Any:
        """A trial that can be written to; it is not sampled again."""
        self.study.sampler = self.optuna.samplers.RandomSampler()
        return self.optuna.trial.Trial(self.study, trial._trial_id)

    def _tell(
        self, trial: Any, state: State, values: Sequence[float] | None = None, *, note: str = ""
    ) -> None:
        live = self._live(trial)  # also: the grid's own sampler would stop a study that Optuna does not run
        if note:
            live.set_user_attr(NOTE, note)
        named = {there: here for here, there in STATES.items()}
        self.study.tell(live, values, self.optuna.trial.TrialState[named[state]])

    def _point(self, trial: Any) -> dict[str, Any]:
        return {name: trial.params[name] for name in self.search.space}

    def tuning(self) -> Tuning:
        """What was found so far."""
        trials = [
            Trial(
                trial.number,
                self._point(trial),
                STATES[trial.state.name],
                trial.user_attrs.get(METRICS, {}),
                trial.user_attrs.get(COLLAPSED, ""),
                trial.user_attrs.get(NOTE, ""),
            )
            for trial in self._trials()
            if self._is_whole(trial)
        ]
        return Tuning(self.search, trials, self._importances(trials), self._made(trials))

    def _made(self, trials: Sequence[Trial]) -> list[Mapping[str, Any]]:
        """The versions and revisions of the trials that were trained here."""
        try:
            measured = [
                self.search.study(trial.point).measured[0] for trial in trials if trial.state == "done"
            ]
        except UserError:  # data or encoder are no longer where they were; the numbers are in the storage
            return []
        cells = [cell for item in measured for cell in (*item.trained, item.cell)]
        store = store_of(self.folder)
        left = [cell.result(store) for cell in cells if cell.state(store) == "done"]
        return distinct(
            [{key: found[key] for key in MADE_WITH} for found in left if found.keys() >= {*MADE_WITH}]
        )

    def _importances(self, trials: Sequence[Trial]) -> dict[str, dict[str, float]]:
        """Of every objective, how much each setting matters to be among the best; nothing of few trials."""
        varied = {name for name in self.search.space if len({str(trial.point[name]) for trial in trials}) > 1}
        if sum(trial.state == "done" for trial in trials) < FEWEST or len(varied) < 2:
            return {}
        found = {}
        for number, key in enumerate(self.search.objectives):
            with warnings.catch_warnings():
                warnings.filterwarnings("ignore", message="PedAnovaImportanceEvaluator")  # of the sign
                shares = self.optuna.importance.get_param_importances(  # asks for low targets
                    self.study,
                    evaluator=self.optuna.importance.PedAnovaImportanceEvaluator(),  # not the default of 4
                    target=lambda trial, number=number: -trial.values[number],
                )
            found[key] = {name: float(shares[name]) for name in self.search.space if name in shares}
        return found


def _name(trial: Any) -> str:
    return f"trial {trial.number}"


def _error(measured: Measured, errors: Mapping[str, str]) -> str:
    """Why a measurement could not be made, or ""."""
    return next((errors[cell.key] for cell in (*measured.trained, measured.cell) if cell.key in errors), "")


def _journal(path: Path) -> Any:
    """Optuna's storage in one file."""
    journal = import_module("optuna.storages.journal")
    backend = journal.JournalFileBackend(str(path), journal.JournalFileOpenLock(str(path)))
    return import_module("optuna.storages").JournalStorage(backend)


def _mend(path: Path) -> None:
    """Undo what a process left that died while it wrote to the journal; this one holds the folder."""
    Path(f"{path}.lock").unlink(missing_ok=True)
    content = path.read_bytes() if path.exists() else b""
    whole = content.rfind(b"\n") + 1
    if whole < len(content):
        os.truncate(path, whole)


@contextmanager
def _storage_errors(place: str) -> Iterator[None]:
    try:
        yield
    except Exception as error:  # those of any database
        raise UserError(
            f"{place}: no storage of trials, such as sqlite:////shared/trials.db ({type(error).__name__}: "
            f"{one_line(error)})."
        ) from error
