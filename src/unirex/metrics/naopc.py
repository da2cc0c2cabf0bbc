"""Normalised AOPC: how good an order of removal is between the worst and the best (Edin et al. 2024).

How far a probability can fall depends on the classifier: one of two may look more faithful only because it is
easily thrown. So every text's AOPC is placed between the smallest and the largest that any order of removing
its words gives *under the same classifier*. The search needs no model, only a function that says how far
p(target) falls without some of the words.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

Removed = tuple[int, ...]  # word numbers, ascending
Falls = Callable[[list[Removed]], Sequence[float]]  # p(x) - p(x without these words), of each

EXACT = 8  # words up to which all subsets are tried: 255 of them
BEAM = 5


@dataclass(frozen=True, slots=True)
class Bounds:
    """The smallest and the largest AOPC of any order, or of those that were found."""

    lowest: float
    highest: float
    exact: bool

    def including(self, own: float) -> Bounds:
        """Wide enough for an order that is known: a beam may miss it, and rounding may leave it outside."""
        return Bounds(min(self.lowest, own), max(self.highest, own), self.exact)


def order_aopc(full: float, words: ArrayLike) -> float:
    """The mean fall while words are removed one after the other: (1/n) Σⱼ p(x) - p(x without the first j).

    Higher is better. All n steps count, so it is not to be compared with the `aopc` of a few budgets. NaN for
    a text without words.

    >>> order_aopc(1.0, [0.5, 0.25, 0.25, 0.0])  # (.5 + .75 + .75 + 1)/4
    0.75
    """
    left = np.asarray(words, dtype=np.float64)
    if left.ndim != 1:
        raise ValueError(
            f"probabilities of shape {left.shape}; one for each number of removed words is needed"
        )
    return float((full - left).mean()) if len(left) else float("nan")


def normalised_aopc(full: float, words: ArrayLike, lowest: float, highest: float) -> float:
    """Where an order stands between the worst and the best: (AOPC - lowest) / (highest - lowest).

    From 0 to 1, higher is better; NaN if all orders are worth the same (a text of one word). A random order
    is not at 0 but somewhere between, so look at the random row beside it.

    Args:
        full: p(target) of the whole text.
        words: [n], p(target) with the highest 1, 2, … n words removed.
        lowest: smallest AOPC of any order, see `aopc_bounds`.
        highest: largest.

    >>> normalised_aopc(1.0, [0.5, 0.25, 0.25, 0.0], 0.5, 1.0)  # (.75 - .5)/(1 - .5)
    0.5
    """
    if highest == lowest:
        return float("nan")
    return (order_aopc(full, words) - lowest) / (highest - lowest)


def aopc_bounds(falls: Falls, count: int, *, exact_up_to: int = EXACT, beam: int = BEAM) -> Bounds:
    """The smallest and the largest AOPC of any order of removing so many words.

    The AOPC of an order is a sum over the sets that are gone after 1, 2, … words, so the best way to a set
    goes through the best way to a set with one word less: up to `exact_up_to` words all 2ⁿ - 1 sets are
    tried and the bounds are exact (not n! orders). For more words a beam keeps the `beam` best sets of each
    size, once for each bound; the true bounds are then no narrower.

    Args:
        falls: asked for many sets at once; never twice for one.
        count: n.
        exact_up_to: words.
        beam: sets.

    >>> weights = (0.5, 0.1)  # what each of two words takes with it: .5 then .6, or .1 then .6
    >>> aopc_bounds(lambda sets: [sum(weights[word] for word in one) for one in sets], 2)
    Bounds(lowest=0.35, highest=0.55, exact=True)
    """
    if count < 1:
        return Bounds(float("nan"), float("nan"), exact=True)
    asked = Asked(falls)
    exact = count <= exact_up_to
    totals = (
        _all_orders(asked, count) if exact else tuple(_beam(asked, count, beam, sign) for sign in (-1, 1))
    )
    return Bounds(totals[0] / count, totals[1] / count, exact)


class Asked:
    """The falls of sets, each asked for once."""

    def __init__(self, falls: Falls) -> None:
        self.falls = falls
        self.known: dict[Removed, float] = {}

    def __call__(self, sets: Sequence[Removed]) -> list[float]:
        """The fall of each set."""
        new = [one for one in dict.fromkeys(sets) if one not in self.known]
        if new:
            self.known.update(zip(new, map(float, self.falls(new)), strict=True))
        return [self.known[one] for one in sets]


def _all_orders(asked: Asked, count: int) -> tuple[float, float]:
    """The smallest and the largest sum of falls over all chains of sets. Sets are the bits of a number."""
    sets = [tuple(word for word in range(count) if number >> word & 1) for number in range(1 << count)]
    falls = [0.0, *asked(sets[1:])]
    low, high = [0.0] * len(sets), [0.0] * len(sets)
    for number in range(1, len(sets)):
        before = [number ^ (1 << word) for word in sets[number]]  # with one word less
        low[number] = falls[number] + min(low[one] for one in before)
        high[number] = falls[number] + max(high[one] for one in before)
    return low[-1], high[-1]


def _beam(asked: Asked, count: int, width: int, sign: int) -> float:
    """The largest sum of falls (for sign 1; the smallest for -1) along chains a beam finds."""
    best: dict[Removed, float] = {(): 0.0}  # sum on the way to each set, times the sign
    for _ in range(count):
        longer: dict[Removed, float] = {}
        for one, total in best.items():
            for word in set(range(count)).difference(one):
                after = tuple(sorted((*one, word)))
                longer[after] = max(total, longer.get(after, float("-inf")))
        sums = {one: longer[one] + sign * fall for one, fall in zip(longer, asked(list(longer)), strict=True)}
        best = dict(sorted(sums.items(), key=lambda item: (-item[1], item[0]))[:width])
    return sign * max(best.values())
