"""Reader for review polarity archives, shared by Yelp and Amazon.

A folder has `train.csv` and `test.csv` without a header (`"1","text"`, 1 is negative and 2 positive), or the
same in the layout of the Hugging Face Hub: Parquet or JSON Lines with a column `label` (0, 1), possibly in
shards (`train-00000-of-00004.parquet`). In all of them a line break inside a text is written as `\\n` and a
quote may be written as `\\"`; both are restored. Rows without text are never drawn; `unirex data check` lists
them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from unirex.data.example import SPLIT_NAMES, DatasetInfo, Example, Splits
from unirex.data.formats.table import required
from unirex.data.rows import csv_fields, read_rows
from unirex.data.split import Sample, draw
from unirex.data.validate import at, check_splits, check_text, is_missing, note_place, remark, row_at
from unirex.errors import UserError

LABELS = ("neg", "pos")
SIZES = (10_000, 2_000, 2_000)  # spec/data.md#datasets: train and dev out of train, test out of test
SUFFIXES = (".csv", ".parquet", ".jsonl")

_SHARD = re.compile(r"-\d+-of-(\d+)$")


class Review(NamedTuple):
    """A row of an archive; its texts are still escaped."""

    place: str
    id: str
    label: str
    texts: tuple[str, ...]


def load_polarity(
    folder: Path,
    info: DatasetInfo,
    *,
    columns: Sequence[str],
    seed: int,
    sample: Sample,
    sizes: Sequence[int],
) -> Splits:
    """A sample of the reviews; `columns` are their texts."""
    if (
        not isinstance(sizes, list | tuple)
        or len(sizes) != 3
        or not all(type(size) is int and size > 0 for size in sizes)
    ):
        raise UserError(f"sizes must be three whole numbers above 0 (train, dev, test), not {sizes!r}")
    drawn: list[list[Review]] = []
    for split, drawn_sizes in (("train", sizes[:2]), ("test", sizes[2:])):  # dev is drawn from train
        reviews = ((review.label, review) for review in _reviews(_files(folder, split), columns))
        drawn += draw(reviews, drawn_sizes, sample=sample, seed=seed, place=f"{folder}: {split}")
    parts: dict[str, list[Example]] = {name: [] for name in SPLIT_NAMES}
    for examples, part in zip(parts.values(), drawn, strict=True):
        for review in part:
            note_place(review.place, review.id)
            segments = tuple(text.replace("\\n", "\n").replace('\\"', '"') for text in review.texts)
            examples.append(Example(review.id, segments, review.label))
    with at(folder):
        check_splits(parts)
    return Splits(info, parts)


def _files(folder: Path, split: str) -> list[Path]:
    """The file of a split, or all of its shards."""
    named = [path for path in sorted(folder.iterdir()) if path.suffix.lower() in SUFFIXES]
    found = [path for path in named if path.stem == split or _SHARD.sub("", path.stem) == split]
    if not found:
        kinds = ", ".join(split + suffix for suffix in SUFFIXES)
        raise UserError(f"{folder}: no file of {split}; there should be {kinds} or shards of one")
    sets = {(path.suffix, _shard_count(path)) for path in found}
    if len(sets) > 1 or len(found) != _shard_count(found[0]):
        listed = ", ".join(path.name for path in found)
        raise UserError(f"{folder}: found {listed}; keep one file of {split}, or all shards of one")
    return found


def _shard_count(path: Path) -> int:
    """Number of files a split is stored in, according to the name of one."""
    shard = _SHARD.search(path.stem)
    return int(shard[1]) if shard else 1


def _reviews(files: Sequence[Path], columns: Sequence[str]) -> Iterator[Review]:
    for path in files:
        read = _from_csv if path.suffix.lower() == ".csv" else _from_table
        for review in read(path, columns):
            if any(text and not text.isspace() for text in review.texts):
                yield review
            else:
                remark(review.place, "left out: the row has no text")


def _from_csv(path: Path, columns: Sequence[str]) -> Iterator[Review]:
    labels = {"1": "neg", "2": "pos"}
    for number, (place, fields) in enumerate(csv_fields(path), 1):
        label = labels.get(fields[0])
        if label is not None and len(fields) == 1 + len(columns):
            yield Review(place, f"{path.stem}-{number}", label, tuple(fields[1:]))
            continue
        with row_at(place):
            expected = ", ".join(("label", *columns))
            raise UserError(
                f"a row must be {expected}, the label 1 or 2, without a header; not {fields[:3]!r:.80}"
            )


def _from_table(path: Path, columns: Sequence[str]) -> Iterator[Review]:
    for number, (place, row) in enumerate(read_rows(path), 1):
        with row_at(place):
            label = required(row, "label")
            if type(label) is not int or label not in (0, 1):
                raise UserError(f"'label' must be 0 (negative) or 1 (positive), not {label!r}")
            texts: list[str] = []
            for column in columns:
                text = required(row, column)
                # It may be empty, as long as another text of the row is not.
                texts.append("" if is_missing(text) else check_text(text, column=column))
            yield Review(place, f"{path.stem}-{number}", LABELS[label], tuple(texts))
