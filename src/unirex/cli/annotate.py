"""`unirex annotate …`: people mark the reasons in texts; export, status, training anew."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_args

from jsonargparse import ArgumentParser, Namespace

from unirex.annotate.definition import BUDGET, LEASE, Definition, Order, Start
from unirex.cli import annotate_results as results
from unirex.cli import inputs, shared
from unirex.cli.command import Command, sub_commands
from unirex.data.load import DATASETS, load_records
from unirex.data.validate import file_kind
from unirex.errors import UserError
from unirex.files import say
from unirex.serve.settings import KEY

if TYPE_CHECKING:
    from unirex.annotate.create import Placed
    from unirex.annotate.project import Project
    from unirex.system import System

PEOPLE = 1
DEFINED = ("order", "per_text", "start", "lease")  # options that an existing file has decided


def _annotate_options(parser: ArgumentParser, arguments: Sequence[str]) -> None:
    parser.epilog = f"Further: unirex annotate {' | '.join(COMMANDS)}"
    add = parser.add_argument
    add("data", type=str, nargs="?", help="texts: a file, a folder, a dataset name; labels are optional")
    add("--out", type=str, help="file for the answers (.sqlite); one that exists is gone on with")
    add("--run", type=str, nargs="+", default=[], help="systems: the first suggests, all decide the order")
    add("--budget", type=float, default=BUDGET, help="size of suggestions, in per cent of the tokens")
    add("--start", choices=get_args(Start), default="blank", help="what people find marked")
    add("--order", choices=get_args(Order), default="as-is", help="which texts come first")
    add("--per_text", type=int, default=1, help="people who annotate each text")
    add("--people", type=int, default=PEOPLE, help="to invite now; `status --add` invites more")
    add("--labels", type=list[bool | int | str], help="to choose from, if not those of the system or data")
    add("--guidelines", type=str, help="a text file that is at hand beside every text")
    add("--lease", type=float, default=LEASE, help="minutes that a text is kept for who has it")
    add("--title", type=str, help="of the page (default: the name of the data)")
    add("--split", type=str, default="all", help="train, dev, test or all")
    add("--number", type=int, help="how many texts, from the first on")
    shared.dataset_options(parser)
    shared.server_options(parser, key=f"of the owner; better in {KEY}, as others see options")
    add("--url", type=str, help="address that people use, if a proxy stands in front; needs a key")
    shared.threads_option(parser)


def _annotate(options: Namespace) -> int:
    """Make the file if it is new, and serve the page until stopped."""
    from unirex.serve import check_installed

    check_installed()
    from unirex.annotate.app import check_origins
    from unirex.serve.running import check_port
    from unirex.serve.sessions import origin_of
    from unirex.serve.settings import Settings

    check_port(options.port)
    settings = Settings(host=options.host, api_key=options.api_key or os.environ.get(KEY) or None)
    origins = [origin_of(options.url)] if options.url else []
    check_origins(settings, origins)
    if not options.out:
        raise UserError("annotate needs --out, as in --out gold.sqlite")
    out = Path(options.out)
    project = _opened(out, options) if out.exists() else _created(out, options)
    return _serve(project, settings, origins, options)


def _created(out: Path, options: Namespace) -> Project:
    from unirex.annotate.create import create_project, labels_of_texts, source_of, suggestions

    if not options.data:
        raise UserError(
            f"{out} does not exist yet; name the texts too: unirex annotate data.jsonl --out {out}"
        )
    if options.people < 1:
        raise UserError(f"--people {options.people}: give how many, at least 1.")
    shared.use_threads(options.threads)
    _check_early(options)
    placed = _texts(options)
    examples = [example for _, example in placed]
    loaded = _systems(options.run)
    systems = list(loaded.values())
    layout = systems[0].model.config.built_layout() if systems else None
    several = any(isinstance(example.label, tuple) for example in examples)
    definition = Definition(
        title=options.title or Path(options.data).stem,
        labels=labels_of_texts(examples, options.labels, systems),
        names=_names(options, len(examples[0].segments)),
        multi_label=systems[0].multi_label if systems else several,
        rationale_segments=layout.rationale_segments if layout else None,
        systems=tuple(source_of(system, place, options.budget) for place, system in loaded.items()),
        guidelines=_guidelines(options),
        data=options.data,
        **{name: options[name] for name in DEFINED},
    )
    says = suggestions(examples, systems, definition) if systems else None
    return create_project(out, placed, definition, suggested=says, people=options.people)


def _check_early(options: Namespace) -> None:
    """Refuse what needs a system but has none, before texts are read and models loaded."""
    if options.budget <= 0 or options.budget > 100:
        raise UserError(f"--budget {options.budget:g}: give per cent of the tokens, above 0 and at most 100.")
    sources = tuple(range(len(options.run)))
    Definition("", ("a", "b"), (), systems=sources, **{name: options[name] for name in DEFINED})  # type: ignore[arg-type]
    _guidelines(options)


def _systems(places: Sequence[str]) -> dict[str, System]:
    from unirex.models.saved import check_saved

    for place in places:
        check_saved(place)
    if not places:
        return {}
    from unirex.system import load

    found = {}
    for place in places:
        say(f"loading {place} …")
        found[place] = load(place)
    return found


def _texts(options: Namespace) -> list[Placed]:
    """The texts with the splits they name."""
    found: list[Placed]
    if options.data in DATASETS:
        data = inputs.read_dataset(options.data, options, seed=options.data_seed)
        found = [(split, example) for split, part in data.items() for example in part]
    elif file_kind(Path(options.data)) == ".txt":
        from unirex.data.formats.table import read_inputs

        found = [(None, record.example) for record in read_inputs(options.data)]
    else:
        settings = inputs.reading_settings(options)
        del settings["root"]
        with inputs.listing_skipped(options.data, options):
            records = load_records(options.data, labelled=False, **settings, **options.data_options)
        found = [(record.split, record.example) for record in records]
    if options.split != "all":
        known = dict.fromkeys(str(split) for split, _ in found if split is not None)
        if options.split not in known:
            raise UserError(
                f"{options.data} has no split '{options.split}'; it has: {', '.join([*known, 'all'])}."
            )
        found = [(split, example) for split, example in found if split == options.split]
    return list(inputs.first_examples(found, options.number))  # type: ignore[arg-type]


def _names(options: Namespace, count: int) -> tuple[str, ...]:
    """The columns of the texts as they are exported: those of the data, if they can be."""
    from unirex.data.convert import RESERVED, text_names

    given = tuple(name.strip() for name in options.columns.get("text", "").split(",") if name.strip())
    fits = len(given) == count and len(set(given)) == count and not set(given) & set(RESERVED)
    return given if fits else text_names(count)


def _guidelines(options: Namespace) -> str:
    if not options.guidelines:
        return ""
    try:
        return Path(options.guidelines).read_text("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise UserError(f"--guidelines {options.guidelines}: cannot be read ({error}).") from None


def _opened(out: Path, options: Namespace) -> Project:
    """The file that is there; what it has decided is not changed, only guidelines may be."""
    from unirex.annotate.create import digest
    from unirex.annotate.project import Project

    project = Project(out)
    before, usual = project.definition, Definition("", ("a", "b"), ())
    for name in DEFINED:
        given, kept = options[name], getattr(before, name)
        if given != getattr(usual, name) and given != kept:
            raise UserError(
                f"{out} was made with --{name} {kept}, not {given}; leave it out, or choose another --out."
            )
    places = [source.place for source in before.systems]
    if options.run and options.run != places:
        raise UserError(
            f"{out} was made with --run {' '.join(places) or '(none)'}; leave it out, or take another --out."
        )
    if options.data and digest(example for _, example in _texts(options)) != before.digest:
        raise UserError(f"{out} was made with other texts than {options.data} has now; choose another --out.")
    if options.guidelines:
        project.define(replace(before, guidelines=_guidelines(options)))
    missing = options.people - len(project.codes())
    if missing > 0:
        project.add_annotators(missing)
    return project


def _serve(project: Project, settings: Any, origins: Sequence[str], options: Namespace) -> int:
    from unirex.annotate.app import create_app
    from unirex.serve.running import reachable, run_app

    def announce(address: str) -> None:
        base = (options.url or reachable(address)).rstrip("/")
        say(f"{project.store.path}: annotating at {base}/ ; Ctrl-C stops, the same command goes on.")
        for number, code in project.codes().items():
            print(f"{project.annotator(number).name}  {base}/#{code}", flush=True)

    return run_app(create_app(project, settings, origins=origins), settings, options.port, announce=announce)


COMMANDS = {
    "export": Command("Write what people said to a file.", results.export_options, results.export),
    "status": Command("Show who did how much, and agreement.", results.status_options, results.status),
    "retrain": Command("Train again with the new gold.", results.retrain_options, results.retrain_run),
}
_sub_options, _sub_run = sub_commands("annotate", COMMANDS)


def options(parser: ArgumentParser, arguments: Sequence[str]) -> None:
    """Options of the page; or the sub-commands, if one of them is named first."""
    at = list(arguments).index("annotate") + 1 if "annotate" in arguments else len(arguments)
    named = at < len(arguments) and arguments[at] in COMMANDS
    (_sub_options if named else _annotate_options)(parser, arguments)


def run(options: Namespace) -> int:
    """Serve the page, or do what the sub-command says."""
    return _sub_run(options) if "action" in options else _annotate(options)
