"""What the commands do. Imported only when one is run."""

from __future__ import annotations

import json
import shlex
import sys
from collections.abc import Iterable, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

from jsonargparse import Namespace
from rich.console import Console

from unirex.cli import OWN
from unirex.cli_data import READING, check_apart
from unirex.data import DATASETS, as_columns, load_dataset, load_records
from unirex.data.example import Example, Splits
from unirex.data.tabular import read_inputs
from unirex.errors import UserError
from unirex.explanation import Explanation
from unirex.files import replace_file, write_file
from unirex.system import System, as_example, check_budget, load

USUAL: dict[str, Any] = {  # how data is read if nobody says otherwise
    "root": None,
    "format": "auto",
    "columns": {},
    "rationale_format": "auto",
    "annotators": "union",
    "data_options": {},
    "data_seed": 0,
}


def train(options: Namespace) -> int:
    """`unirex train`."""
    from unirex.methods import fit

    for name, example in (("data", "reviews.jsonl"), ("out", "runs/mine")):
        if not options[name]:
            raise UserError(f"train needs --{name}, as in --{name} {example}")
    data = asked_data(options)
    settings = options.as_dict()
    for name in (*OWN, "config"):
        settings.pop(name, None)
    try:
        system = fit(options.method, data, out=options.out, resume=options.resume, config=settings)
    except KeyboardInterrupt:
        print(
            "\nunirex: stopped; the same command with --resume goes on from the last epoch.", file=sys.stderr
        )
        return 130
    print(f"{system.name}: trained, saved in {options.out}")
    print(f"next: unirex evaluate {options.out} --data {options.data}{as_typed(options)}")
    return 0


def asked_data(options: Namespace) -> Splits:
    """The dataset an option `--data` names, read as the others say."""
    check_apart(options.data_options)
    return load_dataset(options.data, seed=options.data_seed, **reading(options), **options.data_options)


def reading(options: Namespace) -> dict[str, Any]:
    """How data is to be read."""
    return {name: options[name] for name in READING}


def as_typed(options: Namespace) -> str:
    """The reading options that were given, for the next command."""
    given = [(name, options[name]) for name in USUAL if options[name] != USUAL[name]]
    words = []
    for name, value in given:
        table = value.items() if isinstance(value, dict) else [("", value)]
        words += [f" --{name}{'.' if key else ''}{key} {shlex.quote(str(one))}" for key, one in table]
    return "".join(words)


def evaluate(options: Namespace) -> int:
    """`unirex evaluate`."""
    from unirex.evaluation import evaluate

    system = explained_by(load(options.run), options)
    examples = evaluated_examples(options)
    results = evaluate(
        system,
        examples,
        budgets=options.budgets,
        removal=options.removal,
        batch_size=options.batch_size,
        progress=sys.stderr.isatty(),
    )
    print(results.table())
    folder = Path(options.out or Path(options.run) / "evaluation" / evaluation_name(options))
    results.save(folder)
    print(f"{len(examples)} texts; records and metrics in {folder}")
    return 0


def evaluation_name(options: Namespace) -> str:
    """A folder name that tells evaluations with different settings apart."""
    budgets = options.budgets and "k" + "-".join(f"{budget:g}" for budget in options.budgets)
    steps = [f"{key}-{value}" for key, value in options.extractor_options.items()]
    read = [f"{key}-{value}" for key, value in options.data_options.items()]
    read += [options.annotators] if options.annotators != "union" else []
    read += [f"seed-{options.data_seed}"] if options.data_seed else []
    asked = [options.split, options.extractor, *steps, options.removal, budgets]
    parts = [Path(options.data).stem, *read, *asked]
    return "-".join(str(part) for part in parts if part)


def evaluated_examples(options: Namespace) -> Sequence[Example]:
    """The examples of the chosen split, or every row of a file."""
    if options.data not in DATASETS and (options.split == "all" or Path(options.data).is_file()):
        given = {name: value for name, value in reading(options).items() if name != "root"}
        records = load_records(options.data, **given, **options.data_options)
        if options.split == "all" or {record.split for record in records} == {options.split}:
            return [record.example for record in records]  # also a file of nothing but test texts
    data = asked_data(options)
    if options.split == "all":
        return [example for part in data.values() for example in part]
    if options.split not in data:
        raise UserError(f"{options.data} has no split '{options.split}'; it has: {', '.join(data)}, all.")
    return data[options.split]


def explain(options: Namespace) -> int:
    """`unirex explain`."""
    check_explain(options)
    system = explained_by(load(options.run), options)
    examples = asked_examples(options, system)
    if options.label_studio and system.model.config.built_layout().choice:
        raise UserError("--label_studio: tasks have labels, not choices; use --out for JSONL.")
    if options.label_studio:
        examples = list(examples)
    explanations = system.explain_all(examples, budget=options.budget, selector=options.selector)
    if options.label_studio:
        write_tasks(Path(options.label_studio), list(examples), list(explanations))
    elif options.out:
        write_jsonl(Path(options.out), explanations)
    elif options.html:
        write_page(Path(options.html), list(explanations))
    elif options.json:
        for one in explanations:
            print(json.dumps(one.to_dict(), ensure_ascii=False))
    else:
        show(explanations)
    return 0


def check_explain(options: Namespace) -> None:
    """Something to explain, one place to put it, and nothing to overwrite there."""
    check_budget(options.budget)
    if sum(map(bool, (options.texts, options.file, options.data))) != 1:
        raise UserError(
            'explain needs texts, --file or --data: unirex explain RUN "a fine film" | --file texts.csv'
        )
    if options.number is not None and options.number < 1:
        raise UserError(f"--number {options.number}: must be at least 1.")
    unused = {**USUAL, "split": None, "number": None}
    if options.file:
        unused.pop("columns")
    for name in [name for name, usual in unused.items() if options[name] != usual and not options.data]:
        raise UserError(f"--{name} is for --data; it has no effect on texts and --file.")
    if options.label_studio:
        check_target(Path(options.label_studio))
    if options.choices is not None and not options.texts:
        raise UserError("--choices are for texts on the command line; a file has a column for them.")
    if sum(map(bool, (options.json, options.html, options.out, options.label_studio))) > 1:
        raise UserError("choose one of --json, --html, --label_studio and --out.")
    for target in (options.html, options.out, options.label_studio):
        if target and Path(target).exists():
            raise UserError(f"{target} exists already; move it away or choose another name.")


def asked_examples(options: Namespace, system: System) -> Iterable[Example]:
    """What is to be explained: rows of a file, examples of a dataset, or the texts of the command line."""
    if options.file:
        columns = as_columns(options.columns)
        return (record.example for record in read_inputs(options.file, columns=columns))
    if options.data:
        options.split = options.split or "test"
        return islice(evaluated_examples(options), options.number)
    size = system.model.config.built_layout().segments or 1
    if len(options.texts) % size:
        raise UserError(f"this system reads {size} texts at a time, but there are {len(options.texts)}.")
    groups = (tuple(options.texts[start : start + size]) for start in range(0, len(options.texts), size))
    given = {} if options.choices is None else {"choices": options.choices}
    return [as_example({"segments": group, **given}, number) for number, group in enumerate(groups)]


def explained_by(system: System, options: Namespace) -> System:
    """The system, with another extractor if one was asked for."""
    if options.extractor is None:
        if options.extractor_options:
            raise UserError("--extractor_options are for --extractor; name one.")
        return system
    return system.with_extractor(options.extractor, **options.extractor_options)


def write_jsonl(path: Path, explanations: Iterable[Explanation]) -> None:
    """One object a line, streamed; the file appears when it is complete."""
    from rich.progress import track

    def write(draft: Path) -> None:
        with draft.open("w", encoding="utf-8") as file:
            hidden = not sys.stderr.isatty()
            shown = track(
                explanations, "explaining", console=Console(stderr=True), disable=hidden, transient=True
            )
            for one in shown:
                file.write(json.dumps(one.to_dict(), ensure_ascii=False) + "\n")

    replace_file(path, write)
    print(f"explanations in {path}")


def write_page(path: Path, explanations: list[Explanation]) -> None:
    """A page to look at."""
    from unirex.report import explanation_page

    write_file(path, explanation_page(explanations, title="Explanations"))
    print(f"page in {path}")


def check_target(path: Path) -> None:
    """Tasks go to a new `.json`, their setup to a new `.xml` beside it."""
    if path.suffix != ".json":
        raise UserError(f"{path}: tasks for Label Studio are JSON; give a name that ends in .json.")
    if path.with_suffix(".xml").exists():
        raise UserError(f"{path.with_suffix('.xml')} exists already; move it away or choose another name.")


def write_tasks(path: Path, examples: Sequence[Example], explanations: Sequence[Explanation]) -> None:
    """The rationales as predictions for Label Studio, and beside them the project's setup."""
    from unirex.data.annotation.label_studio import labeling_config, tasks
    from unirex.data.convert import text_names

    names = text_names(len(examples[0].segments)) if examples else ("text",)
    write_file(path, json.dumps(tasks(examples, explanations=explanations, segments=names), indent=1))
    labels = list(explanations[0].probabilities) if explanations else []
    write_file(path.with_suffix(".xml"), labeling_config(labels, names))
    print(f"tasks in {path}, the project's setup in {path.with_suffix('.xml')}")


def show(explanations: Iterable[Explanation]) -> None:
    """The explanations in the terminal."""
    from unirex.report import print_explanation

    console = Console()
    for one in explanations:
        print_explanation(one, console)


def demo(options: Namespace) -> int:
    """`unirex demo`."""
    from unirex.demo import run_demo

    try:
        report = run_demo(options.out)
    except KeyboardInterrupt:
        print("\nunirex: stopped; the same command goes on from the last finished epoch.", file=sys.stderr)
        return 130
    print(f"\nOpen the report in a browser: {report.resolve().as_uri()}")
    return 0
