"""Texts to tokens and back: every token knows its characters, every gold character its tokens."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING, Any, NamedTuple

import torch
from torch import Tensor
from torch.nn.utils.rnn import pad_sequence

from unirex.data.example import CharSpan, Example, Label
from unirex.errors import UserError

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase

log = logging.getLogger(__name__)


class TokenSpan(NamedTuple):
    """The characters a token stands for, in which segment."""

    segment: int
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Encoded:
    """One example as the encoder sees it."""

    input_ids: list[int]
    special: list[bool]  # [CLS], [SEP] and their like
    selectable: list[bool]  # may be part of a rationale
    spans: list[TokenSpan]  # empty for special tokens
    label: int | None = None
    rationale: list[bool] | None = None  # gold, per token
    truncated: int = 0  # tokens that did not fit

    def __len__(self) -> int:
        return len(self.input_ids)


@dataclass(frozen=True)
class Batch:
    """Examples padded to the longest of them. Shapes: B examples, T tokens."""

    input_ids: Tensor  # [B, T]
    attention_mask: Tensor  # [B, T]  bool: a token, not padding
    special: Tensor  # [B, T]  bool
    selectable: Tensor  # [B, T]  bool
    labels: Tensor | None = None  # [B]
    rationale: Tensor | None = None  # [B, T]  bool
    has_rationale: Tensor | None = None  # [B]  bool
    position_ids: Tensor | None = None  # [B, T]  counted from 0; None: the order of the tokens

    def tensors(self) -> dict[str, Tensor]:
        """The tensors by name, as a model's forward takes them."""
        values = {field.name: getattr(self, field.name) for field in fields(self)}
        return {name: value for name, value in values.items() if value is not None}

    def to(self, device: torch.device | str) -> Batch:
        """The same batch on another device."""
        return replace(self, **{name: value.to(device) for name, value in self.tensors().items()})


@dataclass(frozen=True)
class TextEncoder:
    """How texts become tokens for one system: its tokenizer, its length limit, its label order."""

    tokenizer: PreTrainedTokenizerBase
    max_length: int
    labels: tuple[Label, ...] = ()
    separators: bool = False  # may [SEP] be part of a rationale? (True: as the released code)

    def __post_init__(self) -> None:
        if not self.tokenizer.is_fast:
            raise UserError(
                f"tokenizer {type(self.tokenizer).__name__} gives no character offsets; "
                "use an encoder that has a fast tokenizer (a tokenizer.json)."
            )

        if self.tokenizer.pad_token_id is None:
            raise UserError(
                f"tokenizer {type(self.tokenizer).__name__} has no pad token; use another encoder."
            )

    def encode(self, examples: Sequence[Example]) -> list[Encoded]:
        """Tokens of every example, cut at `max_length` from the right; what was cut is counted."""
        if not examples:
            return []
        check_segments(examples)
        encodings = self._tokenize(examples)
        return [self._encoded(one, tokens) for one, tokens in zip(examples, encodings, strict=True)]

    def _tokenize(self, examples: Sequence[Example]) -> Sequence[Any]:
        segments = [list(column) for column in zip(*(one.segments for one in examples), strict=True)]
        found = self.tokenizer(
            *segments,
            truncation="longest_first",
            max_length=self.max_length,
            return_offsets_mapping=True,
            split_special_tokens=True,  # "[SEP]" in somebody's text is text
        )
        return found.encodings or []

    def _encoded(self, example: Example, tokens: Any) -> Encoded:
        special = [bool(flag) for flag in tokens.special_tokens_mask]
        spans = [
            TokenSpan(segment or 0, *((0, 0) if is_special else offsets))
            for segment, offsets, is_special in zip(tokens.sequence_ids, tokens.offsets, special, strict=True)
        ]
        return Encoded(
            input_ids=tokens.ids,
            special=special,
            selectable=self._selectable(tokens.ids, special),
            spans=spans,
            label=None if example.label is None else self.label_index(example),
            rationale=token_rationale(example, spans),
            truncated=self._truncated(example, tokens),
        )

    def _truncated(self, example: Example, tokens: Any) -> int:
        if not tokens.overflowing:
            return 0
        # Counted anew: the overflow of a pair lists its tokens many times over.
        whole = self.tokenizer(
            *example.segments, add_special_tokens=False, split_special_tokens=True, verbose=False
        )
        return len(whole.input_ids) - tokens.special_tokens_mask.count(0)

    def _selectable(self, ids: list[int], special: list[bool]) -> list[bool]:
        separator = self.tokenizer.sep_token_id if self.separators else None
        return [not flag or token == separator for token, flag in zip(ids, special, strict=True)]

    def label_index(self, example: Example) -> int:
        """The class number of an example's label."""
        for index, label in enumerate(self.labels):
            if label == example.label and type(label) is type(example.label):
                return index
        known = ", ".join(repr(label) for label in self.labels)
        raise UserError(
            f"example {example.id}: label {example.label!r} is not one this system knows ({known})."
        )


def check_segments(examples: Sequence[Example]) -> None:
    """Every example is one text, or every example is a pair: tokenizers read nothing else."""
    first = examples[0]
    for example in examples:
        count = len(example.segments)
        if count not in (1, 2):
            raise UserError(f"example {example.id} has {count} segments; give one text or a pair.")
        if count != len(first.segments):
            raise UserError(
                f"example {example.id} has {count} segments and example {first.id} {len(first.segments)}; "
                "give all of them one text, or all of them a pair."
            )


def warn_truncated(truncated: Sequence[int], max_length: int) -> None:
    """Say how much did not fit; nothing is cut in silence."""
    cut = [count for count in truncated if count]
    if cut:
        log.warning(
            "%d of %d texts are longer than %d tokens: %d tokens were cut off their ends",
            len(cut),
            len(truncated),
            max_length,
            sum(cut),
        )


def token_rationale(example: Example, spans: Sequence[TokenSpan]) -> list[bool] | None:
    """Which tokens hold a gold character. Blanks are nobody's: they never make a token gold."""
    if example.rationale is None:
        return None
    counts = [
        _running_gold(text, gold) for text, gold in zip(example.segments, example.rationale, strict=True)
    ]
    return [counts[segment][end] > counts[segment][start] for segment, start, end in spans]


def _running_gold(text: str, gold: Sequence[CharSpan]) -> list[int]:
    marked = bytearray(len(text))
    for start, end in gold:
        for index in range(start, end):
            marked[index] = not text[index].isspace()
    running = [0]
    for flag in marked:
        running.append(running[-1] + flag)
    return running


def text_spans(text: str, spans: Sequence[CharSpan]) -> tuple[CharSpan, ...]:
    """The runs of characters that token spans cover: blanks at the borders cut, touching runs joined.

    >>> text_spans("a fine  film", [(1, 6), (6, 12)])
    ((2, 12),)
    >>> text_spans("unbelievable", [(0, 2), (2, 9)])
    ((0, 9),)
    """
    runs: list[CharSpan] = []
    for start, end in sorted(spans):
        while start < end and text[start].isspace():
            start += 1
        while start < end and text[end - 1].isspace():
            end -= 1
        if start == end:
            continue
        if runs and not text[runs[-1][1] : start].strip():
            runs[-1] = (runs[-1][0], max(runs[-1][1], end))
        else:
            runs.append((start, end))
    return tuple(runs)


def collate(encoded: Sequence[Encoded], pad_token_id: int) -> Batch:
    """A batch padded on the right to its longest member."""

    def padded(values: Sequence[Sequence[int]], fill: int = 0) -> Tensor:
        rows = [torch.tensor(row, dtype=torch.long) for row in values]
        return pad_sequence(rows, batch_first=True, padding_value=fill)

    gold = [one.rationale for one in encoded]
    labels = [one.label for one in encoded]
    return Batch(
        input_ids=padded([one.input_ids for one in encoded], pad_token_id),
        attention_mask=padded([[1] * len(one) for one in encoded]).bool(),
        special=padded([one.special for one in encoded]).bool(),
        selectable=padded([one.selectable for one in encoded]).bool(),
        labels=None if None in labels else torch.tensor(labels),
        rationale=padded([row or [False] * len(one) for row, one in zip(gold, encoded, strict=True)]).bool(),
        has_rationale=torch.tensor([row is not None for row in gold]),
    )


def by_length(lengths: Sequence[int], batch_size: int) -> Iterator[list[int]]:
    """Batches of like length, longest first, so that little is padded and memory peaks at once."""
    order = sorted(range(len(lengths)), key=lambda index: -lengths[index])
    for start in range(0, len(order), batch_size):
        yield order[start : start + batch_size]


@dataclass
class LengthGroupedBatches:
    """Shuffled batches of like length for training; the same for the same seed and epoch.

    Under several processes each takes its share of the batches, all equally many.
    """

    lengths: Sequence[int]
    batch_size: int
    seed: int = 0
    epoch: int = 0
    rank: int = 0
    world_size: int = 1
    pool: int = 50  # batches sorted together; more: less padding, less chance

    def set_epoch(self, epoch: int) -> None:
        """Shuffle anew for this epoch."""
        self.epoch = epoch

    def __len__(self) -> int:
        return -(-len(self.lengths) // (self.batch_size * self.world_size))

    def __iter__(self) -> Iterator[list[int]]:
        generator = torch.Generator().manual_seed(self.seed * 1_000_003 + self.epoch)
        order = torch.randperm(len(self.lengths), generator=generator).tolist()
        batches = [batch for part in self._pools(order) for batch in self._sorted_batches(part)]
        shuffled = [batches[i] for i in torch.randperm(len(batches), generator=generator).tolist()]
        share = [shuffled[i % len(shuffled)] for i in range(len(self) * self.world_size)]
        # A generator: the epoch counts when the first batch is asked for, not when the iterator is made.
        yield from share[self.rank :: self.world_size]

    def _pools(self, order: list[int]) -> Iterator[list[int]]:
        size = self.pool * self.batch_size
        return (order[start : start + size] for start in range(0, len(order), size))

    def _sorted_batches(self, part: list[int]) -> Iterator[list[int]]:
        for batch in by_length([self.lengths[index] for index in part], self.batch_size):
            yield [part[index] for index in batch]
