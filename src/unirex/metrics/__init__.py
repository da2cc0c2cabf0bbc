"""The three desiderata in numbers: each metric a pure function; `registry` describes them all."""

from __future__ import annotations

from unirex.metrics.faithfulness import aopc, comprehensiveness, csd, sufficiency
from unirex.metrics.performance import accuracy, binary_f1, macro_f1
from unirex.metrics.plausibility import auprc, token_f1, token_f1_macro2
from unirex.metrics.registry import METRICS, Desideratum, Direction, Metric, metric

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
