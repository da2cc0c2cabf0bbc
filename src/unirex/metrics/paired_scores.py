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
Part = tuple[int, bytes]  # the number of a system, and which examples of it count in a pair


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
            over seeds.
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
        PairedResult(float(value), float(low), float(high), float(p_value), n) if n else NO_PAIRS
        for value, low, high, p_value, n in columns
    ]


class _Pairs:
    """Every two systems of [seeds, N, K] terms: their score in any draw, from sums that all pairs share."""

    def __init__(self, score: Score, systems: Sequence[Floats]) -> None:
        self.score = score
        answered = [~np.isnan(system).any(axis=(0, 2)) for system in systems]
        self.terms: dict[Part, Floats] = {}
        self.keys: list[tuple[Part, Part]] = []
        masks = []  # of the examples that both of a pair have
        for a, b in combinations(range(len(systems)), 2):
            both = np.asarray(answered[a] & answered[b])
            masks.append(both)
            self.keys.append(((a, both.tobytes()), (b, both.tobytes())))
            for key in self.keys[-1]:
                if key not in self.terms:
                    self.terms[key] = np.where(both[:, None], systems[key[0]], 0.0)
        self.both = np.stack(masks, axis=1).astype(np.float64)  # [N, P]
        self.known: list[int] = self.both.sum(axis=0).astype(np.int64).tolist()
        self.examples = systems[0].shape[1]
        self.wholes = {key: terms.sum(axis=1)[None] for key, terms in self.terms.items()}  # [1, seeds, K]
        self.observed = self.drawn(np.ones((1, self.examples)))[0]

    def drawn(self, times: ArrayLike) -> Floats:
        """How much higher the first of each pair scores where examples count so often: [D, N] -> [D, P]."""
        scores = {key: np.asarray(self.score(sums)) for key, sums in self._sums(times).items()}
        apart = np.stack([scores[a] - scores[b] for a, b in self.keys], axis=1)
        return np.where(np.asarray(times, dtype=np.float64) @ self.both > 0, apart, np.nan)

    def resampled(self, draws: int, seed: int) -> Floats:
        """`drawn` with the examples drawn again, [draws, P]."""
        blocks = [self.drawn(times) for times in self._small(resamples(self.examples, draws, seed))]
        return np.concatenate([np.zeros((0, len(self.keys))), *blocks])

    def bootstrap(self, draws: int, seed: int) -> list[float]:
        """The p-value of each pair, from how its difference varies when the examples are drawn again."""
        p_values = []
        for number, column in enumerate(self.resampled(draws, seed).T):
            known, alike = column[~np.isnan(column)], not len(self._moving(number))
            value, pairs = float(self.observed[number]), self.known[number]
            p_values.append(bootstrap_p_value(known, value, slack=SLACK, pairs=pairs, alike=alike))
        return p_values

    def swapped(self, draws: int, seed: int) -> list[float]:
        """The share of swaps that set each pair as far apart as it is; few that matter are enumerated."""
        moving = [self._moving(number) for number in range(len(self.keys))]
        exact = [all_fit(len(rows), draws) for rows in moving]
        hits, thrown = np.zeros(len(self.keys), dtype=np.int64), np.zeros(len(self.keys), dtype=np.int64)
        for coins in self._small(swaps(self.examples, draws, seed)) if not all(exact) else ():
            sums = self._sums(coins)
            for number in (number for number, few in enumerate(exact) if not few):
                hits[number] += self._hits(number, *(sums[key] for key in self.keys[number]))
                thrown[number] += len(coins)
        for number in (number for number, few in enumerate(exact) if few):
            sides = [self.terms[key][:, moving[number]] for key in self.keys[number]]
            for coins in swaps(len(moving[number]), draws, seed):
                hits[number] += self._hits(number, *(_sum(coins, side) for side in sides))
                thrown[number] += len(coins)
        return [
            share_of_hits(int(n), int(of), exact=few) for n, of, few in zip(hits, thrown, exact, strict=True)
        ]

    def _hits(self, number: int, ours: Floats, theirs: Floats) -> int:
        """In how many draws the two are as far apart as they are, given the sums of what is swapped."""
        wholes = _same_seeds(*(self.wholes[key] for key in self.keys[number]))
        ours, theirs = _same_seeds(ours, theirs)
        apart = np.asarray(self.score(wholes[0] - ours + theirs)) - self.score(wholes[1] - theirs + ours)
        return int((np.abs(apart) >= abs(self.observed[number]) - SLACK).sum())

    def _moving(self, number: int) -> Ints:
        """The examples whose outputs differ: swapping others changes nothing."""
        a, b = _same_seeds(*(self.terms[key][None] for key in self.keys[number]))
        return np.flatnonzero((a != b).any(axis=(0, 1, 3)))

    def _small(self, blocks: Iterable[NDArray[Any]]) -> Iterator[NDArray[Any]]:
        """Blocks of draws [D, N] cut so that the sums of all systems stay as small as the draws may be."""
        width = max(1, sum(terms[:, 0].size if self.examples else 1 for terms in self.terms.values()))
        for block in blocks:
            yield from np.array_split(block, -(-len(block) * width // BLOCK_CELLS) or 1)

    def _sums(self, times: ArrayLike) -> dict[Part, Floats]:
        """The sums of the terms of every system where examples count so often: [D, seeds, K] each."""
        return {key: _sum(times, terms) for key, terms in self.terms.items()}


def _sum(times: ArrayLike, terms: Floats) -> Floats:
    """[D, N] times, [seeds, N, K] terms -> [D, seeds, K]."""
    return np.tensordot(np.asarray(times, dtype=np.float64), terms, axes=(1, 1))


def _same_seeds(a: Floats, b: Floats) -> tuple[Floats, Floats]:
    """Both [D, seeds, …] with as many seeds: repeating all of them leaves their mean as it is."""
    seeds = lcm(a.shape[1], b.shape[1])
    again = [np.concatenate([x] * (seeds // x.shape[1]), axis=1) for x in (a, b)]
    return again[0], again[1]
