"""What a dataset is like, in numbers: sizes, lengths, labels, gold, truncation, repeats."""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import lru_cache
from itertools import combinations
from math import ceil
from statistics import fmean, median
from typing import Any

from unirex.data.check import Repeats, count, repeats
from unirex.data.example import CharSpan, DatasetInfo, Example, Label, Splits
from unirex.data.rationales import merge, words

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


@dataclass(frozen=True, slots=True)
class Gold:
    """How much people marked; words count where a rationale can be, in examples that anybody looked at."""

    examples: int
    words: int
    of_words: int
    mean_density: float | None  # of the examples, long or short
    groups: int  # evidence groups, or annotators, of all examples together

    @property
    def density(self) -> float | None:
        """The share of all words that is gold."""
        return self.words / self.of_words if self.of_words else None


@dataclass(frozen=True, slots=True)
class SplitStatistics:
    """One split in numbers. Lengths are of sequences: the segments, with one choice where there are some."""

    examples: int
    labels: Mapping[Label, int]  # in the order of the classes
    words: Lengths
    gold: Gold
    repeats: Repeats
    tokens: Lengths | None = None
    lost: Lost | None = None


@dataclass(frozen=True, slots=True)
class Statistics:
    """A dataset in numbers, by split and across splits."""

    info: DatasetInfo
    splits: Mapping[str, SplitStatistics]
    across: Mapping[tuple[str, str], Repeats]  # ("train", "test"): what of test is in train
    limit: int | None = None  # tokens beyond which a sequence is cut

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON types; labels as a list, so that they keep their type."""
        return {
            "name": self.info.name,
            "task": self.info.task,
            "max_length": self.limit,
            "splits": {name: _plain(split) for name, split in self.splits.items()},
            "across": [
                {"of": later, "in": first, **asdict(found)} for (first, later), found in self.across.items()
            ],
        }


def statistics(data: Splits, tokens: Tokens | None = None) -> Statistics:
    """A dataset in numbers; without `tokens` it is measured in words alone. Empty splits are left out."""
    parts = {split: part for split, part in data.items() if part}
    return Statistics(
        info=data.info,
        splits={split: _of_split(part, data.info, tokens) for split, part in parts.items()},
        across={
            (first, later): count(repeats(parts[later], after=parts[first]))
            for first, later in combinations(parts, 2)
        },
        limit=tokens.limit if tokens else None,
    )


def _of_split(examples: Sequence[Example], info: DatasetInfo, tokens: Tokens | None) -> SplitStatistics:
    found = Counter(example.label for example in examples if example.label is not None)
    in_words = [sum(len(_words(text)) for text in row) for one in examples for row in sequences(one)]
    in_tokens, lost = count_tokens(examples, tokens, markers=info.markers) if tokens else (None, None)
    return SplitStatistics(
        examples=len(examples),
        labels={label: found[label] for label in dict.fromkeys((*info.labels, *found))},
        words=lengths(in_words),
        gold=_gold(examples, info),
        repeats=count(repeats(examples)),
        tokens=in_tokens,
        lost=lost,
    )


def _gold(examples: Sequence[Example], info: DatasetInfo) -> Gold:
    counts = [_gold_words(example, info) for example in examples if example.rationale is not None]
    shares = [gold / total for gold, total in counts if total]
    return Gold(
        examples=len(counts),
        words=sum(gold for gold, _ in counts),
        of_words=sum(total for _, total in counts),
        mean_density=fmean(shares) if shares else None,
        groups=sum(len(example.groups) for example in examples),
    )


def _gold_words(example: Example, info: DatasetInfo) -> tuple[int, int]:
    """How many words of an example are gold, of how many that could be."""
    gold = total = 0
    for number, (text, spans) in enumerate(zip(example.segments, example.rationale or (), strict=True)):
        if info.rationale_segments is None or number in info.rationale_segments:
            gold += sum(hold_gold(_words(text), text, spans))
            total += len(_words(text))
    return gold, total


@lru_cache(maxsize=64)  # one document often serves many questions in a row
def _words(text: str) -> Pieces:
    return words(text)


def _plain(split: SplitStatistics) -> dict[str, Any]:
    plain = asdict(split)
    plain["labels"] = [{"label": label, "examples": number} for label, number in split.labels.items()]
    plain["gold"]["density"] = split.gold.density
    return plain
