"""Datasets of the Hugging Face `datasets` library: saved in a folder (`save_to_disk`), or on the Hub.

Rows are read like those of any table, except that the number of a class becomes its name. The splits are the
dataset's ("validation" is dev), unless there is a `split` column; a single Dataset, outside a DatasetDict,
has none. A source on the Hub is an id, with a configuration after a colon if needed: "owner/name",
"owner/name:configuration". No code that comes with a dataset is run.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING

from unirex.data.annotators import check_aggregation
from unirex.data.formats.objects import named_rows
from unirex.data.formats.table import (
    Columns,
    DatasetRecord,
    Reading,
    check_columns,
    column_names,
    decided,
    label_columns,
    optional,
    read_example,
)
from unirex.data.rationales import RationaleFormat
from unirex.data.split import SPLIT_ALIASES, split_name
from unirex.data.validate import check_ids, row_at
from unirex.errors import UserError, one_line, unknown

if TYPE_CHECKING:
    from datasets import Dataset

HUB_ID = re.compile(r"(?P<id>[\w-][\w.-]*(/[\w-][\w.-]*)?)(:(?P<configuration>[\w.-]+))?", re.ASCII)
NO_SPLIT = ""  # the split of a Dataset outside a DatasetDict


def is_saved(folder: Path) -> bool:
    """Whether `save_to_disk` wrote the folder: a Dataset, or a DatasetDict."""
    if (folder / "dataset_dict.json").is_file():
        return True
    return (folder / "state.json").is_file() and (folder / "dataset_info.json").is_file()


def read(
    source: str | Path,
    *,
    columns: Columns,
    rationale_format: RationaleFormat = "auto",
    annotators: str = "union",
) -> list[DatasetRecord]:
    """All examples of a saved dataset (a path), or of one on the Hub (its id)."""
    splits = _open(source)
    _check_splits(source, splits, columns)
    check_aggregation(annotators)

    def every_row() -> Iterator[dict[str, object]]:
        return chain.from_iterable(_rows(source, data, columns) for data in splits.values())

    marks = decided(source, every_row, columns, rationale_format)
    reading = Reading(columns, marks, annotators, guessed=rationale_format == "auto")
    records: list[DatasetRecord] = []
    for split, data in splits.items():
        title = "-".join(part for part in (Path(source).name, split) if part)
        first = len(records)
        for number, row in enumerate(_rows(source, data, columns), 1):
            place = f"{source}: {split} row {number}" if split else f"{source}: row {number}"
            with row_at(place):
                name = f"{title}-{number}"
                example = read_example(row, reading, default_id=name, place=place)
                given_split = optional(row, columns.split) or split or None
                row_split = None if given_split is None else split_name(given_split)
                records.append(DatasetRecord(place, row_split, example))
        check_ids((record.place, record.example.id) for record in records[first:])
    if not records:
        raise UserError(f"{source}: there are no rows in it; it needs at least one")
    return records


def _open(source: str | Path) -> dict[str, Dataset]:
    try:
        import datasets
    except ImportError:
        raise UserError(
            f"{source}: reading it takes the datasets library; pip install 'unirex[datasets]'"
        ) from None
    with _library_errors(source, "cannot be opened"):
        if isinstance(source, Path):
            found = datasets.load_from_disk(str(source))
        else:
            match = HUB_ID.fullmatch(source)
            if not match:
                raise UserError(
                    f"'{source}' is no id on the Hub; write owner/name or owner/name:configuration"
                )
            found = datasets.load_dataset(match["id"], match["configuration"])
    # Without format: a dataset may be saved to give NumPy arrays or torch tensors.
    if isinstance(found, datasets.DatasetDict):
        return {str(split): data.with_format(None) for split, data in found.items()}
    return {NO_SPLIT: found.with_format(None)}


@contextmanager
def _library_errors(source: str | Path, what: str) -> Iterator[None]:
    """Turn any exception of the library into a one-line `UserError`; they have no common base class."""
    try:
        yield
    except UserError:
        raise
    except Exception as error:
        raise UserError(f"{source}: {what} by the datasets library: {one_line(error)}") from None


def _check_splits(source: str | Path, splits: Mapping[str, Dataset], columns: Columns) -> None:
    strange = [
        split
        for split, data in splits.items()
        if split != NO_SPLIT
        and split.casefold() not in SPLIT_ALIASES
        and columns.split not in data.column_names
    ]
    if strange:
        raise UserError(
            f"{source}: split {', '.join(map(repr, strange))} is none of train, dev (validation) and test; "
            f"save the dataset without it, or say in a column '{columns.split or 'split'}' what a row is for"
        )


def _rows(source: str | Path, data: Dataset, columns: Columns) -> Iterator[dict[str, object]]:
    """The used columns of each row, read from disk one row at a time."""
    used = _used_columns(source, data, columns)
    with _library_errors(source, "cannot be read"):
        yield from named_rows(data.select_columns(used))


def _used_columns(source: str | Path, data: Dataset, columns: Columns) -> list[str]:
    """The columns to read; others may be images or audio, which are slow to decode."""
    present = data.column_names
    texts = column_names(columns.text, present)
    labels = label_columns(columns, present)
    for name in (*texts, *labels):
        if name not in present:
            raise UserError(f"{source}: {unknown('column', name, present)}")
    check_columns(Path(source), columns, present)
    others = (
        *column_names(columns.rationale, present),
        columns.id,
        columns.split,
        columns.choices,
        columns.groups,
    )
    return [*dict.fromkeys((*texts, *labels, *(name for name in others if name in present)))]
