"""Words and tokens counted: how long sequences are, which of their pieces are gold, what a limit cuts off."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import ceil
from statistics import fmean, median

from unirex.data.example import CharSpan, Example
from unirex.data.rationales import merge

CHUNK = 1024  # examples tokenised at once: memory stays flat however many there are

Pieces = Sequence[CharSpan]  # the characters of each word or token of a text


@dataclass(frozen=True, slots=True)
class Tokens:
    """How an encoder reads texts, as far as counting goes; it never takes more than `limit` tokens."""

    cut: Callable[[Sequence[str]], Mapping[str, Pieces]]  # the tokens of each text, special ones left out
    special: Callable[[int], int]  # how many special tokens go with so many texts
    keep: Callable[
        [Sequence[int], int], Sequence[int]
    ]  # how many tokens of each text, where there is room for so many
    limit: int


@dataclass(frozen=True, slots=True)
class Lengths:
    """How long sequences are; 95 of 100 are no longer than `p95`."""

    mean: float
    median: float
    p95: int
    max: int


@dataclass(slots=True)
class Lost:
    """What does not fit: `tokens` of `of_tokens` in all; special tokens and markers are not counted."""

    examples: int = 0  # with a sequence that is too long
    tokens: int = 0
    of_tokens: int = 0
    gold_tokens: int = 0
    of_gold_tokens: int = 0


def sequences(example: Example) -> Iterator[tuple[str, ...]]:
    """What an encoder reads of an example: its segments, once with each choice where there are choices."""
    if example.choices is None:
        yield example.segments
    for choice in example.choices or ():
        yield (*example.segments, choice)


def lengths(counts: Iterable[int]) -> Lengths:
    """Counts summed up.

    >>> lengths([4, 1, 1, 2])
    Lengths(mean=2.0, median=1.5, p95=4, max=4)
    """
    found = sorted(counts)
    return Lengths(fmean(found), median(found), found[ceil(0.95 * len(found)) - 1], found[-1])


def hold_gold(pieces: Pieces, text: str, gold: Sequence[CharSpan]) -> list[bool]:
    """Which words or tokens of a text hold a marked character that is not a blank.

    >>> hold_gold([(0, 1), (1, 6), (6, 12)], "a fine  film", [(2, 4), (6, 8)])
    [False, True, False]
    """
    gold = merge(gold)
    ends = [end for _, end in gold]
    return [_holds(piece, text, gold, bisect_right(ends, piece[0])) for piece in pieces]


def _holds(piece: CharSpan, text: str, gold: Sequence[CharSpan], first: int) -> bool:
    for number in range(first, len(gold)):
        start, end = gold[number]
        if start >= piece[1]:
            return False
        if text[max(start, piece[0]) : min(end, piece[1])].strip():
            return True
    return False


def count_tokens(
    examples: Sequence[Example], tokens: Tokens, *, markers: Sequence[str] = ()
) -> tuple[Lengths, Lost]:
    """How long the sequences are, special tokens and markers included, and what is cut off their texts' ends.

    Loss is counted in every sequence: a question read with each of five choices loses its end five times.
    """
    found: list[int] = []
    lost = Lost()
    for start in range(0, len(examples), CHUNK):
        chunk = examples[start : start + CHUNK]
        texts = dict.fromkeys(text for example in chunk for row in sequences(example) for text in row)
        table = tokens.cut([*dict.fromkeys((*markers, *texts))])
        for example in chunk:
            found += _count(example, tokens, table, markers, lost)
    return lengths(found), lost


def _count(
    example: Example, tokens: Tokens, table: Mapping[str, Pieces], markers: Sequence[str], lost: Lost
) -> Iterator[int]:
    """The length of each sequence; what it loses is added to `lost`."""
    gold = [
        hold_gold(table[text], text, spans)
        for text, spans in zip(example.segments, example.rationale or (), strict=False)
    ]
    longest = 0
    for texts in sequences(example):
        counts = [len(table[text]) for text in texts]
        added = tokens.special(len(texts)) + sum(len(table[marker]) for marker in markers[: len(texts)])
        kept = tokens.keep(counts, tokens.limit - added)
        lost.tokens += sum(counts) - sum(kept)
        lost.of_tokens += sum(counts)
        lost.gold_tokens += sum(sum(flags[stop:]) for flags, stop in zip(gold, kept, strict=False))
        lost.of_gold_tokens += sum(map(sum, gold))
        longest = max(longest, sum(counts) + added)
        yield sum(counts) + added
    lost.examples += longest > tokens.limit
