"""Load a dataset: by name, or from files of the user."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, fields, replace
from pathlib import Path
from typing import Any

from unirex.data.catalogue import DATASETS, load_named
from unirex.data.example import SPLIT_NAMES, DatasetInfo, Example, Label, Splits, TaskKind, choice_label
from unirex.data.formats import Format, changed, find_format, format_module, is_hub_id, settings_for
from unirex.data.formats import table as tabular
from unirex.data.formats.table import Columns, Record, check_shapes
from unirex.data.rationales import RationaleFormat
from unirex.data.rows import TABLES
from unirex.data.split import carve_dev, stratified_split
from unirex.data.store import cached
from unirex.data.validate import (
    at,
    check_file,
    check_ids,
    check_label,
    check_labels,
    check_splits,
    exists,
    label_order,
    row_at,
)
from unirex.errors import UserError, unknown


def assemble(records: Sequence[Record], *, name: str, place: object, seed: int) -> Splits:
    """The splits the records name, or else ones drawn by `seed`, and what is known of them all."""
    labelled = _labelled(records)
    if not labelled:
        raise UserError(f"{place}: no example that could be read; it needs at least one")
    for split in {record.split: None for record in labelled}:
        check_ids((record.place, record.example.id) for record in labelled if record.split == split)
    check_labels((record.place, record.example.label) for record in labelled)
    check_shapes(labelled)
    _all_or_none(labelled)
    with at(place):
        parts = _partition(labelled, seed)
        task = _task(labelled[0].example)
        _check_choices(parts) if task == "choice" else check_splits(parts)
    # Of a choice only the question has reasons: without the answers there would be nothing to choose from.
    reasons = tuple(range(len(labelled[0].example.segments))) if task == "choice" else None
    return Splits(DatasetInfo(name, _labels(parts, task), task, rationale_segments=reasons), parts)


def _labelled(records: Sequence[Record]) -> list[Record]:
    """The records again; one without a label is a mistake."""
    good: list[Record] = []
    for record in records:
        with row_at(record.place):
            check_label(record.example.label)
            good.append(record)
    return good


def _task(example: Example) -> TaskKind:
    if example.choices is not None:
        return "choice"
    return "text" if len(example.segments) == 1 else "segments"


def _labels(parts: Mapping[str, Sequence[Example]], task: TaskKind) -> tuple[Label, ...]:
    if task == "choice":
        most = max(len(example.choices or ()) for part in parts.values() for example in part)
        return tuple(choice_label(number) for number in range(most))
    return label_order(example.label for example in parts["train"] if example.label is not None)


def _check_choices(parts: Mapping[str, Sequence[Example]]) -> None:
    """A letter that training never showed is no mistake: every choice is read by the same head."""
    if not parts.get("train"):
        raise UserError("no training examples; mark some rows as split 'train' or give a train file")


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


def load_dataset(
    source: str | Path,
    *,
    root: str | Path | None = None,
    format: Format = "auto",  # noqa: A002  the word users know for this
    seed: int = 0,
    columns: Mapping[str, str] | None = None,
    rationale_format: RationaleFormat = "auto",
    annotators: str = "union",
    **options: Any,
) -> Splits:
    """The examples of a known dataset, a file, or a folder.

    A known dataset lies in a folder of its own under `root` (else under what UNIREX_DATA names); `options`
    are those of its `load`. A file or folder may be in any `format`, which is seen from its content: tables
    (JSON Lines, CSV, TSV, Parquet; in a folder, one for each split), ERASER, Label Studio, Prodigy, doccano,
    a saved Hugging Face dataset. With `format="huggingface"`, a source that is no path is an id on the Hub.

    `columns` says what a table calls its columns: `{"text": "premise,hypothesis", "label": "gold"}`, and
    `annotators` what becomes of the marks of several people: see `unirex.data.formats.annotators`.
    Data without splits is split by `seed`; data without dev has it taken out of train.
    """
    settings = _settings(columns, rationale_format, annotators)
    asked = {"format": format, "seed": seed, **changed(settings), **options}
    told = {name: asdict(value) if isinstance(value, Columns) else value for name, value in asked.items()}
    found = _load(source, root, format, seed, settings, options)
    return replace(found, origin={"source": str(source), **told})


def _load(
    source: str | Path,
    root: str | Path | None,
    format: Format,  # noqa: A002
    seed: int,
    settings: Mapping[str, Any],
    options: Mapping[str, Any],
) -> Splits:
    if format == "auto" and isinstance(source, str) and source in DATASETS:
        if settings["columns"] != Columns():
            raise UserError(f"columns are for files; the dataset '{source}' has its own")
        return load_named(source, root=root, seed=seed, options={**changed(settings), **options})
    name = _format(source, format)

    def build() -> Splits:
        found = _read(source, name, seed, settings, options)
        if isinstance(found, Splits):
            return found
        return assemble(found, name=_title(source), place=source, seed=seed)

    if is_hub_id(source, name):
        return build()
    about = {"format": name, "seed": seed, "options": dict(options), **settings}
    return cached(build, sources=[Path(source)], settings=about)


def load_records(
    source: str | Path,
    *,
    format: Format = "auto",  # noqa: A002
    columns: Mapping[str, str] | None = None,
    rationale_format: RationaleFormat = "auto",
    annotators: str = "union",
    **options: Any,
) -> list[Record]:
    """Every example of a file or folder with its place and the split it names; nothing is split up."""
    settings = _settings(columns, rationale_format, annotators)
    found = _read(source, _format(source, format), 0, settings, options)
    if isinstance(found, Splits):
        return [
            Record(f"{source}: {name}", name, example) for name, part in found.items() for example in part
        ]
    return found


def stream_records(
    source: str | Path,
    *,
    format: Format = "auto",  # noqa: A002
    columns: Mapping[str, str] | None = None,
    rationale_format: RationaleFormat = "auto",
    annotators: str = "union",
    **options: Any,
) -> Iterator[Record]:
    """As `load_records`, but a table in one file is read as it is asked for, however long it is."""
    given = {"columns": columns, "rationale_format": rationale_format, "annotators": annotators}
    name = _format(source, format)
    if name != "table" or not Path(source).is_file():
        return iter(load_records(source, format=format, **given, **options))  # type: ignore[arg-type]
    settings = _settings(columns, rationale_format, annotators)
    return tabular.stream_records(source, **settings_for(name, settings, options))


def as_columns(given: Mapping[str, str] | None) -> Columns:
    """Column names by their roles."""
    roles = [field.name for field in fields(Columns)]
    for role in given or {}:
        if role not in roles:
            raise unknown("column role", role, roles)
    return Columns(**(given or {}))


def _settings(
    columns: Mapping[str, str] | None, rationale_format: RationaleFormat, annotators: str
) -> dict[str, Any]:
    names = as_columns(columns)
    return {"columns": names, "rationale_format": rationale_format, "annotators": annotators}


def _format(source: str | Path, given: str) -> str:
    if given != "auto":
        format_module(given)  # an unknown format is told before an unknown path
    if is_hub_id(source, given):
        return given
    if not exists(Path(source)):
        raise _not_found(source)
    return find_format(Path(source)) if given == "auto" else given


def _read(
    source: str | Path, name: str, seed: int, settings: Mapping[str, Any], options: Mapping[str, Any]
) -> Splits | list[Record]:
    """What a format's module gives: splits where the format has its own, else records."""
    module, given = format_module(name), settings_for(name, settings, options)
    place = str(source) if is_hub_id(source, name) else Path(source)
    found: Splits | list[Record] = (
        module.load(place, seed=seed, **given) if hasattr(module, "load") else module.read(place, **given)
    )
    return found


def _title(source: str | Path) -> str:
    path = Path(source)
    if not exists(path):
        return path.name  # of a Hub id
    full = path.resolve()  # so that "." has a name too
    return full.name if full.is_dir() else full.stem


def _not_found(source: str | Path) -> UserError:
    """What to say depends on whether the user meant a name or a path."""
    path, suffixes = Path(source), (*TABLES, ".json")
    if source in DATASETS:
        return UserError(f"'{source}' is no file or folder here, but a dataset by name: leave the format out")
    if isinstance(source, Path) or path.suffix.lower() in suffixes or path.name != source:
        try:
            check_file(path, suffixes=suffixes)
        except UserError as error:
            return error
    return UserError(f"{unknown('dataset', source, DATASETS)} A path to a file or folder may be given too.")
