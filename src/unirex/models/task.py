"""The task model: an encoder, a pooling and a head that together predict the label."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property, partial
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from unirex.encoding.batch import Batch
from unirex.errors import UserError, unknown
from unirex.models.heads import build_head
from unirex.models.labelling import Labelling, OneLabel
from unirex.models.plan import Activations, Plan, device_limits, plan
from unirex.models.windows import Windows, split

POOLINGS = ("cls", "pooler", "mean")
NO_CHOICE = -1e4  # not -inf, as the difference of two of those is not a number


class TaskModel(nn.Module):
    """F_task of the paper: text in, label logits out.

    Args:
        encoder: a Hugging Face encoder.
        pooling: how a text becomes one vector.
        classes: logits per sequence; 1 where the answer is one of several choices.
        window: the most tokens the encoder reads at once.
        stride: how far windows over a longer text are apart; see `windows.split`.
        labelling: what its logits mean; None: one label for each text.
    """

    encoder: Any
    labelling: Labelling

    def __init__(
        self,
        encoder: Any,
        *,
        pooling: str,
        classes: int,
        window: int = 1 << 30,
        stride: int | None = None,
        labelling: Labelling | None = None,
    ) -> None:
        super().__init__()
        if pooling not in POOLINGS:
            raise unknown("pooling", pooling, POOLINGS)
        self.encoder = encoder
        self.pooling = pooling
        self.window, self.stride = window, stride
        self.labelling = labelling or OneLabel()
        self.head = build_head("linear", encoder.config.hidden_size, classes)

    def windows(self, batch: Batch) -> Windows | None:
        """The windows over texts longer than the encoder takes; None if there are none."""
        return split(batch, self.window, self.stride)

    def states(self, batch: Batch, embeds: Tensor | None = None) -> tuple[Tensor, Tensor]:
        """Hidden states [D, T, H] and logits [D, C] of sequences the encoder can take, from one pass."""
        output = self.encoded(batch, embeds)
        pooled = pool(self.pooling, output, batch.attention_mask)
        return output.last_hidden_state, self.head(pooled)

    def encoded(self, batch: Batch, embeds: Tensor | None = None) -> Any:
        """The whole output of the encoder for a batch."""
        return encode(self.encoder, batch, embeds)

    def layered(self, batch: Batch, embeds: Tensor, layers: int) -> tuple[Tensor, Tensor]:
        """As `states`, with the states of several layers side by side: [D, T, layers * H]."""
        output = encode(self.encoder, batch, embeds, output_hidden_states=True)
        pooled = pool(self.pooling, output, batch.attention_mask)
        return spread_layers(output, layers), self.head(pooled)

    def planned(
        self, batch: Batch, embeds: Tensor, layers: int = 1, *, activations: Activations | None = None
    ) -> tuple[Tensor, Tensor]:
        """As `states` or `layered`, for sequences of many lengths, run in chunks with little padding."""
        read = self.states if layers == 1 else partial(self.layered, layers=layers)
        hidden, logits = in_chunks(self.encoder, batch, embeds, read, activations=activations)
        return hidden, logits

    def forward(self, batch: Batch, embeds: Tensor | None = None) -> Tensor:
        """Logits [D, C] of every sequence, however long."""
        windows = self.windows(batch)
        if windows is None:
            return self.states(batch, embeds)[1]
        embeds = self.embed(batch.input_ids) if embeds is None else embeds
        logits = in_chunks(self.encoder, windows.rows, windows.embeddings(embeds), self._logits)[0]
        return windows.merge_logits(logits, windows.rows.attention_mask)

    def planned_logits(self, batch: Batch, embeds: Tensor) -> Tensor:
        """As `forward`, with sequences of similar length run together."""
        if self.windows(batch) is not None:
            return self(batch, embeds)
        return in_chunks(self.encoder, batch, embeds, self._logits)[0]

    def _logits(self, batch: Batch, embeds: Tensor) -> tuple[Tensor]:
        return (self.states(batch, embeds)[1],)

    def answer(self, batch: Batch, logits: Tensor) -> Tensor:
        """Logits of the sequences [..., D, C] as answers for the examples [..., B, C].

        With choices, the only logit of each sequence becomes the logit of its choice; an example with fewer
        choices than others is filled up with a very small number.
        """
        if batch.example is None or batch.choice is None:
            return logits
        size = (*logits.shape[:-2], batch.examples(), int(batch.choice.max()) + 1)
        answers = logits.new_full(size, NO_CHOICE)
        answers[..., batch.example, batch.choice] = logits[..., 0]
        return answers

    def embed(self, ids: Tensor) -> Tensor:
        """Word embeddings [..., H]; positions and types are added inside the encoder."""
        return self.encoder.get_input_embeddings()(ids)


@dataclass(frozen=True)
class Pass:
    """One batch through one task model; each result is computed on first use and kept."""

    task: TaskModel
    batch: Batch
    layers: int = 1  # whose states are kept: the last, or several; see `spread_layers`
    taught: Tensor | None = None  # [D] bool, whose scores a loss may learn from; None: all
    # Of all that is run for this batch.
    activations: Activations = field(default_factory=Activations, compare=False, repr=False)

    @cached_property
    def windows(self) -> Windows | None:
        """The windows over the texts; None if every text fits the encoder."""
        return self.task.windows(self.batch)

    @property
    def rows(self) -> Batch:
        """The rows the encoder runs: the sequences, or the windows over them."""
        return self.batch if self.windows is None else self.windows.rows

    @cached_property
    def embeds(self) -> Tensor:  # [D, T, H]
        """The word embeddings, looked up once for all views, as their gradient is as large as the table."""
        return self.task.embed(self.batch.input_ids)

    @cached_property
    def row_embeds(self) -> Tensor:  # [R, W, H]
        """The word embeddings of the rows."""
        return self.embeds if self.windows is None else self.windows.embeddings(self.embeds)

    @cached_property
    def _states(self) -> tuple[Tensor, Tensor]:
        return self.task.planned(self.rows, self.row_embeds, self.layers, activations=self.activations)

    @property
    def row_logits(self) -> Tensor:  # [R, C]
        """The logits of the rows."""
        return self._states[1]

    @cached_property
    def hidden(self) -> Tensor:  # [D, T, layers * H]
        """The states of every token."""
        return self._states[0] if self.windows is None else self.windows.merge_states(self._states[0])

    @cached_property
    def text_logits(self) -> Tensor:  # [D, C]
        """The logits of every sequence."""
        if self.windows is None:
            return self.row_logits
        return self.windows.merge_logits(self.row_logits, self.windows.rows.attention_mask)

    @cached_property
    def logits(self) -> Tensor:  # [B, C]
        """The prediction from the whole text."""
        return self.task.answer(self.batch, self.text_logits)

    def text_target(self, target: Tensor) -> Tensor:  # [D], or [D, 2]
        """The number of the explained logit of each sequence: the target class, or a choice's only one."""
        return target if self.batch.example is None else torch.zeros_like(self.batch.example)


def of_target(values: Tensor, target: Tensor) -> Tensor:
    """The value of the target [D] among those of all classes [..., D, C]: [..., D].

    A target of two columns [D, 2] is a contrast: the value of the first class minus that of the second.

    >>> of_target(torch.tensor([[1.0, 4.0, 9.0]]), torch.tensor([[2, 0]]))
    tensor([8.])
    """
    numbers = target.view(len(target), -1).expand(*values.shape[:-1], -1)
    chosen = values.gather(-1, numbers).unbind(-1)
    return chosen[0] if target.dim() == 1 else chosen[0] - chosen[1]


def encode(encoder: Any, batch: Batch, embeds: Tensor | None = None, **options: Any) -> Any:
    """The encoder's output for a batch; with `embeds`, for these word embeddings instead of its ids."""
    words = {"input_ids": batch.input_ids} if embeds is None else {"inputs_embeds": embeds}
    positions = batch.position_ids
    if positions is not None:
        words["position_ids"] = positions + position_offset(encoder)
    limit = full_attention_limit(encoder.config)
    if limit is not None and batch.input_ids.shape[1] > limit:
        # BigBird leaves sparse attention for good after one short text: a text must not depend on others.
        encoder.set_attention_type("block_sparse")
    # Token types are never passed, even for pairs: spec/models.md#encoder.
    return encoder(**words, attention_mask=batch.attention_mask.long(), **options)


def spread_layers(output: Any, count: int) -> Tensor:
    """The states of several layers side by side, [D, T, count * H], each of mean 0 and variance 1.

    The last layer, the embedded words, and others at equal distances between: of six layers three are 0, 3
    and 6. What people mark is plainer in the lower ones, as the last is shaped by the task.
    """
    states, tokens = output.hidden_states, output.last_hidden_state.shape[1]
    last = len(states) - 1  # the first is the input of the first layer
    chosen = [states[round(last * number / (count - 1))] for number in range(count)]
    # BigBird's are padded to whole blocks.
    return torch.cat([F.layer_norm(state[:, :tokens], state.shape[-1:]) for state in chosen], -1)


def full_attention_limit(config: Any) -> int | None:
    """The longest text BigBird still reads with full attention; None for encoders that are never sparse."""
    if getattr(config, "attention_type", None) != "block_sparse":
        return None
    return (5 + 2 * config.num_random_blocks) * config.block_size  # spec/models.md#encoder


def position_offset(encoder: nn.Module) -> int:
    """The number of the first position: RoBERTa and its relatives start after the padding index."""
    table = getattr(getattr(encoder, "embeddings", None), "position_embeddings", None)
    padding = getattr(table, "padding_idx", None)
    return 0 if padding is None else padding + 1


def in_chunks(
    encoder: Any,
    batch: Batch,
    embeds: Tensor,
    read: Callable[[Batch, Tensor], tuple[Tensor, ...]],
    *,
    activations: Activations | None = None,
) -> tuple[Tensor, ...]:
    """The results of `read`, run on chunks of sequences of similar length; states are padded to the batch."""
    tokens = batch.input_ids.shape[1]

    def work(rows: Tensor, width: int) -> tuple[Tensor, ...]:
        results = read(batch.rows(rows, width), embeds[:, :width].index_select(0, rows))
        return tuple(pad_right(result, tokens) if result.dim() == 3 else result for result in results)

    chunks, limits = chunked(encoder, batch.lengths(), tokens), device_limits(encoder)
    return chunks.run(work, limits, activations=activations)


def chunked(encoder: Any, lengths: Tensor, width: int) -> Plan:
    """The cheapest way to run sequences of these lengths [R], padded to this width, through the encoder.

    Where BigBird is sparse, all tokens attend to the last block, which stands at the end of the padding. An
    answer must not depend on other texts: a text is padded to whole blocks and runs only with texts of as
    many blocks.
    """
    limit = full_attention_limit(encoder.config)
    if limit is not None:
        block = encoder.config.block_size
        whole = (-(-lengths // block) * block).clamp(max=width)
        lengths = torch.where(lengths > limit, whole, lengths)
    return plan(lengths, device_limits(encoder), apart=limit)


def pad_right(states: Tensor, width: int) -> Tensor:
    """States [R, W, H] with zeros up to this many tokens."""
    return states if states.shape[1] == width else F.pad(states, (0, 0, 0, width - states.shape[1]))


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


def checked_length(asked: int | None, encoder: Any) -> int:
    """The requested length limit, if the encoder has as many positions; without one, the most it takes."""
    check_length(asked, encoder.config, offset=position_offset(encoder))
    return asked or longest_input(encoder)


def check_length(asked: int | None, config: Any, *, offset: int = 0) -> None:
    """Refuse a length limit that an encoder of this configuration has no positions for, after the first."""
    positions = getattr(config, "max_position_embeddings", None)
    if asked is not None and positions is not None and asked > positions - offset:
        raise UserError(f"max_length {asked}: this encoder takes {positions - offset} tokens.")


def longest_input(encoder: Any) -> int:
    """Tokens the encoder reads at once: what its position table takes, at most 4096."""
    positions = getattr(encoder.config, "max_position_embeddings", 512)
    return min(4096, positions - position_offset(encoder))
