"""Who is asked what, and in which order: a counterbalanced plan of every annotator's questions."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from unirex.user_study.definition import ALIGNMENT, CONFIDENCE, GOLD, Definition, Part, Task


@dataclass(frozen=True, slots=True)
class Planned:
    """One question of an annotator's plan."""

    task: Task
    part: Part
    item: int  # its number in the definition
    arm: str
    marked: bool = True  # whether the arm's words are marked
    right: str | None = None  # forward simulation: the label that counts as right
    score: int | None = None  # of an attention check: the confidence or alignment that is asked for


def williams_square(size: int) -> list[list[int]]:
    """Orders of arms in which each comes equally often in each place and after each other one.

    One order per row: `size` rows, or twice as many if the size is odd (Williams 1949).

    >>> williams_square(4)
    [[0, 1, 3, 2], [1, 2, 0, 3], [2, 3, 1, 0], [3, 0, 2, 1]]
    >>> williams_square(3)
    [[0, 1, 2], [1, 2, 0], [2, 0, 1], [2, 1, 0], [0, 2, 1], [1, 0, 2]]
    """
    first = [0]
    for step in range(1, size):
        first.append((step + 1) // 2 if step % 2 else size - step // 2)
    rows = [[(arm + shift) % size for arm in first] for shift in range(size)]
    return rows + [row[::-1] for row in rows] if size % 2 and size > 1 else rows


def plan_questions(definition: Definition, annotator: int) -> list[Planned]:
    """All questions of one annotator, in order; the same for the same seed and number."""
    generator = np.random.default_rng([definition.seed, annotator])
    plan: list[Planned] = []
    if definition.design == "learning":
        plan += _practice(definition, "simulation")
        return plan + list(_learning(definition, annotator, generator))
    for task in definition.tasks:  # simulation first: a rating shows the label that simulation asks for
        plan += _practice(definition, task)
        plan += _with_checks(
            definition, task, list(_rounds(definition, task, annotator, generator)), generator
        )
    return plan


def _practice(definition: Definition, task: Task) -> Iterator[Planned]:
    """The same easy start for all, with the marks of people."""
    for number in definition.numbers("practice"):
        yield _question(definition, task, "practice", number, GOLD)


def _question(
    definition: Definition, task: Task, part: Part, number: int, arm: str, *, marked: bool = True
) -> Planned:
    label = definition.items[number].showings[arm].label
    return Planned(task, part, number, arm, marked, label if task == "simulation" else None)


def _rounds(
    definition: Definition, task: Task, annotator: int, generator: np.random.Generator
) -> Iterator[Planned]:
    """Every text once a round, each time in another arm.

    Text i of annotator a takes the orders of row i + a of the square. So in a round all arms occur equally
    often, and over annotators each text meets each arm equally often in each round.
    """
    arms, numbers = definition.arms_of(task), definition.numbers("main")
    square = williams_square(len(arms))
    for round_ in range(min(definition.rounds, len(arms))):
        for place in _spread(len(numbers), generator):
            arm = arms[square[(place + annotator) % len(square)][round_]]
            yield _question(definition, task, "main", numbers[place], arm)


def _spread(size: int, generator: np.random.Generator) -> list[int]:
    """A random order in which the first half stays first: a text returns after half a round at least."""
    half = size // 2
    return [*generator.permutation(half).tolist(), *(half + generator.permutation(size - half)).tolist()]


def _with_checks(
    definition: Definition,
    task: Task,
    plan: Sequence[Planned],
    generator: np.random.Generator,
    *,
    marked: bool = True,
) -> list[Planned]:
    """The plan with attention checks at even distances, each asking for a random answer."""
    checks, mixed = definition.numbers("check"), list(plan)
    for count, number in reversed(list(enumerate(checks, start=1))):
        labels = definition.labels_of(definition.items[number])
        scale = CONFIDENCE if task == "simulation" else ALIGNMENT
        label = str(generator.choice(labels)) if task == "simulation" else None
        score = int(generator.integers(1, len(scale) + 1))
        check = Planned(task, "check", number, GOLD, marked, right=label, score=score)
        mixed.insert(count * len(plan) // (len(checks) + 1), check)
    return mixed


def _learning(definition: Definition, annotator: int, generator: np.random.Generator) -> Iterator[Planned]:
    """Texts with labels, a test, the same texts with labels and reasons, the same test (Hase & Bansal 2020).

    The reasons are on other texts than the test, so that they cannot give its answers away; what they teach
    is the difference between the tests.
    """
    arms = [arm.name for arm in definition.arms]
    square, shown = williams_square(len(arms)), definition.numbers("learning")
    tests: tuple[tuple[Part, bool], ...] = (("pre", False), ("post", True))
    for place in square[annotator % len(square)][: definition.rounds]:
        arm = arms[place]
        for part, marked in tests:
            for number in generator.permutation(shown).tolist():
                yield _question(definition, "reading", "learning", number, arm, marked=marked)
            order = generator.permutation(definition.numbers("main")).tolist()
            test = [_question(definition, "simulation", part, at, arm, marked=False) for at in order]
            if part == "post":
                test = _with_checks(definition, "simulation", test, generator, marked=False)
            yield from test
