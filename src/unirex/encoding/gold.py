"""Limited gold rationales: which training examples keep theirs, and how much of a batch they fill."""

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
    """The training examples that keep their gold rationale, by number, and those that do without.

    `ids` names the kept examples, so that a record of the pool means something without the data's order.
    """

    kept: tuple[int, ...]
    others: tuple[int, ...]
    ids: tuple[str, ...]
    fraction: float  # in per cent, as asked for
    seed: int

    @property
    def limited(self) -> bool:
        """Whether gold is scarce on purpose, so that every batch must be given some of it."""
        return self.fraction < 100 and bool(self.kept) and bool(self.others)

    def to_dict(self) -> dict[str, Any]:
        """What a run folder records: enough to tell, and to draw again, which examples had gold."""
        return {
            "gold_fraction": self.fraction,
            "gold_seed": self.seed,
            "examples": len(self.kept) + len(self.others),
            "kept": len(self.kept),
            "kept_ids": list(self.ids),
        }


def keep_gold(examples: Sequence[Example], fraction: float, seed: int) -> GoldPool:
    """Chooses the examples that keep their gold: ceil(fraction / 100 · N), drawn from those that have any.

    All that have gold keep it where they are fewer than that. Any two fractions of one seed are nested: the
    larger keeps all that the smaller keeps, so that a curve over fractions shows their size and not the draw.
    """
    wanted = gold_size(len(examples), fraction)
    annotated = [number for number, example in enumerate(examples) if example.rationale is not None]
    _check_enough(len(annotated), wanted, total=len(examples), fraction=fraction)
    random.Random(f"gold-{seed}").shuffle(annotated)  # text seeds do not depend on PYTHONHASHSEED
    kept = sorted(annotated[:wanted])
    chosen = set(kept)
    others = tuple(number for number in range(len(examples)) if number not in chosen)
    return GoldPool(tuple(kept), others, tuple(examples[number].id for number in kept), fraction, seed)


def gold_size(examples: int, fraction: float) -> int:
    """How many of so many examples a fraction in per cent is, rounded up.

    >>> gold_size(100, 7), gold_size(101, 0.5), gold_size(8, 100)  # 7 / 100 * 100 > 7 in floating point
    (7, 1, 8)
    """
    check_fraction(fraction)
    return math.ceil(Fraction(str(float(fraction))) * examples / 100)


def check_fraction(fraction: float) -> None:
    """Some examples keep their gold, and at most all do."""
    if not 0 < fraction <= 100:
        raise UserError(
            f"training.gold_fraction {fraction:g}: give per cents above 0 and up to 100; "
            "to train without gold rationales set objectives.plausibility.weight to 0."
        )


def _check_enough(annotated: int, wanted: int, *, total: int, fraction: float) -> None:
    if fraction == 100 or annotated >= wanted:  # 100 says only: whatever there is
        return
    asked = (
        f"training.gold_fraction {fraction:g}: {wanted} of {total} training examples should keep their gold"
    )
    if not annotated:
        raise UserError(f"{asked}, but none has any; give data with rationales, or set it to 100.")
    log.warning("%s, but only %d have any; all of these keep it", asked, annotated)


def gold_share(batch_size: int, factor: float) -> int:
    """How many examples of a batch are drawn from those with gold: b_gold = int(max(1, b / beta)).

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
    return int(max(1, batch_size / factor))  # SPEC A7


@dataclass(frozen=True)
class LimitedGold(Sequence[Example]):
    """Examples as training may see them: the gold of those outside the pool is hidden, not even grouped."""

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
            return [self[one] for one in numbers]
        example = self.examples[numbers]
        return example if numbers in self._kept else replace(example, rationale=None, groups=())


def limit_gold(examples: Sequence[Example], pool: GoldPool) -> Sequence[Example]:
    """The examples with the gold of those outside the pool hidden; as they are if nothing is to be hidden."""
    return LimitedGold(examples, pool) if pool.limited else examples
