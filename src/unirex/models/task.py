"""The task model: an encoder, a pooling and a head that together predict the label."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

from torch import Tensor, nn

from unirex.encode import Batch
from unirex.errors import unknown
from unirex.models.heads import build_head

POOLINGS = ("cls", "pooler", "mean")


def encode(encoder: Any, batch: Batch, embeds: Tensor | None = None) -> Any:
    """The encoder's output for a batch; with `embeds`, for these word embeddings instead of its ids."""
    words = {"input_ids": batch.input_ids} if embeds is None else {"inputs_embeds": embeds}
    positions = batch.position_ids
    if positions is not None:
        words["position_ids"] = positions + position_offset(encoder)
    limit = full_attention_limit(encoder.config)
    if limit is not None and batch.input_ids.shape[1] > limit:
        # BigBird leaves sparse attention for good after one short text: a text must not depend on others.
        encoder.set_attention_type("block_sparse")
    # Token types are never passed, even for pairs: SPEC A1.1.
    return encoder(**words, attention_mask=batch.attention_mask.long())


def full_attention_limit(config: Any) -> int | None:
    """The longest text BigBird still reads with full attention; None for encoders that are never sparse."""
    if getattr(config, "attention_type", None) != "block_sparse":
        return None
    return (5 + 2 * config.num_random_blocks) * config.block_size  # SPEC A1.1


def position_offset(encoder: nn.Module) -> int:
    """The number of the first position: RoBERTa and its kin start behind the padding index."""
    table = getattr(getattr(encoder, "embeddings", None), "position_embeddings", None)
    padding = getattr(table, "padding_idx", None)
    return 0 if padding is None else padding + 1


def pool(how: str, output: Any, attention_mask: Tensor) -> Tensor:
    """One vector per text: the first token's state, the encoder's pooler, or the mean over tokens."""
    if how == "cls":
        return output.last_hidden_state[:, 0]
    if how == "pooler":
        return output.pooler_output
    if how == "mean":
        weights = attention_mask.to(output.last_hidden_state.dtype)  # [B, T]
        summed = (output.last_hidden_state * weights[..., None]).sum(1)
        return summed / weights.sum(1, keepdim=True).clamp(min=1)
    raise unknown("pooling", how, POOLINGS)


class TaskModel(nn.Module):
    """F_task of the paper: text in, label logits out."""

    encoder: Any

    def __init__(self, encoder: Any, *, pooling: str, classes: int) -> None:
        super().__init__()
        if pooling not in POOLINGS:
            raise unknown("pooling", pooling, POOLINGS)
        self.encoder = encoder
        self.pooling = pooling
        self.head = build_head("linear", encoder.config.hidden_size, classes)

    def states(self, batch: Batch, embeds: Tensor | None = None) -> tuple[Tensor, Tensor]:
        """Hidden states [B, T, H] and logits [B, C] from one encoder pass."""
        output = encode(self.encoder, batch, embeds)
        pooled = pool(self.pooling, output, batch.attention_mask)
        return output.last_hidden_state, self.head(pooled)

    def forward(self, batch: Batch, embeds: Tensor | None = None) -> Tensor:
        """Label logits [B, C]."""
        return self.states(batch, embeds)[1]

    def embed(self, ids: Tensor) -> Tensor:
        """Word embeddings [..., H]; positions and types are added inside the encoder."""
        return self.encoder.get_input_embeddings()(ids)


@dataclass(frozen=True)
class Pass:
    """One batch through one task model, computed once by whoever asks first."""

    task: TaskModel
    batch: Batch

    @cached_property
    def _states(self) -> tuple[Tensor, Tensor]:
        return self.task.states(self.batch)

    @property
    def hidden(self) -> Tensor:  # [B, T, H]
        """Last-layer states of every token."""
        return self._states[0]

    @property
    def logits(self) -> Tensor:  # [B, C]
        """The prediction from the whole text."""
        return self._states[1]
