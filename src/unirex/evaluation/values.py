"""The value of every metric for one example, computed from its record."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import pairwise
from math import fsum, isnan

import numpy as np

from unirex.evaluation.records import Record, Scored, Views
from unirex.metrics import plausibility
from unirex.metrics.arrays import Bools
from unirex.metrics.curves import deletion_auc, first_token_flips, flip_fraction, insertion_auc
from unirex.metrics.faithfulness import (
    aopc,
    comprehensiveness,
    csd,
    log_odds,
    normalised_comprehensiveness,
    normalised_sufficiency,
    soft_comprehensiveness,
    soft_sufficiency,
    sufficiency,
)
from unirex.metrics.leave_one_out import loo_correlation
from unirex.metrics.naopc import normalised_aopc
from unirex.metrics.registry import BY_OUTCOME, BY_REMOVAL

Values = dict[str, float]


def example_values(record: Record) -> Values:
    """Every metric of one example by name; unknown ones are absent."""
    values = (
        performance_values(record)
        | faithfulness_values(record)
        | probe_values(record)
        | plausibility_values(record)
        | efficiency_values(record)
    )
    return {name: value for name, value in values.items() if not isnan(value)}


def performance_values(record: Record) -> Values:
    """Whether the label is right; of a set of labels, whether all are."""
    if record.predicted is None or record.label is None:
        return {}
    return {"accuracy": float(record.predicted == record.label)}


def faithfulness_values(record: Record) -> Values:
    """Comprehensiveness, sufficiency and the like: for the main removal, then for further ones."""
    found: Values = {}
    for number, views in enumerate(record.views):
        values = removal_values(record, views)
        if number:
            values = {f"{name}/{views.removal}": values[name] for name in BY_REMOVAL}
        found |= values
    return found


def removal_values(record: Record, views: Views) -> Values:
    """Comprehensiveness and sufficiency for one way of removing tokens: per budget and over all.

    A system that predicts from its rationale is compared with that prediction: its sufficiency is 0 by
    construction, and its comprehensiveness p(r) - p(empty text).
    """
    removed, kept = record.of_target(views.removed), record.of_target(views.kept)  # [K] each
    full = record.of_target(views.whole) if views.whole is not None else (record.full,) * len(kept)  # [K]
    comp, suff = comprehensiveness(full, removed), sufficiency(full, kept)
    by_budget = {"comprehensiveness": comp, "sufficiency": suff, "csd": csd(comp, suff)}
    odds = log_odds(full, removed)
    found = {name: float(aopc(values)) for name, values in by_budget.items()}
    found |= {f"{name}_mean": float(aopc(values, divisor="mean")) for name, values in by_budget.items()}
    found["log_odds"] = float(aopc(odds))
    for name, values in (by_budget | {"log_odds": odds}).items():
        pairs = zip(record.budgets, values, strict=True)
        found |= {f"{name}@{budget:g}": float(value) for budget, value in pairs}
    if record.probes is not None and record.probes.empty is not None:
        empty = record.of_target([record.probes.empty]) * len(full)
        comp_shares = normalised_comprehensiveness(full, removed, empty)
        suff_shares = normalised_sufficiency(full, kept, empty)
        found["normalised_comprehensiveness"] = float(np.mean(comp_shares))
        found["normalised_sufficiency"] = float(np.mean(suff_shares))
    return found


def probe_values(record: Record) -> Values:
    """The metrics of probes, for those that were made."""
    probes = record.probes
    if probes is None:
        return {}
    found = {}
    if probes.first is not None:
        found["decision_flip_first"] = first_token_flips(
            *record.decided([record.probabilities, probes.first])
        )
    if probes.deletion:
        whole, *parts = record.decided([record.probabilities, *probes.deletion])
        found["decision_flip_fraction"] = flip_fraction(whole, parts)
        found["deletion_auc"] = deletion_auc(record.full, record.of_target(probes.deletion))
    if probes.insertion and probes.empty is not None:
        (empty,) = record.of_target([probes.empty])
        found["insertion_auc"] = insertion_auc(empty, record.of_target(probes.insertion))
    if probes.left_out is not None:
        scores = record.sequences[0].scores
        found["loo_correlation"] = loo_correlation(scores, record.full, probes.left_out)
    if probes.words is not None and probes.lowest is not None and probes.highest is not None:
        found["naopc"] = normalised_aopc(record.full, probes.words, probes.lowest, probes.highest)
    if probes.zero is not None and probes.soft_kept is not None and probes.soft_removed is not None:
        full, kept, removed, zero = record.full, probes.soft_kept, probes.soft_removed, probes.zero
        found["soft_sufficiency"] = soft_sufficiency(full, kept, zero)
        found["soft_comprehensiveness"] = soft_comprehensiveness(full, removed, zero)
    return found


def plausibility_values(record: Record) -> Values:
    """Agreement with the gold rationale, mean over sequences; empty if no token is marked.

    Paper: counts [CLS] and [SEP] as unmarked tokens too. Here only tokens that can be selected count, except
    in the metrics named `…_all_tokens` (spec/metrics.md#plausibility).
    """
    marked = [scored for scored in record.sequences if scored.gold and any(scored.gold)]
    if not marked:
        return {}
    each = [dict(_sequence_plausibility(scored, record)) for scored in marked]
    mean = {name: fsum(values[name] for values in each) / len(each) for name in each[0]}
    if record.predicted is None or record.label is None:
        return mean
    outcome = "correct" if record.predicted == record.label else "wrong"
    return mean | {f"{name}/{outcome}": mean[name] for name in BY_OUTCOME if name in mean}


def _sequence_plausibility(scored: Scored, record: Record) -> Iterator[tuple[str, float]]:
    scores, gold = np.array(scored.scores), np.array(scored.gold, dtype=bool)
    if len(scores):  # a tool may select words without scoring them
        yield "auprc", plausibility.auprc(scores, gold)
        yield "average_precision", plausibility.average_precision(scores, gold)
        yield "token_f1_gold_size", plausibility.token_f1_gold_size(scores, gold)
    selected = scores > 0 if scored.chosen is None else _marks(scored.chosen, len(gold))
    yield "token_f1_macro2", plausibility.token_f1_macro2(selected, gold)
    yield "token_f1", plausibility.token_f1(selected, gold)
    if scored.others is not None and scored.chosen is None:
        every, marks = np.append(scores, scored.others), np.append(gold, np.zeros(len(scored.others), bool))
        yield "auprc_all_tokens", plausibility.auprc(every, marks)
        yield "token_f1_macro2_all_tokens", plausibility.token_f1_macro2(every > 0, marks)
    yield "token_precision", plausibility.token_precision(selected, gold)
    yield "token_recall", plausibility.token_recall(selected, gold)
    yield "iou_f1", plausibility.iou_f1(selected, gold, parts=_contiguous_parts(scored, record))
    for budget, numbers in zip(record.budgets, scored.selected, strict=False):
        yield f"token_f1@{budget:g}", plausibility.token_f1(_marks(numbers, len(gold)), gold)


def _contiguous_parts(scored: Scored, record: Record) -> list[int] | None:
    """A number per token that changes with the segment, and where text between two tokens is missing.

    None if there is one part only.
    """
    if len(record.segments) == 1 and not record.truncated:
        return None
    texts, parts = (*record.segments, *(record.choices or ())), [0]
    for (segment, _, end), (then, start, _) in pairwise(scored.tokens):
        apart = segment != then or (record.truncated and texts[segment][end:start].strip())
        parts.append(parts[-1] + bool(apart))
    return parts


def _marks(numbers: Iterable[int], count: int) -> Bools:
    marks = np.zeros(count, dtype=bool)
    marks[list(numbers)] = True
    return marks


def efficiency_values(record: Record) -> Values:
    """The cost of predicting and scoring, as far as it was measured."""
    measured = {
        "seconds": record.seconds,
        "token_forwards": record.token_forwards,
        "convergence_delta": record.convergence_delta,
    }
    return {name: value for name, value in measured.items() if value is not None}
