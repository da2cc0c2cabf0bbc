"""What `unirex eraser …` does. Imported only when it is run."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from importlib import import_module
from math import isfinite
from pathlib import Path
from typing import Any

from jsonargparse import Namespace

from unirex.cli_eraser import NAMES, POSITIVE
from unirex.data.catalogue import DATASETS, find_folder
from unirex.eraser.export import export
from unirex.eraser.gold import Gold, read_gold
from unirex.eraser.metrics import AOPC
from unirex.eraser.score import score
from unirex.eraser.table import table
from unirex.eraser.validate import validate
from unirex.errors import UserError
from unirex.evaluation.record_files import find_records, read_records
from unirex.evaluation.records import Record
from unirex.files import write_file
from unirex.report.markup import printable


@dataclass(frozen=True, slots=True)
class RecordFile:
    """The records of a file; may be read as often as one likes."""

    path: Path

    def __iter__(self) -> Iterator[Record]:
        return read_records(self.path)


def export_records(options: Namespace) -> int:
    """`unirex eraser export`."""
    refuse_existing(options.target)
    if options.with_data:
        for name in ("docs.jsonl", f"{options.split}.jsonl"):
            refuse_existing(str(Path(options.target).parent / name))
    made = export(
        RecordFile(find_records(Path(options.source))),
        options.target,
        gold=None if options.data is None else gold_of(options),
        word=options.word,
        hard=hard_budget(options.hard),
        budget=options.budget,
        removal=options.removal,
        within_sentences=options.within_sentences,
        with_data=options.with_data,
        split=options.split,
    )
    print(f"{made.instances} lines in {', '.join(map(str, made.files))}")
    if made.budget is not None:
        print(f"comprehensiveness and sufficiency at {made.budget:g} % of the tokens, and at every budget")
    if made.truncated:
        told = "their last words have the lowest score" + (", and no evidence" if options.with_data else "")
        print(f"note: {made.truncated} texts were cut when they were read; {told}", file=sys.stderr)
    if made.left_out:
        print(f"note: {made.left_out} scored tokens stand in no document and are left out", file=sys.stderr)
    return 0


def check(options: Namespace) -> int:
    """`unirex eraser check`."""
    path, gold = existing(options.submission), gold_of(options)
    faults = validate(path, gold, mirror=options.mirror, labels=options.labels)
    for fault in faults:
        print(printable(str(fault)))
    if faults:
        print(f"{len(faults)} fault{'s' if len(faults) > 1 else ''} in {path}")
        return 1
    print(f"{'the official validator accepts' if options.mirror else 'no faults in'} {path}")
    return 0


def score_submission(options: Namespace) -> int:
    """`unirex eraser score`."""
    found = score(
        existing(options.submission),
        gold_of(options),
        iou=options.iou,
        thresholds=AOPC if options.thresholds is None else options.thresholds,
    )
    text = json.dumps(as_json(found), ensure_ascii=False, indent=2) + "\n"
    if options.out:
        write_file(Path(options.out), text)
    print(text if options.json else table(found), end="" if options.json else "\n")
    for note in found["notes"]:
        print(f"note: {printable(note)}", file=sys.stderr)
    return 0


def as_json(value: Any) -> Any:
    """The same with null for what is no finite number, as JSON has none of those."""
    if isinstance(value, dict):
        return {key: as_json(one) for key, one in value.items()}
    if isinstance(value, list):
        return [as_json(one) for one in value]
    return None if isinstance(value, float) and not isfinite(value) else value


def gold_of(options: Namespace) -> Gold:
    """The annotations and documents that are asked for."""

    if options.data in NAMES and not Path(options.data).is_dir():
        module = import_module(DATASETS[options.data])
        return read_gold(find_folder(options.data, module.FOLDERS, options.root), options.split)
    return read_gold(options.data, options.split)


def hard_budget(value: str) -> float | None:
    """The budget that is meant; None for the words above 0."""
    if value == POSITIVE:
        return None
    try:
        return float(value)
    except ValueError:
        raise UserError(f"hard {value!r}: give {POSITIVE}, or a budget in per cent.") from None


def existing(path: str) -> Path:
    """The path of a file that is there."""
    if not Path(path).is_file():
        raise UserError(f"{path}: no such file; give a submission of ERASER's format (.jsonl).")
    return Path(path)


def refuse_existing(path: str) -> None:
    """Nothing is written over."""
    if Path(path).exists():
        raise UserError(f"{path} exists already; move it away or choose another name.")


RUN = {"export": export_records, "check": check, "score": score_submission}
