"""Toxic Spans: comments with the characters that make them toxic (SemEval-2021, task 5).

`tsd_train.csv`, `tsd_trial.csv` (dev) and `tsd_test.csv` have the columns `text` and `spans`, the offsets of
the characters that most annotators marked (Pavlopoulos et al., 2021); those of each annotator are not in it.
There is no label: every comment had been rated toxic before. The label here is whether any part of it was
marked, `toxic_span` or `no_toxic_span`, which is the case for 485 of the 7939 comments of train. A comment in
which nothing was marked has empty gold: a rationale of it has a token F1 of 0, as in the task's own score.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from unirex.data.example import DatasetInfo, Example, Splits
from unirex.data.formats.table import MARKED, UNMARKED, Columns, read_records
from unirex.data.rows import csv_fields
from unirex.data.split import stratified_split
from unirex.data.validate import at, check_file, check_splits, file_kind
from unirex.errors import UserError

INFO = DatasetInfo(name="toxic-spans", labels=("no_toxic_span", "toxic_span"), metric="macro_f1")
FOLDERS = ("toxic-spans", "toxic_spans/SemEval2021/data")
FILES = {"train": "tsd_train.csv", "dev": "tsd_trial.csv", "test": "tsd_test.csv"}
COLUMNS = Columns(text="text", label="spans", rationale="spans")
LABELS = {UNMARKED: "no_toxic_span", MARKED: "toxic_span"}


def load(path: Path, *, seed: int = 0) -> Splits:
    """The published splits of a folder; one file alone is split by `seed`."""
    if path.is_dir():
        parts = {split: _read(path / name) for split, name in FILES.items()}
    else:
        with at(path):
            parts = stratified_split(_read(path), seed=seed)
    with at(path):
        check_splits(parts)
    return Splits(INFO, parts)


def is_published(path: Path) -> bool:
    """Whether a file has the name and the columns of a published one, or a folder has that of train."""
    file = path / FILES["train"] if path.is_dir() else path
    if not file.is_file() or file_kind(file) != ".csv" or not file.name.startswith("tsd_"):
        return False
    try:
        _, header = next(csv_fields(file))
    except (StopIteration, UserError):
        return False
    return {"spans", "text"} <= set(header) and "label" not in header


def _read(path: Path) -> list[Example]:
    check_file(path, suffixes=(".csv",))
    records = read_records(path, columns=COLUMNS, rationale_format="offsets")
    return [replace(record.example, label=LABELS[str(record.example.label)]) for record in records]
