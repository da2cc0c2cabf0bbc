"""Stormfront: sentences of a white supremacist forum, hateful or not; no rationales.

A target for systems trained on other hate speech (spec/data.md#datasets). The folder holds
`annotations_metadata.csv` and `all_files/<file_id>.txt`, as published by de Gibert et al. (2018). Of 10 944
sentences, 168 are hateful only together with others (`relation`) and 73 could not be judged (`idk/skip`);
both are left out and logged. The paper's own split was not published, so 9507 not_hate and 1196 hate are
split by seed in its proportions, 7896 : 978 : 1998, with the same label distribution.
"""

from __future__ import annotations

import logging
import re
from collections import Counter
from pathlib import Path

from unirex.data.example import DatasetInfo, Example, Splits
from unirex.data.formats.table import required
from unirex.data.rows import read_lines, read_rows
from unirex.data.split import stratified_split
from unirex.data.validate import at, check_file, check_ids, check_splits, check_text, exists, row_at
from unirex.errors import UserError, unknown

INFO = DatasetInfo(name="stormfront", labels=("not_hate", "hate"), metric="binary_f1")
FOLDERS = ("stormfront",)
LABELS = {"noHate": "not_hate", "hate": "hate"}
LEFT_OUT = ("relation", "idk/skip")
PROPORTIONS = (7896, 978, 1998)  # spec/data.md#datasets: train, dev, test

_NAME = re.compile(r"[\w-]+")  # of a text file, without its suffix; cannot lead out of the folder

log = logging.getLogger(__name__)


def load(folder: Path, *, seed: int = 0) -> Splits:
    """All sentences that could be judged on their own.

    Args:
        folder: a copy of the published repository.
        seed: seed of the split.
    """
    table = folder / "annotations_metadata.csv"
    check_file(table, suffixes=(".csv",))
    placed: list[tuple[str, Example]] = []
    left_out: Counter[str] = Counter()
    for place, row in read_rows(table):
        with row_at(place):
            name, label = str(required(row, "file_id")), str(required(row, "label"))
            if label in LEFT_OUT:
                left_out[label] += 1
                continue
            if label not in LABELS:
                raise unknown("label", label, (*LABELS, *LEFT_OUT))
            placed.append((place, Example(name, (_text(folder, name),), LABELS[label])))
    if left_out:  # not a fault of the file: the paper leaves them out too
        log.info("%s: left out: %s", table, ", ".join(f"{n} {label}" for label, n in left_out.items()))
    check_ids((place, example.id) for place, example in placed)
    _, dev, test = (count / sum(PROPORTIONS) for count in PROPORTIONS)
    with at(table):
        parts = stratified_split([example for _, example in placed], dev=dev, test=test, seed=seed)
        check_splits(parts)
    return Splits(INFO, parts)


def _text(folder: Path, name: str) -> str:
    if not _NAME.fullmatch(name):
        raise UserError(f"file_id {name!r} is no name of a text file")
    path = folder / "all_files" / f"{name}.txt"
    if not exists(path):
        raise UserError(f"there is no text all_files/{path.name}; copy the whole folder all_files")
    return check_text("".join(read_lines(path)).rstrip("\r\n"), column=f"all_files/{path.name}")
