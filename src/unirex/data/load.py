"""Load a dataset: by name, or from the user's own files."""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from unirex.data.catalogue import DATASETS, load_named
from unirex.data.example import (
    SPLIT_NAMES,
    DatasetInfo,
    Example,
    Splits,
    TaskKind,
    choice_labels,
    leading_metric,
)
from unirex.data.formats import (
    Format,
    find_format,
    format_module,
    is_hub_id,
    non_default,
    objects,
    settings_for,
)
from unirex.data.formats import table as tabular
from unirex.data.formats.table import Columns, DatasetRecord, as_columns, check_shapes
from unirex.data.rationales import RationaleFormat
from unirex.data.rows import TABLES
from unirex.data.split import carve_dev, stratified_split
from unirex.data.store import cached
from unirex.data.validate import (
    OnError,
    Problems,
    at,
    check_answer,
    check_file,
    check_ids,
    check_labels,
    check_splits,
    check_train,
    exists,
    file_kind,
    is_collecting,
    label_order,
    row_at,
    tolerating,
)
from unirex.errors import UserError, unknown

log = logging.getLogger(__name__)


def load_dataset(
    source: Any,
    *,
    root: str | Path | None = None,
    format: Format = "auto",  # noqa: A002  the word users know for this
    seed: int = 0,
    columns: Mapping[str, str] | None = None,
    rationale_format: RationaleFormat = "auto",
    annotators: str | None = None,
    on_error: OnError = "stop",
    **options: Any,
) -> Splits:
    """The examples of a dataset known by name, of a file or a folder, or of data in memory.

    A known dataset is in its own folder under `root` (else under the folder UNIREX_DATA names); `options` are
    those of its `load`. A file or folder may be in any `format`, which is detected from its content: tables
    (JSON Lines, CSV, TSV, Parquet; in a folder, one for each split), ERASER, Label Studio, Prodigy, doccano,
    a saved Hugging Face dataset. With `format="huggingface"`, a source that is no path is an id on the Hub.
    In memory: a pandas or Polars frame, an Arrow table, a Hugging Face dataset, rows as dictionaries in a
    list or a generator; or a dictionary with one of these for each split.

    `columns` names the columns of a table: `{"text": "premise,hypothesis", "label": "gold"}`. `annotators`
    says how the marks of several people are combined: see `unirex.data.annotators`; by default their union,
    unless the dataset has its own way.
    Data without splits is split by `seed`; data without dev has it taken out of train. `on_error` says what a
    bad row does: `stop` with an error, `skip` it, or `clip` marks that lie outside their text.
    """
    if on_error != "stop":
        with tolerating(on_error) as problems:
            splits = load_dataset(
                source,
                root=root,
                format=format,
                seed=seed,
                columns=columns,
                rationale_format=rationale_format,
                annotators=annotators,
                **options,
            )
        tell_tolerated(source, problems)
        return replace(splits, skipped=tuple(problems.skipped))
    settings = _settings(columns, rationale_format, annotators)
    given = {**non_default(settings), **options}
    if isinstance(source, Splits):
        if given or format != "auto":
            raise UserError(
                f"{', '.join(given) or 'format'}: the data is read already; give it where it is read"
            )
        return source
    if not isinstance(source, str | Path):
        if format != "auto" or options:
            raise UserError(f"{', '.join(options) or 'format'}: data in memory has no such option")
        return assemble(objects.read(source, **settings), name="data", place="data", seed=seed)
    if format == "auto" and isinstance(source, str) and source in DATASETS:
        if settings["columns"] != Columns():
            raise UserError(f"columns are for files; the dataset '{source}' has its own")
        splits = load_named(source, root=root, seed=seed, options=given)
    else:
        splits = _load_files(source, _resolve_format(source, format), seed, settings, options)
    origin = {"source": str(source), "format": format, "seed": seed, **given}
    if "columns" in given:
        origin["columns"] = asdict(given["columns"])
    return replace(splits, origin=origin)


def tell_tolerated(source: object, problems: Problems) -> None:
    """Say how many rows were left out, and how many marks were cut."""
    name = source if isinstance(source, str | Path) else "data"
    if problems.skipped:
        rows = "one bad row" if len(problems.skipped) == 1 else f"{len(problems.skipped)} bad rows"
        log.warning("%s: %s skipped; the first: %s", name, rows, problems.skipped[0])
    if problems.clipped:
        log.warning("%s: %d marks outside their texts were cut off", name, problems.clipped)


def load_records(
    source: str | Path,
    *,
    format: Format = "auto",  # noqa: A002
    columns: Mapping[str, str] | None = None,
    rationale_format: RationaleFormat = "auto",
    annotators: str | None = None,
    labelled: bool = True,
    **options: Any,
) -> list[DatasetRecord]:
    """Every example of a file or folder with its place and the split it names; nothing is split.

    The rows of a table need labels only with `labelled`.
    """
    settings, name = _settings(columns, rationale_format, annotators), _resolve_format(source, format)
    if name == "table" and not labelled:
        settings["labelled"] = False
    return _read_records(source, name, settings, options)


def stream_records(
    source: str | Path,
    *,
    format: Format = "auto",  # noqa: A002
    columns: Mapping[str, str] | None = None,
    rationale_format: RationaleFormat = "auto",
    annotators: str | None = None,
    **options: Any,
) -> Iterator[DatasetRecord]:
    """As `load_records`, but a table in a single file is streamed, however long it is."""
    name = _resolve_format(source, format)
    settings = _settings(columns, rationale_format, annotators)
    if name == "table" and Path(source).is_file():
        return tabular.stream_records(source, **settings_for(name, settings, options))
    return iter(_read_records(source, name, settings, options))


def _settings(
    columns: Mapping[str, str] | None, rationale_format: RationaleFormat, annotators: str | None
) -> dict[str, Any]:
    settings: dict[str, Any] = {"columns": as_columns(columns), "rationale_format": rationale_format}
    return settings if annotators is None else {**settings, "annotators": annotators}


def _resolve_format(source: str | Path, given: str) -> str:
    if given != "auto":
        format_module(given)  # an unknown format is reported before an unknown path
    if is_hub_id(source, given):
        return given
    path, suffixes = Path(source), TABLES
    if exists(path):
        return find_format(path) if given == "auto" else given
    # The error depends on whether the user meant a name or a path.
    if source in DATASETS:
        raise UserError(f"'{source}' is no file or folder here, but a dataset by name: leave the format out")
    if isinstance(source, Path) or file_kind(path) in suffixes or path.name != source:
        check_file(path, suffixes=suffixes)  # raises
    raise UserError(f"{unknown('dataset', source, DATASETS)} A path to a file or folder may be given too.")


def _load_files(
    source: str | Path, name: str, seed: int, settings: Mapping[str, Any], options: Mapping[str, Any]
) -> Splits:
    def build() -> Splits:
        found = _read(source, name, seed, settings, options)
        if isinstance(found, Splits):
            return found
        path = Path(source).resolve()  # so that "." has a name too
        title = path.stem if exists(path) and not path.is_dir() else path.name
        return assemble(found, name=title, place=source, seed=seed)

    if is_hub_id(source, name):
        return build()
    key = {"format": name, "seed": seed, "options": dict(options), **settings}
    return cached(build, sources=_sources(name, Path(source)), settings=key)


def _sources(name: str, path: Path) -> list[Path]:
    """The files that are read: the one that is given, and those a format finds beside it."""
    find = getattr(format_module(name), "sources", None)
    return [path] if find is None else [file for file in find(path) if exists(file)]


def _read(
    source: str | Path, name: str, seed: int, settings: Mapping[str, Any], options: Mapping[str, Any]
) -> Splits | list[DatasetRecord]:
    """The result of a format's module: splits if the format defines them, else records."""
    module, given = format_module(name), settings_for(name, settings, options)
    place = str(source) if is_hub_id(source, name) else Path(source)
    found: Splits | list[DatasetRecord] = (
        module.load(place, seed=seed, **given) if hasattr(module, "load") else module.read(place, **given)
    )
    return found


def _read_records(
    source: str | Path, name: str, settings: Mapping[str, Any], options: Mapping[str, Any]
) -> list[DatasetRecord]:
    found = _read(source, name, 0, settings, options)
    if not isinstance(found, Splits):
        return found
    return [
        DatasetRecord(f"{source}: {split}", split, example)
        for split, part in found.items()
        for example in part
    ]


def assemble(records: Sequence[DatasetRecord], *, name: str, place: object, seed: int) -> Splits:
    """A dataset from records: the splits they name, or else splits drawn by `seed`, and its `DatasetInfo`."""
    labelled: list[DatasetRecord] = []
    for record in records:
        with row_at(record.place):
            check_answer(record.example.label)
            labelled.append(record)
    if is_collecting():  # of examples with one id the first is kept
        labelled = list({(record.split, record.example.id): record for record in reversed(labelled)}.values())
        labelled.reverse()
    if not labelled:
        raise UserError(f"{place}: no example that could be read; it needs at least one")
    _check_records(labelled)
    first = labelled[0].example
    with at(place):
        parts = _partition(labelled, seed)
        if first.choices is None:
            check_splits(parts)
        else:  # a letter that train lacks is fine: all choices are read by one head
            check_train(parts)
    if first.choices is None:
        task: TaskKind = "text" if len(first.segments) == 1 else "segments"
        answers = Counter(example.label for example in parts["train"] if example.label is not None)
        info = DatasetInfo(
            name,
            label_order(answers),
            task,
            leading_metric(answers),
            multi_label=isinstance(first.label, tuple),
        )
        return Splits(info, parts)
    most = max(len(example.choices or ()) for part in parts.values() for example in part)
    # Only the question can carry a rationale: without its choices there would be nothing to choose from.
    question = tuple(range(len(first.segments)))
    return Splits(DatasetInfo(name, choice_labels(most), "choice", rationale_segments=question), parts)


def _check_records(records: Sequence[DatasetRecord]) -> None:
    """Ids are unique within a split, labels and shapes agree, and all records name a split or none does."""
    for split in dict.fromkeys(record.split for record in records):
        check_ids((record.place, record.example.id) for record in records if record.split == split)
    check_labels((record.place, record.example.label) for record in records)
    check_shapes(records)
    without_split = [record for record in records if record.split is None]
    if without_split and len(without_split) < len(records):
        raise UserError(f"{without_split[0].place}: the row has no split, but others have; give it one")


def _partition(records: Sequence[DatasetRecord], seed: int) -> Mapping[str, Sequence[Example]]:
    if records[0].split is None:
        return stratified_split([record.example for record in records], seed=seed)
    parts: dict[str, Sequence[Example]] = {}
    for name in SPLIT_NAMES:
        examples = [record.example for record in records if record.split == name]
        if examples:
            parts[name] = examples
    return carve_dev(parts, seed=seed)
