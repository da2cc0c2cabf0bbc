"""Write a dataset to a file: a table that can be read back, or annotation tasks for Label Studio."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

from unirex.data.example import Example, Rationale, Splits
from unirex.data.validate import exists, label_kind, labels_of
from unirex.errors import UserError, unknown
from unirex.files import replace_file, write_file

OPTIONAL = {"rationale": None, "choices": None, "groups": ()}  # columns left out if all examples have these
RESERVED = ("id", "split", "label", *OPTIONAL)  # columns that are not texts
TASKS_SUFFIX, CONFIG_SUFFIX = ".json", ".xml"  # Label Studio: tasks, and their labelling interface
BATCH = 1024  # rows of a Parquet file in memory at once


def convert(
    data: Splits, target: str | Path, *, split: str | None = None, names: Sequence[str] = ()
) -> list[Path]:
    """Write the examples, or those of one split, to a new file in the format of its suffix.

    Rationales are written as character spans; for several texts, by column name. `names` are the columns of
    the texts; by default one text is `text` and several are `segment_1`, `segment_2`, …
    """
    path = check_target(target)
    if split is not None:
        if split not in data:
            raise unknown("split", split, data)
        data = Splits(data.info, {split: data[split]})
    names = text_columns(data, names)
    if path.suffix.lower() == TASKS_SUFFIX:
        return write_label_studio(path, data, names)
    write = TABLE_WRITERS[path.suffix.lower()]
    replace_file(path, lambda draft: write(draft, data, names))
    return [path]


def check_target(target: str | Path) -> Path:
    """The path of the file to write; its suffix must be known and nothing may be overwritten."""
    path = Path(target)
    suffix, known = path.suffix.lower(), (*TABLE_WRITERS, TASKS_SUFFIX)
    if suffix not in known:
        raise UserError(f"{path}: unsupported suffix '{path.suffix}'; supported: {', '.join(known)}")
    if exists(path):
        raise UserError(f"{path} exists already; move it away or choose another name.")
    return path


def text_names(count: int) -> tuple[str, ...]:
    """Default column names for `count` texts.

    >>> text_names(1), text_names(2)
    (('text',), ('segment_1', 'segment_2'))
    """
    return ("text",) if count == 1 else tuple(f"segment_{number}" for number in range(1, count + 1))


def text_columns(data: Splits, given: Sequence[str] = ()) -> tuple[str, ...]:
    """The column names of the texts: those given, if they fit, else the default ones."""
    count = max((len(example.segments) for example in _examples(data)), default=1)
    if not given:
        return text_names(count)
    if len(given) != count:
        raise UserError(f"names {', '.join(given)}: give {count}, one for each text of an example.")
    for name in given:
        if not name or name in RESERVED or "," in name or list(given).count(name) > 1:
            raise UserError(
                f"name '{name}': give each text one of its own, other than {', '.join(RESERVED)}."
            )
    return tuple(given)


def table_rows(data: Splits, names: Sequence[str]) -> Iterator[dict[str, Any]]:
    """The examples as table rows; fields an example does not have are null."""
    left_out = _unused(data)
    for split, examples in data.items():
        for example in examples:
            row = {
                "id": example.id,
                "split": split,
                **dict(zip(names, example.segments, strict=True)),
                "label": list(example.label) if isinstance(example.label, tuple) else example.label,
                "rationale": None if example.rationale is None else _marks(example.rationale, names),
                "choices": None if example.choices is None else list(example.choices),
                "groups": [_marks(group, names) for group in example.groups] or None,
            }
            yield {name: value for name, value in row.items() if name not in left_out}


def _marks(rationale: Rationale, names: Sequence[str]) -> Any:
    spans = [[list(span) for span in segment] for segment in rationale]
    return spans[0] if len(names) == 1 else dict(zip(names, spans, strict=True))


def _unused(data: Splits) -> set[str]:
    return {
        name
        for name, unset in OPTIONAL.items()
        if all(getattr(example, name) == unset for example in _examples(data))
    }


def _examples(data: Splits) -> Iterator[Example]:
    return (example for part in data.values() for example in part)


def write_jsonl(path: Path, data: Splits, names: Sequence[str]) -> None:
    """One JSON object per line."""
    with path.open("w", encoding="utf-8", newline="\n") as file:
        file.writelines(json.dumps(row, ensure_ascii=False) + "\n" for row in table_rows(data, names))


def write_csv(path: Path, data: Splits, names: Sequence[str]) -> None:
    """Comma- or tab-separated values; lists are written as JSON, and labels are read back as text."""
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, delimiter="\t" if path.suffix.lower() == ".tsv" else ",")
        for number, row in enumerate(table_rows(data, names)):
            if number == 0:
                writer.writerow(row)
            writer.writerow(
                json.dumps(value, ensure_ascii=False) if isinstance(value, list | dict) else value
                for value in row.values()
            )


def write_parquet(path: Path, data: Splits, names: Sequence[str]) -> None:
    """Parquet with typed columns."""
    import pyarrow as pa
    from pyarrow import parquet

    labels = {label for example in _examples(data) for label in labels_of(example)}
    number = pa.float64() if any(isinstance(label, float) for label in labels) else pa.int64()
    label_types = {"text": pa.string(), "a number": number, "true/false": pa.bool_()}
    label = label_types[label_kind(next(iter(labels), ""))]
    # Inferring the schema from the first rows would miss what only later ones hold.
    spans = pa.list_(pa.list_(pa.int64()))
    marks = spans if len(names) == 1 else pa.struct([(name, spans) for name in names])
    types = {
        **dict.fromkeys(("id", "split", *names), pa.string()),
        "label": pa.list_(label) if data.info.multi_label else label,
        "rationale": marks,
        "choices": pa.list_(pa.string()),
        "groups": pa.list_(marks),
    }
    left_out, rows = _unused(data), table_rows(data, names)
    schema = pa.schema([(name, kind) for name, kind in types.items() if name not in left_out])
    with parquet.ParquetWriter(path, schema) as file:
        while batch := list(islice(rows, BATCH)):
            file.write_table(pa.Table.from_pylist(batch, schema=schema))


def write_label_studio(path: Path, data: Splits, names: Sequence[str]) -> list[Path]:
    """Tasks for Label Studio with the existing annotations, and beside them the labelling interface."""
    from unirex.data.formats.label_studio import labeling_config, tasks

    config = path.with_suffix(CONFIG_SUFFIX)
    made = tasks(list(_examples(data)), segments=names)
    for task, split in zip(made, (split for split, part in data.items() for _ in part), strict=True):
        task["data"]["split"] = split
    info = data.info
    asked = {"multi_label": info.multi_label, "choices": info.task == "choice"}
    write_interface(config, labeling_config(info.labels, names, **asked))
    write_file(path, json.dumps(made, ensure_ascii=False, indent=1))
    return [path, config]


def write_interface(path: Path, content: str) -> None:
    """Write a labelling interface, before its tasks; another one of this name is not overwritten.

    An equal one is left by a process that was killed before it wrote the tasks.
    """
    if exists(path) and path.read_bytes() != content.encode():
        raise UserError(f"{path} exists already; move it away or choose another name.")
    write_file(path, content)


TABLE_WRITERS: dict[str, Callable[[Path, Splits, Sequence[str]], None]] = {
    ".jsonl": write_jsonl,
    ".csv": write_csv,
    ".tsv": write_csv,
    ".parquet": write_parquet,
}
