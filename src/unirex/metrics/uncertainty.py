"""How sure a number is: intervals over examples, spread over seeds, tests of one or of many differences."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike, NDArray

from unirex.metrics.bootstrap import bootstrap_counts, bootstrap_interval, bootstrap_statistic
from unirex.metrics.paired import PairedResult, paired_statistic_test, paired_test

Floats = NDArray[np.float64]


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
