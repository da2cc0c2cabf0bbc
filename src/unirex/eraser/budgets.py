"""Sizes of rationales: which words a budget buys, by the rule of `unirex.select`, and what people mark."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from math import isnan

import numpy as np
from numpy.typing import ArrayLike

from unirex.data.example import Example
from unirex.eraser.gold import Gold
from unirex.eraser.words import own_words
from unirex.errors import UserError
from unirex.records import Record

BUDGETS = (1.0, 5.0, 10.0, 20.0, 50.0)  # per cent; the paper's and ERASER's


def budget_count(tokens: int, budget: float) -> int:
    """How many of so many tokens a budget in per cent buys: at least one, half-way cases to the even.

    >>> [budget_count(tokens, 50) for tokens in (5, 10, 30, 50, 3, 0)]
    [2, 5, 15, 25, 2, 0]
    """
    return min(max(round(tokens * budget / 100), 1), tokens)  # `round` takes halves to the even number


def top_k(scores: ArrayLike, budgets: Sequence[float] = BUDGETS) -> tuple[tuple[int, ...], ...]:
    """Per budget: the numbers of the highest-scored tokens, in their order; of equals the leftmost.

    >>> top_k([0.1, 0.9, 0.9, 0.2], [25, 50])
    ((1,), (1, 2))
    """
    values = np.asarray(scores, dtype=np.float64)
    ranked = np.argsort(-values, kind="stable")
    return tuple(tuple(np.sort(ranked[: budget_count(len(values), budget)]).tolist()) for budget in budgets)


def nearest_budget(records: Iterable[Record], gold: Gold | None = None) -> float | None:
    """Of the records' budgets that which is nearest to the mean share people mark; None if none was tried."""
    if isinstance(records, Iterator):
        raise UserError("records come from an iterator, which can be read only once; give a budget.")
    first = next(iter(records), None)
    if first is None or not first.views:
        return None
    share = mean_share(records) if gold is None else gold.mean_share()
    if isnan(share):
        raise UserError("nobody marked a rationale, so no budget is nearest to what people mark; give one.")
    return min(first.budgets, key=lambda one: abs(one - share))


def mean_share(records: Iterable[Record]) -> float:
    """The mean share of the tokens that people mark, in per cent, over records with marks; NaN for none."""
    marked = [one.gold for record in records for one in record.sequences[:1] if one.gold and any(one.gold)]
    return 100 * sum(sum(gold) / len(gold) for gold in marked) / len(marked) if marked else float("nan")


def human_budget(examples: Iterable[Example]) -> float:
    """The mean share of their words that people mark, in whole per cent; NaN if nobody marked any."""
    shares = [share for example in examples if (share := _share(example))]
    return float(max(1, round(100 * sum(shares) / len(shares)))) if shares else float("nan")


def _share(example: Example) -> float:
    """Of the words in segments with marks."""
    spans = example.rationale or ()
    marks = [one.marked(spans[one.segment]) for one in own_words(example.id, example.segments) if spans]
    marked = [some for some in marks if some.any()]
    return float(np.concatenate(marked).mean()) if marked else 0.0
