"""Examples to tokens: every token knows its characters, and gold characters become gold tokens."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import chain
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from unirex.data.example import Example, Label, Layout, answer_labels, choice_labels
from unirex.encoding.batch import Encoded, Tokens
from unirex.encoding.sequence import POLICIES, TRUNCATIONS, Assembly, Frame, Piece, head, share_out
from unirex.encoding.tokenise import tokenise
from unirex.errors import UserError, unknown

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase


log = logging.getLogger(__name__)

CHUNK = 1024  # examples tokenised at once


@dataclass(frozen=True)
class TextEncoder:
    """How texts become tokens for one system.

    Args:
        tokenizer: a fast one, with offsets.
        max_length: tokens an encoder takes at once.
        labels: in the order of the logits.
        separators: may [SEP] be part of a rationale? (True: as the released code)
        truncation: what is read of a longer text; see `TRUNCATIONS`.
        layout: what an example consists of.
        multi_label: whether an example has a set of labels.
    """

    tokenizer: PreTrainedTokenizerBase
    max_length: int
    labels: tuple[Label, ...] = ()
    separators: bool = False
    truncation: str = "head"
    layout: Layout = field(default_factory=Layout)
    multi_label: bool = False

    def __post_init__(self) -> None:
        name = type(self.tokenizer).__name__
        if not self.tokenizer.is_fast:
            raise UserError(
                f"tokenizer {name} gives no character offsets; "
                "use an encoder that has a fast tokenizer (a tokenizer.json)."
            )
        if self.tokenizer.pad_token_id is None:
            raise UserError(f"tokenizer {name} has no pad token; use another encoder.")
        if not isinstance(self.tokenizer.model_max_length, int | float):
            raise UserError(
                f"tokenizer {name}: 'model_max_length' in tokenizer_config.json must be a number."
            )
        if self.truncation not in TRUNCATIONS:
            raise unknown("truncation", self.truncation, TRUNCATIONS)

    @cached_property
    def frame(self) -> Frame:
        """The special tokens around segments."""
        return Frame.of(self.tokenizer)

    def encode(self, examples: Sequence[Example]) -> list[Encoded]:
        """Tokens of every example; tokens that do not fit are counted."""
        return list(self.stream(examples))

    def stream(self, examples: Sequence[Example]) -> Iterator[Encoded]:
        """Tokens of every example, one at a time, in constant memory."""
        for start in range(0, len(examples), CHUNK):
            chunk = list(examples[start : start + CHUNK])
            for example in chunk:
                self.layout.check(example)
            texts = chain(
                self.layout.markers,
                *(example.segments for example in chunk),
                *(example.choices or () for example in chunk),
            )
            pieces = self.pieces(texts)
            yield from (self._encoded(example, pieces) for example in chunk)

    def pieces(self, texts: Iterable[str]) -> dict[str, Piece]:
        """The tokens of each distinct text: a document that many questions share is tokenised once."""
        return tokenise(self.tokenizer, texts)

    def _encoded(self, example: Example, pieces: dict[str, Piece]) -> Encoded:
        # One sequence for each choice, with the choice as its last segment; else one sequence.
        choices = (example.choices or ()) if self.layout.choice else ()
        endings: list[tuple[str, ...]] = [(choice,) for choice in choices] or [()]
        sequences = [
            self._sequence(example, [pieces[text] for text in (*example.segments, *ending)], pieces)
            for ending in endings
        ]
        return Encoded(
            sequences=tuple(tokens for tokens, _ in sequences),
            label=self.gold(example),
            truncated=max(cut for _, cut in sequences),  # choices share the question
            choice=self.layout.choice,
        )

    def _sequence(
        self, example: Example, segments: Sequence[Piece], pieces: dict[str, Piece]
    ) -> tuple[Tokens, int]:
        """One sequence, and the number of tokens left out of it."""
        gold = self._gold(example, segments)
        markers = [pieces[marker] for marker in self.layout.markers[: len(segments)]]
        read, sliding = self._truncate(segments, sum(map(len, markers)), gold)
        sequence, separator = Assembly(), self.tokenizer.sep_token_id if self.separators else None
        for number, piece in enumerate(segments):
            sequence.specials(self.frame.between if number else self.frame.before, selectable=separator)
            if number < len(markers):
                sequence.marker(markers[number])
            sequence.segment(
                number,
                piece,
                read[number],
                selectable=self.layout.carries(number),
                sliding=number == sliding,
                gold=gold[number] if gold is not None and self.layout.carries(number) else None,
            )
        sequence.specials(self.frame.after, selectable=separator)
        return sequence.tokens(has_gold=gold is not None), sum(map(len, segments)) - sum(map(len, read))

    def _gold(self, example: Example, segments: Sequence[Piece]) -> list[NDArray[np.bool_]] | None:
        """Flags of the gold tokens of every segment; a choice has none."""
        if example.rationale is None:
            return None
        spans_of_segments = [*example.rationale, ()][: len(segments)]
        return [piece.gold(spans) for piece, spans in zip(segments, spans_of_segments, strict=True)]

    def _truncate(
        self, segments: Sequence[Piece], marker_tokens: int, gold: Sequence[NDArray[np.bool_]] | None
    ) -> tuple[list[NDArray[np.int64]], int | None]:
        """The numbers of the tokens read of each segment, and the segment that windows slide over, if any."""
        lengths = [len(piece) for piece in segments]
        room = self.max_length - self.frame.size(len(segments)) - marker_tokens
        if room < 1:
            raise UserError(
                f"max_length {self.max_length} leaves no room for a text beside {self.max_length - room} "
                "special tokens and markers; give more."
            )
        if sum(lengths) <= room:
            return [np.arange(length) for length in lengths], None
        sliding = None
        if self.truncation == "windows":
            sliding = max(range(len(lengths)), key=lambda number: lengths[number])
            others = [length for number, length in enumerate(lengths) if number != sliding]
            kept = share_out(others, room // 2)  # half of every window is for the long segment
            kept.insert(sliding, lengths[sliding])
        else:
            kept = share_out(lengths, room)
        policy = POLICIES.get(self.truncation, head)
        gold_tokens = [None] * len(lengths) if gold is None else [flags.nonzero()[0] for flags in gold]
        return [policy(*segment) for segment in zip(lengths, kept, gold_tokens, strict=True)], sliding

    def gold(self, example: Example) -> int | tuple[bool, ...] | None:
        """The number of an example's label or right choice; of a set of labels a flag for each there is."""
        if example.label is None:
            return None
        if isinstance(example.label, tuple) != self.multi_label:
            has, needs = ("one label", "a list of them") if self.multi_label else ("a list of labels", "one")
            raise UserError(f"example {example.id} has {has}; this system was trained on data with {needs}.")
        numbers = [self._label_index(example, label) for label in answer_labels(example.label)]
        if not self.multi_label:
            return numbers[0]
        return tuple(number in numbers for number in range(len(self.labels)))

    def _label_index(self, example: Example, given: Label) -> int:
        labels: Sequence[Label] = self.labels
        if self.layout.choice:
            labels = choice_labels(len(example.choices or ()))
        for index, label in enumerate(labels):
            if label == given and type(label) is type(given):
                return index
        known = ", ".join(repr(label) for label in labels)
        raise UserError(f"example {example.id}: label {given!r} is not one this system knows ({known}).")


def warn_truncated(truncated: Sequence[int], max_length: int, *, windows: bool = False) -> None:
    """Warn about truncated texts, given the tokens lost by each (with windows: by its shorter segments)."""
    cut = [count for count in truncated if count]
    warn_cut(len(cut), len(truncated), sum(cut), max_length, windows=windows)


def warn_cut(cut: int, texts: int, tokens: int, max_length: int, *, windows: bool = False) -> None:
    """Warn that `cut` of the texts lost `tokens` tokens in all, if any did."""
    if cut:
        log.warning(
            "%d of %d texts are longer than %d tokens: %d tokens were left out%s",
            cut,
            texts,
            max_length,
            tokens,
            "" if windows else " (truncation=windows reads texts whole)",
        )
