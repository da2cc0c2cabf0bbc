"""Every metric that one example has a value for, out of its record."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import pairwise
from math import fsum, isnan

import numpy as np
from numpy.typing import NDArray

from unirex.evaluation.records import Floats, Probes, Record, Scored, Views
from unirex.metrics import curves, decision_flip, faithfulness, leave_one_out, naopc, normalised, soft
from unirex.metrics import plausibility as plausible

Values = dict[str, float]

BESIDE = ("comprehensiveness", "sufficiency", "csd", "log_odds")  # told for every way of removing tokens
SPLIT = ("auprc", "average_precision", "token_f1_macro2", "token_f1", "iou_f1", "token_f1_gold_size")


def example_values(record: Record) -> Values:
    """Every metric of one example by name; what cannot be known is not there."""
    found = performance(record) | views_values(record) | probe_values(record) | plausibility(record)
    return {name: value for name, value in (found | efficiency(record)).items() if not isnan(value)}


def performance(record: Record) -> Values:
    """Whether the label is right."""
    if record.predicted is None or record.label is None:
        return {}
    return {"accuracy": float(record.predicted == record.label)}


def views_values(record: Record) -> Values:
    """Whether the rationales are what the prediction rests on: first as chosen, then removed otherwise."""
    found: Values = {}
    for number, views in enumerate(record.views):
        values = removal_values(record, views)
        if number:
            values = {f"{name}/{views.removal}": values[name] for name in BESIDE}
        found |= values
    return found


def removal_values(record: Record, views: Views) -> Values:
    """Comprehensiveness and sufficiency for one way of removing tokens: per budget and over all.

    A system that predicts from its rationale is held against that prediction: its sufficiency is 0 by
    construction, and its comprehensiveness p(r) - p(empty text).
    """
    removed, kept = record.of_target(views.removed), record.of_target(views.kept)  # [K] each
    full = compared_with(record, views)
    comp = faithfulness.comprehensiveness(full, removed)
    suff = faithfulness.sufficiency(full, kept)
    odds = faithfulness.log_odds(full, removed)
    by_budget = {"comprehensiveness": comp, "sufficiency": suff, "csd": faithfulness.csd(comp, suff)}
    found = {name: float(faithfulness.aopc(values)) for name, values in by_budget.items()}
    found |= {f"{name}_mean": float(faithfulness.aopc(v, divisor="mean")) for name, v in by_budget.items()}
    found["log_odds"] = float(faithfulness.aopc(odds))
    for name, values in (by_budget | {"log_odds": odds}).items():
        found |= {f"{name}@{at:g}": float(v) for at, v in zip(record.budgets, values, strict=True)}
    return found | normalised_values(record, full, removed, kept)


def compared_with(record: Record, views: Views) -> Floats:
    """Per budget: p(target) before anything is removed."""
    return record.of_target(views.whole) if views.whole is not None else (record.full,) * len(views.kept)


def normalised_values(record: Record, full: Floats, removed: Floats, kept: Floats) -> Values:
    """The same as shares of what removing everything does, if that was tried."""
    if record.probes is None or record.probes.empty is None:
        return {}
    empty = record.of_target([record.probes.empty]) * len(full)
    comp = normalised.normalised_comprehensiveness(full, removed, empty)
    suff = normalised.normalised_sufficiency(full, kept, empty)
    return {
        "normalised_comprehensiveness": float(np.mean(comp)),
        "normalised_sufficiency": float(np.mean(suff)),
    }


def probe_values(record: Record) -> Values:
    """What further edits of the text show."""
    probes = record.probes
    if probes is None:
        return {}
    return _flips(record, probes) | _curves(record, probes) | _words(record, probes) | _soft(record, probes)


def _flips(record: Record, probes: Probes) -> Values:
    found = {}
    if probes.first is not None:
        found["decision_flip_first"] = decision_flip.first_token_flips(record.probabilities, probes.first)
    if probes.deletion:
        found["decision_flip_fraction"] = decision_flip.flip_fraction(record.probabilities, probes.deletion)
    return found


def _curves(record: Record, probes: Probes) -> Values:
    found = {}
    if probes.deletion:
        found["deletion_auc"] = curves.deletion_auc(record.full, record.of_target(probes.deletion))
    if probes.insertion and probes.empty is not None:
        (empty,) = record.of_target([probes.empty])
        found["insertion_auc"] = curves.insertion_auc(empty, record.of_target(probes.insertion))
    return found


def _words(record: Record, probes: Probes) -> Values:
    found = {}
    if probes.left_out is not None:
        scores = record.sequences[0].scores
        found["loo_correlation"] = leave_one_out.loo_correlation(scores, record.full, probes.left_out)
    if probes.words is not None and probes.lowest is not None and probes.highest is not None:
        found["naopc"] = naopc.normalised_aopc(record.full, probes.words, probes.lowest, probes.highest)
    return found


def _soft(record: Record, probes: Probes) -> Values:
    if probes.zero is None or probes.soft_kept is None or probes.soft_removed is None:
        return {}
    return {
        "soft_sufficiency": soft.soft_sufficiency(record.full, probes.soft_kept, probes.zero),
        "soft_comprehensiveness": soft.soft_comprehensiveness(record.full, probes.soft_removed, probes.zero),
    }


def plausibility(record: Record) -> Values:
    """Whether the rationales are what a person marked; empty if nobody marked anything.

    Paper: counts [CLS] and [SEP] as unmarked tokens too; here only tokens that can be selected count.
    """
    marked = [one for one in record.sequences if one.gold and any(one.gold)]
    found = [dict(_plausibility(one, record.budgets, parts(record, one))) for one in marked]
    mean = {name: fsum(values[name] for values in found) / len(found) for name in (found[0] if found else ())}
    if record.predicted is None or record.label is None:
        return mean
    side = "correct" if record.predicted == record.label else "wrong"
    return mean | {f"{name}/{side}": mean[name] for name in SPLIT if name in mean}


def parts(record: Record, one: Scored) -> list[int] | None:
    """A number for each token that changes with the segment, and where text between two tokens is missing.

    None if there is one part only.
    """
    if len(record.segments) == 1 and not record.truncated:
        return None
    texts, found = (*record.segments, *(record.choices or ())), [0]
    for (segment, _, end), (then, start, _) in pairwise(one.tokens):
        apart = segment != then or (record.truncated and texts[segment][end:start].strip())
        found.append(found[-1] + bool(apart))
    return found


def _plausibility(
    one: Scored, budgets: Iterable[float], parts: list[int] | None
) -> Iterator[tuple[str, float]]:
    scores, gold = np.array(one.scores), np.array(one.gold, dtype=bool)
    if len(scores):  # a tool may name words without scoring them
        yield "auprc", plausible.auprc(scores, gold)
        yield "average_precision", plausible.average_precision(scores, gold)
        yield "token_f1_gold_size", plausible.token_f1_gold_size(scores, gold)
    positive = scores > 0 if one.chosen is None else _marks(one.chosen, len(gold))
    yield "token_f1_macro2", plausible.token_f1_macro2(positive, gold)
    yield "token_f1", plausible.token_f1(positive, gold)
    yield "token_precision", plausible.token_precision(positive, gold)
    yield "token_recall", plausible.token_recall(positive, gold)
    yield "iou_f1", plausible.iou_f1(positive, gold, parts=parts)
    for budget, numbers in zip(budgets, one.selected, strict=False):
        yield f"token_f1@{budget:g}", plausible.token_f1(_marks(numbers, len(gold)), gold)


def _marks(numbers: Iterable[int], count: int) -> NDArray[np.bool_]:
    chosen = np.zeros(count, dtype=bool)
    chosen[list(numbers)] = True
    return chosen


def efficiency(record: Record) -> Values:
    """What predicting and scoring it took."""
    measured = {
        "seconds": record.seconds,
        "token_forwards": record.token_forwards,
        "convergence_delta": record.convergence_delta,
    }
    return {name: value for name, value in measured.items() if value is not None}
