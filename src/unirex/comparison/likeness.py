"""What evaluations share and where they differ, beyond their numbers: the same records, other tokens."""

from __future__ import annotations

from array import array
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from hashlib import blake2b
from itertools import combinations, pairwise
from typing import TYPE_CHECKING
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

from unirex.metrics import metric
from unirex.records import Record

if TYPE_CHECKING:
    from unirex.comparison.method import Method

BEGINNING = 12  # tokens that tell how a text is cut; longer texts may be truncated elsewhere
SOME = 0.01  # of the texts or tokens: fewer are accidents
BITS = 64


@dataclass
class Traits:
    """What stays of the records besides values: enough to tell whether two are the same, or cut alike."""

    print: int = 0  # of predictions, probabilities and scores, whatever the order
    cuts: array[int] = field(default_factory=lambda: array("L"))  # a checksum of each text's first tokens
    tokens: int = 0
    pieces: int = 0  # tokens that begin within a word

    def add(self, record: Record) -> None:
        """One more record."""
        scores = [one.scores for one in record.sequences]
        said = repr((record.id, record.predicted, record.probabilities, scores))
        digest = blake2b(said.encode("utf-8", "surrogatepass"), digest_size=BITS // 8).digest()
        self.print = (self.print + int.from_bytes(digest, "big")) % 2**BITS
        first = record.sequences[0].tokens[:BEGINNING] if record.sequences else ()
        self.cuts.append(crc32(repr(first).encode()))
        self.tokens += len(first)
        self.pieces += _pieces(record, first)


def _pieces(record: Record, tokens: Sequence[tuple[int, int, int]]) -> int:
    """How many of the tokens go on with the word of the one before."""
    texts = (*record.segments, *(record.choices or ()))
    return sum(
        one[0] == next_[0]
        and one[2] == next_[1]
        and texts[one[0]][one[2] - 1 : one[2]].isalnum()
        and texts[one[0]][one[2] : one[2] + 1].isalnum()
        for one, next_ in pairwise(tokens)
    )


def same_records(one: Method, other: Method) -> bool:
    """Whether two methods are the same records under two names."""
    prints = [sorted(run.traits.print for run in method.runs) for method in (one, other)]
    return prints[0] == prints[1]


def other_units(one: Method, other: Method) -> bool:
    """Whether two methods cut the same texts into other tokens."""
    first, second = (_cuts(method) for method in (one, other))
    return bool((first != second).mean() > SOME)


def mixed_units(methods: Sequence[Method]) -> bool:
    """Whether any two methods do."""
    return any(other_units(methods[0], one) for one in methods[1:])


def by_token(key: str) -> bool:
    """Whether a metric counts tokens that people marked, so that it depends on what a token is."""
    return metric(key).desideratum == "plausibility"


def likeness_notes(methods: Sequence[Method]) -> list[str]:
    """What the reader must know: who is the same, and whose tokens are others."""
    return [*_repeated(methods), *_same(methods), *_units(methods)]


def _repeated(methods: Sequence[Method]) -> Iterator[str]:
    for one in methods:
        if len({run.traits.print for run in one.runs}) < one.seeds:
            yield f"{one.name}: some of its {one.seeds} runs are the same records, not seeds of their own."


def _same(methods: Sequence[Method]) -> Iterator[str]:
    for one, other in combinations(methods, 2):
        if same_records(one, other):
            yield f"{one.name} and {other.name} are the same records."


def _units(methods: Sequence[Method]) -> Iterator[str]:
    first = methods[0]
    for other in methods[1:]:
        if other_units(first, other):
            yield f"{_told(first, other)}: AUPRC, TF1 and token F1 are not of the same units."


def _told(one: Method, other: Method) -> str:
    shares = [_share(method) for method in (one, other)]
    if (shares[0] > SOME) == (shares[1] > SOME):
        return f"{one.name} and {other.name} cut the texts into other tokens"
    whole, parts = (other, one) if shares[0] > SOME else (one, other)
    return f"{whole.name} marks words, {parts.name} parts of words"


def _share(method: Method) -> float:
    traits = method.runs[0].traits
    return traits.pieces / traits.tokens if traits.tokens else 0.0


def _cuts(method: Method) -> NDArray[np.int64]:
    run = method.runs[0]
    return np.array(run.traits.cuts, dtype=np.int64)[run.order]
