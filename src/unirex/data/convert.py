"""A dataset written out again: as a table that can be read back, or as tasks for people to annotate."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

from unirex.data.example import Example, Rationale, Splits
from unirex.data.validate import exists, label_kind
from unirex.errors import UserError, unknown
from unirex.files import replace_file, write_file

OPTIONAL = ("rationale", "choices", "groups")  # columns left out where no example has one
OWN = ("id", "split", "label", *OPTIONAL)  # columns that are not texts
SETUP = ".xml"  # of a Label Studio project, beside its tasks
BATCH = 1024  # rows of a Parquet file in memory at once

Row = dict[str, Any]


def convert(
    data: Splits, target: str | Path, *, split: str | None = None, names: Sequence[str] = ()
) -> list[Path]:
    """Write the examples, or those of one split, to a new file of the kind its suffix says.

    Rationales are written as character spans, those of several texts by the names of their columns. `names`
    are these columns; without them one text is `text` and several are `segment_1`, `segment_2`, …
    """
    path = check_target(target)
    chosen = _chosen(data, split)
    return KINDS[path.suffix.lower()](path, chosen, text_columns(chosen, names))


def check_target(target: str | Path) -> Path:
    """A file of a kind that can be written, where there is none yet."""
    path = Path(target)
    if path.suffix.lower() not in KINDS:
        raise UserError(f"{path}: unsupported suffix '{path.suffix}'; supported: {', '.join(KINDS)}")
    for one in (path, path.with_suffix(SETUP)) if path.suffix.lower() == ".json" else (path,):
        if exists(one):
            raise UserError(f"{one} exists already; move it away or choose another name.")
    return path


def text_names(count: int) -> tuple[str, ...]:
    """Names for so many texts.

    >>> text_names(1), text_names(2)
    (('text',), ('segment_1', 'segment_2'))
    """
    return ("text",) if count == 1 else tuple(f"segment_{number}" for number in range(1, count + 1))


def text_columns(data: Splits, given: Sequence[str] = ()) -> tuple[str, ...]:
    """What the columns of the texts are called."""
    count = max((len(example.segments) for example in _examples(data)), default=1)
    if not given:
        return text_names(count)
    if len(given) != count:
        raise UserError(f"names {', '.join(given)}: give {count}, one for each text of an example.")
    for name in given:
        if not name or name in OWN or "," in name or list(given).count(name) > 1:
            raise UserError(f"name '{name}': give each text one of its own, other than {', '.join(OWN)}.")
    return tuple(given)


def rows(data: Splits, names: Sequence[str]) -> Iterator[Row]:
    """Every example as the cells of a row; what an example does not have is null."""
    left_out = _unused(data)
    for split, examples in data.items():
        for example in examples:
            row = {
                "id": example.id,
                "split": split,
                **dict(zip(names, example.segments, strict=True)),
                "label": example.label,
                "rationale": None if example.rationale is None else _marks(example.rationale, names),
                "choices": None if example.choices is None else list(example.choices),
                "groups": [_marks(group, names) for group in example.groups] or None,
            }
            yield {name: cell for name, cell in row.items() if name not in left_out}


def _marks(rationale: Rationale, names: Sequence[str]) -> Any:
    spans = [[list(span) for span in segment] for segment in rationale]
    return spans[0] if len(names) == 1 else dict(zip(names, spans, strict=True))


def _unused(data: Splits) -> set[str]:
    has: dict[str, Callable[[Example], bool]] = {
        "rationale": lambda example: example.rationale is not None,
        "choices": lambda example: example.choices is not None,
        "groups": lambda example: bool(example.groups),
    }
    return {name for name in OPTIONAL if not any(map(has[name], _examples(data)))}


def _examples(data: Splits) -> Iterator[Example]:
    return (example for part in data.values() for example in part)


def _chosen(data: Splits, split: str | None) -> Splits:
    if split is None:
        return data
    if split not in data:
        raise unknown("split", split, data)
    return Splits(data.info, {split: data[split]})


def write_jsonl(path: Path, data: Splits, names: Sequence[str]) -> list[Path]:
    """One object a line."""

    def write(draft: Path) -> None:
        with draft.open("w", encoding="utf-8", newline="\n") as file:
            file.writelines(json.dumps(row, ensure_ascii=False) + "\n" for row in rows(data, names))

    replace_file(path, write)
    return [path]


def write_csv(path: Path, data: Splits, names: Sequence[str]) -> list[Path]:
    """Cells between commas or tabs; lists are written as JSON, and labels come back as text."""

    def write(draft: Path) -> None:
        with draft.open("w", encoding="utf-8", newline="") as file:
            writer = csv.writer(file, delimiter="\t" if path.suffix.lower() == ".tsv" else ",")
            for number, row in enumerate(rows(data, names)):
                if number == 0:
                    writer.writerow(row)
                writer.writerow([_cell(value) for value in row.values()])

    replace_file(path, write)
    return [path]


def _cell(value: Any) -> Any:
    return json.dumps(value, ensure_ascii=False) if isinstance(value, list | dict) else value


def write_parquet(path: Path, data: Splits, names: Sequence[str]) -> list[Path]:
    """Typed columns."""
    import pyarrow
    from pyarrow import parquet

    schema = _schema(data, names)

    def write(draft: Path) -> None:
        found = rows(data, names)
        with parquet.ParquetWriter(draft, schema) as file:
            while batch := list(islice(found, BATCH)):
                file.write_table(pyarrow.Table.from_pylist(batch, schema=schema))

    replace_file(path, write)
    return [path]


def _schema(data: Splits, names: Sequence[str]) -> Any:
    """Types given beforehand: the first rows alone would not tell what later ones hold."""
    import pyarrow as pa

    spans = pa.list_(pa.list_(pa.int64()))
    marks = spans if len(names) == 1 else pa.struct([(name, spans) for name in names])
    types = {
        **dict.fromkeys(("id", "split", *names), pa.string()),
        "label": _label_type(data),
        "rationale": marks,
        "choices": pa.list_(pa.string()),
        "groups": pa.list_(marks),
    }
    return pa.schema([(name, kind) for name, kind in types.items() if name not in _unused(data)])


def _label_type(data: Splits) -> Any:
    import pyarrow as pa

    labels = {example.label for example in _examples(data) if example.label is not None}
    kind = label_kind(next(iter(labels))) if labels else "text"
    if kind == "a number":
        return pa.float64() if any(isinstance(label, float) for label in labels) else pa.int64()
    return pa.string() if kind == "text" else pa.bool_()


def write_label_studio(path: Path, data: Splits, names: Sequence[str]) -> list[Path]:
    """Tasks for Label Studio with the marks there are, and beside them the setup of the project."""
    from unirex.data.formats.label_studio import labeling_config, tasks

    setup = path.with_suffix(SETUP)
    made = tasks(list(_examples(data)), segments=names)
    for task, split in zip(made, (split for split, part in data.items() for _ in part), strict=True):
        task["data"]["split"] = split
    write_file(setup, labeling_config(data.info.labels, names))
    write_file(path, json.dumps(made, ensure_ascii=False, indent=1))
    return [path, setup]


KINDS: dict[str, Callable[[Path, Splits, Sequence[str]], list[Path]]] = {
    ".jsonl": write_jsonl,
    ".csv": write_csv,
    ".tsv": write_csv,
    ".parquet": write_parquet,
    ".json": write_label_studio,
}
