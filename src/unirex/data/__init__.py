"""Datasets: known by name, or read from the user's own files."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import fields, replace
from importlib import import_module
from pathlib import Path

from unirex.data.example import SPLIT_NAMES, DatasetInfo, Example, Splits
from unirex.data.rationales import RationaleFormat
from unirex.data.split import ALIASES, carve_dev, stratified_split
from unirex.data.tabular import READERS, TABLES, Columns, Record, read_records
from unirex.data.validate import at, check_file, check_labels, check_splits, exists, label_order
from unirex.errors import UserError, unknown

__all__ = ["DATASETS", "DatasetInfo", "Example", "Splits", "load_dataset"]

DATASETS = {"demo": "unirex.data.demo:load"}  # imported when asked for, so that naming one costs nothing


def load_dataset(
    source: str | Path,
    *,
    seed: int = 0,
    columns: Mapping[str, str] | None = None,
    rationale_format: RationaleFormat = "auto",
) -> Splits:
    """The examples of a known dataset, a file, or a folder that has a file for each split.

    `columns` says what a file calls its columns: `{"text": "review", "label": "stars"}`.
    A file without a split column is split by `seed`; one without dev has it taken out of train.
    """
    if isinstance(source, str) and source in DATASETS:
        return _load_known(source, seed, columns)
    path, names = Path(source), as_columns(columns)
    if not exists(path):
        raise _not_found(source)
    read = _read_folder if path.is_dir() else read_records
    records = read(path, columns=names, rationale_format=rationale_format)
    _all_or_none(records)
    with at(path):
        parts = _partition(records, seed)
        check_splits(parts)
    labels = [example.label for example in parts["train"] if example.label is not None]
    full = path.resolve()  # so that "." has a name too
    return Splits(DatasetInfo(full.name if full.is_dir() else full.stem, label_order(labels)), parts)


def _load_known(name: str, seed: int, columns: Mapping[str, str] | None) -> Splits:
    if columns:
        raise UserError(f"columns are for files; the dataset '{name}' has its own")
    module, function = DATASETS[name].split(":")
    splits: Splits = getattr(import_module(module), function)(seed=seed)
    return splits


def as_columns(given: Mapping[str, str] | None) -> Columns:
    roles = [field.name for field in fields(Columns)]
    for role in given or {}:
        if role not in roles:
            raise unknown("column role", role, roles)
    return Columns(**(given or {}))


def _not_found(source: str | Path) -> UserError:
    """What to say depends on whether the user meant a name or a path."""
    path = Path(source)
    if isinstance(source, Path) or path.suffix.lower() in TABLES or path.name != source:
        try:
            check_file(path, suffixes=TABLES)
        except UserError as error:
            return error
    return UserError(f"{unknown('dataset', source, DATASETS)} A path to a file or folder may be given too.")


def _read_folder(folder: Path, *, columns: Columns, rationale_format: RationaleFormat) -> list[Record]:
    records: list[Record] = []
    for split, path in _split_files(folder).items():
        for record in read_records(path, columns=columns, rationale_format=rationale_format):
            if record.split not in (None, split):
                raise UserError(f"{record.place}: split '{record.split}' in a file of {split}; move the row")
            records.append(replace(record, split=split))
    check_labels((record.place, record.example.label) for record in records)  # across the files
    return records


def _split_files(folder: Path) -> dict[str, Path]:
    """The file of each split in a folder: one each, and all of one kind."""
    files: dict[str, Path] = {}
    for path in sorted(folder.iterdir()):
        split = ALIASES.get(path.stem.casefold())
        if split is None or path.suffix.lower() not in TABLES or path.is_dir():
            continue
        if split in files:
            raise UserError(f"{folder}: {files[split].name} and {path.name} are both {split}; keep one")
        files[split] = path
    if "train" not in files:
        raise UserError(f"{folder}: no train file; name one train.jsonl (or {', '.join(TABLES[1:])})")
    # CSV labels are all text and JSON's may not be, so a mixture would not agree on its classes.
    if len({READERS[path.suffix.lower()] for path in files.values()}) > 1:
        found = ", ".join(path.name for path in files.values())
        raise UserError(f"{folder}: files of different kinds ({found}); write them all as one kind")
    return {name: files[name] for name in SPLIT_NAMES if name in files}


def _all_or_none(records: Sequence[Record]) -> None:
    bare = [record for record in records if record.split is None]
    if bare and len(bare) < len(records):
        raise UserError(f"{bare[0].place}: the row has no split, but others have; give it one")


def _partition(records: Sequence[Record], seed: int) -> Mapping[str, Sequence[Example]]:
    if records[0].split is None:
        return stratified_split([record.example for record in records], seed=seed)
    parts = {
        name: [record.example for record in records if record.split == name]
        for name in SPLIT_NAMES
        if any(record.split == name for record in records)
    }
    return carve_dev(parts, seed=seed)
