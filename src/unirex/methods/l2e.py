"""L2E: a student learns to predict what an attribution algorithm computes (spec/baselines.md#l2e)."""

from __future__ import annotations

from dataclasses import replace

from unirex.config import Config
from unirex.data.example import Splits
from unirex.methods.building import build_system
from unirex.methods.stage_keys import without_gold
from unirex.methods.stages import Stages
from unirex.system import System


def fit(stages: Stages, data: Splits, config: Config) -> System:
    """Train a classifier, explain every training text by attribution, train a student on these scores."""
    classifier = stages.classifier(data, config)
    teacher = classifier.with_extractor(config.l2e.teacher, **config.l2e.teacher_options)
    lessons = {"train": stages.scores("lessons", teacher, data["train"])}
    config = replace(config, training=without_gold(config))
    system = build_system(stages.method, data, config)
    if config.l2e.variant == "unirex":  # Paper: another classifier, trained beside the student
        return stages.last(system, data, config, lessons)
    # The student explains the classifier it was taught from, so that one must not change any more.
    system.model.task.load_state_dict(classifier.model.task.state_dict())
    system.model.task.requires_grad_(False)
    stages.last(system, data, config, lessons)
    system.model.task.requires_grad_(True)
    return system
