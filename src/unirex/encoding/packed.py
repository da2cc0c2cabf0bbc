"""Encoded examples as compact Arrow columns, cached on disk."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from itertools import islice
from pathlib import Path
from typing import Any, overload

import numpy as np
import pyarrow as pa
import tokenizers
from numpy.typing import NDArray

from unirex.data.cache import add_entry, cache_folder, code_digest, is_intact, json_digest
from unirex.data.example import Example
from unirex.encoding.batch import Encoded, Tokens
from unirex.encoding.encode import TextEncoder
from unirex.files import Progress, tracked

FILE = "tokens.arrow"
ROWS = 1024  # examples in a record batch
SPECIAL, SELECTABLE, SLIDING, GOLD = 1, 2, 4, 8  # bits of a token's flags
NO_LABEL = -1
CODE = ("unirex.encoding", "unirex.data.example")  # what encoding depends on
# One row per sequence. The sequences of an example are adjacent; `last` marks the last of them.
SCHEMA = pa.schema(
    [
        ("input_ids", pa.list_(pa.int32())),
        ("flags", pa.list_(pa.uint8())),
        ("spans", pa.list_(pa.int32())),  # segment, start, end of each token
        ("has_gold", pa.uint8()),
        ("last", pa.uint8()),
        ("choice", pa.uint8()),
        ("label", pa.int32()),
        ("labels", pa.list_(pa.uint8())),  # a flag for each label, where an example has a set of them
        ("truncated", pa.int32()),
    ]
)


def encode_all(
    encoder: TextEncoder, examples: Sequence[Example], *, digest: str | None = None, progress: bool = False
) -> Encodings:
    """The examples in tokens, from the cache if examples of this `digest` were encoded before.

    With a cache memory use is constant: encodings are written as they are made, and mapped back.
    """
    folder = cache_folder() if digest is not None else None
    stream: Iterable[Encoded] = encoder.stream(examples)
    if progress and len(examples) >= 10 * ROWS:  # takes a while
        stream = tracked(stream, Progress("encoding", total=len(examples)))
    if folder is None:
        return Encodings.of(stream)
    entry = folder / "encodings" / cache_key(encoder, str(digest))
    encodings = _opened(entry, len(examples))
    if encodings is None and add_entry(entry, lambda draft: _write(draft, stream)):
        encodings = _opened(entry, len(examples))
    return Encodings.of(encoder.stream(examples)) if encodings is None else encodings


def cache_key(encoder: TextEncoder, digest: str) -> str:
    """A name for an encoding: equal only for equal examples, tokenizer, settings and code."""
    settings = {
        "examples": digest,
        "max_length": encoder.max_length,
        "labels": [repr(label) for label in encoder.labels],
        "separators": encoder.separators and encoder.tokenizer.sep_token_id,
        "truncation": encoder.truncation,
        "layout": asdict(encoder.layout),
        "frame": asdict(encoder.frame),
    }
    key = json_digest(settings)
    key.update(encoder.tokenizer.backend_tokenizer.to_str().encode())
    key.update(f"{tokenizers.__version__} {pa.__version__}".encode())
    key.update(code_digest(*CODE).encode())
    return key.hexdigest()


def _opened(entry: Path, examples: int) -> Encodings | None:
    """The cached encodings of this many examples; None if there are none, or they are damaged."""
    if not is_intact(entry):
        return None
    try:
        encodings = Encodings.read(entry / FILE)
        return encodings if len(encodings) == examples else None
    except (OSError, ValueError, pa.ArrowException):
        return None


def _write(folder: Path, encoded: Iterable[Encoded]) -> None:
    with pa.OSFile(str(folder / FILE), "wb") as sink, pa.ipc.new_file(sink, SCHEMA) as writer:
        for batch in record_batches(encoded):
            writer.write_batch(batch)


@dataclass(frozen=True, eq=False)
class Encodings(Sequence[Encoded]):
    """Encoded examples in Arrow columns, in memory or mapped from a file; unpacked one at a time."""

    batches: Sequence[pa.RecordBatch]

    @classmethod
    def of(cls, encoded: Iterable[Encoded]) -> Encodings:
        """Encoded examples, packed in memory."""
        return cls(list(record_batches(encoded)))

    @classmethod
    def read(cls, path: Path) -> Encodings:
        """The encodings in a file, memory-mapped: only the examples in use are read."""
        with pa.memory_map(str(path)) as source, pa.ipc.open_file(source) as reader:
            batches = [reader.get_batch(number) for number in range(reader.num_record_batches)]
        if any(batch.schema != SCHEMA for batch in batches):
            raise pa.ArrowInvalid(f"{path}: not the columns of encodings")
        for batch in batches:
            batch.validate(full=False)
        return cls(batches)

    def __len__(self) -> int:
        return len(self._ends)

    @overload
    def __getitem__(self, number: int) -> Encoded: ...
    @overload
    def __getitem__(self, number: slice) -> list[Encoded]: ...
    def __getitem__(self, number: int | slice) -> Encoded | list[Encoded]:
        if isinstance(number, slice):
            return [self[index] for index in range(len(self))[number]]
        number = range(len(self))[number]
        rows = range(self._firsts[number], self._ends[number] + 1)
        return Encoded(
            sequences=tuple(self._tokens(row) for row in rows),
            label=self._label(rows[0]),
            truncated=int(self.truncated[number]),
            choice=bool(self._columns["choice"][rows[0]]),
        )

    @cached_property
    def lengths(self) -> NDArray[np.int64]:
        """Tokens an encoder has to run for each example: its longest sequence times their number."""
        longest = np.maximum.reduceat(self._sizes, self._firsts) if len(self) else np.zeros(0, dtype=np.int64)
        return longest * (self._ends - self._firsts + 1)

    @cached_property
    def truncated(self) -> NDArray[np.int32]:
        """Tokens of each example that did not fit."""
        return self._columns["truncated"][self._firsts]

    def _label(self, row: int) -> int | tuple[bool, ...] | None:
        number, local = self._place(row)
        flags = self._views[number][3].row(local)
        if len(flags):
            return tuple(map(bool, flags))
        label = int(self._columns["label"][row])
        return None if label == NO_LABEL else label

    def _place(self, row: int) -> tuple[int, int]:
        """The record batch of a row, and its number there."""
        number = int(np.searchsorted(self._starts, row, side="right")) - 1
        return number, row - int(self._starts[number])

    def _tokens(self, row: int) -> Tokens:
        number, local = self._place(row)
        ids, flags, spans, _ = self._views[number]
        marks = flags.row(local)
        return Tokens(
            input_ids=ids.row(local),
            special=(marks & SPECIAL) > 0,
            selectable=(marks & SELECTABLE) > 0,
            sliding=(marks & SLIDING) > 0,
            spans=spans.row(local).reshape(-1, 3),
            rationale=(marks & GOLD) > 0 if self._columns["has_gold"][row] else None,
        )

    @cached_property
    def _views(self) -> list[tuple[_Lists, _Lists, _Lists, _Lists]]:
        names = ("input_ids", "flags", "spans", "labels")
        return [tuple(_Lists.of(batch.column(name)) for name in names) for batch in self.batches]  # type: ignore[misc]

    @cached_property
    def _starts(self) -> NDArray[np.int64]:
        """Number of each record batch's first row."""
        return np.cumsum([0, *(batch.num_rows for batch in self.batches)])

    @cached_property
    def _sizes(self) -> NDArray[np.int64]:
        sizes = [np.diff(ids.offsets) for ids, *_ in self._views]
        return np.concatenate([np.zeros(0, dtype=np.int64), *sizes])

    @cached_property
    def _ends(self) -> NDArray[np.int64]:
        """Row of each example's last sequence."""
        return self._columns["last"].nonzero()[0]

    @cached_property
    def _firsts(self) -> NDArray[np.int64]:
        return np.concatenate([[0], self._ends[:-1] + 1]) if len(self._ends) else self._ends

    @cached_property
    def _columns(self) -> dict[str, NDArray[Any]]:
        """The columns with one number per sequence."""
        columns = {}
        for name in ("has_gold", "last", "choice", "label", "truncated"):
            parts = [_values(batch.column(name)) for batch in self.batches]
            columns[name] = np.concatenate(parts or [np.zeros(0, int)])
        return columns


@dataclass(frozen=True)
class WithScores:
    """Encoded examples with precomputed scores: for each example, one array per sequence."""

    encodings: Encodings
    scores: Sequence[Sequence[NDArray[np.float32]]]

    def __len__(self) -> int:
        return len(self.encodings)

    def __getitem__(self, number: int) -> Encoded:
        encoded = self.encodings[number]
        pairs = list(zip(encoded.sequences, self.scores[number], strict=True))
        if any(len(tokens) != len(scores) for tokens, scores in pairs):
            raise ValueError(f"example {number}: its scores are of other tokens than are read now")
        return replace(encoded, sequences=tuple(replace(tokens, given=scores) for tokens, scores in pairs))


@dataclass(frozen=True)
class _Lists:
    """A column of lists as NumPy sees it, without a copy."""

    offsets: NDArray[np.int32]
    values: NDArray[Any]

    @classmethod
    def of(cls, column: pa.ListArray) -> _Lists:
        return cls(_values(column.offsets), _values(column.values))

    def row(self, number: int) -> NDArray[Any]:
        return self.values[self.offsets[number] : self.offsets[number + 1]]


def _values(column: pa.Array) -> NDArray[Any]:
    """A column of numbers without a copy; `to_numpy` would import pandas, which is slow."""
    if not len(column):  # it has no memory to look at
        return np.zeros(0, dtype=str(column.type))
    numbers = np.frombuffer(column.buffers()[1], dtype=str(column.type))
    return numbers[column.offset : column.offset + len(column)]


def record_batches(encoded: Iterable[Encoded]) -> Iterator[pa.RecordBatch]:
    """The examples in Arrow columns, `ROWS` at a time."""
    stream = iter(encoded)
    while chunk := list(islice(stream, ROWS)):
        yield _record_batch(chunk)


def _record_batch(encoded: Sequence[Encoded]) -> pa.RecordBatch:
    rows = [
        (item, tokens, number == len(item.sequences))
        for item in encoded
        for number, tokens in enumerate(item.sequences, 1)
    ]
    sizes = [len(tokens) for _, tokens, _ in rows]
    ids = np.concatenate([tokens.input_ids for _, tokens, _ in rows])
    flags = np.concatenate([_flags(tokens) for _, tokens, _ in rows])
    spans = np.concatenate([tokens.spans.ravel() for _, tokens, _ in rows])
    columns = [
        _lists(ids, sizes),
        _lists(flags, sizes),
        _lists(spans, [3 * size for size in sizes]),
        [int(tokens.rationale is not None) for _, tokens, _ in rows],
        [int(last) for _, _, last in rows],
        [int(item.choice) for item, _, _ in rows],
        [item.label if isinstance(item.label, int) else NO_LABEL for item, _, _ in rows],
        [[*map(int, item.label)] if isinstance(item.label, tuple) else [] for item, _, _ in rows],
        [item.truncated for item, _, _ in rows],
    ]
    return pa.record_batch(
        [pa.array(c, f.type) if isinstance(c, list) else c for c, f in zip(columns, SCHEMA, strict=True)],
        schema=SCHEMA,
    )


def _flags(tokens: Tokens) -> NDArray[np.uint8]:
    gold = np.zeros(len(tokens), dtype=bool) if tokens.rationale is None else tokens.rationale
    flags = (tokens.special, tokens.selectable, tokens.sliding, gold)
    bits = (SPECIAL, SELECTABLE, SLIDING, GOLD)
    return np.bitwise_or.reduce([flag * np.uint8(bit) for flag, bit in zip(flags, bits, strict=True)])


def _lists(values: NDArray[Any], sizes: Sequence[int]) -> pa.ListArray:
    offsets = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int32)
    return pa.ListArray.from_arrays(pa.array(offsets), pa.array(values))
