"""Attention: how much the encoder's last layer looks at each token."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor, nn

from unirex.encoding.batch import Batch
from unirex.errors import UserError, unknown
from unirex.models.task import Pass, TaskModel, full_attention_limit, in_chunks

QUERIES = ("cls", "mean")
WEIGHTS = 1 << 27  # attention weights of all layers and heads held at once


class Attention(nn.Module):
    """Attention weights of one layer, averaged over heads; the target class makes no difference.

    A token of a long text gets the mean over the windows it stands in.

    Args:
        encoder_config: the encoder's configuration.
        layer: which one; negative numbers count from the last.
        query: who looks: the first token (`cls`), or the `mean` over all tokens.
    """

    def __init__(self, encoder_config: Any, *, layer: int = -1, query: str = "cls") -> None:
        super().__init__()
        if query not in QUERIES:
            raise unknown("query", query, QUERIES)
        layers = getattr(encoder_config, "num_hidden_layers", None)
        if layers is not None and not -layers <= layer < layers:
            raise UserError(f"attention: layer {layer} is none of {-layers} to {layers - 1}.")
        self.layer, self.query = layer, query

    def forward(self, full: Pass, target: Tensor) -> Tensor:
        """Scores [D, T], never negative, 0 at padding."""
        task, embeds = full.task, full.row_embeds

        def read(batch: Batch, embeds: Tensor) -> tuple[Tensor]:
            parts = torch.arange(len(embeds), device=embeds.device).split(at_once(task.encoder, batch))
            return (torch.cat([self._looks(task, batch.rows(one), embeds[one]) for one in parts]),)

        with torch.no_grad(), attention_given(task):
            scores = in_chunks(task.encoder, full.rows, embeds, read)[0]  # [R, W, 1]
        return (scores if full.windows is None else full.windows.merge_states(scores)).squeeze(-1)

    def flow(self, layers: Sequence[Tensor]) -> Tensor:
        """How much each token takes from each other [R, W, W], from every layer's mean over heads."""
        return layers[self.layer]

    def _looks(self, task: TaskModel, batch: Batch, embeds: Tensor) -> Tensor:
        """The row of the asked query, [R, W, 1]."""
        present = batch.attention_mask
        flow = self.flow(attentions(task, batch, embeds))
        if self.query == "cls":
            row = flow[:, 0]
        else:
            row = (flow * present[..., None]).sum(1) / present.sum(-1, keepdim=True).clamp(min=1)
        return (row * present)[..., None]


def at_once(encoder: Any, batch: Batch) -> int:
    """Sequences whose attention may be held together."""
    layers, heads = (getattr(encoder.config, f"num_{of}", 12) for of in ("hidden_layers", "attention_heads"))
    return max(1, WEIGHTS // (layers * heads * batch.input_ids.shape[1] ** 2))


def attentions(task: TaskModel, batch: Batch, embeds: Tensor) -> list[Tensor]:
    """Every layer's attention, averaged over heads: [R, W, W] each."""
    output = task.encoded(batch, embeds)
    found, encoder = getattr(output, "attentions", None), task.encoder
    width, limit = batch.input_ids.shape[1], full_attention_limit(encoder.config)
    sparse = limit is not None and width > limit
    if sparse or not found or any(one is None or one.shape[-2:] != (width, width) for one in found):
        family = getattr(encoder.config, "model_type", type(encoder).__name__)
        raise UserError(
            f"{family} encoders do not say how much every token of such a text ({width} tokens) looks at "
            "every other, so there is no attention to show; use another extractor, as integrated-gradients."
        )
    return [one.float().mean(1) for one in found]


@contextmanager
def attention_given(task: TaskModel) -> Iterator[None]:
    """The encoder with the attention that can be looked at (fused attention cannot), then as it was."""
    encoder, config = task.encoder, task.encoder.config
    kind, given = getattr(config, "_attn_implementation", None), getattr(config, "output_attentions", False)
    switch = kind not in (None, "eager")
    if switch:
        encoder.set_attn_implementation("eager")
    try:
        config.output_attentions = True
        with left_alone(task):
            yield
    finally:
        config.output_attentions = given
        if switch:
            encoder.set_attn_implementation(kind)


@contextmanager
def left_alone(model: nn.Module) -> Iterator[None]:
    """Afterwards without the hooks, and the notes about them, that transformers leaves to collect outputs."""
    before = [(module, set(module._forward_hooks), set(vars(module))) for module in model.modules()]
    try:
        yield
    finally:
        for module, hooks, names in before:
            for hook in set(module._forward_hooks) - hooks:
                del module._forward_hooks[hook]
            for name in set(vars(module)) - names:
                delattr(module, name)
