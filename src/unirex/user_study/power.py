"""How many items and people a study needs: the share of simulated studies that tell two methods apart."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, get_args

import numpy as np

from unirex.errors import UserError, unknown
from unirex.metrics.crossed import crossed_test
from unirex.metrics.proportions import wilson_interval
from unirex.report.grid import Cell, Grid, Head
from unirex.user_study.definition import ALIGNMENT
from unirex.user_study.simulate import Crowd, Spread

PowerMeasure = Literal["accuracy", "alignment"]
REPEATS = 200
ENOUGH = 0.8  # the usual aim
SIGNIFICANT = 0.05


def power(
    measure: PowerMeasure,
    means: tuple[float, float],
    *,
    items: int,
    people: int,
    rounds: int = 2,
    arms: int = 2,
    repeats: int = REPEATS,
    spread: Spread | None = None,
    seed: int = 0,
) -> float:
    """The share of studies of this size in which the two methods differ significantly.

    Args:
        measure: `accuracy` of forward simulation, or `alignment` of the rating.
        means: of the two methods; if they are equal, the share is that of false alarms.
        items: texts.
        people: annotators.
        rounds: how often a person sees a text, each time in another arm.
        arms: of the whole study; those beyond two have the first mean.
        repeats: simulated studies.
        spread: how answers vary.
        seed: of the simulation.
    """
    if measure not in get_args(PowerMeasure):
        raise unknown("measure", measure, get_args(PowerMeasure))
    if min(items, people) < 2 or arms < 2 or not 1 <= rounds <= arms or repeats < 1:
        raise UserError(
            f"{items} items, {people} people, {rounds} rounds, {arms} arms: at least two of each are needed, "
            "and rounds from one to the number of arms."
        )
    generator = np.random.default_rng(seed)
    who, what, turn = (axis.ravel() for axis in np.indices((people, items, rounds)))
    arm = (who + what + turn) % arms
    level = np.array([means[0], means[1], *[means[0]] * (arms - 2)])[arm]
    found = 0
    for _ in range(repeats):
        crowd = Crowd((people, items, arms), spread or Spread(), generator)
        latent = crowd.latent(who, what, arm)
        if measure == "accuracy":
            values = crowd.correct(level, latent).astype(np.float64)
        else:
            values = crowd.points(level, latent, len(ALIGNMENT)).astype(np.float64)
        found += crossed_test(values, arm, who, what, pairs=[(0, 1)])[0].p_value < SIGNIFICANT
    return found / repeats


def power_table(
    measure: PowerMeasure,
    means: tuple[float, float],
    *,
    items: Sequence[int],
    people: Sequence[int],
    rounds: int = 2,
    arms: int = 2,
    repeats: int = REPEATS,
    seed: int = 0,
) -> Grid:
    """The power of studies of several sizes; bold where it is enough."""
    body = []
    for texts in items:
        row = [Cell(f"{texts} items", numbers={"": texts})]
        for number in people:
            share = power(
                measure,
                means,
                items=texts,
                people=number,
                rounds=rounds,
                arms=arms,
                repeats=repeats,
                seed=seed,
            )
            low, high = wilson_interval(round(share * repeats), repeats)
            under = f"{low:.0%}–{high:.0%}".replace("%", " %")
            row.append(
                Cell(f"{share:.0%}".replace("%", " %"), share >= ENOUGH, under=under, numbers={"": share})
            )
        body.append(row)
    return Grid(
        [Head("", "items"), *(Head(f"{number} people", f"people_{number}") for number in people)],
        body,
        f"Power: the share of {repeats} simulated studies in which {measure} {means[0]:g} and {means[1]:g} "
        f"differ with p < 5 %, and its 95 % interval; each person sees each item in {rounds} of {arms} arms. "
        "A star: at least 80 %.",
    )
