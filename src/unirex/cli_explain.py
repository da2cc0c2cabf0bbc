"""`unirex explain`: texts in, labels with their reasons out."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path

from jsonargparse import Namespace

from unirex.cli_inputs import USUAL, asked_system, evaluated_examples, expected, first, fitting
from unirex.data.example import Example
from unirex.data.formats.table import read_inputs
from unirex.data.load import as_columns
from unirex.errors import UserError
from unirex.explanation import Explanation
from unirex.files import Progress, replace_file, write_file
from unirex.system import System, as_example, check_budget


def explain(options: Namespace) -> int:
    """`unirex explain`."""
    options.run, options.texts = named_apart(options)
    check_explain(options)
    system = asked_system(options)
    examples = asked_examples(options, system)
    if options.label_studio and system.model.config.built_layout().choice:
        raise UserError("--label_studio: tasks have labels, not choices; use --out for JSONL.")
    if options.label_studio:
        examples = list(examples)
    size = expected(examples, options.file or options.data, options.number)
    with Progress("explaining", **size, shown=not options.texts and not in_the_way(options)) as progress:
        explanations = system.explain_all(
            fitting(system, examples, options.file or options.data),
            budget=options.budget,
            selector=options.selector,
            advance=progress.advance,
        )
        said = written(options, examples, explanations)
    if said:
        print(said)
    return 0


def named_apart(options: Namespace) -> tuple[str, list[str]]:
    """What explains and what is explained: the first word is the system, unless --model names one."""
    if options.model is None:
        if options.run is None:
            raise UserError('explain needs a system or --model: unirex explain RUN "a fine film"')
        return options.run, options.texts
    if options.run is not None and Path(options.run).is_dir():
        raise UserError(f"{options.run}: --model names the model already; leave out one of them.")
    return options.model, [one for one in (options.run, *options.texts) if one is not None]


def in_the_way(options: Namespace) -> bool:
    """Whether a bar would stand among what is printed on the same terminal."""
    to_file = options.out or options.html or options.label_studio
    return not to_file and sys.stdout.isatty() and sys.stderr.isatty()


def written(options: Namespace, examples: Iterable[Example], explanations: Iterable[Explanation]) -> str:
    """Put the explanations where they are wanted, and say where that was."""
    if options.label_studio:
        return write_tasks(Path(options.label_studio), list(examples), list(explanations))
    if options.out:
        return write_jsonl(Path(options.out), explanations)
    if options.html:
        return write_page(Path(options.html), list(explanations))
    if options.json:
        for one in explanations:
            print(json.dumps(one.to_dict(), ensure_ascii=False))
    else:
        show(explanations)
    return ""


def check_explain(options: Namespace) -> None:
    """Something to explain, one place to put it, and nothing to overwrite there."""
    if options.budget is not None:
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
    if options.pair and not options.texts:
        raise UserError(
            "--pair is for texts on the command line; of a file name two columns: --columns.text a,b"
        )
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
        return first(evaluated_examples(options), options.number)
    size = texts_at_a_time(options, system)
    if len(options.texts) % size:
        raise UserError(f"this system reads {size} texts at a time, but there are {len(options.texts)}.")
    groups = (tuple(options.texts[start : start + size]) for start in range(0, len(options.texts), size))
    given = {} if options.choices is None else {"choices": options.choices}
    return [as_example({"segments": group, **given}, number) for number, group in enumerate(groups)]


def texts_at_a_time(options: Namespace, system: System) -> int:
    """How many of the texts belong together: as the system was trained, else one, or two with --pair."""
    known = system.model.config.built_layout().segments
    if options.pair and known not in (None, 2):
        raise UserError(f"--pair: this system was trained on other examples; texts at a time: {known}.")
    return known or (2 if options.pair else 1)


def write_jsonl(path: Path, explanations: Iterable[Explanation]) -> str:
    """One object a line, streamed; the file appears when it is complete."""

    def write(draft: Path) -> None:
        with draft.open("w", encoding="utf-8") as file:
            for one in explanations:
                file.write(json.dumps(one.to_dict(), ensure_ascii=False) + "\n")

    replace_file(path, write)
    return f"explanations in {path}"


def write_page(path: Path, explanations: list[Explanation]) -> str:
    """A page to look at."""
    from unirex.report import explanation_page

    write_file(path, explanation_page(explanations, title="Explanations"))
    return f"page in {path}"


def check_target(path: Path) -> None:
    """Tasks go to a new `.json`, their setup to a new `.xml` beside it."""
    if path.suffix != ".json":
        raise UserError(f"{path}: tasks for Label Studio are JSON; give a name that ends in .json.")
    if path.with_suffix(".xml").exists():
        raise UserError(f"{path.with_suffix('.xml')} exists already; move it away or choose another name.")


def write_tasks(path: Path, examples: Sequence[Example], explanations: Sequence[Explanation]) -> str:
    """The rationales as predictions for Label Studio, and beside them the project's setup."""
    from unirex.data.convert import text_names
    from unirex.data.formats.label_studio import labeling_config, tasks

    names = text_names(len(examples[0].segments)) if examples else ("text",)
    write_file(path, json.dumps(tasks(examples, explanations=explanations, segments=names), indent=1))
    labels = list(explanations[0].probabilities) if explanations else []
    write_file(path.with_suffix(".xml"), labeling_config(labels, names))
    return f"tasks in {path}, the project's setup in {path.with_suffix('.xml')}"


def show(explanations: Iterable[Explanation]) -> None:
    """The explanations in the terminal."""
    from rich.console import Console

    from unirex.report import print_explanation

    console = Console()
    for one in explanations:
        print_explanation(one, console)
