"""`unirex annotate export | status | retrain`: what becomes of what people marked."""

from __future__ import annotations

import json
import shlex
import textwrap
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from jsonargparse import ArgumentParser, Namespace

from unirex.annotate.definition import HOLD_OUT
from unirex.cli import inputs, shared
from unirex.errors import UserError
from unirex.files import say

if TYPE_CHECKING:
    from unirex.data.example import Splits

WIDTH = 100


def export_options(parser: ArgumentParser, arguments: Sequence[str]) -> None:
    """What to export, and how marks are combined."""
    _file_option(parser)
    add = parser.add_argument
    add("target", type=str, help="a new file: .jsonl, or .json of --label_studio")
    add(
        "--annotators",
        type=str,
        default="union",
        help="whose marks are gold: union, majority, intersection, N",
    )
    add("--label_studio", action="store_true", help="tasks for Label Studio, an annotation for each person")


def _file_option(parser: ArgumentParser) -> None:
    parser.add_argument("file", type=str, help="of the annotation (.sqlite)")


def export(options: Namespace) -> int:
    """Write what people said to a file."""
    from unirex.annotate.export import export_label_studio, export_table
    from unirex.annotate.project import Project

    project = Project(options.file)
    if options.label_studio:
        print(f"{export_label_studio(project, options.target)} tasks in {options.target}")
        return 0
    texts, tied = export_table(project, options.target, annotators=options.annotators)
    print(f"{texts} annotated texts in {options.target}")
    if tied:
        shown = ", ".join(tied[:5]) + (", …" if len(tied) > 5 else "")
        say(f"note: {len(tied)} texts whose labels are tied are left out: {shown}")
    names = project.definition.names
    columns = [] if names == ("text",) else ["--columns.text", ",".join(names)]
    print(f"next: {shlex.join(['unirex', 'train', '--data', options.target, *columns, '--out', 'runs/new'])}")
    return 0


def status_options(parser: ArgumentParser, arguments: Sequence[str]) -> None:
    """Which annotation; whom to invite."""
    _file_option(parser)
    parser.add_argument("--add", type=int, help="invite this many more people")
    parser.add_argument("--json", action="store_true", help="print JSON")


def status(options: Namespace) -> int:
    """Print who did how much, with their codes, and how far they agree."""
    from unirex.annotate.project import Project
    from unirex.annotate.status import status_of

    project = Project(options.file)
    if options.add is not None:
        project.add_annotators(options.add)
    found = status_of(project)
    if options.json:
        print(json.dumps(found.to_dict(), ensure_ascii=False, indent=2))
        return 0
    from rich.console import Console

    from unirex.report.dataset import agreement_tables
    from unirex.report.grid import Cell, Grid, Head

    codes = project.codes()
    body = [
        [Cell(one.name), Cell(codes[one.number]), Cell(str(one.annotated)), Cell(str(one.skipped))]
        for one in found.people
    ]
    print(Grid([Head("person"), Head("code"), Head("annotated"), Head("skipped")], body).text())
    print(f"\n{found.begun} of {found.texts} texts annotated, {found.complete} by at least {found.per_text}")
    started = sum(number for start, number in found.starts.items() if start != "blank")
    if started:
        print(f"{started} annotations started from marks; {found.kept} of them kept these as they were")
    if found.agreement is not None:
        print()
        Console().print(*agreement_tables({"all": found.agreement}), sep="\n")
    return 0


def retrain_options(parser: ArgumentParser, arguments: Sequence[str]) -> None:
    """What to train again, where, and what is held out."""
    _file_option(parser)
    add = parser.add_argument
    add("--run", type=str, help="folder of the system that was trained before")
    add("--out", type=str, help="folder of the new one; the work is done beside it, in OUT-retrain")
    add("--hold_out", type=float, default=HOLD_OUT, help="share of the gold both are measured on")
    add("--seed", type=int, default=0, help="of the choice of that gold")
    add("--data", type=str, help="that the run was trained on, if it does not say so itself")
    shared.recalled_options(parser)
    shared.threads_option(parser)


def retrain_run(options: Namespace) -> int:
    """Train again with the new gold and print before and after."""
    from unirex.annotate.project import Project
    from unirex.annotate.retrain import retrain
    from unirex.models.saved import check_saved

    shared.use_threads(options.threads)
    for name in ("run", "out"):
        if not options[name]:
            raise UserError(
                f"retrain needs --{name}, as in --{name} runs/{'slm' if name == 'run' else 'slm2'}"
            )
    check_saved(options.run)
    project, combined = Project(options.file), options.annotators or "union"

    def old() -> Splits:
        options.data = options.data or _trained_on(options.run)
        options.file = ""
        inputs.recall_reading(options)
        with inputs.naming_recalled(options):
            return inputs.read_dataset(options.data, options, seed=options.data_seed)

    done = retrain(
        project,
        options.run,
        options.out,
        old=old,
        hold_out=options.hold_out,
        seed=options.seed,
        annotators=combined,
    )
    print(f"On {done.texts} held-out texts; before: {options.run}, after: {options.out}\n")
    print(done.table("text").rstrip("\n"))
    for sentence in done.verdict:
        print(textwrap.fill(sentence, WIDTH))
    for warning in done.warnings:
        print(f"note: {warning}")
    return 0


def _trained_on(run: str) -> str:
    """The data of a run, as it says itself."""
    try:
        source = json.loads(Path(run, "run.json").read_text("utf-8"))["data"]["read"].get("source")
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        source = None
    if not source:
        raise UserError(f"{run} does not say what it was trained on; give it: --data reviews.jsonl")
    return str(source)
