"""Paired tests between two systems, the correction for multiple tests, and the spread over seeds."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray

from unirex.errors import unknown
from unirex.metrics.arrays import Floats
from unirex.metrics.bootstrap import (
    BLOCK_CELLS,
    LEVEL,
    bootstrap_interval,
    bootstrap_means,
)

PairedTest = Literal["randomisation", "bootstrap"]

FEWEST = 20  # pairs below which a bootstrap p-value means nothing
SLACK = 1e-12  # of sums and scores, relative to their size: what differs by rounding alone is equal


@dataclass(frozen=True, slots=True)
class PairedResult:
    """How much higher the first system is than the second, and how likely chance alone gives as much."""

    difference: float
    low: float  # bootstrap interval of the difference
    high: float
    p_value: float
    pairs: int  # examples both have a value for


NO_PAIRS = PairedResult(float("nan"), float("nan"), float("nan"), float("nan"), 0)


def paired_test(
    a: ArrayLike,
    b: ArrayLike,
    *,
    draws: int,
    kind: PairedTest = "randomisation",
    level: float = LEVEL,
    seed: int = 0,
) -> PairedResult:
    """Whether the mean of `a` differs from that of `b`, both [N] over the same examples or [seeds, N].

    `randomisation` (a permutation test): if the systems were alike, either could have produced either value
    of an example, so the differences keep their size and get random signs; the p-value is the share of such
    draws that are at least as far from 0. All 2ⁿ signs are tried where these are no more than `draws`; else
    p = (1 + hits) / (1 + draws). `bootstrap`: the share of bootstrap means as far from the observed one as
    that is from 0. It rests on how the differences vary, so there is none (NaN) for fewer than 20 pairs, nor
    where all differ by the same; randomisation is exact there. Examples with NaN on either side are left out.

    >>> # 3 differences: 2 of 8 sign patterns are as extreme
    >>> paired_test([1, 1, 1, 1], [0, 0, 0, 1], draws=1000).p_value
    0.25
    """
    return paired_tests([(a, b)], draws=draws, kind=kind, level=level, seed=seed)[0]


def paired_tests(
    pairs: Sequence[tuple[ArrayLike, ArrayLike]],
    *,
    draws: int,
    kind: PairedTest = "randomisation",
    level: float = LEVEL,
    seed: int = 0,
) -> list[PairedResult]:
    """`paired_test` of several pairs over the same examples, which share their draws: one matrix product.

    An example that only some pairs have values for is drawn for all, and left out of the means of the others.

    >>> [result.p_value for result in paired_tests([([1, 1], [0, 0]), ([1, 1], [1, 1])], draws=1000)]
    [0.5, 1.0]
    """
    check_kind(kind)
    if not pairs:
        return []
    differences = np.stack([_differences(a, b) for a, b in pairs], axis=1)  # [N, P]
    differences = differences[~np.isnan(differences).all(axis=1)]
    if not differences.size:
        return [NO_PAIRS] * len(pairs)
    means, counts = mean_of_known(differences), (~np.isnan(differences)).sum(axis=0)
    lows, highs = bootstrap_interval(differences, level=level, seed=seed)
    p_values = _P_VALUES[kind](differences, draws, seed)
    columns = zip(means, lows, highs, p_values, counts, strict=True)
    return [
        PairedResult(float(mean), float(low), float(high), float(p_value), int(n)) if n else NO_PAIRS
        for mean, low, high, p_value, n in columns
    ]


def mean_std(values: ArrayLike) -> tuple[float, float]:
    """Mean and sample standard deviation (n - 1) over seeds.

    NaN are left out. The spread of a single value is unknown: NaN, not 0.

    >>> mean_std([0.5, 0.75, 1.0])
    (0.75, 0.25)
    """
    given = np.asarray(values, dtype=np.float64).ravel()
    known = given[~np.isnan(given)]
    mean = float(known.mean()) if known.size else float("nan")
    return mean, float(known.std(ddof=1)) if known.size > 1 else float("nan")


def mean_of_known(values: Floats) -> Floats:
    """The mean of each column [N] of [seeds, N] over the seeds that have a value; NaN if none has.

    As `np.nanmean`, without its warning.
    """
    known = ~np.isnan(values)
    with np.errstate(invalid="ignore"):
        return np.where(known, values, 0.0).sum(axis=0) / known.sum(axis=0)


def holm(p_values: ArrayLike) -> Floats:
    """p-values corrected for the number of tests by Holm's method (1979).

    Among those below 0.05 there is any false one with a probability of at most 5 %, however the tests depend
    on each other. The k-th smallest of m is multiplied by m - k + 1 and is no smaller than the one before.
    NaN stay NaN and do not count as tests.

    >>> holm([0.01, 0.04, 0.03]).round(6).tolist()  # 3·0.01; then 2·0.03; then max(0.06, 1·0.04)
    [0.03, 0.06, 0.06]
    """
    given = np.asarray(p_values, dtype=np.float64)
    known = np.flatnonzero(~np.isnan(given))
    order = known[np.argsort(given.ravel()[known], kind="stable")]
    factors = np.arange(len(order), 0, -1)  # m - k + 1
    adjusted = np.full(given.size, np.nan)
    adjusted[order] = np.minimum(np.maximum.accumulate(given.ravel()[order] * factors), 1.0)
    return adjusted.reshape(given.shape)


def check_kind(kind: str) -> None:
    """Refuse a kind of test that does not exist."""
    kinds = get_args(PairedTest)
    if kind not in kinds:
        raise unknown("kind of paired test", kind, kinds)


def _differences(a: ArrayLike, b: ArrayLike) -> Floats:
    """The difference for each example, NaN without both values."""
    ours, theirs = _per_example(a), _per_example(b)
    if ours.shape != theirs.shape:
        raise ValueError(f"values of {len(ours)} and of {len(theirs)} examples; a pair must be over the same")
    return ours - theirs


def _per_example(values: ArrayLike) -> Floats:
    """One value per example: the mean over the seeds that have one."""
    given = np.asarray(values, dtype=np.float64)
    if given.ndim not in (1, 2):
        raise ValueError(f"values of shape {given.shape}; [N] or [seeds, N] are needed")
    return mean_of_known(np.atleast_2d(given))


def _randomisation_p_values(differences: Floats, draws: int, seed: int) -> list[float]:
    """The p-value of each column of [N, P]; few differences are enumerated, the others share random signs."""
    moving = np.nan_to_num(differences)  # the sign of zero changes nothing
    numbers = (moving != 0).sum(axis=0)
    exact = np.array([all_fit(int(number), draws) for number in numbers])
    p_values = np.full(len(numbers), np.nan)
    p_values[~exact] = _sign_shares(moving[:, ~exact], draws, seed, exact=False)
    for column in np.flatnonzero(exact):
        p_values[column] = _sign_shares(moving[:, [column]], draws, seed, exact=True)[0]
    return p_values.tolist()


def _sign_shares(moving: Floats, draws: int, seed: int, *, exact: bool) -> list[float]:
    """The share of signs that take the sum of each column [N, P] as far from 0 as it is."""
    moving = moving[(moving != 0).any(axis=1)]
    totals, sizes = moving.sum(axis=0), np.abs(moving).sum(axis=0)
    hits, number = np.zeros(len(totals), dtype=np.int64), 0
    for coins in swaps(len(moving), draws, seed) if len(totals) else ():
        sums = 2 * (coins.astype(np.float64) @ moving) - totals
        hits += (np.abs(sums) >= np.abs(totals) - SLACK * sizes).sum(axis=0)
        number += len(coins)
    return [share_of_hits(int(count), number, exact=exact) for count in hits]


def _bootstrap_p_values(differences: Floats, draws: int, seed: int) -> list[float]:
    drawn = bootstrap_means(differences, draws=draws, seed=seed)
    columns = zip(drawn.T, differences.T, strict=True)
    return [_bootstrap_mean_p(means, column[~np.isnan(column)]) for means, column in columns]


def _bootstrap_mean_p(drawn: Floats, differences: Floats) -> float:
    if not differences.size:
        return float("nan")
    slack, pairs = SLACK * float(np.abs(differences).mean()), len(differences)
    known = drawn[~np.isnan(drawn)]
    return bootstrap_p_value(
        known, float(differences.mean()), slack=slack, pairs=pairs, alike=not differences.any()
    )


def bootstrap_p_value(drawn: Floats, observed: float, *, slack: float, pairs: int, alike: bool) -> float:
    """The share of draws as far from the observed value as that is from 0; NaN if too little varies.

    Draws from a single pair are all the same, which would make any difference look certain.
    """
    if alike:
        return 1.0
    if pairs < FEWEST or float(np.ptp(drawn)) <= slack:
        return float("nan")
    hits = int((np.abs(drawn - observed) >= abs(observed) - slack).sum())
    return share_of_hits(hits, len(drawn), exact=False)


def share_of_hits(hits: int, draws: int, *, exact: bool) -> float:
    """The share of draws that are hits; of random ones the observed value is one more."""
    return hits / draws if exact else (1 + hits) / (1 + draws)


def all_fit(coins: int, draws: int) -> bool:
    """Whether all outcomes of this many coins are no more than `draws`."""
    return coins < 60 and 2**coins <= draws  # the first test spares a power with thousands of digits


def swaps(number: int, draws: int, seed: int) -> Iterator[NDArray[np.int8]]:
    """All outcomes of `number` coins, if no more than `draws`; else that many throws: [block, coins]."""
    if all_fit(number, draws):
        yield ((np.arange(2**number)[:, None] >> np.arange(number)) & 1).astype(np.int8)
        return
    generator = np.random.default_rng(seed)
    block = max(1, BLOCK_CELLS // number)
    for start in range(0, draws, block):
        yield generator.integers(0, 2, size=(min(block, draws - start), number), dtype=np.int8)


_P_VALUES: dict[PairedTest, Callable[[Floats, int, int], list[float]]] = {
    "randomisation": _randomisation_p_values,
    "bootstrap": _bootstrap_p_values,
}
