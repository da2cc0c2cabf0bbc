"""Make a study from trained systems or from saved evaluations."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import get_args

import numpy as np

from unirex.comparison.sources import EvaluationSource, find_source, group_by_method, split_name
from unirex.config import read_settings
from unirex.data.example import Example
from unirex.errors import UserError, unknown
from unirex.evaluation.records import Record
from unirex.files import say
from unirex.paper.published import paper_name, user_study
from unirex.user_study.definition import GOLD, NO_RATIONALE, Arm, Definition, Design, Role, Task
from unirex.user_study.items import Reading, pick_items, read_method
from unirex.user_study.study import UserStudy

ITEMS, ANNOTATORS = 50, 5  # Paper: 50 test instances, five annotators
PRACTICE, CHECKS = 3, 2
LEARNING = 16  # explained texts to learn from (Hase & Bansal 2020)
TASKS: tuple[Task, ...] = ("simulation", "rating")
SPARE = 2  # times as many texts as needed are explained, as gold may be cut off
SPARE_BALANCED = 8  # more, where right and wrong answers are to be even


def create_study(
    folder: str | Path,
    runs: Sequence[str | Path],
    *,
    examples: Sequence[Example] | None = None,
    dataset: str | None = None,
    items: int = ITEMS,
    annotators: int = ANNOTATORS,
    design: Design = "paper",
    tasks: Sequence[Task] = TASKS,
    rounds: int | None = None,
    practice: int = PRACTICE,
    checks: int = CHECKS,
    learning: int = LEARNING,
    seed: int = 0,
    evaluation: str | None = None,
) -> UserStudy:
    """Make a study of the rationales of several runs.

    Args:
        folder: of the study; it must not exist.
        runs: folders of runs, or with saved evaluations also files of records; `NAME=path` names one.
        examples: texts to predict and explain now; None: saved evaluations are used, and no model is loaded.
        dataset: its name, if the runs do not know it; that of the paper's study puts its numbers beside.
        items: how many texts are asked about, drawn from those with marked words.
        annotators: how many people are invited; more can be later.
        design: `paper` (forward simulation and rating), or `learning` (Hase & Bansal: texts with reasons
            apart from the test, which is taken before and after).
        tasks: of the design `paper`: `simulation`, `rating` or both.
        rounds: how often a person sees each text, each time in another arm; by default in all arms, as in the
            paper, and in one with `learning`.
        practice: texts to begin with, whose right labels are shown afterwards.
        checks: attention checks in each task.
        learning: texts to learn from, with the design `learning`.
        seed: of the choice of texts and the order of questions.
        evaluation: which saved one, if a run has several.
    """
    if design not in get_args(Design):
        raise unknown("design", design, get_args(Design))
    for name, value in {"items": items, "annotators": annotators}.items():
        if value < 1:
            raise UserError(f"{name} {value}: give how many, at least 1.")
    sizes: dict[Role, int] = {"main": items, "practice": practice, "check": checks}
    if design == "learning":
        sizes["learning"] = learning
    sources = _sources(runs, examples, sizes, evaluation=evaluation, design=design, seed=seed)
    methods = {name: read_method(source.read(), name) for name, source in sources.items()}
    arms = _arms(sources, oracles=design == "paper")
    definition = Definition(
        title=Path(folder).name,
        dataset=dataset or next((source.dataset for source in sources.values() if source.dataset), None),
        design=design,
        tasks=_tasks(tasks) if design == "paper" else ("simulation",),
        labels=_labels(methods),
        arms=arms,
        items=tuple(pick_items(methods, sizes, balanced=design == "learning", seed=seed)),
        rounds=_rounds(rounds, len(arms), design),
        seed=seed,
    )
    return UserStudy.create(folder, definition, annotators=annotators)


def _sources(
    runs: Sequence[str | Path],
    examples: Sequence[Example] | None,
    sizes: Mapping[Role, int],
    *,
    evaluation: str | None,
    design: Design,
    seed: int,
) -> dict[str, EvaluationSource]:
    """Where the records of each method come from; of several seeds of a method, the first."""
    if not runs:
        raise UserError("a study needs runs to compare: --runs runs/a runs/b")
    if examples is None:
        found = [find_source(run, evaluation=evaluation) for run in runs]
    else:
        spare = SPARE_BALANCED if design == "learning" else SPARE
        pool = _pool(examples, spare * sum(sizes.values()), seed)
        found = [_explained(run, pool) for run in runs]
    grouped = group_by_method(found)
    for name, group in grouped.items():
        if len(group) > 1:
            say(f"note: '{name}' has {len(group)} seeds; people are shown those of {group[0].origin}")
    for name in grouped:
        if name in (GOLD, NO_RATIONALE):
            raise UserError(f"'{name}' is the name of an arm that every study has; call the run otherwise.")
    return {name: group[0] for name, group in grouped.items()}


def _pool(examples: Sequence[Example], size: int, seed: int) -> list[Example]:
    """Texts at random, of those with a label and marked words."""
    marked = [example for example in examples if example.label is not None and any(example.rationale or ())]
    if not marked:
        raise UserError("none of the texts has a label and a marked rationale; a study needs both.")
    order = np.random.default_rng(seed).permutation(len(marked))[:size]
    return [marked[number] for number in sorted(order.tolist())]


def _explained(run: str | Path, examples: Sequence[Example]) -> EvaluationSource:
    """A run whose records are made when they are read."""
    name, place = split_name(str(run))
    settings = Path(place, "settings.yaml")
    known = read_settings(settings) if settings.is_file() else {}
    return EvaluationSource(place, _reader(place, examples), name, Path(place), known)


def _reader(place: str, examples: Sequence[Example]) -> Callable[[], Iterator[Record]]:
    def read() -> Iterator[Record]:
        from unirex.evaluation.run import evaluated
        from unirex.system import load

        say(f"explaining {len(examples)} texts by {place} …")
        return evaluated(load(place), examples, beside=(), draws=0)

    return read


def _arms(sources: Mapping[str, EvaluationSource], *, oracles: bool) -> tuple[Arm, ...]:
    """One arm per method, and the paper's two oracles around them."""
    printed = {row.method for row in user_study()}
    arms = []
    for name, source in sources.items():
        method = str(source.settings.get("method") or name).lower()
        extractor = source.protocol.get("extractor", source.settings.get("extractor"))
        row = name if name in printed else paper_name(method, None if extractor is None else str(extractor))
        arms.append(Arm(name, paper=row if row in printed else None))
    if not oracles:
        return tuple(arms)
    none, gold = (Arm(name, oracle=True, paper=name) for name in (NO_RATIONALE, GOLD))
    return (none, *arms, gold)


def _tasks(tasks: Sequence[Task]) -> tuple[Task, ...]:
    for task in tasks:
        if task not in TASKS:
            raise unknown("task", task, TASKS)
    if not tasks:
        raise UserError("tasks: name at least one of simulation and rating.")
    return tuple(task for task in TASKS if task in tasks)  # always simulation first


def _labels(methods: Mapping[str, Mapping[str, Reading]]) -> tuple[str, ...]:
    """The labels to choose from: the most any text has, which are letters where there are choices."""
    readings = [reading for method in methods.values() for reading in method.values()]
    longest = max((reading.labels for reading in readings), key=len)
    answers = {reading.label for reading in readings} | {reading.predicted for reading in readings}
    return tuple(dict.fromkeys([*longest, *sorted(answers)]))


def _rounds(rounds: int | None, arms: int, design: Design) -> int:
    if rounds is None:
        return arms if design == "paper" else 1
    if not 1 <= rounds <= arms:
        raise UserError(f"rounds {rounds}: give 1 to {arms}, the number of arms.")
    return rounds
