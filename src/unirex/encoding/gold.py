"""Limited gold rationales: which training examples keep theirs, and how many of a batch have gold."""

from __future__ import annotations

import logging
import math
import random
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import Any, overload

from unirex.data.example import Example
from unirex.errors import UserError

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class GoldPool:
    """The training examples that keep their gold rationale, by number, and those that lose it.

    `ids` are those of the kept examples: a record of the pool does not depend on the order of the data.
    """

    kept: tuple[int, ...]
    others: tuple[int, ...]
    ids: tuple[str, ...]
    fraction: float  # in per cent, as requested
    seed: int

    @property
    def limited(self) -> bool:
        """Whether some gold is hidden, so that every batch has to be given some of the rest."""
        return self.fraction < 100 and bool(self.kept) and bool(self.others)

    def to_dict(self) -> dict[str, Any]:
        """The record in a run folder: enough to know, and to draw again, which examples had gold."""
        return {
            "gold_fraction": self.fraction,
            "gold_seed": self.seed,
            "examples": len(self.kept) + len(self.others),
            "kept": len(self.kept),
            "kept_ids": list(self.ids),
        }


def keep_gold(examples: Sequence[Example], fraction: float, seed: int) -> GoldPool:
    """Draw the examples that keep their gold: ceil(fraction / 100 · N) of those that have any.

    If fewer have gold, all of them keep it. Fractions of one seed are nested: the larger keeps all that the
    smaller keeps, so that a curve over fractions shows the effect of their size and not of the draw.
    """
    size = gold_size(len(examples), fraction)
    annotated = [number for number, example in enumerate(examples) if example.rationale is not None]
    _check_enough(len(annotated), size, total=len(examples), fraction=fraction)
    random.Random(f"gold-{seed}").shuffle(annotated)  # text seeds do not depend on PYTHONHASHSEED
    kept = sorted(annotated[:size])
    chosen = set(kept)
    others = tuple(number for number in range(len(examples)) if number not in chosen)
    return GoldPool(tuple(kept), others, tuple(examples[number].id for number in kept), fraction, seed)


def gold_size(examples: int, fraction: float) -> int:
    """A fraction in per cent of this number of examples, rounded up.

    >>> gold_size(100, 7), gold_size(101, 0.5), gold_size(8, 100)  # 7 / 100 * 100 > 7 in floating point
    (7, 1, 8)
    """
    check_fraction(fraction)
    return math.ceil(Fraction(str(float(fraction))) * examples / 100)


def check_fraction(fraction: float) -> None:
    """Refuse fractions of which no example, or more than all, would keep their gold."""
    if not 0 < fraction <= 100:
        raise UserError(
            f"training.gold_fraction {fraction:g}: give per cents above 0 and up to 100; "
            "to train without gold rationales set objectives.plausibility.weight to 0."
        )


def _check_enough(annotated: int, size: int, *, total: int, fraction: float) -> None:
    if fraction == 100 or annotated >= size:  # 100 means: all there is
        return
    request = (
        f"training.gold_fraction {fraction:g}: {size} of {total} training examples should keep their gold"
    )
    if not annotated:
        raise UserError(f"{request}, but none has any; give data with rationales, or set it to 100.")
    log.warning("%s, but only %d have any; all of these keep it", request, annotated)


def gold_share(batch_size: int, factor: float) -> int:
    """The number of examples of a batch that are drawn from those with gold: int(max(1, b / beta)).

    >>> gold_share(32, 2), gold_share(32, 100), gold_share(10, 3)
    (16, 1, 3)
    """
    no_room = "or no batch has room for examples without gold."
    if not factor > 1:
        raise UserError(f"training.gold_factor {factor:g}: must be above 1, {no_room}")
    if batch_size < 2:
        raise UserError(
            f"training.batch_size {batch_size}: with training.gold_fraction below 100 it must be at least 2, "
            f"{no_room}"
        )
    return int(max(1, batch_size / factor))  # spec/training.md#limited-gold


@dataclass(frozen=True)
class LimitedGold(Sequence[Example]):
    """Examples as training sees them: outside the pool, rationales and evidence groups are hidden."""

    examples: Sequence[Example]
    pool: GoldPool

    @cached_property
    def _kept(self) -> frozenset[int]:
        return frozenset(self.pool.kept)

    def __len__(self) -> int:
        return len(self.examples)

    @overload
    def __getitem__(self, number: int) -> Example: ...
    @overload
    def __getitem__(self, number: slice) -> list[Example]: ...
    def __getitem__(self, number: int | slice) -> Example | list[Example]:
        numbers = range(len(self.examples))[number]
        if isinstance(numbers, range):
            return [self[index] for index in numbers]
        example = self.examples[numbers]
        return example if numbers in self._kept else replace(example, rationale=None, groups=())


def limit_gold(examples: Sequence[Example], pool: GoldPool) -> Sequence[Example]:
    """The examples with the gold of those outside the pool hidden; unchanged if nothing is hidden."""
    return LimitedGold(examples, pool) if pool.limited else examples
