"""Texts to tokens and back: every token knows its characters, every gold character its tokens."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import chain
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from unirex.data.example import Example, Label, Layout, choice_label
from unirex.encoding.batch import Encoded, Tokens
from unirex.encoding.sequence import POLICIES, TRUNCATIONS, Assembly, Frame, Piece, share_out
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
    """

    tokenizer: PreTrainedTokenizerBase
    max_length: int
    labels: tuple[Label, ...] = ()
    separators: bool = False
    truncation: str = "head"
    layout: Layout = field(default_factory=Layout)

    def __post_init__(self) -> None:
        name = type(self.tokenizer).__name__
        if not self.tokenizer.is_fast:
            raise UserError(
                f"tokenizer {name} gives no character offsets; "
                "use an encoder that has a fast tokenizer (a tokenizer.json)."
            )
        if self.tokenizer.pad_token_id is None:
            raise UserError(f"tokenizer {name} has no pad token; use another encoder.")
        if self.truncation not in TRUNCATIONS:
            raise unknown("truncation", self.truncation, TRUNCATIONS)

    @cached_property
    def frame(self) -> Frame:
        """The special tokens around segments."""
        return Frame.of(self.tokenizer)

    def encode(self, examples: Sequence[Example]) -> list[Encoded]:
        """Tokens of every example; what does not fit is counted."""
        return list(self.stream(examples))

    def stream(self, examples: Sequence[Example]) -> Iterator[Encoded]:
        """Tokens of every example, one at a time: memory stays flat however many."""
        for start in range(0, len(examples), CHUNK):
            chunk = list(examples[start : start + CHUNK])
            for example in chunk:
                self.layout.check(example)
            texts = chain(
                self.layout.markers, *(one.segments for one in chunk), *(one.choices or () for one in chunk)
            )
            pieces = self.pieces(texts)
            yield from (self._encoded(example, pieces) for example in chunk)

    def pieces(self, texts: Iterable[str]) -> dict[str, Piece]:
        """Each distinct text in tokens: a document that many questions are asked about is read once."""
        distinct = list(dict.fromkeys(texts))
        if not distinct:
            return {}
        found = self.tokenizer(
            distinct,
            add_special_tokens=False,
            return_attention_mask=False,
            return_token_type_ids=False,
            split_special_tokens=True,  # "[SEP]" in somebody's text is text
            verbose=False,  # longer than the encoder takes: dealt with here
        )
        return {text: Piece.of(text, one) for text, one in zip(distinct, found.encodings or [], strict=True)}

    def _encoded(self, example: Example, pieces: dict[str, Piece]) -> Encoded:
        endings: Sequence[tuple[str, ...]] = [(choice,) for choice in example.choices or ()] or [()]
        made = [
            self._sequence(example, [pieces[text] for text in (*example.segments, *ending)], pieces)
            for ending in (endings if self.layout.choice else [()])
        ]
        return Encoded(
            sequences=tuple(tokens for tokens, _ in made),
            label=None if example.label is None else self.label_index(example),
            truncated=max(cut for _, cut in made),  # choices share the question
            choice=self.layout.choice,
        )

    def _sequence(
        self, example: Example, segments: Sequence[Piece], pieces: dict[str, Piece]
    ) -> tuple[Tokens, int]:
        """One sequence and how many tokens it had to leave out."""
        marked = self._gold(example, segments)
        markers = [pieces[marker] for marker in self.layout.markers[: len(segments)]]
        places, slides = self._places(segments, sum(map(len, markers)), marked)
        made, separator = Assembly(), self.tokenizer.sep_token_id if self.separators else None
        for number, piece in enumerate(segments):
            made.specials(self.frame.between if number else self.frame.before, selectable=separator)
            if number < len(markers):
                made.marker(markers[number])
            made.segment(
                number,
                piece,
                places[number],
                selectable=self.layout.carries(number),
                sliding=number == slides,
                gold=marked[number] if marked is not None and self.layout.carries(number) else None,
            )
        made.specials(self.frame.after, selectable=separator)
        return made.tokens(has_gold=marked is not None), sum(map(len, segments)) - sum(map(len, places))

    def _gold(self, example: Example, segments: Sequence[Piece]) -> list[NDArray[np.bool_]] | None:
        """The gold tokens of every segment; nobody marks a choice."""
        if example.rationale is None:
            return None
        spans = [*example.rationale, ()][: len(segments)]
        return [piece.gold(some) for piece, some in zip(segments, spans, strict=True)]

    def _places(
        self, segments: Sequence[Piece], taken: int, marked: Sequence[NDArray[np.bool_]] | None
    ) -> tuple[list[NDArray[np.int64]], int | None]:
        """Which tokens of each segment are read, and the segment that windows slide over, if any do."""
        lengths = [len(piece) for piece in segments]
        room = self.max_length - self.frame.size(len(segments)) - taken
        if room < 1:
            raise UserError(
                f"max_length {self.max_length} leaves no room for a text beside {self.max_length - room} "
                "special tokens and markers; give more."
            )
        if sum(lengths) <= room:
            return [np.arange(length) for length in lengths], None
        slides = None
        if self.truncation == "windows":
            slides = max(range(len(lengths)), key=lambda number: lengths[number])
            others = [length for number, length in enumerate(lengths) if number != slides]
            kept = share_out(others, room // 2)  # half of every window is for the long segment
            kept.insert(slides, lengths[slides])
        else:
            kept = share_out(lengths, room)
        choose = POLICIES.get(self.truncation, POLICIES["head"])
        gold = [None] * len(lengths) if marked is None else [flags.nonzero()[0] for flags in marked]
        places = [choose(*one) for one in zip(lengths, kept, gold, strict=True)]
        return places, slides

    def label_index(self, example: Example) -> int:
        """The class number of an example's label; of a choice, its place."""
        labels: Sequence[Label] = self.labels
        if self.layout.choice:
            labels = [choice_label(number) for number in range(len(example.choices or ()))]
        for index, label in enumerate(labels):
            if label == example.label and type(label) is type(example.label):
                return index
        known = ", ".join(repr(label) for label in labels)
        raise UserError(
            f"example {example.id}: label {example.label!r} is not one this system knows ({known})."
        )


def warn_truncated(truncated: Sequence[int], max_length: int, *, windows: bool = False) -> None:
    """Say how much did not fit; nothing is cut in silence. With windows: of the shorter segments."""
    cut = [count for count in truncated if count]
    warn_cut(len(cut), len(truncated), sum(cut), max_length, windows=windows)


def warn_cut(cut: int, texts: int, tokens: int, max_length: int, *, windows: bool = False) -> None:
    """Say that so many of the texts lost so many tokens, if any did."""
    if cut:
        log.warning(
            "%d of %d texts are longer than %d tokens: %d tokens were left out%s",
            cut,
            texts,
            max_length,
            tokens,
            "" if windows else " (truncation=windows reads texts whole)",
        )
