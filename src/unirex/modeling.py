"""The system as a Hugging Face model: encoder, task head and extractor in one `PreTrainedModel`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
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

from unirex.config import Config
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
    pooler_option,
    quiet_transformers,
)
from unirex.models.task import Pass, TaskModel, checked_length
from unirex.objectives import OBJECTIVES, Objectives
from unirex.perturb import Perturber
from unirex.select import Selector
from unirex.step import SelectPredictStep, Step


class RationaleConfig(PreTrainedConfig):
    """Everything needed to build the system again; the encoder's own configuration is inside."""

    model_type = "unirex"

    encoder: Any = None  # the encoder's configuration
    pooling: str = "mean"
    max_length: int = 512
    truncation: str = "head"
    stride: int | None = None
    layout: Any = None  # what an example consists of: see `Layout`
    labels: Any = ("0", "1")  # with their types: strings, ints, bools
    extractor: str = "shared-lm"
    extractor_options: Any = None
    budgets: Any = (1, 5, 10, 20, 50)
    budgets_per_step: int | None = None
    training_budgets: Any = None
    separators: bool = False
    removal: str = "attention_mask"
    eval_removal: str = "delete"
    class_weights: Any = None
    objectives: Any = None
    mask_token_id: int | None = None
    method: str | None = None
    predict_from: str = "text"
    rationale_selector: str = "top-k"
    selector: str = "detached"
    temperature: float = 1.0

    def __post_init__(self, **kwargs: Any) -> None:
        if isinstance(self.encoder, dict):
            self.encoder = AutoConfig.for_model(**self.encoder)
        elif self.encoder is None:
            self.encoder = AutoConfig.for_model("bert")
        self.labels = tuple(self.labels)
        self.budgets = tuple(self.budgets)
        self.training_budgets = None if self.training_budgets is None else tuple(self.training_budgets)
        self.extractor_options = dict(self.extractor_options or {})
        self.layout = asdict(self.layout) if isinstance(self.layout, Layout) else dict(self.layout or {})
        self.id2label = {index: str(label) for index, label in enumerate(self.labels)}
        self.label2id = {name: index for index, name in self.id2label.items()}
        super().__post_init__(**kwargs)

    def built_layout(self) -> Layout:
        """What an example consists of."""
        return Layout.from_dict(self.layout)

    def built_objectives(self) -> Objectives:
        """The objectives as callables."""
        given = self.objectives or {}
        return Objectives(**{name: OBJECTIVES[name](**options) for name, options in given.items()})


@dataclass
class RationaleOutput(ModelOutput):
    """What one forward gives; `losses` are the unweighted terms behind `loss`."""

    loss: Tensor | None = None
    logits: Tensor | None = None  # [B, C]
    scores: Tensor | None = None  # [D, T]
    losses: dict[str, Tensor] | None = None


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
        pooler = pooler_option(config.encoder, pooler=config.pooling == "pooler")
        encoder = AutoModel.from_config(config.encoder, **pooler)
        self.task = TaskModel(
            encoder,
            pooling=config.pooling,
            classes=1 if config.built_layout().choice else len(config.labels),
            window=config.max_length,
            stride=config.stride,
        )
        self.extractor = build_extractor(config.extractor, config.encoder, config.extractor_options)
        self.objectives = config.built_objectives()
        self.post_init()

    @classmethod
    def from_pretrained(cls, *place: Any, **options: Any) -> Any:
        """As every `PreTrainedModel`, with weights in aligned memory: answers are bit for bit as before."""
        found = super().from_pretrained(*place, **options)
        align_weights(found[0] if isinstance(found, tuple) else found)
        return found

    @classmethod
    def from_parts(cls, config: RationaleConfig, task: TaskModel, extractor: nn.Module) -> RationaleModel:
        """A model of parts that exist already; no weights of its own are made."""
        with quiet_transformers(), torch.device("meta"):
            model = cls(config)
        model.task, model.extractor = task, extractor
        return model.eval()

    @classmethod
    def from_encoder(
        cls, config: Config, labels: Sequence[Any], *, layout: Layout | None = None, method: str | None = None
    ) -> RationaleModel:
        """A fresh system on a pretrained encoder; only its heads start from chance."""
        layout = layout or Layout()
        if config.rationale_segments is not None:
            layout = replace(layout, rationale_segments=config.rationale_segments)
            layout.check_segments()
        source = encoder_source(config.encoder)
        pooling = source.pooling if config.pooling == "auto" else config.pooling
        encoder = load_encoder(config.encoder, pooler=pooling == "pooler")
        tokenizer = load_pretrained(config.encoder, kind="tokenizer")
        model = cls(
            RationaleConfig(
                encoder=encoder.config,
                pooling=pooling,
                max_length=checked_length(config.max_length, encoder),
                truncation=config.truncation,
                stride=config.stride,
                layout=layout,
                labels=tuple(labels),
                extractor=config.extractor,
                extractor_options=completed_options(config, labels, layout, tokenizer.mask_token_id),
                budgets=config.budgets,
                budgets_per_step=config.budgets_per_step,
                training_budgets=config.training_budgets,
                separators=config.separators,
                removal=config.removal,
                eval_removal=config.eval_removal,
                class_weights=config.class_weights,
                objectives=asdict(config.objectives),
                mask_token_id=tokenizer.mask_token_id,
                method=method,
                predict_from=config.predict_from,
                rationale_selector=config.rationale_selector,
                selector=config.selector,
                temperature=config.temperature,
            )
        )
        model.task.encoder = encoder
        for part in model.extractor.modules():
            if isinstance(
                getattr(part, "encoder", None), PreTrainedModel
            ):  # the same start, then its own way
                part.encoder = load_encoder(config.encoder, pooler=False)
        return model

    def forward(self, **tensors: Any) -> RationaleOutput:
        """Logits and scores; with `labels` also the loss. Takes the tensors of a `Batch` by name."""
        names = Batch.__dataclass_fields__
        batch = Batch(**{name: tensors[name] for name in names if tensors.get(name) is not None})
        if batch.labels is None:
            step = self.step(batch)
            return RationaleOutput(logits=step.logits, scores=step.scores)
        step = self.step(
            batch,
            target=batch.labels,
            budgets=self._training_budgets(),
            views=self.trained_views(),
            explores=torch.is_grad_enabled(),
        )
        if not any(True for _ in self.objectives.active()):
            raise UserError("no objective has a weight: there is nothing to train for; give task.weight 1.")
        losses = {name: objective(step).mean() for name, objective in self.objectives.active()}
        weights = {name: objective.weight for name, objective in self.objectives.active()}
        total = torch.stack([weights[name] * loss for name, loss in losses.items()]).sum()
        answered = bool(self.objectives.task.weight) or not torch.is_grad_enabled()
        return RationaleOutput(loss=total, logits=step.logits if answered else None, losses=losses)

    def step(
        self,
        batch: Batch,
        *,
        target: Tensor | None = None,
        budgets: Sequence[float] | None = None,
        removal: str | None = None,
        views: Sequence[str] = ("kept", "dropped"),
        explores: bool = False,
    ) -> Step:
        """The batch seen by this system; the target is the prediction unless given.

        With `explores`, selections that are random in training are drawn.
        """
        if isinstance(self.extractor, Attribution):
            self.extractor.prepare(self.task)
        config = self.config
        parts: dict[str, Any] = {
            "full": Pass(self.task, batch),
            "asked": target,
            "extractor": self.extractor,
            "perturber": self.perturber(removal or config.removal),
            "budgets": config.budgets if budgets is None else budgets,
            "class_weights": self._class_weights(),
            "views": views,
            "selector": Selector(config.selector, config.temperature, explores),
        }
        if config.predict_from == "text":
            return Step(**parts)
        return SelectPredictStep(
            **parts, select=config.rationale_selector, answer_budget=max(config.budgets), sampled=explores
        )

    def trained_views(self) -> tuple[str, ...]:
        """What training asks for beside the whole texts."""
        asked = self.objectives.views()
        return tuple(dict.fromkeys(("kept", *asked))) if self.config.predict_from == "rationale" else asked

    @property
    def evaluated_removal(self) -> str:
        """How tokens are taken out to measure it; what a predictor reads is part of the predictor."""
        config = self.config
        return config.removal if config.predict_from == "rationale" else config.eval_removal

    def perturber(self, removal: str) -> Perturber:
        """How this system takes tokens out of texts."""
        pad = self.config.encoder.pad_token_id or 0
        return Perturber(removal, mask_token_id=self.config.mask_token_id, pad_token_id=pad)  # type: ignore[arg-type]

    def _training_budgets(self) -> Sequence[float]:
        every, some = self.config.training_budgets or self.config.budgets, self.config.budgets_per_step
        if not torch.is_grad_enabled() or some is None or some >= len(every):
            return every
        return [every[index] for index in torch.randperm(len(every))[:some].tolist()]

    def _class_weights(self) -> Tensor | None:
        weights = self.config.class_weights
        return None if weights is None else torch.tensor(weights, device=self.device, dtype=self.dtype)


def completed_options(
    config: Config, labels: Sequence[Any], layout: Layout, mask_token_id: int | None
) -> dict[str, Any]:
    """The extractor's options, with what it asks about the task and the tokenizer if nobody said."""
    known: dict[str, Any] = {"classes": 1 if layout.choice else len(labels)}
    if config.extractor_options.get("removal") == "mask_token":
        known["mask_token_id"] = mask_token_id
    asked = [name for name in known if name in option_names(config.extractor)]
    return {name: known[name] for name in asked} | config.extractor_options


AutoConfig.register("unirex", RationaleConfig, exist_ok=True)
AutoModel.register(RationaleConfig, RationaleModel, exist_ok=True)
AutoModelForSequenceClassification.register(RationaleConfig, RationaleModel, exist_ok=True)
