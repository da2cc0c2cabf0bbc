"""The system that settings describe, before training, and checks that settings and data go together."""

from __future__ import annotations

from collections import Counter
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from unirex.config import Config, Fresh
from unirex.data.example import Layout, Splits, answer_labels
from unirex.errors import UserError
from unirex.extractors import POST_HOC, extractor_name, option_names
from unirex.methods.catalogue import FAMILIES, family

if TYPE_CHECKING:
    from unirex.modeling import RationaleModel
    from unirex.system import System

CONSTANT = (  # extractors whose scores get no gradient
    "random",
    "gold",
    "inverse",
    "occlusion",
    "lime",
    "kernel-shap",
    "attention",
    "attention-rollout",
    "bucket-tagger",
    "support",
    "given",
)
BEFORE_PREDICTION = (  # extractors that need no prediction, as select-predict systems require
    "dual-lm",
    "shared-lm",
    "a2r",
    "hard-kuma",
    "support",
    "given",
    "random",
    "gold",
    "inverse",
)
LEARNT_SCORES = ("dual-lm", "shared-lm")
STAGE_EXTRACTORS = {"fresh": ("dual-lm", "support"), "l2e": ("bucket-tagger",)}  # made by their stages
OBJECTIVE_EXTRACTORS = {  # objectives that only one extractor can learn from
    "imitation": "bucket-tagger",
    "agreement": "a2r",
    "soft_task": "a2r",
    "sparsity": "hard-kuma",
}


def balanced_weights(data: Splits) -> tuple[float, ...]:
    """A weight for each label, inverse to how often it is in train; their mean over the texts is 1.

    Of multi-label data: how many texts without the label there are for each text that has it.
    """
    texts, labels = len(data["train"]), data.info.labels
    answers = (example.label for example in data["train"] if example.label is not None)
    counts = Counter(label for answer in answers for label in answer_labels(answer))
    if data.info.multi_label:
        return tuple(max(texts - counts[label], 1) / max(counts[label], 1) for label in labels)
    return tuple(texts / (len(labels) * max(counts[label], 1)) for label in labels)


def build_system(method: str, data: Splits, config: Config, *, learns: bool = True) -> System:
    """The untrained system that these settings describe, for these data.

    With `learns`, its extractor is to be trained with it, not in an earlier stage, which is checked.
    """
    import torch

    from unirex.modeling import RationaleModel
    from unirex.models.encoders import load_pretrained
    from unirex.system import System

    torch.manual_seed(config.seed)
    model = RationaleModel.from_encoder(
        config,
        data.info.labels,
        layout=Layout.of(data),
        multi_label=data.info.multi_label,
        method=method,
    )
    if learns:
        check_learns(model, config)
    return System(model, load_pretrained(config.encoder, kind="tokenizer"))


def check_learns(model: RationaleModel, config: Config) -> None:
    """Refuse an extractor with parameters that no term of the loss would train, and vice versa."""
    objectives = config.objectives
    faithful = objectives.comprehensiveness.weight or objectives.sufficiency.weight
    taught = (
        objectives.plausibility.weight
        or any(getattr(objectives, name).weight for name in OBJECTIVE_EXTRACTORS)
        or (config.selector != "detached" and (faithful or config.predict_from == "rationale"))
    )
    learns = any(parameter.requires_grad for parameter in model.extractor.parameters())
    if learns and not taught:
        raise UserError(
            f"extractor '{config.extractor}' has to learn, and only plausibility teaches it; "
            "set objectives.plausibility.weight, or selector=straight_through with a faithfulness objective, "
            "or choose an attribution algorithm."
        )
    if config.selector != "detached" and not learns:
        raise UserError(
            f"selector={config.selector} teaches an extractor; '{config.extractor}' learns nothing."
        )
    if config.selector != "detached" and not (faithful or config.predict_from == "rationale"):
        raise UserError(f"selector={config.selector} passes on what faithfulness teaches; give it a weight.")


def check_trainable(data: Splits, config: Config) -> None:
    """Refuse data without what these settings need."""
    for split in ("train", "dev"):
        if not data.get(split):
            raise UserError(f"dataset '{data.info.name}' has no {split} examples; training needs them.")
    weights = config.class_weights
    if weights is not None and data.info.task == "choice":
        raise UserError("class_weights are for labels; a choice between texts has none.")
    given, labels = len(weights or ()), data.info.labels
    if weights not in (None, "balanced") and given != len(labels):
        raise UserError(f"class_weights: {given} weights for {len(labels)} labels {labels}.")
    check_gold(data, config)
    check_objectives(config)


def check_multi_label(method: str, data: Splits, config: Config) -> None:
    """Refuse what has no meaning where a text has a set of labels."""
    if not data.info.multi_label:
        return
    if config.training.metric == "binary_f1":
        raise UserError("training.metric binary_f1: it is of one label of two; use macro_f1 or micro_f1.")
    if family(method) == "fresh" and not config.objectives.plausibility.weight:
        raise UserError(
            f"{method} predicts from the reasons for one label, but texts of '{data.info.name}' have sets; "
            "use fresh-p, whose rationales are what people marked, or a method such as slm-fp."
        )


def check_gold(data: Splits, config: Config) -> None:
    """Refuse plausibility without gold to learn from, or with an extractor that cannot learn it."""
    name, plausibility = data.info.name, bool(config.objectives.plausibility.weight)
    if config.extractor in ("gold", "inverse") and not all(example.rationale for example in data["train"]):
        raise UserError(f"extractor '{config.extractor}' needs a gold rationale for every text of '{name}'.")
    if config.extractor in ("gold", "inverse") and config.training.gold_fraction < 100:
        raise UserError(f"extractor '{config.extractor}' needs all gold; set training.gold_fraction to 100.")
    if plausibility and not any(any(example.rationale or ()) for example in data["train"]):
        raise UserError(
            f"dataset '{name}' has no gold rationales in train, which plausibility needs; "
            "use a method without it (aa-f, sgt, fresh, a2r, vanilla, …), or add a `rationale` column."
        )
    constant = config.extractor in ("gradient", "smoothgrad") and not config.extractor_options.get(
        "create_graph"
    )
    if plausibility and (constant or config.extractor in CONSTANT):
        raise UserError(
            f"extractor '{config.extractor}' cannot learn plausibility; set its weight to 0"
            + (", or extractor_options.create_graph." if constant else ".")
        )


def check_objectives(config: Config) -> None:
    """Refuse objectives, extractors and selectors that do not go together."""
    objectives, alone = config.objectives, config.predict_from == "rationale"
    if alone and (objectives.comprehensiveness.weight or objectives.sufficiency.weight):
        raise UserError(
            "predict_from=rationale: such a system never sees the whole text, so comprehensiveness and "
            "sufficiency cannot be trained; set their weights to 0."
        )
    for name, extractor in OBJECTIVE_EXTRACTORS.items():
        if getattr(objectives, name).weight and config.extractor != extractor:
            raise UserError(
                f"objective '{name}' is for extractor '{extractor}', not '{config.extractor}'; "
                f"set objectives.{name}.weight to 0."
            )
    if alone and not objectives.task.weight:
        raise UserError("predict_from=rationale: only the task teaches the predictor; give task.weight 1.")
    if alone and config.extractor not in BEFORE_PREDICTION:
        raise UserError(
            f"predict_from=rationale: '{config.extractor}' explains a prediction, and there is none "
            f"before the rationale; use one of {', '.join(BEFORE_PREDICTION)}."
        )
    if config.extractor in ("a2r", "hard-kuma") and not alone:
        raise UserError(f"extractor '{config.extractor}' is for predict_from=rationale; use dual-lm instead.")
    check_ordering(config)
    if config.rationale_selector != "top-k" and not alone:
        raise UserError("rationale_selector is for predict_from=rationale; it would do nothing here.")
    if config.temperature != Config().temperature and config.selector == "detached":
        raise UserError("temperature is for selector=straight_through or gumbel; it would do nothing here.")
    if config.extractor == "hard-kuma" and config.rationale_selector != "threshold":
        raise UserError("extractor 'hard-kuma' draws rationales of any size: rationale_selector=threshold.")
    if config.extractor == "hard-kuma" and config.selector != "detached":
        raise UserError("extractor 'hard-kuma' learns through its own draws; selector is for dual-lm.")


def check_ordering(config: Config) -> None:
    """Refuse an order of tokens that could not be learnt, or that would be learnt for nothing."""
    ordering, options = config.objectives.ordering, config.extractor_options
    if config.predict_from == "rationale" and (ordering.weight or options.get("per_label")):
        raise UserError(
            "predict_from=rationale: the rationale comes before the label, so there is no order or score of "
            "its own for a label; set objectives.ordering.weight to 0 and leave out per_label."
        )
    if not ordering.weight:
        if options.get("order"):
            raise UserError(
                "extractor_options.order: the second score learns from the objective 'ordering' alone; give"
                " objectives.ordering.weight, for example 0.5."
            )
        return
    if config.extractor not in LEARNT_SCORES:
        raise UserError(
            f"objective 'ordering' teaches learnt scores; '{config.extractor}' has none: use one of "
            f"{', '.join(LEARNT_SCORES)}, or set objectives.ordering.weight to 0."
        )
    if ordering.sharpness <= 0:
        raise UserError(f"objectives.ordering.sharpness {ordering.sharpness}: must be above 0.")
    if ordering.every < 1:
        raise UserError(f"objectives.ordering.every {ordering.every}: give a number of steps, at least 1.")
    check_attribution("objectives.ordering.teacher", ordering.teacher, ordering.teacher_options)


def check_method(method: str, config: Config) -> None:
    """Refuse settings that would do nothing in this method, and stages that cannot be made."""
    group = family(method)
    for name in FAMILIES:
        settings, defaults = asdict(getattr(config, name)), asdict(getattr(Config(), name))
        changed = [key for key in settings if settings[key] != defaults[key]]
        if name != group and changed:
            raise UserError(f"{name}.{changed[0]} is for method {name}; it would do nothing in {method}.")
    if config.extractor == "blended":
        raise UserError("extractor 'blended' is for trained systems: unirex explain RUN --blend 0.5")
    if group not in STAGE_EXTRACTORS:
        if config.extractor in ("support", "given"):
            raise UserError(
                f"extractor '{config.extractor}' is made by the stages of fresh; use that method."
            )
        return
    if config.extractor not in STAGE_EXTRACTORS[group]:
        made = " or ".join(STAGE_EXTRACTORS[group])
        raise UserError(f"{method} makes its own extractor, {made}; '{config.extractor}' is none of its.")
    if config.selector != "detached":
        raise UserError(f"selector={config.selector}: the extractor of {method} is finished before.")
    if group == "l2e":
        check_attribution("l2e.teacher", config.l2e.teacher, config.l2e.teacher_options)
    elif config.objectives.plausibility.weight and config.fresh != Fresh(config.fresh.variant):
        raise UserError(
            f"fresh.saliency: the tagger of {method} learns from people; it would do nothing here."
        )
    else:
        check_attribution("fresh.saliency", config.fresh.saliency, config.fresh.saliency_options)


def check_attribution(setting: str, name: str, options: dict[str, Any]) -> None:
    """Refuse an extractor that cannot explain a trained classifier, and options it does not have."""
    if extractor_name(name) not in POST_HOC:
        raise UserError(f"{setting} '{name}': choose one of {', '.join(POST_HOC)}.")
    known = option_names(extractor_name(name))
    for key in options:
        if key not in known:
            raise UserError(f"{setting}_options.{key}: '{name}' has no such option; its: {', '.join(known)}.")
