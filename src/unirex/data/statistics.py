"""What a dataset is like, in numbers: how many, how long, how much is marked, what stands there twice."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import lru_cache
from itertools import combinations
from statistics import fmean
from typing import Any

from unirex.data.counting import Lengths, Lost, Pieces, Tokens, count_tokens, hold_gold, lengths, sequences
from unirex.data.example import DatasetInfo, Example, Label, Splits
from unirex.data.rationales import words
from unirex.data.repeats import Repeats, count, repeats


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
