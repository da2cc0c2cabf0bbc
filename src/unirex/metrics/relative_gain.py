"""How methods stand to each other on all three desiderata: the paper's Normalised Relative Gain (NRG).

Each metric is stretched so that the worst method of the table has 0 and the best 1. FNRG is the mean over the
faithfulness metrics, PNRG over the plausibility metrics, TNRG over task performance, and CNRG is the mean of
the three. Higher is better. The numbers belong to their table: another method in it can change all of them.

NRG rewards collapsed predictors: a classifier that always says the same loses nothing, whatever is removed,
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

Table = Mapping[str, Mapping[str, float]]  # method → metric → value
Missing = Literal["nan", "skip"]

FAITHFULNESS = ("comprehensiveness", "sufficiency")
PLAUSIBILITY = ("auprc", "token_f1_macro2")
PERFORMANCE = ("accuracy",)

EQUAL = 1e-9  # values closer than this differ by rounding
NOTHING = 0.02  # comprehensiveness and sufficiency below this: the text does not matter to the classifier
GUARDED = "CNRG guarded"  # the head of that column
NEAR_CHANCE = 0.1  # of the way from chance to the best method


@dataclass(frozen=True, slots=True)
class Gains:
    """How one method stands in its table: 0 is the worst method, 1 the best."""

    parts: Mapping[str, float]  # by metric
    fnrg: float  # faithfulness
    pnrg: float  # plausibility
    tnrg: float  # task performance
    cnrg: float  # all three
    guarded: float | None = (
        None  # CNRG where collapsed methods get 0 and do not stretch the scale, if any did
    )
    collapsed: bool = False  # the classifier seems not to look at its text
    gated: bool = False  # performs too poorly to take part
    missing: tuple[str, ...] = ()  # metrics without a value
    reason: str = ""  # why it is called collapsed


def relative_gain(
    table: Table,
    *,
    faithfulness: Sequence[str] = FAITHFULNESS,
    plausibility: Sequence[str] = PLAUSIBILITY,
    performance: Sequence[str] = PERFORMANCE,
    weights: Sequence[float] = (1, 1, 1),
    gate: float | None = None,
    chance: float | None = None,
    missing: Missing = "nan",
    collapsed: Mapping[str, str] | None = None,
) -> dict[str, Gains]:
    """NRG of every method: (z - min) / (max - min) of each metric, turned round where lower is better.

    A metric on which all methods are equal gives 0.5 to each: it tells nobody apart, and a constant keeps the
    order of CNRG where NaN would lose it (several extractors of one classifier share its accuracy).

    Args:
        table: values by method and metric, in any scale; NaN is no value.
        faithfulness: metrics of FNRG.
        plausibility: metrics of PNRG.
        performance: metrics of TNRG; the first is what `gate` and `chance` are about.
        weights: of FNRG, PNRG and TNRG in CNRG; a weight of 0 leaves one out.
        gate: methods below gate · best, this share of the best performance, get 0 for everything, and do not
            stretch the scale of the others. 0.9 asks for nine tenths of the best.
        chance: performance of giving one answer to all; methods near it are called collapsed. It has no part
            in the gate.
        missing: with "nan" a method that lacks a metric has no gain in that desideratum and no CNRG, as a
            mean over fewer metrics is not comparable; "skip" takes the mean of what is there.
        collapsed: of the methods whose predictions are known: why one is called collapsed, or nothing. The
            others are judged by their numbers.

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
    out = _below_gate(table, performance[0], gate)
    seen = {
        method: _collapse(row, faithfulness, _beside_chance(table, performance[0], method, chance))
        for method, row in table.items()
    }
    known = collapsed or {}
    reasons = {name: " and ".join(one for one in (known.get(name), seen[name]) if one) for name in table}
    found = _without(out, table, parts, weights, skip=missing == "skip")
    constant = {name for name in table if known.get(name, seen[name])}
    guarded = _without(out | constant, table, parts, weights, skip=missing == "skip") if constant else {}
    return {
        method: replace(
            gains,
            guarded=guarded[method].cnrg if guarded else None,
            gated=method in out,
            collapsed=bool(reasons[method]),
            reason=reasons[method],
        )
        for method, gains in found.items()
    }


def _without(
    out: Collection[str],
    table: Table,
    parts: Sequence[Sequence[str]],
    weights: Sequence[float],
    *,
    skip: bool,
) -> dict[str, Gains]:
    """The gains of every method, where some get 0 and do not stretch the scale of the others."""
    inside = {method: row for method, row in table.items() if method not in out}
    scaled = {name: _scaled(name, inside) for name in chain.from_iterable(parts)}
    found = {}
    for method in table:
        values = {
            name: 0.0 if method in out else column.get(method, math.nan) for name, column in scaled.items()
        }
        found[method] = _gains(values, parts, weights, skip=skip)
    return found


def warnings_of(gains: Mapping[str, Gains], *, missing: Missing = "nan") -> list[str]:
    """What a reader of these gains must know, a sentence each: gated, collapsed, missing, all equal."""
    gated = [
        f"{method} performs below the gate: its gains are 0 and it does not stretch the scale."
        for method, one in gains.items()
        if one.gated
    ]
    collapsed = [
        f"{method} earns FNRG {one.fnrg:.3f}, but {one.reason}: "
        "a classifier that always says the same gets this too."
        for method, one in gains.items()
        if one.collapsed and one.fnrg > 0
    ]
    inside = {method: one for method, one in gains.items() if not one.gated}
    told = f"{GUARDED} is CNRG where collapsed methods get 0 and do not stretch the scale of the others."
    guarded = [told] if shows_guarded(gains) else []
    return [*_alone(gains), *gated, *collapsed, *guarded, *_missing(inside, missing), *_all_equal(inside)]


def shows_guarded(gains: Mapping[str, Gains]) -> bool:
    """Whether CNRG without collapsed methods is to be shown: if there are such, and no gate keeps any out."""
    found = list(gains.values())
    return len(found) > 1 and found[0].guarded is not None and not any(one.gated for one in found)


def _alone(gains: Mapping[str, Gains]) -> list[str]:
    says = "There is one method only: gains are relative to others, so each metric it has gives 0.5."
    return [says] if len(gains) == 1 else []


def _missing(gains: Mapping[str, Gains], how: Missing) -> list[str]:
    then = "means are over the rest" if how == "skip" else "gains that need it are left out"
    lacking = {method: set(one.missing) for method, one in gains.items()}
    nobody = set.intersection(*lacking.values()) if lacking else set()
    found = [f"No method has {name}: {then}." for name in sorted(nobody)]
    for method, names in lacking.items():
        if names - nobody:
            missing = ", ".join(sorted(names - nobody))
            found.append(f"{method} has no {missing}: {then}.")
    return found


def _all_equal(gains: Mapping[str, Gains]) -> list[str]:
    inside = [one.parts for one in gains.values()]
    names = inside[0] if len(inside) > 1 else ()
    same = [name for name in names if all(parts[name] == 0.5 for parts in inside)]
    return [f"All methods have the same {name}: it gives 0.5 to each." for name in same]


def _check(
    table: Table, parts: Sequence[Sequence[str]], weights: Sequence[float], gate: float | None
) -> None:
    if not table:
        raise UserError("there are no methods to compare.")
    for name in chain.from_iterable(parts):
        metric(name)  # refuses what is none
    if not all(parts):
        raise UserError("each desideratum needs a metric; give it weight 0 to leave it out.")
    if len(weights) != 3 or min(weights) < 0 or not sum(weights) > 0:
        raise UserError(f"weights {list(weights)} must be three numbers of 0 or more, not all 0.")
    if gate is not None and not 0 <= gate <= 1:
        raise UserError(f"gate {gate} must be from 0 (nobody left out) to 1 (only the best).")


def _below_gate(table: Table, name: str, gate: float | None) -> set[str]:
    """The methods below this share of the best performance; one of unknown performance is not among them."""
    if gate is None:
        return set()
    if metric(name).direction == "lower":
        raise UserError(f"a gate needs performance of which more is better, not {name}; put another first.")
    known = _known(name, table)
    floor = gate * max(known.values(), default=0.0)
    return {method for method, value in known.items() if value < floor - EQUAL}


def _part_way(table: Table, name: str, chance: float, part: float) -> float:
    """So far from chance to the best performance of the table."""
    best = max(_known(name, table).values(), default=chance)
    if chance > 1 >= best:
        raise UserError(f"chance {chance:g} is not on the scale of {name}, of which the best is {best:g}.")
    return chance + part * max(best - chance, 0.0)


def _scaled(name: str, table: Table) -> dict[str, float]:
    """One metric of all methods that have it, from 0 for the worst to 1 for the best."""
    known = _known(name, table)
    low, high = min(known.values(), default=0.0), max(known.values(), default=0.0)
    if high - low < EQUAL:
        return dict.fromkeys(known, 0.5)
    worst, best = (low, high) if metric(name).direction == "higher" else (high, low)
    return {method: (value - worst) / (best - worst) for method, value in known.items()}


def _known(name: str, table: Table) -> dict[str, float]:
    values = {method: row.get(name) for method, row in table.items()}
    return {method: float(one) for method, one in values.items() if one is not None and not math.isnan(one)}


def _gains(
    values: Mapping[str, float], parts: Sequence[Sequence[str]], weights: Sequence[float], *, skip: bool
) -> Gains:
    fnrg, pnrg, tnrg = (
        _mean([values[name] for name in group], [1] * len(group), skip=skip) for group in parts
    )
    missing = tuple(name for name, value in values.items() if math.isnan(value))
    cnrg = _mean([fnrg, pnrg, tnrg], weights, skip=skip)
    return Gains(dict(values), fnrg, pnrg, tnrg, cnrg, missing=missing)


def _mean(values: Sequence[float], weights: Sequence[float], *, skip: bool) -> float:
    """The weighted mean; a value that is NaN makes it NaN, unless it has no weight or is to be skipped."""
    pairs = [(value, weight) for value, weight in zip(values, weights, strict=True) if weight]
    if skip:
        pairs = [(value, weight) for value, weight in pairs if not math.isnan(value)]
    total = sum(weight for _, weight in pairs)
    return sum(value * weight for value, weight in pairs) / total if pairs else math.nan


def _beside_chance(table: Table, name: str, method: str, chance: float | None) -> str:
    """Whether a method performs about as well as guessing, in words."""
    value = _known(name, table).get(method)
    if chance is None or value is None or value >= _part_way(table, name, chance, NEAR_CHANCE):
        return ""
    return f"its {name} of {value:.3f} is near chance ({chance:.3f})"


def _collapse(row: Mapping[str, float], faithfulness: Sequence[str], beside_chance: str) -> str:
    """Why a method is called collapsed; nothing if it is not."""
    names = [name for name in faithfulness if name.startswith(FAITHFULNESS)]
    falls = {name: value for name in names if (value := row.get(name)) is not None}
    kinds = {fall for fall in FAITHFULNESS for name in falls if name.startswith(fall)}
    if len(kinds) == 2 and all(abs(value) < NOTHING for value in falls.values()):
        return " and ".join(f"{name} is {value:.3f}" for name, value in falls.items())
    return beside_chance
