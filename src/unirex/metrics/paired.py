"""Paired tests between two systems, corrections for multiple tests, and the spread over seeds."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from unirex.errors import unknown
from unirex.metrics.bootstrap import (
    CELLS,
    LEVEL,
    bootstrap_counts,
    bootstrap_interval,
    bootstrap_means,
    bootstrap_statistic,
    interval_of,
)

Floats = NDArray[np.float64]
Kind = Literal["randomisation", "bootstrap"]
Statistic = Callable[[NDArray[Any], NDArray[np.int64]], float]

DRAWS = 10_000
FEWEST = 20  # pairs a bootstrap can tell anything from
SLACK = 1e-12  # of the sum of all sizes: sums that differ by rounding alone are equal


@dataclass(frozen=True, slots=True)
class PairedResult:
    """How much higher the first system is than the second, and how likely chance alone gives as much."""

    difference: float
    low: float  # bootstrap interval of the difference
    high: float
    p_value: float
    pairs: int  # examples both have a value for


NOTHING = PairedResult(float("nan"), float("nan"), float("nan"), float("nan"), 0)


def paired_test(
    a: ArrayLike,
    b: ArrayLike,
    *,
    kind: Kind = "randomisation",
    level: float = LEVEL,
    draws: int = DRAWS,
    seed: int = 0,
) -> PairedResult:
    """Whether the mean of `a` differs from that of `b`, both [N] over the same examples or [seeds, N].

    `randomisation`: if the systems were alike, either could have produced either value of an example, so the
    differences keep their size and get signs by chance; the p-value is the share of such draws that are at
    least as far from 0. All 2ⁿ signs are tried where these are no more than `draws`; else
    p = (1 + hits) / (1 + draws). `bootstrap`: the share of bootstrap means as far from the observed one as
    that is from 0. It rests on how the differences vary, so there is none (NaN) for fewer than 20 pairs, nor
    where all differ by the same; randomisation is exact there. Examples with NaN on either side are left out.

    >>> paired_test([1, 1, 1, 1], [0, 0, 0, 1]).p_value  # 3 differences: 2 of 8 sign patterns are as extreme
    0.25
    """
    if kind not in P_VALUES:
        raise unknown("kind of paired test", kind, P_VALUES)
    apart = _differences(a, b)
    if not apart.size:
        return NOTHING
    low, high = bootstrap_interval(apart, level=level, seed=seed)
    p_value = P_VALUES[kind](apart, draws, seed)
    return PairedResult(float(apart.mean()), low, high, p_value, len(apart))


def paired_statistic_test(
    statistic: Statistic,
    a: ArrayLike,
    b: ArrayLike,
    *,
    kind: Kind = "randomisation",
    level: float = LEVEL,
    draws: int = 1000,
    seed: int = 0,
) -> PairedResult:
    """The same for a number that is no mean, such as macro F1: outputs [N] change sides by chance.

    `statistic(outputs, rows)` takes outputs of one system and the numbers of the examples they are for. With
    `bootstrap` the examples are drawn again instead, and the number is taken anew from both outputs of each.

    >>> gold = np.array([0, 1, 1, 0, 1, 0, 1, 0])
    >>> share = lambda predicted, rows: float((predicted == gold[rows]).mean())
    >>> result = paired_statistic_test(share, gold, [1, 0, 1, 0, 1, 0, 1, 0])
    >>> result.difference, result.p_value  # both outputs that differ are better: 2 of 4 patterns
    (0.25, 0.5)
    """
    if kind not in P_VALUES:
        raise unknown("kind of paired test", kind, P_VALUES)
    ours, theirs = np.asarray(a), np.asarray(b)
    if ours.ndim != 1 or ours.shape != theirs.shape:
        raise ValueError(f"outputs of shapes {ours.shape} and {theirs.shape}; both must be [N]")
    if not ours.size:
        return NOTHING
    rows = np.arange(len(ours))
    moving = np.flatnonzero(ours != theirs)
    found = statistic(ours, rows) - statistic(theirs, rows)
    drawn = _drawn(statistic, ours, theirs, draws, seed)
    low, high = interval_of(drawn[:, None], level)
    if kind == "bootstrap":
        p_value = _by_spread(drawn, found, slack=SLACK, pairs=len(ours), alike=not moving.size)
    else:
        swapped = _swapped(statistic, ours, theirs, moving, draws=draws, seed=seed)
        p_value = _share(swapped, found, slack=SLACK, exact=_all_fit(len(moving), draws))
    return PairedResult(float(found), float(low[0]), float(high[0]), p_value, len(ours))


def _differences(a: ArrayLike, b: ArrayLike) -> Floats:
    """Their difference for each example that has both."""
    ours, theirs = _per_example(a), _per_example(b)
    if ours.shape != theirs.shape:
        raise ValueError(f"values of {len(ours)} and of {len(theirs)} examples; a pair must be over the same")
    apart = ours - theirs
    return apart[~np.isnan(apart)]


def _per_example(values: ArrayLike) -> Floats:
    """One value an example: the mean over the seeds that have one."""
    given = np.asarray(values, dtype=np.float64)
    if given.ndim not in (1, 2):
        raise ValueError(f"values of shape {given.shape}; [N] or [seeds, N] are needed")
    return mean_of_known(np.atleast_2d(given))


def mean_of_known(values: Floats) -> Floats:
    """The mean of each column [N] of [seeds, N] over the seeds that have a value; NaN if none has."""
    known = ~np.isnan(values)
    with np.errstate(invalid="ignore"):
        return np.where(known, values, 0.0).sum(axis=0) / known.sum(axis=0)


def _by_signs(apart: Floats, draws: int, seed: int) -> float:
    moving = apart[apart != 0]  # the sign of nought changes nothing
    sums = [
        2 * (signs.astype(np.float64) @ moving) - moving.sum() for signs in _coins(len(moving), draws, seed)
    ]
    slack = SLACK * float(np.abs(moving).sum())
    return _share(np.concatenate(sums), moving.sum(), slack=slack, exact=_all_fit(len(moving), draws))


def _by_bootstrap(apart: Floats, draws: int, seed: int) -> float:
    means = bootstrap_means(apart, draws=draws, seed=seed)[:, 0]
    slack = SLACK * float(np.abs(apart).mean())
    return _by_spread(means, float(apart.mean()), slack=slack, pairs=len(apart), alike=not apart.any())


def _by_spread(drawn: Floats, found: float, *, slack: float, pairs: int, alike: bool) -> float:
    """The share of draws as far from what was found as that is from 0; NaN if too little varies to tell.

    Draws from a single pair are all the same, which would make any difference look certain.
    """
    if alike:
        return 1.0
    if pairs < FEWEST or float(np.ptp(drawn)) <= slack:
        return float("nan")
    return _share(drawn - found, found, slack=slack, exact=False)


P_VALUES: dict[str, Callable[[Floats, int, int], float]] = {
    "randomisation": _by_signs,
    "bootstrap": _by_bootstrap,
}


def _share(drawn: Floats, found: float, *, slack: float, exact: bool) -> float:
    """The share of draws at least as far from 0 as what was found, which is a draw itself."""
    hits = int((np.abs(drawn) >= abs(found) - slack).sum())
    return hits / len(drawn) if exact else (1 + hits) / (1 + len(drawn))


def _all_fit(coins: int, draws: int) -> bool:
    return coins < 60 and 2**coins <= draws


def _coins(number: int, draws: int, seed: int) -> Iterator[NDArray[np.int8]]:
    """Every way the coins can fall, if no more than `draws`; else so many throws: [block, coins]."""
    if _all_fit(number, draws):
        yield ((np.arange(2**number)[:, None] >> np.arange(number)) & 1).astype(np.int8)
        return
    chance = np.random.default_rng(seed)
    block = max(1, CELLS // number)
    for start in range(0, draws, block):
        yield chance.integers(0, 2, size=(min(block, draws - start), number), dtype=np.int8)


def _swapped(
    statistic: Statistic,
    ours: NDArray[Any],
    theirs: NDArray[Any],
    moving: NDArray[np.int64],
    *,
    draws: int,
    seed: int,
) -> Floats:
    """The difference of the statistic with some outputs on the other side, one a throw."""
    rows, found = np.arange(len(ours)), []
    for coins in _coins(len(moving), draws, seed):
        for throw in coins.astype(bool):
            swap = np.zeros(len(ours), dtype=bool)
            swap[moving[throw]] = True
            found.append(
                statistic(np.where(swap, theirs, ours), rows) - statistic(np.where(swap, ours, theirs), rows)
            )
    return np.array(found, dtype=np.float64)


def _drawn(statistic: Statistic, ours: NDArray[Any], theirs: NDArray[Any], draws: int, seed: int) -> Floats:
    """The difference of the statistic over examples drawn again, one a draw."""
    chance, n = np.random.default_rng(seed), len(ours)
    picks = (chance.integers(n, size=n) for _ in range(draws))
    return np.array([statistic(ours[rows], rows) - statistic(theirs[rows], rows) for rows in picks])


def mean_std(values: ArrayLike) -> tuple[float, float]:
    """The mean over seeds and how far single seeds lie from it: sample standard deviation (n - 1).

    NaN are left out. One value has no spread that could be known: NaN, not 0.

    >>> mean_std([0.5, 0.75, 1.0])
    (0.75, 0.25)
    """
    given = np.asarray(values, dtype=np.float64).ravel()
    known = given[~np.isnan(given)]
    mean = float(known.mean()) if known.size else float("nan")
    return mean, float(known.std(ddof=1)) if known.size > 1 else float("nan")


def holm(p_values: ArrayLike) -> Floats:
    """p-values that can be read one by one although many tests were made: Holm's correction (1979).

    Among those below 0.05 there is any false one with a probability of at most 5 %, however the tests depend
    on each other. The k-th smallest of m is multiplied by m - k + 1 and is no smaller than the one before.
    NaN stay NaN and do not count as tests.

    >>> holm([0.01, 0.04, 0.03]).round(6).tolist()  # 3·0.01; then 2·0.03; then max(0.06, 1·0.04)
    [0.03, 0.06, 0.06]
    """
    return _adjusted(p_values, lambda sorted_, rank, m: np.maximum.accumulate(sorted_ * (m - rank + 1)))


def benjamini_hochberg(p_values: ArrayLike) -> Floats:
    """p-values by which few of the claimed differences are false: Benjamini and Hochberg's correction (1995).

    Of those below 0.05 at most 5 % are expected to be false; milder than `holm`, for long tables. The k-th
    smallest of m is multiplied by m / k and is no larger than the one after. It holds for tests that are
    independent or depend on each other positively. NaN stay NaN and do not count as tests.

    >>> benjamini_hochberg([0.01, 0.04, 0.03]).round(6).tolist()  # 3/1·0.01; 3/2·0.03 but 3/3·0.04 after it
    [0.03, 0.04, 0.04]
    """
    return _adjusted(
        p_values, lambda sorted_, rank, m: np.minimum.accumulate((sorted_ * m / rank)[::-1])[::-1]
    )


Correction = Callable[[Floats, Floats, int], Floats]  # sorted p-values, their ranks from 1, how many


def _adjusted(p_values: ArrayLike, correct: Correction) -> Floats:
    given = np.asarray(p_values, dtype=np.float64)
    known = np.flatnonzero(~np.isnan(given))
    order = known[np.argsort(given.ravel()[known], kind="stable")]
    adjusted = np.full(given.size, np.nan)
    rank = np.arange(1.0, len(order) + 1)
    adjusted[order] = np.minimum(correct(given.ravel()[order], rank, len(order)), 1.0)
    return adjusted.reshape(given.shape)


__all__ = [
    "PairedResult",
    "benjamini_hochberg",
    "bootstrap_counts",
    "bootstrap_interval",
    "bootstrap_statistic",
    "holm",
    "mean_std",
    "paired_statistic_test",
    "paired_test",
]
