"""Tests and intervals for answers of several people about the same items, both drawn from many.

In a study every person answers about many items and every item is answered by many people. Answers of one
person are alike, and so are answers about one item; a test that takes them for independent finds differences
that another sample of people or items would not show. Here both are random factors, crossed with each other.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from unirex.metrics.arrays import Floats, Ints
from unirex.metrics.bootstrap import DRAWS, LEVEL, percentile_interval, resamples

SWEEPS = 1000  # most rounds of removing the effects of people and items by turns
CLOSE = 1e-10  # of the largest number: a change that counts as none
NAN = float("nan")


@dataclass(frozen=True, slots=True)
class CrossedResult:
    """How much higher one arm is than another, for people and items like these."""

    first: int  # numbers of the arms
    second: int
    difference: float
    low: float
    high: float
    p_value: float  # NaN if people or items are fewer than two, or nothing varies
    df: float  # degrees of freedom


@dataclass(frozen=True, slots=True)
class _Part:
    """One estimate of the variance of a difference, and on how many numbers it rests."""

    size: float
    df: float


def crossed_test(
    values: ArrayLike,
    arms: ArrayLike,
    people: ArrayLike,
    items: ArrayLike,
    *,
    pairs: Sequence[tuple[int, int]],
    level: float = LEVEL,
) -> list[CrossedResult]:
    """Whether arms differ, with people and items as crossed random factors; all arguments are [N].

    Differences are those of a linear model with an effect of every arm, person and item. Their variance has
    three parts, estimated from sums of the residuals: between people, between items, and the rest:
    V = V_people + V_items - V_rest, where a part that is smaller than the rest counts as the rest. The
    degrees of freedom are Satterthwaite's. If every person answers about every item in every arm, this is the
    quasi-F test of Clark (1973), which equals that of a mixed model with random slopes. If every person has
    one arm only, effects of people cannot be told from those of arms and stay in the residuals.

    >>> values = [[5, 1], [4, 2], [6, 3]]  # differences of three people: 4, 2, 3
    >>> result = crossed_test(
    ...     np.repeat(values, 2), [0, 0, 1, 1] * 3, np.repeat([0, 1, 2], 4), [0, 1] * 6, pairs=[(0, 1)]
    ... )[0]
    >>> # t = 3 / √(1/3) with two degrees of freedom
    >>> round(result.difference, 6), round(result.df, 6), round(result.p_value, 4)
    (3.0, 2.0, 0.0351)
    """
    answers, who = np.asarray(values, dtype=np.float64), _numbered(people)
    what, arm = _numbered(items), np.asarray(arms, dtype=np.int64)
    if not answers.size:
        return [CrossedResult(a, b, NAN, NAN, NAN, NAN, NAN) for a, b in pairs]
    indicators = (arm[:, None] == np.arange(arm.max() + 1)).astype(np.float64)  # [N, arms]
    nested = _one_arm_each(arm, who)
    factors = [what] if nested else [who, what]
    centred = _centred(np.column_stack([indicators, answers]), factors)
    x, y = centred[:, :-1], centred[:, -1]
    inverse = np.linalg.pinv(x.T @ x, rcond=1e-9, hermitian=True)
    residuals = y - x @ (inverse @ (x.T @ y))
    lost = len(np.unique(arm)) if nested else 1  # means that were taken from the people
    results = []
    for first, second in pairs:
        contrast = np.zeros(indicators.shape[1])
        contrast[[first, second]] = 1.0, -1.0
        weights = x @ (inverse @ contrast)  # of each answer in the difference
        sums = _cells(weights * residuals, who, what)
        results.append(_result(first, second, float(weights @ y), sums, lost, level))
    return results


def _result(
    first: int, second: int, difference: float, sums: Floats, lost: int, level: float
) -> CrossedResult:
    people, items = sums.shape
    if people <= lost or items < 2:
        return CrossedResult(first, second, difference, NAN, NAN, NAN, NAN)
    rest = sums - sums.mean(axis=0) - sums.mean(axis=1, keepdims=True) + sums.mean()
    by_person = _Part(people / (people - lost) * float((sums.sum(axis=1) ** 2).sum()), people - lost)
    by_item = _Part(items / (items - 1) * float((sums.sum(axis=0) ** 2).sum()), items - 1)
    cells = (people - lost) * (items - 1)
    error = _Part(people * items / cells * float((rest**2).sum()), cells)
    variance, df = _total(by_person, by_item, error)
    if variance <= CLOSE**2 * max(difference**2, 1.0):  # nothing varies
        p_value = 1.0 if abs(difference) <= CLOSE else NAN
        return CrossedResult(first, second, difference, difference, difference, p_value, NAN)
    spread = math.sqrt(variance)
    margin = spread * student_quantile((1 + level) / 2, df)
    p_value = student_p(difference / spread, df)
    return CrossedResult(first, second, difference, difference - margin, difference + margin, p_value, df)


def _total(by_person: _Part, by_item: _Part, error: _Part) -> tuple[float, float]:
    """The variance of a difference and its degrees of freedom."""
    larger = [part for part in (by_person, by_item) if part.size > error.size]
    parts = [*larger, error] if len(larger) == 2 else larger or [error]
    variance = sum(part.size for part in larger) - error.size if len(larger) == 2 else parts[0].size
    if variance <= 0:
        return 0.0, NAN
    return variance, variance**2 / sum(part.size**2 / part.df for part in parts)


def two_way_interval(
    values: ArrayLike, *, level: float = LEVEL, draws: int = DRAWS, seed: int = 0
) -> tuple[float, float]:
    """Bootstrap interval of a mean over people and items: (low, high).

    `values` [people, items] is NaN where there is no answer. People and items are drawn again independently
    (the pigeonhole bootstrap, Owen 2007), so the interval is for other people *and* other items. The number
    is the mean over people of their means. NaN with fewer than two people or items.

    >>> low, high = two_way_interval([[0, 1] * 20, [1, 0] * 20, [1, 1] * 20])
    >>> low < 2 / 3 < high
    True
    """
    given = np.asarray(values, dtype=np.float64)
    given = given[~np.isnan(given).all(axis=1)]
    given = given[:, ~np.isnan(given).all(axis=0)]
    if min(given.shape) < 2:
        return NAN, NAN
    filled, present = np.nan_to_num(given), (~np.isnan(given)).astype(np.float64)
    means = []
    for who, what in zip(
        resamples(given.shape[0], draws, seed), resamples(given.shape[1], draws, seed + 1), strict=True
    ):
        known = what @ present.T  # [block, people]
        own = np.divide(what @ filled.T, known, out=np.zeros_like(known), where=known > 0)
        counted = who * (known > 0)
        with np.errstate(invalid="ignore"):  # a draw may have no answer at all
            means.append((counted * own).sum(axis=1) / counted.sum(axis=1))
    low, high = percentile_interval(np.concatenate(means)[:, None], level)
    return float(low[0]), float(high[0])


def student_p(t: float, df: float) -> float:
    """The probability of a value of Student's t at least as far from 0.

    >>> round(student_p(2.776445, 4), 6), round(student_p(-1.0, 1), 6)
    (0.05, 0.5)
    """
    return _incomplete_beta(df / 2, 0.5, df / (df + t * t))


def student_quantile(share: float, df: float) -> float:
    """The value that Student's t stays below with this probability, which is above one half.

    >>> round(student_quantile(0.975, 4), 4), round(student_quantile(0.975, 1000), 4)
    (2.7764, 1.9623)
    """
    low, high = 0.0, 1.0
    while student_p(high, df) > 2 * (1 - share):
        high *= 2
    for _ in range(40):
        middle = (low + high) / 2
        low, high = (middle, high) if student_p(middle, df) > 2 * (1 - share) else (low, middle)
    return (low + high) / 2


def _incomplete_beta(a: float, b: float, x: float) -> float:
    """The regularised incomplete beta function, by its continued fraction (Lentz's method)."""
    if x <= 0 or x >= 1:
        return float(x >= 1)
    if x > (a + 1) / (a + b + 2):  # where the fraction converges slowly
        return 1 - _incomplete_beta(b, a, 1 - x)
    log = math.lgamma(a + b) - math.lgamma(a) - math.lgamma(b) + a * math.log(x) + b * math.log1p(-x)
    c, d = 1.0, 1 / (1 - (a + b) * x / (a + 1))
    value = d
    for coefficient in _fraction(a, b, x):
        d, c = 1 / (1 + coefficient * d), 1 + coefficient / c
        value *= c * d
        if abs(c * d - 1) < 1e-14:
            break
    return math.exp(log) * value / a


def _fraction(a: float, b: float, x: float) -> Iterator[float]:
    """The coefficients of the continued fraction after the first."""
    for m in range(1, 500):
        yield m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m))
        yield -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1))


def _numbered(names: ArrayLike) -> Ints:
    """The names as numbers from 0 without gaps."""
    return np.unique(np.asarray(names), return_inverse=True)[1].astype(np.int64)


def _one_arm_each(arm: Ints, who: Ints) -> bool:
    """Whether no person answers in two arms."""
    return len(np.unique(np.stack([arm, who]), axis=1).T) == who.max() + 1


def _centred(columns: Floats, factors: Sequence[Ints]) -> Floats:
    """Columns [N, K] without the additive effects of the factors, removed by turns until nothing changes."""
    left, close = columns - columns.mean(axis=0), CLOSE * float(np.abs(columns).max())
    for _ in range(SWEEPS):
        before = left
        for factor in factors:
            left = left - _group_means(left, factor)[factor]
        if float(np.abs(left - before).max()) <= close:
            break
    return left


def _group_means(columns: Floats, factor: Ints) -> Floats:
    """The mean of each column [N, K] in each group: [groups, K]."""
    sums = np.stack([np.bincount(factor, weights=column) for column in columns.T], axis=1)
    return sums / np.bincount(factor)[:, None]


def _cells(values: Floats, who: Ints, what: Ints) -> Floats:
    """Sums of values [N] by person and item: [people, items]."""
    shape = int(who.max()) + 1, int(what.max()) + 1
    sums: Floats = np.bincount(who * shape[1] + what, values, math.prod(shape)).astype(np.float64)
    return sums.reshape(shape)
