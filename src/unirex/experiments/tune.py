"""`tune`: search the settings of a method for performance, faithfulness and plausibility on dev."""

from __future__ import annotations

import json
import time
import uuid
from collections.abc import Mapping
from concurrent.futures import Executor
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any, get_args

from unirex.config import DEFAULT_PRESET, flat
from unirex.errors import UserError, unknown
from unirex.experiments.cells import Data
from unirex.experiments.definition import SEED
from unirex.experiments.plan import checked
from unirex.experiments.rounds import Rounds, Store, optuna_module
from unirex.experiments.search import FILE, MARGIN, Objective, Sampler, Search, load_search
from unirex.experiments.space import Choice, points_in, read_space
from unirex.experiments.study import FILE as STUDY_FILE
from unirex.experiments.tuning import Tuning
from unirex.files import duration, locked, new_folder, say


def tune(
    method: str,
    data: str,
    *,
    out: str | Path,
    trials: int = 40,
    scale: str = "small",
    search: str | None = None,
    settings: Mapping[str, Any] | None = None,
    options: Mapping[str, Any] | None = None,
    preset: str = DEFAULT_PRESET,
    sampler: Sampler = "nsga2",
    objective: Objective = "pareto",
    prune: bool = False,
    margin: float = MARGIN,
    storage: str | None = None,
    workers: int = 1,
    threads: int | None = None,
    pool: Executor | None = None,
    seed: int = 0,
    shown: bool = True,
) -> Tuning:
    """Search the settings of a method; the same call again goes on until there are `trials` of them.

    Args:
        method: a name from `unirex list methods`.
        data: a name, a file or a folder; trained on its train split and measured on dev, never on test.
        out: the folder of the search; its cells are in the folder `cells` beside, shared with studies.
        trials: how many there are in the end, those that fail or are pruned included; no point of a space of
            choices is tried twice, so there may be fewer.
        scale: `paper`, `small` or `tiny`.
        search: a YAML file of settings with their choices or ranges; None: the weights of the paper.
        settings: of every trial, nested.
        options: how data is read: keyword arguments of `load_dataset`.
        preset: of settings.
        sampler: `nsga2`, `tpe`, or `grid` for every point of a space of choices.
        objective: `pareto`: choose from the front; `cnrg`: from all trials, as the paper does.
        prune: give up trials whose short training performs worse than the best one by more than `margin`.
        margin: of performance, from 0 to 1.
        storage: an Optuna URL that several machines share; None: a journal in the folder.
        workers: processes.
        threads: CPU threads of each; None: the cores divided among them.
        pool: who runs cells, `workers` at a time, if not processes of this machine.
        seed: of the sampler and of every training.
        shown: report progress.
    """
    optuna_module()
    given = Search(
        method,
        Data(data, tuple((options or {}).items())),
        {},
        scale,
        settings or {},
        preset,
        seed,
        sampler,
        objective,
        prune,
        margin,
    )
    given = replace(given, space=_space(given, search))
    _check(given, trials)
    folder = Path(out)
    with new_folder(folder), locked(folder):
        store = _opened(given, folder, storage)
        rounds = Rounds(given, folder, store)
        given.save(folder, storage=store.url, study=store.study, owner=store.owner)
        points = points_in(given.space)
        if points is not None and points < trials:
            trials = points
            if shown:
                say(f"note: the search has {points} points; each is tried once.")
        begin, ran = time.monotonic(), 0
        while batch := rounds.next(trials):
            if shown:
                numbers, spent = ", ".join(str(trial.number) for trial in batch), time.monotonic() - begin
                left = f"; about {duration(spent / ran * rounds.left(trials))} left" if ran else ""
                say(f"trials {numbers}; {trials} in the end{left}")
            rounds.run(batch, workers=workers, threads=threads, pool=pool, shown=shown)
            ran += len(batch)
        return rounds.tuning()


def load_tuning(folder: Path) -> Tuning:
    """What the search in a folder has found so far."""
    optuna_module()
    search, facts = load_search(folder)
    store = Store(facts["storage"], facts["study"], facts["owner"])
    return Rounds(search, folder, store, new=False).tuning()


def _space(search: Search, file: str | None) -> Any:
    settings, data = search.definition.settings, search.data.source
    return read_space(file, search.method, settings, preset=search.preset, dataset=data)


def _check(search: Search, trials: int) -> None:
    """Refuse what cannot be searched, before anything is trained."""
    for name, value, known in (
        ("sampler", search.sampler, get_args(Sampler)),
        ("objective", search.objective, get_args(Objective)),
    ):
        if value not in known:
            raise unknown(name, value, known)
    if SEED in search.settings:
        raise UserError(f"--settings.{SEED} {search.settings[SEED]}: the seed of all trials is --seed.")
    for name in flat(search.settings):
        if name in search.space:
            raise UserError(f"--settings.{name}: the search varies it; leave it out here or in --search.")
    if trials < 1:
        raise UserError(f"--trials {trials}: give at least 1.")
    if not 0 < search.margin <= 1:
        raise UserError(f"--margin {search.margin}: give a share of performance above 0 and up to 1.")
    ranges = [name for name, part in search.space.items() if not isinstance(part, Choice)]
    if search.sampler == "grid" and ranges:
        raise UserError(f"--sampler grid: needs lists of choices, but {ranges[0]} has a range.")
    first = {name: part.ends[0] for name, part in search.space.items()}
    problems = checked(search.study(first))
    if problems:
        raise UserError(problems[0])


def _opened(search: Search, folder: Path, storage: str | None) -> Store:
    """The storage of the folder; a folder that holds a study or another search is refused."""
    if (folder / STUDY_FILE).exists():
        raise UserError(f"{folder}: holds a study; choose another --out.")
    if not (folder / FILE).exists():
        return Store(storage, f"unirex-{_digest(search)}", uuid.uuid4().hex)
    before, facts = load_search(folder)
    changed = [name for name in _content(search) if _content(search)[name] != _content(before)[name]]
    if facts["storage"] != storage:
        changed.append("storage")
    if changed:
        raise UserError(
            f"{folder}: holds a search with another {' and '.join(changed)}; choose another --out."
        )
    return Store(storage, facts["study"], facts["owner"])


def _content(search: Search) -> dict[str, Any]:
    """What must not change from one call to the next; how the run is chosen may."""
    content = json.loads(json.dumps(asdict(search)))
    del content["objective"]
    return content


def _digest(search: Search) -> str:
    from unirex.methods.stage_keys import content_key

    return content_key(_content(search))
