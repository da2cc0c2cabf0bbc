"""The verdict of a comparison in words: who is better at what, and which differences are more than chance."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import isnan, nan
from typing import TYPE_CHECKING

from unirex.comparison.method import Method
from unirex.metrics.registry import Desideratum, metric
from unirex.report.notes import constant_answer
from unirex.report.table import between, cell

if TYPE_CHECKING:
    from unirex.comparison.comparison import Comparison

ADJECTIVES: dict[Desideratum, str] = {
    "performance": "accurate",
    "faithfulness": "faithful",
    "plausibility": "plausible",
}
LEADING: dict[Desideratum, str] = {"faithfulness": "csd", "plausibility": "auprc"}  # decides, if it is known
FEW_TEXTS = 50  # of fewer, tests find large differences only
FEW_SEEDS = 3  # of fewer, one lucky training may decide
MOST_NAMES = 4  # in a sentence


def verdict(comparison: Comparison) -> list[str]:
    """A few sentences that a reader in a hurry can rely on: one system alone, two, or several."""
    methods = comparison.methods
    sentences = list(_collapses(methods))
    if len(methods) == 1:
        sentences += _alone(comparison, methods[0])
    elif len(methods) == 2:
        sentences += _pair(comparison, *methods)
    else:
        sentences += _ranking(comparison)
    return [*sentences, *_reservations(comparison)]


def _collapses(methods: Sequence[Method]) -> Iterator[str]:
    for method in methods:
        collapse = next((run.collapse for run in method.runs if run.collapse is not None), None)
        if collapse is not None:
            yield f"{method.name} answers {constant_answer(collapse)}: its rationales explain nothing."


def _reservations(comparison: Comparison) -> Iterator[str]:
    """What the texts and seeds are too few for."""
    if comparison.texts < FEW_TEXTS:
        yield f"There are only {comparison.texts} texts: too few to find any but large differences."
    seeds = min(method.seeds for method in comparison.methods)
    if len(comparison.methods) > 1 and seeds < FEW_SEEDS:
        counted = "one seed" if seeds == 1 else f"{seeds} seeds"
        yield (
            f"The tests are over texts. With {counted} of a method they do not tell how another training "
            "would turn out."
        )


# ---- Two methods ------------------------------------------------------------------------------------------


def _pair(comparison: Comparison, first: Method, second: Method) -> Iterator[str]:
    """The second against the first, then all metrics on which they really differ."""
    phrases = list(filter(None, (_phrase(comparison, desideratum) for desideratum in ADJECTIVES)))
    if phrases:
        yield f"Compared with {first.name}, {second.name} is {_listed(phrases)}."
    yield from _untested(comparison)
    real = [metric(key).header for key in comparison.columns if comparison.best(key)]
    if real:
        yield (
            f"Real differences (paired {comparison.test} test over {comparison.texts} texts, 5 %): "
            f"{', '.join(real)}."
        )
    elif comparison.tests():
        yield "No difference between them is significant: chance alone could set them so far apart."
    yield from _floors(comparison)


def _phrase(comparison: Comparison, desideratum: Desideratum) -> str:
    """What the second method is beside the first, as "less faithful (…)"; empty if that is not tested."""
    key, adjective = _leading(comparison, desideratum), ADJECTIVES[desideratum]
    if key is None or not comparison.differences(key):
        return ""
    (test,), (first, second) = comparison.differences(key), comparison.methods
    if test.low == test.high == 0:  # one classifier, explained in two ways
        return f"exactly as {adjective} ({metric(key).header} {cell(key, second.value(key))})"
    values = f"{metric(key).header} {cell(key, second.value(key))} against {cell(key, first.value(key))}"
    best = comparison.best(key)
    if not best:
        apart = between(key, (-test.high, -test.low))
        return f"about as {adjective} ({values}{f'; difference {apart}' if apart else ''})"
    better = second.name in best
    contrary = {first.name} if better else {second.name}
    others = [
        metric(other).header
        for other in _columns(comparison, desideratum)
        if comparison.best(other) == contrary
    ]
    but = f"; but {'worse' if better else 'better'} {' and '.join(others)}" if others else ""
    return f"{'more' if better else 'less'} {adjective} ({values}{but})"


# ---- Several methods --------------------------------------------------------------------------------------


def _ranking(comparison: Comparison) -> Iterator[str]:
    """The best of each desideratum and who is worse; then who is among the best in all."""
    among_best = []
    for desideratum, adjective in ADJECTIVES.items():
        key = _leading(comparison, desideratum)
        if not key or not comparison.differences(key):
            continue
        ranked = [method for method in comparison.ranked(key) if not isnan(method.value(key))]
        sign = 1 if metric(key).direction == "higher" else -1
        top = max(ranked, key=lambda method: sign * method.value(key))
        shown = f"{top.name} ({metric(key).header} {cell(key, top.value(key))})"
        best = comparison.best(key)
        if not best:
            yield f"Most {adjective}: {shown}, but no method is significantly less {adjective}."
            continue
        among_best.append(best)
        level = [method.name for method in ranked if method.name in best and method is not top]
        worse = [method.name for method in ranked if method.name not in best]
        beside = f", not distinguished from {_names(level)}" if level else ""
        yield f"Most {adjective}: {shown}{beside}. Significantly less {adjective}: {_names(worse)}."
    yield from _untested(comparison)
    if len(among_best) > 1:
        shared = set.intersection(*among_best)
        everywhere = [method.name for method in comparison.methods if method.name in shared]
        found = f"Among the best in all of these: {_names(everywhere)}." if everywhere else ""
        yield found or "No method is among the best in all of these."
    elif not among_best and comparison.tests():
        yield "No difference decides between them: chance alone could set them so far apart."
    yield from _floors(comparison)


def _names(names: Sequence[str]) -> str:
    """Names for a sentence; of many, the first few.

    >>> _names(["a", "b"]), _names(list("abcdef"))
    ('a and b', 'a, b, c, d and 2 more')
    """
    shown, left = list(names[:MOST_NAMES]), len(names) - MOST_NAMES
    return _listed([*shown, f"{left} more"] if left > 0 else shown)


# ---- One system -------------------------------------------------------------------------------------------


def _alone(comparison: Comparison, method: Method) -> Iterator[str]:
    """How often it is right, and whether its rationales are better than random ones."""
    yield _performance(comparison, method)
    for desideratum in ("faithfulness", "plausibility"):
        yield _against_floor(comparison, method, desideratum)


def _performance(comparison: Comparison, method: Method) -> str:
    """How often it is right, beside one answer to all texts."""
    key, chance = comparison.performance, comparison.chance
    if isnan(method.value(key)):
        return "How often it is right is not known: there are no labels or no predictions."
    what, on = ("is right on", "of") if key == "accuracy" else (f"has a {metric(key).header} of", "on")
    beside = "" if chance is None else f"; one answer to all of them reaches {cell(key, chance)} %"
    bounds = between(key, method.interval(key))
    share = f"{cell(key, method.value(key))} %{f' ({bounds})' if bounds else ''}"
    return f"{method.name} {what} {share} {on} {comparison.texts} texts{beside}."


def _against_floor(comparison: Comparison, method: Method, desideratum: Desideratum) -> str:
    """A desideratum of rationales held against random ones under the same classifier."""
    key, adjective = _leading(comparison, desideratum), ADJECTIVES[desideratum]
    if not key or isnan(method.value(key)):
        return f"How {adjective} its rationales are was not measured."
    if desideratum == "faithfulness" and method.select_predict:
        return "It predicts from its rationale alone, so that Suff is 0 and CSD says nothing by construction."
    shown = f"{metric(key).header} {_estimate(method, key)}"
    floor = method.floor.get(key)
    if floor is None or isnan(floor):
        return f"Its rationales have {shown}; no random ones were drawn to hold that against."
    better = _better_than_floor(method, key)
    word = {1: f"more {adjective} than", 0: "not distinguished from", -1: f"less {adjective} than"}[better]
    return f"Its rationales are {word} random ones: {shown} against {cell(key, floor)}."


def _estimate(method: Method, key: str) -> str:
    """A value with its 95 % interval."""
    bounds = between(key, method.interval(key))
    return cell(key, method.value(key)) + (f" ({bounds})" if bounds else "")


# ---- For all ----------------------------------------------------------------------------------------------


def _columns(comparison: Comparison, desideratum: Desideratum) -> list[str]:
    """The metrics of the table that belong to a desideratum; errors of calibration are not performance."""
    keys = [key for key in comparison.columns if metric(key).desideratum == desideratum]
    return [key for key in keys if key != "ece"]


def _leading(comparison: Comparison, desideratum: Desideratum) -> str | None:
    """The metric that decides on a desideratum: of the table, the usual one or else the first."""
    keys = _columns(comparison, desideratum)
    return LEADING.get(desideratum) if LEADING.get(desideratum) in keys else next(iter(keys), None)


def _untested(comparison: Comparison) -> Iterator[str]:
    """Which desiderata are not compared, and why."""
    for desideratum, adjective in ADJECTIVES.items():
        key = _leading(comparison, desideratum)
        if key is None:
            yield f"Who is more {adjective} was not measured."
        elif not comparison.differences(key):
            yield f"Who is more {adjective} cannot be tested on these numbers: see the notes below the table."


def _floors(comparison: Comparison) -> Iterator[str]:
    """The methods whose rationales are no more faithful than random ones."""
    key = _leading(comparison, "faithfulness")
    if key is None:
        return
    useless = [
        method.name
        for method in comparison.ranked(key)
        if method.floor and _better_than_floor(method, key) < 1
    ]
    if useless:
        yield f"No more faithful than random scores: {_names(useless)}."


def _better_than_floor(method: Method, key: str) -> int:
    """1 if the whole interval is better than random scores, -1 if it is worse, else 0."""
    (low, high), floor = method.interval(key), method.floor.get(key, nan)
    above, below = low > floor, high < floor
    if metric(key).direction == "lower":
        above, below = below, above
    return above - below


def _listed(parts: Sequence[str]) -> str:
    """Parts of a sentence.

    >>> _listed(["a", "b", "c"])
    'a, b and c'
    """
    return " and ".join([", ".join(parts[:-1]), parts[-1]] if len(parts) > 1 else parts)
