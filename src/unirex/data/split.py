"""Which examples are learnt from, which choose the checkpoint, and which are kept for the end."""

from __future__ import annotations

import math
import random
from collections.abc import Mapping, Sequence

from unirex.data.example import SPLIT_NAMES, Example, Label
from unirex.errors import UserError, unknown

ALIASES = {
    **dict.fromkeys(("train", "training"), "train"),
    **dict.fromkeys(("dev", "val", "valid", "validation", "development"), "dev"),
    **dict.fromkeys(("test", "testing", "heldout"), "test"),
}
EVERYWHERE_FROM = 3  # a label with this many examples is seen in every split


def split_name(value: object) -> str:
    """The split a person means, whatever they call it.

    >>> split_name("Validation")
    'dev'
    """
    name = ALIASES.get(str(value).strip().casefold())
    if name is None:
        raise unknown("split", value, ALIASES)
    return name


def stratified_split(
    examples: Sequence[Example], *, dev: float = 0.1, test: float = 0.1, seed: int = 0
) -> dict[str, list[Example]]:
    """Train, dev and test with the same mix of labels; a split of fraction 0 is left out.

    Every label is shared out by itself: its counts differ from its exact shares by less than one,
    save that a label of three examples or more is in every split, and any label is in train.
    The examples keep their order; one seed always gives the same split.
    """
    shares = _shares(dev, test)
    where: list[str] = [""] * len(examples)
    for label, members in _by_label(examples).items():
        # A string seed is hashed with SHA-512, so it does not depend on PYTHONHASHSEED; a generator
        # for each label keeps its draw when examples of another label are added.
        random.Random(f"{seed} {label!r}").shuffle(members)
        names = [name for name, count in _counts(len(members), shares).items() for _ in range(count)]
        for member, name in zip(members, names, strict=True):
            where[member] = name
    parts: dict[str, list[Example]] = {name: [] for name in shares}
    for example, name in zip(examples, where, strict=True):
        parts[name].append(example)
    return _none_empty(parts)


def carve_dev(
    parts: Mapping[str, Sequence[Example]], *, dev: float = 0.1, seed: int = 0
) -> dict[str, Sequence[Example]]:
    """The same splits, with a dev taken out of train where there is none; test is left as it is."""
    if "dev" in parts or not parts.get("train"):
        return dict(parts)
    carved = {**parts, **stratified_split(parts["train"], dev=dev, test=0, seed=seed)}
    return {name: carved[name] for name in SPLIT_NAMES if name in carved}


def _shares(dev: float, test: float) -> dict[str, float]:
    if not (dev >= 0 and test >= 0 and dev + test < 1):  # written so that NaN fails too
        raise UserError(f"split fractions dev={dev} and test={test} must be 0 or more and sum to less than 1")
    shares = {"train": 1 - dev - test, "dev": dev, "test": test}
    return {name: share for name, share in shares.items() if share > 0}


def _by_label(examples: Sequence[Example]) -> dict[Label | None, list[int]]:
    groups: dict[Label | None, list[int]] = {}
    for index, example in enumerate(examples):
        groups.setdefault(example.label, []).append(index)
    return groups


def _counts(total: int, shares: Mapping[str, float]) -> dict[str, int]:
    """How many of a label go where: largest remainders, then the promised minimum."""
    exact = {name: round(total * share, 9) for name, share in shares.items()}  # 0.1 * 30 is 3, not 3.0…04
    counts = {name: math.floor(quota) for name, quota in exact.items()}
    by_remainder = sorted(shares, key=lambda name: counts[name] - exact[name])
    for name in by_remainder[: total - sum(counts.values())]:
        counts[name] += 1
    for name in shares if total >= EVERYWHERE_FROM else ("train",):
        if counts[name] == 0:
            counts[max(counts, key=lambda other: counts[other])] -= 1
            counts[name] = 1
    return counts


def _none_empty(parts: dict[str, list[Example]]) -> dict[str, list[Example]]:
    total = sum(len(part) for part in parts.values())
    for name, part in parts.items():
        if not part:
            raise UserError(
                f"too few examples ({total}) to share out: {name} would be empty; give at least "
                f"{EVERYWHERE_FROM} examples of a label, or say yourself which are train, dev and test"
            )
    return parts
