"""Shares of counts: how sure a share is, and whether a part has more of something than chance gives it."""

from __future__ import annotations

from math import exp, lgamma, sqrt

NORMAL_95 = 1.959964  # standard deviations that hold the middle 95 % of a normal distribution


def wilson_interval(count: int, of: int) -> tuple[float, float]:
    """Wilson's 95 % interval of a share: (low, high); of nothing, anything is possible.

    Unlike the normal approximation it stays in [0, 1] and is honest about small counts.

    >>> [round(bound, 3) for bound in wilson_interval(1, 1)], [round(b, 3) for b in wilson_interval(90, 100)]
    ([0.207, 1.0], [0.826, 0.945])
    >>> wilson_interval(0, 0)
    (0.0, 1.0)
    """
    if not of:
        return 0.0, 1.0
    share, spread = count / of, NORMAL_95**2 / of
    middle = share + spread / 2
    half = sqrt(share * (1 - share) * spread + spread**2 / 4)
    return max(0.0, (middle - half) / (1 + spread)), min(1.0, (middle + half) / (1 + spread))


def chance_of_as_many(found: int, drawn: int, *, of_kind: int, total: int) -> float:
    """Probability that `drawn` of `total` things hold at least `found` of the `of_kind` that are special.

    The one-sided test of Fisher: the tail of the hypergeometric distribution.

    >>> round(1 / chance_of_as_many(2, 2, of_kind=2, total=4), 6)  # one of the six ways to draw two of four
    6.0
    >>> chance_of_as_many(0, 3, of_kind=2, total=9)
    1.0
    """
    if found <= max(0, drawn + of_kind - total):
        return 1.0
    ways = _log_choose(total, drawn)
    tail = sum(
        exp(_log_choose(of_kind, number) + _log_choose(total - of_kind, drawn - number) - ways)
        for number in range(found, min(drawn, of_kind) + 1)
    )
    return min(1.0, tail)


def _log_choose(total: int, drawn: int) -> float:
    return lgamma(total + 1) - lgamma(drawn + 1) - lgamma(total - drawn + 1)
