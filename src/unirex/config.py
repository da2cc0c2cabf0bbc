"""Every setting of a system and of its training; how settings are read, merged and checked."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from copy import deepcopy
from dataclasses import asdict, dataclass, field, fields
from difflib import get_close_matches
from functools import cache
from math import isfinite
from numbers import Real
from pathlib import Path
from typing import Any, Literal

import yaml
from jsonargparse import ArgumentParser

from unirex.encoding.gold import check_fraction, gold_share
from unirex.errors import UserError, one_line
from unirex.objectives import Objectives
from unirex.option_errors import plain_message
from unirex.removals import Removal

BUDGETS = (1, 5, 10, 20, 50)  # sizes of a rationale in per cent of the tokens, spec/README.md#notation
DEFAULT_PRESET = "default"  # the correct behaviour: methods/presets/default.yaml
EXPLAINED_BUDGET = 20.0  # per cent of the tokens in the rationale of an explanation
PROBES = ("empty", "curves", "leave-one-out", "naopc", "soft")  # further edits that an evaluation can make
TARGETS = ("predicted", "gold")  # labels whose probability an evaluation can follow
RANDOM_DRAWS = 5  # of random scores, the floor of an evaluation: spec/metrics.md#further-faithfulness-metrics
TEST_DRAWS = 5000  # of each test of a comparison
PAGE_EXAMPLES = 10_000  # most texts on the page of a comparison
TOP = 20  # rows of a table of an overview, at most
MIN_COUNT = 3  # rows of an overview with smaller counts are left out
PHRASE_LENGTH = 3  # words in the longest phrase of an overview
EVALUATION_BATCH_SIZE = 128  # the more, the better the views of the texts can be sorted by length
RESOLVED = ("encoder", "pooling", "max_length", "rationale_segments")  # saved as what they became
TRAINING_ONLY = ("training", "sgt", "l2e", "fresh", "a2r", "seed")  # not saved with a system
CONFIGS_KEPT = 1000  # that were built before; studies ask for the same ones again and again
Variant = Literal["original", "unirex"]


@dataclass(frozen=True)
class Training:
    """How a system is trained.

    Args:
        epochs: most passes over the training data.
        batch_size: texts per optimiser step and device.
        max_batches: most batches per epoch, for a quick trial; null: all.
        accumulate: batches per optimiser step.
        learning_rate: null: what suits the encoder (1e-4 for minilm, else 2e-5).
        head_rate: learning rate of what is not part of an encoder and starts untrained, as a multiple of the
            encoders'.
        weight_decay: for all but biases and norms.
        warmup: share of the steps over which the learning rate rises; then it falls to 0.
        clip: largest gradient norm; 0 is no limit.
        metric: dev score that picks the best epoch; auto is the dataset's own: of files accuracy, or macro F1
            if labels are imbalanced or a text has several.
        gold_fraction: per cent of the training examples that keep their gold rationale; the others lose it.
        gold_factor: with a gold_fraction below 100: one in this many examples of a batch is drawn from those
            with gold (the paper's beta); the others are each seen once an epoch.
        gold_seed: draws which examples keep their gold; null: the seed of the run.
        patience: stop after this many epochs without a better dev score.
        optimizer: `adamw`, or `unirex` as the released code (beta2 .98, no bias correction).
        dropout: false switches it off, as the released code did by mistake (spec/known-errors.md#d-2).
        precision: of the computations; the trained system is always in single precision.
        activation_checkpointing: keep only the input of every layer for the backward pass and compute the
            rest again: less memory, more time (docs/scale.md#memory).
        accelerator: passed to Lightning.
        devices: processes on each node, one for each device; torchrun and Ray Train decide it themselves.
        nodes: machines that train together; torchrun and Ray Train decide it themselves.
        strategy: `ddp`: every process holds the whole model; `fsdp`: weights and optimiser state are divided
            among them; `spawn`: as ddp, in fresh processes that are started and watched by this one (works in
            notebooks); others are passed to Lightning.
    """

    epochs: int = 10  # spec/training.md#protocol
    batch_size: int = 32  # spec/training.md#protocol
    max_batches: int | None = None
    accumulate: int = 1
    learning_rate: float | None = None
    head_rate: float = 1.0
    weight_decay: float = 0.0  # spec/training.md#protocol
    warmup: float = 0.1  # spec/training.md#protocol
    clip: float = 0.0  # spec/training.md#protocol
    metric: Literal["auto", "accuracy", "macro_f1", "micro_f1", "binary_f1"] = "auto"
    gold_fraction: float = 100.0  # spec/training.md#limited-gold
    gold_factor: float = 2.0  # spec/training.md#limited-gold
    gold_seed: int | None = None
    patience: int = 5  # spec/training.md#protocol
    optimizer: Literal["adamw", "unirex"] = "adamw"
    dropout: bool = True
    precision: Literal["32-true", "16-mixed", "bf16-mixed", "bf16-true", "64-true"] = "32-true"
    activation_checkpointing: bool = False
    accelerator: str = "auto"
    devices: int | str = 1
    nodes: int = 1
    strategy: str = "auto"


@dataclass(frozen=True)
class SGT:
    """Saliency-guided training.

    Args:
        variant: as the UNIREX paper runs it, or as its authors published it (spec/baselines.md#sgt).
    """

    variant: Variant = "unirex"


@dataclass(frozen=True)
class L2E:
    """Learning to explain: a student imitates an attribution algorithm.

    Args:
        variant: original: explain the classifier that was taught from; unirex: another one, trained beside
            the student (spec/known-errors.md#d-13).
        teacher: the attribution algorithm.
        teacher_options: its options.
    """

    variant: Variant = "original"
    teacher: str = "integrated-gradients"
    teacher_options: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Fresh:
    """FRESH: predict from rationales that another model extracted.

    Args:
        variant: original: a tagger learns the rationales of a support model (spec/baselines.md#fresh);
            unirex: the support model's attributions are the rationales, in training and after.
        saliency: how the support model is explained; fresh-p uses gold.
        saliency_options: its options.
    """

    variant: Variant = "original"
    saliency: str = "integrated-gradients"
    saliency_options: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class A2R:
    """A2R: a hard and a soft predictor that must agree.

    Args:
        variant: as its authors published it (spec/baselines.md#a2r), or as the UNIREX paper runs it
            (spec/known-errors.md#d-10).
    """

    variant: Variant = "original"


@dataclass(frozen=True)
class Config:
    """A system: what it is made of and what it is trained for. A method is a small diff of this.

    Args:
        encoder: `minilm`, a Hub id or a folder.
        pooling: auto is mean for minilm, else the first token's state.
        max_length: tokens the encoder reads at once; null: as many as it can take, at most 4096.
        extractor: who scores the tokens; see `unirex list extractors`.
        extractor_options: its options, such as `steps` or `head`.
        budgets: sizes of the rationale, in per cent of the tokens.
        budgets_per_step: train on this many of them, drawn anew each step; null: on all.
        training_budgets: other sizes to train with; null: the same.
        truncation: what is read of a text longer than that: its head, its tail, both, or all in windows.
        stride: how far windows are apart in tokens; null: three quarters of what a window shows.
        rationale_segments: numbers of the texts that can carry a rationale; null: what the dataset says.
        separators: may separator tokens be part of a rationale? (The released code: yes.)
        predict_from: the text, or only its rationale of the largest budget (select-predict).
        rationale_selector: with predict_from=rationale: the highest scores, the best run of tokens, or every
            score above 0 whatever the budget.
        selector: how the choice of tokens passes gradients to the extractor: not at all, straight through,
            or so with Gumbel noise on the scores in training.
        temperature: of straight_through and gumbel: the chance to be kept is sigmoid(score / temperature).
        removal: how tokens are taken out in training.
        eval_removal: how tokens are taken out in evaluation.
        class_weights: one weight per label, in label order, for every cross-entropy; or `balanced`: so that
            all labels count alike. Of multi-label data they weigh the texts that have the label.
        label_threshold: of multi-label data: labels at least this probable are predicted.
        objectives: the terms of the loss.
        training: optimiser, schedule, hardware.
        sgt: of methods sgt and sgt-p.
        l2e: of method l2e.
        fresh: of methods fresh and fresh-p.
        a2r: of methods a2r and a2r-p.
        seed: of weights, shuffling and dropout.
    """

    encoder: str = "minilm"
    pooling: Literal["auto", "cls", "pooler", "mean"] = "auto"
    max_length: int | None = None
    extractor: str = "shared-lm"
    extractor_options: dict[str, Any] = field(default_factory=dict)
    budgets: tuple[float, ...] = BUDGETS
    budgets_per_step: int | None = None
    training_budgets: tuple[float, ...] | None = None
    # spec/data.md#truncation
    truncation: Literal["head", "tail", "head_tail", "windows", "gold_aware"] = "head"
    stride: int | None = None
    rationale_segments: tuple[int, ...] | None = None
    separators: bool = False  # spec/rationales.md#selection
    predict_from: Literal["text", "rationale"] = "text"
    rationale_selector: Literal["top-k", "best-span", "threshold"] = "top-k"
    selector: Literal["detached", "straight_through", "gumbel"] = "detached"
    temperature: float = 1.0
    removal: Removal = "attention_mask"  # spec/rationales.md#removal
    eval_removal: Removal = "delete"  # spec/rationales.md#removal
    class_weights: tuple[float, ...] | Literal["balanced"] | None = None
    label_threshold: float = 0.5
    objectives: Objectives = field(default_factory=Objectives)
    training: Training = field(default_factory=Training)
    sgt: SGT = field(default_factory=SGT)
    l2e: L2E = field(default_factory=L2E)
    fresh: Fresh = field(default_factory=Fresh)
    a2r: A2R = field(default_factory=A2R)
    seed: int = 0


def saved_settings(config: Config) -> dict[str, Any]:
    """The settings that `modeling.RationaleConfig` copies unchanged into the `config.json` of a system.

    A new field of `Config` is saved and restored with no other change; add it to `TRAINING_ONLY` if only
    training needs it.
    """
    names = [part.name for part in fields(config) if part.name not in (*RESOLVED, *TRAINING_ONLY)]
    return {name: getattr(config, name) for name in names}


def merge(base: Mapping[str, Any], diff: Mapping[str, Any]) -> dict[str, Any]:
    """`base` updated by `diff`: tables are merged key by key, every other value is replaced.

    >>> merge({"a": {"x": 1, "y": 2}, "b": 3}, {"a": {"y": 5}})
    {'a': {'x': 1, 'y': 5}, 'b': 3}
    """
    merged = dict(base)
    for key, value in diff.items():
        both = isinstance(value, Mapping) and isinstance(merged.get(key), Mapping)
        merged[key] = merge(merged[key], value) if both else value
    return merged


def build_config(settings: Mapping[str, Any]) -> Config:
    """The configuration with these settings, checked; an unknown key or an invalid value is a `UserError`."""
    check_keys(settings, plain(Config()))
    listed = _listed(dict(settings))
    try:
        written = json.dumps(listed)
    except (TypeError, ValueError):  # not of plain values
        return _parsed(listed)
    config = _built.get(written)
    if config is None:
        if len(_built) >= CONFIGS_KEPT:
            _built.clear()
        config = _built[written] = _parsed(listed)
    return deepcopy(config)


_built: dict[str, Config] = {}


def _parsed(settings: dict[str, Any]) -> Config:
    parser = _settings_parser()
    try:
        config = parser.instantiate(parser.parse_object(settings))
    except Exception as error:  # jsonargparse raises several kinds
        raise UserError(f"settings: {plain_message(error, parser)}") from error
    return check_values(Config(**vars(config)))


@cache
def _settings_parser() -> ArgumentParser:
    """A parser of every setting; building it takes longer than using it."""
    parser = ArgumentParser(exit_on_error=False, allow_abbrev=False)
    parser.add_class_arguments(Config)
    return parser


def check_keys(settings: Mapping[str, Any], known: Mapping[str, Any], place: str = "") -> None:
    """Refuse unknown keys. Free-form tables (`extractor_options`) are checked where they are used."""
    for key, value in settings.items():
        if key not in known:
            near = get_close_matches(str(key), list(known), n=1)
            hint = f"did you mean '{place}{near[0]}'?" if near else f"known: {', '.join(known)}."
            raise UserError(f"unknown setting '{place}{key}'; {hint}")
        table = known[key]
        if isinstance(table, Mapping) and not isinstance(value, Mapping):
            inside = f", such as {next(iter(table))}" if table else ""
            raise UserError(
                f"setting '{place}{key}' is a table of settings{inside}, not {value!r}; to keep the defaults "
                "leave it out."
            )
        if isinstance(table, Mapping) and table:
            check_keys(value, table, f"{place}{key}.")


def check_values(config: Config) -> Config:
    """The configuration itself; values out of range are a `UserError`."""
    for name, value in flat(plain(config)).items():
        numbers = value if isinstance(value, list) else [value]
        if any(isinstance(number, float) and not isfinite(number) for number in numbers):
            raise UserError(f"{name} {value}: give a finite number.")
    check_budgets(config.budgets)
    if config.training_budgets is not None:
        check_budgets(config.training_budgets)
    per_step, available = config.budgets_per_step, len(config.training_budgets or config.budgets)
    if per_step is not None and not 1 <= per_step <= available:
        raise UserError(f"budgets_per_step {per_step}: give a number from 1 to {available}.")
    if config.temperature <= 0:
        raise UserError(f"temperature {config.temperature}: must be above 0.")
    training = config.training
    for name in ("epochs", "batch_size", "accumulate", "nodes"):
        if getattr(training, name) < 1:
            raise UserError(f"training.{name} {getattr(training, name)}: must be at least 1.")
    if training.max_batches is not None and training.max_batches < 1:
        raise UserError(f"training.max_batches {training.max_batches}: must be at least 1.")
    if not 0 <= training.warmup <= 1:
        raise UserError(f"training.warmup {training.warmup}: give a share from 0 to 1.")
    if training.learning_rate is not None and training.learning_rate <= 0:
        raise UserError(f"training.learning_rate {training.learning_rate}: must be above 0.")
    if training.head_rate <= 0:
        raise UserError(f"training.head_rate {training.head_rate}: must be above 0.")
    if training.activation_checkpointing and not training.dropout:
        raise UserError(
            "training.activation_checkpointing: transformers does it in training mode only, which "
            "training.dropout false leaves; use one of them."
        )
    for name, objective in config.objectives.active():
        warmup = getattr(objective, "warmup", 0.0)
        if not 0 <= warmup <= 1:
            raise UserError(f"objectives.{name}.warmup {warmup}: give a share from 0 to 1.")
    check_fraction(training.gold_fraction)
    if training.gold_fraction < 100:
        gold_share(training.batch_size, training.gold_factor)
    if not 0 < config.label_threshold < 1:
        raise UserError(f"label_threshold {config.label_threshold}: give a probability between 0 and 1.")
    if config.stride is not None and config.stride < 1:
        raise UserError(f"stride {config.stride}: windows must move on; give at least 1.")
    if config.max_length is not None and config.max_length < 3:
        raise UserError(f"max_length {config.max_length}: must be at least 3.")
    return config


def check_budget(budget: float) -> None:
    """Refuse a budget that is not a per cent of the tokens."""
    if not 0 < budget <= 100:
        raise UserError(f"budget {budget}: give a per cent of the tokens, above 0 and up to 100.")


def check_budgets(budgets: Sequence[float]) -> None:
    """Refuse budgets that are not per cents of the tokens."""
    if not budgets or not all(is_number(budget) and 0 < budget <= 100 for budget in budgets):
        raise UserError(f"budgets {list(budgets)}: give per cents above 0 and up to 100.")


def is_number(value: Any) -> bool:
    """Whether it is one, of NumPy too; truth values are none."""
    return isinstance(value, Real) and not isinstance(value, bool)


class _OnceLoader(yaml.SafeLoader):
    """YAML whose tables name each key once; of two alike PyYAML would drop the first without a word."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
        seen = set()
        for key, _ in node.value:
            if isinstance(key, yaml.ScalarNode) and key.value in seen:
                raise yaml.constructor.ConstructorError(
                    problem=f"'{key.value}' stands twice", problem_mark=key.start_mark
                )
            seen.add(key.value if isinstance(key, yaml.ScalarNode) else id(key))
        return super().construct_mapping(node, deep)


def read_settings(path: str | Path) -> dict[str, Any]:
    """Settings from a YAML file."""
    try:
        content = yaml.load(Path(path).read_text("utf-8"), _OnceLoader)
    except FileNotFoundError as error:
        raise UserError(f"{path}: no such configuration file.") from error
    except (OSError, UnicodeDecodeError) as error:
        raise UserError(f"{path}: cannot be read ({one_line(error)}).") from error
    except (yaml.YAMLError, RecursionError) as error:
        raise UserError(f"{path}: not valid YAML ({one_line(error)}).") from error
    if content is not None and not isinstance(content, dict):
        raise UserError(f"{path}: expected `setting: value` lines, found {type(content).__name__}.")
    return content or {}


def plain(config: Config) -> dict[str, Any]:
    """The configuration as nested tables of plain values, ready for YAML."""
    return _listed(asdict(config))


def _listed(value: Any) -> Any:
    """Tuples as lists: YAML has no tuples, and jsonargparse takes none."""
    if isinstance(value, dict):
        return {key: _listed(item) for key, item in value.items()}
    return [_listed(item) for item in value] if isinstance(value, tuple) else value


def flat(settings: Mapping[str, Any], *, keep: Sequence[str] = (), place: str = "") -> dict[str, Any]:
    """Nested tables as one table with dotted names; tables named in `keep` stay nested.

    >>> flat({"a": {"x": 1}, "b": {"y": 2}}, keep=["b"])
    {'a.x': 1, 'b': {'y': 2}}
    """
    flattened: dict[str, Any] = {}
    for key, value in settings.items():
        if isinstance(value, Mapping) and value and key not in keep:
            flattened |= flat(value, keep=keep, place=f"{place}{key}.")
        else:
            flattened[place + str(key)] = value
    return flattened
