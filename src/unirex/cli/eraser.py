"""`unirex eraser …`: export, check and score submissions in ERASER's format."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from jsonargparse import ArgumentParser, Namespace

from unirex.cli.command import Command, sub_commands
from unirex.cli.inputs import as_json, check_new
from unirex.cli.shared import root_option
from unirex.errors import UserError
from unirex.files import write_file

if TYPE_CHECKING:
    from unirex.eraser.gold import GoldData
    from unirex.evaluation.records import Record

POSITIVE = "positive"
NAMES = ("movies", "cose", "multirc", "esnli")  # datasets of ERASER that are known by name

# What the table of scores shows, and under which titles.
HARD = {"token_prf": "tokens", "rationale_prf": "spans, exact"}
SOFT = {"token_soft_metrics": "tokens", "sentence_soft_metrics": "sentences"}
CLASSES = {
    "comprehensiveness": "comprehensiveness",
    "sufficiency": "sufficiency",
    "comprehensiveness_aopc": "comprehensiveness, AOPC",
    "sufficiency_aopc": "sufficiency, AOPC",
    "tokens_to_flip": "tokens to flip, share",
}
TitledRow = tuple[str, Iterable[float | None]]


def _gold_options(parser: ArgumentParser, *, required: bool) -> None:
    """The ERASER data that a submission is about."""
    about = f"folder of ERASER data, or a name: {', '.join(NAMES)}"
    parser.add_argument("--data", type=str, required=required, help=about)
    root_option(parser)
    parser.add_argument("--split", type=str, default="test", help="train, dev or test")


def _read_gold(options: Namespace) -> GoldData:
    """The annotations and documents of `--data`."""
    from unirex.data.catalogue import DATASETS, find_folder
    from unirex.eraser.gold import read_gold

    if options.data in NAMES and not Path(options.data).is_dir():
        folders = import_module(DATASETS[options.data]).FOLDERS
        return read_gold(find_folder(options.data, folders, options.root), options.split)
    return read_gold(options.data, options.split)


def _export_options(parser: ArgumentParser, arguments: Sequence[str]) -> None:
    add = parser.add_argument
    add("source", type=str, help="folder of an evaluation, or a file of its records")
    add("target", type=str, help="new file: the submission, .jsonl")
    _gold_options(parser, required=False)
    add(
        "--with_data",
        action="store_true",
        help="write docs.jsonl and the annotations beside it (without --data)",
    )
    add("--word", type=str, default="max", help="score of a word from its tokens: max, mean, first")
    add("--hard", type=str, default=POSITIVE, help="hard rationale: positive, or a budget in per cent")
    add("--within_sentences", action="store_true", help="end hard spans with their sentences")
    add(
        "--budget",
        type=float,
        help="size for comprehensiveness and sufficiency (default: nearest to people's)",
    )
    add("--removal", type=str, help="of those in the records (default: the first)")


def _export(options: Namespace) -> int:
    from unirex.eraser.export import export
    from unirex.evaluation.record_files import find_records

    check_new(options.target)
    if options.with_data:
        for name in ("docs.jsonl", f"{options.split}.jsonl"):
            check_new(Path(options.target).parent / name)
    exported = export(
        RecordFile(find_records(Path(options.source))),
        options.target,
        gold=None if options.data is None else _read_gold(options),
        word=options.word,
        hard=_hard_budget(options.hard),
        budget=options.budget,
        removal=options.removal,
        within_sentences=options.within_sentences,
        with_data=options.with_data,
        split=options.split,
    )
    print(f"{exported.instances} lines in {', '.join(map(str, exported.files))}")
    if exported.budget is not None:
        print(
            f"comprehensiveness and sufficiency at {exported.budget:g} % of the tokens, and at every budget"
        )
    if exported.truncated:
        effect = "their last words have the lowest score" + (", and no evidence" if options.with_data else "")
        print(f"note: {exported.truncated} texts were cut when they were read; {effect}", file=sys.stderr)
    if exported.left_out:
        print(
            f"note: {exported.left_out} scored tokens stand in no document and are left out", file=sys.stderr
        )
    return 0


@dataclass(frozen=True, slots=True)
class RecordFile:
    """The records of a file, which can be iterated over more than once."""

    path: Path

    def __iter__(self) -> Iterator[Record]:
        from unirex.evaluation.record_files import read_records

        return read_records(self.path)


def _hard_budget(value: str) -> float | None:
    """The budget of hard rationales; None for all words with a score above 0."""
    if value == POSITIVE:
        return None
    try:
        return float(value)
    except ValueError:
        raise UserError(f"hard {value!r}: give {POSITIVE}, or a budget in per cent.") from None


def _check_options(parser: ArgumentParser, arguments: Sequence[str]) -> None:
    parser.add_argument("submission", type=str, help="the file to check")
    _gold_options(parser, required=True)
    parser.add_argument("--labels", type=list[str], help="the classes, if not those of the annotations")


def _check(options: Namespace) -> int:
    """Print every fault of a submission; exit code 1 if there are any."""
    from unirex.eraser.validate import validate
    from unirex.printable import printable
    from unirex.report.page import count

    path, gold = _existing(options.submission), _read_gold(options)
    faults = validate(path, gold, labels=options.labels)
    for fault in faults:
        print(printable(str(fault)))
    if faults:
        print(f"{count(len(faults), 'fault')} in {path}")
        return 1
    print(f"no faults in {path}")
    return 0


def _existing(path: str) -> Path:
    if not Path(path).is_file():
        raise UserError(f"{path}: no such file; give a submission of ERASER's format (.jsonl).")
    return Path(path)


def _score_options(parser: ArgumentParser, arguments: Sequence[str]) -> None:
    add = parser.add_argument
    add("submission", type=str, help="the file to score")
    _gold_options(parser, required=True)
    add("--iou", type=list[float], default=[0.5], help="thresholds of IOU")
    add(
        "--thresholds",
        type=list[float],
        help="of AOPC, shares of the tokens (default: 0.01, 0.05, 0.1, 0.2, 0.5)",
    )
    add("--json", action="store_true", help="print JSON")
    add("--out", type=str, help="write the scores as JSON")


def _score(options: Namespace) -> int:
    from unirex.eraser.metrics import AOPC_THRESHOLDS
    from unirex.eraser.score import score
    from unirex.printable import printable

    scores = score(
        _existing(options.submission),
        _read_gold(options),
        iou=options.iou,
        thresholds=AOPC_THRESHOLDS if options.thresholds is None else options.thresholds,
    )
    if options.out:
        write_file(Path(options.out), as_json(scores) + "\n")
    print(as_json(scores) if options.json else score_table(scores))
    for note in scores["notes"]:
        print(f"note: {printable(note)}", file=sys.stderr)
    return 0


def score_table(scores: Mapping[str, Any]) -> str:
    """The main scores as text: a section for each kind of rationale and one for the classes.

    >>> micro, macro = {"p": 1.0, "r": 0.5, "f1": 2 / 3}, {"p": 0.5, "r": 0.5, "f1": 0.5}
    >>> print(score_table({"token_prf": {"instance_micro": micro, "instance_macro": macro}}))
    hard rationales      P      R     F1
    tokens, micro    1.000  0.500  0.667
    tokens, macro    0.500  0.500  0.500
    """
    hard: list[TitledRow] = []
    for name, title in HARD.items():
        for average in ("micro", "macro") if name in scores else ():
            hard.append((f"{title}, {average}", scores[name][f"instance_{average}"].values()))
    for overlap in scores.get("iou_scores", ()):
        for average in ("micro", "macro"):
            hard.append((f"overlap of {overlap['threshold']:g}, {average}", overlap[average].values()))
    soft = [(title, scores[name].values()) for name, title in SOFT.items() if name in scores]
    classes: list[TitledRow] = []
    given = scores.get("classification_scores")
    if given:
        classes.append(("accuracy", [given["accuracy"]]))
        if given["prf"] is not None:
            classes.append(("macro F1", [given["prf"]["macro avg"]["f1-score"]]))
        classes += [(title, [given[name]]) for name, title in CLASSES.items() if given[name] is not None]
    sections = (
        _section(["hard rationales", "P", "R", "F1"], hard),
        _section(["soft rationales", "AUPRC", "AP", "ROC"], soft),
        _section(["classes", ""], classes),
    )
    return "\n\n".join(filter(None, sections))


def _section(heads: Sequence[str], rows: Sequence[TitledRow]) -> str:
    """Rows aligned under the heads; empty without rows."""
    from unirex.report.grid import Cell, Grid, Head, number

    body = [[Cell(title), *(Cell(number(value)) for value in values)] for title, values in rows]
    return Grid(list(map(Head, heads)), body).text() if body else ""


ACTIONS = {
    "export": Command("Write the records of an evaluation as a submission.", _export_options, _export),
    "check": Command("Find every fault of a submission.", _check_options, _check),
    "score": Command("Score a submission by ERASER's own definitions.", _score_options, _score),
}
options, run = sub_commands("eraser", ACTIONS)
