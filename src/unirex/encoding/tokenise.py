"""Texts to tokens in bounded memory: while a tokenizer works, every token takes it about a kilobyte."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from itertools import pairwise
from typing import TYPE_CHECKING

from unirex.encoding.sequence import Piece

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase

AT_ONCE = 1 << 20  # characters tokenised together
PART = 1 << 17  # characters after which a long text is cut
SEAM = 200  # characters on each side of a cut that are tokenised with and without it
BETWEEN_WORDS = re.compile(r"(?<=\w) (?=\w)")

Part = tuple[str, int, int]  # a text, start and end


def tokenise(tokenizer: PreTrainedTokenizerBase, texts: Iterable[str]) -> dict[str, Piece]:
    """The tokens of each distinct text: a document that many questions share is tokenised once."""
    pieces: dict[str, list[Piece]] = {text: [] for text in texts}
    parts = ((text, *part) for text in pieces for part in pairwise(_edges(tokenizer, text)))
    for group in _groups(parts):
        for (text, start, _), piece in zip(group, _tokenised(tokenizer, group), strict=True):
            pieces[text].append(piece.moved(start))
    return {text: Piece.joined(text, found) for text, found in pieces.items()}


def _edges(tokenizer: PreTrainedTokenizerBase, text: str) -> list[int]:
    """Where the parts of a text begin and end: a long one is cut before blanks, if that changes no token."""
    edges = [0]
    while len(text) - edges[-1] > PART and (blank := BETWEEN_WORDS.search(text, edges[-1] + PART)):
        edges.append(blank.start())
    seamless = all(_seamless(tokenizer, text, cut) for cut in edges[1:])
    return [*edges, len(text)] if seamless else [0, len(text)]


def _seamless(tokenizer: PreTrainedTokenizerBase, text: str, cut: int) -> bool:
    """Whether the text around a cut has the same tokens with it and without it."""
    start, end = cut - SEAM, cut + SEAM
    parts: list[Part] = [(text, start, end), (text, start, cut), (text, cut, end)]
    whole, left, right = _tokenised(tokenizer, parts)
    return whole.same_tokens(Piece.joined(whole.text, [left, right.moved(SEAM)]))


def _groups(parts: Iterable[Part]) -> Iterator[list[Part]]:
    """Parts to be tokenised together."""
    group: list[Part] = []
    size = 0
    for part in parts:
        if size > AT_ONCE:
            yield group
            group, size = [], 0
        group.append(part)
        size += part[2] - part[1]
    if group:
        yield group


def _tokenised(tokenizer: PreTrainedTokenizerBase, parts: Iterable[Part]) -> list[Piece]:
    """The tokens of each part, with offsets in the part."""
    texts = [text[start:end] for text, start, end in parts]
    tokenised = tokenizer(
        texts,
        add_special_tokens=False,
        return_attention_mask=False,
        return_token_type_ids=False,
        split_special_tokens=True,  # "[SEP]" in a user's text is text
        verbose=False,  # no warning about long texts: they are truncated later
    )
    return [Piece.of(text, encoding) for text, encoding in zip(texts, tokenised.encodings or [], strict=True)]
