"""Paired tests for numbers that are not means over examples but come from sums over them: F1, calibration."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import combinations
from math import lcm
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from unirex.metrics.arrays import Floats, Ints
from unirex.metrics.bootstrap import BLOCK_CELLS, DRAWS, LEVEL, percentile_interval, resamples
from unirex.metrics.paired import (
    NO_PAIRS,
    SLACK,
    PairedResult,
    PairedTest,
    all_fit,
    bootstrap_p_value,
    check_kind,
    share_of_hits,
    swaps,
)

Score = Callable[[Floats], ArrayLike]  # totals [D, seeds, K] → a number for each of D draws
MaskedSystem = tuple[int, bytes]  # the number of a system, and which of its examples count in a pair


def paired_score_tests(
    score: Score,
    systems: Sequence[ArrayLike],
    *,
    draws: int,
    kind: PairedTest = "randomisation",
    level: float = LEVEL,
    seed: int = 0,
) -> list[PairedResult]:
    """`paired_test` of every two systems for a number computed from sums over examples, such as macro F1.

    Outputs of the two are swapped at random, or with `bootstrap` the examples drawn again, and the number is
    computed anew from the sums. All pairs share their draws.

    Args:
        score: takes sums of terms [D, seeds, K], gives the number in each of D draws, [D]. It must be a mean
            over seeds, of the order of 1: scores that differ by less than 1e-12 are equal.
        systems: for each system the terms that every example adds to the sums in every seed,
            [seeds, N, K]; NaN where it has no output.
        draws: how often outputs are swapped.
        kind: see `paired_test`.
        level: of the intervals.
        seed: of the draws.

    >>> hits = lambda totals: totals[..., 0].mean(-1) / 8  # accuracy: the sum of one term, hit or miss
    >>> good, poor = np.ones((1, 8, 1)), np.array([1, 0, 1, 0, 1, 1, 1, 1]).reshape(1, 8, 1)
    >>> [result] = paired_score_tests(hits, [good, poor], draws=1000)
    >>> result.difference, result.p_value  # both outputs that differ are better: 2 of 4 patterns
    (0.25, 0.5)
    """
    check_kind(kind)
    terms = [np.asarray(system, dtype=np.float64) for system in systems]
    if any(system.ndim != 3 or system.shape[1:] != terms[0].shape[1:] for system in terms):
        raise ValueError(f"terms of shapes {[system.shape for system in terms]}; all must be [seeds, N, K]")
    if len(terms) < 2:
        return []
    pairs = _Pairs(score, terms)
    lows, highs = percentile_interval(pairs.resampled(DRAWS, seed), level)
    p_values = pairs.bootstrap(draws, seed) if kind == "bootstrap" else pairs.swapped(draws, seed)
    columns = zip(pairs.observed, lows, highs, p_values, pairs.known, strict=True)
    return [
        NO_PAIRS
        if np.isnan(value)
        else PairedResult(float(value), float(low), float(high), float(p_value), n)
        for value, low, high, p_value, n in columns
    ]


class _Pairs:
    """Every two systems of [seeds, N, K] terms: their score in any draw, from sums that all pairs share.

    A pair counts the examples that both systems have, so a system has one table of terms for each such set
    of examples; as a rule there is one set, of all.
    """

    def __init__(self, score: Score, systems: Sequence[Floats]) -> None:
        self.score = score
        self.examples = systems[0].shape[1]
        answered = [~np.isnan(system).any(axis=(0, 2)) for system in systems]
        self.systems = [np.where(np.isnan(system), 0.0, system) for system in systems]
        self.masks: dict[bytes, NDArray[np.bool_]] = {}
        self.keys: list[tuple[MaskedSystem, MaskedSystem]] = []
        for a, b in combinations(range(len(systems)), 2):
            both = np.asarray(answered[a] & answered[b])
            self.masks[both.tobytes()] = both
            self.keys.append(((a, both.tobytes()), (b, both.tobytes())))
        self.parts = list(dict.fromkeys(key for pair in self.keys for key in pair))
        self.both = np.stack([self.masks[key[1]] for key, _ in self.keys], axis=1).astype(
            np.float64
        )  # [N, P]
        self.known: list[int] = self.both.sum(axis=0).astype(np.int64).tolist()
        once = np.ones((1, self.examples))
        self.totals = self._sums(once)  # [1, seeds, K]
        self.observed = self.differences(once)[0]

    def differences(self, weights: Floats) -> Floats:
        """Score differences of all pairs under weights of the examples: [D, N] -> [D, P]."""
        scores = {key: np.asarray(self.score(sums)) for key, sums in self._sums(weights).items()}
        found = np.stack([scores[a] - scores[b] for a, b in self.keys], axis=1)
        return np.where(weights @ self.both > 0, found, np.nan)

    def resampled(self, draws: int, seed: int) -> Floats:
        """`differences` with the examples drawn again, [draws, P]."""
        blocks = self._in_small_blocks(resamples(self.examples, draws, seed))
        return np.concatenate([np.zeros((0, len(self.keys))), *map(self.differences, blocks)])

    def bootstrap(self, draws: int, seed: int) -> list[float]:
        """The p-value of each pair, from how its difference varies when the examples are drawn again."""
        p_values = []
        for pair, column in enumerate(self.resampled(draws, seed).T):
            known, alike = column[~np.isnan(column)], not len(self._differing(pair))
            observed, texts = float(self.observed[pair]), self.known[pair]
            p_values.append(bootstrap_p_value(known, observed, slack=SLACK, pairs=texts, alike=alike))
        return p_values

    def swapped(self, draws: int, seed: int) -> list[float]:
        """The share of swaps that set each pair as far apart as it is; few that matter are enumerated."""
        differing = [self._differing(pair) for pair in range(len(self.keys))]
        exact = [all_fit(len(rows), draws) for rows in differing]
        shares = self._drawn([pair for pair, few in enumerate(exact) if not few], draws, seed)
        for pair in (pair for pair, few in enumerate(exact) if few):
            shares[pair] = self._enumerated(pair, differing[pair], draws)
        return [shares[pair] for pair in range(len(self.keys))]

    def _enumerated(self, pair: int, rows: Ints, draws: int) -> float:
        """The share of hits among all swaps of the examples that differ."""
        hits = made = 0
        sides = [self._terms(key)[:, rows] for key in self.keys[pair]]
        for coins in self._in_small_blocks(swaps(len(rows), draws, seed=0)):
            hits += self._hits(pair, *(_weighted_sum(coins, side) for side in sides))
            made += len(coins)
        return share_of_hits(hits, made, exact=True)

    def _drawn(self, pairs: Sequence[int], draws: int, seed: int) -> dict[int, float]:
        """The share of hits of each of these pairs among random swaps, which they share."""
        hits, made = dict.fromkeys(pairs, 0), 0
        for coins in self._in_small_blocks(swaps(self.examples, draws, seed)) if hits else ():
            sums = self._sums(coins)
            for pair in hits:
                hits[pair] += self._hits(pair, *(sums[key] for key in self.keys[pair]))
            made += len(coins)
        return {pair: share_of_hits(n, made, exact=False) for pair, n in hits.items()}

    def _hits(self, pair: int, ours: Floats, theirs: Floats) -> int:
        """In how many draws the two are as far apart as observed, given the sums of what is swapped."""
        totals = _same_seeds(*(self.totals[key] for key in self.keys[pair]))
        ours, theirs = _same_seeds(ours, theirs)
        found = np.asarray(self.score(totals[0] - ours + theirs)) - self.score(totals[1] - theirs + ours)
        return int((np.abs(found) >= abs(self.observed[pair]) - SLACK).sum())

    def _differing(self, pair: int) -> Ints:
        """The examples whose outputs differ: swapping others changes nothing."""
        a, b = _same_seeds(*(self._terms(key)[None] for key in self.keys[pair]))
        return np.flatnonzero((a != b).any(axis=(0, 1, 3)))

    def _in_small_blocks(self, blocks: Iterable[NDArray[Any]]) -> Iterator[Floats]:
        """Draws [D, N] in blocks so small that the sums of all systems stay below `BLOCK_CELLS` numbers."""
        sizes = (self.systems[number].shape for number, _ in self.parts)
        width = max(1, sum(seeds * terms for seeds, _, terms in sizes))
        for block in blocks:
            for part in np.array_split(block, -(-len(block) * width // BLOCK_CELLS) or 1):
                yield part.astype(np.float64)

    def _sums(self, weights: Floats) -> dict[MaskedSystem, Floats]:
        """The sums of the terms of every system under weights of the examples: [D, seeds, K] each."""
        return {key: _weighted_sum(weights, self._terms(key)) for key in self.parts}

    def _terms(self, key: MaskedSystem) -> Floats:
        """The terms [seeds, N, K] of a system, 0 for examples that do not count; not kept, to save memory."""
        number, mask = key
        system = self.systems[number]
        return system if self.masks[mask].all() else np.where(self.masks[mask][:, None], system, 0.0)


def _weighted_sum(weights: Floats, terms: Floats) -> Floats:
    """[D, N] weights, [seeds, N, K] terms -> [D, seeds, K]."""
    return np.stack([weights @ of_seed for of_seed in terms], axis=1)


def _same_seeds(a: Floats, b: Floats) -> tuple[Floats, Floats]:
    """Both [D, seeds, …] with as many seeds: repeating all of them leaves their mean as it is.

    A swap exchanges what an example adds in all seeds of the two at once. With as many seeds on both sides
    the test is exact; a mean over several against a single seed varies less, so that it is approximate.
    """
    seeds = lcm(a.shape[1], b.shape[1])
    again = [np.concatenate([x] * (seeds // x.shape[1]), axis=1) for x in (a, b)]
    return again[0], again[1]
