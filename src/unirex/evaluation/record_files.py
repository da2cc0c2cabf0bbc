"""Files of records: JSON lines to read and search, Parquet to load fast. Both hold the same numbers."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from types import UnionType
from typing import Any, Union, get_args, get_origin, get_type_hints

from unirex.data.example import Label, answer_labels
from unirex.errors import UserError, one_line
from unirex.evaluation.records import Record, check_record, plain, record_from

NAME = "records"
FORMATS = ("jsonl", "parquet")
ROWS = 512  # of a row group: what is in memory at once

WriteRecord = Callable[[Record], object]


def write_records(path: Path, records: Iterable[Record]) -> None:
    """Write all records to one file."""
    with writing(path) as write:
        for record in records:
            write(record)


@contextmanager
def writing(path: Path) -> Iterator[WriteRecord]:
    """A function that appends a record to a new file: JSON lines or Parquet, by the file's ending."""
    if path.suffix == ".parquet":
        with _writing_parquet(path) as write:
            yield write
    else:
        with path.open("w", encoding="utf-8", newline="\n") as lines:
            yield lambda record: lines.write(json.dumps(plain(record), ensure_ascii=False) + "\n")


def read_records(path: Path) -> Iterator[Record]:
    """The records of a file one by one; an error names the file and the line that is no record."""
    if not path.is_file():
        raise UserError(f"{path}: no such file of records; `unirex evaluate` writes them.")
    rows = _parquet_rows(path) if path.suffix == ".parquet" else _json_rows(path)
    for number, row in enumerate(rows, start=1):
        try:
            yield check_record(record_from(row))
        except (TypeError, AttributeError, ValueError) as error:
            raise UserError(f"{path}:{number}: not a record of an evaluation: {one_line(error)}.") from error


def join_records(path: Path, parts: Iterable[Path]) -> None:
    """Write the records of several files, in order, to one of the same kind; they are not read one by one."""
    if path.suffix != ".parquet":
        with path.open("wb") as whole:
            for part in parts:
                with part.open("rb") as file:
                    shutil.copyfileobj(file, whole)
        return
    import pyarrow.parquet as pq

    with ExitStack() as stack:
        writer: Any = None
        for part in parts:
            with pq.ParquetFile(part) as file:
                writer = writer or stack.enter_context(
                    pq.ParquetWriter(path, file.schema_arrow, compression="zstd")
                )
                for group in range(file.num_row_groups):
                    writer.write_table(file.read_row_group(group))


def find_records(path: Path) -> Path:
    """The file of records at a path: the file itself, or the one in an evaluation's folder."""
    if path.is_file():
        return path
    for ending in reversed(FORMATS):  # Parquet is read faster
        file = path / f"{NAME}.{ending}"
        if file.is_file():
            return file
    raise UserError(f"{path}: no records.parquet or records.jsonl here; `unirex evaluate` writes them.")


def _json_rows(path: Path) -> Iterator[Any]:
    with path.open(encoding="utf-8", newline="\n") as file:  # texts may hold other line ends
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


@contextmanager
def _writing_parquet(path: Path) -> Iterator[WriteRecord]:
    """A Parquet file that grows by row groups; the type of the labels is that of the first record."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    rows: list[dict[str, Any]] = []
    writer: Any = None

    def write(record: Record) -> None:
        rows.append(plain(record))
        if len(rows) == ROWS:
            flush()

    def flush() -> None:
        nonlocal writer
        if writer is None:
            columns = schema(rows[0] if rows else {})
            writer = stack.enter_context(pq.ParquetWriter(path, columns, compression="zstd"))
        as_json = writer.schema.metadata[b"labels"] == b'"json"'
        group = [_with_labels(row, json.dumps) for row in rows] if as_json else rows
        writer.write_table(pa.Table.from_pylist(group, schema=writer.schema))
        rows.clear()

    with ExitStack() as stack:
        yield write
        flush()  # not after an error: what was written is then discarded


def _with_labels(row: dict[str, Any], change: Callable[[Any], Any]) -> dict[str, Any]:
    """The row with its labels written as JSON, or read from it: for labels of several types."""
    single = {
        name: None if row[name] is None else change(row[name]) for name in ("label", "predicted", "target")
    }
    return row | single | {"labels": [change(label) for label in row["labels"]]}


def schema(first: dict[str, Any]) -> Any:
    """The Parquet schema of `Record`; labels keep their type if all of the first record have the same."""
    import pyarrow as pa

    answers = [first[name] for name in ("label", "predicted") if first.get(name) is not None]
    known = (*first.get("labels", ()), *(label for answer in answers for label in answer_labels(answer)))
    label = native_label(known)
    columns = {
        name: arrow_type(hint, label=label or pa.string(), integer=pa.int64())
        for name, hint in get_type_hints(Record).items()
    }
    if label and any(isinstance(answer, tuple) for answer in answers):
        columns |= dict.fromkeys(("label", "predicted"), pa.list_(label))
    return pa.schema(columns).with_metadata({"labels": json.dumps("native" if label else "json")})


def native_label(labels: Iterable[Label]) -> Any:
    """The column type of labels; None if they are of several types."""
    import pyarrow as pa

    types = {type(label) for label in labels}
    native = {str: pa.string(), bool: pa.bool_(), int: pa.int64(), float: pa.float64()}
    return native[types.pop()] if len(types) == 1 else None


def arrow_type(hint: Any, *, label: Any, integer: Any) -> Any:
    """The column type for the type of a field: tuples are lists, dataclasses are structs."""
    import pyarrow as pa

    scalars = {str: pa.string(), bool: pa.bool_(), int: integer, float: pa.float64()}
    if hint in scalars:
        return scalars[hint]
    if get_origin(hint) in (Union, UnionType):
        members = [member for member in get_args(hint) if member is not type(None)]
        # Every column may be null; a union of several types is that of a label.
        return label if len(members) > 1 else arrow_type(members[0], label=label, integer=integer)
    if get_origin(hint) is tuple:
        # Integers in tuples number tokens and characters: 32 bits do.
        return pa.list_(arrow_type(get_args(hint)[0], label=label, integer=pa.int32()))
    return pa.struct(
        {name: arrow_type(part, label=label, integer=integer) for name, part in get_type_hints(hint).items()}
    )
