"""Which examples form a batch: batches of similar length, and batches that always hold some gold."""

from __future__ import annotations

import logging
import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import torch

from unirex.encoding.gold import GoldPool, gold_share

log = logging.getLogger(__name__)
TOKENS = 32_768  # usual limit of a batch of `by_length`, padding included


def by_length(lengths: Sequence[int], batch_size: int, *, tokens: int | None = None) -> Iterator[list[int]]:
    """Batches of similar length, longest first: little padding, and memory peaks in the first batch.

    With `tokens`, a batch has at most that many, padding included, or only one text.
    """
    order = sorted(range(len(lengths)), key=lambda index: -lengths[index])
    start = 0
    while start < len(order):
        room = batch_size if tokens is None else max(1, tokens // max(1, lengths[order[start]]))
        yield order[start : start + min(batch_size, room)]
        start += min(batch_size, room)


@dataclass
class LengthGroupedBatches:
    """Shuffled batches of similar length for training; the same for the same seed and epoch.

    Several processes take an equal number of batches each: where these do not come out even, the last round
    repeats batches of the epoch, fewer than there are processes.
    """

    lengths: Sequence[int]
    batch_size: int
    seed: int = 0
    epoch: int = 0
    rank: int = 0
    world_size: int = 1
    pool: int = 50  # batches sorted together; more: less padding, less randomness
    done: int = 0  # batches of the epoch that each process has taken already

    def set_epoch(self, epoch: int, *, done: int = 0) -> None:
        """Shuffle anew for this epoch; a resumed run leaves out the batches that were `done` in it."""
        self.epoch, self.done = epoch, done

    def __len__(self) -> int:
        """Steps per epoch of each process."""
        return -(-len(self.lengths) // (self.batch_size * self.world_size))  # rounded up

    def __iter__(self) -> Iterator[list[int]]:
        # A generator: `epoch` is read when the first batch is taken, not when the iterator is made.
        shuffled = self.whole_epoch()
        share = [shuffled[i % len(shuffled)] for i in range(len(self) * self.world_size)]
        yield from share[self.rank :: self.world_size][self.done :]

    def whole_epoch(self) -> list[list[int]]:
        """The batches of all processes: every example in exactly one of them, one batch may be short."""
        # A large prime, so that the epochs of one seed are not those of the next.
        generator = torch.Generator().manual_seed(self.seed * 1_000_003 + self.epoch)
        order = torch.randperm(len(self.lengths), generator=generator).tolist()
        size = self.pool * self.batch_size
        batches = []
        for start in range(0, len(order), size):
            part = order[start : start + size]
            for batch in by_length([self.lengths[index] for index in part], self.batch_size):
                batches.append([part[index] for index in batch])
        return [batches[i] for i in torch.randperm(len(batches), generator=generator).tolist()]


@dataclass
class GoldBatches:
    """Training batches that all hold gold, however little there is of it (the paper's gold batching).

    In every batch b_gold = int(max(1, b / factor)) examples are drawn from `gold`: uniformly, without
    replacement inside a batch (with it if there are fewer than b_gold), anew for each batch. The others fill
    the rest, in batches of similar length, each exactly once an epoch; so an epoch has
    N_others / (b - b_gold) batches, and a short one lacks only others. The draws of a batch depend on the
    seed, the epoch and its number in the epoch: a resumed run draws the same. The batches that several
    processes take in one step share no example with gold, if there are enough for all of them.

    Several processes take the batches in turn. Where they do not come out even, the missing ones of the last
    round hold their b_gold draws and no others: all processes take equally many steps, yet no example without
    gold is left out or seen twice. (5 others, 2 to a batch, 2 processes: 2 and 2, then 1 and none.)
    """

    lengths: Sequence[int]
    batch_size: int
    gold: Sequence[int]  # numbers of the examples with gold
    factor: float  # spec/training.md#limited-gold
    seed: int = 0
    epoch: int = 0
    rank: int = 0
    world_size: int = 1
    done: int = 0  # batches of the epoch that each process has taken already

    def __post_init__(self) -> None:
        self.share = gold_share(self.batch_size, self.factor)
        if not self.gold or not self.others:
            raise ValueError("some examples must have gold and some must not; else use LengthGroupedBatches")

    @cached_property
    def others(self) -> list[int]:
        """Numbers of the examples without gold."""
        gold = set(self.gold)
        return [number for number in range(len(self.lengths)) if number not in gold]

    def set_epoch(self, epoch: int, *, done: int = 0) -> None:
        """Shuffle and draw anew for this epoch; a resumed run leaves out the batches `done` in it."""
        self.epoch, self.done = epoch, done

    def __len__(self) -> int:
        """Steps per epoch of each process, for the schedule too (Paper: its code counts N_others / b)."""
        return -(-len(self.others) // ((self.batch_size - self.share) * self.world_size))  # rounded up

    def __iter__(self) -> Iterator[list[int]]:
        # A generator: `epoch` is read when the first batch is taken, not when the iterator is made.
        epoch, others = self.epoch, self._others_by_batch()
        for number in range(len(self) * self.world_size)[self.rank :: self.world_size][self.done :]:
            rest = others[number] if number < len(others) else []
            yield self._draw(epoch, number) + rest

    def _others_by_batch(self) -> list[list[int]]:
        lengths = [self.lengths[number] for number in self.others]
        batches = LengthGroupedBatches(lengths, self.batch_size - self.share, self.seed, self.epoch)
        return [[self.others[index] for index in batch] for batch in batches.whole_epoch()]

    def _draw(self, epoch: int, number: int) -> list[int]:
        step, place = divmod(number, self.world_size)
        if 1 < self.world_size <= len(self.gold) // self.share:
            rng = random.Random(f"gold-{self.seed}-{epoch}-{step}-of-{self.world_size}")
            drawn = rng.sample(self.gold, self.share * self.world_size)
            return drawn[place * self.share : (place + 1) * self.share]
        rng = random.Random(f"gold-{self.seed}-{epoch}-{number}")
        if len(self.gold) < self.share:
            return rng.choices(self.gold, k=self.share)
        return rng.sample(self.gold, self.share)


Batches = LengthGroupedBatches | GoldBatches


def training_batches(
    lengths: Sequence[int], pool: GoldPool | None, *, batch_size: int, factor: float, seed: int = 0
) -> Batches:
    """The batches for training examples of these lengths; where gold is limited, each holds some."""
    if pool is None or not pool.limited:
        return LengthGroupedBatches(lengths, batch_size, seed)
    batches = GoldBatches(lengths, batch_size, pool.kept, factor, seed)
    drawn = len(batches) * batches.share
    if drawn < len(pool.kept):
        log.warning(
            "training.gold_fraction %g: an epoch draws %d times from the %d examples with gold, so it cannot "
            "show all of them; a smaller training.gold_factor draws more often",
            pool.fraction,
            drawn,
            len(pool.kept),
        )
    return batches
