"""Dual LM: a second encoder that only scores tokens; the base of extractors with their own encoder."""

from __future__ import annotations

from typing import Any

from torch import Tensor, nn

from unirex.encoding.batch import Batch
from unirex.extractors.token_scores import LearntScores
from unirex.models.encoders import new_encoder
from unirex.models.task import Pass, encode, in_chunks, spread_layers


class OwnEncoder(nn.Module):
    """An encoder of the task model's kind that shares nothing with it.

    Args:
        encoder_config: the encoder's configuration; the pretrained weights are put in when training starts.
    """

    encoder: Any
    layers = 1  # whose states are read: the last, or several; see `spread_layers`

    def __init__(self, encoder_config: Any) -> None:
        super().__init__()
        self.encoder = new_encoder(encoder_config, pooler=False)

    def states(self, full: Pass, added: Tensor | None = None) -> Tensor:
        """Its states of every token [D, T, H]; a long text is read in the same windows as by the task model.

        Args:
            full: the texts.
            added: [R, W, E], added to the word embeddings of the rows.
        """
        embeds = self.encoder.get_input_embeddings()(full.rows.input_ids)
        embeds = embeds if added is None else embeds + added
        states = in_chunks(self.encoder, full.rows, embeds, self._read, activations=full.activations)[0]
        return states if full.windows is None else full.windows.merge_states(states)

    def _read(self, batch: Batch, embeds: Tensor) -> tuple[Tensor]:
        if self.layers == 1:
            return (encode(self.encoder, batch, embeds).last_hidden_state,)
        return (spread_layers(encode(self.encoder, batch, embeds, output_hidden_states=True), self.layers),)


class DualLM(LearntScores, OwnEncoder):
    """A token scorer with an encoder of its own; shares nothing with the task model.

    Its options are those of `LearntScores`. The pretrained weights are put in when training starts.
    """
