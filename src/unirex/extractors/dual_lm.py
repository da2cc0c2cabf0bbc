"""Dual LM: a second encoder of the same kind that only looks for reasons."""

from __future__ import annotations

from typing import Any

from torch import Tensor, nn

from unirex.batch import Batch
from unirex.models.encoders import pooler_option
from unirex.models.heads import build_head
from unirex.models.task import Pass, encode, in_chunks


class DualLM(nn.Module):
    """A token scorer with an encoder of its own; shares nothing with the task model.

    Args:
        encoder_config: the encoder's configuration; the pretrained weights are put in when training starts.
        head: `linear` or `mlp-<width>-<layers>`.
        dropout: inside an MLP head.
    """

    def __init__(self, encoder_config: Any, *, head: str = "linear", dropout: float = 0.0) -> None:
        from transformers import AutoModel

        super().__init__()
        options = pooler_option(encoder_config, pooler=False)
        self.encoder = AutoModel.from_config(encoder_config, **options)
        self.head = build_head(head, encoder_config.hidden_size, 1, dropout=dropout)

    def forward(self, full: Pass, target: Tensor) -> Tensor:
        """Scores [D, T], as logits; a long text is read in the same windows as by the task model."""
        embeds = self.encoder.get_input_embeddings()(full.rows.input_ids)
        states = in_chunks(self.encoder, full.rows, embeds, self._states)[0]
        windows = full.windows
        return self.head(states if windows is None else windows.merge_states(states)).squeeze(-1)

    def _states(self, batch: Batch, embeds: Tensor) -> tuple[Tensor]:
        return (encode(self.encoder, batch, embeds).last_hidden_state,)
