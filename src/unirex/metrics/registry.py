"""Every metric, declared once: name, direction, formula, desideratum, and where it is measured and shown.

To add a metric: its function in this package, its entry here, and its value in `evaluation/values.py`.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import Literal

from unirex.errors import unknown

Direction = Literal["higher", "lower"]
Desideratum = Literal["performance", "faithfulness", "plausibility", "efficiency"]


@dataclass(frozen=True, slots=True)
class Metric:
    """What a reader must know about a number: what it is, which way is good, and where it comes from."""

    name: str
    header: str
    direction: Direction
    desideratum: Desideratum
    scale: int  # 100: shown as a percentage; 1: shown as it is
    description: str
    headline: bool = False  # a column of the main results table
    probe: str | None = None  # the `evaluate --probes` it needs, if any
    per_example: bool = True  # the mean of one value per example; False: computed from the whole set at once
    by_removal: bool = False  # also reported for further removals, as `csd/mask_token`
    by_outcome: bool = False  # also reported for right and wrong predictions, as `auprc/correct`
    over_budgets: bool = False  # an average over all budgets
    # What it is in a system that predicts from its rationale alone, if not what it is elsewhere: `constant`
    # whatever is selected, or a comparison with the `empty` text.
    alone: Literal["constant", "empty"] | None = None
    paper: str | None = None  # its column in the tables of the UNIREX paper

    @property
    def arrow(self) -> str:
        """The good direction, for a table header."""
        return "↑" if self.direction == "higher" else "↓"

    @property
    def decimals(self) -> int:
        """Digits worth showing: 86.4 for percentages, 0.214 for differences of probabilities."""
        return 1 if self.scale == 100 else 3


_PAPER_AOPC = "AOPC, the sum over K budgets divided by K + 1 as in the paper"
_MEAN_AOPC = "plain mean over the budgets as in ERASER"
_COMP = "fall of the predicted label's probability when the rationale is removed"
_SUFF = "fall of the predicted label's probability when only the rationale is kept"
_CSD = "comprehensiveness less sufficiency"

_performance = partial(Metric, desideratum="performance", scale=100)
_faithfulness = partial(Metric, desideratum="faithfulness", scale=1)
_averaged = partial(_faithfulness, over_budgets=True)
_plausibility = partial(Metric, desideratum="plausibility", scale=100)
_efficiency = partial(Metric, desideratum="efficiency", scale=1)

# The order is that of the columns in tables.
# fmt: off
_ALL = (
    _performance("accuracy", "Acc", "higher", headline=True, paper="acc",
        description="share of texts given the right label"),
    _performance("macro_f1", "Macro F1", "higher", per_example=False,
        description="mean F1 of all labels"),
    _performance("micro_f1", "Micro F1", "higher", per_example=False,
        description="F1 of all labels pooled; accuracy, if all labels count"),
    _performance("binary_f1", "Binary F1", "higher", per_example=False,
        description="F1 of the positive label"),
    _performance("ece", "ECE", "lower", per_example=False,
        description="expected calibration error: how far confidence is from being right so often"),

    _averaged("comprehensiveness", "Comp", "higher", headline=True, by_removal=True, paper="comp",
        alone="empty",
        description=f"{_COMP}; {_PAPER_AOPC}"),
    _averaged("sufficiency", "Suff", "lower", headline=True, by_removal=True, paper="suff", alone="constant",
        description=f"{_SUFF}; {_PAPER_AOPC}"),
    _averaged("csd", "CSD", "higher", headline=True, by_removal=True, paper="csd", alone="constant",
        description=f"{_CSD}; {_PAPER_AOPC}"),
    _averaged("comprehensiveness_mean", "Comp mean", "higher", alone="empty",
        description=f"{_COMP}; {_MEAN_AOPC}"),
    _averaged("sufficiency_mean", "Suff mean", "lower", alone="constant",
        description=f"{_SUFF}; {_MEAN_AOPC}"),
    _averaged("csd_mean", "CSD mean", "higher", alone="constant",
        description=f"{_CSD}; {_MEAN_AOPC}"),
    _averaged("log_odds", "Log-odds", "lower", by_removal=True, alone="empty",
        description=f"log p without the rationale less log p with it; {_PAPER_AOPC}"),
    _averaged("normalised_comprehensiveness", "Norm comp", "higher", probe="empty", alone="constant",
        description="comprehensiveness as a share of what removing everything does; mean over budgets"),
    _averaged("normalised_sufficiency", "Norm suff", "higher", probe="empty", alone="constant",
        description="share of what the whole text adds that the rationale alone gives; mean over budgets"),
    _faithfulness("decision_flip_first", "DFMIT", "higher", probe="curves",
        description="share of texts whose label changes without the highest-scored token"),
    _faithfulness("decision_flip_fraction", "DFFOT", "lower", probe="curves",
        description="share of the tokens, highest first, that must go before the label changes"),
    _faithfulness("deletion_auc", "Deletion AUC", "lower", probe="curves",
        description="area under the probability as tokens are removed, highest first"),
    _faithfulness("insertion_auc", "Insertion AUC", "higher", probe="curves",
        description="area under the probability as tokens are put in, highest first"),
    _faithfulness("loo_correlation", "LOO tau", "higher", probe="leave-one-out",
        description="rank correlation of the scores with what removing each token alone does"),
    _faithfulness("naopc", "NAOPC", "higher", probe="naopc",
        description="fall as words are removed in order, between the least and the most any order reaches"),
    _faithfulness("soft_sufficiency", "Soft-NS", "higher", probe="soft",
        description="sufficiency with embeddings thinned out by score, normalised"),
    _faithfulness("soft_comprehensiveness", "Soft-NC", "higher", probe="soft",
        description="comprehensiveness with embeddings thinned out by score, normalised"),

    _plausibility("auprc", "AUPRC", "higher", headline=True, by_outcome=True, paper="auprc",
        description="how high the words a person marked rank"),
    _plausibility("average_precision", "AP", "higher", by_outcome=True,
        description="the same as a sum of steps, without interpolation"),
    _plausibility("token_f1_macro2", "TF1", "higher", headline=True, by_outcome=True, paper="tf1",
        description="mean F1 of marked and unmarked tokens, selected by score > 0; the paper's TF1"),
    _plausibility("token_f1", "Token F1", "higher", headline=True, by_outcome=True,
        description="F1 of the selected tokens against those a person marked; ERASER's token F1"),
    _plausibility("auprc_all_tokens", "AUPRC all", "higher",
        description="AUPRC with [CLS], [SEP] and all that cannot be selected as unmarked; the paper's"),
    _plausibility("token_f1_macro2_all_tokens", "TF1 all", "higher",
        description="TF1 with [CLS], [SEP] and all that cannot be selected as unmarked; the paper's"),
    _plausibility("token_precision", "Token P", "higher",
        description="share of the selected tokens that a person marked"),
    _plausibility("token_recall", "Token R", "higher",
        description="share of the marked tokens that are selected"),
    _plausibility("iou_f1", "IOU F1", "higher", by_outcome=True,
        description="F1 of runs of selected tokens that overlap a marked run by half"),
    _plausibility("token_f1_gold_size", "F1@gold", "higher", by_outcome=True,
        description="token F1 of as many top tokens as a person marked"),

    _efficiency("seconds", "s/text", "lower", paper="seconds",
        description="seconds to predict and score one text"),
    _efficiency("token_forwards", "Tokens/text", "lower",
        description="tokens the encoder ran for one text, padding included"),
    _efficiency("convergence_delta", "Delta", "lower", paper="delta",
        description="how far attributions are from summing up to what they explain"),
)
# fmt: on

METRICS: dict[str, Metric] = {entry.name: entry for entry in _ALL}
PERFORMANCE_SCORES = tuple(  # of the classifier; not its calibration error, which is lower for the better
    name
    for name, entry in METRICS.items()
    if entry.desideratum == "performance" and entry.direction == "higher"
)
HEADLINE = tuple(name for name, entry in METRICS.items() if entry.headline)
PROBED = tuple(name for name, entry in METRICS.items() if entry.probe)
BY_REMOVAL = tuple(name for name, entry in METRICS.items() if entry.by_removal)
BY_OUTCOME = tuple(name for name, entry in METRICS.items() if entry.by_outcome)
WHOLE_SET = tuple(name for name, entry in METRICS.items() if not entry.per_example)
PAPER_COLUMNS = {entry.paper: name for name, entry in METRICS.items() if entry.paper}  # the paper's → ours

OUTCOMES = {"correct": "texts predicted right", "wrong": "texts predicted wrong"}


def metric(key: str) -> Metric:
    """The metric behind a key of a result.

    `csd` itself, `comprehensiveness@5` at one budget, `auprc/correct` on some of the texts,
    `csd/mask_token` with tokens removed in another way.
    """
    whole, slash, part = key.partition("/")
    name, at, budget = whole.partition("@")
    if name not in METRICS:
        raise unknown("metric", key, METRICS)
    base = METRICS[name]
    description, header = base.description, base.header
    if at:
        # What follows the semicolon is how budgets are averaged: not so at a single budget.
        description = f"{description.partition(';')[0]}; rationale of {budget} % of the tokens"
        header = f"{header}@{budget}"
    if slash:
        description = f"{description}; {OUTCOMES.get(part, f'tokens removed by {part}')}"
        header = f"{header} {part}"
    return replace(base, name=key, header=header, description=description) if at or slash else base
