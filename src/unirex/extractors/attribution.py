"""The base of attribution algorithms: attributions per embedding dimension, pooled to a token score."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext
from typing import Any

import torch
from torch import Tensor, nn

from unirex.encoding.batch import Batch
from unirex.models.heads import build_head
from unirex.models.plan import device_limits
from unirex.models.task import Pass, TaskModel, chunked, of_target, pad_right

log = logging.getLogger(__name__)


class Attribution(nn.Module):
    """Token scores from the task model's own behaviour; nothing to train unless `pooling` is an MLP.

    Args:
        encoder_config: the encoder's configuration (for its width).
        pooling: `sum` over embedding dimensions, or `mlp-<width>-<layers>` that learns to weigh them.
        create_graph: let a loss on the scores reach every parameter of the task model, through second
            derivatives. Without it gradients are constants and such a loss trains only word embeddings,
            which is what the released research code did (spec/models.md#attributions).
    """

    def __init__(self, encoder_config: Any, *, pooling: str = "sum", create_graph: bool = False) -> None:
        super().__init__()
        self.create_graph = create_graph
        width = getattr(encoder_config, "embedding_size", encoder_config.hidden_size)  # ALBERT, ELECTRA
        self.pooling = None if pooling == "sum" else build_head(pooling, width, 1)

    @property
    def signed(self) -> bool:
        """Whether a score above 0 speaks for the target and one below 0 against it."""
        return self.pooling is None

    def prepare(self, task: TaskModel) -> None:
        """Switch attention if necessary, before a batch is run: all its passes must use the same kind."""
        if self.create_graph and torch.is_grad_enabled():
            allow_second_order(task)

    def forward(self, full: Pass, target: Tensor) -> Tensor:
        """Scores [D, T] for the target class; computes its gradients even under `no_grad`."""
        training = torch.is_grad_enabled()
        self.prepare(full.task)
        with torch.enable_grad(), nullcontext() if training else constant(full.task):
            attributions = self.attribute(
                full, full.text_target(target), create_graph=self.create_graph and training
            )
        attributions = attributions if training else attributions.detach()
        if self.pooling is None:
            return attributions.sum(-1)
        return self.pooling(attributions).squeeze(-1)

    def attribute(self, full: Pass, target: Tensor, *, create_graph: bool) -> Tensor:
        """Attributions [D, T, H] to the logit that `target` [D] names of every sequence."""
        raise NotImplementedError


class FromBaseline(Attribution):
    """An attribution relative to a baseline: it should add up to the difference F(x) - F(baseline)."""

    def convergence_delta(self, full: Pass, target: Tensor, scores: Tensor | None = None) -> Tensor:
        """The sum of the attributions minus F(x) - F(baseline): [D], 0 is exact.

        Existing `scores` [D, T] save computing the attributions again, if they are plain sums.
        """
        chosen = full.text_target(target)
        whole = of_target(full.text_logits.detach(), chosen)
        with torch.no_grad():
            empty = of_target(full.task.planned_logits(full.batch, baseline(full)), chosen)
        if scores is not None and self.pooling is None:
            return scores.sum(-1) - (whole - empty)
        with torch.enable_grad():
            attributions = self.attribute(full, chosen, create_graph=False).detach()
        return attributions.sum((-2, -1)) - (whole - empty)


@contextmanager
def constant(model: nn.Module) -> Iterator[None]:
    """The model with constant weights: passes keep no activations for gradients of the weights."""
    trained = [parameter for parameter in model.parameters() if parameter.requires_grad]
    for parameter in trained:
        parameter.requires_grad_(False)
    try:
        yield
    finally:
        for parameter in trained:
            parameter.requires_grad_()


def allow_second_order(task: TaskModel) -> None:
    """Switch to the attention that has second derivatives (fused attention has none), with a warning."""
    encoder = task.encoder
    if encoder.config._attn_implementation != "eager":
        log.warning("attention switched to 'eager': create_graph needs second derivatives")
        encoder.set_attn_implementation("eager")


def embeddings(full: Pass) -> Tensor:
    """The batch's word embeddings, tied to the embedding matrix and ready for gradients: [D, T, H]."""
    return full.embeds if full.embeds.requires_grad else full.embeds.detach().requires_grad_()


def baseline(full: Pass) -> Tensor:
    """The empty text: padding everywhere except at special tokens, which stay: [D, T, H]."""
    pad = full.batch.input_ids.new_tensor(full.task.encoder.config.pad_token_id or 0)
    return torch.where(full.batch.special[..., None], full.embeds, full.task.embed(pad))


def target_logits(task: TaskModel, batch: Batch, embeds: Tensor, target: Tensor) -> Tensor:
    """The explained quantity: the logit of every sequence that `target` [D] names (see `of_target`), [D]."""
    return of_target(task(batch, embeds), target)


def input_gradient(full: Pass, embeds: Tensor, target: Tensor, *, create_graph: bool) -> Tensor:
    """The gradient of the target logit by each word embedding: [D, T, H]."""
    return line_gradient(full, None, embeds, [(1.0, 1.0)], target, create_graph=create_graph)


def line_gradient(
    full: Pass,
    start: Tensor | None,
    end: Tensor,
    line: Sequence[tuple[float, float]],
    target: Tensor,
    *,
    create_graph: bool,
) -> Tensor:
    """The weighted sum of gradients at points on the line between two texts: [D, T, H].

    Args:
        full: the batch.
        start: [D, T, H]; None: every point is the end.
        end: [D, T, H].
        line: points from 0 (start) to 1 (end), each with its weight; the same for all texts.
        target: [D], the logit that is differentiated.
        create_graph: as in `Attribution`.
    """
    points, weights = torch.tensor(line, dtype=end.dtype, device=end.device)[..., None].unbind(1)
    return path_gradient(
        full, (start, end), points.expand(-1, len(end)), weights, target, create_graph=create_graph
    )


def path_gradient(
    full: Pass,
    ends: tuple[Tensor | None, Tensor],
    points: Tensor,
    weights: Tensor,
    target: Tensor,
    *,
    create_graph: bool,
) -> Tensor:
    """The weighted sum of gradients at points of its own for each text: [D, T, H].

    The points of all texts are rows like any others: sorted by length, run in chunks of bounded size. Where
    not all scores are learnt from (`Pass.taught`), the gradients of the others are constants.

    Args:
        full: the batch.
        ends: where the lines start and end, as in `line_gradient`.
        points: [S, D], from 0 (start) to 1 (end).
        weights: [S, D] or [S, 1].
        target: [D], the logit that is differentiated.
        create_graph: as in `Attribution`.
    """
    start, end = ends
    if not create_graph:  # constants: the line need not be tied to the embedding matrix
        end, start = end.detach(), None if start is None else start.detach()
    texts = torch.arange(len(target), device=target.device).repeat(len(points))  # [S*D]
    points, weights = (values.expand(-1, len(target)).reshape(-1, 1, 1) for values in (points, weights))
    total = torch.zeros_like(end)
    for second, group in _orders(full.taught, texts) if create_graph else [(False, None)]:
        lengths = full.batch.lengths()[texts if group is None else texts[group]]
        for chunk, width in chunked(full.task.encoder, lengths, end.shape[1]).chunks:
            rows = chunk if group is None else group[chunk]
            owner = texts[rows]
            path = end[:, :width].index_select(0, owner)  # [R, W, H]
            if start is not None:
                here = start[:, :width].index_select(0, owner)
                path = here + points[rows] * (path - here)
            path = path if second and path.requires_grad else path.detach().requires_grad_()
            if second:  # twice: the pass, and its gradients; neither can be computed again
                full.activations.kept += 2 * device_limits(full.task.encoder).kept(len(rows) * width, width)
            logits = target_logits(full.task, full.batch.rows(owner, width), path, target[owner])
            gradients = torch.autograd.grad(logits.sum(), path, create_graph=second)[0]
            total = total.index_add(0, owner, pad_right(weights[rows] * gradients, total.shape[1]))
    return total


def _orders(taught: Tensor | None, texts: Tensor) -> list[tuple[bool, Tensor | None]]:
    """Which rows need second derivatives, and which need none; None: all."""
    if taught is None or bool(taught.all()):
        return [(True, None)]
    groups = [(True, taught[texts]), (False, ~taught[texts])]
    return [(second, chosen.nonzero().flatten()) for second, chosen in groups if bool(chosen.any())]
