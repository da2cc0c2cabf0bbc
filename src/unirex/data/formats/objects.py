"""Data in memory: pandas and Polars frames, Arrow tables, Hugging Face datasets, rows as dictionaries.

A mapping of names to such data gives the splits: `{"train": frame, "test": other}`, or a `DatasetDict`.
None of these libraries is imported here: a frame comes with its library.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain
from typing import Any

from unirex.data.annotators import check_aggregation
from unirex.data.example import Example
from unirex.data.formats.table import (
    Columns,
    DatasetRecord,
    Reading,
    as_columns,
    check_columns,
    check_shapes,
    decided,
    optional,
    read_example,
)
from unirex.data.rationales import RationaleFormat
from unirex.data.split import split_name
from unirex.data.validate import check_ids, check_labels, row_at
from unirex.errors import UserError

TABLES_OF = {  # classes by library; none is imported here
    "pandas": ("DataFrame",),
    "polars": ("DataFrame", "LazyFrame"),
    "pyarrow": ("Table",),
    "datasets": ("Dataset", "IterableDataset"),
}
ROW_ONLY = {"id", "label", "labels", "rationale", "groups", "split"}  # no part of a text to explain


def read(
    source: object,
    *,
    columns: Columns,
    rationale_format: RationaleFormat = "auto",
    annotators: str = "union",
    labelled: bool = True,
) -> list[DatasetRecord]:
    """All examples of data in memory; their places are rows, counted from 1."""
    check_aggregation(annotators)
    named = source if isinstance(source, Mapping) and _library(source) is None else {"": source}
    parts = {str(split): as_rows(part) for split, part in named.items()}
    every = [row for part in parts.values() for row in part]
    if not every:
        raise UserError("the data has no rows; it needs at least one")
    tables = [row for row in every if isinstance(row, Mapping)]
    marks = decided("data", lambda: tables, columns, rationale_format)
    reading = Reading(columns, marks, annotators, guessed=rationale_format == "auto", labelled=labelled)
    records: list[DatasetRecord] = []
    for split, rows in parts.items():
        first, title = len(records), split or "row"
        known = split_name(split) if split else None
        for number, row in enumerate(rows, 1):
            place = f"{split} row {number}".lstrip()
            with row_at(place):
                example = row if isinstance(row, Example) else None
                if example is None:
                    example = read_example(row, reading, default_id=f"{title}-{number}", place=place)
                given = None if isinstance(row, Example) else optional(row, columns.split)
                records.append(DatasetRecord(place, split_name(given) if given else known, example))
        check_ids((record.place, record.example.id) for record in records[first:])
        present = dict.fromkeys(name for row in rows if isinstance(row, Mapping) for name in row)
        check_columns(split or "data", columns, present)
    check_labels((record.place, record.example.label) for record in records)
    check_shapes(records)
    return records


def as_rows(source: object) -> list[Any]:
    """The rows of a source, as dictionaries by column name; examples stay examples."""
    rows = list(_rows(source))
    for number, row in enumerate(rows, 1):
        if not isinstance(row, Mapping | Example):
            raise UserError(
                f"row {number} is {type(row).__name__}, not a dictionary like "
                '{"text": "...", "label": "..."}; a frame, a dataset or a list of dictionaries can be read'
            )
    return rows


def _rows(source: Any) -> Iterator[object]:
    library = _library(source)
    if library == "pandas":
        yield from (_plain_row(row) for row in source.to_dict("records"))
    elif library == "polars":
        yield from (source.collect() if hasattr(source, "collect") else source).to_dicts()
    elif library == "pyarrow":
        yield from source.to_pylist()
    elif library == "datasets":
        yield from named_rows(source)
    elif isinstance(source, Iterable) and not isinstance(source, str | bytes | Mapping):
        yield from source
    else:
        raise UserError(
            f"data cannot be read from {type(source).__name__}; give a frame, a dataset, a list of "
            "dictionaries, the name of a dataset, or a path"
        )


def _library(source: object) -> str | None:
    """The library of a frame, table or dataset; None for anything else."""
    kinds = {
        "pandas": "DataFrame",
        "polars": "DataFrame LazyFrame",
        "pyarrow": "Table",
        "datasets": "Dataset",
    }
    for kind in type(source).__mro__:
        library = kind.__module__.partition(".")[0]
        if kind.__name__ in kinds.get(library, "").split():
            return library
    return None


def _plain_row(row: Mapping[Any, Any]) -> dict[str, object]:
    """A row of pandas without NumPy: arrays as lists, numbers as Python's."""
    plain = (value.tolist() if type(value).__module__ == "numpy" else value for value in row.values())
    return dict(zip(map(str, row), plain, strict=True))


def named_rows(dataset: Any) -> Iterator[dict[str, object]]:
    """The rows of a Hugging Face dataset, with the names of classes for their numbers."""
    # A list of classes has the class as its `feature`.
    kinds = {name: getattr(kind, "feature", kind) for name, kind in dataset.features.items()}
    classes = {name: kind.names for name, kind in kinds.items() if hasattr(kind, "int2str")}
    # Without format: a dataset may be set to give NumPy arrays or torch tensors.
    for row in dataset.with_format(None):
        for column in classes.keys() & row.keys():
            value, names = row[column], classes[column]
            listed = isinstance(value, list)
            row[column] = [_class_name(one, names) for one in value] if listed else _class_name(value, names)
        yield row


def _class_name(number: object, names: Sequence[str]) -> str | None:
    """The name of a class; -1 stands for a label that is not published."""
    return names[number] if isinstance(number, int) and 0 <= number < len(names) else None


def examples_of(source: Any, columns: Mapping[str, str] | None = None) -> Iterable[Example]:
    """Labelled examples from data in memory; examples themselves are passed on one by one."""
    if _library(source) is None and columns is None:
        first, rest = _peek(source)
        if first is None or isinstance(first, Example):
            return rest
        source = list(rest)
    return [record.example for record in read(source, columns=as_columns(columns))]


def inputs_of(source: Any, columns: Mapping[str, str] | None = None) -> Any:
    """Texts to explain: the rows of a frame, a dataset or a table as examples; anything else as it is.

    Dictionaries are rows of a table if `columns` are given, or if they have a label, marks or an id.
    """
    if columns is None and _library(source) is None:
        if not isinstance(source, list | Iterator):
            return source
        first, source = _peek(source)
        if not isinstance(first, Mapping) or not first.keys() & ROW_ONLY:
            return source
    return [record.example for record in read(source, columns=as_columns(columns), labelled=False)]


def _peek(source: Any) -> tuple[object, Any]:
    """The first item, and the source with it."""
    if isinstance(source, Sequence):
        return (source[0] if len(source) else None), source
    items = iter(source)
    first = next(items, None)
    return first, (items if first is None else chain([first], items))
