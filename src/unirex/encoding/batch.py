"""Examples as arrays and tensors: the tokens of one example, and a padded batch of several."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor


@dataclass(frozen=True, slots=True)
class Tokens:
    """One sequence as the encoder sees it."""

    input_ids: NDArray[np.int32]  # [T]
    special: NDArray[np.bool_]  # [T]  such as [CLS] and [SEP]
    selectable: NDArray[np.bool_]  # [T]  may be part of a rationale
    sliding: NDArray[np.bool_]  # [T]  part of the text that windows move over; the rest is in every window
    spans: NDArray[np.int32]  # [T, 3]  segment, start, end in characters; empty for special tokens
    rationale: NDArray[np.bool_] | None = None  # [T]  gold
    given: NDArray[np.float32] | None = None  # [T]  precomputed scores

    def __len__(self) -> int:
        return len(self.input_ids)


@dataclass(frozen=True, slots=True)
class Encoded:
    """One example: its only sequence, or one for each choice."""

    sequences: tuple[Tokens, ...]
    label: int | tuple[bool, ...] | None = None  # its number; of a set of labels a flag for each there is
    truncated: int = 0  # tokens that did not fit
    choice: bool = False

    @property
    def length(self) -> int:
        """Tokens an encoder runs for it, including the padding between its own sequences."""
        return len(self.sequences) * max(map(len, self.sequences))


@dataclass(frozen=True)
class Batch:
    """Examples padded to their longest sequence. Shapes: B examples, D sequences, T tokens.

    D equals B, except where an example is a choice between several sequences.
    """

    input_ids: Tensor  # [D, T]
    attention_mask: Tensor  # [D, T]  bool: a token, not padding
    special: Tensor  # [D, T]  bool
    selectable: Tensor  # [D, T]  bool
    labels: Tensor | None = None  # [B]; sets of labels: [B, C] bool
    rationale: Tensor | None = None  # [D, T]  bool
    has_rationale: Tensor | None = None  # [D]  bool
    position_ids: Tensor | None = None  # [D, T]  counted from 0; None: the order of the tokens
    sliding: Tensor | None = None  # [D, T]  bool; None: no sequence needs windows
    example: Tensor | None = None  # [D]  the example of each sequence; None: each example has one
    choice: Tensor | None = None  # [D]  the number of its choice
    given: Tensor | None = None  # [D, T]  precomputed scores, of a teacher or a support model

    def tensors(self) -> dict[str, Tensor]:
        """The tensors by name, as a model's forward takes them."""
        values = {field.name: getattr(self, field.name) for field in fields(self)}
        return {name: value for name, value in values.items() if value is not None}

    def to(self, device: torch.device | str) -> Batch:
        """The same batch on another device."""
        return replace(self, **{name: value.to(device) for name, value in self.tensors().items()})

    def rows(self, numbers: Tensor, width: int | None = None) -> Batch:
        """These sequences alone, as an encoder reads them: without labels, gold and choices.

        With `width`, only their first `width` tokens: none of them may be longer.
        """
        read = ("input_ids", "attention_mask", "special", "selectable", "position_ids", "sliding")
        return Batch(
            **{name: value[numbers, :width] for name, value in self.tensors().items() if name in read}
        )

    def lengths(self) -> Tensor:
        """The length of each sequence up to its last token: [D]."""
        positions = torch.arange(1, self.attention_mask.shape[1] + 1, device=self.attention_mask.device)
        return (self.attention_mask * positions).amax(-1)

    def examples(self) -> int:
        """The number of examples: B."""
        return len(self.input_ids) if self.example is None else int(self.example.max()) + 1


def collate(encoded: Sequence[Encoded], pad_token_id: int) -> Batch:
    """A batch padded on the right to its longest sequence."""
    rows = [tokens for item in encoded for tokens in item.sequences]
    width = max(map(len, rows))

    def padded(values: Sequence[NDArray[Any]], fill: int = 0, kind: Any = bool) -> Tensor:
        table = np.full((len(rows), width), fill, dtype=kind)
        for row, tokens in zip(table, values, strict=True):
            row[: len(tokens)] = tokens
        return torch.from_numpy(table)

    labels = [item.label for item in encoded]
    gold = [row.rationale for row in rows]
    no_gold = np.zeros(0, dtype=bool)
    given = [row.given for row in rows if row.given is not None]
    slides = any(row.sliding.any() for row in rows)
    return Batch(
        input_ids=padded([row.input_ids for row in rows], pad_token_id, np.int64),
        attention_mask=padded([np.ones(len(row), dtype=bool) for row in rows]),
        special=padded([row.special for row in rows]),
        selectable=padded([row.selectable for row in rows]),
        labels=None if None in labels else torch.tensor(labels),
        rationale=padded([no_gold if row is None else row for row in gold]),
        has_rationale=torch.tensor([row is not None for row in gold]),
        sliding=padded([row.sliding for row in rows]) if slides else None,
        given=padded(given, kind=np.float32) if len(given) == len(rows) else None,  # all or none
        **_choices(encoded),
    )


def _choices(encoded: Sequence[Encoded]) -> dict[str, Tensor]:
    """The example and the choice of every sequence; nothing where examples have one sequence each."""
    if not any(item.choice for item in encoded):
        return {}
    pairs = [(number, choice) for number, item in enumerate(encoded) for choice in range(len(item.sequences))]
    example, choice = torch.tensor(pairs).unbind(1)
    return {"example": example.contiguous(), "choice": choice.contiguous()}
