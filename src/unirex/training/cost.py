"""What a training or an explanation costs: passes over texts, arithmetic and memory, from settings and sizes.

The same functions plan a study (`experiments/plan.py`), announce the memory of a training, and make the table
of docs/scale.md (`benchmarks/cost_model.py`, which also compares them with measurements).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from unirex.config import Config
from unirex.encoding.gold import gold_share
from unirex.models.activations import NUMBER, kept_numbers

POINTS = 3  # of Integrated Gradients, if nothing else is said
SAMPLES = {"smoothgrad": 20, "gradient-shap": 5}  # if nothing else is said
ATTRIBUTION = 2 / 3  # of a training pass: forward and backward, but no gradients of weights
FORWARD = 1 / 3  # of a training pass
GRADIENTS = (  # explain by a backward pass
    "integrated-gradients",
    "gradient",
    "input-x-gradient",
    "deeplift",
    *SAMPLES,
)
DOUBLED = "deeplift"  # runs a text and its baseline side by side
SECOND_ENCODER = ("dual-lm", "bucket-tagger", "a2r", "hard-kuma")
VIEWS = ("comprehensiveness", "sufficiency")
OPTIMISER = 3 * NUMBER  # bytes a trained weight has beside itself: its gradient and Adam's two means
RUNNING = 12  # numbers of the hidden size that live at once while a layer runs without a backward pass
STATES = 6  # copies of the states of a batch, or of all windows of a long text, that live at once; measured


@dataclass(frozen=True)
class Size:
    """An encoder in numbers."""

    layers: int
    hidden: int
    vocabulary: int = 30_522
    heads: int = 12

    @property
    def weights(self) -> int:
        """Weights of the layers: attention 4 h², feed-forward 8 h²."""
        return 12 * self.layers * self.hidden**2

    @property
    def parameters(self) -> int:
        """All weights, with the table of words."""
        return self.weights + self.vocabulary * self.hidden

    def forward_flops(self, width: float) -> float:
        """Arithmetic of a forward pass for one token in a text of this width."""
        return 2 * self.weights + 4 * self.layers * self.hidden * width


def passes_per_text(config: Config) -> float:
    """Training passes, each forward and backward, that a text takes in a step.

    Rationale and rest of a text are together as long as the text, so that a budget costs one pass.
    """
    objectives, active = config.objectives, dict(config.objectives.active())
    each = 1.0 + (config.extractor in SECOND_ENCODER)
    views = [active[name] for name in VIEWS if name in active]
    if views:
        each += _budgets(config) * (1 - min(getattr(view, "warmup", 0.0) for view in views))
    if views or "plausibility" in active:
        second = _taught_share(config) if "plausibility" in active or config.selector != "detached" else 0.0
        each += (1 + second) * attribution_passes(config.extractor, config.extractor_options)
    if "ordering" in active:
        ordering = objectives.ordering
        share = (1 - ordering.warmup) / ordering.every
        each += share * attribution_passes(ordering.teacher, ordering.teacher_options)
    return each


def attribution_passes(extractor: str, options: Mapping[str, Any]) -> float:
    """Training passes that scoring a text by gradients takes; 0 for other extractors.

    >>> attribution_passes("integrated-gradients", {"steps": 30}), attribution_passes("shared-lm", {})
    (20.0, 0.0)
    """
    if extractor not in GRADIENTS:
        return 0.0
    return ATTRIBUTION * _points(extractor, options) * (1 + (extractor == DOUBLED))


def _points(extractor: str, options: Mapping[str, Any]) -> int:
    """The gradients that are taken of a text."""
    usual = SAMPLES.get(extractor, POINTS if extractor == "integrated-gradients" else 1)
    return options.get("steps") or options.get("samples") or usual


def kept_passes(config: Config) -> float:
    """How often the tokens of a batch are kept for the backward pass: texts, views, both encoders."""
    active = dict(config.objectives.active())
    each = 1.0 + (config.extractor in SECOND_ENCODER)
    if any(name in active for name in VIEWS):
        each += _budgets(config)
    return each + graph_passes(config)


def graph_passes(config: Config) -> float:
    """How often its tokens are kept in a graph of the gradients themselves, which is never computed again."""
    if not second_order(config):
        return 0.0
    return 2.0 * _points(config.extractor, config.extractor_options)


def _taught_share(config: Config) -> float:
    """The share of a batch whose attributions are differentiated again."""
    if not second_order(config):
        return 0.0
    if config.selector != "detached" or config.training.gold_fraction == 100:
        return 1.0
    return gold_share(config.training.batch_size, config.training.gold_factor) / config.training.batch_size


def second_order(config: Config) -> bool:
    """Whether a loss on the scores goes through second derivatives."""
    return bool(config.extractor_options.get("create_graph"))


def _budgets(config: Config) -> int:
    return config.budgets_per_step or len(config.training_budgets or config.budgets)


def training_peak(
    config: Config,
    *,
    size: Size,
    trained: int,
    tokens: int,
    saved: int,
    chunk: int,
    held: int,
    shards: int = 1,
    width: int = 0,
) -> int:
    """Bytes a training holds at most, in each process.

    Args:
        config: the settings.
        size: of the encoder.
        trained: weights that are trained.
        tokens: in the largest batch, padding included.
        saved: tokens whose activations may be kept (`models.plan.Limits`), fewer where attention keeps its
            matrices; what is beyond is computed again.
        chunk: tokens that run at once.
        held: bytes held before it starts, the weights among them.
        shards: processes the optimiser's state is divided among.
        width: tokens in the longest text where attention keeps its matrices (`models.plan.keeps_matrices`);
            0: it is fused.
    """
    layer = kept_numbers(size.hidden, size.heads, width)
    graph = graph_passes(config)
    bound = max(saved * kept_numbers(size.hidden) / layer, tokens * (1 + graph) if graph else 0)
    kept = min(tokens * kept_passes(config), bound + chunk)
    optimiser = trained * (NUMBER + (OPTIMISER - NUMBER) / shards)
    if config.training.activation_checkpointing:  # the input of every layer, and one layer of a chunk
        numbers = kept * size.layers * size.hidden + min(tokens, chunk) * layer
    else:
        numbers = kept * size.layers * layer
    return int(held + optimiser + NUMBER * numbers)


def explaining_peak(*, size: Size, chunk: int, batch: int, held: int) -> int:
    """Bytes an explanation by a learnt extractor holds at most: a chunk that runs, the states of a batch."""
    return int(held + NUMBER * size.hidden * (RUNNING * chunk + STATES * batch))


def attributing_peak(*, size: Size, chunk: int, batch: int, held: int) -> int:
    """Bytes an explanation by gradients holds at most: as above, with all activations of the chunk."""
    kept = size.layers * kept_numbers(size.hidden) * chunk
    return int(held + NUMBER * (kept + size.hidden * STATES * batch))
