"""An evaluation without texts: digests, labels and values of every example, in two small files."""

from __future__ import annotations

import hashlib
import io
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from unirex.data.example import Answer
from unirex.errors import UserError, one_line
from unirex.metrics.arrays import Floats, Ints

DIGEST = 8  # bytes of the digest of an id
EXAMPLES = ("id", "text", "units", "length", "gold")  # columns that all measurements of one dataset share
PREDICTED = "predicted"
CUT = ("tokens", "continuations")

Checksums = NDArray[np.uint32]


@dataclass(frozen=True)
class ValueTable:
    """What comparisons need of an evaluation; neither texts nor ids can be read from it.

    Args:
        ids: digests of the ids.
        texts: checksum of each text.
        units: checksum of how each text is cut into tokens.
        lengths: selectable tokens of each.
        gold: the right answers.
        predicted: those of the system.
        columns: one value per example by metric, NaN where there is none.
        tokens: the number of tokens that show how texts are cut.
        continuations: of these, tokens that continue a word.
    """

    ids: Sequence[str]
    texts: Checksums
    units: Checksums
    lengths: Ints
    gold: Sequence[Answer | None]
    predicted: Sequence[Answer | None]
    columns: Mapping[str, Floats]
    tokens: int = 0
    continuations: int = 0

    def written(self) -> tuple[bytes, bytes]:
        """The examples, and what was measured on them, each as Parquet; numbers keep all their bits."""
        shared = (self.ids, self.texts, self.units, self.lengths, _json(self.gold))
        examples = dict(zip(EXAMPLES, shared, strict=True))
        cut = {name: str(getattr(self, name)) for name in CUT}
        return _parquet(examples, cut), _parquet({PREDICTED: _json(self.predicted), **self.columns})

    @classmethod
    def read(cls, examples: bytes, values: bytes, *, place: str) -> ValueTable:
        """The table in two files; a mistake in them is an error that names the place."""
        (shared, about), (own, _) = _columns(examples, place), _columns(values, place)
        try:
            ids, texts, units, lengths, gold = (shared[name] for name in EXAMPLES)
            predicted = _answers(own.pop(PREDICTED).to_pylist())
            columns = {name: column.to_numpy().astype(np.float64) for name, column in own.items()}
            table = cls(
                ids.to_pylist(),
                texts.to_numpy().astype(np.uint32),
                units.to_numpy().astype(np.uint32),
                lengths.to_numpy().astype(np.int64),
                _answers(gold.to_pylist()),
                predicted,
                columns,
                *(int(about[name.encode()]) for name in CUT),
            )
        except (KeyError, TypeError, ValueError) as error:
            raise UserError(f"{place}: not the values of an evaluation ({one_line(error)}).") from error
        if len(table.predicted) != len(table.ids):
            raise UserError(f"{place}: has values of {len(predicted)} examples, not of {len(table.ids)}.")
        return table


def id_digest(name: str) -> str:
    """The digest that stands for the id of an example.

    >>> id_digest("sst-test-2")
    '06b925246ed9554f'
    """
    return hashlib.sha256(name.encode("utf-8", "surrogatepass")).hexdigest()[: 2 * DIGEST]


def _parquet(columns: Mapping[str, Any], about: Mapping[str, str] | None = None) -> bytes:
    """Small: bytes of numbers are sorted by their place, unless few numbers come again and again."""
    import pyarrow as pa
    from pyarrow import parquet

    numbers = [name for name, column in columns.items() if getattr(column, "dtype", None) == np.float64]
    split = [name for name in numbers if len(np.unique(columns[name])) > len(columns[name]) / 4]
    out = io.BytesIO()
    parquet.write_table(
        pa.table(dict(columns), metadata=dict(about or {})),
        out,
        compression="zstd",
        compression_level=19,
        use_dictionary=[name for name in columns if name not in split],
        column_encoding=dict.fromkeys(split, "BYTE_STREAM_SPLIT") or None,
        write_statistics=False,
    )
    return out.getvalue()


def _columns(content: bytes, place: str) -> tuple[dict[str, Any], Mapping[bytes, bytes]]:
    import pyarrow as pa
    from pyarrow import parquet

    try:
        # Without threads: they may outlive the interpreter, which then aborts.
        table = parquet.read_table(pa.BufferReader(content), use_threads=False, pre_buffer=False)
    except (pa.ArrowException, OSError) as error:
        raise UserError(f"{place}: not a Parquet file ({one_line(error)}).") from error
    return {name: table.column(name) for name in table.column_names}, table.schema.metadata or {}


def _json(answers: Sequence[Answer | None]) -> list[str]:
    return [json.dumps(answer) for answer in answers]


def _answers(written: Sequence[str]) -> list[Answer | None]:
    """Answers from their JSON; sets of labels are tuples."""
    known = {text: _answer(json.loads(text)) for text in dict.fromkeys(written)}
    return [known[text] for text in written]


def _answer(value: Any) -> Answer | None:
    return tuple(value) if isinstance(value, list) else value
