"""Attention: how much the encoder's last layer attends to each token."""

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

    A token of a long text gets the mean over the windows that contain it.

    Args:
        encoder_config: the encoder's configuration.
        layer: which one; negative numbers count from the last.
        query: whose attention: that of the first token (`cls`), or the `mean` over all tokens.
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
            return (torch.cat([self._received(task, batch.rows(part), embeds[part]) for part in parts]),)

        with torch.no_grad(), eager_attention(task):
            scores = in_chunks(task.encoder, full.rows, embeds, read)[0]  # [R, W, 1]
        return (scores if full.windows is None else full.windows.merge_states(scores)).squeeze(-1)

    def flow(self, layers: Sequence[Tensor]) -> Tensor:
        """The attention of each token to each other [R, W, W], from every layer's mean over heads."""
        return layers[self.layer]

    def _received(self, task: TaskModel, batch: Batch, embeds: Tensor) -> Tensor:
        """The attention each token receives from the query, [R, W, 1]."""
        present = batch.attention_mask
        flow = self.flow(attentions(task, batch, embeds))
        if self.query == "cls":
            row = flow[:, 0]
        else:
            row = (flow * present[..., None]).sum(1) / present.sum(-1, keepdim=True).clamp(min=1)
        return (row * present)[..., None]


def at_once(encoder: Any, batch: Batch) -> int:
    """The number of sequences whose attention weights are held in memory together."""
    layers, heads = (getattr(encoder.config, f"num_{of}", 12) for of in ("hidden_layers", "attention_heads"))
    return max(1, WEIGHTS // (layers * heads * batch.input_ids.shape[1] ** 2))


def attentions(task: TaskModel, batch: Batch, embeds: Tensor) -> list[Tensor]:
    """Every layer's attention, averaged over heads: [R, W, W] each."""
    output = task.encoded(batch, embeds)
    layers, encoder = getattr(output, "attentions", None), task.encoder
    width, limit = batch.input_ids.shape[1], full_attention_limit(encoder.config)
    sparse = limit is not None and width > limit
    if sparse or not layers or any(layer is None or layer.shape[-2:] != (width, width) for layer in layers):
        family = getattr(encoder.config, "model_type", type(encoder).__name__)
        raise UserError(
            f"{family} encoders do not say how much every token of such a text ({width} tokens) looks at "
            "every other, so there is no attention to show; use another extractor, as integrated-gradients."
        )
    return [layer.float().mean(1) for layer in layers]


@contextmanager
def eager_attention(task: TaskModel) -> Iterator[None]:
    """The encoder returning its attention weights (fused attention has none to return); restored after."""
    encoder, config = task.encoder, task.encoder.config
    kind, before = getattr(config, "_attn_implementation", None), getattr(config, "output_attentions", False)
    switch = kind not in (None, "eager")
    if switch:
        encoder.set_attn_implementation("eager")
    try:
        config.output_attentions = True
        with hooks_removed(task):
            yield
    finally:
        config.output_attentions = before
        if switch:
            encoder.set_attn_implementation(kind)


@contextmanager
def hooks_removed(model: nn.Module) -> Iterator[None]:
    """Remove, afterwards, the hooks and attributes that transformers adds in order to collect outputs."""
    before = [(module, set(module._forward_hooks), set(vars(module))) for module in model.modules()]
    try:
        yield
    finally:
        for module, hooks, names in before:
            for hook in set(module._forward_hooks) - hooks:
                del module._forward_hooks[hook]
            for name in set(vars(module)) - names:
                delattr(module, name)
