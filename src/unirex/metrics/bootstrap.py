"""Percentile bootstrap intervals: how much a number would change with other examples.

The examples are drawn again, with replacement, as many as there are; the interval holds the middle `level` of
the values of the draws. It covers the choice of examples alone, not that of the training seed. For few
examples (below about 20) it is too narrow. One seed always draws the same examples, so intervals of several
metrics or systems over the same examples rest on the same draws.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from unirex.metrics.arrays import Floats, Ints

LEVEL = 0.95
DRAWS = 2000
BLOCK_CELLS = 2_000_000  # draws × examples held at once: 16 MB of counts


def bootstrap_interval(
    values: ArrayLike, *, level: float = LEVEL, draws: int = DRAWS, seed: int = 0
) -> tuple[Any, Any]:
    """Bootstrap interval of a mean: (low, high).

    `values` [N] of one metric give two numbers, [N, M] of several give two arrays [M] from the same draws. An
    example without a value (NaN) is drawn like any other and left out of the mean; NaN if none has one.

    >>> low, high = bootstrap_interval([0.0, 1.0] * 50)
    >>> bool(0.38 <= low <= 0.42 and 0.58 <= high <= 0.62)  # 0.5 ± 1.96 · 0.5 / √100
    True
    """
    given = np.asarray(values, dtype=np.float64)
    if given.ndim not in (1, 2):
        raise ValueError(f"values of shape {given.shape}; [N] or [N, M] are needed")
    low, high = percentile_interval(bootstrap_means(given, draws=draws, seed=seed), level)
    return (low, high) if given.ndim == 2 else (float(low[0]), float(high[0]))


def bootstrap_statistic(
    statistic: Callable[[Ints], ArrayLike], n: int, *, level: float = LEVEL, draws: int = DRAWS, seed: int = 0
) -> tuple[float, float]:
    """Bootstrap interval of a number that is not a mean over examples: (low, high).

    `statistic` takes how often each of the n examples counts in several draws [D, n], and gives a number for
    each of them [D].

    >>> from unirex.metrics.calibration import drawn_calibration_errors
    >>> sure, right = np.full(50, 0.75), np.arange(50) % 4 > 0
    >>> low, high = bootstrap_statistic(lambda times: drawn_calibration_errors(sure, right, times), 50)
    >>> 0 <= low < high < 0.3
    True
    """
    return single_interval([statistic(block) for block in resamples(n, draws, seed)], level)


def bootstrap_counts(
    statistic: Callable[[Ints], ArrayLike],
    counts: ArrayLike,
    *,
    level: float = LEVEL,
    draws: int = DRAWS,
    seed: int = 0,
) -> tuple[float, float]:
    """`bootstrap_statistic` for a number computed from counts alone, such as macro F1 of a confusion table.

    Drawing examples anew is drawing their counts from a multinomial distribution, so the time is the same for
    ten examples and for a million. `statistic` takes counts [D, …] of the shape of `counts` for each draw.

    >>> low, high = bootstrap_counts(lambda drawn: drawn[:, [0, 3]].sum(-1) / 100, [40, 10, 10, 40])
    >>> 0.7 < low < 0.8 < high < 0.9
    True
    """
    table = np.asarray(counts)
    total = int(table.sum())
    if not total:
        return float("nan"), float("nan")
    drawn = np.random.default_rng(seed).multinomial(total, table.ravel() / total, size=draws)
    return single_interval([statistic(drawn.reshape(draws, *table.shape))], level)


def bootstrap_means(values: Floats, *, draws: int = DRAWS, seed: int = 0) -> Floats:
    """The mean of each column of [N, M], or of the one of [N], in every draw: [draws, M]."""
    columns = values if values.ndim == 2 else values[:, None]
    absent = np.isnan(columns)
    gaps = np.asarray(absent.any(axis=0))  # columns that lack a value
    filled, present = np.where(absent, 0.0, columns), (~absent[:, gaps]).astype(np.float64)
    means = [np.full((0, columns.shape[1]), np.nan)]  # all there is for no examples
    for block in resamples(len(columns), draws, seed):
        times = block.astype(np.float64)
        counts = np.full((len(times), columns.shape[1]), float(len(columns)))
        counts[:, gaps] = times @ present
        with np.errstate(invalid="ignore"):  # 0 / 0 where a draw has no value at all
            means.append((times @ filled) / counts)
    return np.concatenate(means)


def resamples(n: int, draws: int, seed: int) -> Iterator[Ints]:
    """How often each of n examples is drawn, block by block: [block, n], `draws` rows in all."""
    generator = np.random.default_rng(seed)
    block = max(1, BLOCK_CELLS // max(n, 1))
    for start in range(0, draws if n else 0, block):
        rows = min(block, draws - start)
        # Each row counts in its own range of n numbers, so one `bincount` serves the block.
        cells = generator.integers(n, size=(rows, n)) + n * np.arange(rows)[:, None]
        yield np.bincount(cells.ravel(), minlength=rows * n).reshape(rows, n)


def percentile_interval(draws: Floats, level: float = LEVEL) -> tuple[Floats, Floats]:
    """The middle `level` of the draws [draws, M], column by column; NaN draws are left out."""
    if not 0 < level < 1:
        raise ValueError(f"level {level} must be between 0 and 1, such as 0.95")
    ends = np.full((2, draws.shape[1]), np.nan)
    for number, column in enumerate(draws.T):
        known = column[~np.isnan(column)]
        if known.size:
            ends[:, number] = np.quantile(known, [(1 - level) / 2, (1 + level) / 2])
    return ends[0], ends[1]


def single_interval(blocks: Sequence[ArrayLike], level: float = LEVEL) -> tuple[float, float]:
    """`percentile_interval` of a single column, given in blocks of its draws."""
    draws = np.concatenate([np.zeros(0), *(np.asarray(block, dtype=np.float64) for block in blocks)])
    low, high = percentile_interval(draws[:, None], level)
    return float(low[0]), float(high[0])
