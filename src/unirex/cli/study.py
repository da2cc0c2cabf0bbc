"""`unirex study …`: studies with people, made, served, reported, exported."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import get_args

from jsonargparse import ArgumentParser, Namespace

from unirex.cli import inputs, shared, study_serve
from unirex.cli.command import Command, sub_commands
from unirex.errors import UserError
from unirex.files import write_file


def _create_options(parser: ArgumentParser, arguments: Sequence[str]) -> None:
    from unirex.user_study.create import ANNOTATORS, CHECKS, ITEMS, LEARNING, PRACTICE, TASKS

    add = parser.add_argument
    add("folder", type=str, help="of the study; it must not exist")
    add("--runs", type=str, nargs="+", help="folders of runs, or files of records; NAME=path names one")
    add("--evaluation", type=str, help="which saved evaluation, if a run has several")
    add("--items", type=int, default=ITEMS, help="texts that are asked about")
    add("--annotators", type=int, default=ANNOTATORS, help="people to invite")
    add("--design", choices=("paper", "learning"), default="paper", help="learning: that of Hase & Bansal")
    add("--tasks", type=str, nargs="+", default=list(TASKS), help="of the paper's design")
    add("--rounds", type=int, help="times a person sees a text, each in another arm (default: in all arms)")
    add(
        "--practice",
        type=int,
        default=PRACTICE,
        help="texts to begin with, whose right labels are shown afterwards",
    )
    add("--checks", type=int, default=CHECKS, help="attention checks in each task")
    add("--learning", type=int, default=LEARNING, help="texts to learn from, of the design `learning`")
    add("--seed", type=int, default=0, help="of the choice of texts and the order of questions")
    add("--dataset", type=str, help="name of the dataset, if saved evaluations do not know it")
    add("--data", type=str, help="predict and explain its texts now; without, saved evaluations are used")
    add("--split", type=str, default="test", help="of --data")
    # Not all of `dataset_options`: --annotators are the people of the study here.
    shared.root_option(parser)
    shared.format_options(parser)
    shared.on_error_option(parser)
    shared.further_data_options(parser)
    add("--data_seed", type=int, default=0, help="for splits and samples that are drawn")
    shared.threads_option(parser)


def _create(options: Namespace) -> int:
    """Make a study and print the codes to join with."""
    from unirex.user_study.create import create_study

    shared.use_threads(options.threads)
    folder = Path(options.folder)
    inputs.check_new(folder)
    examples = None
    if options.data is not None:
        reading = Namespace({**options.as_dict(), "annotators": None, "recalled": ""})
        examples = list(inputs.selected_examples(reading))
    study = create_study(
        folder,
        options.runs or [],
        examples=examples,
        dataset=options.dataset or (options.data and Path(options.data).stem),
        items=options["items"],
        annotators=options.annotators,
        design=options.design,
        tasks=options.tasks,
        rounds=options.rounds,
        practice=options.practice,
        checks=options.checks,
        learning=options.learning,
        seed=options.seed,
        evaluation=options.evaluation,
    )
    definition = study.definition
    print(f"{len(definition.numbers('main'))} items, arms: {', '.join(arm.name for arm in definition.arms)}")
    _print_people(folder)
    return 0


def _folder_options(parser: ArgumentParser, arguments: Sequence[str]) -> None:
    parser.add_argument("folder", type=str, help="of the study")


def _status_options(parser: ArgumentParser, arguments: Sequence[str]) -> None:
    _folder_options(parser, arguments)
    parser.add_argument("--add", type=int, help="invite this many more people")


def _status(options: Namespace) -> int:
    """Print who is how far, with the codes to join with."""
    from unirex.user_study.study import UserStudy

    folder = Path(options.folder)
    study = UserStudy.open(folder)
    if options.add is not None:
        study.add_annotators(options.add)
    _print_people(folder)
    return 0


def _print_people(folder: Path) -> None:
    from unirex.report.grid import Cell, Grid, Head
    from unirex.user_study.study import UserStudy

    study = UserStudy.open(folder)
    codes, body = study.codes(), []
    for person in study.annotators():
        state = "withdrawn" if person.withdrawn else "simulated" if person.simulated else ""
        progress = f"{person.answered} of {person.questions}"
        body.append([Cell(person.name), Cell(codes.get(person.number, "")), Cell(progress), Cell(state)])
    print(Grid([Head("annotator"), Head("code"), Head("answered"), Head("")], body).text())


def _report_options(parser: ArgumentParser, arguments: Sequence[str]) -> None:
    _folder_options(parser, arguments)
    parser.add_argument("--html", type=str, help="where the page is written (default: in the folder)")
    parser.add_argument("--max_failed", type=int, help="leave out who failed more attention checks than this")


def _report(options: Namespace) -> int:
    """Print the tables; write them, the figures and the page."""
    from unirex.user_study.analysis import Analysis
    from unirex.user_study.report import notes, report_page, report_sections
    from unirex.user_study.study import UserStudy

    folder = Path(options.folder)
    analysis = Analysis(UserStudy.open(folder), max_failed=options.max_failed)
    sections, paths = report_sections(analysis), []
    for section in sections:
        paths += section.save(folder / "report")
        print("\n\n".join([section.title, *(table.text() for table in section.tables)]) + "\n")
    page = Path(options.html) if options.html else folder / "report.html"
    write_file(page, report_page(analysis, sections))
    print("\n".join(notes(analysis)))
    print(f"{len(paths)} files in {folder / 'report'}; page in {page}")
    return 0


def _export_options(parser: ArgumentParser, arguments: Sequence[str]) -> None:
    _folder_options(parser, arguments)
    parser.add_argument("file", type=str, help="to write: .csv or .jsonl")


def _export(options: Namespace) -> int:
    from unirex.user_study.answers import export_answers
    from unirex.user_study.study import UserStudy

    written = export_answers(UserStudy.open(options.folder), Path(options.file))
    print(f"{written} answers in {options.file}")
    return 0


def _withdraw_options(parser: ArgumentParser, arguments: Sequence[str]) -> None:
    _folder_options(parser, arguments)
    parser.add_argument("annotator", type=str, help="name or code, as `unirex study status` shows them")
    parser.add_argument("--keep_answers", action="store_true", help="end their part, but keep the answers")


def _withdraw(options: Namespace) -> int:
    """Delete what one person answered, for good."""
    from unirex.user_study.store import plain_code
    from unirex.user_study.study import UserStudy

    study = UserStudy.open(options.folder)
    codes, wanted = study.codes(), options.annotator
    found = [
        person
        for person in study.annotators()
        if wanted == person.name or plain_code(wanted) == codes.get(person.number)
    ]
    if not found:
        raise UserError(f"{options.folder}: no annotator has the name or code '{wanted}'.")
    deleted = study.withdraw(found[0], keep_answers=options.keep_answers)
    print(f"{found[0].name} has withdrawn; {deleted} answers deleted.")
    return 0


def _simulate_options(parser: ArgumentParser, arguments: Sequence[str]) -> None:
    _folder_options(parser, arguments)
    for name, meant in {"accuracy": "0 to 1", "confidence": "1 to 4", "alignment": "1 to 5"}.items():
        said = f"mean {name} by arm, {meant}, as JSON (default: the paper's)"
        parser.add_argument(f"--{name}", type=dict[str, float], default={}, help=said)
    parser.add_argument("--seed", type=int, default=0, help="of the scripted annotators")


def _simulate(options: Namespace) -> int:
    """Fill a study with scripted annotators."""
    from unirex.user_study.simulate import make_script, simulate_answers
    from unirex.user_study.study import UserStudy

    study = UserStudy.open(options.folder)
    means = {name: options[name] for name in ("accuracy", "confidence", "alignment")}
    answered = simulate_answers(study, make_script(study.definition, **means), seed=options.seed)
    print(f"{answered} simulated answers; unirex study report {options.folder}")
    return 0


def _power_options(parser: ArgumentParser, arguments: Sequence[str]) -> None:
    add = parser.add_argument
    add("--accuracy", type=float, nargs=2, help="of two methods, 0 to 1")
    add("--alignment", type=float, nargs=2, help="of two methods, 1 to 5, instead")
    add("--items", type=int, nargs="+", default=[25, 50, 100], help="numbers of texts")
    add("--people", type=int, nargs="+", default=[5, 10, 20], help="numbers of annotators")
    add("--arms", type=int, default=2, help="of the study, with Gold and No Rationale")
    add("--rounds", type=int, help="times a person sees a text, each in another arm (default: in all arms)")
    add("--repeats", type=int, default=200, help="simulated studies")
    add("--seed", type=int, default=0, help="of the simulation")


def _power(options: Namespace) -> int:
    """Print how often studies of several sizes would tell two methods apart."""
    from unirex.user_study.power import PowerMeasure, power_table

    measures: tuple[PowerMeasure, ...] = get_args(PowerMeasure)
    given = [measure for measure in measures if options[measure] is not None]
    if len(given) != 1:
        raise UserError("power needs two means to tell apart: --accuracy 0.72 0.84, or --alignment 3.3 4.0")
    first, second = options[given[0]]
    table = power_table(
        given[0],
        (first, second),
        items=options["items"],
        people=options.people,
        rounds=options.arms if options.rounds is None else options.rounds,
        arms=options.arms,
        repeats=options.repeats,
        seed=options.seed,
    )
    print(table.text())
    return 0


options, run = sub_commands(
    "study",
    {
        "create": Command("Make a study from runs or saved evaluations.", _create_options, _create),
        "status": Command("Who is how far, and the codes to join with.", _status_options, _status),
        "serve": Command(
            "Ask the people of a study in their browsers.", study_serve.options, study_serve.run
        ),
        "report": Command("Tables, tests, figures and a page of the answers.", _report_options, _report),
        "export": Command("Write all answers to CSV or JSON lines.", _export_options, _export),
        "withdraw": Command("Delete what one person answered.", _withdraw_options, _withdraw),
        "simulate": Command("Fill a study with scripted annotators.", _simulate_options, _simulate),
        "power": Command("How many items and people tell two methods apart.", _power_options, _power),
    },
)
