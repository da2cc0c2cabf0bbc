"""Statistics of a dataset: sizes, lengths, labels, gold, truncation, repeats."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import lru_cache
from itertools import combinations
from math import ceil
from statistics import fmean, median
from typing import Any

from unirex.data.check import Repeats, count_repeats, repeats
from unirex.data.example import CharSpan, DatasetInfo, Example, Label, Splits
from unirex.data.rationales import merge, words
from unirex.data.validate import labels_of

CHUNK = 1024  # examples tokenised at once, so that memory does not grow with the dataset

TextSpans = Sequence[CharSpan]  # the spans of the words or tokens of a text


@dataclass(frozen=True, slots=True)
class TokenCounter:
    """The parts of an encoder that counting needs; a sequence has at most `limit` tokens."""

    tokenize: Callable[[Sequence[str]], Mapping[str, TextSpans]]  # token spans by text, none of them special
    special: Callable[[int], int]  # number of texts in a sequence -> its number of special tokens
    truncate: Callable[[Sequence[int], int], Sequence[int]]  # tokens of each text, room -> those kept
    limit: int


@dataclass(frozen=True, slots=True)
class Lengths:
    """Lengths of sequences; 95 % are no longer than `p95`."""

    mean: float
    median: float
    p95: int
    max: int


@dataclass(slots=True)
class TruncationLoss:
    """What truncation removes: `tokens` out of `of_tokens`, not counting special tokens and markers."""

    examples: int = 0  # with a sequence that is too long
    tokens: int = 0
    of_tokens: int = 0
    gold_tokens: int = 0
    of_gold_tokens: int = 0


@dataclass(frozen=True, slots=True)
class GoldStatistics:
    """Amount of gold in the annotated examples; only words that can be in a rationale are counted."""

    examples: int
    words: int
    of_words: int
    mean_density: float | None  # mean of the densities of the examples
    groups: int  # evidence groups, or annotators, of all examples together

    @property
    def density(self) -> float | None:
        """Share of all words that is gold."""
        return self.words / self.of_words if self.of_words else None


@dataclass(frozen=True, slots=True)
class SplitStatistics:
    """Statistics of one split. Lengths are of sequences: the segments, with one choice if there are any."""

    examples: int
    labels: Mapping[Label, int]  # in the order of the classes
    words: Lengths
    gold: GoldStatistics
    repeats: Repeats
    tokens: Lengths | None = None
    lost: TruncationLoss | None = None

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON types; labels as a list, so that they keep their type."""
        plain = asdict(self)
        plain["labels"] = [{"label": label, "examples": number} for label, number in self.labels.items()]
        plain["gold"]["density"] = self.gold.density
        return plain


@dataclass(frozen=True, slots=True)
class Statistics:
    """Statistics of a dataset, by split and across splits."""

    info: DatasetInfo
    splits: Mapping[str, SplitStatistics]
    across: Mapping[tuple[str, str], Repeats]  # ("train", "test"): test examples that repeat one of train
    limit: int | None = None  # tokens after which a sequence is truncated

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON types."""
        return {
            "name": self.info.name,
            "task": self.info.task,
            "max_length": self.limit,
            "splits": {name: split.to_dict() for name, split in self.splits.items()},
            "across": [
                {"of": later, "in": first, **asdict(repeated)}
                for (first, later), repeated in self.across.items()
            ],
        }


def statistics(data: Splits, tokens: TokenCounter | None = None) -> Statistics:
    """Statistics of a dataset, in words only if `tokens` is not given. Empty splits are left out."""
    parts = {split: part for split, part in data.items() if part}
    return Statistics(
        info=data.info,
        splits={split: _split_statistics(part, data.info, tokens) for split, part in parts.items()},
        across={
            (first, later): count_repeats(repeats(parts[later], after=parts[first]))
            for first, later in combinations(parts, 2)
        },
        limit=tokens.limit if tokens else None,
    )


def _split_statistics(
    examples: Sequence[Example], info: DatasetInfo, tokens: TokenCounter | None
) -> SplitStatistics:
    labels = Counter(label for example in examples for label in labels_of(example))
    word_counts = (
        sum(len(_words(text)) for text in texts) for example in examples for texts in sequences(example)
    )
    in_tokens, lost = count_tokens(examples, tokens, markers=info.markers) if tokens else (None, None)
    return SplitStatistics(
        examples=len(examples),
        labels={label: labels[label] for label in dict.fromkeys((*info.labels, *labels))},
        words=length_summary(word_counts),
        gold=_gold_statistics(examples, info),
        repeats=count_repeats(repeats(examples)),
        tokens=in_tokens,
        lost=lost,
    )


def sequences(example: Example) -> Iterator[tuple[str, ...]]:
    """The texts of each sequence an encoder reads: the segments, once with each choice if there are any."""
    if example.choices is None:
        yield example.segments
    for choice in example.choices or ():
        yield (*example.segments, choice)


def length_summary(lengths: Iterable[int]) -> Lengths:
    """Mean, median, 95th percentile and maximum.

    >>> length_summary([4, 1, 1, 2])
    Lengths(mean=2.0, median=1.5, p95=4, max=4)
    """
    ordered = sorted(lengths)
    return Lengths(fmean(ordered), median(ordered), ordered[ceil(0.95 * len(ordered)) - 1], ordered[-1])


def count_tokens(
    examples: Sequence[Example], tokens: TokenCounter, *, markers: Sequence[str] = ()
) -> tuple[Lengths, TruncationLoss]:
    """Sequence lengths, including special tokens and markers, and what truncation at the end would remove.

    Losses are counted in every sequence: a question read with each of five choices loses its end five times.
    """
    lengths: list[int] = []
    lost = TruncationLoss()
    for start in range(0, len(examples), CHUNK):
        chunk = examples[start : start + CHUNK]
        texts = dict.fromkeys(text for example in chunk for row in sequences(example) for text in row)
        spans = tokens.tokenize([*dict.fromkeys((*markers, *texts))])
        for example in chunk:
            lengths += _count_example(example, tokens, spans, markers, lost)
    return length_summary(lengths), lost


def _count_example(
    example: Example,
    tokens: TokenCounter,
    spans: Mapping[str, TextSpans],
    markers: Sequence[str],
    lost: TruncationLoss,
) -> Iterator[int]:
    """The length of each sequence of an example; adds to `lost` what truncation removes."""
    gold = [
        gold_flags(spans[text], text, marked)
        for text, marked in zip(example.segments, example.rationale or (), strict=False)
    ]
    longest = 0
    for texts in sequences(example):
        counts = [len(spans[text]) for text in texts]
        added = tokens.special(len(texts)) + sum(len(spans[marker]) for marker in markers[: len(texts)])
        kept = tokens.truncate(counts, tokens.limit - added)
        lost.tokens += sum(counts) - sum(kept)
        lost.of_tokens += sum(counts)
        lost.gold_tokens += sum(sum(flags[stop:]) for flags, stop in zip(gold, kept, strict=False))
        lost.of_gold_tokens += sum(map(sum, gold))
        longest = max(longest, sum(counts) + added)
        yield sum(counts) + added
    lost.examples += longest > tokens.limit


def _gold_statistics(examples: Sequence[Example], info: DatasetInfo) -> GoldStatistics:
    counts: list[tuple[int, int]] = []  # of each annotated example: gold words, words that could be gold
    for example in examples:
        if example.rationale is None:
            continue
        gold = total = 0
        for number, (text, marked) in enumerate(zip(example.segments, example.rationale, strict=True)):
            if info.rationale_segments is None or number in info.rationale_segments:
                gold += sum(gold_flags(_words(text), text, marked))
                total += len(_words(text))
        counts.append((gold, total))
    densities = [gold / total for gold, total in counts if total]
    return GoldStatistics(
        examples=len(counts),
        words=sum(gold for gold, _ in counts),
        of_words=sum(total for _, total in counts),
        mean_density=fmean(densities) if densities else None,
        groups=sum(len(example.groups) for example in examples),
    )


@lru_cache(maxsize=64)  # consecutive examples often share a document
def _words(text: str) -> TextSpans:
    return words(text)


def gold_flags(spans: TextSpans, text: str, gold: TextSpans) -> list[bool]:
    """For each word or token of a text, whether it holds a marked character that is not blank.

    >>> gold_flags([(0, 1), (1, 6), (6, 12)], "a fine  film", [(2, 4), (6, 8)])
    [False, True, False]
    """
    gold = merge(gold)
    gold_starts, gold_ends = [start for start, _ in gold], [end for _, end in gold]
    flags: list[bool] = []
    for start, end in spans:
        overlapping = gold[bisect_right(gold_ends, start) : bisect_left(gold_starts, end)]
        flags.append(any(text[max(start, first) : min(end, last)].strip() for first, last in overlapping))
    return flags
