"""FRESH: rationales first, then a predictor that reads nothing else (spec/baselines.md#fresh)."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from unirex.config import Config
from unirex.data.example import Splits
from unirex.extractors import build_extractor
from unirex.methods.building import build_system
from unirex.methods.stage_keys import stage_config, without_gold
from unirex.methods.stages import Stages
from unirex.objectives import Objectives
from unirex.objectives.task import Task
from unirex.system import System


def fit(stages: Stages, data: Splits, config: Config) -> System:
    """Train an extractor, extract the rationales of all texts, train a predictor on these alone."""
    train_extractor = tagger if config.extractor == "dual-lm" else support
    extracting = train_extractor(stages, data, config)
    rationales = {name: stages.scores("rationales", extracting, data[name]) for name in ("train", "dev")}
    plain = replace(
        config,
        extractor="given",
        extractor_options={},
        objectives=Objectives(task=config.objectives.task),
        training=without_gold(config),
    )
    # The predictor is trained on the stored rationales; the extractor that makes them joins it afterwards.
    predictor = stages.last(build_system(stages.method, data, plain), data, plain, rationales)
    if config.extractor == "dual-lm":
        extractor, options = extracting.model.extractor, config.extractor_options
    else:
        extractor, options = as_support(extracting)
    return predictor.with_extractor_module(extractor, config.extractor, options)


def support(stages: Stages, data: Splits, config: Config) -> System:
    """A classifier of whole texts, explained by an attribution algorithm."""
    classifier = stages.classifier(data, config)
    return classifier.with_extractor(config.fresh.saliency, **config.fresh.saliency_options)


def tagger(stages: Stages, data: Splits, config: Config) -> System:
    """A language model that learns which tokens to extract: from gold rationales, or from the support."""
    human = bool(config.objectives.plausibility.weight)
    lessons = data if human else by_support(stages, data, config)
    settings = stage_config(
        config,
        gold=human,
        extractor="dual-lm",
        extractor_options=config.extractor_options,
        objectives=Objectives(
            task=Task(weight=0.0), plausibility=replace(config.objectives.plausibility, weight=1.0)
        ),
    )
    return stages.train("tagger", lessons, settings)


def by_support(stages: Stages, data: Splits, config: Config) -> Splits:
    """The data with the rationales of the support model instead of gold in its training texts."""
    marked = stages.marked(
        "marks",
        support(stages, data, config),
        data["train"],
        budget=max(config.budgets),
        selector=config.rationale_selector,
    )
    return Splits(data.info, {"train": marked, "dev": data["dev"]})


def as_support(extracting: System) -> tuple[Any, dict[str, Any]]:
    """A classifier with its attribution algorithm as an extractor, and the options that build it."""
    model = extracting.model
    options = {
        "attribution": model.config.extractor,
        "attribution_options": dict(model.config.extractor_options),
        "pooling": model.config.pooling,
        "classes": model.task.head.out_features,
        "window": model.task.window,
        "stride": model.task.stride,
    }
    extractor: Any = build_extractor("support", model.config.encoder, options)
    extractor.task.load_state_dict(model.task.state_dict())
    return extractor, options
