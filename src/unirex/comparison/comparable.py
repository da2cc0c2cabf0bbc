"""Whether evaluations can be held against each other: the same examples, measured in the same way."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from unirex.eraser.outside import REMOVAL as OWN_WAY
from unirex.errors import UserError

if TYPE_CHECKING:
    from unirex.comparison.loading import Evaluation


def check_ids(one: Evaluation) -> None:
    """Examples are told apart by their ids."""
    ids = one.columns.ids
    if len(set(ids)) < len(ids):
        seen: set[str] = set()
        twice = next(name for name in ids if name in seen or seen.add(name))  # type: ignore[func-returns-value]
        raise UserError(
            f"{one.place.said}: the id '{twice}' comes twice; examples are told apart by their ids."
        )


def check_protocol(found: Sequence[Evaluation]) -> None:
    """Numbers are comparable only if the same was done to the texts.

    What another tool did to them, nobody can check: its way of removing tokens counts as unknown, and of
    other budgets than the rest only what is not over all of them counts (`mark_own_budgets`). A system that
    predicts from its rationale may have a budget and a removal of its own, for which it was trained.
    """
    measured = [one for one in found if one.removal is not None]
    ours = [one for one in measured if one.removal != OWN_WAY]
    free = [one for one in ours if not one.select_predict]
    _check_equal("budgets", [(one, ", ".join(f"{size:g}" for size in one.budgets)) for one in free])
    _check_equal("removal", [(one, str(one.removal)) for one in free])
    _check_equal("target", [(one, str(one.summary.seen["target"])) for one in measured])


def mark_own_budgets(found: Sequence[Evaluation]) -> None:
    """Those measured at other budgets than ours: tools, and systems that predict from their rationale.

    If there are none of ours, at other budgets than the first.
    """
    measured = [one for one in found if one.removal is not None]
    ours = [one for one in measured if one.removal != OWN_WAY]
    ours = [one for one in ours if not one.select_predict] or ours or measured[:1]
    for one in measured:
        removed = one.select_predict and one.removal != ours[0].removal
        one.own_budgets = removed or one.budgets != ours[0].budgets


def over_budgets(key: str) -> bool:
    """Whether a metric is a mean over all budgets.

    >>> [over_budgets(one) for one in ("csd", "sufficiency/delete", "csd_mean", "csd@20", "auprc")]
    [True, True, True, False, False]
    """
    whole = key.partition("/")[0].removesuffix("_mean").removeprefix("normalised_")
    return whole in ("comprehensiveness", "sufficiency", "csd", "log_odds")


def by_construction(key: str) -> bool:
    """Whether a metric is what it is whatever was selected, if a system predicts from its rationale alone.

    Sufficiency is 0, its normalised form 1; normalised comprehensiveness is the share of a fall in itself.

    >>> [by_construction(one) for one in ("sufficiency@5", "csd/delete", "comprehensiveness_mean", "auprc")]
    [True, True, False, False]
    """
    return _whole(key) in ("sufficiency", "csd", "normalised_sufficiency", "normalised_comprehensiveness")


def against_empty(key: str) -> bool:
    """Whether a metric of such a system holds its prediction against that for the empty text."""
    return _whole(key) in ("comprehensiveness", "log_odds")


def _whole(key: str) -> str:
    """The metric without its budget, removal and divisor."""
    return key.partition("/")[0].partition("@")[0].removesuffix("_mean")


def _check_equal(name: str, told: Sequence[tuple[Evaluation, str]]) -> None:
    for one, value in told[1:]:
        if value != told[0][1]:
            raise UserError(
                f"{told[0][0].place.said} was measured with {name} {told[0][1]}, {one.place.said} with "
                f"{value}; evaluate them alike (`unirex evaluate --budgets … --removal … --target …`)."
            )


def check_same(first: Evaluation, other: Evaluation) -> None:
    """The same id must mean the same text and label."""
    ours, theirs = np.array(first.texts), np.array(other.texts)[other.order]
    labels = [other.columns.gold[number] for number in other.order]
    pairs = zip(first.columns.gold, labels, strict=True)
    differing = [None not in (a, b) and str(a) != str(b) for a, b in pairs]  # other tools may write 1 as "1"
    wrong = np.flatnonzero((ours != theirs) | np.array(differing))
    if wrong.size:
        what = "label" if differing[wrong[0]] else "text"
        raise UserError(
            f"example '{first.columns.ids[wrong[0]]}' has another {what} in {other.place.said} than in "
            f"{first.place.said}; compare evaluations of the same data."
        )
