"""Normalised AOPC: how good an order of removal is between the worst and the best (Edin et al. 2024).

How far a probability can fall depends on the classifier: one of two may look more faithful only because its
predictions change easily. So every text's AOPC is placed between the smallest and the largest that any order
of removing its words gives *under the same classifier*. The search needs no model, only a function that
returns how far p(target) falls without some of the words.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

WordSet = tuple[int, ...]  # numbers of the removed words, ascending
Falls = Callable[[list[WordSet]], Sequence[float]]  # p(x) - p(x without these words), for each set

EXACT = 8  # words up to which all subsets are tried: 255 of them
BEAM = 5


@dataclass(frozen=True, slots=True)
class Bounds:
    """The smallest and the largest AOPC of any order: exact, or the best that a beam search found."""

    lowest: float
    highest: float
    exact: bool

    def including(self, own: float) -> Bounds:
        """Bounds that include a known order: a beam may miss it, and rounding may leave it outside."""
        return Bounds(min(self.lowest, own), max(self.highest, own), self.exact)


def order_aopc(full: float, words: ArrayLike) -> float:
    """The mean fall while words are removed one after the other: (1/n) Σⱼ p(x) - p(x without the first j).

    Higher is better. All n steps count, so it is not comparable with the `aopc` of a few budgets. NaN for a
    text without words.

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
    """The smallest and the largest AOPC of any order of removing `count` words.

    The AOPC of an order is a sum over the sets that are gone after 1, 2, … words, so the best way to a set
    goes through the best way to a set with one word less: up to `exact_up_to` words all 2ⁿ - 1 sets are
    tried and the bounds are exact (not n! orders). For more words a beam keeps the `beam` best sets of each
    size, once for each bound; the true bounds are then no narrower.

    Args:
        falls: called with many sets at once; never twice with the same set.
        count: number of words, n.
        exact_up_to: texts of at most this many words are searched completely.
        beam: sets kept per size.

    >>> weights = (0.5, 0.1)  # what each of two words takes with it: .5 then .6, or .1 then .6
    >>> aopc_bounds(lambda sets: [sum(weights[word] for word in words) for words in sets], 2)
    Bounds(lowest=0.35, highest=0.55, exact=True)
    """
    if count < 1:
        return Bounds(float("nan"), float("nan"), exact=True)
    cached, exact = _CachedFalls(falls), count <= exact_up_to
    if exact:
        lowest, highest = _exact_sums(cached, count)
    else:
        lowest, highest = (_beam_sum(cached, count, beam, sign) for sign in (-1, 1))
    return Bounds(lowest / count, highest / count, exact)


class _CachedFalls:
    """The falls of sets of words, each computed once."""

    def __init__(self, falls: Falls) -> None:
        self.falls = falls
        self.known: dict[WordSet, float] = {}

    def __call__(self, sets: Sequence[WordSet]) -> list[float]:
        new = [words for words in dict.fromkeys(sets) if words not in self.known]
        if new:
            self.known.update(zip(new, map(float, self.falls(new)), strict=True))
        return [self.known[words] for words in sets]


def _exact_sums(falls: _CachedFalls, count: int) -> tuple[float, float]:
    """The smallest and the largest sum of falls over all chains of sets. Sets are the bits of a number."""
    sets = [tuple(word for word in range(count) if number >> word & 1) for number in range(1 << count)]
    own = [0.0, *falls(sets[1:])]
    low, high = [0.0] * len(sets), [0.0] * len(sets)
    for number in range(1, len(sets)):
        smaller = [number ^ (1 << word) for word in sets[number]]  # with one word less
        low[number] = own[number] + min(low[subset] for subset in smaller)
        high[number] = own[number] + max(high[subset] for subset in smaller)
    return low[-1], high[-1]


def _beam_sum(falls: _CachedFalls, count: int, width: int, sign: int) -> float:
    """The largest sum of falls (for sign 1; the smallest for -1) along the chains a beam search keeps."""
    best: dict[WordSet, float] = {(): 0.0}  # sum on the way to each set, times the sign
    for _ in range(count):
        longer: dict[WordSet, float] = {}
        for words, total in best.items():
            for word in set(range(count)).difference(words):
                extended = tuple(sorted((*words, word)))
                longer[extended] = max(total, longer.get(extended, float("-inf")))
        own = falls(list(longer))
        sums = {words: longer[words] + sign * fall for words, fall in zip(longer, own, strict=True)}
        best = dict(sorted(sums.items(), key=lambda item: (-item[1], item[0]))[:width])
    return sign * max(best.values())
