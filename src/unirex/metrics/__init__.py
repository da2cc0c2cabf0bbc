"""The three desiderata in numbers: each metric a pure function, and its description for tables and lists.

>>> METRICS["sufficiency"].direction
'lower'
>>> metric("comprehensiveness@5").header
'Comp@5'
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

from unirex.errors import unknown
from unirex.metrics.faithfulness import aopc, comprehensiveness, csd, sufficiency
from unirex.metrics.performance import accuracy, binary_f1, macro_f1
from unirex.metrics.plausibility import auprc, token_f1, token_f1_macro2

Direction = Literal["higher", "lower"]
Desideratum = Literal["performance", "faithfulness", "plausibility"]


@dataclass(frozen=True, slots=True)
class Metric:
    """What a reader must know about a number: what it is, and which way is good."""

    name: str
    header: str
    direction: Direction
    desideratum: Desideratum
    scale: int  # 100: shown as a percentage; 1: shown as it is
    description: str

    @property
    def arrow(self) -> str:
        """Which way is good, for a table header."""
        return "↑" if self.direction == "higher" else "↓"

    @property
    def decimals(self) -> int:
        """Digits worth showing: 86.4 for percentages, 0.214 for differences of probabilities."""
        return 1 if self.scale == 100 else 3


_SPEC_AOPC = "AOPC, the sum over K budgets divided by K + 1 as in the paper"
_MEAN_AOPC = "plain mean over the budgets as in ERASER"
_COMP = "fall of the predicted label's probability when the rationale is removed"
_SUFF = "fall of the predicted label's probability when only the rationale is kept"
_CSD = "comprehensiveness less sufficiency"

_ALL = (
    Metric("accuracy", "Acc", "higher", "performance", 100, "share of texts given the right label"),
    Metric("macro_f1", "Macro F1", "higher", "performance", 100, "mean F1 of all labels"),
    Metric("binary_f1", "Binary F1", "higher", "performance", 100, "F1 of the positive label"),
    Metric("comprehensiveness", "Comp", "higher", "faithfulness", 1, f"{_COMP}; {_SPEC_AOPC}"),
    Metric("sufficiency", "Suff", "lower", "faithfulness", 1, f"{_SUFF}; {_SPEC_AOPC}"),
    Metric("csd", "CSD", "higher", "faithfulness", 1, f"{_CSD}; {_SPEC_AOPC}"),
    Metric("comprehensiveness_mean", "Comp mean", "higher", "faithfulness", 1, f"{_COMP}; {_MEAN_AOPC}"),
    Metric("sufficiency_mean", "Suff mean", "lower", "faithfulness", 1, f"{_SUFF}; {_MEAN_AOPC}"),
    Metric("csd_mean", "CSD mean", "higher", "faithfulness", 1, f"{_CSD}; {_MEAN_AOPC}"),
    Metric("auprc", "AUPRC", "higher", "plausibility", 100, "how high the words a person marked rank"),
    Metric(
        "token_f1_macro2",
        "TF1",
        "higher",
        "plausibility",
        100,
        "mean F1 of marked and unmarked tokens, selected by score > 0; the paper's TF1",
    ),
    Metric(
        "token_f1",
        "Token F1",
        "higher",
        "plausibility",
        100,
        "F1 of the selected tokens against those a person marked; ERASER's token F1",
    ),
)

METRICS: dict[str, Metric] = {one.name: one for one in _ALL}


def metric(key: str) -> Metric:
    """The metric behind a key of a result: `csd` itself, or `comprehensiveness@5` at one budget."""
    name, at, budget = key.partition("@")
    if name not in METRICS:
        raise unknown("metric", key, METRICS)
    if not at:
        return METRICS[name]
    base = METRICS[name]
    at_budget = f"{base.description.partition(';')[0]}; rationale of {budget} % of the tokens"
    return replace(base, name=key, header=f"{base.header}@{budget}", description=at_budget)


__all__ = [
    "METRICS",
    "Desideratum",
    "Direction",
    "Metric",
    "accuracy",
    "aopc",
    "auprc",
    "binary_f1",
    "comprehensiveness",
    "csd",
    "macro_f1",
    "metric",
    "sufficiency",
    "token_f1",
    "token_f1_macro2",
]
