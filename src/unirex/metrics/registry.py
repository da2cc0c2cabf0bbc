"""Every metric, described once: name, direction, formula, desideratum."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

from unirex.errors import unknown

Direction = Literal["higher", "lower"]
Desideratum = Literal["performance", "faithfulness", "plausibility", "efficiency"]


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


def _of(desideratum: Desideratum, scale: int, *rows: tuple[str, str, Direction, str]) -> list[Metric]:
    return [Metric(name, header, way, desideratum, scale, says) for name, header, way, says in rows]


_ALL = (
    *_of(
        "performance",
        100,
        ("accuracy", "Acc", "higher", "share of texts given the right label"),
        ("macro_f1", "Macro F1", "higher", "mean F1 of all labels"),
        ("micro_f1", "Micro F1", "higher", "F1 of all labels pooled; accuracy, if all labels count"),
        ("binary_f1", "Binary F1", "higher", "F1 of the positive label"),
        (
            "ece",
            "ECE",
            "lower",
            "expected calibration error: how far confidence is from being right so often",
        ),
    ),
    *_of(
        "faithfulness",
        1,
        ("comprehensiveness", "Comp", "higher", f"{_COMP}; {_SPEC_AOPC}"),
        ("sufficiency", "Suff", "lower", f"{_SUFF}; {_SPEC_AOPC}"),
        ("csd", "CSD", "higher", f"{_CSD}; {_SPEC_AOPC}"),
        ("comprehensiveness_mean", "Comp mean", "higher", f"{_COMP}; {_MEAN_AOPC}"),
        ("sufficiency_mean", "Suff mean", "lower", f"{_SUFF}; {_MEAN_AOPC}"),
        ("csd_mean", "CSD mean", "higher", f"{_CSD}; {_MEAN_AOPC}"),
        ("log_odds", "Log-odds", "lower", f"log p without the rationale less log p with it; {_SPEC_AOPC}"),
        (
            "normalised_comprehensiveness",
            "Norm comp",
            "higher",
            "comprehensiveness as a share of what removing everything does; mean over budgets",
        ),
        (
            "normalised_sufficiency",
            "Norm suff",
            "higher",
            "share of what the whole text adds that the rationale alone gives; mean over budgets",
        ),
        (
            "decision_flip_first",
            "DFMIT",
            "higher",
            "share of texts whose label changes without the highest-scored token",
        ),
        (
            "decision_flip_fraction",
            "DFFOT",
            "lower",
            "share of the tokens, highest first, that must go before the label changes",
        ),
        (
            "deletion_auc",
            "Deletion AUC",
            "lower",
            "area under the probability as tokens are removed, highest first",
        ),
        (
            "insertion_auc",
            "Insertion AUC",
            "higher",
            "area under the probability as tokens are put in, highest first",
        ),
        (
            "loo_correlation",
            "LOO tau",
            "higher",
            "rank correlation of the scores with what removing each token alone does",
        ),
        (
            "naopc",
            "NAOPC",
            "higher",
            "fall as words are removed in order, between the least and the most any order reaches",
        ),
        (
            "soft_comprehensiveness",
            "Soft-NC",
            "higher",
            "comprehensiveness with embeddings thinned out by score, normalised",
        ),
        (
            "soft_sufficiency",
            "Soft-NS",
            "higher",
            "sufficiency with embeddings thinned out by score, normalised",
        ),
    ),
    *_of(
        "plausibility",
        100,
        ("auprc", "AUPRC", "higher", "how high the words a person marked rank"),
        ("average_precision", "AP", "higher", "the same as a sum of steps, without interpolation"),
        (
            "token_f1_macro2",
            "TF1",
            "higher",
            "mean F1 of marked and unmarked tokens, selected by score > 0; the paper's TF1",
        ),
        (
            "token_f1",
            "Token F1",
            "higher",
            "F1 of the selected tokens against those a person marked; ERASER's token F1",
        ),
        ("token_precision", "Token P", "higher", "share of the selected tokens that a person marked"),
        ("token_recall", "Token R", "higher", "share of the marked tokens that are selected"),
        ("iou_f1", "IOU F1", "higher", "F1 of runs of selected tokens that overlap a marked run by half"),
        ("token_f1_gold_size", "F1@gold", "higher", "token F1 of as many top tokens as a person marked"),
    ),
    *_of(
        "efficiency",
        1,
        ("seconds", "s/text", "lower", "seconds to predict and score one text"),
        ("token_forwards", "Tokens/text", "lower", "tokens the encoder ran for one text, padding included"),
        (
            "convergence_delta",
            "Delta",
            "lower",
            "how far attributions are from summing up to what they explain",
        ),
    ),
)

METRICS: dict[str, Metric] = {one.name: one for one in _ALL}


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
    says, header = base.description, base.header
    if at:
        says = f"{says.partition(';')[0]}; rationale of {budget} % of the tokens"
        header = f"{header}@{budget}"
    if slash:
        says, header = f"{says}; {PARTS.get(part, f'tokens removed by {part}')}", f"{header} {part}"
    return replace(base, name=key, header=header, description=says) if at or slash else base


PARTS = {"correct": "texts predicted right", "wrong": "texts predicted wrong"}
