"""Metrics asked for that no evaluation has: how to get them."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from unirex.comparison.breakdown import removals
from unirex.comparison.method import Method
from unirex.errors import UserError
from unirex.metrics.relative_gain import FAITHFULNESS
from unirex.summary import PROBED

NEEDS = {
    "normalised_comprehensiveness": "empty",
    "normalised_sufficiency": "empty",
    "loo_correlation": "leave-one-out",
    "naopc": "naopc",
    "soft_sufficiency": "soft",
    "soft_comprehensiveness": "soft",
}  # by what `evaluate --probes` calls it; the other probed metrics are of curves
BESIDE = (*FAITHFULNESS, "csd", "log_odds")


def not_measured(key: str, methods: Sequence[Method], measured: Collection[str]) -> UserError:
    """The error for a column that nobody has, with the way to it."""
    whole, slash, part = key.partition("/")
    name, at, _ = whole.partition("@")
    hint = f"there is: {', '.join(measured)}."
    if name in PROBED:
        hint = f"evaluate with --probes {NEEDS.get(name, 'curves')}."
    elif at and not slash:
        hint = _budgets(name, measured)
    elif slash and name in BESIDE and not at:
        known = ", ".join(removals(methods)) or "none"
        hint = f"evaluate with --beside {part}; measured removals: {known}."
    return UserError(f"--columns {key}: no evaluation has it; {hint}")


def _budgets(name: str, measured: Collection[str]) -> str:
    """Which sizes a metric was measured at."""
    known = [key.partition("@")[2] for key in measured if key.startswith(f"{name}@") and "/" not in key]
    if not known:
        return f"{name} was measured at no budget; evaluate with --budgets."
    return f"budgets are {', '.join(known)}; others: evaluate with --budgets."
