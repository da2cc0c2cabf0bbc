"""The system as a Hugging Face model: encoder, task head and extractor in one `PreTrainedModel`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, make_dataclass, replace
from typing import Any

import torch
from torch import Tensor, nn
from transformers import (
    AutoConfig,
    AutoModel,
    AutoModelForSequenceClassification,
    PreTrainedConfig,
    PreTrainedModel,
)
from transformers.utils import ModelOutput

from unirex.config import Config, saved_settings
from unirex.data.example import Layout
from unirex.encoding.batch import Batch
from unirex.errors import UserError
from unirex.extractors import build_extractor, option_names
from unirex.extractors.attribution import Attribution
from unirex.models.encoders import (
    align_weights,
    encoder_source,
    load_encoder,
    load_pretrained,
    new_encoder,
    quiet_transformers,
)
from unirex.models.labelling import MULTI_LABEL, build_labelling
from unirex.models.task import Pass, TaskModel, checked_length
from unirex.objectives import OBJECTIVES, Objectives
from unirex.perturb import Perturber
from unirex.select import Selector
from unirex.step import SelectPredictStep, Step

SETTINGS = saved_settings(Config())  # by name, with their defaults

# Declared as fields, because transformers refuses to save other attributes whose names it knows from text
# generation, such as `temperature`.
SavedSettings: Any = make_dataclass(
    "SavedSettings",
    [
        (name, Any, None if isinstance(value, dict | Objectives) else value)
        for name, value in SETTINGS.items()
    ],
    bases=(PreTrainedConfig,),
    kw_only=True,
)


class RationaleConfig(SavedSettings):
    """Everything needed to build the system again; the encoder's own configuration is inside.

    Its fields are those below and every setting of `config.saved_settings`: extractor, budgets, removal, ….
    """

    model_type = "unirex"

    encoder: Any = None  # the encoder's configuration
    pooling: str = "mean"
    max_length: int = 512
    layout: Any = None  # what an example consists of: see `Layout`
    labels: Any = ("0", "1")  # with their types: strings, ints, bools
    mask_token_id: int | None = None
    method: str | None = None

    def __post_init__(self, **kwargs: Any) -> None:
        if isinstance(self.encoder, dict):
            self.encoder = AutoConfig.for_model(**self.encoder)
        elif self.encoder is None:
            self.encoder = AutoConfig.for_model("bert")
        for name in ("labels", *SETTINGS):
            if isinstance(getattr(self, name), list):  # JSON has no tuples
                setattr(self, name, tuple(getattr(self, name)))
        self.extractor_options: dict[str, Any] = dict(getattr(self, "extractor_options", None) or {})
        self.layout = asdict(self.layout) if isinstance(self.layout, Layout) else dict(self.layout or {})
        self.id2label = {index: str(label) for index, label in enumerate(self.labels)}
        self.label2id = {name: index for index, name in self.id2label.items()}
        super().__post_init__(**kwargs)

    def built_layout(self) -> Layout:
        """The layout of an example, as an object."""
        return Layout.from_dict(self.layout)

    def built_objectives(self) -> Objectives:
        """The objectives as callables."""
        tables = self.objectives or {}
        return Objectives(**{name: OBJECTIVES[name](**options) for name, options in tables.items()})


@dataclass
class RationaleOutput(ModelOutput):
    """The output of one forward pass; `losses` are the unweighted terms of `loss`."""

    loss: Tensor | None = None
    logits: Tensor | None = None  # [B, C]
    scores: Tensor | None = None  # [D, T]
    losses: dict[str, Tensor] | None = None


@dataclass(frozen=True)
class Draws:
    """How sampled budgets are drawn: alone, or in turns from an order that several processes share.

    Each process's budgets are uniform, so the mean of the gradients has the same expectation; as they differ
    from those of the other processes of the step, it varies less than with independent draws.
    """

    rank: int = 0
    generator: torch.Generator | None = None  # in the same state in all processes; None: the global one


class RationaleModel(PreTrainedModel):
    """A text classifier with its rationale extractor.

    `forward` with labels computes every term of the loss at once and returns `loss`, so that data parallelism
    sees one forward and one backward; without labels it predicts and scores.
    """

    config_class = RationaleConfig
    config: RationaleConfig
    base_model_prefix = "task"
    main_input_name = "input_ids"
    accepts_loss_kwargs = False  # the loss is a mean: the Hugging Face Trainer must divide accumulated steps
    _supports_sdpa = True
    _supports_flash_attn = True

    def __init__(self, config: RationaleConfig) -> None:
        super().__init__(config)
        self.task = TaskModel(
            new_encoder(config.encoder, pooler=config.pooling == "pooler"),
            pooling=config.pooling,
            classes=1 if config.built_layout().choice else len(config.labels),
            window=config.max_length,
            stride=config.stride,
            labelling=build_labelling(config.problem_type, config.label_threshold),
        )
        self.extractor = build_extractor(config.extractor, config.encoder, config.extractor_options)
        self.objectives = config.built_objectives()
        self.progress, self.trained_steps = 1.0, 0  # of a training: its share that is done, its steps
        self.draws = Draws()
        self.post_init()

    @classmethod
    def from_pretrained(cls, *args: Any, **options: Any) -> Any:
        """As in every `PreTrainedModel`, with the weights in aligned memory: see `align_weights`."""
        loaded = super().from_pretrained(*args, **options)
        align_weights(loaded[0] if isinstance(loaded, tuple) else loaded)  # a tuple with output_loading_info
        return loaded

    @classmethod
    def from_parts(cls, config: RationaleConfig, task: TaskModel, extractor: nn.Module) -> RationaleModel:
        """A model made of an existing task model and extractor; no weights are created."""
        with quiet_transformers(), torch.device("meta"):
            model = cls(config)
        model.task, model.extractor = task, extractor
        return model.eval()

    @classmethod
    def from_encoder(
        cls,
        config: Config,
        labels: Sequence[Any],
        *,
        layout: Layout | None = None,
        multi_label: bool = False,
        method: str | None = None,
    ) -> RationaleModel:
        """A new system on a pretrained encoder; only its heads start from random weights."""
        layout = layout or Layout()
        if config.rationale_segments is not None:
            layout = replace(layout, rationale_segments=config.rationale_segments)
            layout.check_segments()
        source = encoder_source(config.encoder)
        pooling = source.pooling if config.pooling == "auto" else config.pooling
        encoder = load_encoder(config.encoder, pooler=pooling == "pooler")
        tokenizer = load_pretrained(config.encoder, kind="tokenizer")
        settings = saved_settings(config) | {
            "encoder": encoder.config,
            "pooling": pooling,
            "max_length": checked_length(config.max_length, encoder),
            "layout": layout,
            "labels": tuple(labels),
            "problem_type": MULTI_LABEL if multi_label else None,
            "mask_token_id": tokenizer.mask_token_id,
            "method": method,
            "objectives": asdict(config.objectives),
            "extractor_options": completed_options(config, labels, layout, tokenizer.mask_token_id),
        }
        model = cls(RationaleConfig(**settings))
        model.task.encoder = encoder
        for part in model.extractor.modules():
            # An extractor's own encoder starts from the same pretrained weights.
            if isinstance(getattr(part, "encoder", None), PreTrainedModel):
                part.encoder = load_encoder(config.encoder, pooler=False)
        return model

    def forward(self, **tensors: Any) -> RationaleOutput:
        """Logits and scores of the tensors of a `Batch`, by name; with `labels`, logits and the loss."""
        names = Batch.__dataclass_fields__
        batch = Batch(**{name: tensors[name] for name in names if tensors.get(name) is not None})
        if batch.labels is None:
            step = self.step(batch)
            return RationaleOutput(logits=step.logits, scores=step.scores)
        step = self.step(
            batch,
            target=self.task.labelling.target(batch.labels, drawn=torch.is_grad_enabled()),
            budgets=self._training_budgets(),
            views=self.trained_views(),
            explores=torch.is_grad_enabled(),
            taught=self._taught(batch),
        )
        active = dict(self.objectives.active())
        if not active:
            raise UserError("no objective has a weight: there is nothing to train for; give task.weight 1.")
        losses = {name: objective(step).mean() for name, objective in active.items()}
        total = torch.stack([active[name].weight * loss for name, loss in losses.items()]).sum()
        # In training without the task objective nothing else needs the logits: do not run the texts for them.
        predicts = bool(self.objectives.task.weight) or not torch.is_grad_enabled()
        return RationaleOutput(loss=total, logits=step.logits if predicts else None, losses=losses)

    def step(
        self,
        batch: Batch,
        *,
        target: Tensor | None = None,
        budgets: Sequence[float] | None = None,
        removal: str | None = None,
        views: Sequence[str] = ("kept", "dropped"),
        explores: bool = False,
        taught: Tensor | None = None,
    ) -> Step:
        """A `Step`: everything that can be asked about this batch, computed on demand.

        Args:
            batch: the texts.
            target: [B], the labels to explain; None: the most probable ones.
            budgets: sizes of the rationales in per cent; None: the system's own.
            removal: how tokens are removed; None: as in training.
            views: which views are sure to be needed: they are run together.
            explores: draw what is random in training (noise on scores, sampled gates).
            taught: [D] bool, the sequences whose scores a loss may learn from; None: all. The attributions of
                the others may be constants, which saves their second derivatives.
        """
        if isinstance(self.extractor, Attribution):
            self.extractor.prepare(self.task)
        config = self.config
        parts: dict[str, Any] = {
            "full": Pass(self.task, batch, getattr(self.extractor, "layers", 1), taught),
            "given_target": target,
            "extractor": self.extractor,
            "perturber": self.perturber(removal or config.removal),
            "budgets": config.budgets if budgets is None else budgets,
            "class_weights": self._class_weights(),
            "views": views,
            "selector": Selector(config.selector, config.temperature, explores),
            "progress": self.progress,
            "number": self.trained_steps,
        }
        if config.predict_from == "text":
            return Step(**parts)
        return SelectPredictStep(
            **parts, select=config.rationale_selector, answer_budget=max(config.budgets), sampled=explores
        )

    def trained_views(self) -> tuple[str, ...]:
        """The views that training runs beside the whole texts."""
        views = self.objectives.views(self.progress)
        return tuple(dict.fromkeys(("kept", *views))) if self.config.predict_from == "rationale" else views

    @property
    def evaluated_removal(self) -> str:
        """How tokens are removed in evaluation; select-predict systems read as they were trained to."""
        config = self.config
        return config.removal if config.predict_from == "rationale" else config.eval_removal

    def perturber(self, removal: str) -> Perturber:
        """The `Perturber` for this system's encoder."""
        pad = self.config.encoder.pad_token_id or 0
        return Perturber(removal, mask_token_id=self.config.mask_token_id, pad_token_id=pad)

    def _taught(self, batch: Batch) -> Tensor | None:  # [D]
        """Sequences whose attributions an objective learns from: those with marks, by plausibility alone.

        A selector that passes gradients learns from all. Without the task, a batch without marks would have
        nothing to differentiate.
        """
        few = self.config.selector == "detached" and self.objectives.task.weight
        return batch.has_rationale if few else None

    def _training_budgets(self) -> Sequence[float]:
        budgets, count = self.config.training_budgets or self.config.budgets, self.config.budgets_per_step
        if not torch.is_grad_enabled() or count is None or count >= len(budgets):
            return budgets
        order = torch.randperm(len(budgets), generator=self.draws.generator).tolist()
        first = self.draws.rank * count
        return [budgets[order[index % len(order)]] for index in range(first, first + count)]

    def _class_weights(self) -> Tensor | None:
        weights = self.config.class_weights
        return None if weights is None else torch.tensor(weights, device=self.device, dtype=self.dtype)


def completed_options(
    config: Config, labels: Sequence[Any], layout: Layout, mask_token_id: int | None
) -> dict[str, Any]:
    """The extractor's options, completed by what follows from the task and the tokenizer."""
    derived: dict[str, Any] = {"classes": 1 if layout.choice else len(labels)}
    if config.extractor_options.get("removal") == "mask_token":
        derived["mask_token_id"] = mask_token_id
    known = option_names(config.extractor)
    if "per_label" in known and not config.extractor_options.get("per_label"):
        del derived["classes"]  # one score for all labels
    names = [name for name in derived if name in known]
    return {name: derived[name] for name in names} | config.extractor_options


AutoConfig.register("unirex", RationaleConfig, exist_ok=True)
AutoModel.register(RationaleConfig, RationaleModel, exist_ok=True)
AutoModelForSequenceClassification.register(RationaleConfig, RationaleModel, exist_ok=True)
