"""Names of stages by content: everything that their weights depend on, and nothing else; loads no torch."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from unirex.config import Config, Training, plain
from unirex.data.cache import fingerprint, json_digest
from unirex.data.example import Splits
from unirex.models.encoders import encoder_digest
from unirex.training.run_folder import versions

MADE = ["1", versions()["unirex"]]  # increase the number whenever stages must be made anew
NEWER_HARDWARE = (
    "nodes",
    "activation_checkpointing",
)  # of `Training`; not in the names of stages, which earlier versions made too
COMMON = (  # settings that all stages of a run share
    "encoder",
    "pooling",
    "max_length",
    "truncation",
    "stride",
    "rationale_segments",
    "separators",
    "class_weights",
    "label_threshold",
    "training",
    "seed",
)


def stage_config(config: Config, *, gold: bool = False, **changes: Any) -> Config:
    """The settings of a stage: those that all share, and its own; with `gold`, also how gold is limited."""
    common = {name: getattr(config, name) for name in COMMON}
    return Config(**common | {"training": config.training if gold else without_gold(config)} | changes)


def classifier_config(config: Config) -> Config:
    """The settings of the plain classifier, without those that do not matter to it."""
    return stage_config(config, extractor="integrated-gradients")


def without_gold(config: Config) -> Training:
    """The training of a stage that uses no gold, so that it does not depend on how gold is limited."""
    default = Training()
    return replace(
        config.training,
        gold_fraction=default.gold_fraction,
        gold_factor=default.gold_factor,
        gold_seed=default.gold_seed,
    )


def stage_content(data: Splits, config: Config) -> list[Any]:
    """Everything the weights of a stage depend on: not the test split, the hardware, or an encoder's path."""
    used = Splits(data.info, {name: data[name] for name in ("train", "dev")})
    return [MADE, stage_settings(config), fingerprint(used)]


def stage_settings(config: Config) -> dict[str, Any]:
    """The settings that weights depend on, with the encoder as what it is rather than where."""
    default = Training()
    hardware = {name: getattr(default, name) for name in ("accelerator", "devices", "strategy")}
    settings = plain(replace(config, training=replace(config.training, **hardware)))
    for name in NEWER_HARDWARE:
        del settings["training"][name]
    return settings | {"encoder": encoder_digest(config.encoder)}


def content_key(*parts: Any) -> str:
    """A name for the inputs of a stage: equal only for equal inputs.

    >>> content_key("support", {"seed": 0}) == content_key("support", {"seed": 1})
    False
    """
    return json_digest(parts, default=str).hexdigest()[:16]
