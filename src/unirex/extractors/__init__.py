"""Rationale extractors: how much each token matters, `(pass, target) -> scores [D, T]`."""

from __future__ import annotations

from collections.abc import Mapping
from inspect import signature
from numbers import Real
from typing import TYPE_CHECKING, Any

from unirex.errors import UserError
from unirex.registry import Registry

if TYPE_CHECKING:
    from torch import nn

ALIASES = {
    "grad": "gradient",
    "saliency": "gradient",
    "ixg": "input-x-gradient",
    "ig": "integrated-gradients",
    "gshap": "gradient-shap",
    "shap": "kernel-shap",
    "rollout": "attention-rollout",
    "loo": "occlusion",
    "dlm": "dual-lm",
    "slm": "shared-lm",
}
POST_HOC = (  # explain any trained classifier; have no parameters
    "gradient",
    "smoothgrad",
    "input-x-gradient",
    "integrated-gradients",
    "deeplift",
    "gradient-shap",
    "occlusion",
    "lime",
    "kernel-shap",
    "attention",
    "attention-rollout",
)
LABEL_FREE = (  # the same scores whatever label is explained; learnt scores too, but for `per_label`
    "attention",
    "attention-rollout",
    "random",
    "gold",
    "inverse",
    "bucket-tagger",
    "dual-lm",
    "shared-lm",
)
EXTRACTORS = Registry(
    "extractor",
    {
        "gradient": "unirex.extractors.gradient:Gradient",
        "smoothgrad": "unirex.extractors.smoothgrad:SmoothGrad",
        "input-x-gradient": "unirex.extractors.input_x_gradient:InputXGradient",
        "integrated-gradients": "unirex.extractors.integrated_gradients:IntegratedGradients",
        "deeplift": "unirex.extractors.deeplift:DeepLift",
        "gradient-shap": "unirex.extractors.gradient_shap:GradientShap",
        "occlusion": "unirex.extractors.occlusion:Occlusion",
        "lime": "unirex.extractors.lime:Lime",
        "kernel-shap": "unirex.extractors.kernel_shap:KernelShap",
        "attention": "unirex.extractors.attention:Attention",
        "attention-rollout": "unirex.extractors.attention_rollout:AttentionRollout",
        "random": "unirex.extractors.heuristic:Random",
        "gold": "unirex.extractors.heuristic:Gold",
        "inverse": "unirex.extractors.heuristic:Inverse",
        "dual-lm": "unirex.extractors.dual_lm:DualLM",
        "shared-lm": "unirex.extractors.shared_lm:SharedLM",
        "blended": "unirex.extractors.blended:Blended",
        "bucket-tagger": "unirex.extractors.bucket_tagger:BucketTagger",
        "a2r": "unirex.extractors.a2r_selector:A2RSelector",
        "hard-kuma": "unirex.extractors.hard_kuma:HardKuma",
        "support": "unirex.extractors.support:Support",
        "given": "unirex.extractors.given:Given",
    },
)


def extractor_name(name: str) -> str:
    """The extractor a short name stands for.

    >>> extractor_name("ig"), extractor_name("occlusion")
    ('integrated-gradients', 'occlusion')
    """
    return ALIASES.get(name, name)


def build_extractor(name: str, encoder_config: Any, options: dict[str, Any]) -> nn.Module:
    """The extractor called `name`; an unknown option is an error."""
    check_options(name, options)
    return EXTRACTORS[name](encoder_config, **options)


def check_options(name: str, options: Mapping[str, Any]) -> None:
    """Refuse options that this extractor does not have."""
    known = option_names(name)
    for key in options:
        if key not in known:
            raise UserError(
                f"extractor '{name}' has no option '{key}'; its options: {', '.join(known) or 'none'}."
            )


def option_names(name: str) -> list[str]:
    """The options of an extractor."""
    return [key for key in signature(EXTRACTORS[name]).parameters if key != "encoder_config"]


def known_options(name: str, options: dict[str, Any]) -> dict[str, Any]:
    """The options that this extractor has, without the others."""
    known = option_names(name)
    return {key: value for key, value in options.items() if key in known}


def check_dial(dial: Any) -> float:
    """The dial of learnt scores itself, if it is from 0 to 1."""
    if not isinstance(dial, Real) or isinstance(dial, bool) or not 0 <= float(dial) <= 1:
        raise UserError(
            f"dial {dial!r}: give a number from 0, as a person would, to 1, as the classifier did."
        )
    return float(dial)
