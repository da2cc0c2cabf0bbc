"""DeepLIFT: differences to the baseline, propagated back through the network by captum's rules."""

from __future__ import annotations

import warnings

import torch
from torch import Tensor, nn

from unirex.encoding.batch import Batch
from unirex.errors import UserError
from unirex.extractors.attribution import FromBaseline, baseline, embeddings, target_logits
from unirex.models.task import Pass, TaskModel, chunked, pad_right


class DeepLift(FromBaseline):
    """captum's DeepLift on word embeddings.

    Its rules apply only to activations that are modules known to captum; elsewhere (attention, layer norm,
    GELU) it is gradient × difference to the baseline, so its scores need not add up; `convergence_delta`
    measures by how much (spec/models.md#attributions).

    Args:
        encoder_config: the encoder's configuration.
        pooling: as in `Attribution`.
    """

    def __init__(self, encoder_config: object, *, pooling: str = "sum") -> None:
        super().__init__(encoder_config, pooling=pooling)

    def attribute(self, full: Pass, target: Tensor, *, create_graph: bool) -> Tensor:
        """Multipliers × (e - e'), [D, T, H]."""
        try:
            from captum.attr import DeepLift as Captum
        except ImportError as error:
            raise UserError("extractor 'deeplift' needs captum; run: pip install captum") from error
        embeds, start, batch = embeddings(full), baseline(full), full.batch
        parts, order = [], []
        for rows, width in chunked(full.task.encoder, batch.lengths(), embeds.shape[1]).chunks:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # it announces its hooks on every call
                explained = _FromEmbeddings(full.task, batch.rows(rows, width), target[rows])
                attributions = Captum(explained).attribute(
                    embeds[rows, :width], baselines=start[rows, :width]
                )
            parts.append(pad_right(attributions, embeds.shape[1]))
            order.append(rows)
        return torch.cat(parts)[torch.cat(order).argsort()]


class _FromEmbeddings(nn.Module):
    """The explained logit as a function of embeddings; captum doubles what it is given."""

    def __init__(self, task: TaskModel, batch: Batch, target: Tensor) -> None:
        super().__init__()
        self.task, self.batch, self.target = task, batch, target

    def forward(self, embeds: Tensor) -> Tensor:
        texts = len(self.batch.input_ids)
        repeated = torch.arange(texts, device=embeds.device).repeat(len(embeds) // texts)
        return target_logits(self.task, self.batch.rows(repeated), embeds, self.target[repeated])
