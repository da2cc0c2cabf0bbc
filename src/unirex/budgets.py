"""Which tokens a budget buys: the rule of `unirex.select`, for one text and without torch."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

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
