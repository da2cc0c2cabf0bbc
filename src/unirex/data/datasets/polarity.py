"""Reviews that blame or praise, as their public archives hold them: what Yelp and Amazon have in common.

A folder has `train.csv` and `test.csv` without a header (`"1","text"`, 1 is negative and 2 positive), or the
same in the layout of the Hugging Face Hub: Parquet or JSON Lines with a column `label` (0, 1), also in shards
(`train-00000-of-00004.parquet`). All of them write a new line inside a text as `\\n` and may write a quote as
`\\"`; both are restored. Rows without any text are left out of the draw; `unirex data check` names them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path

from unirex.data.example import DatasetInfo, Example, Splits
from unirex.data.formats.table import cell
from unirex.data.rows import csv_cells, rows
from unirex.data.split import Sample, draw
from unirex.data.validate import at, check_splits, check_text, is_missing, remark, row_at, stands_at
from unirex.errors import UserError

LABELS = ("neg", "pos")
SIZES = (10_000, 2_000, 2_000)  # SPEC A2: train and dev out of train, test out of test
SUFFIXES = (".csv", ".parquet", ".jsonl")

Review = tuple[str, str, str, tuple[str, ...]]  # its place, id and label, and its texts as they stand
_ESCAPE = re.compile(r'\\(n|")')
_SHARD = re.compile(r"-\d+-of-(\d+)$")


def load_polarity(
    folder: Path,
    info: DatasetInfo,
    *,
    columns: Sequence[str],
    seed: int,
    sample: Sample,
    sizes: Sequence[int],
) -> Splits:
    """A sample of the reviews, whose texts are in these columns."""
    if (
        not isinstance(sizes, list | tuple)
        or len(sizes) != 3
        or not all(type(size) is int and size > 0 for size in sizes)
    ):
        raise UserError(f"sizes must be three whole numbers above 0 (train, dev, test), not {sizes!r}")
    drawn: list[list[Review]] = []
    for split, wanted in (("train", sizes[:2]), ("test", sizes[2:])):
        reviews = ((one[2], one) for one in _reviews(_files(folder, split), columns))
        drawn += draw(reviews, wanted, sample=sample, seed=seed, place=f"{folder}: {split}")
    parts = {
        name: _examples(part, columns) for name, part in zip(("train", "dev", "test"), drawn, strict=True)
    }
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
    sets = {(path.suffix, _of(path)) for path in found}
    if len(sets) > 1 or len(found) != _of(found[0]):
        listed = ", ".join(path.name for path in found)
        raise UserError(f"{folder}: found {listed}; keep one file of {split}, or all shards of one")
    return found


def _of(path: Path) -> int:
    """How many files the reviews of a split are shared out to, as the name of one says."""
    shard = _SHARD.search(path.stem)
    return int(shard[1]) if shard else 1


def _reviews(files: Sequence[Path], columns: Sequence[str]) -> Iterator[Review]:
    for path in files:
        read = _from_csv if path.suffix.lower() == ".csv" else _from_table
        for review in read(path, columns):
            if any(text and not text.isspace() for text in review[3]):
                yield review
            else:
                remark(review[0], "left out: the row has no text")


def _from_csv(path: Path, columns: Sequence[str]) -> Iterator[Review]:
    labels = {"1": "neg", "2": "pos"}
    for number, (place, cells) in enumerate(csv_cells(path), 1):
        label = labels.get(cells[0])
        if label is not None and len(cells) == 1 + len(columns):
            yield place, f"{path.stem}-{number}", label, tuple(cells[1:])
            continue
        with row_at(place):
            wanted = ", ".join(("label", *columns))
            raise UserError(
                f"a row must be {wanted}, the label 1 or 2, without a header; not {cells[:3]!r:.80}"
            )


def _from_table(path: Path, columns: Sequence[str]) -> Iterator[Review]:
    for number, (place, row) in enumerate(rows(path), 1):
        with row_at(place):
            label = cell(row, "label")
            if type(label) is not int or label not in (0, 1):
                raise UserError(f"'label' must be 0 (negative) or 1 (positive), not {label!r}")
            texts = tuple(_text(cell(row, column), column) for column in columns)
            yield place, f"{path.stem}-{number}", LABELS[label], texts


def _text(value: object, column: str) -> str:
    """A cell of a table; that some are empty is for the row as a whole to judge."""
    return "" if is_missing(value) else check_text(value, column=column)


def _examples(reviews: Sequence[Review], columns: Sequence[str]) -> list[Example]:
    examples: list[Example] = []
    for place, name, label, texts in reviews:
        with row_at(place):
            segments = tuple(_ESCAPE.sub(_restore, text) for text in texts)
            stands_at(place, name)
            examples.append(Example(name, segments, label))
    return examples


def _restore(escape: re.Match[str]) -> str:
    return "\n" if escape[1] == "n" else escape[1]
