"""What the commands do. Imported only when one is run."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from jsonargparse import Namespace
from rich.console import Console

from unirex.cli import OWN
from unirex.data import DATASETS, as_columns, load_dataset
from unirex.data.example import Example
from unirex.data.tabular import read_records, read_texts
from unirex.errors import UserError
from unirex.explanation import Explanation
from unirex.files import replace_file, write_file
from unirex.system import System, as_example, check_budget, load


def train(options: Namespace) -> int:
    """`unirex train`."""
    from unirex.methods import fit

    for name, example in (("data", "reviews.jsonl"), ("out", "runs/mine")):
        if not options[name]:
            raise UserError(f"train needs --{name}, as in --{name} {example}")
    data = load_dataset(options.data, columns=options.columns, rationale_format=options.rationale_format)
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
    print(f"{system.name}: trained on {len(data['train'])} texts, saved in {options.out}")
    again = "".join(f" --columns.{key} {value}" for key, value in options.columns.items())
    if options.rationale_format != "auto":
        again += f" --rationale_format {options.rationale_format}"
    print(f"next: unirex evaluate {options.out} --data {options.data}{again}")
    return 0


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
    parts = [Path(options.data).stem, options.split, options.extractor, *steps, options.removal, budgets]
    return "-".join(str(part) for part in parts if part)


def evaluated_examples(options: Namespace) -> Sequence[Example]:
    """The examples of the chosen split, or every row of a file."""
    path, columns = Path(options.data), options.columns
    if path.is_file() and options.data not in DATASETS:
        records = read_records(path, columns=as_columns(columns), rationale_format=options.rationale_format)
        if options.split == "all" or {record.split for record in records} == {options.split}:
            return [record.example for record in records]  # also a file of nothing but test texts
    data = load_dataset(options.data, columns=columns, rationale_format=options.rationale_format)
    if options.split == "all":
        return [example for part in data.values() for example in part]
    if options.split not in data:
        raise UserError(f"{options.data} has no split '{options.split}'; it has: {', '.join(data)}, all.")
    return data[options.split]


def explain(options: Namespace) -> int:
    """`unirex explain`."""
    check_explain(options)
    system = explained_by(load(options.run), options)
    explanations = system.explain_all(
        asked_examples(options), budget=options.budget, selector=options.selector
    )
    if options.out:
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
    if bool(options.texts) == bool(options.file):
        raise UserError('explain needs texts or --file: unirex explain RUN "a fine film" | --file texts.csv')
    if sum(map(bool, (options.json, options.html, options.out))) > 1:
        raise UserError("choose one of --json, --html and --out.")
    for target in (options.html, options.out):
        if target and Path(target).exists():
            raise UserError(f"{target} exists already; move it away or choose another name.")


def asked_examples(options: Namespace) -> Iterator[Example]:
    """The texts to explain, one at a time."""
    if options.file:
        for place, text in read_texts(options.file, column=options.column):
            yield Example(place, (text,))
    else:
        yield from (as_example(text, number) for number, text in enumerate(options.texts))


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
