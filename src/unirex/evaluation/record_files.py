"""Files of records: JSON lines to read and search, Parquet to load fast. Both hold the very same numbers."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from types import TracebackType
from typing import Any

from unirex.errors import UserError, one_line
from unirex.evaluation.records import Record, check_record, plain, record_from

NAME = "records"
FORMATS = ("jsonl", "parquet")
ROWS = 512  # of a row group: what is in memory at once

Write = Callable[[Record], object]


def as_line(record: Record) -> str:
    """The record as a line of JSON."""
    return json.dumps(plain(record), ensure_ascii=False) + "\n"


@contextmanager
def writing(path: Path) -> Iterator[Write]:
    """A function that puts one more record into a new file; by its ending, JSON lines or Parquet."""
    if path.suffix == ".parquet":
        with ParquetRecords(path) as file:
            yield file.write
    else:
        with path.open("w", encoding="utf-8", newline="\n") as lines:
            yield lambda record: lines.write(as_line(record))


def write_records(path: Path, records: Iterable[Record]) -> None:
    """All records to one file."""
    with writing(path) as write:
        for record in records:
            write(record)


def read_records(path: Path) -> Iterator[Record]:
    """The records of a file one by one; a file of something else is named, with the line."""
    if not path.is_file():
        raise UserError(f"{path}: no such file of records; `unirex evaluate` writes them.")
    rows = _parquet_rows(path) if path.suffix == ".parquet" else _json_rows(path)
    for number, row in enumerate(rows, start=1):
        try:
            yield check_record(record_from(row))
        except (TypeError, AttributeError, ValueError) as error:
            raise UserError(f"{path}:{number}: not a record of an evaluation: {one_line(error)}.") from error


def find_records(place: Path) -> Path:
    """The records a path means: the file itself, or the one in an evaluation's folder."""
    if place.is_file():
        return place
    for ending in reversed(FORMATS):  # Parquet is read faster
        if (place / f"{NAME}.{ending}").is_file():
            return place / f"{NAME}.{ending}"
    raise UserError(f"{place}: no records.parquet or records.jsonl here; `unirex evaluate` writes them.")


def _json_rows(path: Path) -> Iterator[Any]:
    with path.open(encoding="utf-8", newline="\n") as file:  # texts may hold other ends of lines
        for number, line in enumerate(file, start=1):
            try:
                yield json.loads(line)
            except ValueError as error:
                raise UserError(f"{path}:{number}: not valid JSON ({error}).") from error


def _parquet_rows(path: Path) -> Iterator[Any]:
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        file = pq.ParquetFile(path)
        labels = json.loads((file.schema_arrow.metadata or {}).get(b"labels", b"null"))
        for batch in file.iter_batches(batch_size=ROWS):
            for row in batch.to_pylist():
                yield _with_labels(row, json.loads) if labels == "json" else row
    except (pa.ArrowException, OSError) as error:
        raise UserError(f"{path}: not a Parquet file of records ({one_line(error)}).") from error


class ParquetRecords:
    """A Parquet file that grows by groups of rows; what labels are is seen from the first record."""

    def __init__(self, path: Path) -> None:
        self.path, self.rows, self.stack = path, [], ExitStack()  # type: tuple[Path, list[Any], ExitStack]
        self.writer: Any = None

    def __enter__(self) -> ParquetRecords:
        return self

    def write(self, record: Record) -> None:
        """One more record."""
        self.rows.append(plain(record))
        if len(self.rows) == ROWS:
            self._flush()

    def __exit__(self, kind: type | None, error: BaseException | None, trace: TracebackType | None) -> None:
        if kind is None:
            self._flush()
        self.stack.close()

    def _flush(self) -> None:
        import pyarrow as pa
        import pyarrow.parquet as pq

        rows, self.rows = self.rows, []
        if self.writer is None:
            writer = pq.ParquetWriter(self.path, schema(rows[0] if rows else {}), compression="zstd")
            self.writer = self.stack.enter_context(writer)
        if self.writer.schema.metadata[b"labels"] == b'"json"':
            rows = [_with_labels(row, json.dumps) for row in rows]
        self.writer.write_table(pa.Table.from_pylist(rows, schema=self.writer.schema))


def _with_labels(row: dict[str, Any], change: Callable[[Any], Any]) -> dict[str, Any]:
    """The row with its labels written as JSON, or read from it: for labels of several types."""
    single = {
        name: None if row[name] is None else change(row[name]) for name in ("label", "predicted", "target")
    }
    return row | single | {"labels": [change(one) for one in row["labels"]]}


def schema(first: dict[str, Any]) -> Any:
    """The columns of a file whose first record is given: labels keep their type if all have the same."""
    import pyarrow as pa

    types = {type(one) for one in (*first.get("labels", ()), first.get("label")) if one is not None}
    native = {str: pa.string(), bool: pa.bool_(), int: pa.int64(), float: pa.float64()}
    label = native[types.pop()] if len(types) == 1 else None
    number, numbers, texts = pa.float64(), pa.list_(pa.float64()), pa.list_(pa.string())
    table, places = pa.list_(numbers), pa.list_(pa.int32())
    views = pa.struct({"removal": pa.string(), "removed": table, "kept": table, "whole": table})
    scored = pa.struct(
        {
            "tokens": pa.list_(places),
            "scores": numbers,
            "gold": pa.list_(pa.bool_()),
            "selected": pa.list_(places),
            "chosen": places,
        }
    )
    probes = pa.struct(
        {
            "empty": numbers,
            "first": numbers,
            "deletion": table,
            "insertion": table,
            "left_out": numbers,
            "words": numbers,
            "lowest": number,
            "highest": number,
            "exact": pa.bool_(),
            "zero": number,
            "soft_kept": numbers,
            "soft_removed": numbers,
        }
    )
    draw = pa.struct(
        {"scores": table, "selected": pa.list_(pa.list_(places)), "views": views, "probes": probes}
    )
    columns = {
        "id": pa.string(),
        "segments": texts,
        "label": label or pa.string(),
        "predicted": label or pa.string(),
        "labels": pa.list_(label or pa.string()),
        "probabilities": numbers,
        "sequences": pa.list_(scored),
        "budgets": numbers,
        "target": label or pa.string(),
        "views": pa.list_(views),
        "draws": pa.list_(draw),
        "probes": probes,
        "seconds": number,
        "token_forwards": number,
        "convergence_delta": number,
        "truncated": pa.int64(),
        "choices": texts,
        "trained_removal": pa.string(),
    }
    return pa.schema(columns).with_metadata({"labels": json.dumps("native" if label else "json")})
