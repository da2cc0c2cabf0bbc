"""The answers of a study as rows: to export, and to compute with."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, fields
from pathlib import Path

from unirex.errors import UserError
from unirex.files import write_file
from unirex.report.markup import csv_safe
from unirex.user_study.study import UserStudy

FORMATS = (".csv", ".jsonl")


@dataclass(frozen=True, slots=True)
class AnswerRow:
    """One answer with what it answers."""

    annotator: str
    position: int
    task: str
    part: str
    item: str
    method: str
    marked: bool
    right: str | None  # the label that counts as right
    label: str | None
    correct: bool | None
    confidence: int | None
    alignment: int | None
    passed: bool | None  # of an attention check
    seconds: float
    answered: str  # when, in UTC
    simulated: bool


def read_answers(study: UserStudy) -> list[AnswerRow]:
    """All answers, by annotator and in the order they were given."""
    rows = study.store.rows(
        "SELECT * FROM answers NATURAL JOIN questions JOIN annotators ON number = annotator "
        "ORDER BY annotator, position"
    )
    found = []
    for row in rows:
        asked = row["right"] is not None
        correct = row["label"] == row["right"] if asked else None
        passed = None
        if row["part"] == "check":
            passed = correct in (None, True) and row["score"] in (row["confidence"], row["alignment"])
        found.append(
            AnswerRow(
                annotator=f"a{row['annotator'] + 1:02d}",
                item=study.definition.items[row["item"]].id,
                method=row["arm"],
                marked=bool(row["marked"]),
                correct=correct,
                passed=passed,
                simulated=bool(row["simulated"]),
                **{name: row[name] for name in _PLAIN},
            )
        )
    return found


_PLAIN = (
    "position",
    "task",
    "part",
    "right",
    "label",
    "confidence",
    "alignment",
    "seconds",
    "answered",
)


def export_answers(study: UserStudy, path: Path) -> int:
    """Write all answers to a new CSV or JSON-lines file; returns how many there are."""
    if path.suffix not in FORMATS:
        raise UserError(f"{path}: answers are exported to a file that ends in .csv or .jsonl.")
    if path.exists():
        raise UserError(f"{path} exists already; move it away or choose another name.")
    rows = read_answers(study)
    write_file(path, _as_csv(rows) if path.suffix == ".csv" else _as_json_lines(rows))
    return len(rows)


def _as_json_lines(rows: Iterable[AnswerRow]) -> str:
    return "".join(json.dumps(asdict(row), ensure_ascii=False) + "\n" for row in rows)


def _as_csv(rows: Iterable[AnswerRow]) -> str:
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    names = [field.name for field in fields(AnswerRow)]
    writer.writerow(names)
    writer.writerows(_cells([getattr(row, name) for name in names]) for row in rows)
    return out.getvalue()


def _cells(values: Sequence[object]) -> list[str]:
    """Values as text: yes and no as 1 and 0, what a spreadsheet would run as a formula with an apostrophe."""
    written = []
    for value in values:
        if isinstance(value, bool):
            value = int(value)
        written.append("" if value is None else csv_safe(value) if isinstance(value, str) else str(value))
    return written
