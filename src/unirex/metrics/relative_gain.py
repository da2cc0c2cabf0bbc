"""Normalised Relative Gain (NRG), the paper's ranking of methods on all three desiderata.

Each metric is scaled so that the worst method of the table has 0 and the best 1. FNRG is the mean over the
faithfulness metrics, PNRG over the plausibility metrics, TNRG over task performance, and CNRG is the mean of
the three. Higher is better. The numbers belong to their table: another method in it can change all of them.

NRG rewards collapsed predictors: a classifier with one constant answer loses nothing, whatever is removed,
and its sufficiency of 0 is the best of all. `gate` and `warnings_of` guard against that.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from typing import Literal

from unirex.errors import UserError
from unirex.metrics.registry import metric

MethodTable = Mapping[str, Mapping[str, float]]  # method → metric → value
MissingMetrics = Literal["nan", "skip"]

FAITHFULNESS = ("comprehensiveness", "sufficiency")
PLAUSIBILITY = ("auprc", "token_f1_macro2")
PERFORMANCE = ("accuracy",)

EQUAL = 1e-9  # values closer than this differ by rounding
NO_EFFECT = 0.02  # comprehensiveness and sufficiency below this: the text does not matter to the classifier
NEAR_CHANCE = 0.1  # of the way from chance to the best method
GUARDED = "CNRG guarded"  # header of that column


@dataclass(frozen=True, slots=True)
class Gains:
    """The relative gains of one method in its table: 0 is the worst method, 1 the best."""

    parts: Mapping[str, float]  # by metric
    fnrg: float  # faithfulness
    pnrg: float  # plausibility
    tnrg: float  # task performance
    cnrg: float  # all three
    guarded: float | None = None  # CNRG with collapsed methods at 0 and off the scale, if there are such
    collapsed: bool = False  # the classifier seems not to look at its text
    gated: bool = False  # performs too poorly to take part
    missing: tuple[str, ...] = ()  # metrics without a value
    reason: str = ""  # why it is called collapsed


def relative_gain(
    table: MethodTable,
    *,
    faithfulness: Sequence[str] = FAITHFULNESS,
    plausibility: Sequence[str] = PLAUSIBILITY,
    performance: Sequence[str] = PERFORMANCE,
    weights: Sequence[float] = (1, 1, 1),
    gate: float | None = None,
    chance: float | None = None,
    missing: MissingMetrics = "nan",
    collapsed: Mapping[str, str] | None = None,
) -> dict[str, Gains]:
    """NRG of every method: (z - min) / (max - min) of each metric, reversed where lower is better.

    A metric on which all methods are equal gives 0.5 to each: it separates none of them, and a constant keeps
    the order of CNRG where NaN would lose it (several extractors of one classifier share its accuracy).

    Args:
        table: values by method and metric, in any scale; NaN is no value.
        faithfulness: metrics of FNRG.
        plausibility: metrics of PNRG.
        performance: metrics of TNRG; `gate` and `chance` apply to the first.
        weights: of FNRG, PNRG and TNRG in CNRG; a weight of 0 leaves one out.
        gate: methods below gate · best, this share of the best performance, get 0 for everything, and do not
            stretch the scale of the others. 0.9 asks for nine tenths of the best.
        chance: performance of one constant answer; methods near it are called collapsed. The gate ignores it.
        missing: with "nan" a method that lacks a metric has no gain in that desideratum and no CNRG, as a
            mean over fewer metrics is not comparable; "skip" takes the mean of what is there.
        collapsed: for methods whose predictions are known: why one is called collapsed, or "". Other methods
            are judged by their numbers.

    >>> gains = relative_gain(
    ...     {"a": {"accuracy": 0.9, "auprc": 0.5, "comprehensiveness": 0.1, "sufficiency": 0.0},
    ...      "b": {"accuracy": 0.8, "auprc": 0.7, "comprehensiveness": 0.3, "sufficiency": 0.2}},
    ...     plausibility=["auprc"],
    ... )
    >>> gains["a"].fnrg, gains["a"].pnrg, gains["a"].tnrg, gains["a"].cnrg  # (0 + 1)/2, 0, 1, 1.5/3
    (0.5, 0.0, 1.0, 0.5)
    """
    parts = (tuple(faithfulness), tuple(plausibility), tuple(performance))
    _check(table, parts, weights, gate)
    gated = _below_gate(table, performance[0], gate)
    known = collapsed or {}
    near_chance = _near_chance(table, performance[0], chance)
    seen = {method: _collapse(row, faithfulness) or near_chance[method] for method, row in table.items()}
    constant = {method for method in table if known.get(method, seen[method])}
    plain = _gains_of_all(table, gated, parts, weights, skip=missing == "skip")
    guarded = _gains_of_all(table, gated | constant, parts, weights, skip=missing == "skip")
    found = {}
    for method, gains in plain.items():
        reason = " and ".join(filter(None, (known.get(method), seen[method])))
        found[method] = replace(
            gains,
            guarded=guarded[method].cnrg if constant else None,
            gated=method in gated,
            collapsed=bool(reason),
            reason=reason,
        )
    return found


def warnings_of(gains: Mapping[str, Gains], *, missing: MissingMetrics = "nan") -> list[str]:
    """What a reader of these gains must know, a sentence each: gated, collapsed, missing, all equal."""
    found = []
    if len(gains) == 1:
        found.append(
            "There is one method only: gains are relative to others, so each metric it has gives 0.5."
        )
    for method, gain in gains.items():
        if gain.gated:
            found.append(
                f"{method} performs below the gate: its gains are 0 and it does not stretch the scale."
            )
    for method, gain in gains.items():
        if gain.collapsed and gain.fnrg > 0:
            found.append(
                f"{method} earns FNRG {gain.fnrg:.3f}, but {gain.reason}: "
                "a classifier that always says the same gets this too."
            )
    if shows_guarded(gains):
        found.append(
            f"{GUARDED} is CNRG where collapsed methods get 0 and do not stretch the scale of the others."
        )
    inside = {method: gain for method, gain in gains.items() if not gain.gated}
    return [*found, *_metric_warnings(inside, skip=missing == "skip")]


def shows_guarded(gains: Mapping[str, Gains]) -> bool:
    """Whether to show CNRG without collapsed methods: if there are such, and none is gated."""
    found = list(gains.values())
    return len(found) > 1 and found[0].guarded is not None and not any(gain.gated for gain in found)


def _metric_warnings(gains: Mapping[str, Gains], *, skip: bool) -> list[str]:
    """Which metrics are missing, and which are the same for all methods."""
    then = "means are over the rest" if skip else "gains that need it are left out"
    lacking = {method: set(gain.missing) for method, gain in gains.items()}
    nowhere = set.intersection(*lacking.values()) if lacking else set()
    found = [f"No method has {name}: {then}." for name in sorted(nowhere)]
    for method, names in lacking.items():
        if names - nowhere:
            found.append(f"{method} has no {', '.join(sorted(names - nowhere))}: {then}.")
    parts = [gain.parts for gain in gains.values()]
    for name in parts[0] if len(parts) > 1 else ():
        if all(row[name] == 0.5 for row in parts):
            found.append(f"All methods have the same {name}: it gives 0.5 to each.")
    return found


def _check(
    table: MethodTable, parts: Sequence[Sequence[str]], weights: Sequence[float], gate: float | None
) -> None:
    if not table:
        raise UserError("there are no methods to compare.")
    for name in chain.from_iterable(parts):
        metric(name)  # refuses unknown names
    if not all(parts):
        raise UserError("each desideratum needs a metric; give it weight 0 to leave it out.")
    if len(weights) != 3 or min(weights) < 0 or not sum(weights) > 0:
        raise UserError(f"weights {list(weights)} must be three numbers of 0 or more, not all 0.")
    if gate is not None and not 0 <= gate <= 1:
        raise UserError(f"gate {gate} must be from 0 (none left out) to 1 (only the best).")


def _below_gate(table: MethodTable, name: str, gate: float | None) -> set[str]:
    """The methods below this share of the best performance; not those of unknown performance."""
    if gate is None:
        return set()
    if metric(name).direction == "lower":
        raise UserError(f"a gate needs performance of which more is better, not {name}; put another first.")
    known = _known(name, table)
    floor = gate * max(known.values(), default=0.0)
    return {method for method, value in known.items() if value < floor - EQUAL}


def _collapse(row: Mapping[str, float], faithfulness: Sequence[str]) -> str:
    """Why a method seems collapsed by its faithfulness; "" if it does not."""
    names = [name for name in faithfulness if name.startswith(FAITHFULNESS)]
    falls = {name: value for name in names if (value := row.get(name)) is not None}
    sides = {side for side in FAITHFULNESS for name in falls if name.startswith(side)}
    if len(sides) == 2 and all(abs(value) < NO_EFFECT for value in falls.values()):
        return " and ".join(f"{name} is {value:.3f}" for name, value in falls.items())
    return ""


def _near_chance(table: MethodTable, name: str, chance: float | None) -> dict[str, str]:
    """Of each method: that it performs about as well as guessing, in words, or ""."""
    known = _known(name, table)
    if chance is None or not known:
        return dict.fromkeys(table, "")
    best = max(known.values())
    if chance > 1 >= best:
        raise UserError(f"chance {chance:g} is not on the scale of {name}, of which the best is {best:g}.")
    limit = chance + NEAR_CHANCE * max(best - chance, 0.0)
    return {
        method: f"its {name} of {known[method]:.3f} is near chance ({chance:.3f})"
        if method in known and known[method] < limit
        else ""
        for method in table
    }


def _gains_of_all(
    table: MethodTable,
    excluded: Collection[str],
    parts: Sequence[Sequence[str]],
    weights: Sequence[float],
    *,
    skip: bool,
) -> dict[str, Gains]:
    """The gains of every method; excluded ones get 0 and do not stretch the scale of the others."""
    inside = {method: row for method, row in table.items() if method not in excluded}
    scaled = {name: _scaled(name, inside) for name in chain.from_iterable(parts)}
    found = {}
    for method in table:
        absent = 0.0 if method in excluded else math.nan
        values = {name: column.get(method, absent) for name, column in scaled.items()}
        fnrg, pnrg, tnrg = (
            _mean([values[name] for name in group], [1] * len(group), skip=skip) for group in parts
        )
        cnrg = _mean([fnrg, pnrg, tnrg], weights, skip=skip)
        missing = tuple(name for name, value in values.items() if math.isnan(value))
        found[method] = Gains(values, fnrg, pnrg, tnrg, cnrg, missing=missing)
    return found


def _scaled(name: str, table: MethodTable) -> dict[str, float]:
    """One metric of all methods that have it, from 0 for the worst to 1 for the best."""
    known = _known(name, table)
    low, high = min(known.values(), default=0.0), max(known.values(), default=0.0)
    if high - low < EQUAL:
        return dict.fromkeys(known, 0.5)
    worst, best = (low, high) if metric(name).direction == "higher" else (high, low)
    return {method: (value - worst) / (best - worst) for method, value in known.items()}


def _known(name: str, table: MethodTable) -> dict[str, float]:
    """One metric of all methods that have it."""
    values = {method: row.get(name) for method, row in table.items()}
    return {
        method: float(value)
        for method, value in values.items()
        if value is not None and not math.isnan(value)
    }


def _mean(values: Sequence[float], weights: Sequence[float], *, skip: bool) -> float:
    """The weighted mean; NaN if a value with weight is NaN, unless these are to be skipped."""
    pairs = [(value, weight) for value, weight in zip(values, weights, strict=True) if weight]
    if skip:
        pairs = [(value, weight) for value, weight in pairs if not math.isnan(value)]
    total = sum(weight for _, weight in pairs)
    return sum(value * weight for value, weight in pairs) / total if pairs else math.nan
