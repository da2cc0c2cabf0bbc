"""`unirex global`: what a system does overall, the words and phrases that carry each label."""  # noqa: N999

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from jsonargparse import ArgumentParser, Namespace
from rich.console import Console

from unirex.cli import inputs, shared
from unirex.config import MIN_COUNT, PHRASE_LENGTH, TOP
from unirex.data.rows import estimate_row_count
from unirex.errors import UserError
from unirex.files import Progress, tracked, write_file

if TYPE_CHECKING:
    from unirex.explanation import Explanation


def options(parser: ArgumentParser, arguments: Sequence[str]) -> None:
    """What is counted, and what is shown of it."""
    add = parser.add_argument
    shared.system_options(parser, run="folder of a system or classifier, or a file that explain --out wrote")
    _explaining_options(parser)
    add("--top", type=int, default=TOP, help="rows of a table, at most")
    add("--min_count", type=int, default=MIN_COUNT, help="rows with smaller counts are left out")
    add("--phrase_length", type=int, default=PHRASE_LENGTH, help="words in the longest phrase; 1 for none")
    add("--json", action="store_true", help="print JSON")
    add("--html", type=str, help="write a page")
    add("--title", type=str, default="What carries each label", help="of the page")
    shared.threads_option(parser)


def _explaining_options(parser: ArgumentParser) -> None:
    """Options for a system that explains texts now; explanations from a file have them behind them."""
    add = parser.add_argument
    add("--data", type=str, help="texts to explain: the name of a dataset, a file or a folder")
    shared.example_options(parser)
    shared.rationale_options(parser)


def run(options: Namespace) -> int:
    """Count the words of many explanations; print or write the tables."""
    shared.use_threads(options.threads)
    _check(options)
    from unirex.overview import summarise

    overview = summarise(
        _explanations(options),
        top=options.top,
        min_count=options.min_count,
        phrase_length=options.phrase_length,
    )
    if options.html:
        write_file(Path(options.html), overview.page(options.title))
        print(f"page in {options.html}")
    elif options.json:
        print(inputs.as_json(overview.to_dict()))
    else:
        from unirex.overview.tables import render

        Console().print(render(overview))
    return 0


def _check(options: Namespace) -> None:
    """One source, one place to put the result, no option without effect."""
    if options.run is None and options.model is None:
        raise UserError(
            "global needs a system with --data, or explanations: unirex global RUN --data sst | "
            "unirex global explained.jsonl"
        )
    if options.run is not None and options.model is not None:
        raise UserError(f"{options.run}: --model names the model already; leave out one of them.")
    if _saved(options):
        given = shared.given_options(options, shared.system_options)
        given |= shared.given_options(options, _explaining_options)
        for name in given.keys() - {"run"}:
            raise UserError(f"--{name} is for a system; {options.run} has explanations already.")
    elif options.run is not None and Path(options.run).suffix == ".jsonl" and not Path(options.run).exists():
        raise UserError(f"{options.run}: no such file; `unirex explain --out` writes explanations.")
    elif options.data is None:
        raise UserError("global needs texts to explain: --data, a name, a file or a folder.")
    if options.json and options.html:
        raise UserError("choose one of --json and --html.")
    if options.html:
        inputs.check_new(options.html)


def _saved(options: Namespace) -> bool:
    """Whether a file of explanations is given rather than a system."""
    return options.run is not None and Path(options.run).is_file()


def _explanations(options: Namespace) -> Iterable[Explanation]:
    """The explanations of a file, or those of a system for `--data`; with progress."""
    if _saved(options):
        from unirex.explanation import read_explanations

        path = Path(options.run)
        progress = Progress("reading", total=estimate_row_count(path), about=True, unit="explanations")
        return tracked(read_explanations(path), progress)
    return _explained(options)


def _explained(options: Namespace) -> Iterable[Explanation]:
    """What a system says about the texts of `--data`."""
    from unirex.config import check_budget

    if options.budget is not None:
        check_budget(options.budget)
    inputs.recall_reading(options)
    system = inputs.load_system(options)
    options.split = options.split or "test"
    examples = inputs.first_examples(inputs.selected_examples(options), options.number)
    size = inputs.progress_size(examples, options.data, options.number)
    with Progress("explaining", **size) as progress:
        yield from system.explain_all(
            inputs.with_known_labels(system, examples, options.data),
            budget=options.budget,
            selector=options.selector,
            targets="predicted",
            advance=progress.advance,
        )
